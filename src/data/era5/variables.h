/* The variables of one file. */
#ifndef WL_DATA_ERA5_VARIABLES_H
#define WL_DATA_ERA5_VARIABLES_H

#include "data/era5/coordinates.h"

/* A variable [time, (level or channel,) latitude, longitude]. */
struct wl_era5_variable {
    const char *path, *name;
    const char *unit; /* as written in the file; NULL: none */
    hid_t set;
    int64_t times, levels, height, width; /* levels: 1 if there is no such dimension */
    bool has_levels;
    const struct wl_era5_coordinates *axes;
    const double *level;             /* [levels]; NULL: not in the file */
    double scale_factor, add_offset; /* value = stored * scale_factor + add_offset */
    double fill_values[3];           /* stored values that mean missing; NAN: unused */
    bool contiguous;                 /* f32, contiguous in the file: read without the library */
    int64_t offset;                  /* contiguous: of the first byte */
    int fd;                          /* contiguous */
};

/* The variables of a file, sorted by name, except coordinates and variables of fewer dimensions. They are closed with
 * the arena. */
struct wl_era5_variables {
    struct wl_era5_variable *v;
    size_t n;
};
int wl_era5_variables_open(struct wl_era5_variables *out, const char *path, struct wl_arena *a,
                           struct wl_err *e) WL_MUST_CHECK;

/* Reads the `height` northernmost rows of one level at one time: to [height,width], from north to south. Any thread. */
int wl_era5_variable_read(const struct wl_era5_variable *v, int64_t time, int64_t level, int64_t height, float *to,
                          struct wl_err *e) WL_MUST_CHECK;

#endif
