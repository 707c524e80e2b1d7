#include "stats/unit_effects.h"

#include "stats/blas.h"
#include "stats/distributions.h"
#include "stats/multiple_testing.h"

#include <math.h>
#include <string.h>

static const double ALPHA = .05;

/* Of the largest eigenvalue, and of squared lengths: below, it is a rounding error. */
static const double RANK_TOLERANCE = 1e-9;

/* Units that are in the same rows are one column. */
struct fit {
    const struct wl_unit_data *d;
    struct wl_unit_effects *out;
    size_t n;          /* columns */
    size_t *unit;      /* [n] the first unit of each */
    double *share;     /* [n] of these units together, where one has 1: how many they are, if rows are shared */
    size_t *connected; /* [n] columns with the same number are connected by rows of a block */
    double *a;         /* [n, n] Z'MZ, then its eigenvectors; column-major */
    double *r;         /* [n] Z'My */
    double *inverse;   /* [n, n] generalised inverse of Z'MZ */
    double *projector; /* [n, n] onto its row space */
    double *beta;      /* [n] */
    double rank, explained, trace;
    bool *reference; /* [n] */
    struct wl_arena *arena;
};

/* ---- the normal equations ---- */

static double weight_of(const struct wl_unit_data *d, size_t row)
{
    return d->shares ? 1 / (double)(d->first[row + 1] - d->first[row]) : 1;
}

/* The rows of each block one after the other: of block b row[from[b]] .. row[from[b + 1] - 1]. */
struct by_block {
    size_t *from, *row;
};

static struct by_block sort_by_block(const struct wl_unit_data *d, struct wl_arena *a)
{
    struct by_block s = { wl_new_array(a, size_t, d->blocks + 2), wl_new_array(a, size_t, d->rows) };
    for (size_t i = 0; i < d->rows; i++) s.from[d->block[i] + 2]++;
    for (size_t b = 2; b < d->blocks + 2; b++) s.from[b] += s.from[b - 1];
    for (size_t i = 0; i < d->rows; i++) s.row[s.from[d->block[i] + 1]++] = i;
    return s;
}

/* The units of one block, and the sum of the weights of each. */
struct weights {
    size_t *unit, n;
    double *sum; /* [units] 0 outside of these */
};

static void add_weights(const struct wl_unit_data *d, size_t row, struct weights *w)
{
    for (size_t m = d->first[row]; m < d->first[row + 1]; m++) {
        if (w->sum[d->member[m]] == 0) w->unit[w->n++] = d->member[m];
        w->sum[d->member[m]] += weight_of(d, row);
    }
}

/* Adds those of one block; returns its part of y'My. Differences from the block's mean of y: no cancellation. */
static double add_block(const struct wl_unit_data *d, const size_t *row, size_t rows, struct weights *w, double *zz,
                        double *zy)
{
    const size_t n = d->units;
    double mean = 0, yy = 0;
    for (size_t i = 0; i < rows; i++) {
        mean += d->y[row[i]] / (double)rows;
        add_weights(d, row[i], w);
    }
    for (size_t i = 0; i < rows; i++) {
        const double y = d->y[row[i]] - mean, weight = weight_of(d, row[i]);
        yy += y * y;
        for (size_t m = d->first[row[i]]; m < d->first[row[i] + 1]; m++) {
            zy[d->member[m]] += weight * y;
            for (size_t k = d->first[row[i]]; k < d->first[row[i] + 1]; k++)
                zz[d->member[m] + d->member[k] * n] += weight * weight;
        }
    }
    for (size_t j = 0; j < w->n; j++)
        for (size_t k = 0; k < w->n; k++)
            zz[w->unit[j] + w->unit[k] * n] -= w->sum[w->unit[j]] * w->sum[w->unit[k]] / (double)rows;
    for (size_t j = 0; j < w->n; j++) w->sum[w->unit[j]] = 0;
    w->n = 0;
    return yy;
}

