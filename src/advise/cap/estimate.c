/* What a cap search knows of its candidates. */
#include "advise/cap/state.h"

#include "stats/stats.h"

#include <math.h>

enum { MAX = WL_ADVISE_CAP_MAX };

static void gather(const struct wl_advise_cap *s, struct wl_advise_cap_data *out)
{
    struct wl_advise_cap_evidence sum[MAX] = { 0 };
    for (size_t i = 0; i < s->opts.n; i++) {
        const struct wl_advise_cap_evidence *e = &s->evidence[i];
        struct wl_advise_cap_evidence *to = &sum[s->setting_of[i]];
        to->windows += e->windows;
        to->precision_t += e->precision_t;
        to->precision_p += e->precision_p;
        to->precision_tp += e->precision_tp;
        to->t += e->t;
        to->p += e->p;
    }
    wl_advise_cap_gather(sum, s->settings, out);
}

static struct wl_advise_cap_estimate estimate(const struct wl_advise_cap *s, size_t i)
{
    const struct wl_advise_cap_posterior *p = &s->posterior;
    const size_t k = s->setting_of[i], r = s->goal.reference, d = p->d, o = 2 * d;
    const double level = isnan(s->level) ? 0 : s->level, scale = log(s->opts.scale_w);
    const struct wl_advise_cap_value v = wl_advise_cap_value(&s->goal, p->m[k] + level, p->m[d + k]);
    const double var_t = p->v[k + k * o], var_p = p->v[d + k + (d + k) * o], cov = p->v[d + k + k * o];
    const double var_j = v.by_t * v.by_t * var_t + 2 * v.by_t * v.by_p * cov + v.by_p * v.by_p * var_p;
    return (struct wl_advise_cap_estimate) {
        .value = s->value[i],
        .ln_t = p->m[k] + level,
        .sd_t = sqrt(fmax(var_t, 0)),
        .ln_p = p->m[d + k] + scale,
        .sd_p = sqrt(fmax(var_p, 0)),
        .ln_slowdown = p->m[k] - p->m[r],
        .sd_slowdown = sqrt(wl_advise_cap_slowdown_variance(p, k, r)),
        .ln_j = v.ln_j + (s->opts.objective == WL_ADVISE_MIN_TIME ? 0 : scale),
        .sd_j = sqrt(fmax(var_j, 0)),
        .p_limit = s->within[k],
        .gain = s->gain[k],
        .windows = s->evidence[i].windows,
        .failed = s->failed[i],
        .given_up = s->given_up[i],
    };
}

static void update_setting(struct wl_advise_cap *s, size_t k)
{
    const struct wl_advise_cap_limit *limit = &s->opts.limit;
    const struct wl_advise_cap_posterior *p = &s->posterior;
    const size_t r = s->goal.reference;
    s->within[k] = limit->probability > 0 && k != r ? wl_advise_cap_below(p, k, r, log1p(limit->slowdown)) : 1;
    s->gain[k] = s->unavailable[k] ? 0 : wl_advise_cap_expected_gain(&s->goal, p, &s->opts.noise, k);
}

void wl_advise_cap_update(struct wl_advise_cap *s)
{
    struct wl_advise_cap_data data;
    if (!s->stale) return;
    wl_advise_cap_settle(s);
    if (s->moved) wl_advise_cap_fill(s);
    gather(s, &data);
    wl_advise_cap_condition(&s->posterior, &s->model, s->opts.prior, &data);
    for (size_t k = 0; k < s->settings; k++) update_setting(s, k);
    for (size_t i = 0; i < s->opts.n; i++) s->estimate[i] = estimate(s, i);
    s->stale = false;
}

const struct wl_advise_cap_estimate *wl_advise_cap_estimates(struct wl_advise_cap *s)
{
    wl_advise_cap_update(s);
    return s->estimate;
}

double wl_advise_cap_within(struct wl_advise_cap *s, size_t i, double slowdown)
{
    wl_advise_cap_update(s);
    WL_CHECK(i < s->opts.n && slowdown > -1);
    return wl_advise_cap_below(&s->posterior, s->setting_of[i], s->goal.reference, log1p(slowdown));
}

/* Mean and variance of ln J of one setting minus that of another, by the moments. */
static double difference(const struct wl_advise_cap *s, size_t k, size_t r, double *variance)
{
    const struct wl_advise_cap_posterior *p = &s->posterior;
    const size_t d = p->d, at[4] = { k, d + k, r, d + r };
    const struct wl_advise_cap_value v = wl_advise_cap_value(&s->goal, p->m[k], p->m[d + k]);
    const struct wl_advise_cap_value w = wl_advise_cap_value(&s->goal, p->m[r], p->m[d + r]);
    const double by[4] = { v.by_t, v.by_p, -w.by_t, -w.by_p };
    *variance = 0;
    for (size_t a = 0; a < 4; a++)
        for (size_t b = 0; b < 4; b++) *variance += by[a] * by[b] * p->v[at[a] + at[b] * 2 * d];
    return v.ln_j - w.ln_j;
}

double wl_advise_cap_saves(struct wl_advise_cap *s, size_t i, double saving)
{
    const double least_variance = 1e-12;
    double variance;
    wl_advise_cap_update(s);
    WL_CHECK(i < s->opts.n && saving < 1);
    const size_t k = s->setting_of[i], r = s->goal.reference;
    if (k == r) return saving <= 0;
    const double mean = difference(s, k, r, &variance);
    return wl_normal_cdf((log1p(-saving) - mean) / sqrt(fmax(variance, least_variance)));
}
