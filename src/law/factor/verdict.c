/* What the tests of a factor decide: the verdict, the runs needed where it is open, and how much slower each level is.
 */
#include "law/factor/verdict.h"

#include <math.h>

static const double alpha = 0.05, power = 0.8;

const char *wl_factor_verdict_name(enum wl_factor_verdict v)
{
    static const char *const names[] = { "UNDECIDED", "DIFFERENT", "EQUIVALENT" };
    return names[v];
}

/* ---- slowdowns ---- */

static double squares_within(const struct wl_factor_group *g, double *df)
{
    double sum = 0;
    *df = 0;
    for (size_t l = 0; l < g->n_levels; l++) {
        const struct wl_lack_of_fit *lack = &g->levels[l].law.lack_of_fit;
        if (g->levels[l].reason || !(lack->df2 > 0)) continue;
        sum += lack->ss_pure;
        *df += lack->df2;
    }
    return sum;
}

static struct wl_estimate ratio(double difference, double se, double df)
{
    double half = df > 0 && se > 0 ? wl_t_quantile(0.5 + WL_LAW_CONFIDENCE / 2, df) * se : NAN;
    return (struct wl_estimate) { exp(difference), exp(difference - half), exp(difference + half) };
}

static const struct wl_law_config *at_workers(const struct wl_law_group *law, double workers)
{
    for (size_t i = 0; i < law->n_configs; i++)
        if (law->configs[i].workers == workers) return &law->configs[i];
    return NULL;
}

/* One slowdown per worker count that level and base share, with the scatter of repeats pooled over all of them. */
static void add_slowdowns_by_workers(struct wl_factor_group *g, size_t l)
{
    double df, variance = squares_within(g, &df);
    const struct wl_law_group *law = &g->levels[l].law;
    variance /= df;
    for (size_t i = 0; i < law->n_configs; i++) {
        const struct wl_law_config *c = &law->configs[i], *b = at_workers(&g->levels[g->base].law, c->workers);
        if (!b) continue;
        double se = sqrt(variance * (1 / (double)c->runs + 1 / (double)b->runs));
        g->slowdowns[g->n_slowdowns++] =
            (struct wl_factor_slowdown) { l, c->workers, ratio(log(c->response / b->response), se, df) };
    }
}

void wl_factor_fill_slowdowns(struct wl_factor_group *g, struct wl_arena *a)
{
    size_t max = g->n_levels;
    for (size_t l = 0; l < g->n_levels; l++) max += g->levels[l].law.n_configs;
    g->slowdowns = wl_new_array(a, struct wl_factor_slowdown, max);
    for (size_t l = 0; l < g->n_levels; l++) {
        if (l == g->base || g->levels[l].reason) continue;
        if (g->verdict == WL_FACTOR_DIFFERENT) {
            add_slowdowns_by_workers(g, l);
            continue;
        }
        const struct wl_factor_tests *t = g->tests;
        g->slowdowns[g->n_slowdowns++] =
            (struct wl_factor_slowdown) { l, NAN, ratio(t->offset[l], t->offset_se[l], t->beta_df) };
    }
}

/* ---- verdict ---- */

/* Runs per level and worker count with which equal slopes are found equivalent within the margin with 80 % power: se
 * falls with the square root of the runs. Two one-sided tests at a true difference of 0 pass with that power where
 * margin / se >= t(0.95) + t(0.9). Detecting a difference of the margin takes fewer. */
static double runs_needed(const struct wl_factor_group *g, double margin)
{
    const struct wl_factor_tests *t = &g->over_runs;
    double widest = 0, configs = 0;
    for (size_t i = 0; i < t->n_pairs; i++) widest = fmax(widest, t->pairs[i].se);
    for (size_t l = 0; l < g->n_levels; l++)
        if (!g->levels[l].reason) configs += (double)g->levels[l].law.n_configs;
    double now = (double)t->points / configs;
    for (double runs = 1; runs <= 1000; runs++) {
        double df = runs * configs - 2 * (double)g->compared;
        if (!(df > 0)) continue;
        double se = widest * sqrt(now / runs);
        if (margin / se >= wl_t_quantile(1 - alpha, df) + wl_t_quantile(1 - (1 - power) / 2, df)) return runs;
    }
    return NAN;
}

/* Lack of fit of the separate lines: do worker counts deviate from them by more than repeats explain? */
static bool levels_shift_together(const struct wl_factor_group *g)
{
    double df_pure, pure = squares_within(g, &df_pure);
    double df = g->over_runs.df - df_pure, lack = g->over_runs.sse_separate - pure;
    return df > 0 && df_pure > 0 && wl_f_sf(lack / df / (pure / df_pure), df, df_pure) < alpha;
}

void wl_factor_decide(struct wl_factor_group *g, double margin, struct wl_arena *a)
{
    const struct wl_factor_tests *t = g->tests;
    double p_same = 0;
    for (size_t i = 0; i < t->n_pairs; i++) p_same = fmax(p_same, t->pairs[i].p_same);
    g->runs_needed = NAN;
    if (t->p < alpha) {
        g->verdict = WL_FACTOR_DIFFERENT;
        g->verdict_reason = wl_strf(a, "equal slopes are rejected, p = %.2g%s", t->p,
                                    p_same < alpha ? wl_strf(a, "; yet every difference is below %g", margin) : "");
    } else if (t->n_pairs && p_same < alpha) {
        g->verdict = WL_FACTOR_EQUIVALENT;
        g->verdict_reason =
            wl_strf(a, "every pair differs by less than %g, p = %.2g; equal slopes are not rejected", margin, p_same);
    } else {
        g->verdict = WL_FACTOR_UNDECIDED;
        g->verdict_reason = t->reason
                                ? t->reason
                                : wl_strf(a,
                                          "equal slopes are not rejected, p = %.2g, but differences of %g are not "
                                          "excluded either, p = %.2g",
                                          t->p, margin, p_same);
        if (t->n_pairs && levels_shift_together(g)) {
            g->runs_needed_reason = "worker counts deviate from their lines by more than repeats explain: more worker "
                                    "counts would help, more repeats would not";
        } else if (g->over_runs.n_pairs) {
            g->runs_needed = runs_needed(g, margin);
            g->runs_needed_reason = wl_strf(a, "to show with %g %% power that two equal slopes agree within %g%s",
                                            100 * power, margin, isnan(g->runs_needed) ? ": more than 1000 runs" : "");
        }
    }
}
