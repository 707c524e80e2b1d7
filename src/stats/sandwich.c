/* Sandwich estimators: (X'X)^-1 (sum over rows or clusters) (X'X)^-1. */
#include "stats/sandwich.h"

#include "stats/blas.h"

#include <math.h>

/* Element j of the row of X, and of the row of X (X'X)^-1: what a residual in row i adds to coefficient j. */
static double design(const struct wl_ols *o, const double *x, size_t i, size_t j)
{
    return o->intercept ? (j ? x[i + (j - 1) * o->n] : 1) : x[i + j * o->n];
}

static double influence(const struct wl_ols *o, const double *x, size_t i, size_t j)
{
    double sum = 0;
    for (size_t l = 0; l < o->k; l++) sum += design(o, x, i, l) * o->inverse[l + j * o->k];
    return sum;
}

static double inflated(const struct wl_ols *o, size_t i, enum wl_hc kind)
{
    double r2 = o->residual[i] * o->residual[i], rest = 1 - o->leverage[i];
    switch (kind) {
    case WL_HC0: return r2;
    case WL_HC1: return r2 * (double)o->n / o->df;
    case WL_HC2: return r2 / rest;
    case WL_HC3: return r2 / (rest * rest);
    }
    return NAN;
}

void wl_ols_hc(const struct wl_ols *o, const double *x, enum wl_hc kind, double *se)
{
    for (size_t j = 0; j < o->k; j++) {
        double sum = 0;
        for (size_t i = 0; i < o->n; i++) sum += influence(o, x, i, j) * influence(o, x, i, j) * inflated(o, i, kind);
        se[j] = o->df > 0 ? sqrt(sum) : NAN;
    }
}

/* The rows of one cluster. */
struct rows {
    size_t *v, n;
};

static struct rows *rows_of(const size_t *cluster, size_t n, size_t clusters, struct wl_arena *a)
{
    struct rows *g = wl_new_array(a, struct rows, clusters);
    for (size_t i = 0; i < n; i++) g[cluster[i]].n++;
    for (size_t c = 0; c < clusters; c++) {
        g[c].v = wl_new_array(a, size_t, g[c].n);
        g[c].n = 0;
    }
    for (size_t i = 0; i < n; i++) g[cluster[i]].v[g[cluster[i]].n++] = i;
    return g;
}

/* CR1: sums of residuals by cluster. */
static void cluster_plain(const struct wl_ols *o, const double *x, const struct rows *g, size_t clusters, double *se,
                          double *df)
{
    double m = (double)clusters, n = (double)o->n;
    for (size_t j = 0; j < o->k; j++) {
        double total = 0;
        for (size_t c = 0; c < clusters; c++) {
            double sum = 0;
            for (size_t r = 0; r < g[c].n; r++) sum += influence(o, x, g[c].v[r], j) * o->residual[g[c].v[r]];
            total += sum * sum;
        }
        se[j] = sqrt(total * m / (m - 1) * (n - 1) / o->df);
        df[j] = m - 1;
    }
}

/* Orthonormal columns that span those of X, Z [n, k] with H = Z Z': the intercept's and (X - mean) D R^-1. */
static double *orthonormal_design(const struct wl_ols *o, const double *x, struct wl_arena *a)
{
    const size_t n = o->n, first = o->intercept, p = o->k - first;
    double *z = wl_new_array(a, double, n * o->k);
    for (size_t i = 0; first && i < n; i++) z[i] = 1 / sqrt((double)n);
    for (size_t j = 0; j < p; j++)
        for (size_t l = 0; l <= j; l++)
            for (size_t i = 0; i < n; i++)
                z[i + (j + first) * n] += o->r_inverse[l + j * p] * (x[i + l * n] - o->mean[l]) / o->scale[l];
    return z;
}

/* (I - H_gg)^-1/2 - I = Z_g B Z_g' for the rows of one cluster: B [k, k] from the eigenvectors of Z_g' Z_g. An
 * eigenvalue q of that is one of H_gg, whose others are 0, so the cost is linear in the rows. Generalised inverse:
 * directions that the fit absorbs completely (q = 1) are dropped. */
