/* Time and energy until a metric reaches a value. */
#ifndef WL_LAW_TARGET_H
#define WL_LAW_TARGET_H

#include "law/fit/fit.h"

struct wl_target_options {
    struct wl_strs by; /* columns that separate groups; empty: the default rule of wl_law_fit */
    const char *metric;
    double value;          /* the target */
    struct wl_strs others; /* further metrics of the source, for the message where `metric` is missing */
};

/* All runs of one worker count that recorded the metric. Means are over those that reached it, from the beginning of a
 * run to the end of the first epoch that did; the intervals are NAN where a run did not, or there is only one. */
struct wl_target_config {
    double workers;
    size_t runs, reached;
    double epochs;                       /* mean */
    struct wl_estimate time_s, energy_j; /* geometric means */
};

/* What one run needed, up to the epoch that reached the value. */
struct wl_target_run {
    double workers;
    bool complete, has_metric, reached; /* begins with epoch 1; has the metric; reaches the value */
    double epochs, time_s, energy_j;    /* NAN where a part is unknown */
};

struct wl_target_group {
    struct wl_law_key *key;
    size_t n_key;
    const char *title;
    bool estimated, simulated;
    struct wl_target_config *configs; /* in order of workers */
    size_t n;
    struct wl_target_run *runs; /* in order of workers; those that are complete and have the metric */
    size_t n_runs;
    struct wl_strs notes;
};

struct wl_target_result {
    const char *metric;
    double value;
    bool rising; /* reached at >= value: metric_better says larger, or without it the metric rises over runs; else at <=
                    value */
    struct wl_target_group *groups;
    size_t n;
};

/* Groups as wl_law_fit, over the epochs of runs. WL_ENOENT: no epoch has the metric (the message names those of the
 * observations and the `others` of their source), or a column of `by` is missing. */
int wl_target_reach(const struct wl_observations *obs, const struct wl_target_options *options,
                    struct wl_target_result *out, struct wl_arena *a, struct wl_err *e) WL_MUST_CHECK;
void wl_target_json(const struct wl_target_result *r, struct wl_json *object);

#endif
