/* Continuous line of two segments. For a fixed breakpoint c it is linear: y on 1, x and the hinge max(0, x - c). The
 * hinge reduces the sum of squares of the straight line by (u'y)^2, u the hinge without its projection on 1 and x, at
 * unit length; so the profile over c is a scan of dot products. */
#include "stats/segmented.h"

#include "stats/blas.h"
#include "stats/distributions.h"
#include "stats/moments.h"
#include "stats/ols.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    GRID = 200,
    MOST_DRAWN = 64 /* points of which each is drawn; more if no two share an x */
};

/* Points of equal x pooled into their mean: what they scatter about it is the same for every line. A vector of pooled
 * points has the elements root x value, root^2 the points of each, so that its squares are those of all points. */
struct pooled {
    double *x, *y, *root; /* [n] x ascending, root x mean of y, square root of the number of points */
    size_t n, points;
    size_t *of;     /* [points] where each is pooled */
    double centre;  /* mean of all y, taken off so that equal ones have no rounding error */
    double squares; /* of points about their means */
};

struct point {
    double x;
    size_t at;
};

static int by_x(const void *a, const void *b)
{
    const struct point *p = a, *q = b;
    return p->x != q->x ? (p->x > q->x) - (p->x < q->x) : (p->at > q->at) - (p->at < q->at);
}

/* Sums of v [points] over the points of each x, over root: out [n]; returns the squares about their means. */
static double pool_values(const struct pooled *p, const double *v, double *out)
{
    double squares = 0;
    for (size_t i = 0; i < p->n; i++) out[i] = 0;
    for (size_t i = 0; i < p->points; i++) out[p->of[i]] += v[i] / p->root[p->of[i]];
    for (size_t i = 0; i < p->points; i++) {
        const double off = v[i] - out[p->of[i]] / p->root[p->of[i]];
        squares += off * off;
    }
    return squares;
}

static struct pooled pool(const double *x, const double *y, size_t n, struct wl_arena *a)
{
    struct wl_arena *scratch = wl_arena_new(a);
    struct point *v = wl_new_array(scratch, struct point, n);
    struct pooled p = { .points = n, .centre = wl_mean(y, n) };
    p.x = wl_new_array(a, double, n);
    p.y = wl_new_array(a, double, n);
    p.root = wl_new_array(a, double, n);
    p.of = wl_new_array(a, size_t, n);
    for (size_t i = 0; i < n; i++) v[i] = (struct point) { x[i], i };
    qsort(v, n, sizeof *v, by_x);
    for (size_t i = 0; i < n; i++) {
        if (!p.n || p.x[p.n - 1] != v[i].x) p.x[p.n++] = v[i].x;
        p.of[v[i].at] = p.n - 1;
        p.root[p.n - 1]++;
    }
    for (size_t i = 0; i < p.n; i++) p.root[i] = sqrt(p.root[i]);
    double *off = wl_new_array(scratch, double, n);
    for (size_t i = 0; i < n; i++) off[i] = y[i] - p.centre;
    p.squares = pool_values(&p, off, p.y);
    wl_arena_free(scratch);
    return p;
}

/* The straight part, orthonormal: root / sqrt(points) and root (x - mean) / length. */
struct straight_line {
    const double *x, *root;
    size_t n;
    double points, mean, length;
};

static struct straight_line straight_line_of(const struct pooled *v)
{
    struct straight_line p = { v->x, v->root, v->n, (double)v->points, 0, 0 };
    for (size_t i = 0; i < p.n; i++) p.mean += p.root[i] * p.root[i] * p.x[i] / p.points;
    for (size_t i = 0; i < p.n; i++) p.length += pow(p.root[i] * (p.x[i] - p.mean), 2);
    p.length = sqrt(p.length);
    return p;
}

/* v without its projection on 1 and x. */
static void remove_line(const struct straight_line *p, double *v)
{
    double mean = 0, slope = 0;
    for (size_t i = 0; i < p->n; i++) mean += p->root[i] * v[i] / p->points;
    for (size_t i = 0; i < p->n; i++) slope += p->root[i] * (p->x[i] - p->mean) / p->length * v[i];
    for (size_t i = 0; i < p->n; i++) v[i] -= p->root[i] * (mean + slope * (p->x[i] - p->mean) / p->length);
}

static void hinge_direction(const struct straight_line *p, double c, double *u)
{
    double squares = 0;
    for (size_t i = 0; i < p->n; i++) u[i] = p->root[i] * fmax(0, p->x[i] - c);
    remove_line(p, u);
    for (size_t i = 0; i < p->n; i++) squares += u[i] * u[i];
    for (size_t i = 0; i < p->n; i++) u[i] /= sqrt(squares);
}

