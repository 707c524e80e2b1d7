/* Linear least squares by Householder QR of the centred and scaled columns.
 *
 * Centring takes the intercept out of the problem and scaling makes its condition a matter of geometry, not of
 * units; the normal equations would square it (NIST's Filip data then have no correct digit). Two rounds of
 * refinement with residuals in long double bring the coefficients to the accuracy that the data carry.
 * Sources: Golub & Van Loan 2013, ch. 5; Bjorck 1996, sec. 2.9 (refinement). */
#include "stats/stats.h"

#include <cblas.h>
#include <float.h>
#include <lapacke.h>
#include <math.h>
#include <string.h>

/* The scaled problem: minimise |yc - Z g|, Z = Q R, columns of unit length. */
struct scaled {
    int n, p;
    double *z, *yc; /* [n,p], [n] */
    double *q, *r;  /* [n,p], [p,p] upper triangle */
    double *g;      /* [p] */
};

static double centre(const double *v, size_t n, bool intercept) { return intercept ? wl_mean(v, n) : 0; }

static int check_finite(const double *v, size_t n, const char *what, struct wl_err *e)
{
    for (size_t i = 0; i < n; i++)
        if (!isfinite(v[i])) return wl_fail(e, WL_EINVAL, "least squares: %s, row %zu, is not a finite number", what, i + 1);
    return 0;
}

static int scale_columns(struct wl_ols *o, struct scaled *s, const double *y, const double *x, struct wl_err *e)
{
    size_t n = o->n;
    double y_mean = centre(y, n, o->intercept);
    for (size_t i = 0; i < n; i++) s->yc[i] = y[i] - y_mean;
    for (int j = 0; j < s->p; j++) {
        const double *from = x + n * (size_t)j;
        double *to = s->z + n * (size_t)j;
        o->mean[j] = centre(from, n, o->intercept);
        for (size_t i = 0; i < n; i++) to[i] = from[i] - o->mean[j];
        o->scale[j] = cblas_dnrm2(s->n, to, 1);
        if (!(o->scale[j] > fabs(o->mean[j]) * DBL_EPSILON * (double)n))
            return wl_fail(e, WL_EINVAL, "least squares: column %d is constant", j + 1);
        cblas_dscal(s->n, 1 / o->scale[j], to, 1);
    }
    return 0;
}

static int factorise(struct wl_ols *o, struct scaled *s, struct wl_arena *a, struct wl_err *e)
{
    if (!s->p) return 0;
    lapack_int n = s->n, p = s->p;
    double *tau = wl_new_array(a, double, p);
    memcpy(s->q, s->z, (size_t)n * (size_t)p * sizeof *s->q);
    lapack_int info = LAPACKE_dgeqrf(LAPACK_COL_MAJOR, n, p, s->q, n, tau);
    if (info) return wl_fail(e, WL_ELIB, "least squares: dgeqrf gave %d", (int)info);
    for (int j = 0; j < p; j++)
        for (int i = 0; i <= j; i++) s->r[i + j * p] = s->q[i + j * n];
    info = LAPACKE_dorgqr(LAPACK_COL_MAJOR, n, p, p, s->q, n, tau);
    if (info) return wl_fail(e, WL_ELIB, "least squares: dorgqr gave %d", (int)info);

    double *copy = wl_new_array(a, double, p *p), *singular = wl_new_array(a, double, p);
    double *work = wl_new_array(a, double, p);
    memcpy(copy, s->r, (size_t)(p * p) * sizeof *copy);
    info = LAPACKE_dgesvd(LAPACK_COL_MAJOR, 'N', 'N', p, p, copy, p, singular, NULL, 1, NULL, 1, work);
    if (info) return wl_fail(e, WL_ELIB, "least squares: dgesvd gave %d", (int)info);
    o->condition = singular[0] / singular[p - 1];
    if (!(o->condition * DBL_EPSILON < 1))
        return wl_fail(e, WL_EINVAL, "least squares: the columns are linear combinations of each other");
    memcpy(o->root, s->r, (size_t)(p * p) * sizeof *o->root);
    info = LAPACKE_dtrtri(LAPACK_COL_MAJOR, 'U', 'N', p, o->root, p);
    if (info) return wl_fail(e, WL_ELIB, "least squares: dtrtri gave %d", (int)info);
    return 0;
}

