/* The other estimators of the same law, for comparison with the reported one. */
#include "law/fit/estimate.h"

#include <math.h>

enum { MIN_RUNS_FOR_WEIGHTS = 5 }; /* runs that a worker count needs for its variance to serve as a weight */

static struct wl_law_estimate pooled_epochs(const struct wl_law_group *g, struct wl_arena *a)
{
    struct wl_arena *scratch = wl_arena_new(a);
    double *x = wl_new_array(scratch, double, g->counts.used), *y = wl_new_array(scratch, double, g->counts.used);
    size_t n = 0;
    for (size_t i = 0; i < g->n_runs; i++)
        for (size_t k = 0; k < g->runs[i].epochs; k++) {
            x[n] = log(g->runs[i].workers);
            y[n++] = g->runs[i].epoch_y[k];
        }
    struct wl_law_estimate out = wl_law_estimate_line("pooled_epochs", y, x, NULL, n, scratch);
    if (out.reason) out.reason = wl_strdup(a, out.reason);
    out.line = (struct wl_ols) { 0 };
    wl_arena_free(scratch);
    return out;
}

/* Runs of one worker count are adjacent: g->runs is in order of workers. */
static struct wl_law_estimate config_medians(const struct wl_law_group *g, struct wl_arena *a)
{
    double *x, *y, *run_x, *run_y;
    size_t n = wl_law_estimate_points(g, true, &x, &y, a), first = 0;
    wl_law_estimate_points(g, false, &run_x, &run_y, a);
    for (size_t i = 0; i < n; first += g->configs[i].runs, i++) y[i] = wl_median(run_y + first, g->configs[i].runs, a);
    return wl_law_estimate_line("config_medians", y, x, NULL, n, a);
}

static struct wl_law_estimate weighted(const struct wl_law_group *g, struct wl_arena *a)
{
    double *x, *y, *run_x, *run_y, *weights = wl_new_array(a, double, g->n_configs);
    size_t n = wl_law_estimate_points(g, true, &x, &y, a), first = 0;
    wl_law_estimate_points(g, false, &run_x, &run_y, a);
    for (size_t i = 0; i < n; first += g->configs[i].runs, i++) {
        size_t runs = g->configs[i].runs;
        double sd = wl_sd(run_y + first, runs);
        if (runs < MIN_RUNS_FOR_WEIGHTS || !(sd > 0))
            return wl_law_estimate_missing("wls",
                                           wl_strf(a, "weights need at least %d differing runs at each worker count",
                                                   MIN_RUNS_FOR_WEIGHTS));
        weights[i] = (double)runs / (sd * sd);
    }
    return wl_law_estimate_line("wls", y, x, weights, n, a);
}

/* A line with an interval of its slope and, where the method gives them, an error and degrees of freedom. */
static struct wl_law_estimate from_line(const char *name, const struct wl_robust_line *line, size_t n, double df,
                                        const char *why)
{
    struct wl_law_estimate out = wl_law_estimate_missing(name, why);
    out.n = n;
    out.alpha = exp(line->b0);
    out.beta = -line->b1 + 0.0;
    out.beta_se = line->se;
    out.beta_lo = -line->hi;
    out.beta_hi = -line->lo;
    out.sigma = line->scale;
    out.df = df;
    out.p_beta = wl_t_two_sided(line->b1 / line->se, df);
    return out;
}

/* Its time grows with runs times worker counts. */
static struct wl_law_estimate theil_sen(const struct wl_law_group *g, struct wl_arena *a)
{
    enum { MAX_WORK = 50000000 };
    double *x, *y;
    if (g->n_runs > MAX_WORK / g->n_configs)
        return wl_law_estimate_missing("theil_sen",
                                       wl_strf(a, "computed for at most %d runs times worker counts", MAX_WORK));
    struct wl_arena *scratch = wl_arena_new(a);
    size_t n = wl_law_estimate_points(g, false, &x, &y, scratch);
    struct wl_robust_line line = wl_theil_sen(x, y, n, WL_LAW_CONFIDENCE, scratch);
    wl_arena_free(scratch);
    return from_line("theil_sen", &line, n, NAN, "a median of slopes gives an interval of beta but no standard error");
}

static struct wl_law_estimate huber(const struct wl_law_group *g, struct wl_arena *a)
{
    double *x, *y;
    struct wl_arena *scratch = wl_arena_new(a);
    size_t n = wl_law_estimate_points(g, false, &x, &y, scratch);
    struct wl_robust_line line;
    struct wl_err e;
    int rc = wl_huber(x, y, n, WL_LAW_CONFIDENCE, &line, scratch, &e);
    wl_arena_free(scratch);
    if (rc) return wl_law_estimate_missing("huber", wl_strdup(a, e.msg));
    return from_line("huber", &line, n, (double)n - 2, NULL);
}

/* The line over runs with other errors of its two coefficients. */
static struct wl_law_estimate with_errors(const char *name, const struct wl_law_estimate *line, const double *se,
                                          const double *df)
{
    struct wl_law_estimate out = *line;
    double a_half = wl_t_quantile(0.5 + WL_LAW_CONFIDENCE / 2, df[0]) * se[0];
    double b_half = wl_t_quantile(0.5 + WL_LAW_CONFIDENCE / 2, df[1]) * se[1];
    out.name = name;
    out.alpha_lo = exp(line->line.b[0] - a_half);
    out.alpha_hi = exp(line->line.b[0] + a_half);
    out.beta_se = se[1];
    out.beta_lo = out.beta - b_half;
    out.beta_hi = out.beta + b_half;
    out.p_beta = wl_t_two_sided(out.beta / se[1], df[1]);
    out.df = df[1];
    return out;
}