/* Z'MZ [units, units] and Z'My [units]; returns y'My. */
static double cross_products(const struct wl_unit_data *d, double *zz, double *zy, struct wl_arena *a)
{
    const struct by_block s = sort_by_block(d, a);
    struct weights w = { wl_new_array(a, size_t, d->units), 0, wl_new_array(a, double, d->units) };
    double yy = 0;
    for (size_t b = 0; b < d->blocks; b++) yy += add_block(d, s.row + s.from[b], s.from[b + 1] - s.from[b], &w, zz, zy);
    return yy;
}

/* ---- columns ---- */

/* Two columns with no distance are one: the squared distance of M z_j and M z_k. */
static bool is_same(const double *zz, size_t n, size_t j, size_t k)
{
    const double own = zz[j + j * n] + zz[k + k * n];
    return own - 2 * zz[j + k * n] <= RANK_TOLERANCE * own;
}

static bool is_constant(const struct wl_unit_data *d, const double *zz, size_t j, size_t rows)
{
    return zz[j + j * d->units] <= RANK_TOLERANCE * fmax(1, (double)rows);
}

static void find_columns(struct fit *f, const double *zz)
{
    const struct wl_unit_data *d = f->d;
    struct wl_unit_effect *v = f->out->v;
    for (size_t m = 0; m < d->first[d->rows]; m++) v[d->member[m]].rows++;
    for (size_t j = 0; j < d->units; j++) {
        v[j].with = j;
        v[j].state = is_constant(d, zz, j, v[j].rows) ? WL_UNIT_IN_ALL : WL_UNIT_COMPARED;
        for (size_t c = 0; c < f->n && v[j].state == WL_UNIT_COMPARED; c++) {
            if (!is_same(zz, d->units, j, f->unit[c])) continue;
            v[j].state = WL_UNIT_WITH_OTHERS;
            v[j].with = f->unit[c];
            if (d->shares) f->share[c]++;
        }
        if (v[j].state != WL_UNIT_COMPARED) continue;
        f->share[f->n] = 1;
        f->unit[f->n++] = j;
    }
}

/* Columns that a block has in common are connected. */
static void connect(struct fit *f)
{
    const struct wl_unit_data *d = f->d;
    size_t *column = wl_new_array(f->arena, size_t, d->units), *seen = wl_new_array(f->arena, size_t, d->blocks);
    for (size_t c = 0; c < f->n; c++) {
        column[f->unit[c]] = c + 1;
        f->connected[c] = c;
    }
    for (size_t i = 0; i < d->rows; i++)
        for (size_t m = d->first[i]; m < d->first[i + 1]; m++) {
            const size_t c = column[d->member[m]], *first = &seen[d->block[i]];
            if (!c) continue;
            const size_t from = f->connected[c - 1], to = *first ? f->connected[*first - 1] : from;
            for (size_t k = 0; k < f->n; k++)
                if (f->connected[k] == from) f->connected[k] = to;
            if (!*first) seen[d->block[i]] = c;
        }
}

static void take_columns(struct fit *f, const double *zz, const double *zy)
{
    const size_t units = f->d->units;
    for (size_t j = 0; j < f->n; j++) {
        f->r[j] = f->share[j] * zy[f->unit[j]];
        for (size_t k = 0; k < f->n; k++)
            f->a[j + k * f->n] = f->share[j] * f->share[k] * zz[f->unit[j] + f->unit[k] * units];
        f->trace += f->a[j * (f->n + 1)];
    }
}

/* ---- solution ---- */

static int solve(struct fit *f, struct wl_err *e)
{
    const struct wl_blas *blas;
    const size_t n = f->n;
    double *values = wl_new_array(f->arena, double, n);
    int rc = wl_blas_open(&blas, e);
    if (rc) return rc;
    const lapack_int size = (lapack_int)n,
                     info = n ? blas->dsyev(LAPACK_COL_MAJOR, 'V', 'U', size, f->a, size, values) : 0;
    if (info) return wl_fail(e, WL_ELIB, "effects of units: dsyev failed (info %d)", (int)info);
    for (size_t q = 0; q < n; q++) {
        const double *v = f->a + q * n;
        double along = 0;
        if (!(values[q] > RANK_TOLERANCE * values[n - 1])) continue;
        f->rank++;
        for (size_t j = 0; j < n; j++) along += v[j] * f->r[j];
        f->explained += along * along / values[q];
        for (size_t j = 0; j < n; j++) {
            f->beta[j] += v[j] * along / values[q];
            for (size_t k = 0; k < n; k++) {
                f->inverse[j + k * n] += v[j] * v[k] / values[q];
                f->projector[j + k * n] += v[j] * v[k];
            }
        }
    }
    return 0;
}