/* residual = yc - Z g, summed in long double. */
static void scaled_residual(const struct scaled *s, double *residual)
{
    for (int i = 0; i < s->n; i++) {
        long double r = s->yc[i];
        for (int j = 0; j < s->p; j++) r -= (long double)s->z[i + j * s->n] * s->g[j];
        residual[i] = (double)r;
    }
}

/* g += R^-1 Q' residual, three times from g = 0: the solution and two refinements. */
static void solve(const struct scaled *s, double *residual, double *step)
{
    for (int round = 0; round < 3; round++) {
        scaled_residual(s, residual);
        if (!s->p) return;
        cblas_dgemv(CblasColMajor, CblasTrans, s->n, s->p, 1, s->q, s->n, residual, 1, 0, step, 1);
        cblas_dtrsv(CblasColMajor, CblasUpper, CblasNoTrans, CblasNonUnit, s->p, s->r, s->p, step, 1);
        cblas_daxpy(s->p, 1, step, 1, s->g, 1);
    }
    scaled_residual(s, residual);
}

static void sums_of_squares(struct wl_ols *o, const struct scaled *s)
{
    long double sse = 0, sst = 0;
    for (int i = 0; i < s->n; i++) {
        sse += (long double)o->residual[i] * o->residual[i];
        sst += (long double)s->yc[i] * s->yc[i];
    }
    o->sse = (double)sse;
    o->sst = (double)sst;
    double below = o->intercept ? (double)o->n - 1 : (double)o->n;
    o->sigma = o->df > 0 ? sqrt(o->sse / o->df) : NAN;
    o->r2 = o->sst > 0 ? 1 - o->sse / o->sst : NAN;
    o->r2_adj = o->df > 0 ? 1 - (1 - o->r2) * below / o->df : NAN;
    o->f = o->df > 0 && s->p ? (double)((sst - sse) / s->p) / (o->sse / o->df) : NAN;
    o->p_f = isinf(o->f) ? 0 : wl_f_sf(o->f, s->p, o->df);
}

/* (X'X)^-1 over the slopes is D R^-1 R^-T D with D = 1 / scale; the intercept adds 1/n and the means. */
static void covariance(struct wl_ols *o, int p)
{
    size_t k = o->k, first = o->intercept;
    double variance = o->sigma * o->sigma;
    for (int i = 0; i < p; i++)
        for (int j = 0; j < p; j++) {
            double sum = 0;
            for (int l = i > j ? i : j; l < p; l++) sum += o->root[i + l * p] * o->root[j + l * p];
            o->cov[first + (size_t)i + (first + (size_t)j) * k] = variance * sum / o->scale[i] / o->scale[j];
        }
    if (!o->intercept) return;
    long double corner = variance / (double)o->n;
    for (size_t i = 1; i < k; i++) {
        long double sum = 0;
        for (size_t j = 1; j < k; j++) sum += (long double)o->cov[i + j * k] * o->mean[j - 1];
        o->cov[i] = o->cov[i * k] = -(double)sum;
        corner += sum * o->mean[i - 1];
    }
    o->cov[0] = (double)corner;
}

static void coefficients(struct wl_ols *o, const struct scaled *s, double y_mean)
{
    long double b0 = y_mean;
    for (int j = 0; j < s->p; j++) {
        o->b[(size_t)j + o->intercept] = s->g[j] / o->scale[j];
        b0 -= (long double)s->g[j] / o->scale[j] * o->mean[j];
    }
    if (o->intercept) o->b[0] = (double)b0;
    for (size_t j = 0; j < o->k; j++) {
        o->se[j] = sqrt(o->cov[j + j * o->k]);
        o->t[j] = o->b[j] / o->se[j];
        o->p[j] = wl_t_two_sided(o->t[j], o->df);
    }
}

