/* Parts of the ERA5 set. */
#ifndef WL_DATA_ERA5_INTERNAL_H
#define WL_DATA_ERA5_INTERNAL_H

#include "data/era5.h"

#include <hdf5.h>

/* ---- hdf5.c: the library, whose calls come from one thread at a time ---- */

/* The library's state is the process's, so is its lock. Every call stands between these two. */
void wl_hdf5_lock(void);
void wl_hdf5_unlock(void);

/* WL_ELIB with what the library says was wrong, innermost first. Inside the lock. */
int wl_hdf5_fail(struct wl_err *e, const char *fmt, ...) WL_PRINTF(2, 3);

/* ---- file.c: one variable of one file ---- */

/* A variable [time, (level or channel,) latitude, longitude]. */
struct wl_variable {
    const char *path, *name;
    hid_t set;
    int64_t times, levels, height, width; /* levels: 1 where there is no such dimension */
    bool has_levels;
    double scale, offset, missing[2]; /* value = stored * scale + offset; NAN: no such value */
    bool plain;                       /* f32 in one piece in the file: read without the library */
    int64_t at;                       /* plain: where it begins */
    int fd;                           /* plain */
};

/* The variables of a file, in the order of their names; coordinates are left out. They are closed with the arena. */
struct wl_variables {
    struct wl_variable *v;
    size_t n;
};
int wl_variables_open(struct wl_variables *out, const char *path, struct wl_arena *a, struct wl_err *e) WL_MUST_CHECK;

/* Reads rows [0,height) of one level of one time: to [height,width]. Any thread. */
int wl_variable_read(const struct wl_variable *v, int64_t time, int64_t level, int64_t height, float *to,
                     struct wl_err *e) WL_MUST_CHECK;

/* ---- years.c: files as years of channels ---- */

/* A channel of one year. */
struct wl_channel {
    const struct wl_variable *variable;
    int64_t level;
};
struct wl_year {
    int year; /* 0: no file says */
    int64_t times;
    struct wl_channel *channel; /* [channels] */
};
struct wl_years {
    struct wl_year *v;
    size_t n;
    int64_t channels, height, width; /* height: of the files */
    const char **names;
    bool one_set; /* "fields" */
};
int wl_years_open(struct wl_years *y, const char *dir, struct wl_arena *a, struct wl_err *e) WL_MUST_CHECK;

/* ---- npy.c: arrays of NumPy ---- */

/* A file of `count` little-endian floats or doubles in C order, whatever their shape: [count] f32. */
int wl_npy_read(const char *path, int64_t count, float *to, struct wl_arena *a, struct wl_err *e) WL_MUST_CHECK;
int wl_npy_write(const char *path, const struct wl_era5_grid *shape, bool whole, const float *from, struct wl_arena *a,
                 struct wl_err *e) WL_MUST_CHECK;

/* ---- shallow_water.c ---- */

/* One layer on height x width cells. */
struct wl_water;
enum { WL_WATER_FIELDS = 5 };
extern const char *const wl_water_names[WL_WATER_FIELDS]; /* u, v, height, vorticity, tracer */
struct wl_water *wl_water_new(int64_t height, int64_t width, uint64_t seed, uint64_t layer, struct wl_arena *a);
void wl_water_advance(struct wl_water *w, double seconds);
void wl_water_read(const struct wl_water *w, int field, float *to); /* [height,width] */

#endif
