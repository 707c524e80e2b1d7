#include "advise/joint/basis.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A unit kernel's variance that columns leave out: 1e-12 of .16 or less is far below any sigma^2 / runs. */
static const double dropped = 1e-12;

/* The factor of an axis' kernel over its distinct values. */
struct factor {
    size_t levels, rank;
    size_t *level; /* [n] of each setting */
    double *f;     /* [levels][levels], the first `rank` columns */
    double *most;  /* [rank] largest square of a column */
};

static int ascending(const void *p, const void *q)
{
    const double x = *(const double *)p, y = *(const double *)q;
    return (x > y) - (x < y);
}

static double *distinct(const double *x, size_t n, size_t *levels, struct wl_arena *a)
{
    double *v = wl_new_array(a, double, n);
    memcpy(v, x, n * sizeof *v);
    qsort(v, n, sizeof *v, ascending);
    *levels = 0;
    for (size_t i = 0; i < n; i++)
        if (i == 0 || v[i] != v[*levels - 1]) v[(*levels)++] = v[i];
    return v;
}

static size_t largest(const double *v, size_t n)
{
    size_t at = 0;
    for (size_t i = 1; i < n; i++)
        if (v[i] > v[at]) at = i;
    return at;
}

/* Cholesky's factor with pivots, cut where nothing is left. */
static void factorize(struct factor *f, const double *v, double length, struct wl_arena *a)
{
    const size_t m = f->levels;
    double *left = wl_new_array(a, double, m);
    f->f = wl_new_array(a, double, m *m);
    f->most = wl_new_array(a, double, m);
    for (size_t i = 0; i < m; i++) left[i] = 1;
    for (size_t c = 0; c < m; c++) {
        const size_t p = largest(left, m);
        if (left[p] < dropped) return;
        const double root = sqrt(left[p]);
        f->most[f->rank++] = left[p];
        for (size_t i = 0; i < m; i++) {
            const double d = (v[i] - v[p]) / length;
            double k = exp(-0.5 * d * d);
            for (size_t q = 0; q < c; q++) k -= f->f[i * m + q] * f->f[p * m + q];
            f->f[i * m + c] = i == p ? root : left[i] > 0 ? k / root : 0;
        }
        for (size_t i = 0; i < m; i++) left[i] -= f->f[i * m + c] * f->f[i * m + c];
        left[p] = 0;
    }
}

static struct factor factor_of(const struct wl_joint_axis *axis, size_t n, struct wl_arena *a)
{
    struct factor f = { .level = wl_new_array(a, size_t, n) };
    double *v = distinct(axis->x, n, &f.levels, a);
    for (size_t i = 0; i < n; i++)
        f.level[i] = (size_t)((double *)bsearch(&axis->x[i], v, f.levels, sizeof *v, ascending) - v);
    factorize(&f, v, axis->length, a);
    return f;
}

static double entry(const struct factor *f, size_t setting, size_t column)
{
    return f->f[f->level[setting] * f->levels + column];
}

/* ---- columns ---- */

struct column {
    int kind;
    size_t a, b, p, q; /* axes; columns of their factors */
};
struct columns {
    struct column *v;
    size_t n, cap;
};

static void add(struct columns *list, struct column c, struct wl_arena *a)
{
    WL_GROW(a, list->v, list->n, list->cap);
    list->v[list->n++] = c;
}

static struct columns columns_of(const struct wl_joint_data *d, const struct factor *f, struct wl_arena *a)
{
    struct columns list = { 0 };
    add(&list, (struct column) { .kind = WL_JOINT_LEVEL }, a);
    for (size_t k = 0; k < d->n_axes; k++) {
        if (d->axes[k].slope_sd[0] > 0 || d->axes[k].slope_sd[1] > 0)
            add(&list, (struct column) { .kind = WL_JOINT_SLOPE, .a = k }, a);
        for (size_t p = 0; p < f[k].rank; p++)
            add(&list, (struct column) { .kind = WL_JOINT_CURVE, .a = k, .p = p }, a);
    }
    for (size_t k = 0; k < d->n_axes; k++)
        for (size_t l = 0; l < k; l++)
            for (size_t p = 0; p < f[k].rank; p++)
                for (size_t q = 0; q < f[l].rank; q++)
                    if (f[k].most[p] * f[l].most[q] >= dropped)
                        add(&list, (struct column) { WL_JOINT_PAIR, k, l, p, q }, a);
    return list;
}

static double value(const struct wl_joint_data *d, const struct factor *f, const struct column *c, size_t i)
{
    switch (c->kind) {
    case WL_JOINT_LEVEL: return 1;
    case WL_JOINT_SLOPE: return d->axes[c->a].x[i];
    case WL_JOINT_CURVE: return entry(&f[c->a], i, c->p);
    default: return entry(&f[c->a], i, c->p) * entry(&f[c->b], i, c->q);
    }
}

struct wl_joint_basis wl_joint_basis_new(const struct wl_joint_data *d, struct wl_arena *a)
{
    struct wl_arena *scratch = wl_arena_new(a);
    struct factor *f = wl_new_array(scratch, struct factor, d->n_axes);
    for (size_t k = 0; k < d->n_axes; k++) f[k] = factor_of(&d->axes[k], d->n, scratch);
    const struct columns list = columns_of(d, f, scratch);
    struct wl_joint_basis out = { .n = d->n, .r = list.n };
    out.b = wl_new_array(a, double, d->n *list.n);
    out.kind = wl_new_array(a, int, list.n);
    out.axis = wl_new_array(a, size_t, list.n);
    for (size_t c = 0; c < list.n; c++) {
        out.kind[c] = list.v[c].kind;
        out.axis[c] = list.v[c].a;
        out.pairs += list.v[c].kind == WL_JOINT_PAIR;
        for (size_t i = 0; i < d->n; i++) out.b[i * list.n + c] = value(d, f, &list.v[c], i);
    }
    wl_arena_free(scratch);
    return out;
}

void wl_joint_basis_scale(const struct wl_joint_basis *b, const struct wl_joint_data *d, enum wl_joint_response r,
                          double theta, double *out)
{
    static const double level_sd = 5;
    for (size_t c = 0; c < b->r; c++) {
        const struct wl_joint_axis *axis = b->kind[c] == WL_JOINT_LEVEL ? NULL : &d->axes[b->axis[c]];
        out[c] = b->kind[c] == WL_JOINT_LEVEL   ? level_sd
                 : b->kind[c] == WL_JOINT_SLOPE ? axis->slope_sd[r]
                 : b->kind[c] == WL_JOINT_CURVE ? axis->curve_sd[r]
                                                : theta;
    }
}
