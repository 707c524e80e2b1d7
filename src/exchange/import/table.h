/* The sink of tables of results: each row becomes a run of its own, with the energies that it has. */
#ifndef WL_EXCHANGE_IMPORT_TABLE_H
#define WL_EXCHANGE_IMPORT_TABLE_H

#include "store/store.h"

struct wl_import;

/* What a table says of an energy besides its value; NAN: nothing. */
struct wl_table_bounds {
    double lo_j, hi_j; /* 95 % interval */
    double idle_j;     /* that the device would have drawn idle */
};

/* The energy of one device over the row's time, or over one of its epochs. */
struct wl_table_energy {
    int64_t epoch;     /* 0: the whole row */
    const char *host;  /* NULL: the row's */
    const char *uuid;  /* "gpu0", "cpu", "node" ...: unique in the row, on that host */
    const char *model; /* NULL: unknown */
    const char *scope; /* "gpu", "package", "dram", "node" */
    bool integral;     /* power times time, or summed power; else a counter's difference */
    bool estimated;
    bool part; /* contained in another one's energy: shown, and in no sum */
    double energy_j, power_w;
    const struct wl_table_bounds *bounds; /* NULL: none */
    const char *why;                      /* why energy_j is NAN */
};

/* Readings of a device's power during a row. */
struct wl_table_series {
    const char *host;         /* NULL: the row's */
    const char *uuid, *scope; /* as of an energy */
    const char *variant;      /* "average", "driver" ... */
    const int64_t *t_ns;      /* [n] since 1970, increasing */
    const double *power_w;    /* [n] */
    size_t n;
};

/* A row. Numbers may be NAN, times WL_NO_NS, texts NULL: missing. Begin from wl_table_row_none. */
struct wl_table_row {
    const char *part; /* names the row in its file, for people: "window 3 (150 W)", "job 13077565" */
    struct wl_settings set;
    const char *host;
    int64_t start_ns; /* since 1970 */
    double time_s;    /* required */
    const struct wl_table_energy *energies;
    size_t n_energies;
    const struct wl_epoch_row *epochs; /* begin_ns and end_ns since 1970, or WL_NO_NS */
    size_t n_epochs;
    const struct wl_metric_row *metrics;
    size_t n_metrics;
    const struct wl_metric_def_row *metric_defs;
    size_t n_metric_defs;
    /* With these the energies of the row and of its epochs are those of the readings, and `energies` is empty; start_ns
     * and the times of the epochs are known. */
    const struct wl_table_series *series;
    size_t n_series;
    double period_s; /* usual time between two of them */
    /* Of a row without epochs: what a law reads as its observation. */
    double steps, samples, tokens;              /* of all workers, in steps_s */
    double steps_s;                             /* NAN: all of time_s */
    const struct wl_table_energy *steps_energy; /* in steps_s; NULL: its part of the row's, by time */
    const char *failed;                         /* why laws must not use the run: "aborted"; NULL: they may */
};
extern const struct wl_table_row wl_table_row_none;

/* The start of what took time_s and ended at end_ns; WL_NO_NS: the end is not known, or no run takes so long. */
int64_t wl_table_start(int64_t end_ns, double time_s);

/* Stores the row as a run, unless the store has one of the same content: a file that has grown adds what is new. What
 * --workers and so on say fills in what the row leaves open. WL_EUSAGE: an option that only readings over time have.
 * Without a positive time the row is rejected. */
int wl_table_add(struct wl_import *im, const struct wl_table_row *row, struct wl_err *e) WL_MUST_CHECK;

#endif
