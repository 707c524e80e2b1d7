/* The verdict is a test of equivalence: SUPPORTED needs evidence that the exponent hardly changes, not only none that
 * it does. The means of the worker counts are the data, so what all runs of a worker count share is error, not
 * curvature. y = c0 + c1 x + c2 x^2, x = ln N; the exponent changes by -2 c2 ln 10 per factor of 10. */
#include "law/fit/verdict.h"

#include "law/fit/estimate.h"
#include "law/fit/notes.h"

#include <math.h>
#include <string.h>

enum { MIN_COUNTS = 4, MAX_DOUBLINGS = 10, MAX_RUNS = 100 };
static const double power = 0.8;           /* of what is said to decide */
static const double least_exponent = 0.05; /* beta must differ from 0 by at least this */
static const double one_sided = 0.95, two_sided = 0.975;

/* ---- the design ---- */

/* Sum of squares of x^2 about its line on x: se(c2) = sigma / sqrt of it. */
static double information(const double *x, size_t n)
{
    double mean = 0, xx = 0, xz = 0, zz = 0, z_mean = 0;
    for (size_t i = 0; i < n; i++) mean += x[i] / (double)n;
    for (size_t i = 0; i < n; i++) z_mean += (x[i] - mean) * (x[i] - mean) / (double)n;
    for (size_t i = 0; i < n; i++) {
        const double d = x[i] - mean, z = d * d - z_mean;
        xx += d * d;
        xz += d * z;
        zz += z * z;
    }
    return zz - xz * xz / xx;
}

static double se_of(double sigma, double info) { return 2 * log(10) * sigma / sqrt(info); }

/* Would a standard error se with df degrees of freedom decide, with probability `power`, if the change is as estimated?
 */
static bool decides(const struct wl_law_equivalence *q, double se, double df)
{
    const double change = fabs(q->change), room = fabs(q->margin - change), z = wl_normal_quantile(power);
    if (change < q->margin) return room >= (wl_t_quantile(one_sided, df) + z) * se;
    return change >= (wl_t_quantile(two_sided, df) + z) * se;
}

/* Doublings beyond the largest worker count. */
static void find_doublings(struct wl_law_equivalence *q, const double *x, size_t n, double sigma, struct wl_arena *a)
{
    double *more = wl_new_array(a, double, n + MAX_DOUBLINGS);
    memcpy(more, x, n * sizeof *x);
    for (size_t k = 1; k <= MAX_DOUBLINGS; k++) {
        more[n + k - 1] = x[n - 1] + (double)k * log(2);
        if (!decides(q, se_of(sigma, information(more, n + k)), (double)(n + k - 3))) continue;
        q->needs_workers = exp(more[n + k - 1]);
        return;
    }
}

/* Runs at each worker count: only the part of sigma that is the scatter of runs shrinks. */
static void find_runs(struct wl_law_equivalence *q, const struct wl_law_group *g, const double *x, size_t n,
                      double sigma)
{
    const double per_count = (double)g->n_runs / (double)n, run_variance = g->lack_of_fit.ss_pure / g->lack_of_fit.df2,
                 shared = fmax(0, sigma * sigma - run_variance / per_count), info = information(x, n);
    if (!(run_variance > 0)) return;
    for (size_t runs = (size_t)ceil(per_count) + 1; runs <= MAX_RUNS; runs++) {
        if (!decides(q, se_of(sqrt(shared + run_variance / (double)runs), info), (double)n - 3)) continue;
        q->needs_runs = runs;
        return;
    }
}

/* ---- the test ---- */

static struct wl_law_equivalence not_tested(double margin)
{
    return (struct wl_law_equivalence) { .margin = margin,
                                         .change = NAN,
                                         .se = NAN,
                                         .lo = NAN,
                                         .hi = NAN,
                                         .df = NAN,
                                         .smallest_margin = NAN,
                                         .needs_workers = NAN };
}

