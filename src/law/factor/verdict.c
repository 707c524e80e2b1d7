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

/* Are levels compared along the share of the work in the time, instead of along ln N? */
static bool decided_by_work(const struct wl_factor_group *g)
{
    return g->tests == &g->over_blocks && g->scaled_work.decides;
}

/* ---- slowdowns ---- */

static struct wl_estimate ratio(double difference, double half)
{
    return (struct wl_estimate) { exp(difference), exp(difference - half), exp(difference + half) };
}

static const struct wl_law_config *at_workers(const struct wl_law_group *law, double workers)
{
    for (size_t i = 0; i < law->n_configs; i++)
        if (law->configs[i].workers == workers) return &law->configs[i];
    return NULL;
}

/* One slowdown per worker count that level and base share. The error is the interaction of levels and worker counts;
 * the intervals of one level hold together (Bonferroni). */
static void add_slowdowns_by_workers(struct wl_factor_group *g, size_t l)
{
    const struct wl_factor_tests *t = g->tests;
    const struct wl_law_group *law = &g->levels[l].law;
    const double tail = (1 - WL_LAW_CONFIDENCE) / 2 / (double)g->shared_workers,
                 sigma = decided_by_work(g) ? g->scaled_work.sigma : t->sigma,
                 half = t->df > 0 ? wl_t_quantile(1 - tail, t->df) * sigma * M_SQRT2 : NAN;
    for (size_t i = 0; i < law->n_configs; i++) {
        const struct wl_law_config *c = &law->configs[i], *b = at_workers(&g->levels[g->base].law, c->workers);
        if (b)
            g->slowdowns[g->n_slowdowns++] =
                (struct wl_factor_slowdown) { l, c->workers, ratio(log(c->response / b->response), half) };
    }
}

/* One number only where the levels are shown to be parallel. */
void wl_factor_fill_slowdowns(struct wl_factor_group *g, struct wl_arena *a)
{
    const struct wl_factor_tests *t = g->tests;
    size_t max = g->n_levels;
    for (size_t l = 0; l < g->n_levels; l++) max += g->levels[l].law.n_configs;
    g->slowdowns = wl_new_array(a, struct wl_factor_slowdown, max);
    for (size_t l = 0; l < g->n_levels; l++) {
        if (l == g->base || g->levels[l].reason) continue;
        if (g->verdict != WL_FACTOR_EQUIVALENT) {
            add_slowdowns_by_workers(g, l);
            continue;
        }
        const double half = wl_t_quantile(0.5 + WL_LAW_CONFIDENCE / 2, t->beta_df) * t->offset_se[l];
        g->slowdowns[g->n_slowdowns++] = (struct wl_factor_slowdown) { l, NAN, ratio(t->offset[l], half) };
    }
}

/* ---- what would decide ---- */

static double squares_within(const struct wl_factor_group *g, double *df, double *runs_per_cell)
{
    double sum = 0, runs = 0, cells = 0;
    *df = 0;
    for (size_t l = 0; l < g->n_levels; l++) {
        const struct wl_lack_of_fit *lack = &g->levels[l].law.lack_of_fit;
        if (g->levels[l].reason) continue;
        runs += (double)g->levels[l].law.n_runs;
        cells += (double)g->levels[l].law.n_configs;
        if (!(lack->df2 > 0)) continue;
        sum += lack->ss_pure;
        *df += lack->df2;
    }
    *runs_per_cell = runs / cells;
    return sum;
}

static double widest_se(const struct wl_factor_tests *t)
{
    double widest = 0;
    for (size_t i = 0; i < t->n_pairs; i++) widest = fmax(widest, t->pairs[i].se);
    return widest;
}

/* Two one-sided tests at a true difference of 0 pass with the power where margin / se >= t(0.95) + t((1 + power) / 2).
 * Detecting a difference of the margin takes fewer. */
static bool shows_equivalence(double margin, double se, double df)
{
    return df > 0 && margin / se >= wl_t_quantile(1 - alpha, df) + wl_t_quantile(1 - (1 - power) / 2, df);
}