static struct wl_law_estimate hc3(const struct wl_law_group *g, const struct wl_law_estimate *runs, struct wl_arena *a)
{
    double *x, *y, se[2], df[2] = { runs->df, runs->df };
    if (!(runs->df > 0)) return wl_law_estimate_missing("hc3", runs->reason);
    struct wl_arena *scratch = wl_arena_new(a);
    wl_law_estimate_points(g, false, &x, &y, scratch);
    wl_ols_hc(&runs->line, x, WL_HC3, se);
    wl_arena_free(scratch);
    if (!isfinite(se[1]))
        return wl_law_estimate_missing("hc3", "one run alone determines the line (leverage 1), so its residual is 0");
    return with_errors("hc3", runs, se, df);
}

static struct wl_law_estimate cr2(const struct wl_law_group *g, const struct wl_law_estimate *runs, struct wl_arena *a)
{
    double *x, *y, se[2], df[2];
    struct wl_err e;
    if (g->n_configs < 3) return wl_law_estimate_missing("cr2", "clustered errors need at least three worker counts");
    struct wl_arena *scratch = wl_arena_new(a);
    size_t *cluster = wl_new_array(scratch, size_t, g->n_runs), run = 0;
    wl_law_estimate_points(g, false, &x, &y, scratch);
    for (size_t i = 0; i < g->n_configs; i++)
        for (size_t k = 0; k < g->configs[i].runs; k++) cluster[run++] = i;
    int rc =
        wl_ols_cluster(&runs->line, x, &(struct wl_clusters) { cluster, g->n_configs, WL_CR2 }, se, df, scratch, &e);
    wl_arena_free(scratch);
    if (rc) return wl_law_estimate_missing("cr2", wl_strdup(a, e.msg));
    return with_errors("cr2", runs, se, df);
}

static void slope_of(const size_t *index, size_t n, double *out, void *data)
{
    const double *x = ((const double *const *)data)[0], *y = ((const double *const *)data)[1];
    double mx = 0, my = 0, sxx = 0, sxy = 0;
    for (size_t i = 0; i < n; i++) mx += x[index[i]], my += y[index[i]];
    mx /= (double)n, my /= (double)n;
    for (size_t i = 0; i < n; i++) {
        double dx = x[index[i]] - mx;
        sxx += dx * dx, sxy += dx * (y[index[i]] - my);
    }
    *out = sxx > 0 ? -sxy / sxx : NAN; /* a resample may have a single worker count */
}

/* Resamples whole runs of all worker counts: assumes neither normal errors nor equal variance. With many runs the slope
 * is normal whatever they are, and hc3 gives the same interval. */
static struct wl_law_estimate bootstrap(const struct wl_law_group *g, const struct wl_law_estimate *runs,
                                        struct wl_arena *a)
{
    enum { DRAWS = 1999, MIN_RUNS = 6, MAX_RUNS = 200 };
    double *points[2];
    struct wl_bootstrap_interval interval;
    struct wl_bootstrap options = { .k = 1, .draws = DRAWS, .key = 0x6c6177, .statistic = slope_of, .data = points };
    if (g->n_runs < MIN_RUNS)
        return wl_law_estimate_missing("bootstrap", wl_strf(a, "needs at least %d runs", MIN_RUNS));
    if (g->n_runs > MAX_RUNS)
        return wl_law_estimate_missing("bootstrap",
                                       wl_strf(a, "computed for at most %d runs: hc3 has the same interval with more",
                                               MAX_RUNS));
    options.n = wl_law_estimate_points(g, false, &points[0], &points[1], a);
    struct wl_law_estimate out = wl_law_estimate_missing("bootstrap", NULL);
    if (wl_bootstrap(&options, WL_LAW_CONFIDENCE, &interval, a, NULL) || isnan(interval.bca_lo)) {
        out.reason = "too many resamples have no slope, or all are on one side of the estimate";
        return out;
    }
    out.n = options.n;
    out.alpha = runs->alpha;
    out.beta = runs->beta;
    out.beta_se = interval.se;
    out.beta_lo = interval.bca_lo;
    out.beta_hi = interval.bca_hi;
    out.reason = "resampling gives an interval of beta but no degrees of freedom";
    return out;
}

void wl_law_fit_estimators(struct wl_law_group *g, const struct wl_law_options *options, struct wl_arena *a)
{
    static const char *const names[] = { "run_means", "config_means", "pooled_epochs", "config_medians",
                                         "wls",       "theil_sen",    "huber",         "hc3",
                                         "cr2",       "bootstrap" };
    struct wl_law_estimate *e = g->estimates;
    if (g->no_law_reason) {
        for (size_t i = 0; i < WL_LAW_ESTIMATORS; i++) e[i] = wl_law_estimate_missing(names[i], g->no_law_reason);
        return;
    }
    e[WL_LAW_POOLED_EPOCHS] = pooled_epochs(g, a);
    e[WL_LAW_CONFIG_MEDIANS] = config_medians(g, a);
    e[WL_LAW_WLS] = weighted(g, a);
    e[WL_LAW_THEIL_SEN] = theil_sen(g, a);
    e[WL_LAW_HUBER] = huber(g, a);
    e[WL_LAW_HC3] = hc3(g, &e[WL_LAW_RUN_MEANS], a);
    e[WL_LAW_CR2] = cr2(g, &e[WL_LAW_RUN_MEANS], a);
    e[WL_LAW_BOOTSTRAP] = options->bootstrap ? bootstrap(g, &e[WL_LAW_RUN_MEANS], a)
                                             : wl_law_estimate_missing("bootstrap", "not requested");
}
