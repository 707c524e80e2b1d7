/* Analysis of covariance: one line per level of a factor, against lines with a common slope. */
#include "law/factor/ancova.h"

#include "law/fit/diagnostics.h"
#include "law/fit/estimate.h"

#include <math.h>

static const struct wl_law_estimate *line_of(const struct wl_factor_level *level, bool config)
{
    return &level->law.estimates[config ? WL_LAW_CONFIG_MEANS : WL_LAW_RUN_MEANS];
}

/* 1 / sum (ln N - mean)^2 of a level: the variance of its slope over sigma^2. */
static double slope_variance(const struct wl_law_estimate *e) { return e->line.inverse[3]; }

/* The points of all compared levels; level_of [n] is the level of each. */
struct points {
    double *x, *y;
    size_t *level_of, n;
};

static struct points gather(const struct wl_factor_group *g, bool config, struct wl_arena *a)
{
    struct points out = { 0 };
    size_t max = 0;
    for (size_t l = 0; l < g->n_levels; l++) max += g->levels[l].law.n_runs;
    out.x = wl_new_array(a, double, max);
    out.y = wl_new_array(a, double, max);
    out.level_of = wl_new_array(a, size_t, max);
    struct wl_arena *scratch = wl_arena_new(a);
    for (size_t l = 0; l < g->n_levels; l++) {
        double *x, *y;
        if (g->levels[l].reason) continue;
        size_t n = wl_law_estimate_points(&g->levels[l].law, config, &x, &y, scratch);
        for (size_t i = 0; i < n; i++, out.n++) {
            out.x[out.n] = x[i];
            out.y[out.n] = y[i];
            out.level_of[out.n] = l;
        }
    }
    wl_arena_free(scratch);
    return out;
}

/* y = intercept of the level + b x. */
static int fit_common(struct wl_factor_tests *out, const struct wl_factor_group *g, const struct points *p,
                      struct wl_arena *a, struct wl_err *e)
{
    size_t *group = wl_new_array(a, size_t, p->n), *number = wl_new_array(a, size_t, g->n_levels), next = 0;
    for (size_t l = 0; l < g->n_levels; l++)
        if (!g->levels[l].reason) number[l] = next++;
    for (size_t i = 0; i < p->n; i++) group[i] = number[p->level_of[i]];
    const struct wl_grouped_data data = {
        .n = p->n, .groups = next, .common = 1, .y = p->y, .group = group, .z = p->x
    };
    struct wl_grouped o;
    int rc = wl_grouped_fit(&o, &data, a, e);
    if (rc) return rc;
    if (o.rank < 1) return wl_fail(e, WL_EINVAL, "each level has one worker count: there is no common slope");
    out->sse_common = o.sse;
    out->beta = -o.c[0] + 0.0;
    out->beta_se = o.sigma * sqrt(o.inverse[0]);
    const double half = o.df > 0 ? wl_t_quantile(0.5 + WL_LAW_CONFIDENCE / 2, o.df) * out->beta_se : NAN;
    out->beta_lo = out->beta - half;
    out->beta_hi = out->beta + half;
    out->beta_df = o.df;
    for (size_t l = 0; l < g->n_levels; l++) {
        if (g->levels[l].reason) continue;
        out->offset[l] = o.intercept[number[l]] - o.intercept[number[g->base]];
        out->offset_se[l] = l == g->base ? 0 : o.sigma * sqrt(wl_grouped_variance(&o, number[l], number[g->base]));
    }
    return 0;
}

static struct wl_factor_pair pair_of(const struct wl_factor_tests *t, const struct wl_factor_group *g, size_t a,
                                     size_t b, bool config, double margin, double of_t)
{
    const struct wl_law_estimate *p = line_of(&g->levels[a], config), *q = line_of(&g->levels[b], config);
    struct wl_factor_pair out = { .a = a, .b = b, .difference = q->beta - p->beta, .df = t->df };
    double half;
    out.se = t->sigma * sqrt(slope_variance(p) + slope_variance(q));
    half = of_t * out.se;
    out.lo = out.difference - half;
    out.hi = out.difference + half;
    out.t = out.difference / out.se;
    out.p = wl_t_two_sided(out.t, t->df);
    out.p_same =
        fmax(wl_t_sf((out.difference + margin) / out.se, t->df), wl_t_cdf((out.difference - margin) / out.se, t->df));
    return out;
}

