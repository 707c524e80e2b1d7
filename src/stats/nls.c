/* Nonlinear least squares by Levenberg-Marquardt (MINPACK's lmder, More 1978, through cminpack). */
#include "stats/nls.h"

#include "stats/ols.h"

#include <cminpack.h>
#include <float.h>
#include <math.h>

struct call {
    const struct wl_nls_problem *problem;
    double *jacobian; /* [n,k] scratch */
};

/* Parameters as cminpack_funcder_mn has them; `what` is 1 for residuals, 2 for the Jacobian. */
static int evaluate(void *p, int m, int k, const double *theta, double *residual, double *jacobian, int stride,
                    int what)
{
    struct call *call = p;
    double *to = what == 2 ? call->jacobian : NULL;
    call->problem->residual_fn(theta, residual, to, call->problem->data);
    for (int j = 0; to && j < k; j++)
        for (int i = 0; i < m; i++) {
            double d = to[i + (size_t)j * (size_t)m];
            jacobian[i + (size_t)j * (size_t)stride] = isfinite(d) ? d : 0;
        }
    for (int i = 0; !to && i < m; i++)
        if (!isfinite(residual[i])) residual[i] = sqrt(DBL_MAX) / m; /* a step too far: lmder takes a shorter one */
    return 0;
}

/* Errors from (J'J)^-1 at the solution, through the least squares of J; NAN where J is singular. */
static void errors(struct wl_nls *out, struct call *call, const double *residual, struct wl_arena *a)
{
    const struct wl_ols_data data = { .n = out->n, .columns = out->k, .y = residual, .x = call->jacobian };
    struct wl_ols o;
    double *scratch = wl_new_array(a, double, out->n);
    call->problem->residual_fn(out->theta, scratch, call->jacobian, call->problem->data);
    if (wl_ols_fit(&o, &data, a, NULL)) return;
    for (size_t j = 0; j < out->k; j++) out->se[j] = out->sigma * sqrt(o.inverse[j + j * out->k]);
    for (size_t j = 0; j < out->k * out->k; j++) out->cov[j] = out->sigma * out->sigma * o.inverse[j];
}

int wl_nls_fit(struct wl_nls *out, const struct wl_nls_problem *problem, const double *start, struct wl_arena *a,
               struct wl_err *e)
{
    size_t n = problem->n, k = problem->k;
    *out = (struct wl_nls) {
        .n = n, .k = k, .df = (double)n - (double)k + problem->replicate_df, .sse = problem->replicate_squares
    };
    if (n < k || !k) return wl_fail(e, WL_EINVAL, "nonlinear least squares: %zu rows for %zu parameters", n, k);
    out->theta = wl_new_array(a, double, k);
    out->se = wl_new_array(a, double, k);
    out->cov = wl_new_array(a, double, k *k);
    for (size_t j = 0; j < k * k; j++) out->cov[j] = NAN;
    for (size_t j = 0; j < k; j++) out->theta[j] = start[j], out->se[j] = NAN;
    struct call call = { problem, wl_new_array(a, double, n *k) };
    double *residual = wl_new_array(a, double, n), *jacobian = wl_new_array(a, double, n *k);
    double *work = wl_new_array(a, double, 5 * k + n); /* diag, qtf, three of k, one of n */
    int *pivot = wl_new_array(a, int, k), evaluations, jacobians;
    int info = lmder(evaluate, &call, (int)n, (int)k, out->theta, residual, jacobian, (int)n, DBL_EPSILON, DBL_EPSILON,
                     0, 2000, work, 1, 100, 0, &evaluations, &jacobians, pivot, work + k, work + 2 * k, work + 3 * k,
                     work + 4 * k, work + 5 * k);
    if (info <= 0 || info == 5)
        return wl_fail(e, WL_EINVAL, "nonlinear least squares: no convergence after %d evaluations", evaluations);
    for (size_t i = 0; i < n; i++) out->sse += residual[i] * residual[i];
    out->sigma = out->df > 0 ? sqrt(out->sse / out->df) : NAN;
    errors(out, &call, residual, a);
    return 0;
}
