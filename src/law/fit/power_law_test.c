/* Is it a power law? Curvature in log-log, local exponents, breakpoint, and departures at the largest worker counts. */
#include "law/fit/diagnostics.h"
#include "law/fit/estimate.h"
#include "law/fit/verdict.h"

#include <math.h>

enum { MIN_WORKER_COUNTS = 5, MIN_BASE_COUNTS = 3, MIN_DEPARTURE_COUNTS = 2, DRAWS = 999 };

/* ---- the quadratic ---- */

static struct wl_law_quadratic missing_quadratic(const char *why)
{
    return (struct wl_law_quadratic) { .q = NAN, .se = NAN, .t = NAN, .df = NAN, .p = NAN, .p_bh = NAN, .reason = why };
}

/* -(b1 + 2 q ln N) with its interval. */
static void local_exponents(struct wl_law_group *g, const struct wl_ols *o)
{
    double quantile = wl_t_quantile(0.5 + WL_LAW_CONFIDENCE / 2, o->df);
    for (size_t i = 0; i < g->n_configs; i++) {
        struct wl_law_config *c = &g->configs[i];
        double x = log(c->workers);
        double variance = o->cov[1 + 1 * 3] + 4 * x * o->cov[1 + 2 * 3] + 4 * x * x * o->cov[2 + 2 * 3];
        double half = quantile * sqrt(fmax(variance, 0));
        c->local_beta = -(o->b[1] + 2 * o->b[2] * x);
        c->local_lo = c->local_beta - half;
        c->local_hi = c->local_beta + half;
    }
}

/* Over the points of the reported law, or over runs where worker counts leave no degrees of freedom. */
static void fit_quadratic(struct wl_law_group *g, struct wl_arena *a)
{
    bool config = g->law == &g->estimates[WL_LAW_CONFIG_MEANS] && g->n_configs > 3;
    double *x, *y;
    size_t n = wl_law_estimate_points(g, config, &x, &y, a);
    if (g->n_configs < 3 || n < 4) {
        g->quadratic =
            missing_quadratic(g->n_configs < 3 ? "curvature cannot be tested with two worker counts"
                                               : "three runs at three worker counts leave no degrees of freedom");
        return;
    }
    double *columns = wl_new_array(a, double, 2 * n);
    for (size_t i = 0; i < n; i++) {
        columns[i] = x[i];
        columns[i + n] = x[i] * x[i];
    }
    const struct wl_ols_data data = { .n = n, .columns = 2, .y = y, .x = columns, .intercept = true };
    struct wl_ols o;
    struct wl_err e;
    if (wl_ols_fit(&o, &data, a, &e)) {
        g->quadratic = missing_quadratic(wl_strdup(a, e.msg));
        return;
    }
    g->quadratic = (struct wl_law_quadratic) { o.b[2], o.se[2], o.t[2], o.df, o.p[2], NAN, .reason = NULL };
    g->quadratic.basis = g->estimates[config ? WL_LAW_CONFIG_MEANS : WL_LAW_RUN_MEANS].name;
    local_exponents(g, &o);
}

/* ---- one breakpoint ---- */

static struct wl_law_breakpoint missing_breakpoint(const char *why)
{
    return (struct wl_law_breakpoint) { NAN, NAN, NAN, NAN, NAN, NAN, NULL, why, 0, 0, false };
}

/* Over the points of the reported law, like the quadratic. */
static void fit_breakpoint(struct wl_law_group *g, struct wl_arena *a)
{
    bool config = g->law == &g->estimates[WL_LAW_CONFIG_MEANS] && g->n_configs > 4;
    double *x, *y;
    size_t n = wl_law_estimate_points(g, config, &x, &y, a);
    struct wl_segmented b;
    struct wl_err e;
    if (g->n_configs < MIN_WORKER_COUNTS) {
        g->breakpoint = missing_breakpoint("a breakpoint needs at least five worker counts");
        return;
    }
    if (wl_segmented_fit(x, y, n, &(struct wl_segmented_options) { WL_LAW_CONFIDENCE, DRAWS }, &b, a, &e)) {
        g->breakpoint = missing_breakpoint(wl_strdup(a, e.msg));
        return;
    }
    g->breakpoint = (struct wl_law_breakpoint) { exp(b.breakpoint), exp(b.lo), exp(b.hi),    -b.slope1,
                                                 -b.slope2,         b.p,       .basis = NULL };
    g->breakpoint.basis = g->estimates[config ? WL_LAW_CONFIG_MEANS : WL_LAW_RUN_MEANS].name;
    while (g->breakpoint.before < g->n_configs && g->configs[g->breakpoint.before].workers <= g->breakpoint.workers)
        g->breakpoint.before++;
    g->breakpoint.after = g->n_configs - g->breakpoint.before;
    g->breakpoint.compared = g->breakpoint.before >= WL_LAW_BREAK_SIDE && g->breakpoint.after >= WL_LAW_BREAK_SIDE;
}

