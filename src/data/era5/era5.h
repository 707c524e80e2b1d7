/* ERA5 and other fields over time on a regular grid of latitude and longitude, in HDF5.
 *
 * DIR/train and DIR/val (or DIR/test) have either .h5 files in the layout of FourCastNet's data, one per year with YYYY
 * in its name and one data set "fields" [time, channel, latitude, longitude]; or .nc files (NetCDF-4), where the
 * variables [time, latitude, longitude] and [time, level, latitude, longitude] of all files of a year are its channels.
 * A sample is the fields at one time and at `targets` later times, `lead` steps apart, within one year. Coordinates in
 * the files are checked: steps are those of their times, and rows are read from north to south whatever their order.
 * DIR/stats/global_means.npy and global_stds.npy [1,C,1,1] normalise the fields; the climatology time_means.npy
 * [1,C,H,W] is optional. docs/formats.md says more. */
#ifndef WL_DATA_ERA5_ERA5_H
#define WL_DATA_ERA5_ERA5_H

#include "data/dataset.h"

struct wl_era5_opts {
    const char *dir;
    bool train;      /* DIR/train, else DIR/val or DIR/test */
    int64_t targets; /* 1 or 2 */
    int64_t lead;    /* time steps from one field to the next, at least 1 */
    int64_t patch;   /* grids are cut to a multiple of this: by one row at most (721 to 720) */
    int64_t samples; /* number to use, evenly spaced; 0: all */
    bool silent;     /* another rank logs warnings */
};

/* The grid and its channels. Arrays are normalised: (value - mean)/deviation by channel. */
struct wl_era5_grid {
    int64_t channels, height, width; /* height: after the cut */
    const double *latitude;          /* [height] degrees, from north to south; if not in the files, from pole to pole */
    int64_t step_s;                  /* between two times; 0: not in the files */
    const char *const *names;        /* [channels] "t2m", "z 500" */
    const char *const *units;        /* [channels] as written in the files, "m s**-1"; NULL: none */
    const float *mean, *deviation;   /* [channels] */
    const float *climatology;        /* [channels,height,width], normalised; NULL: no time_means.npy */
    const char *layout;              /* "one data set a year" or "variables" */
};

/* Lists the files and reads coordinates and statistics, but no field yet. Errors name the file: missing folder, no
 * files, not HDF5, truncated, a link, unavailable filters, years or times out of order, times that are not whole steps
 * apart, files with other channels or grids, missing statistics, a grid that patches do not divide, fewer times than
 * one sample needs. Samples whose times are missing are skipped, with a warning. */
struct wl_era5;
int wl_era5_open(struct wl_era5 **d, const struct wl_era5_opts *opts, struct wl_arena *a,
                 struct wl_err *e) WL_MUST_CHECK;

/* Buffers: the fields [C,H,W] f32 of the first time, then of each target. A value that is not a number or is a fill
 * value is WL_EINVAL, naming file, time and channel. */
const struct wl_dataset *wl_era5_dataset(const struct wl_era5 *d);
const struct wl_era5_grid *wl_era5_grid(const struct wl_era5 *d);

/* Do both have the same channels, units, grid and step, and no time in common (no year, if the files have no times)? */
int wl_era5_check_disjoint(const struct wl_era5 *train, const struct wl_era5 *val, struct wl_arena *a,
                           struct wl_err *e) WL_MUST_CHECK;

/* Computes the three statistics over at most `times` times of DIR/train, evenly spaced (0: 256), and writes them. */
int wl_era5_statistics(const char *dir, int64_t times, bool progress, struct wl_arena *a,
                       struct wl_err *e) WL_MUST_CHECK;

/* ---- synthetic weather in the same layout ---- */

struct wl_era5_synth_opts {
    const char *dir; /* created if missing */
    int64_t height, width;
    int64_t channels; /* 1 to 20: five fields for each of up to four layers */
    int64_t years;    /* of training; one more for validation */
    int64_t times;    /* per year, six hours apart */
    int64_t seed;
};

/* Rotating shallow water on a sphere, of independent layers: forced zonal jets and the waves that grow on them. Writes
 * years from 2001, the statistics and channels.txt; the same bytes for the same settings. A folder whose manifest is
 * complete stays unchanged (*written = 0), else *written counts times. WL_EINVAL: foreign content. */
int wl_era5_synth(const struct wl_era5_synth_opts *o, bool progress, int64_t *written, struct wl_arena *a,
                  struct wl_err *e) WL_MUST_CHECK;

#endif
