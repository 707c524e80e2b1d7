/* Continuous line of two segments. For a fixed breakpoint c it is linear: y on 1, x and the hinge max(0, x - c). The
 * hinge reduces the sum of squares of the straight line by (u'y)^2, u the hinge without its projection on 1 and x, at
 * unit length; so the profile over c is a scan of dot products. */
#include "stats/segmented.h"

#include "stats/blas.h"
#include "stats/distributions.h"
#include "stats/moments.h"
#include "stats/ols.h"
#include "stats/sort.h"

#include <math.h>
#include <string.h>

enum { GRID = 200 };

/* The straight part, orthonormal: 1 / sqrt(n) and (x - mean) / length. */
struct straight_line {
    const double *x;
    size_t n;
    double mean, length;
};

static struct straight_line straight_line_of(const double *x, size_t n)
{
    struct straight_line p = { x, n, wl_mean(x, n), 0 };
    for (size_t i = 0; i < n; i++) p.length += (x[i] - p.mean) * (x[i] - p.mean);
    p.length = sqrt(p.length);
    return p;
}

/* v without its projection on 1 and x. */
static void remove_line(const struct straight_line *p, double *v)
{
    double mean = wl_mean(v, p->n), slope = 0;
    for (size_t i = 0; i < p->n; i++) slope += (p->x[i] - p->mean) / p->length * v[i];
    for (size_t i = 0; i < p->n; i++) v[i] -= mean + slope * (p->x[i] - p->mean) / p->length;
}

static void hinge_direction(const struct straight_line *p, double c, double *u)
{
    double squares = 0;
    for (size_t i = 0; i < p->n; i++) u[i] = fmax(0, p->x[i] - c);
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

/* The second value from each end: at least two on each side of the breakpoint, itself included. Returns the number of
 * distinct x. */
static size_t inner_range(const double *x, size_t n, double *lo, double *hi, struct wl_arena *a)
{
    double *v = wl_new_array(a, double, n);
    size_t m = 0;
    memcpy(v, x, n * sizeof *v);
    wl_sort_ascending(v, n);
    for (size_t i = 0; i < n; i++)
        if (!m || v[i] != v[m - 1]) v[m++] = v[i];
    if (m >= 5) *lo = v[1], *hi = v[m - 2];
    return m;
}

/* The share of samples of pure noise whose best breakpoint gains as much: exact for normal errors of any variance about
 * any line, since both scale out. */
static double monte_carlo_p(const struct wl_blas *blas, const struct straight_line *p, const double *grid,
                            double observed, size_t draws, struct wl_arena *a)
{
    static const uint64_t key = 0x62726f6b656e; /* any fixed number: the same p each time */
    double *u = wl_new_array(a, double, GRID * p->n), *z = wl_new_array(a, double, p->n);
    double *dots = wl_new_array(a, double, GRID);
    size_t beyond = 0;
    for (size_t g = 0; g < GRID; g++) hinge_direction(p, grid[g], u + g * p->n);
    for (size_t d = 0; d < draws; d++) {
        double best = 0, squares = 0;
        wl_random_normals(key, d, 0, p->n, z);
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

int wl_segmented_fit(const double *x, const double *y, size_t n, const struct wl_segmented_options *options,
                     struct wl_segmented *out, struct wl_arena *a, struct wl_err *e)
{
    double lo, hi;
    size_t m = inner_range(x, n, &lo, &hi, a);
    *out = (struct wl_segmented) { .p = NAN, .df = (double)n - 4 };
    if (m < 5) return wl_fail(e, WL_EINVAL, "a breakpoint needs at least five different x, got %zu", m);
    struct scan *s = wl_new(a, struct scan);
    s->line = straight_line_of(x, n);
    s->u = wl_new_array(a, double, n);
    s->rest = wl_new_array(a, double, n);
    memcpy(s->rest, y, n * sizeof *y);
    remove_line(&s->line, s->rest);
    scan_breaks(s, lo, hi);
    out->breakpoint = s->breakpoint;
    out->sse = fmax(s->straight - s->top, 0);
    interval(s, options->level, out);
    const struct wl_blas *blas;
    int rc = wl_blas_open(&blas, e);
    if (rc) return rc;
    if (options->draws && s->straight > 0)
        out->p = monte_carlo_p(blas, &s->line, s->grid, s->top / s->straight, options->draws, a);

    double *columns = wl_new_array(a, double, 2 * n);
    const struct wl_ols_data data = { .n = n, .columns = 2, .y = y, .x = columns, .intercept = true };
    struct wl_ols line;
    for (size_t i = 0; i < n; i++) columns[i] = x[i], columns[i + n] = fmax(0, x[i] - s->breakpoint);
    rc = wl_ols_fit(&line, &data, a, e);
    if (rc) return rc;
    out->b0 = line.b[0];
    out->slope1 = line.b[1];
    out->slope2 = line.b[1] + line.b[2];
    return 0;
}
