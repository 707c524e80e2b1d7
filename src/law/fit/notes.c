/* What the data cannot say, in sentences. */
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
        wl_strs_addf(a, &g->notes,
                     "no error estimate: two worker counts with one run each give a line and nothing to judge it by");
    if (g->n_configs == 2)
        wl_strs_addf(a, &g->notes,
                     "two worker counts: any two points lie on a power law, so curvature cannot be tested, and an "
                     "effect that hits one worker count as a whole cannot be told from scaling");
    else if (!(g->lack_of_fit.df2 > 0))
        wl_strs_addf(a, &g->notes,
                     "one run per worker count: how repeats scatter is unknown, so lack of fit cannot be tested");
}

static void note_spread(struct wl_law_group *g, struct wl_arena *a)
{
    const struct wl_law_estimate *runs = &g->estimates[WL_LAW_RUN_MEANS];
    if (runs->line.sst == 0) {
        wl_strs_addf(a, &g->notes, "all runs have exactly the same value: beta is 0 and R2 is undefined");
    } else if (runs->df > 0 && runs->r2 > 1 - 1e-12) {
        wl_strs_addf(a, &g->notes, "the runs lie on the line to rounding: these numbers look computed, not measured");
    } else if (g->lack_of_fit.ss_pure > 0.5 * 0.5 * g->lack_of_fit.df2) {
        wl_strs_addf(
            a, &g->notes,
            "runs at one worker count differ by %.0f %% (standard deviation): are settings mixed (--by separates "
            "them), or was the machine busy?",
            100 * (exp(sqrt(g->lack_of_fit.ss_pure / g->lack_of_fit.df2)) - 1));
    } else if (g->lack_of_fit.df2 > 0 && !(g->lack_of_fit.ss_pure > 0)) {
        wl_strs_addf(a, &g->notes,
                     "repeats at one worker count are identical: are rows copies? They carry no information on noise");
    }
}

static void note_range(struct wl_law_group *g, struct wl_arena *a)
{
    double range = g->configs[g->n_configs - 1].workers / g->configs[0].workers;
    if (g->n_configs > 2 && (range < 10 || g->n_configs < 5))
        wl_strs_addf(
            a, &g->notes,
            "%s over a factor of %.3g: too little to tell a power law from other curves (five over a factor of "
            "10 would do); a high R2 is no evidence here",
            wl_law_count_text(a, g->n_configs, "worker count"), range);
    if (g->scaling == WL_SCALING_MIXED)
        wl_strs_addf(
            a, &g->notes,
            "samples per epoch neither stay nor grow with the workers: epochs are not comparable; separate the "
            "series with --by");
}

/* Residuals that the intervals do not expect; with very many runs every trifle is significant, and harmless. */
static void note_residuals(struct wl_law_group *g, struct wl_arena *a)
{
    const struct wl_law_residuals *r = &g->residuals;
    if (r->shapiro_wilk.p < 0.01)
        wl_strs_addf(
            a, &g->notes,
            "residuals of runs are not normal (Shapiro-Wilk p = %.2g): the bootstrap interval of --json does not "
            "need that",
            r->shapiro_wilk.p);
    if (r->breusch_pagan.p < 0.01)
        wl_strs_addf(a, &g->notes,
                     "runs scatter differently along N (Breusch-Pagan p = %.2g): the estimators hc3 and cr2 of --json "
                     "allow for it",
                     r->breusch_pagan.p);
}

static void note_series(struct wl_law_group *g, struct wl_arena *a)
{
    const struct wl_law_series *s = &g->series;
    if (10 * s->run_se < g->estimates[WL_LAW_RUN_MEANS].sigma)
        wl_strs_addf(
            a, &g->notes,
            "the epochs of a run fix its mean to %.2g %%, runs scatter by %.2g %%: more runs help, more epochs do not",
            100 * s->run_se, 100 * g->estimates[WL_LAW_RUN_MEANS].sigma);
    if (s->runs_longer_warm_up)
        wl_strs_addf(a, &g->notes,
                     "warm-up: MSER-5 would leave out more than the rule in %zu of %s, up to %s (--drop-epochs)",
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
    for (size_t i = 0; i < g->n_runs; i++) {
        const struct wl_law_run *run = &g->runs[i];
        double p = (double)g->n_runs * wl_t_two_sided(run->studentised, runs->df - 1);
        if (!(fabs(run->studentised) > 3 && p < 1 - WL_LAW_CONFIDENCE)) continue;
        wl_strs_addf(a, &g->notes, "run %s at N = %g is off the line: studentised residual %.1f",
                     run->label ? run->label : "without a label", run->workers, run->studentised);
    }
}

/* A robust line far from the reported one: which runs pull it? */
static void note_robust(struct wl_law_group *g, struct wl_arena *a)
{
    const struct wl_law_estimate *runs = &g->estimates[WL_LAW_RUN_MEANS], *sen = &g->estimates[WL_LAW_THEIL_SEN];
    if (!(fabs(sen->beta - runs->beta) > 2 * runs->beta_se)) return;
    struct wl_text pull = WL_TEXT(a);
    for (size_t i = 0; i < g->n_runs; i++)
        if (runs->line.cook[i] > 4 / (double)g->n_runs)
            wl_text_addf(&pull, "%s%s at N = %g", pull.n ? ", " : "", g->runs[i].label ? g->runs[i].label : "a run",
                         g->runs[i].workers);
    wl_strs_addf(a, &g->notes,
                 "the median of slopes (Theil-Sen) gives beta %.3g, more than two standard errors away%s%s", sen->beta,
                 pull.n ? "; these runs pull the line: " : "", pull.s);
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
        wl_strs_addf(a, &g->notes, "estimated: some of these rows are so marked; in a store, that is their energy");
}
