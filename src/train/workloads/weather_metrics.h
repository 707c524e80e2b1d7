/* How good forecasts of fields are, step by step, as metrics of a workload. */
#ifndef WL_TRAIN_WORKLOADS_WEATHER_METRICS_H
#define WL_TRAIN_WORKLOADS_WEATHER_METRICS_H

#include "train/workload.h"

struct wl_weather {
    struct wl_era5_grid grid; /* of the fields */
    int64_t steps;            /* forecasts of each sample, a lead after each other */
    const double *weight;     /* [height] of a line of latitude: its share of the area times height */
};

/* Completes f from grid and steps and sets the job's metrics and own sums: of each step skill, and by channel the RMSE,
 * that of persistence and the ACC where there is a climatology; and the loss of each where there are several. Those of
 * steps behind the first end in "_step2". WL_EINVAL: more channels than sums. */
int wl_weather_metrics(struct wl_train_task *j, struct wl_weather *f, struct wl_err *e) WL_MUST_CHECK;

/* Adds what n samples' forecasts of a step, 0 the first, are worth: from the fields that the first step begins with, to
 * what was to be forecast; [n,channels,height,width], normalised. */
void wl_weather_metrics_add(const struct wl_weather *f, int64_t step, int64_t n, const float *from, const float *target,
                            const float *prediction, double *custom_sums);

#endif
