/* Parts of the ERA5 set. */
#ifndef WL_DATA_ERA5_INTERNAL_H
#define WL_DATA_ERA5_INTERNAL_H

#include "data/era5/era5.h"

#include <hdf5.h>

/* ---- hdf5.c: the library, whose calls come from one thread at a time ---- */

/* The library's state is the process's, so is its lock. Every call stands between these two. */
void wl_hdf5_lock(void);
void wl_hdf5_unlock(void);

/* WL_ELIB with what the library says was wrong, innermost first. Inside the lock. */
int wl_hdf5_fail(struct wl_err *e, const char *fmt, ...) WL_PRINTF(2, 3);

/* A number that stands beside an object; *v is left as it is where there is none. WL_EINVAL: it is no single number. */
int wl_hdf5_attribute_number(hid_t object, const char *name, double *v, struct wl_err *e) WL_MUST_CHECK;

/* A text that stands beside an object, "" where there is none that is short. Inside the lock. */
const char *wl_hdf5_attribute_text(hid_t object, const char *name, struct wl_arena *a);

/* Is there a data set of this name, in the file itself? */
bool wl_hdf5_has_dataset(hid_t file, const char *name);

/* ---- axes.c: where and when fields are ---- */

enum {
    WL_ERA5_MAX_TIMES = 1 << 22,
    WL_ERA5_MAX_LEVELS = 1 << 12,
    WL_ERA5_MAX_POINTS = 1 << 16 /* of a line or a column */
};

/* Data sets [n] of a file beside its fields, found by name. NULL: the file has none. */
struct wl_era5_coordinates {
    int64_t times, height, width; /* lengths */
    const int64_t *time_s;        /* [times] seconds since 1970, growing */
    const double *latitude;       /* [height] degrees, from north to south */
    const double *longitude;      /* [width] degrees, growing */
    bool south_to_north;          /* the file's lines run the other way */
};
int wl_era5_coordinates_read(struct wl_era5_coordinates *axes, hid_t file, struct wl_arena *a,
                             struct wl_err *e) WL_MUST_CHECK;

/* The values of a dimension of n levels; *level is NULL where the file says none. WL_EINVAL: the dimension is another
 * one, such as `expver`. */
int wl_era5_levels_read(const double **level, hid_t file, int64_t n, struct wl_arena *a,
                        struct wl_err *e) WL_MUST_CHECK;

/* ---- calendar.c ---- */

/* "hours since 1900-01-01 00:00:00" of a proleptic Gregorian calendar: a value v is v * *unit_s + *from_s seconds since
 * 1970. False: no such text. */
bool wl_calendar_parse_units(const char *text, double *unit_s, int64_t *from_s);

/* "2020-01-31 18:00" */
char *wl_calendar_format(int64_t time_s, struct wl_arena *a);

/* ---- file.c: the variables of one file ---- */

/* A variable [time, (level or channel,) latitude, longitude]. */
struct wl_era5_variable {
    const char *path, *name;
    const char *unit; /* as the file writes it; NULL: it says none */
    hid_t set;
    int64_t times, levels, height, width; /* levels: 1 where there is no such dimension */
    bool has_levels;
    const struct wl_era5_coordinates *axes;
    const double *level;              /* [levels]; NULL: the file does not say */
    double scale, offset, missing[3]; /* value = stored * scale + offset; NAN: no such value */
    bool plain;                       /* f32 in one piece in the file: read without the library */
    int64_t at;                       /* plain: where it begins */
    int fd;                           /* plain */
};

/* The variables of a file, in the order of their names; coordinates and what has fewer dimensions are left out. They
 * are closed with the arena. */
struct wl_era5_variables {
    struct wl_era5_variable *v;
    size_t n;
};
int wl_era5_variables_open(struct wl_era5_variables *out, const char *path, struct wl_arena *a,
                           struct wl_err *e) WL_MUST_CHECK;

/* ---- plane.c: what a variable holds ---- */

/* Reads the `height` northern lines of one level of one time: to [height,width], from north to south. Any thread. */
int wl_era5_variable_read(const struct wl_era5_variable *v, int64_t time, int64_t level, int64_t height, float *to,
                          struct wl_err *e) WL_MUST_CHECK;

/* ---- years.c: files as years of channels ---- */

/* A channel of one year. */
struct wl_era5_channel {
    const struct wl_era5_variable *variable;
    int64_t level;
};
struct wl_era5_year {
    int year; /* 0: no file says */
    int64_t times;
    const int64_t *time_s;           /* [times]; NULL: no file says */
    const char *path;                /* of a file that says the times, else of one of the files */
    struct wl_era5_channel *channel; /* [channels] */
};
struct wl_era5_years {
    struct wl_era5_year *v;
    size_t n;
    int64_t channels, height, width; /* height: of the files */
    const double *latitude;          /* [height]; NULL: no file says */
    const double *longitude;         /* [width]; NULL: no file says */
    int64_t step_s;                  /* between two times; 0: no file says */
    const char **names, **units;     /* [channels]; a unit is NULL where no file says it */
    bool single_dataset;             /* "fields" */
};

/* Have both one grid? Lines of latitude are compared from north to south, whichever way the files have them. */
int wl_era5_check_grid(const struct wl_era5_variable *first, const struct wl_era5_variable *v,
                       struct wl_err *e) WL_MUST_CHECK;

/* A variable of the channel that says its unit, if there is one in any year. */
const struct wl_era5_variable *wl_era5_years_variable(const struct wl_era5_years *y, int64_t channel);

/* Has v the same unit, as far as both say theirs? */
int wl_era5_check_unit(const struct wl_era5_variable *first, const struct wl_era5_variable *v,
                       struct wl_err *e) WL_MUST_CHECK;

/* Errors name the file: channels, units, grids or times that are not those of the files before, years out of order. */
int wl_era5_years_open(struct wl_era5_years *y, const char *dir, struct wl_arena *a, struct wl_err *e) WL_MUST_CHECK;

/* ---- npy.c: arrays of NumPy ---- */

/* A file of `count` little-endian floats or doubles in C order, whatever their shape: [count] f32. */
int wl_npy_read(const char *path, int64_t count, float *to, struct wl_arena *a, struct wl_err *e) WL_MUST_CHECK;
int wl_npy_write(const char *path, const struct wl_era5_grid *shape, bool whole, const float *from, struct wl_arena *a,
                 struct wl_err *e) WL_MUST_CHECK;

/* ---- shallow_water.c ---- */

/* One layer on height x width cells. */
struct wl_shallow_water;
enum { WL_SHALLOW_WATER_FIELDS = 5 };
extern const char *const wl_shallow_water_names[WL_SHALLOW_WATER_FIELDS]; /* u, v, height, vorticity, tracer */
struct wl_shallow_water *wl_shallow_water_new(int64_t height, int64_t width, uint64_t seed, uint64_t layer,
                                              struct wl_arena *a);
void wl_shallow_water_advance(struct wl_shallow_water *w, double seconds);
void wl_shallow_water_read(const struct wl_shallow_water *w, int field, float *to); /* [height,width] */

#endif
