/* Measurements of NVIDIA DCGM: read from files of three formats. */
#ifndef WL_EXCHANGE_DCGM_DCGM_H
#define WL_EXCHANGE_DCGM_DCGM_H

#include "store/read.h"

#include <stdio.h>

struct wl_dcgm_field;

struct wl_dcgm_opts {
    const struct wl_strs *gpus;  /* only these: UUIDs or UUID prefixes, HOST, HOST:NUMBER; NULL or empty: all */
    const struct wl_strs *uuids; /* of GPU 0, 1, ..., for files that only number GPUs; NULL: unknown */
    int64_t from_ns, to_ns;      /* only this time; WL_NO_NS: all */
    int64_t start_ns, period_ns; /* for files without times: time of the first reading and period; or WL_NO_NS */
};

struct wl_dcgm_device {
    const char *uuid;                    /* "GPU-5f0a...", or "gpu0" if unknown */
    const char *host;                    /* as named by the exporter; "": unknown */
    const char *model, *driver, *number; /* NULL: unknown */
    bool split;                          /* into MIG instances */
};

struct wl_dcgm_reading {
    int64_t t_ns; /* since 1970 */
    double value; /* NAN: DCGM had none */
};

/* A quantity of a device. Names and units are those of src/power. */
enum { WL_DCGM_REASONS = 7 };
struct wl_dcgm_series {
    size_t device;
    const struct wl_dcgm_field *field; /* dcgm/internal.h */
    const char *quantity, *unit, *variant;
    bool counter;
    struct wl_dcgm_reading *v; /* by time, one per instant */
    size_t n, cap;
    size_t missing[WL_DCGM_REASONS]; /* how many have no value, by reason */
    const char *key;                 /* while reading: key of its line, and the last scrape that had it */
    int64_t scrape;
};

struct wl_dcgm {
    struct wl_dcgm_device *devices;
    size_t n_devices, devices_cap;
    struct wl_dcgm_series *series;
    size_t n_series, series_cap, hint;
    struct wl_strs malformed;   /* the first invalid lines, with file, line and reason */
    size_t n_malformed;         /* of all */
    size_t duplicates, ignored; /* readings of an instant that had one; readings of other metrics, instances and GPUs */
    struct wl_strs notes;       /* missing values and their reasons */
};

/* Reads a file, whose path is for messages, and appends to *out (initially zero): the text of dcgm-exporter, one scrape
 * or many concatenated, the output of `dcgmi dmon`, or the JSON of Prometheus. WL_EINVAL: it has no DCGM field, or no
 * times. */
int wl_dcgm_read(FILE *f, const char *path, const struct wl_dcgm_opts *opts, struct wl_dcgm *out, struct wl_arena *a,
                 struct wl_err *e) WL_MUST_CHECK;

/* After the last file: sorts series by time, removes those without any value, and adds the notes. WL_EINVAL: nothing is
 * left. */
int wl_dcgm_finish(struct wl_dcgm *d, const struct wl_dcgm_opts *opts, struct wl_arena *a,
                   struct wl_err *e) WL_MUST_CHECK;

#endif