/* ---- contrasts ---- */

/* Is a column minus the mean of those that are connected with it in the row space? Of two that are, the difference is
 * too. */
static bool is_estimable(const struct fit *f, size_t c)
{
    double others = 0;
    for (size_t k = 0; k < f->n; k++) others += f->connected[k] == f->connected[c];
    if (others < 2) return false;
    for (size_t j = 0; j < f->n; j++) {
        double projected = f->projector[j + c * f->n];
        for (size_t k = 0; k < f->n; k++)
            if (f->connected[k] == f->connected[c]) projected -= f->projector[j + k * f->n] / others;
        const double wanted = (j == c) - (f->connected[j] == f->connected[c] ? 1 / others : 0);
        if (fabs(projected - wanted) > 1e-6) return false;
    }
    return true;
}

/* The reference of a column: its size without the column, and over all of it sums of beta, of the inverse, and of the
 * inverse's column. */
struct reference {
    double n, beta, inverse, column;
    size_t last; /* of these columns */
};

static struct reference reference_of(const struct fit *f, size_t c, const double *inverse_sums)
{
    struct reference r = { 0 };
    for (size_t k = 0; k < f->n; k++) {
        if (!f->reference[k] || f->connected[k] != f->connected[c]) continue;
        r.n += k != c;
        if (k != c) r.last = k;
        r.beta += f->beta[k];
        r.inverse += inverse_sums[k];
    }
    r.column = inverse_sums[c];
    return r;
}

/* The contrast is own e_c - (1/n) sum of e_k over the reference, own = 1 + 1/n where c is one of these. */
static void test_column(const struct fit *f, size_t c, const double *inverse_sums)
{
    struct wl_unit_effect *v = &f->out->v[f->unit[c]];
    const struct reference r = reference_of(f, c, inverse_sums);
    v->reference = f->reference[c];
    v->others = (size_t)r.n;
    v->other = f->unit[r.last];
    if (v->state != WL_UNIT_COMPARED) return;
    const double own = 1 + (f->reference[c] ? 1 / r.n : 0);
    const double variance = own * own * f->inverse[c * (f->n + 1)] - 2 * own * r.column / r.n + r.inverse / (r.n * r.n);
    v->value = own * f->beta[c] - r.beta / r.n;
    v->se = f->out->sigma * sqrt(fmax(variance, 0));
    const double half = wl_t_quantile(1 - ALPHA / 2, f->out->df) * v->se;
    v->lo = v->value - half;
    v->hi = v->value + half;
    v->t = v->value / v->se;
    v->p = wl_t_two_sided(v->t, f->out->df);
}

/* Of each column, the sum of the inverse over the reference that it is connected with. */
static void sum_inverse(const struct fit *f, double *sums)
{
    for (size_t c = 0; c < f->n; c++) {
        sums[c] = 0;
        for (size_t k = 0; k < f->n; k++)
            if (f->reference[k] && f->connected[k] == f->connected[c]) sums[c] += f->inverse[c + k * f->n];
    }
}

/* Of two that are connected with each other alone, the second: their test is one. f->n: it is none. */
static size_t twin_of(const struct fit *f, size_t c)
{
    size_t n = 0, first = f->n;
    for (size_t k = 0; k < f->n; k++) {
        if (f->connected[k] != f->connected[c]) continue;
        if (n++ == 0) first = k;
    }
    return n == 2 && first != c ? first : f->n;
}

static void test_all(const struct fit *f)
{
    struct wl_arena *step = wl_arena_new(f->arena);
    double *sums = wl_new_array(step, double, f->n), *p = wl_new_array(step, double, f->n),
           *holm = wl_new_array(step, double, f->n);
    sum_inverse(f, sums);
    for (size_t c = 0; c < f->n; c++) {
        test_column(f, c, sums);
        p[c] = twin_of(f, c) < f->n ? NAN : f->out->v[f->unit[c]].p;
    }
    wl_holm(p, f->n, holm, step);
    for (size_t c = 0; c < f->n; c++) {
        const size_t twin = twin_of(f, c);
        f->out->v[f->unit[c]].p_holm = holm[twin < f->n ? twin : c];
    }
    wl_arena_free(step);
}

