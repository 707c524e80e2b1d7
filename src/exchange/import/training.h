/* The sink of logs of a training: its epochs and metrics become marks of a run that the store has (--run). */
#ifndef WL_EXCHANGE_IMPORT_TRAINING_H
#define WL_EXCHANGE_IMPORT_TRAINING_H

#include "base/base.h"

struct wl_import;

/* A value that a training logged. */
struct wl_training_value {
    const char *name;
    int64_t epoch; /* from 1; 0: not known, a value of the run */
    int64_t t_ns;  /* since 1970; WL_NO_NS: not known */
    double value;
};

struct wl_training_log {
    const struct wl_training_value
        *values; /* [n], in the order of the log: of a metric's values in an epoch the last one counts */
    size_t n;
};

/* Adds the log to the run. Where the run has no marks of epochs and the values have times, each epoch after the first
 * one lasts from the last value of the epoch before to its own last value. WL_EUSAGE: --run is missing; WL_EINVAL: the
 * run is not known, has not ended, has no readings, or the log is not of its time. A log that the run has already adds
 * nothing. */
int wl_training_add(struct wl_import *im, const struct wl_training_log *log, struct wl_err *e) WL_MUST_CHECK;

#endif
