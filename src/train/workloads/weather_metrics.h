/* The quality of forecasts, by step and channel, as metrics of a workload. */
#ifndef WL_TRAIN_WORKLOADS_WEATHER_METRICS_H
#define WL_TRAIN_WORKLOADS_WEATHER_METRICS_H

#include "train/workload.h"

struct wl_weather {
    struct wl_era5_grid grid; /* of the fields */
    int64_t steps;            /* forecasts of each sample, one lead time apart */
    const double *weight;     /* [height] of a row: its share of the area times height */
};

/* Completes f from grid and steps, and sets the task's metrics and custom sums: for each step the skill, by channel the
 * RMSE, that of persistence and, with a climatology, the ACC, and with several steps the loss of each. Names after the
 * first step end in "_step2". WL_EINVAL: more channels than sums. */
int wl_weather_metrics(struct wl_train_task *j, struct wl_weather *f, struct wl_err *e) WL_MUST_CHECK;

/* Adds the scores of n samples' forecasts of a step (0 is the first) against `target`; `from` are the fields that the
 * first step starts from. All [n,channels,height,width], normalised. */
void wl_weather_metrics_add(const struct wl_weather *f, int64_t step, int64_t n, const float *from, const float *target,
                            const float *prediction, double *custom_sums);

#endif
