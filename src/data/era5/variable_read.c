/* Contiguous f32 data sets, such as FourCastNet's, are read directly from the file, as the library serves one thread at
 * a time; others are read through it. */
#include "data/era5/calendar.h"
#include "data/era5/variables.h"

#include <math.h>
#include <unistd.h>

static int read_contiguous(const struct wl_era5_variable *v, int64_t time, int64_t level, int64_t first, int64_t height,
                           float *to, struct wl_err *e)
{
    const int64_t plane = v->height * v->width;
    int64_t at = v->offset + ((time * v->levels + level) * plane + first * v->width) * (int64_t)sizeof(float);
    size_t left = (size_t)(height * v->width) * sizeof(float);
    for (char *p = (char *)to; left;) {
        const ssize_t n = pread(v->fd, p, left, at);
        if (n < 0) return wl_fail_errno(e, "%s: %s, time %lld", v->path, v->name, (long long)time);
        if (n == 0)
            return wl_fail(e, WL_EIO, "%s: %s, time %lld: the file is truncated", v->path, v->name, (long long)time);
        p += n;
        at += n;
        left -= (size_t)n;
    }
    return 0;
}

static int read_library(const struct wl_era5_variable *v, int64_t time, int64_t level, int64_t first, int64_t height,
                        float *to, struct wl_err *e)
{
    const hsize_t from4[] = { (hsize_t)time, (hsize_t)level, (hsize_t)first, 0 },
                  n4[] = { 1, 1, (hsize_t)height, (hsize_t)v->width };
    const hsize_t from3[] = { (hsize_t)time, (hsize_t)first, 0 }, n3[] = { 1, (hsize_t)height, (hsize_t)v->width };
    wl_hdf5_lock();
    hid_t in_file = H5Dget_space(v->set), in_memory = H5Screate_simple(3, n3, NULL);
    herr_t done = H5Sselect_hyperslab(in_file, H5S_SELECT_SET, v->has_levels ? from4 : from3, NULL,
                                      v->has_levels ? n4 : n3, NULL);
    if (done >= 0) done = H5Dread(v->set, H5T_NATIVE_FLOAT, in_memory, in_file, H5P_DEFAULT, to);
    int rc = done < 0 ? wl_hdf5_fail(e, "%s: %s, time %lld", v->path, v->name, (long long)time) : 0;
    H5Sclose(in_memory);
    H5Sclose(in_file);
    wl_hdf5_unlock();
    return rc;
}

/* Names time, level and grid point of a missing value, with coordinates if the file has them. */
static int not_finite_error(const struct wl_era5_variable *v, int64_t time, int64_t level, int64_t row, int64_t column,
                            struct wl_err *e)
{
    const struct wl_era5_coordinates *axes = v->axes;
    struct wl_arena *a = wl_arena_new(NULL);
    struct wl_text at = WL_TEXT(a);
    wl_text_addf(&at, "%s: %s, time %lld", v->path, v->name, (long long)time);
    if (axes->time_s) wl_text_addf(&at, " (%s)", wl_calendar_format(axes->time_s[time], a));
    if (v->has_levels)
        wl_text_addf(&at, ", %s %lld", wl_str_eq(v->name, "fields") ? "channel" : "level", (long long)level);
    if (v->level) wl_text_addf(&at, " (%g)", v->level[level]);
    wl_text_addf(&at, ", row %lld, column %lld", (long long)(axes->south_to_north ? v->height - 1 - row : row),
                 (long long)column);
    if (axes->latitude && axes->longitude)
        wl_text_addf(&at, " (%g N, %g E)", axes->latitude[row], axes->longitude[column]);
    int rc = wl_fail(e, WL_EINVAL, "%s: missing or not a finite number", at.s);
    wl_arena_free(a);
    return rc;
}

/* Reverses the order of the rows. */
static void flip_rows(float *to, int64_t height, int64_t width)
{
    for (int64_t r = 0; r < height / 2; r++)
        for (int64_t c = 0; c < width; c++) {
            float *north = &to[r * width + c], *south = &to[(height - 1 - r) * width + c];
            const float kept = *north;
            *north = *south;
            *south = kept;
        }
}

int wl_era5_variable_read(const struct wl_era5_variable *v, int64_t time, int64_t level, int64_t height, float *to,
                          struct wl_err *e)
{
    const int64_t first = v->axes->south_to_north ? v->height - height : 0;
    int rc = v->contiguous ? read_contiguous(v, time, level, first, height, to, e)
                           : read_library(v, time, level, first, height, to, e);
    if (rc) return rc;
    if (v->axes->south_to_north) flip_rows(to, height, v->width);
    const float none[3] = { (float)v->fill_values[0], (float)v->fill_values[1], (float)v->fill_values[2] };
    const bool packed = v->scale_factor != 1 || v->add_offset != 0;
    for (int64_t i = 0; i < height * v->width; i++) {
        const bool missing = to[i] == none[0] || to[i] == none[1] || to[i] == none[2];
        if (packed) to[i] = (float)((double)to[i] * v->scale_factor + v->add_offset);
        if (missing || !isfinite(to[i])) return not_finite_error(v, time, level, i / v->width, i % v->width, e);
    }
    return 0;
}
