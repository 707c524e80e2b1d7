/* Years of synthetic weather: one file per year with one data set "fields", in the layout of FourCastNet's data. */
#include "data/era5/hdf5_library.h"
#include "data/era5/npy.h"
#include "data/era5/shallow_water.h"
#include "data/manifest.h"

#include <unistd.h>

enum {
    FIRST_YEAR = 2001,
    GENERATOR_VERSION = 1 /* incremented when shallow_water.c computes other fields */,
    MAX_CHANNELS = 20
};
static const double spin_up_s = 20 * 86400.0, apart_s = 6 * 3600.0;

static const char *settings(const struct wl_era5_synth_opts *o, struct wl_arena *a)
{
    return wl_strf(a,
                   "# Written by wattlaw-train data era5 --synthetic; the winds are computed, not observed.\n"
                   "[era5]\nrecipe = %d\nheight = %lld\nwidth = %lld\nchannels = %lld\nyears = %lld\ntimes = %lld\n"
                   "seed = %lld\n",
                   GENERATOR_VERSION, (long long)o->height, (long long)o->width, (long long)o->channels,
                   (long long)o->years, (long long)o->times, (long long)o->seed);
}

static int check(const struct wl_era5_synth_opts *o, struct wl_err *e)
{
    if (o->height < 8 || o->height > 1024 || o->width < 16 || o->width > 2048)
        return wl_fail(e, WL_EINVAL, "a grid of %lld x %lld points; expected 8 to 1024 by 16 to 2048",
                       (long long)o->height, (long long)o->width);
    if (o->channels < 1 || o->channels > MAX_CHANNELS)
        return wl_fail(e, WL_EINVAL, "%lld channels; expected 1 to %d", (long long)o->channels, MAX_CHANNELS);
    if (o->years < 1 || o->times < 2)
        return wl_fail(e, WL_EINVAL, "%lld years of %lld times; expected at least 1 year of 2 times",
                       (long long)o->years, (long long)o->times);
    return 0;
}

/* ---- one file ---- */

struct file {
    const char *path;
    hid_t id, set;
};

static void close_file(struct file *f)
{
    wl_hdf5_lock();
    if (f->set >= 0) H5Dclose(f->set);
    if (f->id >= 0) H5Fclose(f->id);
    wl_hdf5_unlock();
}

