/* Calibration of a GPU's power sensors under a load of square waves. */
#ifndef WL_POWER_NVML_CALIBRATE_H
#define WL_POWER_NVML_CALIBRATE_H

#include "power/calibration/file.h"
#include "power/nvml/limits.h"

struct wl_calibrate_options {
    const char *cuda_library; /* NULL: $CUDA_DRIVER_LIBRARY, then libcuda.so.1 */
    bool force;               /* calibrate even if other processes use the GPU */
    bool (*stop)(void);       /* polled throughout: true stops the calibration */
    void (*progress)(void *data, double done, double total, const char *note);
    void *data;
};

/* Runs square waves of load on GPU i of `g` for about 15 s, polls its power sensors and adds a calibration of each to
 * `out`. Clocks, limits and modes stay unchanged. WL_EUNAVAIL: no CUDA driver, or the GPU is split into MIG instances,
 * has no power reading or is used by others; WL_EINTR: stopped; WL_EINVAL: the readings do not follow the load. */
int wl_calibrate(const struct wl_gpus *g, size_t i, const struct wl_calibrate_options *opts,
                 struct wl_calibrations *out, struct wl_arena *a, struct wl_err *e) WL_MUST_CHECK;

#endif
