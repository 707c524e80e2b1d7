/* The studentised range: the largest difference between k means over their pooled standard error, df degrees of
 * freedom.
 *
 * With Phi, phi of the normal distribution and s the ratio of the pooled deviation to the true one,
 *   P(Q > q) = E[ H(q s) ],  H(w) = k int phi(z) {Phi(z)^(k-1) - [Phi(z) - Phi(z - w)]^(k-1)} dz,
 * where the braces are a (k-1) power times an expm1, so that no tail is a difference from 1. Both integrands are
 * analytic and vanish at both ends, where the trapezoidal rule converges exponentially in 1/step (Trefethen & Weideman
 * 2014): the steps below leave errors under 1e-17. Source: Tukey 1953; Copenhaver & Holland 1988. */
#include "stats/distributions.h"
#include "stats/special.h"

#include <math.h>
#include <stdlib.h>

/* What H has at z whatever w is, at z = -9, -9 + step ...; as many of them as were asked for. */
struct nodes {
    double k, step;
    double *below, *weight; /* Phi(z), phi(z) Phi(z)^(k-1) sqrt(2 pi) */
    size_t n, cap;
    struct wl_arena *arena;
};

static double z_at(const struct nodes *v, size_t i) { return (double)i * v->step - 9; }

static void reach(struct nodes *v, size_t n)
{
    while (v->n < n) {
        if (v->n == v->cap) {
            size_t cap = v->cap;
            v->below = wl_grow(v->arena, v->below, v->n, &cap, v->n + 1, sizeof *v->below);
            v->weight = wl_grow(v->arena, v->weight, v->n, &v->cap, v->n + 1, sizeof *v->weight);
        }
        const double z = z_at(v, v->n), below = wl_normal_cdf(z);
        v->below[v->n] = below;
        v->weight[v->n++] = exp(-z * z / 2) * pow(below, v->k - 1);
    }
}

/* H(w): infinitely many degrees of freedom. */
static double known_deviation(struct nodes *v, double w)
{
    static const double small = 1e-17;                         /* its square is nothing beside it */
    const double last = sqrt(w * w / 2 + 83), more = v->k - 1; /* beyond: under 1e-18 of the peak near w / 2 */
    double sum = 0;
    if (!(w > 0)) return 1;
    if (w > 80) return 0; /* exp(-w^2 / 4) underflows */
    const size_t n = (size_t)ceil((last + 9) / v->step);
    reach(v, n);
    for (size_t i = 0; i < n; i++) {
        const double apart = wl_normal_cdf(z_at(v, i) - w) / v->below[i];
        sum += v->weight[i] * (apart < small ? more * apart : -expm1(more * log1p(-apart)));
    }
    return sum * v->step * v->k / sqrt(2 * M_PI);
}

static double range_sf(struct nodes *v, double q, double df)
{
    if (q <= 0) return 1;
    if (isinf(q)) return 0;
    if (isinf(df)) return known_deviation(v, q);
    double step = fmin(0.1, 0.5 / sqrt(2 * df)), sum = 0;
    for (double u = log(10);; u -= step) { /* u = ln s, s^2 df ~ chi squared(df) */
        double density = 2 * wl_gamma_prefix(df / 2, df / 2 * exp(2 * u)),
               term = density > 0 ? density * known_deviation(v, q * exp(u)) : 0;
        sum += term;
        bool falling = u < 0 && q * exp(u) < 1; /* left of the peak: H is nearly 1 and the density falls */
        if (term <= 1e-18 * sum && falling) break;
    }
    return fmin(sum * step, 1);
}

static bool is_defined(double q, double k, double df) { return !isnan(q) && k >= 2 && !isinf(k) && df > 0; }

static struct nodes nodes_of(double k, struct wl_arena *a)
{
    return (struct nodes) { .k = k, .step = 0.6 / sqrt(k), .arena = a };
}

