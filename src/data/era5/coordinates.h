/* Coordinates of a file's fields: time, latitude, longitude, level. */
#ifndef WL_DATA_ERA5_COORDINATES_H
#define WL_DATA_ERA5_COORDINATES_H

#include "data/era5/hdf5_library.h"

enum {
    WL_ERA5_MAX_TIMES = 1 << 22,
    WL_ERA5_MAX_LEVELS = 1 << 12,
    WL_ERA5_MAX_POINTS = 1 << 16 /* per row or column */
};

/* Data sets [n] of a file, found by name. NULL: the file does not have it. */
struct wl_era5_coordinates {
    int64_t times, height, width; /* lengths */
    const int64_t *time_s;        /* [times] seconds since 1970, ascending */
    const double *latitude;       /* [height] degrees, from north to south */
    const double *longitude;      /* [width] degrees, ascending */
    bool south_to_north;          /* order of the file's rows */
};
int wl_era5_coordinates_read(struct wl_era5_coordinates *axes, hid_t file, struct wl_arena *a,
                             struct wl_err *e) WL_MUST_CHECK;

/* The values of a dimension of n levels; *level is NULL if the file has none. WL_EINVAL: another dimension, such as
 * `expver`. */
int wl_era5_levels_read(const double **level, hid_t file, int64_t n, struct wl_arena *a,
                        struct wl_err *e) WL_MUST_CHECK;

#endif
