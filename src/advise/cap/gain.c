#include "advise/cap/gain.h"

#include "stats/stats.h"

#include <math.h>

/* ln(eta e^p + 1 - eta), Zeus cost: its exponent is bounded by the model, P being near the scale or below it. */
static struct wl_advise_cap_value zeus_cost(double eta, double ln_t, double ln_p)
{
    const double energy = eta * exp(ln_p), sum = energy + 1 - eta;
    return (struct wl_advise_cap_value) { ln_t + log(sum), 1, energy / sum };
}

struct wl_advise_cap_value wl_advise_cap_value(const struct wl_advise_cap_goal *g, double ln_t, double ln_p)
{
    switch (g->objective) {
    case WL_ADVISE_MIN_ZEUS: return zeus_cost(g->eta, ln_t, ln_p);
    case WL_ADVISE_MIN_EDP: return (struct wl_advise_cap_value) { 2 * ln_t + ln_p, 2, 1 };
    case WL_ADVISE_MIN_ED2P: return (struct wl_advise_cap_value) { 3 * ln_t + ln_p, 3, 1 };
    case WL_ADVISE_MIN_TIME: return (struct wl_advise_cap_value) { ln_t, 1, 0 };
    case WL_ADVISE_MIN_ENERGY: break;
    }
    return (struct wl_advise_cap_value) { ln_t + ln_p, 1, 1 };
}

/* A window at one setting, as two independent standard normal innovations: gain_t[j][z], gain_p[j][z] are the changes
 * of the posterior means per innovation. */
struct look {
    double t[WL_ADVISE_CAP_MAX][2], p[WL_ADVISE_CAP_MAX][2];
};

static struct look look_at(const struct wl_advise_cap_posterior *p, const struct wl_advise_cap_noise *noise, size_t i)
{
    const size_t d = p->d, o = 2 * d;
    const double *vt = p->v + i * o, *vp = p->v + (d + i) * o; /* columns of ln t_i and ln P_i */
    const double l00 = sqrt(vt[i] + noise->sd_t * noise->sd_t);
    const double l10 = (vt[d + i] + noise->rho * noise->sd_t * noise->sd_p) / l00;
    const double l11 = sqrt(fmax(vp[d + i] + noise->sd_p * noise->sd_p - l10 * l10, 1e-300));
    struct look out;
    for (size_t j = 0; j < d; j++) {
        out.t[j][0] = vt[j] / l00;
        out.t[j][1] = (vp[j] - l10 * out.t[j][0]) / l11;
        out.p[j][0] = vt[d + j] / l00;
        out.p[j][1] = (vp[d + j] - l10 * out.p[j][0]) / l11;
    }
    return out;
}

/* One setting that can be chosen, as two planes over the innovations. */
struct plane {
    double ln_j, ln_j_by[2];
    double room, room_by[2]; /* of the limit: it is met where room >= 0 */
};

static size_t planes(const struct wl_advise_cap_goal *g, const struct wl_advise_cap_posterior *p,
                     const struct look *look, struct plane *out)
{
    const size_t d = p->d, r = g->reference;
    const bool limited = g->limit.probability > 0;
    const double z = limited ? wl_normal_quantile(g->limit.probability) : 0;
    size_t n = 0;
    for (size_t j = 0; j < d; j++) {
        if (g->unavailable[j] && j != r) continue;
        const struct wl_advise_cap_value v = wl_advise_cap_value(g, p->m[j], p->m[d + j]);
        struct plane *o = &out[n++];
        *o = (struct plane) { .ln_j = v.ln_j };
        double variance = wl_advise_cap_slowdown_variance(p, j, r);
        for (size_t a = 0; a < 2 && look; a++) {
            o->ln_j_by[a] = v.by_t * look->t[j][a] + v.by_p * look->p[j][a];
            o->room_by[a] = look->t[r][a] - look->t[j][a];
            variance -= o->room_by[a] * o->room_by[a];
        }
        if (limited && j != r)
            o->room = log1p(g->limit.slowdown) - p->m[j] + p->m[r] - z * sqrt(fmax(variance, 0));
        else
            o->room_by[0] = o->room_by[1] = 0;
    }
    return n;
}

static double least(const struct plane *o, size_t n, double z0, double z1)
{
    double best = INFINITY;
    for (size_t j = 0; j < n; j++) {
        const double value = o[j].ln_j + o[j].ln_j_by[0] * z0 + o[j].ln_j_by[1] * z1;
        const double room = o[j].room + o[j].room_by[0] * z0 + o[j].room_by[1] * z1;
        if (room >= 0 && value < best) best = value;
    }
    return best;
}

double wl_advise_cap_expected_gain(const struct wl_advise_cap_goal *g, const struct wl_advise_cap_posterior *p,
                                   const struct wl_advise_cap_noise *noise, size_t i)
{
    const struct wl_quadrature *q = &wl_hermite_5;
    const struct look look = look_at(p, noise, i);
    struct plane o[WL_ADVISE_CAP_MAX];
    double gain = least(o, planes(g, p, NULL, o), 0, 0);
    const size_t n = planes(g, p, &look, o);
    for (size_t a = 0; a < q->n; a++)
        for (size_t b = 0; b < q->n; b++) gain -= q->weight[a] * q->weight[b] * least(o, n, q->node[a], q->node[b]);
    return gain;
}