static void diagnose(struct wl_ols *o, const struct scaled *s, const double *y)
{
    for (size_t i = 0; i < o->n; i++) {
        double h = o->intercept ? 1 / (double)o->n : 0;
        for (int j = 0; j < s->p; j++) h += s->q[i + (size_t)j * o->n] * s->q[i + (size_t)j * o->n];
        double r = o->residual[i], rest = 1 - h;
        double without = (o->sse - r * r / rest) / (o->df - 1); /* variance of the fit without this row */
        bool defined = o->df > 1 && rest > 1e-12 && without > 0;
        o->fitted[i] = y[i] - r;
        o->leverage[i] = h;
        o->student[i] = defined ? r / sqrt(without * rest) : NAN;
    }
}

static void reserve(struct wl_ols *o, struct scaled *s, size_t columns, struct wl_arena *a)
{
    size_t n = o->n, k = o->k;
    o->b = wl_new_array(a, double, k);
    o->se = wl_new_array(a, double, k);
    o->t = wl_new_array(a, double, k);
    o->p = wl_new_array(a, double, k);
    o->cov = wl_new_array(a, double, k *k);
    o->fitted = wl_new_array(a, double, n);
    o->residual = wl_new_array(a, double, n);
    o->leverage = wl_new_array(a, double, n);
    o->student = wl_new_array(a, double, n);
    o->mean = wl_new_array(a, double, columns);
    o->scale = wl_new_array(a, double, columns);
    o->root = wl_new_array(a, double, columns *columns);
    s->z = wl_new_array(a, double, n *columns);
    s->q = wl_new_array(a, double, n *columns);
    s->yc = wl_new_array(a, double, n);
    s->r = wl_new_array(a, double, columns *columns);
    s->g = wl_new_array(a, double, columns);
}

int wl_ols_fit(struct wl_ols *o, const double *y, const double *x, size_t n, size_t columns, bool intercept,
               struct wl_arena *a, struct wl_err *e)
{
    *o = (struct wl_ols){ .n = n, .k = columns + intercept, .intercept = intercept, .condition = 1 };
    if (n < o->k || !n || !o->k || n > INT32_MAX / (columns + 1))
        return wl_fail(e, WL_EINVAL, "least squares: %zu rows for %zu coefficients", n, o->k);
    if (check_finite(y, n, "the response", e)) return e ? e->code : WL_EINVAL;
    if (check_finite(x, n * columns, "a column", e)) return e ? e->code : WL_EINVAL;
    o->df = (double)(n - o->k);
    struct scaled s = { .n = (int)n, .p = (int)columns };
    reserve(o, &s, columns, a);
    int rc = scale_columns(o, &s, y, x, e);
    if (!rc) rc = factorise(o, &s, a, e);
    if (rc) return rc;
    solve(&s, o->residual, wl_new_array(a, double, columns));
    sums_of_squares(o, &s);
    covariance(o, s.p);
    coefficients(o, &s, centre(y, n, intercept));
    diagnose(o, &s, y);
    return 0;
}

double wl_ols_half_width(const struct wl_ols *o, size_t j, double level)
{
    return o->df > 0 ? wl_t_quantile(0.5 + level / 2, o->df) * o->se[j] : NAN;
}

struct wl_prediction wl_ols_predict(const struct wl_ols *o, const double *x0, double level)
{
    size_t p = o->k - o->intercept;
    double distance = o->intercept ? 1 / (double)o->n : 0; /* leverage of x0 */
    long double fit = o->intercept ? o->b[0] : 0;
    for (size_t j = 0; j < p; j++) {
        fit += (long double)o->b[j + o->intercept] * x0[j];
        double part = 0; /* row j of R^-T D (x0 - mean) */
        for (size_t i = 0; i <= j; i++) part += o->root[i + j * p] * (x0[i] - o->mean[i]) / o->scale[i];
        distance += part * part;
    }
    double q = o->df > 0 ? wl_t_quantile(0.5 + level / 2, o->df) : NAN;
    struct wl_prediction out = { .fit = (double)fit };
    out.se_mean = o->sigma * sqrt(distance);
    out.se_run = o->sigma * sqrt(1 + distance);
    out.mean_lo = out.fit - q * out.se_mean;
    out.mean_hi = out.fit + q * out.se_mean;
    out.run_lo = out.fit - q * out.se_run;
    out.run_hi = out.fit + q * out.se_run;
    return out;
}
