/* A run as wattlaw's own tables of observations have it, put together from their fields. */
#ifndef WL_EXCHANGE_IMPORT_TABLES_OWN_H
#define WL_EXCHANGE_IMPORT_TABLES_OWN_H

#include "exchange/import/reader.h"

/* What is known of an epoch, or of a run without epochs. Numbers may be NAN. */
struct wl_own_epoch {
    int64_t epoch; /* 0: the run has none */
    double time_s, energy_j, samples, updates, tokens;
    struct wl_table_bounds bounds; /* of energy_j */
    bool estimated;
};

/* The energy of a device over the whole run. */
struct wl_own_device {
    struct wl_table_energy energy; /* its bounds are those that follow */
    struct wl_table_bounds bounds;
    const char *method;
};

struct wl_own_run {
    struct wl_arena *a; /* of its texts and arrays */
    const char *name;   /* as the file has it: "3" */
    struct wl_settings set;
    struct wl_setting_pair extra[64]; /* choices, and axes of the user's own */
    size_t n_extra;
    const char *host;
    int64_t start_ns;
    double time_s; /* of all of it; NAN: the sum of its epochs */
    bool estimated, simulated;
    struct wl_own_epoch *epochs;
    size_t n_epochs, epochs_cap;
    struct wl_metric_row *metrics;
    size_t n_metrics, metrics_cap;
    struct wl_metric_def_row *defs;
    size_t n_defs, defs_cap;
    struct wl_own_epoch *steps;    /* what laws read of a run without epochs, where that is not all of it; else NULL */
    struct wl_own_device *devices; /* none: only their sum is known */
    size_t n_devices, devices_cap;
};

struct wl_own_run *wl_own_run_new(const char *name, struct wl_arena *parent);
struct wl_own_epoch *wl_own_run_epoch(struct wl_own_run *run, int64_t epoch); /* made when missing */
struct wl_own_epoch *wl_own_run_steps(struct wl_own_run *run);                /* made when missing */
void wl_own_run_metric(struct wl_own_run *run, int64_t epoch, const char *name, double value);
void wl_own_run_define(struct wl_own_run *run, const struct wl_metric_def_row *def); /* once for each metric */
double wl_own_larger(struct wl_slice better); /* "larger", "smaller": 1, 0; else NAN */

/* Sets what a field of that name says of the run: a setting, the node, or else an axis of the user's own. WL_EINVAL:
 * not a value. */
int wl_own_run_setting(struct wl_own_run *run, const char *name, const char *text, struct wl_err *e) WL_MUST_CHECK;

/* Stores it as a run; a simulated one is left out, with the number of its lines. */
int wl_own_run_add(struct wl_import *im, struct wl_own_run *run, struct wl_err *e) WL_MUST_CHECK;

#endif
