/* Tests of the residuals of runs, and the epochs of long runs as time series. */
#include "law/fit/diagnostics.h"
#include "law/fit/estimate.h"

#include <math.h>

/* With one or two degrees of freedom the pattern of the residuals is fixed or nearly so, whatever was measured. */
enum { MIN_DF = 3 };

void wl_law_test_residuals(struct wl_law_group *g, struct wl_arena *a)
{
    const struct wl_law_estimate *runs = &g->estimates[WL_LAW_RUN_MEANS];
    const struct wl_hypothesis_test none = { NAN, NAN, NAN, NAN };
    g->residuals = (struct wl_law_residuals) { none, none, none, none, NULL };
    if (g->no_law_reason || !(runs->df > 0) || !(runs->sigma > WL_LAW_ROUNDING)) {
        g->residuals.reason = g->no_law_reason ? g->no_law_reason
                              : !(runs->df > 0)
                                  ? "a line through two runs leaves no residuals"
                                  : "all runs are on the line within rounding error: there are no residuals to test";
        return;
    }
    double *x, *y;
    size_t n = wl_law_estimate_points(g, false, &x, &y, a);
    struct wl_arena *scratch = wl_arena_new(a);
    if (runs->df >= MIN_DF) {
        g->residuals.shapiro_wilk = wl_shapiro_wilk(runs->line.residual, n, scratch);
        g->residuals.anderson_darling = wl_anderson_darling(runs->line.residual, n, scratch);
    }
    g->residuals.breusch_pagan = wl_breusch_pagan(&runs->line, x, scratch);
    if (g->n_configs > 3) g->residuals.reset = wl_ramsey_reset(&runs->line, y, x, scratch);
    wl_arena_free(scratch);
}

/* Where the response does not vary, each epoch counts as independent. */
static void add_run(struct wl_law_series *s, const struct wl_law_run *run, size_t *batched)
{
    const double *series = run->epoch_y - run->dropped;
    size_t n = run->epochs + run->dropped, warm_up = wl_mser5(series, n);
    struct wl_autocorrelation d = wl_autocorrelation(series + warm_up, n - warm_up);
    s->runs++;
    s->lag1 += isnan(d.lag1) ? 0 : d.lag1;
    s->ess_share += isnan(d.ess) ? 1 : fmin(d.ess / (double)(n - warm_up), 1);
    if (!isnan(d.se)) s->run_se += d.se * d.se;
    if (!isnan(d.se_batches)) s->run_se_batches += d.se_batches * d.se_batches, ++*batched;
    s->runs_longer_warm_up += warm_up > run->dropped;
    s->runs_unsettled += 4 * warm_up > n;
    if (warm_up > s->warm_up) s->warm_up = warm_up;
}

void wl_law_describe_series(struct wl_law_group *g)
{
    enum { MIN_EPOCHS = 20 };
    struct wl_law_series *s = &g->series;
    size_t batched = 0;
    for (size_t i = 0; i < g->n_runs; i++)
        if (g->runs[i].epochs + g->runs[i].dropped >= MIN_EPOCHS) add_run(s, &g->runs[i], &batched);
    s->lag1 /= (double)s->runs; /* NAN without a run */
    s->ess_share /= (double)s->runs;
    s->run_se = sqrt(s->run_se / (double)s->runs);
    s->run_se_batches = sqrt(s->run_se_batches / (double)batched);
}
