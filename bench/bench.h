/* Shared by the benchmarks: an error ends the program with its message, and rounds are summarised by their median. */
#ifndef WL_BENCH_H
#define WL_BENCH_H

#include "base/base.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

static inline void must(int rc, const struct wl_err *e)
{
    if (rc >= 0) return;
    fprintf(stderr, "%s: %s\n", program_invocation_short_name, e->msg);
    exit(1);
}

static inline int bench_by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The median of n values, which are sorted. */
static inline double median(double *v, size_t n)
{
    qsort(v, n, sizeof *v, bench_by_value);
    return n % 2 ? v[n / 2] : (v[n / 2 - 1] + v[n / 2]) / 2;
}

#endif
