/* Notes on what the data do not support. */
#include "law/fit/notes.h"

#include <math.h>
#include <string.h>

/* `what` is a noun that takes an s, or "one|many". */
const char *wl_law_count_text(struct wl_arena *a, size_t n, const char *what)
{
    const char *bar = strchr(what, '|');
    if (!bar) return wl_strf(a, "%zu %s%s", n, what, n == 1 ? "" : "s");
    return wl_strf(a, "%zu %s", n, n == 1 ? wl_strndup(a, what, (size_t)(bar - what)) : bar + 1);
}

static void note_degrees_of_freedom(struct wl_law_group *g, struct wl_arena *a)
{
    const struct wl_law_estimate *runs = &g->estimates[WL_LAW_RUN_MEANS];
    if (!(runs->df > 0))
        wl_strs_addf(
            a, &g->notes,
            "no error estimate: a line through two worker counts with one run each leaves no degrees of freedom");
    if (g->n_configs == 2)
        wl_strs_addf(a, &g->notes,
                     "two worker counts: any two points lie on a power law, so curvature cannot be tested, and an "
                     "effect on all runs of one worker count is indistinguishable from scaling");
    else if (!(g->lack_of_fit.df2 > 0))
        wl_strs_addf(a, &g->notes,
                     "one run per worker count: the scatter of repeats is unknown, so lack of fit cannot be tested");
}

static void note_spread(struct wl_law_group *g, struct wl_arena *a)
{
    const struct wl_law_estimate *runs = &g->estimates[WL_LAW_RUN_MEANS];
    if (runs->line.sst == 0) {
        wl_strs_addf(a, &g->notes, "all runs have exactly the same value: beta is 0 and R2 is undefined");
    } else if (runs->df > 0 && runs->r2 > 1 - 1e-12) {
        wl_strs_addf(a, &g->notes,
                     "all runs are on the line within rounding error: these numbers look computed, not measured");
    } else if (g->lack_of_fit.ss_pure > 0.5 * 0.5 * g->lack_of_fit.df2) {
        wl_strs_addf(
            a, &g->notes,
            "runs at one worker count differ by %.0f %% (standard deviation): are settings mixed (--by separates "
            "them), or was the machine busy?",
            100 * (exp(sqrt(g->lack_of_fit.ss_pure / g->lack_of_fit.df2)) - 1));
    } else if (g->lack_of_fit.df2 > 0 && !(g->lack_of_fit.ss_pure > 0)) {
        wl_strs_addf(
            a, &g->notes,
            "repeats at each worker count are identical: if rows are copies, they carry no information on noise");
    }
}

static void note_range(struct wl_law_group *g, struct wl_arena *a)
{
    double range = g->configs[g->n_configs - 1].workers / g->configs[0].workers;
    if (g->n_configs > 2 && (range < 10 || g->n_configs < 5))
        wl_strs_addf(a, &g->notes,
                     "%s over a factor of %.3g: too few to distinguish a power law from other models (that takes five "
                     "over a factor of 10); a high R2 is not evidence here",
                     wl_law_count_text(a, g->n_configs, "worker count"), range);
    if (g->scaling == WL_SCALING_MIXED)
        wl_strs_addf(a, &g->notes,
                     "%s of %s are neither constant nor proportional to the workers: %s are not comparable, speed-up "
                     "and energy ratio are of the same %s; separate the series with --by",
                     g->counted, wl_law_rows_name(g), wl_law_rows_name(g), g->counted);
}

/* Residuals that violate the assumptions of the intervals; with very many runs even harmless ones are significant. */
static void note_residuals(struct wl_law_group *g, struct wl_arena *a)
{
    const struct wl_law_residuals *r = &g->residuals;
    if (r->shapiro_wilk.p < 0.01)
        wl_strs_addf(a, &g->notes,
                     "residuals of runs are not normal (Shapiro-Wilk p = %.2g): the %s interval in --json does not "
                     "assume normality",
                     r->shapiro_wilk.p, isnan(g->estimates[WL_LAW_BOOTSTRAP].beta_lo) ? "hc3" : "bootstrap");
    if (r->breusch_pagan.p < 0.01)
        wl_strs_addf(a, &g->notes,
                     "the scatter of runs changes with N (Breusch-Pagan p = %.2g): the estimators hc3 and cr2 in "
                     "--json allow for that",
                     r->breusch_pagan.p);
}

