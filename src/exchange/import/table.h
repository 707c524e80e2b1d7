/* The sink of tables of results: each row becomes a run of its own, with the energies that it has. */
#ifndef WL_EXCHANGE_IMPORT_TABLE_H
#define WL_EXCHANGE_IMPORT_TABLE_H

#include "store/store.h"

struct wl_import;

/* The energy of one device over the row's time. */
struct wl_table_energy {
    const char *uuid;  /* "gpu0", "cpu", "node" ...: unique in the row */
    const char *model; /* NULL: unknown */
    const char *scope; /* "gpu", "package", "dram", "node" */
    double energy_j, power_w;
    bool estimated;
    bool part;       /* contained in another row's energy: shown, and in no sum */
    const char *why; /* why energy_j is NAN */
};

/* A row. Numbers may be NAN, times WL_NO_NS, texts NULL: missing. */
struct wl_table_row {
    const char *part; /* names the row in its file, for messages and so that it is imported once: "run 7", "job 13077565" */
    struct wl_settings set;
    const char *host;
    int64_t start_ns; /* since 1970 */
    double time_s;    /* required */
    const struct wl_table_energy *energies;
    size_t n_energies;
    const struct wl_epoch_row *epochs; /* begin_ns and end_ns may be WL_NO_NS */
    size_t n_epochs;
    const struct wl_metric_row *metrics;
    size_t n_metrics;
    double samples, updates; /* of all workers, in time_s, of a row without epochs */
};

int wl_table_add(struct wl_import *im, const struct wl_table_row *row, struct wl_err *e) WL_MUST_CHECK;

#endif
