/* Stores full of made-up runs. */
#ifndef TESTS_REPORT_SYNTHETIC_STORE_H
#define TESTS_REPORT_SYNTHETIC_STORE_H

#include "store/store.h"

struct made {
    const char *const *workloads;
    size_t n_workloads;
    const double *workers;
    size_t n_workers;
    const double *local_batches; /* n 0: not set */
    size_t n_batches;
    const double *power_caps_w; /* n 0: not set */
    size_t n_caps;
    int64_t repeats, epochs;
    size_t devices; /* with power and utilisation; 0: no energy at all */
    bool estimated, simulated;
    bool only_failures, no_runs, no_workers;
    bool regression; /* val_mae in place of val_top1, and val_top5 beside it */
};

extern const struct made synthetic_small;  /* one workload, two batches, 1 and 2 workers, 3 repeats; energy estimated */
extern const struct made synthetic_large;  /* six workloads on 2 to 424 workers, 8 devices; simulated */
extern const struct made synthetic_capped; /* three workloads under three power caps: more groups than colours */

/* Writes the store at path; with only_failures every run fails. */
int synthetic_store(const char *path, const struct made *m, struct wl_arena *a, struct wl_err *e);

#endif