static double gain(const double *u, const double *y, size_t n)
{
    double dot = 0;
    for (size_t i = 0; i < n; i++) dot += u[i] * y[i];
    return dot * dot;
}

static double gain_at(const struct straight_line *p, double c, const double *y, double *u)
{
    hinge_direction(p, c, u);
    return gain(u, y, p->n);
}

/* The maximum gain between lo and hi, where it is unimodal: golden-section search. */
static double refine(const struct straight_line *p, const double *y, double lo, double hi, double *u)
{
    const double ratio = (sqrt(5) - 1) / 2;
    double a = hi - ratio * (hi - lo), b = lo + ratio * (hi - lo);
    double at_a = gain_at(p, a, y, u), at_b = gain_at(p, b, y, u);
    while (hi - lo > 1e-9) {
        bool left = at_a > at_b;
        if (left)
            hi = b, b = a, at_b = at_a, a = hi - ratio * (hi - lo), at_a = gain_at(p, a, y, u);
        else
            lo = a, a = b, at_a = at_b, b = lo + ratio * (hi - lo), at_b = gain_at(p, b, y, u);
    }
    return (lo + hi) / 2;
}

/* Where the gain crosses `level` between inside (above it) and outside: bisection. */
static double confidence_limit(const struct straight_line *p, const double *y, double inside, double outside,
                               double level, double *u)
{
    for (int i = 0; i < 60; i++) {
        double middle = (inside + outside) / 2;
        *(gain_at(p, middle, y, u) >= level ? &inside : &outside) = middle;
    }
    return inside;
}

/* A sum of squares of df independent normal numbers: twice a gamma variate of shape df / 2. Source: Marsaglia and
 * Tsang 2000. `from`: the first number of the stream that it may take. */
static double chi_squared(uint64_t key, uint64_t stream, uint64_t from, double df)
{
    const double d = df / 2 - 1. / 3, c = 1 / sqrt(9 * d);
    if (df < 2) return pow(wl_random_normal(key, stream, from), 2);
    for (;; from += 2) {
        const double z = wl_random_normal(key, stream, from), u = wl_random_uniform(key, stream, from + 1),
                     v = pow(1 + c * z, 3);
        if (v > 0 && log(u) < z * z / 2 + d - d * v + d * log(v)) return 2 * d * v;
    }
}

/* One sample of noise: pooled into z [n]; returns the squares about the means. Many points are not drawn one by one: a
 * pooled one is normal, and the squares are chi squared. */
static double draw_noise(const struct pooled *p, uint64_t key, uint64_t draw, double *points, double *z)
{
    if (p->points <= MOST_DRAWN) {
        wl_random_normals(key, draw, 0, p->points, points);
        return pool_values(p, points, z);
    }
    const uint64_t normals = p->n + p->n % 2;
    wl_random_normals(key, draw, 0, p->n, z);
    return p->points > p->n ? chi_squared(key, draw, normals, (double)(p->points - p->n)) : 0;
}

/* The share of samples of pure noise whose best breakpoint gains as much: exact for normal errors of any variance about
 * any line, since both scale out. */
static double monte_carlo_p(const struct wl_blas *blas, const struct straight_line *p, const struct pooled *pooled,
                            const double *grid, double observed, size_t draws, struct wl_arena *a)
{
    static const uint64_t key = 0x62726f6b656e; /* any fixed number: the same p each time */
    double *u = wl_new_array(a, double, GRID * p->n), *z = wl_new_array(a, double, p->n);
    double *dots = wl_new_array(a, double, GRID), points[MOST_DRAWN];
    size_t beyond = 0;
    for (size_t g = 0; g < GRID; g++) hinge_direction(p, grid[g], u + g * p->n);
    for (size_t d = 0; d < draws; d++) {
        double best = 0, squares = draw_noise(pooled, key, d, points, z);
        remove_line(p, z);
        for (size_t i = 0; i < p->n; i++) squares += z[i] * z[i];
        blas->dgemv(CblasColMajor, CblasTrans, (int)p->n, GRID, 1, u, (int)p->n, z, 1, 0, dots, 1);
        for (size_t g = 0; g < GRID; g++) best = best > dots[g] * dots[g] ? best : dots[g] * dots[g];
        beyond += best / squares >= observed;
    }
    return (double)(beyond + 1) / (double)(draws + 1);
}

/* The gain of every breakpoint of the grid, and the best one. */
struct scan {
    struct straight_line line;
    double *rest, *u; /* [n] y without the straight line; scratch */
    double straight;  /* its sum of squares */
    double grid[GRID], gains[GRID];
    size_t best;
    double breakpoint, top; /* refined, and its gain */
};

