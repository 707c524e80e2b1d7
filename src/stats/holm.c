#include "stats/stats.h"

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

void wl_holm(const double *p, size_t n, double *adjusted, struct wl_arena *a)
{
    struct ranked *v = wl_new_array(a, struct ranked, n);
    size_t m = 0;
    for (size_t i = 0; i < n; i++) {
        adjusted[i] = NAN;
        if (!isnan(p[i])) v[m++] = (struct ranked) { p[i], i };
    }
    qsort(v, m, sizeof *v, by_p);
    double worst = 0; /* adjusted values do not fall along the order */
    for (size_t i = 0; i < m; i++) {
        worst = fmax(worst, fmin(1, (double)(m - i) * v[i].p));
        adjusted[v[i].at] = worst;
    }
}
