/* ERA5 and other fields over time on a regular grid of latitude and longitude, in HDF5.
 *
 * Folders DIR/train and DIR/val (or DIR/test) of .h5 files, a file a year with YYYY in its name and one data set
 * "fields" [time, channel, latitude, longitude], as FourCastNet's data are laid out; or of .nc files (NetCDF-4), where
 * the variables [time, latitude, longitude] and [time, level, latitude, longitude] of all files of a year are its
 * channels. A sample is the fields at one time and `targets` times, each `lead` steps after the one before, in one
 * year. Files that have coordinates are held to them: steps are then those of their times, and lines run from north to
 * south in either case. DIR/stats/global_means.npy and global_stds.npy [1,C,1,1] normalise them; time_means.npy
 * [1,C,H,W], the climatology, may be missing. docs/formats.md says more.
 */
#ifndef WL_DATA_ERA5_ERA5_H
#define WL_DATA_ERA5_ERA5_H

#include "data/loader/loader.h"

struct wl_era5_opts {
    const char *dir;
    bool train;      /* DIR/train, else DIR/val or DIR/test */
    int64_t targets; /* 1 or 2 */
    int64_t lead;    /* time steps from one field to the next, at least 1 */
    int64_t patch;   /* grids are cut to a multiple of this: one line of latitude at most (721 to 720) */
    int64_t samples; /* use so many, evenly spaced; 0: all */
    bool silent;     /* another rank gives warnings */
};

/* What is known of the fields. Arrays are normalised: (value - mean)/deviation by channel. */
struct wl_era5_grid {
    int64_t channels, height, width; /* height: behind the cut */
    const double *latitude;   /* [height] degrees, from north to south; where files do not say, from pole to pole */
    int64_t step_s;           /* between two times; 0: the files do not say */
    const char *const *names; /* [channels] "t2m", "z 500" */
    const char *const *units; /* [channels] as the files write them, "m s**-1"; NULL: they say none */
    const float *mean, *deviation; /* [channels] */
    const float *climate;          /* [channels,height,width], normalised; NULL: time_means.npy is not there */
    const char *layout;            /* "one data set a year" or "variables" */
};

/* Lists the files and reads coordinates and statistics; no field is read yet. Errors name the file: missing folder, no
 * files, no HDF5 or a cut-off one, links, filters that are not there, years or times out of order, times that are not
 * whole steps apart, files of other channels or grids, missing statistics, a grid that patches do not divide, fewer
 * times than one sample needs. Samples whose times are not there are left out, with a warning. */
struct wl_era5;
int wl_era5_open(struct wl_era5 **d, const struct wl_era5_opts *opts, struct wl_arena *a,
                 struct wl_err *e) WL_MUST_CHECK;

/* Buffers: the fields [C,H,W] f32 of the first time, then of each target. A value that is not a number, or that the
 * file calls missing, is WL_EINVAL naming file, time and channel. */
const struct wl_dataset *wl_era5_dataset(const struct wl_era5 *d);
const struct wl_era5_grid *wl_era5_grid(const struct wl_era5 *d);

/* Have both the same channels, units, grid and step, and no time in common (no year, where files do not say times)? */
int wl_era5_check_disjoint(const struct wl_era5 *train, const struct wl_era5 *val, struct wl_arena *a,
                           struct wl_err *e) WL_MUST_CHECK;

/* Computes the three statistics over at most `times` times of DIR/train, evenly spaced (0: 256), and writes them. */
int wl_era5_statistics(const char *dir, int64_t times, bool progress, struct wl_arena *a,
                       struct wl_err *e) WL_MUST_CHECK;

/* ---- a synthetic atmosphere in the same layout ---- */

struct wl_era5_synth_opts {
    const char *dir; /* made if it is not there */
    int64_t height, width;
    int64_t channels; /* 1 to 20: five fields for each of up to four layers */
    int64_t years;    /* of training; one more for validation */
    int64_t times;    /* of a year, six hours apart */
    int64_t seed;
};

/* Rotating shallow water on a sphere, of layers that do not touch: zonal jets that are kept up and waves that they
 * grow. Writes years from 2001, the statistics and channels.txt; the same bytes for the same settings. What a manifest
 * there calls complete is left as it is (*written = 0), else *written counts times. WL_EINVAL: foreign content. */
int wl_era5_synth(const struct wl_era5_synth_opts *o, bool progress, int64_t *written, struct wl_arena *a,
                  struct wl_err *e) WL_MUST_CHECK;

#endif