/* WL_EINVAL says why there is no test. */
static int test(struct wl_law_group *g, struct wl_arena *a, struct wl_err *e)
{
    struct wl_law_equivalence *q = &g->equivalence;
    double *x, *y;
    struct wl_ols o;
    const size_t n = wl_law_estimate_points(g, true, &x, &y, a);
    if (n < MIN_COUNTS)
        return wl_fail(e, WL_EINVAL, "%s, but telling a change of the exponent from scatter needs %d",
                       wl_law_count_text(a, n, "worker count"), MIN_COUNTS);
    double *columns = wl_new_array(a, double, 2 * n);
    for (size_t i = 0; i < n; i++) {
        columns[i] = x[i];
        columns[i + n] = x[i] * x[i];
    }
    int rc =
        wl_ols_fit(&o, &(struct wl_ols_data) { .n = n, .columns = 2, .y = y, .x = columns, .intercept = true }, a, e);
    if (rc) return rc;
    const double scale = -2 * log(10);
    q->df = o.df;
    q->change = scale * o.b[2];
    q->se = fabs(scale) * o.se[2];
    q->lo = q->change - wl_t_quantile(two_sided, o.df) * q->se;
    q->hi = q->change + wl_t_quantile(two_sided, o.df) * q->se;
    q->smallest_margin = fabs(q->change) + wl_t_quantile(one_sided, o.df) * q->se;
    find_doublings(q, x, n, o.sigma, a);
    find_runs(q, g, x, n, o.sigma);
    return 0;
}

/* Is the response per unit of work distinguishable from a constant? Under weak scaling the work grows with the workers.
 */
static bool exponent_differs_from_zero(const struct wl_law_group *g)
{
    const struct wl_law_estimate *means = &g->estimates[WL_LAW_CONFIG_MEANS];
    const double growth = g->scaling == WL_SCALING_WEAK ? 1 : 0;
    return means->beta_lo + growth > least_exponent || means->beta_hi + growth < -least_exponent;
}

/* ---- words ---- */

static const char *change_text(const struct wl_law_equivalence *q, struct wl_arena *a)
{
    return wl_strf(a, "beta %s by %.2g per factor of 10, 95 %% interval %+.2g to %+.2g",
                   q->change < 0 ? "falls" : "grows", fabs(q->change), q->lo, q->hi);
}

static const char *needs_text(const struct wl_law_equivalence *q, struct wl_arena *a)
{
    const char *workers = isnan(q->needs_workers) ? NULL : wl_strf(a, "worker counts up to %.0f", q->needs_workers);
    const char *runs = q->needs_runs ? wl_strf(a, "%zu runs at each", q->needs_runs) : NULL;
    if (workers && runs) return wl_strf(a, "%s, or %s, would decide", workers, runs);
    if (workers || runs) return wl_strf(a, "%s would decide", workers ? workers : runs);
    return "no feasible number of runs decides at this margin";
}

static void decide(struct wl_law_group *g, struct wl_arena *a)
{
    const struct wl_law_equivalence *q = &g->equivalence;
    const bool holds = q->smallest_margin < q->margin,
               changes = (q->lo > 0 || q->hi < 0) && fabs(q->change) > q->margin;
    const char *change = change_text(q, a),
               *within = wl_strf(a, "a power law to within %.2g per factor of 10", q->smallest_margin);
    if (g->scaling == WL_SCALING_MIXED) {
        g->verdict_reason = wl_strf(a, "the work of %s differs between worker counts: their times are not comparable",
                                    wl_law_rows_name(g));
    } else if (holds && !exponent_differs_from_zero(g)) {
        g->verdict_reason =
            wl_strf(a,
                    "%s, but beta is not shown to be at least %g from 0: 95 %% interval %.2g to %.2g over means of "
                    "worker counts",
                    within, least_exponent, g->estimates[WL_LAW_CONFIG_MEANS].beta_lo,
                    g->estimates[WL_LAW_CONFIG_MEANS].beta_hi);
    } else if (holds) {
        g->verdict = WL_LAW_SUPPORTED;
        g->verdict_reason = wl_strf(a, "%s, margin %g; %s", within, q->margin, change);
    } else if (changes) {
        g->verdict = WL_LAW_REJECTED;
        g->verdict_reason = wl_strf(a, "%s, more than the margin of %g", change, q->margin);
    } else {
        g->verdict_reason = wl_strf(a, "%s, margin %g; %s", within, q->margin, needs_text(q, a));
    }
}

void wl_law_judge(struct wl_law_group *g, double margin, struct wl_arena *a)
{
    struct wl_err e;
    g->equivalence = not_tested(margin);
    g->verdict = WL_LAW_UNDECIDED;
    if (g->no_law_reason)
        g->verdict_reason = g->no_law_reason;
    else if (test(g, a, &e))
        g->verdict_reason = wl_strdup(a, e.msg);
    else
        decide(g, a);
}