static int create(struct file *f, const char *path, const struct wl_era5_synth_opts *o, struct wl_err *e)
{
    const hsize_t d[] = { (hsize_t)o->times, (hsize_t)o->channels, (hsize_t)o->height, (hsize_t)o->width };
    *f = (struct file) { .path = path, .id = -1, .set = -1 };
    unlink(path); /* from an interrupted call, as the folder has our manifest; a link is not followed */
    wl_hdf5_lock();
    f->id = H5Fcreate(path, H5F_ACC_EXCL, H5P_DEFAULT, H5P_DEFAULT);
    hid_t space = H5Screate_simple(4, d, NULL);
    if (f->id >= 0) f->set = H5Dcreate2(f->id, "fields", H5T_IEEE_F32LE, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    int rc = f->set < 0 ? wl_hdf5_fail(e, "%s", path) : 0;
    H5Sclose(space);
    wl_hdf5_unlock();
    return rc;
}

static int append(const struct file *f, const struct wl_era5_synth_opts *o, int64_t time, const float *from,
                  struct wl_err *e)
{
    const hsize_t at[] = { (hsize_t)time, 0, 0, 0 };
    const hsize_t n[] = { 1, (hsize_t)o->channels, (hsize_t)o->height, (hsize_t)o->width };
    wl_hdf5_lock();
    hid_t in_file = H5Dget_space(f->set), in_memory = H5Screate_simple(4, n, NULL);
    herr_t done = H5Sselect_hyperslab(in_file, H5S_SELECT_SET, at, NULL, n, NULL);
    if (done >= 0) done = H5Dwrite(f->set, H5T_NATIVE_FLOAT, in_memory, in_file, H5P_DEFAULT, from);
    int rc = done < 0 ? wl_hdf5_fail(e, "%s: time %lld", f->path, (long long)time) : 0;
    H5Sclose(in_memory);
    H5Sclose(in_file);
    wl_hdf5_unlock();
    return rc;
}

/* ---- all files ---- */

struct synth {
    const struct wl_era5_synth_opts *o;
    struct wl_shallow_water *layer[MAX_CHANNELS / WL_SHALLOW_WATER_FIELDS];
    int64_t layers;
    float *fields; /* [channels,height,width] */
    struct wl_progress bar;
    bool progress;
    int64_t done;
};

static void advance(struct synth *s, double seconds)
{
    for (int64_t i = 0; i < s->layers; i++) wl_shallow_water_advance(s->layer[i], seconds);
}

static void read_fields(struct synth *s)
{
    for (int64_t c = 0; c < s->o->channels; c++)
        wl_shallow_water_read(s->layer[c / WL_SHALLOW_WATER_FIELDS], (int)(c % WL_SHALLOW_WATER_FIELDS),
                              s->fields + c * s->o->height * s->o->width);
}

static int write_year(struct synth *s, const char *path, struct wl_err *e)
{
    struct file f;
    int rc = create(&f, path, s->o, e);
    for (int64_t t = 0; t < s->o->times && !rc; t++) {
        advance(s, apart_s);
        read_fields(s);
        rc = append(&f, s->o, t, s->fields, e);
        if (s->progress)
            wl_progress_update(&s->bar, (double)++s->done, (double)(s->o->times * (s->o->years + 1)), -1, NULL);
    }
    close_file(&f);
    return rc;
}

static int write_years(struct synth *s, struct wl_arena *a, struct wl_err *e)
{
    int rc = 0;
    for (int64_t y = 0; y <= s->o->years && !rc; y++) {
        const char *dir = wl_path_join(a, s->o->dir, y < s->o->years ? "train" : "val");
        rc = wl_mkdirs(dir, e);
        if (!rc) rc = write_year(s, wl_strf(a, "%s/%lld.h5", dir, (long long)(FIRST_YEAR + y)), e);
    }
    return rc;
}

static int write_names(const struct wl_era5_synth_opts *o, struct wl_arena *a, struct wl_err *e)
{
    struct wl_text t = WL_TEXT(a);
    for (int64_t c = 0; c < o->channels; c++)
        wl_text_addf(&t, "%s %lld\n", wl_shallow_water_names[c % WL_SHALLOW_WATER_FIELDS],
                     (long long)(c / WL_SHALLOW_WATER_FIELDS + 1));
    return wl_file_write(wl_path_join(a, o->dir, "channels.txt"), t.s, t.n, e);
}

static int write_all(const struct wl_era5_synth_opts *o, bool progress, struct wl_arena *parent, struct wl_err *e)
{
    struct wl_arena *a = wl_arena_new(parent);
    struct synth s = { .o = o,
                       .progress = progress,
                       .layers = (o->channels + WL_SHALLOW_WATER_FIELDS - 1) / WL_SHALLOW_WATER_FIELDS };
    s.fields = wl_new_array(a, float, (size_t)(o->channels * o->height * o->width));
    for (int64_t i = 0; i < s.layers; i++)
        s.layer[i] = wl_shallow_water_new(o->height, o->width, (uint64_t)o->seed, (uint64_t)i, a);
    if (progress) wl_progress_start(&s.bar, "weather");
    advance(&s, spin_up_s);
    int rc = write_years(&s, a, e);
    if (progress) wl_progress_clear(&s.bar);
    if (!rc) rc = write_names(o, a, e);
    if (!rc) rc = wl_era5_statistics(o->dir, 0, progress, a, e);
    wl_arena_free(a);
    return rc;
}

int wl_era5_synth(const struct wl_era5_synth_opts *o, bool progress, int64_t *written, struct wl_arena *a,
                  struct wl_err *e)
{
    bool complete;
    *written = 0;
    int rc = check(o, e);
    if (!rc) rc = wl_manifest_begin(o->dir, settings(o, a), &complete, a, e);
    if (rc || complete) return rc;
    rc = write_all(o, progress, a, e);
    if (!rc) rc = wl_manifest_end(o->dir, settings(o, a), a, e);
    if (!rc) *written = o->times * (o->years + 1);
    return rc;
}
