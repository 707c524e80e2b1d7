/* Linear least squares by Householder QR of the centred and scaled columns.
 *
 * Centring removes the intercept from the problem, and scaling makes its condition number independent of units; the
 * normal equations would square it (NIST's Filip data then have no correct digit). The factors then
 * refine residual and coefficients together, against the data in long double, so that neither the rounding of the
 * centred columns nor a large residual costs digits.
 * Sources: Golub & Van Loan 2013, ch. 5; Bjorck 1967, "Iterative refinement of linear least squares solutions". */
#include "stats/ols.h"

#include "stats/blas.h"
#include "stats/distributions.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* The scaled problem: minimise |w (y - ybar) - Z g|, Z = w (x - mean) / scale, factors Q R of Z in double. */
struct scaled {
    const struct wl_blas *blas;
    int n, p;
    const double *x, *y;
    double *w;           /* [n] roots of the weights */
    double sum;          /* of the weights */
    double *q, *r;       /* [n,p], [p,p] upper triangle */
    double *g;           /* [p] */
    long double *mean;   /* [p] of the columns, 0 without an intercept */
    const double *scale; /* [p] */
    long double y_mean;
};

static long double centre(const struct scaled *s, const double *v, bool intercept)
{
    long double sum = 0;
    for (int i = 0; i < s->n && intercept; i++) sum += (long double)s->w[i] * s->w[i] * v[i];
    return sum / s->sum;
}

static long double y_at(const struct scaled *s, int i) { return s->w[i] * (s->y[i] - s->y_mean); }

static long double z_at(const struct scaled *s, int i, int j)
{
    return s->w[i] * (s->x[i + (size_t)j * (size_t)s->n] - s->mean[j]) / s->scale[j];
}

static int check_finite(const double *v, size_t n, const char *what, struct wl_err *e)
{
    for (size_t i = 0; i < n; i++)
        if (!isfinite(v[i]))
            return wl_fail(e, WL_EINVAL, "least squares: %s, row %zu, is not a finite number", what, i + 1);
    return 0;
}

static int scale_columns(struct wl_ols *o, struct scaled *s, struct wl_err *e)
{
    size_t n = o->n;
    s->y_mean = centre(s, s->y, o->intercept);
    for (int j = 0; j < s->p; j++) {
        const double *from = s->x + n * (size_t)j;
        double *to = s->q + n * (size_t)j;
        s->mean[j] = centre(s, from, o->intercept);
        o->mean[j] = (double)s->mean[j];
        for (size_t i = 0; i < n; i++) to[i] = (double)(s->w[i] * (from[i] - s->mean[j]));
        o->scale[j] = s->blas->dnrm2(s->n, to, 1);
        if (!(o->scale[j] > fabs(o->mean[j]) * DBL_EPSILON * (double)n))
            return wl_fail(e, WL_EINVAL, "least squares: column %d is constant", j + 1);
        for (int i = 0; i < s->n; i++) to[i] = (double)z_at(s, i, j);
    }
    return 0;
}

static int factorise(struct wl_ols *o, struct scaled *s, struct wl_arena *a, struct wl_err *e)
{
    if (!s->p) return 0;
    lapack_int n = s->n, p = s->p;
    double *tau = wl_new_array(a, double, p);
    lapack_int info = s->blas->dgeqrf(LAPACK_COL_MAJOR, n, p, s->q, n, tau);
    if (info) return wl_fail(e, WL_ELIB, "least squares: dgeqrf failed (info %d)", (int)info);
    for (int j = 0; j < p; j++)
        for (int i = 0; i <= j; i++) s->r[i + j * p] = s->q[i + j * n];
    info = s->blas->dorgqr(LAPACK_COL_MAJOR, n, p, p, s->q, n, tau);
    if (info) return wl_fail(e, WL_ELIB, "least squares: dorgqr failed (info %d)", (int)info);

    double *copy = wl_new_array(a, double, p *p), *singular = wl_new_array(a, double, p);
    double *work = wl_new_array(a, double, p);
    memcpy(copy, s->r, (size_t)(p * p) * sizeof *copy);
    info = s->blas->dgesvd(LAPACK_COL_MAJOR, 'N', 'N', p, p, copy, p, singular, NULL, 1, NULL, 1, work);
    if (info) return wl_fail(e, WL_ELIB, "least squares: dgesvd failed (info %d)", (int)info);
    o->condition = singular[0] / singular[p - 1];
    if (!(o->condition * DBL_EPSILON < 1))
        return wl_fail(e, WL_EINVAL, "least squares: the columns are linear combinations of each other");
    memcpy(o->r_inverse, s->r, (size_t)(p * p) * sizeof *o->r_inverse);
    info = s->blas->dtrtri(LAPACK_COL_MAJOR, 'U', 'N', p, o->r_inverse, p);
    if (info) return wl_fail(e, WL_ELIB, "least squares: dtrtri failed (info %d)", (int)info);
    return 0;
}

/* Residuals of the equations that the pair (residual, g) solves: f = w (y - ybar) - residual - Z g and h = -Z'
 * residual; sum [p] is scratch. */
