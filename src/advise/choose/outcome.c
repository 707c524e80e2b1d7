#include "advise/choose/outcome.h"

#include <math.h>

static const double j_per_kwh = 3.6e6, s_per_h = 3600;

const char *wl_choose_quantity_name(enum wl_choose_quantity q)
{
    static const char *const names[] = { "energy", "time", "carbon", "cost", "edp", "ed2p", "zeus" };
    return names[q];
}

static double or_zero(double v) { return isnan(v) ? 0 : v; }

/* Currency per J, and per s of a setting. */
static double cost_of_j(const struct wl_choose_prices *p) { return or_zero(p->per_kwh) * p->pue / j_per_kwh; }

static double cost_of_s(const struct wl_choose_prices *p, const struct wl_choose_setting *s)
{
    return (or_zero(p->per_worker_h) * s->workers + (p->per_node_h > 0 ? p->per_node_h * s->nodes : 0)) / s_per_h;
}

/* A quantity a E + b T as its two factors. */
struct sum {
    double of_j, of_s;
};

static struct sum factors(const struct wl_choose_context *c, enum wl_choose_quantity q, size_t i)
{
    const struct wl_choose_options *o = c->o;
    if (q == WL_CHOOSE_ZEUS) return (struct sum) { o->eta, (1 - o->eta) * o->max_power_w * c->in->settings[i].workers };
    return (struct sum) { cost_of_j(&o->prices), cost_of_s(&o->prices, &c->in->settings[i]) };
}

double wl_choose_ln(const struct wl_choose_context *c, enum wl_choose_quantity q, size_t i, double ln_work, double t,
                    double p)
{
    const double time = t + ln_work;
    if (q == WL_CHOOSE_TIME) return time;
    const double energy = log(c->in->settings[i].workers) + time + p;
    const struct wl_choose_prices *prices = &c->o->prices;
    switch (q) {
    case WL_CHOOSE_ENERGY: return energy;
    case WL_CHOOSE_CARBON: return energy + log(prices->g_per_kwh * prices->pue / j_per_kwh);
    case WL_CHOOSE_EDP: return energy + time;
    case WL_CHOOSE_ED2P: return energy + 2 * time;
    default: break;
    }
    const struct sum f = factors(c, q, i);
    if (f.of_s == 0) return energy + log(f.of_j);
    if (f.of_j == 0) return time + log(f.of_s);
    return log(f.of_j * exp(energy) + f.of_s * exp(time));
}

struct wl_choose_gradient wl_choose_gradient(const struct wl_choose_context *c, enum wl_choose_quantity q, size_t i,
                                             double t, double p)
{
    switch (q) {
    case WL_CHOOSE_ENERGY:
    case WL_CHOOSE_CARBON: return (struct wl_choose_gradient) { 1, 1 };
    case WL_CHOOSE_TIME: return (struct wl_choose_gradient) { 1, 0 };
    case WL_CHOOSE_EDP: return (struct wl_choose_gradient) { 2, 1 };
    case WL_CHOOSE_ED2P: return (struct wl_choose_gradient) { 3, 1 };
    default: break;
    }
    (void)t;
    const struct sum f = factors(c, q, i);
    if (f.of_j == 0) return (struct wl_choose_gradient) { 1, 0 };
    const double energy = f.of_j * exp(p) * c->in->settings[i].workers;
    return (struct wl_choose_gradient) { 1, energy / (energy + f.of_s) };
}

bool wl_choose_is_linear(const struct wl_choose_options *o, enum wl_choose_quantity q)
{
    const struct wl_choose_prices *p = &o->prices;
    if (q == WL_CHOOSE_ZEUS) return o->eta == 0 || o->eta == 1;
    return q != WL_CHOOSE_COST || !(p->per_kwh > 0) || !(p->per_worker_h > 0 || p->per_node_h > 0);
}

static const struct wl_joint *joint_of(const struct wl_choose_context *c, size_t i, size_t *within)
{
    const struct wl_choose_group *g = &c->in->groups[c->group[i]];
    *within = i - g->first;
    return g->joint;
}

void wl_choose_draws(const struct wl_choose_context *c, enum wl_choose_quantity q, size_t i, double out[WL_JOINT_DRAWS])
{
    size_t at;
    const struct wl_joint *j = joint_of(c, i, &at);
    const double *t = wl_joint_draws(j, WL_JOINT_TIME) + at * WL_JOINT_DRAWS,
                 *power =
                     wl_joint_has(j, WL_JOINT_POWER) ? wl_joint_draws(j, WL_JOINT_POWER) + at * WL_JOINT_DRAWS : NULL,
                 *work = c->in->work_draws ? c->in->work_draws + i * WL_JOINT_DRAWS : NULL;
    for (size_t d = 0; d < WL_JOINT_DRAWS; d++)
        out[d] = wl_choose_ln(c, q, i, c->in->settings[i].ln_work + (work ? work[d] : 0), t[d], power ? power[d] : NAN);
}

double wl_choose_mean(const struct wl_choose_context *c, enum wl_choose_quantity q, size_t i)
{
    size_t at;
    const struct wl_joint *j = joint_of(c, i, &at);
    const bool power = wl_joint_has(j, WL_JOINT_POWER);
    const double t = wl_joint_means(j, WL_JOINT_TIME)[at], p = power ? wl_joint_means(j, WL_JOINT_POWER)[at] : NAN,
                 ln_work = c->in->settings[i].ln_work, there = wl_choose_ln(c, q, i, ln_work, t, p);
    if (wl_choose_is_linear(c->o, q) || !power) return there;
    const double *td = wl_joint_draws(j, WL_JOINT_TIME) + at * WL_JOINT_DRAWS,
                 *pd = wl_joint_draws(j, WL_JOINT_POWER) + at * WL_JOINT_DRAWS;
    const struct wl_choose_gradient g = wl_choose_gradient(c, q, i, t, p);
    double sum = 0;
    for (size_t d = 0; d < WL_JOINT_DRAWS; d++)
        sum += wl_choose_ln(c, q, i, ln_work, td[d], pd[d]) - there - g.t * (td[d] - t) - g.p * (pd[d] - p);
    return there + sum / WL_JOINT_DRAWS;
}

double wl_choose_raw_mean(const struct wl_choose_context *c, enum wl_choose_quantity q, size_t i)
{
    size_t at;
    const struct wl_joint *j = joint_of(c, i, &at);
    return wl_choose_ln(c, q, i, c->in->settings[i].ln_work, wl_joint_run_mean(j, WL_JOINT_TIME, at),
                        wl_joint_run_mean(j, WL_JOINT_POWER, at));
}

double wl_choose_run_variance(const struct wl_choose_context *c, enum wl_choose_quantity q, size_t i)
{
    size_t at;
    const struct wl_joint *j = joint_of(c, i, &at);
    const double t = wl_joint_means(j, WL_JOINT_TIME)[at];
    if (!wl_joint_has(j, WL_JOINT_POWER)) {
        const struct wl_choose_gradient g = wl_choose_gradient(c, q, i, t, 0);
        return g.t * g.t * wl_joint_run_variance(j, WL_JOINT_TIME);
    }
    const struct wl_choose_gradient g = wl_choose_gradient(c, q, i, t, wl_joint_means(j, WL_JOINT_POWER)[at]);
    const double vt = wl_joint_run_variance(j, WL_JOINT_TIME), vp = wl_joint_run_variance(j, WL_JOINT_POWER);
    return g.t * g.t * vt + g.p * g.p * vp + 2 * wl_joint_rho(j) * g.t * g.p * sqrt(vt * vp);
}
