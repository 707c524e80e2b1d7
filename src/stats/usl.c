#include "stats/usl.h"

#include "stats/nls.h"
#include "stats/ols.h"

#include <math.h>

enum { GAMMA, SIGMA, KAPPA, PARAMS, LEAST_POINTS = 4, LEAST_COUNTS = 3 };

/* Means of the points at each worker count, with weights: the squares about them are the same for any parameters. */
struct problem {
    double *workers, *throughput, *points; /* [n] */
    size_t n, k;
    double squares, total; /* of the points about their means; number of points */
    int of[PARAMS];        /* parameter number of theta[j] */
    double fixed[PARAMS];  /* values of those that are not fitted */
};

double wl_usl_at(const struct wl_usl *u, double n)
{
    return u->gamma * n / (1 + u->sigma * (n - 1) + u->kappa * n * (n - 1));
}

static void residuals(const double *theta, double *residual, double *jacobian, void *opaque)
{
    const struct problem *p = opaque;
    double v[PARAMS] = { p->fixed[GAMMA], p->fixed[SIGMA], p->fixed[KAPPA] };
    for (size_t j = 0; j < p->k; j++) v[p->of[j]] = theta[j];
    for (size_t i = 0; i < p->n; i++) {
        const double n = p->workers[i], denominator = 1 + v[SIGMA] * (n - 1) + v[KAPPA] * n * (n - 1),
                     x = v[GAMMA] * n / denominator;
        const double d[PARAMS] = { n / denominator, -x * (n - 1) / denominator, -x * n * (n - 1) / denominator };
        const double root = sqrt(p->points[i]);
        residual[i] = root * (x - p->throughput[i]);
        for (size_t j = 0; jacobian && j < p->k; j++) jacobian[i + j * p->n] = root * d[p->of[j]];
    }
}

/* The linear problem N/X = (1 + sigma (N-1) + kappa N (N-1)) / gamma, with relative errors. */
static void start_at(const struct problem *p, double *v, struct wl_arena *a)
{
    double *y = wl_new_array(a, double, p->n), *x = wl_new_array(a, double, 2 * p->n), best = 0;
    struct wl_ols o;
    for (size_t i = 0; i < p->n; i++) {
        const double n = p->workers[i];
        y[i] = n / p->throughput[i];
        x[i] = n - 1;
        x[i + p->n] = n * (n - 1);
        best = fmax(best, p->throughput[i] / n);
    }
    const struct wl_ols_data linear = { .n = p->n, .columns = 2, .y = y, .x = x, .intercept = true };
    const bool known = wl_ols_fit(&o, &linear, a, NULL) == 0 && o.b[0] > 0;
    v[GAMMA] = known ? 1 / o.b[0] : best;
    v[SIGMA] = known ? fmax(o.b[1] / o.b[0], 1e-3) : 0.01;
    v[KAPPA] = known ? fmax(o.b[2] / o.b[0], 1e-8) : 1e-5;
}

/* Fits the parameters that are free, the others at 0. */
static int fit_free(struct problem *p, const bool *at_zero, const double *start, struct wl_nls *fit, struct wl_arena *a,
                    struct wl_err *e)
{
    double theta[PARAMS];
    p->k = 0;
    for (int j = 0; j < PARAMS; j++) {
        p->fixed[j] = 0;
        if (at_zero[j]) continue;
        theta[p->k] = start[j];
        p->of[p->k++] = j;
    }
    const struct wl_nls_problem problem = { .n = p->n,
                                            .k = p->k,
                                            .residual_fn = residuals,
                                            .data = p,
                                            .replicate_squares = p->squares,
                                            .replicate_df = p->total - (double)p->n };
    return wl_nls_fit(fit, &problem, theta, a, e);
}

/* The cell of a worker count, usually the last one used. */
static size_t cell_of(struct problem *p, double workers, size_t last)
{
    if (last < p->n && p->workers[last] == workers) return last;
    size_t c = 0;
    while (c < p->n && p->workers[c] != workers) c++;
    if (c == p->n) p->workers[p->n++] = workers;
    return c;
}

static int collect(struct problem *p, const double *workers, const double *throughput, size_t n, struct wl_arena *a,
                   struct wl_err *e)
{
    *p = (struct problem) { wl_new_array(a, double, n), wl_new_array(a, double, n), wl_new_array(a, double, n) };
    p->total = (double)n;
    for (size_t i = 0, c = 0; i < n; i++) {
        if (!(workers[i] > 0) || !(throughput[i] > 0) || isinf(workers[i]) || isinf(throughput[i]))
            return wl_fail(e, WL_EINVAL, "throughput %g at %g workers: both must be positive", throughput[i],
                           workers[i]);
        c = cell_of(p, workers[i], c);
        const double off = throughput[i] - p->throughput[c];
        p->throughput[c] += off / ++p->points[c];
        p->squares += off * (throughput[i] - p->throughput[c]);
    }
    if (n >= LEAST_POINTS && p->n >= LEAST_COUNTS) return 0;
    return wl_fail(e, WL_EINVAL, "%zu throughputs: its three parameters need %d at %d worker counts", n, LEAST_POINTS,
                   LEAST_COUNTS);
}

int wl_usl_fit(const double *workers, const double *throughput, size_t n, struct wl_usl *out, struct wl_arena *a,
               struct wl_err *e)
{
    struct problem p;
    bool at_zero[PARAMS] = { false };
    double start[PARAMS], v[PARAMS], se[PARAMS];
    struct wl_nls fit;
    int rc = collect(&p, workers, throughput, n, a, e);
    if (rc == 0) start_at(&p, start, a);
    for (bool again = true; rc == 0 && again;) {
        again = false;
        rc = fit_free(&p, at_zero, start, &fit, a, e);
        for (int j = 0; j < PARAMS; j++) v[j] = 0, se[j] = NAN;
        for (size_t j = 0; rc == 0 && j < p.k; j++) {
            v[p.of[j]] = fit.theta[j];
            se[p.of[j]] = fit.se[j];
        }
        for (int j = SIGMA; rc == 0 && j <= KAPPA; j++)
            if (v[j] < 0) again = at_zero[j] = true;
    }
    if (rc) return rc;
    *out =
        (struct wl_usl) { v[GAMMA], v[SIGMA], v[KAPPA], se[GAMMA], se[SIGMA], se[KAPPA], fit.sigma, fit.df, NAN, NAN };
    if (out->kappa > 0 && out->sigma < 1) {
        out->peak_workers = sqrt((1 - out->sigma) / out->kappa);
        out->peak = wl_usl_at(out, out->peak_workers);
    }
    return 0;
}