static void defects(const struct scaled *s, const double *residual, double *f, double *h, long double *sum)
{
    for (int j = 0; j < s->p; j++) sum[j] = 0;
    for (int i = 0; i < s->n; i++) {
        long double left = y_at(s, i) - residual[i];
        for (int j = 0; j < s->p; j++) {
            long double z = z_at(s, i, j);
            left -= z * s->g[j];
            sum[j] -= z * residual[i];
        }
        f[i] = (double)left;
    }
    for (int j = 0; j < s->p; j++) h[j] = (double)sum[j];
}

/* Solves residual + Z g = w (y - ybar), Z' residual = 0, by iterative refinement from 0. */
static void solve(const struct scaled *s, double *residual, struct wl_arena *a)
{
    int n = s->n, p = s->p;
    double *f = wl_new_array(a, double, n), *h = wl_new_array(a, double, p), *c = wl_new_array(a, double, p);
    long double *sum = wl_new_array(a, long double, p);
    for (int round = 0; round < 4; round++) {
        defects(s, residual, f, h, sum);
        s->blas->daxpy(n, 1, f, 1, residual, 1);
        if (!p) continue;
        s->blas->dtrsv(CblasColMajor, CblasUpper, CblasTrans, CblasNonUnit, p, s->r, p, h, 1);
        s->blas->dgemv(CblasColMajor, CblasTrans, n, p, 1, s->q, n, f, 1, 0, c, 1);
        s->blas->daxpy(p, -1, h, 1, c, 1); /* c = Q' f - R^-T h */
        s->blas->dgemv(CblasColMajor, CblasNoTrans, n, p, -1, s->q, n, c, 1, 1, residual, 1);
        s->blas->dtrsv(CblasColMajor, CblasUpper, CblasNoTrans, CblasNonUnit, p, s->r, p, c, 1);
        s->blas->daxpy(p, 1, c, 1, s->g, 1);
    }
}