/* Without it at least two, and half of those that are connected with it, remain? */
static bool may_leave(const struct fit *f, size_t c)
{
    size_t all = 0, left = 0;
    for (size_t k = 0; k < f->n; k++) {
        if (f->connected[k] != f->connected[c]) continue;
        all++;
        left += f->reference[k] && k != c;
    }
    return left >= 2 && 2 * left >= all;
}

/* The reference unit that differs most clearly; f->n: none. */
static size_t most_different(const struct fit *f)
{
    size_t found = f->n;
    for (size_t c = 0; c < f->n; c++) {
        const struct wl_unit_effect *v = &f->out->v[f->unit[c]];
        if (!f->reference[c] || !(v->p_holm < ALPHA) || !may_leave(f, c)) continue;
        if (found == f->n || fabs(v->t) > fabs(f->out->v[f->unit[found]].t)) found = c;
    }
    return found;
}

static void test_units(struct fit *f, double yy)
{
    struct wl_unit_effects *o = f->out;
    o->df = (double)f->d->rows - (double)f->d->blocks - f->rank;
    o->sigma = o->df > 0 ? sqrt(fmax(yy - f->explained, 0) / o->df) : NAN;
    o->df1 = f->rank;
    o->f = f->rank > 0 ? f->explained / f->rank / (o->sigma * o->sigma) : NAN;
    o->p = o->df > 0 && f->rank > 0 ? wl_f_sf(o->f, o->df1, o->df) : NAN;
    o->between = sqrt(fmax(f->explained - f->rank * o->sigma * o->sigma, 0) / f->trace);
    if (!(o->df > 0)) o->between = NAN;
    for (size_t c = 0; c < f->n; c++) {
        struct wl_unit_effect *v = &o->v[f->unit[c]];
        f->reference[c] = is_estimable(f, c);
        v->state = f->reference[c] ? WL_UNIT_COMPARED : WL_UNIT_UNCLEAR;
        o->compared += f->reference[c];
    }
    test_all(f);
    for (size_t c; (c = most_different(f)) < f->n; test_all(f)) f->reference[c] = false;
}

int wl_unit_effects_fit(const struct wl_unit_data *d, struct wl_unit_effects *out, struct wl_arena *a, struct wl_err *e)
{
    const size_t n = d->units;
    for (size_t i = 0; i < d->rows; i++)
        if (!isfinite(d->y[i])) return wl_fail(e, WL_EINVAL, "effects of units: row %zu is not a finite number", i + 1);
    *out = (struct wl_unit_effects) { .v = wl_new_array(a, struct wl_unit_effect, n) };
    struct wl_arena *own = wl_arena_new(a);
    struct fit f = { .d = d, .out = out, .arena = own };
    double *zz = wl_new_array(own, double, n *n), *zy = wl_new_array(own, double, n);
    f.unit = wl_new_array(own, size_t, n);
    f.share = wl_new_array(own, double, n);
    f.connected = wl_new_array(own, size_t, n);
    f.r = wl_new_array(own, double, n);
    f.beta = wl_new_array(own, double, n);
    f.reference = wl_new_array(own, bool, n);
    const double yy = cross_products(d, zz, zy, own);
    for (size_t j = 0; j < n; j++) {
        struct wl_unit_effect *v = &out->v[j];
        v->value = v->se = v->lo = v->hi = v->t = v->p = v->p_holm = NAN;
    }
    find_columns(&f, zz);
    f.a = wl_new_array(own, double, f.n *f.n);
    f.inverse = wl_new_array(own, double, f.n *f.n);
    f.projector = wl_new_array(own, double, f.n *f.n);
    connect(&f);
    take_columns(&f, zz, zy);
    int rc = solve(&f, e);
    if (rc == 0) test_units(&f, yy);
    wl_arena_free(own);
    return rc;
}