double wl_studentised_range_sf(double q, double k, double df)
{
    if (!is_defined(q, k, df)) return NAN;
    struct wl_arena *scratch = wl_arena_new(NULL);
    struct nodes v = nodes_of(k, scratch);
    const double p = range_sf(&v, q, df);
    wl_arena_free(scratch);
    return p;
}

/* ---- many ranges of one k and df ---- */

/* ln P over an interval of asinh(q), in which its power tail is a line, by Chebyshev polynomials (Trefethen 2013). */
enum { NODES = 32 };
static const double accuracy = 1e-11; /* of ln P: its last coefficients */

struct range {
    double q;
    size_t at;
};

static int by_range(const void *a, const void *b)
{
    const double p = ((const struct range *)a)->q, q = ((const struct range *)b)->q;
    return (p > q) - (p < q);
}

/* False where the polynomials do not converge on the interval. */
static bool expand(double *coefficient, double lo, double hi, struct nodes *v, double df)
{
    double y[NODES];
    for (int j = 0; j < NODES; j++) {
        const double x = cos(M_PI * (j + 0.5) / NODES);
        y[j] = log(range_sf(v, sinh(lo + (hi - lo) * (x + 1) / 2), df));
        if (!isfinite(y[j])) return false;
    }
    for (int i = 0; i < NODES; i++) {
        coefficient[i] = 0;
        for (int j = 0; j < NODES; j++) coefficient[i] += 2.0 / NODES * y[j] * cos(M_PI * i * (j + 0.5) / NODES);
    }
    return fabs(coefficient[NODES - 1]) < accuracy && fabs(coefficient[NODES - 2]) < accuracy;
}

/* Clenshaw's recurrence at x in -1 to 1. */
static double evaluate(const double *coefficient, double x)
{
    double next = 0, after = 0;
    for (int i = NODES - 1; i > 0; i--) {
        const double here = coefficient[i] + 2 * x * next - after;
        after = next;
        next = here;
    }
    return coefficient[0] / 2 + x * next - after;
}

/* v [n] ascending, positive and finite: by one expansion, or by those of both halves. */
static void interpolate(const struct range *v, size_t n, struct nodes *nodes, double df, double *p)
{
    double coefficient[NODES];
    if (n <= NODES) {
        for (size_t i = 0; i < n; i++) p[v[i].at] = range_sf(nodes, v[i].q, df);
        return;
    }
    const double lo = asinh(v[0].q), hi = asinh(v[n - 1].q), middle = (lo + hi) / 2;
    const double first = range_sf(nodes, v[0].q, df);
    if (first == 0 || !(middle > lo && middle < hi)) { /* underflow, or ties */
        for (size_t i = 0; i < n; i++) p[v[i].at] = first;
        return;
    }
    if (expand(coefficient, lo, hi, nodes, df)) {
        for (size_t i = 0; i < n; i++)
            p[v[i].at] = fmin(exp(evaluate(coefficient, 2 * (asinh(v[i].q) - lo) / (hi - lo) - 1)), 1);
        return;
    }
    size_t half = 0;
    while (asinh(v[half].q) < middle) half++;
    interpolate(v, half, nodes, df, p);
    interpolate(v + half, n - half, nodes, df, p);
}

void wl_studentised_range_sf_all(const double *q, size_t n, double k, double df, double *p, struct wl_arena *a)
{
    struct wl_arena *scratch = wl_arena_new(a);
    struct range *v = wl_new_array(scratch, struct range, n);
    size_t inner = 0;
    for (size_t i = 0; i < n; i++) {
        if (is_defined(q[i], k, df) && q[i] > 0 && isfinite(q[i]))
            v[inner++] = (struct range) { q[i], i };
        else
            p[i] = wl_studentised_range_sf(q[i], k, df);
    }
    struct nodes nodes = nodes_of(k, scratch);
    qsort(v, inner, sizeof *v, by_range);
    interpolate(v, inner, &nodes, df, p);
    wl_arena_free(scratch);
}