static void note_series(struct wl_law_group *g, struct wl_arena *a)
{
    const struct wl_law_series *s = &g->series;
    if (10 * s->run_se < g->estimates[WL_LAW_RUN_MEANS].sigma)
        wl_strs_addf(a, &g->notes,
                     "the epochs of a run determine its mean to %.2g %%, but runs scatter by %.2g %%: more runs would "
                     "help, more epochs would not",
                     100 * s->run_se, 100 * g->estimates[WL_LAW_RUN_MEANS].sigma);
    if (s->runs_longer_warm_up)
        wl_strs_addf(a, &g->notes,
                     "warm-up: MSER-5 would exclude more epochs than --drop-epochs in %zu of %s, up to %s",
                     s->runs_longer_warm_up, wl_law_count_text(a, s->runs, "run"),
                     wl_law_count_text(a, s->warm_up, "epoch"));
    if (s->runs_unsettled)
        wl_strs_addf(a, &g->notes, "%s not settle in the first quarter of the epochs",
                     wl_law_count_text(a, s->runs_unsettled, "run does|runs do"));
}

/* Studentised residuals beyond 3 that are rare even as the largest of n (Bonferroni). */
static void note_outliers(struct wl_law_group *g, struct wl_arena *a)
{
    const struct wl_law_estimate *runs = &g->estimates[WL_LAW_RUN_MEANS];
    size_t outliers = 0;
    for (size_t i = 0; i < g->n_runs; i++) {
        const struct wl_law_run *run = &g->runs[i];
        if (!(fabs(run->studentised) > 3)) continue;
        double p = (double)g->n_runs * wl_t_two_sided(run->studentised, runs->df - 1);
        if (!(p < 1 - WL_LAW_CONFIDENCE) || ++outliers > WL_LAW_NAMED_RUNS) continue;
        wl_strs_addf(a, &g->notes, "run %s at N = %g is an outlier: studentised residual %.1f",
                     run->label ? run->label : "without a label", run->workers, run->studentised);
    }
    if (outliers > WL_LAW_NAMED_RUNS)
        wl_strs_addf(a, &g->notes, "%s",
                     wl_law_count_text(a, outliers - WL_LAW_NAMED_RUNS,
                                       "more run is an outlier|more runs are outliers"));
}

/* A robust line far from the reported one: which runs pull it? */
static void note_robust(struct wl_law_group *g, struct wl_arena *a)
{
    const struct wl_law_estimate *runs = &g->estimates[WL_LAW_RUN_MEANS], *sen = &g->estimates[WL_LAW_THEIL_SEN];
    static const double rounding = 1e-9;
    if (!(fabs(sen->beta - runs->beta) > 2 * runs->beta_se + rounding)) return;
    struct wl_text pull = WL_TEXT(a);
    size_t influential = 0;
    for (size_t i = 0; i < g->n_runs; i++)
        if (runs->line.cook[i] > 4 / (double)g->n_runs && ++influential <= WL_LAW_NAMED_RUNS)
            wl_text_addf(&pull, "%s%s at N = %g", pull.n ? ", " : "", g->runs[i].label ? g->runs[i].label : "a run",
                         g->runs[i].workers);
    if (influential > WL_LAW_NAMED_RUNS) wl_text_addf(&pull, " and %zu more", influential - WL_LAW_NAMED_RUNS);
    wl_strs_addf(a, &g->notes,
                 "the median of slopes (Theil-Sen) gives beta %.3g, more than two standard errors away%s%s", sen->beta,
                 pull.n ? "; influential runs: " : "", pull.s);
}

void wl_law_note_limits(struct wl_law_group *g, struct wl_arena *a)
{
    if (g->law) {
        note_degrees_of_freedom(g, a);
        note_spread(g, a);
        note_range(g, a);
        note_residuals(g, a);
        note_series(g, a);
        note_outliers(g, a);
        note_robust(g, a);
    }
    if (g->simulated) wl_strs_addf(a, &g->notes, "simulated: some of these rows are not measurements");
    if (g->estimated)
        wl_strs_addf(a, &g->notes,
                     "estimated: some of these rows are marked as estimates; in a store, that concerns their energy");
}