/* Runs per level and worker count: only the part of the error that is the scatter of runs shrinks with them. */
static double runs_needed(const struct wl_factor_group *g, double margin)
{
    const struct wl_factor_tests *t = g->tests;
    double df, per_cell, pure = squares_within(g, &df, &per_cell) / df, variance = t->sigma * t->sigma;
    if (!(df > 0)) return NAN;
    const double shared = fmax(0, variance - pure / per_cell);
    for (double runs = ceil(per_cell) + 1; runs <= 1000; runs++)
        if (shows_equivalence(margin, widest_se(t) * sqrt((shared + pure / runs) / variance), t->df)) return runs;
    return NAN;
}

/* Shared worker counts, by doublings: sum of squares of ln N of n of them is ln(2)^2 n (n^2 - 1) / 12. */
static double worker_counts_needed(const struct wl_factor_group *g, double margin)
{
    const struct wl_factor_tests *t = g->tests;
    const double m = (double)g->shared_workers, levels = (double)g->compared;
    for (double n = m + 1; n <= 64; n++) {
        const double gain = n * (n * n - 1) / (m * (m * m - 1));
        if (shows_equivalence(margin, widest_se(t) / sqrt(gain), (levels - 1) * (n - 2))) return n;
    }
    return NAN;
}

static void say_what_decides(struct wl_factor_group *g, double margin, struct wl_arena *a)
{
    const char *goal =
        wl_strf(a, "to show with %g %% power that two equal slopes agree within %g", 100 * power, margin);
    const double counts = worker_counts_needed(g, margin);
    g->runs_needed = runs_needed(g, margin);
    const char *by_counts = isnan(counts) ? "" : wl_strf(a, "; or %.0f worker counts", counts);
    if (!isnan(g->runs_needed))
        g->runs_needed_reason = wl_strf(a, "%s%s", goal, by_counts);
    else
        g->runs_needed_reason =
            wl_strf(a,
                    "levels differ between worker counts by more than repeats explain: more "
                    "repeats do not help%s%s",
                    isnan(counts) ? "" : wl_strf(a, ", %.0f worker counts would, ", counts), isnan(counts) ? "" : goal);
}

/* ---- verdict ---- */

enum { FEW_WORKER_COUNTS = 4 };

void wl_factor_decide(struct wl_factor_group *g, double margin, struct wl_arena *a)
{
    const struct wl_factor_tests *t = g->tests;
    const bool few = g->shared_workers <= FEW_WORKER_COUNTS;
    const bool by_work = decided_by_work(g);
    const double p = by_work ? g->scaled_work.p : t->p;
    double p_same = 0;
    for (size_t i = 0; i < t->n_pairs; i++) p_same = fmax(p_same, t->pairs[i].p_same);
    g->runs_needed = NAN;
    if (p < alpha) {
        g->verdict = WL_FACTOR_DIFFERENT;
        g->verdict_reason = wl_strf(a, "parallel levels are rejected%s, p = %.2g%s",
                                    by_work ? " along the share of work in the time" : "", p,
                                    p_same < alpha ? wl_strf(a, "; yet every difference is below %g", margin) : "");
    } else if (t->n_pairs && p_same < alpha) {
        g->verdict = WL_FACTOR_EQUIVALENT;
        g->verdict_reason = wl_strf(a, "every pair differs by less than %g, p = %.2g; parallel levels are not rejected",
                                    margin, p_same);
    } else {
        g->verdict = WL_FACTOR_UNDECIDED;
        g->verdict_reason =
            t->reason ? t->reason
                      : wl_strf(a,
                                "parallel levels are not rejected, p = %.2g, but differences of %g are not excluded "
                                "either, p = %.2g%s",
                                p, margin, p_same,
                                few ? wl_strf(a, "; %zu worker counts rarely decide", g->shared_workers) : "");
        if (t->n_pairs) say_what_decides(g, margin, a);
        if (t->reason && isnan(t->sigma)) /* no error to tell how many runs would do */
            g->runs_needed_reason = wl_strf(a,
                                            "the same %d or more worker counts at every level would decide; fewer "
                                            "rarely do",
                                            FEW_WORKER_COUNTS + 1);
    }
}