static int adjustment(const double *z, size_t n, size_t k, const struct rows *g, double *out, struct wl_arena *a,
                      struct wl_err *e)
{
    double *v = wl_new_array(a, double, k *k), *values = wl_new_array(a, double, k);
    for (size_t j = 0; j < k; j++)
        for (size_t l = 0; l < k; l++)
            for (size_t i = 0; i < g->n; i++) v[j + l * k] += z[g->v[i] + j * n] * z[g->v[i] + l * n];
    const struct wl_blas *blas;
    int rc = wl_blas_open(&blas, e);
    if (rc) return rc;
    lapack_int size = (lapack_int)k, info = blas->dsyev(LAPACK_COL_MAJOR, 'V', 'U', size, v, size, values);
    if (info) return wl_fail(e, WL_ELIB, "cluster-robust errors: dsyev failed (info %d)", (int)info);
    for (size_t q = 0; q < k; q++) {
        const double root = sqrt(fmax(1 - values[q], 0)), factor = root > 1e-5 ? 1 / (root * (1 + root)) : -1;
        for (size_t j = 0; j < k; j++)
            for (size_t l = 0; l < k; l++) out[j + l * k] += factor * v[j + q * k] * v[l + q * k];
    }
    return 0;
}

/* For coefficient j and one cluster the vector (I - H_gg)^-1/2 s_g, s the influences: w [n] in the order of rows.
 * along: scratch [2 k]. */
static void adjusted_influence(const struct wl_ols *o, const double *x, const double *z, const struct rows *g,
                               const double *adjust, size_t j, double *w, double *along)
{
    const size_t n = o->n, k = o->k;
    double *turned = along + k;
    for (size_t l = 0; l < 2 * k; l++) along[l] = 0;
    for (size_t i = 0; i < g->n; i++) {
        w[g->v[i]] = influence(o, x, g->v[i], j);
        for (size_t l = 0; l < k; l++) along[l] += z[g->v[i] + l * n] * w[g->v[i]];
    }
    for (size_t l = 0; l < k; l++)
        for (size_t q = 0; q < k; q++) turned[l] += adjust[l + q * k] * along[q];
    for (size_t i = 0; i < g->n; i++)
        for (size_t l = 0; l < k; l++) w[g->v[i]] += z[g->v[i] + l * n] * turned[l];
}

/* Satterthwaite: (sum of eigenvalues)^2 / (sum of their squares) of B, B_gh = w_g' (I - H)_gh w_h, which is
 * trace(B)^2 / sum of B_gh^2. With H = X (X'X)^-1 X' only u_g = X_g' w_g is needed. */
static double satterthwaite(const struct wl_ols *o, const double *x, const struct rows *g, size_t clusters,
                            const double *w, struct wl_arena *a)
{
    size_t k = o->k;
    double *u = wl_new_array(a, double, clusters *k), *z = wl_new_array(a, double, clusters *k);
    for (size_t c = 0; c < clusters; c++)
        for (size_t j = 0; j < k; j++)
            for (size_t i = 0; i < g[c].n; i++) {
                u[c * k + j] += design(o, x, g[c].v[i], j) * w[g[c].v[i]];
                z[c * k + j] += influence(o, x, g[c].v[i], j) * w[g[c].v[i]];
            }
    double trace = 0, squares = 0;
    for (size_t c = 0; c < clusters; c++)
        for (size_t d = 0; d < clusters; d++) {
            double b = 0;
            for (size_t i = 0; c == d && i < g[c].n; i++) b += w[g[c].v[i]] * w[g[c].v[i]];
            for (size_t j = 0; j < k; j++) b -= u[c * k + j] * z[d * k + j];
            if (c == d) trace += b;
            squares += b * b;
        }
    return trace * trace / squares;
}

int wl_ols_cluster(const struct wl_ols *o, const double *x, const struct wl_clusters *clusters, double *se, double *df,
                   struct wl_arena *a, struct wl_err *e)
{
    size_t n = clusters->n;
    if (n < 2) return wl_fail(e, WL_EINVAL, "cluster-robust errors need at least two clusters, got %zu", n);
    struct rows *g = rows_of(clusters->cluster, o->n, n, a);
    if (clusters->kind == WL_CR1) {
        cluster_plain(o, x, g, n, se, df);
        return 0;
    }
    const size_t k = o->k;
    double *z = orthonormal_design(o, x, a), *adjust = wl_new_array(a, double, n *k *k);
    double *w = wl_new_array(a, double, o->n), *along = wl_new_array(a, double, 2 * k);
    for (size_t c = 0; c < n; c++) {
        int rc = adjustment(z, o->n, k, &g[c], adjust + c * k * k, a, e);
        if (rc) return rc;
    }
    for (size_t j = 0; j < k; j++) {
        double total = 0;
        for (size_t c = 0; c < n; c++) {
            adjusted_influence(o, x, z, &g[c], adjust + c * k * k, j, w, along);
            double sum = 0;
            for (size_t i = 0; i < g[c].n; i++) sum += w[g[c].v[i]] * o->residual[g[c].v[i]];
            total += sum * sum;
        }
        se[j] = sqrt(total);
        df[j] = satterthwaite(o, x, g, n, w, a);
    }
    return 0;
}
