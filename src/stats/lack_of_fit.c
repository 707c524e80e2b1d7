#include "stats/diagnostics.h"
#include "stats/distributions.h"

#include <math.h>
#include <stdlib.h>

struct point {
    double x, y;
};

static int by_x(const void *a, const void *b)
{
    const struct point *p = a, *q = b;
    return (p->x > q->x) - (p->x < q->x);
}

/* Sum of squares within [first, end), which share one x. */
static double within(const struct point *v, size_t first, size_t end)
{
    long double mean = 0, sum = 0;
    for (size_t i = first; i < end; i++) mean += v[i].y;
    mean /= end - first;
    for (size_t i = first; i < end; i++) sum += (v[i].y - mean) * (v[i].y - mean);
    return (double)sum;
}

struct wl_lack_of_fit wl_lack_of_fit(const double *x, const double *y, size_t n, double sse, size_t coefficients,
                                     struct wl_arena *a)
{
    struct point *v = wl_new_array(a, struct point, n);
    for (size_t i = 0; i < n; i++) v[i] = (struct point) { x[i], y[i] };
    qsort(v, n, sizeof *v, by_x);
    double pure = 0;
    size_t m = 0;
    for (size_t i = 0, end; i < n; i = end, m++) {
        for (end = i + 1; end < n && v[end].x == v[i].x;) end++;
        pure += within(v, i, end);
    }
    struct wl_lack_of_fit out = { .f = NAN, .p = NAN, .ss_pure = pure };
    out.df1 = (double)m - (double)coefficients;
    out.df2 = (double)n - (double)m;
    if (out.df1 <= 0 || out.df2 <= 0 || !(pure > 0)) return out;
    out.f = fmax(sse - pure, 0) / out.df1 / (pure / out.df2);
    out.p = wl_f_sf(out.f, out.df1, out.df2);
    return out;
}
