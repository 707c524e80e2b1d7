/* Lines that a few bad points do not move far. */
#include "stats/robust.h"

#include "stats/distributions.h"
#include "stats/moments.h"
#include "stats/ols.h"
#include "stats/sort.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- Theil-Sen ---- */

/* Points of one x, in the order of y and so of y - b x: the pairs of two stacks whose slope is below b are counted in
 * one pass over both. */
struct stack {
    double x;
    const double *y; /* [n] ascending */
    size_t n;
};
struct stacks {
    struct stack *v;
    size_t n;
    double pairs; /* of points with different x */
};

struct point {
    double x, y;
};

static int by_x_and_y(const void *a, const void *b)
{
    const struct point *p = a, *q = b;
    if (p->x != q->x) return p->x < q->x ? -1 : 1;
    return (p->y > q->y) - (p->y < q->y);
}

static struct stacks stack_points(const double *x, const double *y, size_t n, struct wl_arena *a)
{
    struct stacks s = { .v = wl_new_array(a, struct stack, n) };
    struct point *points = wl_new_array(a, struct point, n);
    double *sorted = wl_new_array(a, double, n);
    for (size_t i = 0; i < n; i++) points[i] = (struct point) { x[i], y[i] };
    qsort(points, n, sizeof *points, by_x_and_y);
    for (size_t i = 0, first = 0; i < n; i++) {
        sorted[i] = points[i].y;
        if (!i || points[i - 1].x != points[i].x) {
            first = i;
            s.v[s.n++] = (struct stack) { points[i].x, sorted + i, 0 };
        }
        s.v[s.n - 1].n++;
        s.pairs += (double)first;
    }
    return s;
}

/* The first point of `low` whose slope to a point (x, y) of `high` is at most b, counted from `from`. */
static size_t pass_steeper(const struct stack *low, size_t from, double rise, double y)
{
    while (from < low->n && low->y[from] + rise < y) from++;
    return from;
}

static double slopes_up_to(const struct stacks *s, double b)
{
    double count = 0;
    for (size_t i = 0; i < s->n; i++)
        for (size_t j = i + 1; j < s->n; j++) {
            const struct stack *low = &s->v[i], *high = &s->v[j];
            const double rise = b * (high->x - low->x);
            for (size_t k = 0, from = 0; k < high->n; k++) {
                from = pass_steeper(low, from, rise, high->y[k]);
                count += (double)(low->n - from);
            }
        }
    return count;
}

/* The slopes that are counted at hi and not at lo, up to `most` of them. */
static size_t slopes_between(const struct stacks *s, double lo, double hi, size_t most, double *out)
{
    size_t n = 0;
    for (size_t i = 0; i < s->n; i++)
        for (size_t j = i + 1; j < s->n; j++) {
            const struct stack *low = &s->v[i], *high = &s->v[j];
            const double run = high->x - low->x;
            for (size_t k = 0, from = 0, to = 0; k < high->n; k++) {
                from = pass_steeper(low, from, hi * run, high->y[k]);
                to = pass_steeper(low, to, lo * run, high->y[k]);
                for (size_t l = from; l < to && n < most; l++) out[n++] = (high->y[k] - low->y[l]) / run;
            }
        }
    return n;
}

/* A bracket of slopes and how many are up to each end. */
struct bracket {
    double lo, hi, below_lo, below_hi;
};

