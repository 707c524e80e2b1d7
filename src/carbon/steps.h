/* A quantity of the electricity grid over time, from a CSV: carbon intensity, price. */
#ifndef WL_CARBON_STEPS_H
#define WL_CARBON_STEPS_H

#include "base/base.h"

/* Steps: value i holds from t_ns[i] until the next row, at most 1.5 times the usual (median) spacing of the rows; the
 * last one for one such spacing. */
struct wl_grid_steps {
    const char *path, *column; /* of the values */
    int64_t *t_ns;             /* wall clock, ns since 1970, ascending */
    double *v;                 /* NAN: the field is empty */
    size_t n;                  /* 2 or more */
    int64_t usual_ns;
};

/* How a column is read. */
struct wl_grid_column {
    int time, value;    /* indices */
    double scale;       /* to the unit of min and max */
    double min, max;    /* WL_EINVAL beyond these */
    const char *expect; /* "an intensity from 0 to 1e+05 g/kWh", for messages */
};

/* The column of times of a file by its name (docs/formats.md); -1: there is none. */
int wl_grid_time_column(const struct wl_csv *csv, struct wl_arena *a);

/* Reads the rows of an open file. WL_EINVAL names file:line, value and what was expected. */
int wl_grid_steps_read(struct wl_csv *csv, const struct wl_grid_column *c, struct wl_grid_steps *out,
                       struct wl_arena *a, struct wl_err *e) WL_MUST_CHECK;

/* The value at an instant; NAN: the file has none for it. *until: how long it holds, or the start of the next one. */
double wl_grid_steps_at(const struct wl_grid_steps *s, int64_t wall_ns, int64_t *until);

/* Mean over `duration_s` from an instant on; NAN: the file does not cover all of it. */
double wl_grid_steps_mean(const struct wl_grid_steps *s, int64_t wall_ns, double duration_s);

/* That mean from the start of each row on: mean [n]. By prefix sums, in time linear in the rows; within 1e-10 of the
 * largest value of the sum over the steps. */
void wl_grid_steps_means(const struct wl_grid_steps *s, double duration_s, double *mean, struct wl_arena *a);

#endif
