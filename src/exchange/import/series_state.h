/* The state of the sink of readings, of the run that is being read. */
#ifndef WL_EXCHANGE_IMPORT_SERIES_STATE_H
#define WL_EXCHANGE_IMPORT_SERIES_STATE_H

#include "exchange/import/import.h"

enum {
    WL_SERIES_HELD = 255,              /* readings of a channel that are written at once */
    WL_SERIES_DEVICES = 4096,          /* of a run, */
    WL_SERIES_RUNS = 10000,            /* and runs of a call: more is a file of something else */
    WL_SERIES_REASONS = 8,             /* of missing readings of a channel */
    WL_SERIES_STEPS = 4096,            /* intervals, from which the usual one is taken, */
    WL_SERIES_CHANNELS_WITH_STEPS = 64 /* of so many channels */
};

/* The readings of a channel in the order of their arrival. */
struct wl_held_channel {
    size_t n;
    struct wl_held_block *block; /* the last of them; NULL: none yet */
    int64_t first, last;         /* numbers of blocks: where the first of them are, and where `block` will be */
};

/* Those of all channels, in a file without a name beside the store once they are many. */
struct wl_held {
    struct wl_arena *file; /* that its descriptor is of; NULL: none yet */
    int fd;
    int64_t n_blocks; /* that have a number */
};

struct wl_series_channel {
    struct wl_import_channel pub;
    double least, most;        /* values beyond are missing */
    int64_t last_ns;           /* time of the previous reading; INT64_MIN: none */
    size_t n;                  /* values */
    double first, latest, sum; /* of the values, unwrapped */
    double last, rate;         /* of a counter: its latest value as read, and growth per second */
    double laps;               /* what its wraps add */
    size_t n_laps, n_resets;
    struct wl_import_count why[WL_SERIES_REASONS]; /* of missing readings */
    size_t n_why;
    int64_t *steps; /* [WL_SERIES_STEPS], ns; NULL: none yet */
    size_t n_steps;
    struct wl_held_channel held;
    bool unordered; /* a reading is earlier than the one before */
    int64_t id;     /* of the channel in the store; 0: not yet */
};

struct wl_series {
    struct wl_arena *a; /* of the run */
    const char *label;
    size_t first_source; /* in im->sources */
    bool undated;
    struct wl_import_device *devices;
    size_t n_devices, devices_cap;
    struct wl_series_channel *channels;
    size_t n_channels, channels_cap;
    size_t n_unwanted, n_outside; /* readings of devices, and of times, that were not asked for */
    size_t n_back;                /* lines whose readings are earlier than the ones before them, */
    int64_t back_line;            /* the latest of them, */
    const char *first_back;       /* and where the first one is */
    int n_steps_kept;             /* channels with steps */
    struct wl_held held;
    int64_t run; /* in the store; 0: not yet */
};

/* Begins a run; first_source: the first file that it is of. */
void wl_series_new(struct wl_import *im, size_t first_source);

/* ---- series_held.c ---- */

/* Adds a reading. `store`: the path of the store. */
int wl_held_add(struct wl_held *h, struct wl_held_channel *c, int64_t t_ns, double value, const char *store,
                struct wl_arena *a, struct wl_err *e) WL_MUST_CHECK;

typedef int wl_held_take(void *ctx, const int64_t *t_ns, const double *value, size_t n, struct wl_err *e);

/* Hands all readings of a channel to `take`, some at a time, in the order of their arrival. */
int wl_held_each(const struct wl_held *h, const struct wl_held_channel *c, wl_held_take *take, void *ctx,
                 struct wl_err *e) WL_MUST_CHECK;

/* The same as arrays. */
int wl_held_read(const struct wl_held *h, const struct wl_held_channel *c, const char *store, struct wl_readings *out,
                 struct wl_arena *a, struct wl_err *e) WL_MUST_CHECK;

/* They are stored, or never will be: gives back the disk. */
void wl_held_close(struct wl_held *h);

/* ---- series_store.c ---- */

/* The run has been read: stores it with its energies, adds it to im->runs, and begins a new one without a label.
 * WL_EINVAL: it has no value, or all are of one instant. Without any channel there is no run. */
int wl_series_finish(struct wl_import *im, struct wl_err *e) WL_MUST_CHECK;

#endif
