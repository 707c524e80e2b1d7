/* Does a run reach a target metric, and with which epoch? */
#ifndef WL_TUNE_TARGET_H
#define WL_TUNE_TARGET_H

#include "store/store.h"

struct wl_tune_target {
    const char *metric; /* NULL: there is no target */
    double value;
};

/* What is known of one run. */
struct wl_tune_progress {
    double larger; /* 1 the program said that larger is better, 0 smaller; NAN: it did not say */
    double first;  /* value of the metric; NAN: none yet */
    int64_t epoch; /* the first one that reached the target; 0: none */
};
extern const struct wl_tune_progress wl_tune_progress_none;

/* The metric's value after an epoch. Where nobody said which direction is better, it is that from the first value to
 * the target. */
void wl_tune_progress_add(struct wl_tune_progress *p, const struct wl_tune_target *target, int64_t epoch, double value);

/* The same for a stored run. */
struct wl_tune_progress wl_tune_progress_of(const struct wl_tune_target *target, const struct wl_metric_rows *metrics,
                                            const struct wl_metric_def_rows *defs);

#endif
