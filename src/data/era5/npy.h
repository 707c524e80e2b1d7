/* NumPy's .npy arrays. */
#ifndef WL_DATA_ERA5_NPY_H
#define WL_DATA_ERA5_NPY_H

#include "data/era5/era5.h"

/* Reads `count` little-endian floats or doubles in C order, of any shape: [count] f32. */
int wl_npy_read(const char *path, int64_t count, float *to, struct wl_arena *a, struct wl_err *e) WL_MUST_CHECK;
int wl_npy_write(const char *path, const struct wl_era5_grid *shape, bool whole, const float *from, struct wl_arena *a,
                 struct wl_err *e) WL_MUST_CHECK;

#endif