/* ---- departures ---- */

/* One worker count against the line through the points below; the mean of `runs` of them has the variance
 * sigma^2 (leverage + 1 / runs). */
static struct wl_law_departure departure(const struct wl_ols *base, const struct wl_law_config *c, double runs)
{
    double x = log(c->workers), y = log(c->response);
    struct wl_ols_prediction p = wl_ols_predict(base, &x, WL_LAW_CONFIDENCE);
    struct wl_law_departure d = { .workers = c->workers, .excess_pct = 100 * (exp(y - p.fit) - 1), .df = base->df };
    d.t = (y - p.fit) / sqrt(p.se_mean * p.se_mean + base->sigma * base->sigma / runs);
    d.p = wl_t_two_sided(d.t, base->df);
    return d;
}

/* Number of worker counts in the base: those up to `beyond`, or all but two. */
static size_t base_counts(const struct wl_law_group *g, double beyond)
{
    if (beyond == 0) return g->n_configs > MIN_DEPARTURE_COUNTS ? g->n_configs - MIN_DEPARTURE_COUNTS : 0;
    size_t n = 0;
    while (n < g->n_configs && g->configs[n].workers <= beyond) n++;
    return n;
}

/* Over runs and over worker counts; the larger p counts, as the wider interval does for beta. */
static void find_departures(struct wl_law_group *g, double beyond, struct wl_arena *a)
{
    size_t base = base_counts(g, beyond), base_runs = 0, rest = g->n_configs - base;
    g->departure_base = NAN;
    if (base < MIN_BASE_COUNTS || rest < MIN_DEPARTURE_COUNTS) return;
    for (size_t i = 0; i < base; i++) base_runs += g->configs[i].runs;
    double *x, *y, *p = wl_new_array(a, double, rest), *holm = wl_new_array(a, double, rest);
    struct wl_ols runs, configs;
    struct wl_err e;
    wl_law_estimate_points(g, false, &x, &y, a);
    if (wl_ols_line(&runs, y, x, base_runs, a, &e)) return;
    wl_law_estimate_points(g, true, &x, &y, a);
    if (wl_ols_line(&configs, y, x, base, a, &e)) return;
    g->departure_base = g->configs[base - 1].workers;
    g->departures = wl_new_array(a, struct wl_law_departure, rest);
    g->n_departures = rest;
    for (size_t i = 0; i < rest; i++) {
        const struct wl_law_config *c = &g->configs[base + i];
        struct wl_law_departure by_run = departure(&runs, c, (double)c->runs), by_config = departure(&configs, c, 1);
        g->departures[i] = by_config.p >= by_run.p ? by_config : by_run;
        p[i] = g->departures[i].p;
    }
    wl_holm(p, rest, holm, a);
    for (size_t i = 0; i < rest; i++) g->departures[i].p_holm = holm[i];
}

void wl_law_test_power_law(struct wl_law_group *g, const struct wl_law_options *options, struct wl_arena *a)
{
    for (size_t i = 0; i < g->n_configs; i++)
        g->configs[i].local_beta = g->configs[i].local_lo = g->configs[i].local_hi = NAN;
    g->departure_base = NAN;
    wl_law_judge(g, options->margin > 0 ? options->margin : WL_LAW_MARGIN, a);
    if (g->no_law_reason) {
        g->quadratic = missing_quadratic(g->no_law_reason);
        g->breakpoint = missing_breakpoint(g->no_law_reason);
        return;
    }
    fit_quadratic(g, a);
    g->breakpoint = missing_breakpoint("not requested");
    if (options->thorough) fit_breakpoint(g, a);
    find_departures(g, options->beyond, a);
}