static void scan_breaks(struct scan *s, double lo, double hi)
{
    const struct straight_line *p = &s->line;
    for (size_t i = 0; i < p->n; i++) s->straight += s->rest[i] * s->rest[i];
    for (size_t g = 0; g < GRID; g++) {
        s->grid[g] = lo + (hi - lo) * (double)g / (GRID - 1);
        s->gains[g] = gain_at(p, s->grid[g], s->rest, s->u);
        if (s->gains[g] > s->gains[s->best]) s->best = g;
    }
    size_t before = s->best ? s->best - 1 : 0, after = s->best + 1 < GRID ? s->best + 1 : s->best;
    s->breakpoint = refine(p, s->rest, s->grid[before], s->grid[after], s->u);
    s->top = gain_at(p, s->breakpoint, s->rest, s->u);
    if (s->top < s->gains[s->best]) s->breakpoint = s->grid[s->best], s->top = s->gains[s->best];
}

/* The breakpoints that an F test does not reject against the best one: from the outermost that pass, on each side. */
static void interval(const struct scan *s, double level, struct wl_segmented *out)
{
    size_t first = 0, last = GRID - 1;
    out->lo = out->hi = NAN;
    if (!(out->df > 0)) return;
    double limit = s->straight - out->sse * (1 + wl_f_quantile(level, 1, out->df) / out->df);
    while (first < s->best && s->gains[first] < limit) first++;
    while (last > s->best && s->gains[last] < limit) last--;
    double inside_lo = s->gains[first] >= limit ? s->grid[first] : s->breakpoint;
    double inside_hi = s->gains[last] >= limit ? s->grid[last] : s->breakpoint;
    out->lo = first ? confidence_limit(&s->line, s->rest, inside_lo, s->grid[first - 1], limit, s->u) : s->grid[0];
    out->hi = last + 1 < GRID ? confidence_limit(&s->line, s->rest, inside_hi, s->grid[last + 1], limit, s->u)
                              : s->grid[last];
}

/* The lines at the breakpoint. */
static int fit_lines(const struct pooled *p, struct wl_segmented *out, struct wl_arena *a, struct wl_err *e)
{
    const size_t n = p->n;
    double *columns = wl_new_array(a, double, 2 * n), *y = wl_new_array(a, double, n),
           *weights = wl_new_array(a, double, n);
    const struct wl_ols_data data = {
        .n = n, .columns = 2, .y = y, .x = columns, .weights = weights, .intercept = true
    };
    struct wl_ols line;
    for (size_t i = 0; i < n; i++) {
        columns[i] = p->x[i];
        columns[i + n] = fmax(0, p->x[i] - out->breakpoint);
        y[i] = p->y[i] / p->root[i];
        weights[i] = p->root[i] * p->root[i];
    }
    int rc = wl_ols_fit(&line, &data, a, e);
    if (rc) return rc;
    out->b0 = line.b[0] + p->centre;
    out->slope1 = line.b[1];
    out->slope2 = line.b[1] + line.b[2];
    return 0;
}

static int fit_pooled(const struct pooled *v, const struct wl_segmented_options *options, struct wl_segmented *out,
                      struct wl_arena *a, struct wl_err *e)
{
    struct scan *s = wl_new(a, struct scan);
    s->line = straight_line_of(v);
    s->u = wl_new_array(a, double, v->n);
    s->straight = v->squares;
    double *y = wl_new_array(a, double, v->n);
    memcpy(y, v->y, v->n * sizeof *y);
    s->rest = y;
    remove_line(&s->line, s->rest);
    scan_breaks(s, v->x[1], v->x[v->n - 2]);
    out->breakpoint = s->breakpoint;
    out->sse = fmax(s->straight - s->top, 0);
    interval(s, options->level, out);
    const struct wl_blas *blas;
    int rc = wl_blas_open(&blas, e);
    if (rc) return rc;
    if (options->draws && s->straight > 0)
        out->p = monte_carlo_p(blas, &s->line, v, s->grid, s->top / s->straight, options->draws, a);
    return fit_lines(v, out, a, e);
}

int wl_segmented_fit(const double *x, const double *y, size_t n, const struct wl_segmented_options *options,
                     struct wl_segmented *out, struct wl_arena *a, struct wl_err *e)
{
    struct wl_arena *scratch = wl_arena_new(a);
    const struct pooled v = pool(x, y, n, scratch);
    *out = (struct wl_segmented) { .p = NAN, .df = (double)n - 4 };
    int rc = v.n < 5 ? wl_fail(e, WL_EINVAL, "a breakpoint needs at least five different x, got %zu", v.n)
                     : fit_pooled(&v, options, out, scratch, e);
    wl_arena_free(scratch);
    return rc;
}