static struct bracket widest(const struct stacks *s)
{
    struct bracket w = { INFINITY, -INFINITY, 0, s->pairs };
    double shortest = INFINITY, size = 0;
    for (size_t i = 0; i < s->n; i++) {
        size = fmax(size, fmax(fabs(s->v[i].y[0]), fabs(s->v[i].y[s->v[i].n - 1])));
        if (i) shortest = fmin(shortest, s->v[i].x - s->v[i - 1].x);
    }
    for (size_t i = 0; i < s->n; i++)
        for (size_t j = i + 1; j < s->n; j++) {
            const struct stack *low = &s->v[i], *high = &s->v[j];
            w.lo = fmin(w.lo, (high->y[0] - low->y[low->n - 1]) / (high->x - low->x));
            w.hi = fmax(w.hi, (high->y[high->n - 1] - low->y[0]) / (high->x - low->x));
        }
    /* beyond the rounding of y + b x */
    const double margin = 1e-9 * (fabs(w.lo) + fabs(w.hi)) + 8 * DBL_EPSILON * size / shortest + DBL_MIN;
    w.lo -= margin, w.hi += margin;
    return w;
}

/* The slope that has `rank` smaller ones: the bracket is narrowed, by interpolation of the counts and by halving in
 * turn, until its slopes are few enough to be listed. */
static double slope_of_rank(const struct stacks *s, const struct bracket *start, double rank, size_t n,
                            struct wl_arena *a)
{
    const double few = 4 * (double)n + 64;
    struct bracket w = *start;
    for (int i = 0; w.below_hi - w.below_lo > few; i++) {
        const double share = i % 2 ? 0.5 : (rank + 0.5 - w.below_lo) / (w.below_hi - w.below_lo);
        const double b = w.lo + (w.hi - w.lo) * fmin(fmax(share, 1e-3), 1 - 1e-3);
        if (!(b > w.lo && b < w.hi)) break; /* many slopes are equal to the last bit: any of them will do */
        const double below = slopes_up_to(s, b);
        if (below <= rank)
            w.lo = b, w.below_lo = below;
        else
            w.hi = b, w.below_hi = below;
    }
    double *v = wl_new_array(a, double, (size_t)few);
    const size_t listed = slopes_between(s, w.lo, w.hi, (size_t)few, v);
    wl_sort_ascending(v, listed);
    if (!listed) return w.hi;
    return v[(size_t)fmin(rank - w.below_lo, (double)listed - 1)];
}

/* Sum of k (k-1) (2k+5) over groups of k equal values. */
static double ties(const double *v, size_t n, struct wl_arena *a)
{
    double *sorted = wl_new_array(a, double, n), sum = 0;
    memcpy(sorted, v, n * sizeof *v);
    wl_sort_ascending(sorted, n);
    for (size_t i = 0, end; i < n; i = end) {
        for (end = i + 1; end < n && sorted[end] == sorted[i];) end++;
        double k = (double)(end - i);
        sum += k * (k - 1) * (2 * k + 5);
    }
    return sum;
}

struct wl_robust_line wl_theil_sen(const double *x, const double *y, size_t n, double level, struct wl_arena *a)
{
    struct wl_robust_line out = { NAN, NAN, NAN, NAN, NAN, NAN };
    const struct stacks s = stack_points(x, y, n, a);
    if (!(s.pairs > 0)) return out;
    const struct bracket all = widest(&s);
    const double half_pairs = floor(s.pairs / 2);
    out.b1 = slope_of_rank(&s, &all, half_pairs, n, a);
    if (2 * half_pairs == s.pairs) out.b1 = (slope_of_rank(&s, &all, half_pairs - 1, n, a) + out.b1) / 2;
    double *rest = wl_new_array(a, double, n);
    for (size_t i = 0; i < n; i++) rest[i] = y[i] - out.b1 * x[i];
    out.b0 = wl_median(rest, n, a);
    double count = (double)n;
    double sigma = sqrt((count * (count - 1) * (2 * count + 5) - ties(x, n, a) - ties(y, n, a)) / 18);
    double half = wl_normal_quantile(0.5 + level / 2) * sigma;
    out.lo = slope_of_rank(&s, &all, fmax(rint((s.pairs - half) / 2) - 1, 0), n, a);
    out.hi = slope_of_rank(&s, &all, fmin(rint((s.pairs + half) / 2), s.pairs - 1), n, a);
    return out;
}

/* ---- Huber ---- */

