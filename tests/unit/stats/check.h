/* Shared by the tests of src/stats: agreement in digits and reading of golden files. */
#ifndef WL_TEST_STATS_CHECK_H
#define WL_TEST_STATS_CHECK_H

#include "stats/stats.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* The number of correct digits: -log10 of the relative error (of the absolute one where the truth is 0). */
static inline double digits(double got, double truth)
{
    if (got == truth) return 16;
    double error = fabs(got - truth) / (truth == 0 ? 1 : fabs(truth));
    return error > 0 ? fmin(16, -log10(error)) : 0; /* NAN: none */
}

static inline void agree(const char *what, double got, double truth, double want)
{
    if (digits(got, truth) < want)
        fail_msg("%s: %.17g, not %.17g: %.1f digits, wanted %.1f", what, got, truth, digits(got, truth), want);
}

static inline void golden_open(struct wl_csv *csv, const char *name, struct wl_arena *a)
{
    struct wl_err e;
    if (wl_csv_open(csv, wl_path_join(a, WL_GOLDEN, name), ',', a, &e)) fail_msg("%s", e.msg);
}

static inline bool golden_next(struct wl_csv *csv)
{
    struct wl_err e;
    int more = wl_csv_next(csv, &e);
    if (more < 0) fail_msg("%s", e.msg);
    return more > 0;
}

static inline double golden_real(const struct wl_csv *csv, const char *column)
{
    struct wl_err e;
    double v;
    if (wl_csv_real(csv, wl_csv_column(csv, column), &v, &e)) fail_msg("%s", e.msg);
    return v;
}

/* The value of a quantity in a file of two columns. */
static inline double golden_value(const char *file, const char *quantity, struct wl_arena *a)
{
    struct wl_csv csv;
    golden_open(&csv, file, a);
    while (golden_next(&csv))
        if (wl_str_eq(csv.row[0], quantity)) return golden_real(&csv, "value");
    fail_msg("no golden value %s", quantity);
    return NAN;
}

/* The columns x and y of a file of at most `most` rows; returns how many there are. */
static inline size_t golden_points(const char *file, double *x, double *y, size_t most, struct wl_arena *a)
{
    struct wl_csv csv;
    size_t n = 0;
    golden_open(&csv, file, a);
    for (; golden_next(&csv); n++) {
        assert_true(n < most);
        x[n] = golden_real(&csv, "x");
        y[n] = golden_real(&csv, "y");
    }
    return n;
}

#endif