static void fill_pairs(struct wl_factor_tests *out, const struct wl_factor_group *g, bool config, double margin,
                       struct wl_arena *a)
{
    const size_t max = g->compared * (g->compared - 1) / 2;
    const double of_t = wl_t_quantile(0.5 + WL_LAW_CONFIDENCE / 2, out->df); /* half of an interval, in its errors */
    out->pairs = wl_new_array(a, struct wl_factor_pair, max);
    for (size_t i = 0; i < g->n_levels; i++)
        for (size_t j = i + 1; j < g->n_levels; j++) {
            if (g->levels[i].reason || g->levels[j].reason) continue;
            out->pairs[out->n_pairs++] = pair_of(out, g, i, j, config, margin, of_t);
        }
    wl_factor_adjust_pairs(out, g->compared, a);
}

void wl_factor_adjust_pairs(struct wl_factor_tests *t, size_t levels, struct wl_arena *a)
{
    struct wl_arena *scratch = wl_arena_new(a);
    double *p = wl_new_array(scratch, double, t->n_pairs), *q = wl_new_array(scratch, double, t->n_pairs),
           *adjusted = wl_new_array(scratch, double, t->n_pairs);
    for (size_t i = 0; i < t->n_pairs; i++) {
        p[i] = t->pairs[i].p;
        q[i] = fabs(t->pairs[i].t) * M_SQRT2;
    }
    wl_holm(p, t->n_pairs, adjusted, scratch);
    for (size_t i = 0; i < t->n_pairs; i++) t->pairs[i].p_holm = adjusted[i];
    if (levels > 2) wl_studentised_range_sf_all(q, t->n_pairs, (double)levels, t->df, p, scratch);
    for (size_t i = 0; i < t->n_pairs; i++) t->pairs[i].p_tukey = p[i];
    wl_arena_free(scratch);
}

struct wl_factor_tests wl_factor_no_tests(const char *basis, const struct wl_factor_group *g, struct wl_arena *a)
{
    struct wl_factor_tests out = { .basis = basis,
                                   .sigma = NAN,
                                   .df = NAN,
                                   .f = NAN,
                                   .df1 = NAN,
                                   .p = NAN,
                                   .partial_eta2 = NAN,
                                   .beta = NAN,
                                   .beta_se = NAN,
                                   .beta_lo = NAN,
                                   .beta_hi = NAN,
                                   .beta_df = NAN,
                                   .sse_common = NAN,
                                   .sse_separate = NAN };
    out.offset = wl_new_array(a, double, g->n_levels);
    out.offset_se = wl_new_array(a, double, g->n_levels);
    for (size_t l = 0; l < g->n_levels; l++) out.offset[l] = out.offset_se[l] = NAN;
    return out;
}

void wl_factor_ancova(struct wl_factor_tests *out, const struct wl_factor_group *g, bool config, double margin,
                      struct wl_arena *a)
{
    struct wl_arena *scratch = wl_arena_new(a);
    const struct points p = gather(g, config, scratch);
    struct wl_err e;
    *out = wl_factor_no_tests(config ? "config_means" : "run_means", g, a);
    out->points = p.n;
    const int rc = fit_common(out, g, &p, scratch, &e);
    wl_arena_free(scratch);
    if (rc) {
        out->reason = wl_strdup(a, e.msg);
        return;
    }
    out->sse_separate = 0;
    for (size_t l = 0; l < g->n_levels; l++)
        if (!g->levels[l].reason) out->sse_separate += line_of(&g->levels[l], config)->line.sse;
    out->df = (double)p.n - 2 * (double)g->compared;
    out->df1 = (double)g->compared - 1;
    if (!(out->df > 0)) {
        out->reason = wl_strf(a, "%zu lines through %zu points leave no degrees of freedom", g->compared, p.n);
        return;
    }
    out->sigma = sqrt(out->sse_separate / out->df);
    if (!(out->sigma > WL_LAW_ROUNDING)) {
        out->reason = "the points are on their lines within rounding error: there is no scatter to test against";
        return;
    }
    double gain = fmax(out->sse_common - out->sse_separate, 0);
    out->f = gain / out->df1 / (out->sse_separate / out->df);
    out->p = wl_f_sf(out->f, out->df1, out->df);
    out->partial_eta2 = gain / (gain + out->sse_separate);
    fill_pairs(out, g, config, margin, a);
}
