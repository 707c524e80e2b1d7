/* Runs as sums over their epochs, with the configuration that they are repeats of. */
#ifndef WL_LAW_RUN_SUMS_H
#define WL_LAW_RUN_SUMS_H

#include "base/base.h"

/* Over the epochs of a run that count; NAN as soon as one is missing. */
struct wl_run_sums {
    const char *key; /* its configuration: "resnet50 workers=2 local_batch=16"; "" without any setting */
    double time_s, energy_j, samples, tokens, rows;
    bool estimated, simulated;
};

/* [obs->runs], by run_index. by: the columns of a configuration; none: all settings. The first drop_epochs of a run do
 * not count, but for its last one. WL_ENOENT: a column is missing. */
int wl_run_sums_collect(const struct wl_observations *obs, const struct wl_strs *by, int64_t drop_epochs,
                        struct wl_run_sums **out, struct wl_arena *a, struct wl_err *e) WL_MUST_CHECK;

#endif
