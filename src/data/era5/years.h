/* A folder of files as years of channels. */
#ifndef WL_DATA_ERA5_YEARS_H
#define WL_DATA_ERA5_YEARS_H

#include "data/era5/variables.h"

/* A channel of one year. */
struct wl_era5_channel {
    const struct wl_era5_variable *variable;
    int64_t level;
};
struct wl_era5_year {
    int year; /* 0: unknown */
    int64_t times;
    const int64_t *time_s;           /* [times]; NULL: unknown */
    const char *path;                /* of a file with the times, else of any of the files */
    struct wl_era5_channel *channel; /* [channels] */
};
/* NULL and 0: not in any file. */
struct wl_era5_years {
    struct wl_era5_year *v;
    size_t n;
    int64_t channels, height, width; /* height: of the files */
    const double *latitude;          /* [height] */
    const double *longitude;         /* [width] */
    int64_t step_s;                  /* between two times */
    const char **names, **units;     /* [channels] */
    bool single_dataset;             /* "fields" */
};

/* Do both have the same grid? Rows are compared from north to south, whatever their order in the files. */
int wl_era5_check_grid(const struct wl_era5_variable *first, const struct wl_era5_variable *v,
                       struct wl_err *e) WL_MUST_CHECK;

/* A variable of the channel that has a unit, if there is one in any year. */
const struct wl_era5_variable *wl_era5_years_variable(const struct wl_era5_years *y, int64_t channel);

/* Do both have the same unit, as far as they have one? */
int wl_era5_check_unit(const struct wl_era5_variable *first, const struct wl_era5_variable *v,
                       struct wl_err *e) WL_MUST_CHECK;

/* Errors name the file: channels, units, grids or times that differ from those of earlier files, years out of order. */
int wl_era5_years_open(struct wl_era5_years *y, const char *dir, struct wl_arena *a, struct wl_err *e) WL_MUST_CHECK;

#endif
