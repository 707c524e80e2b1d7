#include "stats/grouped.h"

#include "stats/blas.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* Of the largest eigenvalue: below, it is a rounding error. */
static const double RANK_TOLERANCE = 1e-9;

/* A column less its part in the columns of the groups: the mean, and with x the slope, of each. */
struct partial {
    const struct wl_grouped_data *d;
    double *count, *x_mean, *x_squares; /* [groups] the last of x less its mean */
};

static int open_partial(struct partial *p, const struct wl_grouped_data *d, struct wl_arena *a, struct wl_err *e)
{
    *p = (struct partial) { d, wl_new_array(a, double, d->groups), wl_new_array(a, double, d->groups),
                            wl_new_array(a, double, d->groups) };
    double largest = 0;
    for (size_t i = 0; i < d->n; i++) p->count[d->group[i]]++;
    for (size_t i = 0; d->x && i < d->n; i++) {
        p->x_mean[d->group[i]] += d->x[i] / p->count[d->group[i]];
        largest = fmax(largest, fabs(d->x[i]));
    }
    for (size_t i = 0; d->x && i < d->n; i++) {
        const double x = d->x[i] - p->x_mean[d->group[i]];
        p->x_squares[d->group[i]] += x * x;
    }
    for (size_t g = 0; d->x && g < d->groups; g++)
        if (!(sqrt(p->x_squares[g]) > largest * DBL_EPSILON * p->count[g]))
            return wl_fail(e, WL_EINVAL, "least squares: the x of group %zu is constant", g + 1);
    return 0;
}

/* to [n]: the rest of v; mean and slope [groups]: the parts. */
static void split(const struct partial *p, const double *v, double *to, double *mean, double *slope)
{
    const struct wl_grouped_data *d = p->d;
    memset(mean, 0, d->groups * sizeof *mean);
    memset(slope, 0, d->groups * sizeof *slope);
    for (size_t i = 0; i < d->n; i++) mean[d->group[i]] += v[i] / p->count[d->group[i]];
    for (size_t i = 0; i < d->n; i++) {
        const size_t g = d->group[i];
        to[i] = v[i] - mean[g];
        if (d->x) slope[g] += (d->x[i] - p->x_mean[g]) * to[i] / p->x_squares[g];
    }
    for (size_t i = 0; d->x && i < d->n; i++) to[i] -= slope[d->group[i]] * (d->x[i] - p->x_mean[d->group[i]]);
}

/* c = (Z'MZ)+ Z'My by its eigenvalues. */
static int solve(struct wl_grouped *out, const double *zz, const double *zy, struct wl_arena *a, struct wl_err *e)
{
    const struct wl_blas *blas;
    const size_t m = out->common;
    double *vectors = wl_new_array(a, double, m *m), *values = wl_new_array(a, double, m);
    int rc = wl_blas_open(&blas, e);
    if (rc || m == 0) return rc;
    memcpy(vectors, zz, m * m * sizeof *vectors);
    const lapack_int size = (lapack_int)m, info = blas->dsyev(LAPACK_COL_MAJOR, 'V', 'U', size, vectors, size, values);
    if (info) return wl_fail(e, WL_ELIB, "least squares: dsyev failed (info %d)", (int)info);
    for (size_t q = 0; q < m; q++) {
        const double *v = vectors + q * m;
        double along = 0;
        if (!(values[q] > RANK_TOLERANCE * values[m - 1])) continue;
        out->rank++;
        for (size_t j = 0; j < m; j++) along += v[j] * zy[j];
        for (size_t j = 0; j < m; j++) {
            out->c[j] += v[j] * along / values[q];
            for (size_t k = 0; k < m; k++) out->inverse[j + k * m] += v[j] * v[k] / values[q];
        }
    }
    return 0;
}

/* From the parts of y and of the common columns to the coefficients of the groups. */
static void finish(struct wl_grouped *out, const struct partial *p, const double *mean, const double *slope)
{
    const struct wl_grouped_data *d = p->d;
    const size_t m = d->common;
    for (size_t g = 0; g < d->groups; g++) {
        double at_mean = mean[g], b = slope[g];
        for (size_t j = 0; j < m; j++) {
            at_mean -= mean[g + (j + 1) * d->groups] * out->c[j];
            b -= slope[g + (j + 1) * d->groups] * out->c[j];
            out->shared[g * m + j] = (d->x ? slope : mean)[g + (j + 1) * d->groups];
        }
        out->intercept[g] = d->x ? at_mean - b * p->x_mean[g] : at_mean;
        if (d->x) out->slope[g] = b;
        out->own[g] = 1 / (d->x ? p->x_squares[g] : p->count[g]);
    }
}

static void sum_squares(struct wl_grouped *out, const struct wl_grouped_data *d, const double *rest)
{
    const double coefficients = (double)d->groups * (d->x ? 2 : 1) + out->rank;
    for (size_t i = 0; i < d->n; i++) {
        double r = rest[i];
        for (size_t j = 0; j < d->common; j++) r -= rest[i + (j + 1) * d->n] * out->c[j];
        out->sse += r * r;
    }
    out->df = (double)d->n - coefficients;
    out->sigma = out->df > 0 ? sqrt(out->sse / out->df) : NAN;
}

int wl_grouped_fit(struct wl_grouped *out, const struct wl_grouped_data *d, struct wl_arena *a, struct wl_err *e)
{
    const size_t m = d->common, columns = m + 1; /* y first */
    struct partial p;
    *out = (struct wl_grouped) { .common = m,
                                 .intercept = wl_new_array(a, double, d->groups),
                                 .slope = d->x ? wl_new_array(a, double, d->groups) : NULL,
                                 .c = wl_new_array(a, double, m),
                                 .inverse = wl_new_array(a, double, m *m),
                                 .own = wl_new_array(a, double, d->groups),
                                 .shared = wl_new_array(a, double, d->groups *m) };
    struct wl_arena *own = wl_arena_new(a);
    double *rest = wl_new_array(own, double, d->n *columns), *zz = wl_new_array(own, double, m *m),
           *zy = wl_new_array(own, double, m), *mean = wl_new_array(own, double, d->groups *columns),
           *slope = wl_new_array(own, double, d->groups *columns);
    int rc = open_partial(&p, d, own, e);
    for (size_t j = 0; j < columns && rc == 0; j++)
        split(&p, j ? d->z + (j - 1) * d->n : d->y, rest + j * d->n, mean + j * d->groups, slope + j * d->groups);
    for (size_t j = 0; j < m && rc == 0; j++)
        for (size_t i = 0; i < d->n; i++) {
            const double z = rest[i + (j + 1) * d->n];
            zy[j] += z * rest[i];
            for (size_t k = 0; k < m; k++) zz[j + k * m] += z * rest[i + (k + 1) * d->n];
        }
    if (rc == 0) rc = solve(out, zz, zy, own, e);
    if (rc == 0) {
        finish(out, &p, mean, slope);
        sum_squares(out, d, rest);
    }
    wl_arena_free(own);
    return rc;
}

double wl_grouped_variance(const struct wl_grouped *g, size_t i, size_t k)
{
    const size_t m = g->common;
    double by_c = 0;
    if (i == k) return 0;
    for (size_t p = 0; p < m; p++)
        for (size_t q = 0; q < m; q++)
            by_c += (g->shared[i * m + p] - g->shared[k * m + p]) * g->inverse[p + q * m] *
                    (g->shared[i * m + q] - g->shared[k * m + q]);
    return g->own[i] + g->own[k] + by_c;
}
