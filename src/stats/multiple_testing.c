/* Several tests at once: Holm's and Benjamini and Hochberg's adjusted p values. */
#include "stats/multiple_testing.h"

#include <math.h>
#include <stdlib.h>

struct ranked {
    double p;
    size_t at;
};

static int by_p(const void *a, const void *b)
{
    const struct ranked *x = a, *y = b;
    return (x->p > y->p) - (x->p < y->p);
}

/* The p values that are not NAN in ascending order, m of them; every adjusted value starts as NAN. */
static struct ranked *rank(const double *p, size_t n, size_t *m, double *adjusted, struct wl_arena *a)
{
    struct ranked *v = wl_new_array(a, struct ranked, n);
    *m = 0;
    for (size_t i = 0; i < n; i++) {
        adjusted[i] = NAN;
        if (!isnan(p[i])) v[(*m)++] = (struct ranked) { p[i], i };
    }
    qsort(v, *m, sizeof *v, by_p);
    return v;
}

void wl_holm(const double *p, size_t n, double *adjusted, struct wl_arena *a)
{
    size_t m;
    struct ranked *v = rank(p, n, &m, adjusted, a);
    double worst = 0; /* adjusted values never decrease along the order */
    for (size_t i = 0; i < m; i++) {
        worst = fmax(worst, fmin(1, (double)(m - i) * v[i].p));
        adjusted[v[i].at] = worst;
    }
}

void wl_benjamini_hochberg(const double *p, size_t n, double *adjusted, struct wl_arena *a)
{
    size_t m;
    struct ranked *v = rank(p, n, &m, adjusted, a);
    double best = 1; /* nor do these, seen from the largest p */
    for (size_t i = m; i-- > 0;) {
        best = fmin(best, (double)m / (double)(i + 1) * v[i].p);
        adjusted[v[i].at] = best;
    }
}
