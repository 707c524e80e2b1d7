#include "stats/moments.h"

#include "stats/distributions.h"
#include "stats/sort.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

double wl_mean(const double *v, size_t n)
{
    long double sum = 0;
    for (size_t i = 0; i < n; i++) sum += v[i];
    return n ? (double)(sum / n) : NAN;
}

double wl_sd(const double *v, size_t n)
{
    if (n < 2) return NAN;
    long double mean = 0, sum = 0;
    for (size_t i = 0; i < n; i++) mean += v[i];
    mean /= n;
    for (size_t i = 0; i < n; i++) sum += (v[i] - mean) * (v[i] - mean);
    return (double)sqrtl(sum / (n - 1));
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

void wl_sort_ascending(double *v, size_t n)
{
    if (n) qsort(v, n, sizeof *v, by_value);
}

/* The element that sorting would move to `at`, moved there, with none larger before it. Linear on average. Source:
 * Hoare's selection as in Wirth 1976. */
static double select_at(double *v, ptrdiff_t n, ptrdiff_t at)
{
    for (ptrdiff_t first = 0, last = n - 1; first < last;) {
        const double pivot = v[at];
        ptrdiff_t i = first, j = last;
        while (i <= j) {
            while (v[i] < pivot) i++;
            while (pivot < v[j]) j--;
            if (i > j) break;
            const double swap = v[i];
            v[i++] = v[j], v[j--] = swap;
        }
        if (j < at) first = i;
        if (at < i) last = j;
    }
    return v[at];
}

double wl_median(const double *v, size_t n, struct wl_arena *a)
{
    if (!n) return NAN;
    struct wl_arena *scratch = wl_arena_new(a);
    double *copy = wl_new_array(scratch, double, n), below = -INFINITY;
    memcpy(copy, v, n * sizeof *v);
    double middle = select_at(copy, (ptrdiff_t)n, (ptrdiff_t)(n / 2));
    for (size_t i = 0; n % 2 == 0 && i < n / 2; i++) below = copy[i] > below ? copy[i] : below;
    wl_arena_free(scratch);
    return n % 2 ? middle : (below + middle) / 2;
}

struct wl_estimate wl_mean_interval(const double *v, size_t n, double level)
{
    double mean = wl_mean(v, n);
    double half = n > 1 ? wl_t_quantile(.5 + level / 2, (double)n - 1) * wl_sd(v, n) / sqrt((double)n) : NAN;
    return (struct wl_estimate) { mean, mean - half, mean + half };
}

struct wl_estimate wl_ratio_interval(const struct wl_estimate *above, const struct wl_estimate *below)
{
    struct wl_estimate out = { NAN, NAN, NAN };
    if (!(above->value > 0 && below->value > 0)) return out;
    const double ln = log(above->value / below->value);
    out.value = above->value / below->value;
    if (!(above->lo > 0 && below->lo > 0)) return out;
    out.lo = exp(ln - hypot(log(above->value / above->lo), log(below->hi / below->value)));
    out.hi = exp(ln + hypot(log(above->hi / above->value), log(below->value / below->lo)));
    return out;
}
