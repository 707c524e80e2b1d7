/* Power limits and clocks of NVIDIA GPUs: read by any code, set by src/cap. */
#ifndef WL_POWER_NVML_LIMITS_H
#define WL_POWER_NVML_LIMITS_H

#include "power/sensors.h"

struct wl_gpus {
    const struct wl_device *devices; /* [n]; index i in the calls below */
    size_t n;
    bool simulated;
    struct wl_gpu_lib *lib; /* private */
};

/* Opens NVML as the nvml sensor does, with its codes and *fix; `all`: every GPU, else those of the job
 * (CUDA_VISIBLE_DEVICES). Released with the arena. */
int wl_gpus_open(struct wl_gpus **out, const struct wl_power_opts *opts, bool all, struct wl_arena *a, const char **fix,
                 struct wl_err *e) WL_MUST_CHECK;

/* What a power limit applies to: the GPU's board, or the CPU-GPU module that it is part of (GH200, GB200). Each has a
 * limit of its own. */
enum wl_gpu_power_scope { WL_GPU_POWER_BOARD, WL_GPU_POWER_MODULE };

/* W; NAN: not known. limit_w is the requested limit; enforced_w the lowest of all that apply, such as one set out of
 * band. */
struct wl_gpu_power_limit {
    double limit_w, enforced_w, default_w, min_w, max_w;
};

/* WL_EUNAVAIL: the GPU has no such limit, or the driver returns the GPU's limit as the module's. */
int wl_gpu_power_limit(const struct wl_gpus *g, size_t i, enum wl_gpu_power_scope scope, struct wl_gpu_power_limit *out,
                       struct wl_err *e) WL_MUST_CHECK;
int wl_gpu_power_limit_set(const struct wl_gpus *g, size_t i, enum wl_gpu_power_scope scope, double watts,
                           struct wl_err *e) WL_MUST_CHECK;

/* A clock lock cannot be read: the driver has the current clock, the maximum and the event reasons (NAN: unknown). */
enum wl_gpu_clock { WL_GPU_CLOCK_SM, WL_GPU_CLOCK_MEM };
struct wl_gpu_clock_state {
    double now_mhz, max_mhz;
    double busy_pct; /* as sm_util_pct */
    double reasons;  /* enum wl_event_reason */
    bool lockable;   /* the driver has the call */
};
void wl_gpu_clock_state(const struct wl_gpus *g, size_t i, enum wl_gpu_clock which, struct wl_gpu_clock_state *out);

/* The supported memory clocks, MHz, highest first as drivers list them; empty: not known. */
struct wl_reals wl_gpu_memory_clocks(const struct wl_gpus *g, size_t i, struct wl_arena *a);

int wl_gpu_clock_lock(const struct wl_gpus *g, size_t i, enum wl_gpu_clock which, double mhz,
                      struct wl_err *e) WL_MUST_CHECK;
int wl_gpu_clock_unlock(const struct wl_gpus *g, size_t i, enum wl_gpu_clock which, struct wl_err *e) WL_MUST_CHECK;

#endif
