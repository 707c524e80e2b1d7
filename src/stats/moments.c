#include "stats/moments.h"

#include "stats/distributions.h"
#include "stats/sort.h"

#include <math.h>
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

void wl_sort_ascending(double *v, size_t n) { qsort(v, n, sizeof *v, by_value); }

double wl_median(const double *v, size_t n, struct wl_arena *a)
{
    if (!n) return NAN;
    double *sorted = wl_new_array(a, double, n);
    memcpy(sorted, v, n * sizeof *v);
    wl_sort_ascending(sorted, n);
    return n % 2 ? sorted[n / 2] : (sorted[n / 2 - 1] + sorted[n / 2]) / 2;
}

struct wl_estimate wl_mean_interval(const double *v, size_t n, double level)
{
    double mean = wl_mean(v, n);
    double half = n > 1 ? wl_t_quantile(.5 + level / 2, (double)n - 1) * wl_sd(v, n) / sqrt((double)n) : NAN;
    return (struct wl_estimate) { mean, mean - half, mean + half };
}