static const double huber_t = 1.345, mad_to_sd = 0.67448975019608171; /* normal quantile of 3/4 */

static double huber_scale(const double *residual, size_t n, double *scratch, struct wl_arena *a)
{
    for (size_t i = 0; i < n; i++) scratch[i] = fabs(residual[i]);
    return wl_median(scratch, n, a) / mad_to_sd;
}

/* A weighted line and its residuals [n]. */
struct line {
    double b0, b1;
};

static bool weighted_line(const double *x, const double *y, const double *weights, size_t n, struct line *out,
                          double *residual)
{
    long double w = 0, mx = 0, my = 0, sxx = 0, sxy = 0;
    for (size_t i = 0; i < n; i++)
        w += weights[i], mx += weights[i] * (long double)x[i], my += weights[i] * (long double)y[i];
    mx /= w, my /= w;
    for (size_t i = 0; i < n; i++) {
        const long double dx = x[i] - mx;
        sxx += weights[i] * dx * dx, sxy += weights[i] * dx * (y[i] - my);
    }
    *out = (struct line) { (double)(my - sxy / sxx * mx), (double)(sxy / sxx) };
    for (size_t i = 0; i < n; i++) residual[i] = (double)(y[i] - my - sxy / sxx * (x[i] - mx));
    return isfinite(out->b0) && isfinite(out->b1);
}

/* Standard error of b1: K^2 (sum psi^2 / (n - 2)) / mean(psi')^2 (X'X)^-1, K = 1 + 2/n var(psi') / mean(psi')^2. */
static double huber_error(const double *x, const double *residual, size_t n, double scale)
{
    double count = (double)n, squares = 0, inside = 0, mean_x = 0, spread = 0;
    for (size_t i = 0; i < n; i++) {
        double u = fabs(residual[i]) / scale;
        squares += fmin(u, huber_t) * fmin(u, huber_t);
        inside += u <= huber_t;
        mean_x += x[i] / count;
    }
    for (size_t i = 0; i < n; i++) spread += (x[i] - mean_x) * (x[i] - mean_x);
    double mean = inside / count, k = 1 + 2 / count * (mean * (1 - mean)) / (mean * mean);
    return k * scale * sqrt(squares / (count - 2)) / mean / sqrt(spread);
}

int wl_huber(const double *x, const double *y, size_t n, double level, struct wl_robust_line *out, struct wl_arena *a,
             struct wl_err *e)
{
    struct wl_ols start; /* checks the data */
    int rc = wl_ols_line(&start, y, x, n, a, e);
    if (rc) return rc;
    if (!(start.df > 0)) return wl_fail(e, WL_EINVAL, "Huber's line: no degrees of freedom");
    double *weights = wl_new_array(a, double, n), *scratch = wl_new_array(a, double, n), *residual = start.residual,
           last = NAN;
    struct line line = { start.b[0], start.b[1] };
    for (int round = 0; round < 1000; round++) {
        double scale = huber_scale(residual, n, scratch, a);
        if (!(scale > 0)) return wl_fail(e, WL_EINVAL, "Huber's line: half of the points lie on it, so its scale is 0");
        if (fabs(line.b1 - last) <= 1e-13 * fabs(last)) {
            double se = huber_error(x, residual, n, scale), half = wl_t_quantile(0.5 + level / 2, start.df) * se;
            *out = (struct wl_robust_line) { line.b0, line.b1, se, line.b1 - half, line.b1 + half, scale };
            return 0;
        }
        last = line.b1;
        for (size_t i = 0; i < n; i++) weights[i] = fmin(1, huber_t * scale / fabs(residual[i]));
        if (!weighted_line(x, y, weights, n, &line, residual))
            return wl_fail(e, WL_EINVAL, "Huber's line: the weighted line is not finite");
    }
    return wl_fail(e, WL_EINVAL, "Huber's line: no convergence in 1000 iterations");
}