static void sums_of_squares(struct wl_ols *o, const struct scaled *s)
{
    long double sse = 0, sst = 0;
    for (int i = 0; i < s->n; i++) {
        sse += (long double)o->residual[i] * o->residual[i];
        sst += y_at(s, i) * y_at(s, i);
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

/* (X'WX)^-1: over the slopes D R^-1 R^-T D with D = 1 / scale; the intercept adds 1 / sum of weights and the means. */
static void invert(struct wl_ols *o, const struct scaled *s)
{
    size_t k = o->k, first = o->intercept;
    int p = s->p;
    for (int i = 0; i < p; i++)
        for (int j = 0; j < p; j++) {
            double sum = 0;
            for (int l = i > j ? i : j; l < p; l++) sum += o->r_inverse[i + l * p] * o->r_inverse[j + l * p];
            o->inverse[first + (size_t)i + (first + (size_t)j) * k] = sum / o->scale[i] / o->scale[j];
        }
    if (!o->intercept) return;
    long double corner = 1 / (long double)s->sum;
    for (size_t i = 1; i < k; i++) {
        long double sum = 0;
        for (size_t j = 1; j < k; j++) sum += (long double)o->inverse[i + j * k] * o->mean[j - 1];
        o->inverse[i] = o->inverse[i * k] = -(double)sum;
        corner += sum * o->mean[i - 1];
    }
    o->inverse[0] = (double)corner;
}

static void coefficients(struct wl_ols *o, const struct scaled *s)
{
    long double b0 = s->y_mean;
    for (int j = 0; j < s->p; j++) {
        o->b[(size_t)j + o->intercept] = s->g[j] / o->scale[j];
        b0 -= s->g[j] / o->scale[j] * s->mean[j];
    }
    if (o->intercept) o->b[0] = (double)b0;
    for (size_t i = 0; i < o->k * o->k; i++) o->cov[i] = o->sigma * o->sigma * o->inverse[i];
    for (size_t j = 0; j < o->k; j++) {
        o->se[j] = sqrt(o->cov[j + j * o->k]);
        o->t[j] = o->b[j] / o->se[j];
        o->p[j] = wl_t_two_sided(o->t[j], o->df);
    }
}

static void diagnose(struct wl_ols *o, const struct scaled *s)
{
    for (size_t i = 0; i < o->n; i++) {
        double h = o->intercept ? s->w[i] * s->w[i] / s->sum : 0;
        for (int j = 0; j < s->p; j++) h += s->q[i + (size_t)j * o->n] * s->q[i + (size_t)j * o->n];
        double r = o->residual[i], rest = 1 - h;
        double without = (o->sse - r * r / rest) / (o->df - 1); /* variance of the fit without this row */
        bool defined = o->df > 1 && rest > 1e-12 && without > 0;
        o->leverage[i] = h;
        o->student[i] = defined ? r / sqrt(without * rest) : NAN;
        o->cook[i] = defined ? r * r * h / (rest * rest * (double)o->k * o->sigma * o->sigma) : NAN;
        o->residual[i] = r / s->w[i];
        o->fitted[i] = s->y[i] - o->residual[i];
    }
}

static void reserve(struct wl_ols *o, struct scaled *s, size_t columns, struct wl_arena *a, struct wl_arena *scratch)
{
    size_t n = o->n, k = o->k;
    o->b = wl_new_array(a, double, k);
    o->se = wl_new_array(a, double, k);
    o->t = wl_new_array(a, double, k);
    o->p = wl_new_array(a, double, k);
    o->cov = wl_new_array(a, double, k *k);
    o->inverse = wl_new_array(a, double, k *k);
    o->fitted = wl_new_array(a, double, n);
    o->residual = wl_new_array(a, double, n);
    o->leverage = wl_new_array(a, double, n);
    o->student = wl_new_array(a, double, n);
    o->cook = wl_new_array(a, double, n);
    o->mean = wl_new_array(a, double, columns);
    o->scale = wl_new_array(a, double, columns);
    o->r_inverse = wl_new_array(a, double, columns *columns);
    s->w = wl_new_array(scratch, double, n);
    s->q = wl_new_array(scratch, double, n *columns);
    s->r = wl_new_array(scratch, double, columns *columns);
    s->g = wl_new_array(scratch, double, columns);
    s->mean = wl_new_array(scratch, long double, columns);
    s->scale = o->scale;
}

static int take_weights(struct scaled *s, const double *weights, struct wl_err *e)
{
    for (int i = 0; i < s->n; i++) {
        double w = weights ? weights[i] : 1;
        if (!(w > 0) || isinf(w))
            return wl_fail(e, WL_EINVAL, "least squares: the weight of row %d is not positive", i + 1);
        s->w[i] = sqrt(w);
        s->sum += w;
    }
    return 0;
}

static int solve_and_describe(struct wl_ols *o, const struct scaled *s, struct wl_arena *scratch, struct wl_err *e)
{
    solve(s, o->residual, scratch);
    o->weight_sum = s->sum;
    sums_of_squares(o, s);
    if (!isfinite(o->sse) || !isfinite(o->sst))
        return wl_fail(e, WL_EINVAL, "least squares: the response is too large to be squared");
    invert(o, s);
    coefficients(o, s);
    diagnose(o, s);
    return 0;
}

int wl_ols_fit(struct wl_ols *o, const struct wl_ols_data *data, struct wl_arena *a, struct wl_err *e)
{
    size_t n = data->n, columns = data->columns, k = columns + data->intercept;
    *o = (struct wl_ols) { .n = n, .k = k, .intercept = data->intercept, .condition = 1 };
    if (n < k || !n || !k || n > INT32_MAX / (columns + 1))
        return wl_fail(e, WL_EINVAL, "least squares: %zu rows are too few for %zu coefficients", n, k);
    int rc = check_finite(data->y, n, "the response", e);
    if (!rc) rc = check_finite(data->x, n * columns, "a column", e);
    if (rc) return rc;
    o->df = (double)(n - k);
    struct scaled s = { .n = (int)n, .p = (int)columns, .x = data->x, .y = data->y };
    struct wl_arena *scratch = wl_arena_new(a);
    reserve(o, &s, columns, a, scratch);
    rc = wl_blas_open(&s.blas, e);
    if (!rc) rc = take_weights(&s, data->weights, e);
    if (!rc) rc = scale_columns(o, &s, e);
    if (!rc) rc = factorise(o, &s, scratch, e);
    if (!rc) rc = solve_and_describe(o, &s, scratch, e);
    wl_arena_free(scratch);
    return rc;
}

int wl_ols_line(struct wl_ols *o, const double *y, const double *x, size_t n, struct wl_arena *a, struct wl_err *e)
{
    return wl_ols_fit(o, &(struct wl_ols_data) { n, 1, y, x, NULL, true }, a, e);
}

double wl_ols_half_width(const struct wl_ols *o, size_t j, double level)
{
    return o->df > 0 ? wl_t_quantile(0.5 + level / 2, o->df) * o->se[j] : NAN;
}

struct wl_ols_prediction wl_ols_predict(const struct wl_ols *o, const double *x0, double level)
{
    size_t p = o->k - o->intercept;
    double distance = o->intercept ? 1 / o->weight_sum : 0; /* leverage of x0 with weight 1 */
    long double fit = o->intercept ? o->b[0] : 0;
    for (size_t j = 0; j < p; j++) {
        fit += (long double)o->b[j + o->intercept] * x0[j];
        double part = 0; /* row j of R^-T D (x0 - mean) */
        for (size_t i = 0; i <= j; i++) part += o->r_inverse[i + j * p] * (x0[i] - o->mean[i]) / o->scale[i];
        distance += part * part;
    }
    double q = o->df > 0 ? wl_t_quantile(0.5 + level / 2, o->df) : NAN;
    struct wl_ols_prediction out = { .fit = (double)fit };
    out.se_mean = o->sigma * sqrt(distance);
    out.se_run = o->sigma * sqrt(1 + distance);
    out.mean_lo = out.fit - q * out.se_mean;
    out.mean_hi = out.fit + q * out.se_mean;
    out.run_lo = out.fit - q * out.se_run;
    out.run_hi = out.fit + q * out.se_run;
    return out;
}
