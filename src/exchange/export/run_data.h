/* What the exporters of runs read of each run. */
#ifndef WL_EXCHANGE_EXPORT_RUN_DATA_H
#define WL_EXCHANGE_EXPORT_RUN_DATA_H

#include "store/read.h"

struct wl_run_data {
    const struct wl_run_row *run;
    struct wl_epoch_rows epochs;
    struct wl_energy_rows energies;
    struct wl_device_rows devices;
    struct wl_metric_rows metrics;
    struct wl_metric_def_rows defs;
    struct wl_span_rows spans;
};

int wl_run_data_read(struct wl_store *s, const struct wl_run_row *run, struct wl_run_data *out, struct wl_arena *a,
                     struct wl_err *e) WL_MUST_CHECK;

/* [runs->n] */
int wl_run_data_read_all(struct wl_store *s, const struct wl_run_rows *runs, struct wl_run_data **out,
                         struct wl_arena *a, struct wl_err *e) WL_MUST_CHECK;

const struct wl_device_row *wl_run_data_device(const struct wl_run_data *d, int64_t id); /* NULL: none */

/* The sum of the chosen devices over an epoch; NAN where one of them is missing, and without any. */
struct wl_amount wl_run_data_epoch_energy(const struct wl_run_data *d, int64_t epoch);
double wl_run_data_epoch_idle(const struct wl_run_data *d, int64_t epoch); /* J that they would have drawn idle */

/* The steps of a run without epochs, which observations are made of; NULL: none. */
const struct wl_span_row *wl_run_data_steps(const struct wl_run_data *d);

/* Energy of the run. */
struct wl_amount wl_run_data_energy(const struct wl_run_row *run);

/* Of one of its energies, with what the run's import says. */
enum wl_provenance wl_run_data_from(const struct wl_run_data *d, const struct wl_energy_row *v);

/* "measured", "estimated", "simulated", "imported", "estimated, simulated" ... */
const char *wl_run_data_provenance(enum wl_provenance from);

#endif
