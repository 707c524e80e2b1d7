/* Power limits and clocks of NVIDIA GPUs: read by anyone, set by src/cap. */
#ifndef WL_POWER_NVML_LIMITS_H
#define WL_POWER_NVML_LIMITS_H

#include "power/sensors.h"

struct wl_gpus {
    const struct wl_device *devices; /* [n]; index i of these stands in the calls below */
    size_t n;
    bool simulated;
    struct wl_gpu_lib *lib; /* private */
};

/* Opens NVML as the nvml sensor does; `all`: every GPU, else those of the job (CUDA_VISIBLE_DEVICES). Codes of the
 * sensor, *fix as there. Released with the arena. */
int wl_gpus_open(struct wl_gpus **out, const struct wl_power_opts *opts, bool all, struct wl_arena *a, const char **fix,
                 struct wl_err *e) WL_MUST_CHECK;

/* What a power limit holds down: the GPU's board, or the module of CPU and GPU that it is a part of (GH200, GB200).
 * Each has a limit of its own, in watts of its own. */
enum wl_gpu_power_scope { WL_GPU_POWER_BOARD, WL_GPU_POWER_MODULE };

/* W; NAN: the driver does not say. The limit is what was asked for; enforced is the lowest of all that act, such as one
 * set out of band. */
struct wl_gpu_power_limit {
    double limit_w, enforced_w, default_w, min_w, max_w;
};

/* WL_EUNAVAIL: the GPU has no such limit; of a module also where the driver answers for the GPU. */
int wl_gpu_power_limit(const struct wl_gpus *g, size_t i, enum wl_gpu_power_scope scope, struct wl_gpu_power_limit *out,
                       struct wl_err *e) WL_MUST_CHECK;
int wl_gpu_power_limit_set(const struct wl_gpus *g, size_t i, enum wl_gpu_power_scope scope, double watts,
                           struct wl_err *e) WL_MUST_CHECK;

/* Locked clocks have no getter: the driver tells the present clock, the highest one and the reasons (NAN: unknown). */
enum wl_gpu_clock { WL_GPU_CLOCK_SM, WL_GPU_CLOCK_MEM };
struct wl_gpu_clock_state {
    double now_mhz, max_mhz;
    double busy_pct; /* as sm_util_pct */
    double reasons;  /* enum wl_event_reason */
    bool lockable;   /* the driver has the call */
};
void wl_gpu_clock_state(const struct wl_gpus *g, size_t i, enum wl_gpu_clock which, struct wl_gpu_clock_state *out);

/* The memory clocks that the GPU can run at, MHz, highest first as drivers list them; none where it does not tell. */
struct wl_reals wl_gpu_memory_clocks(const struct wl_gpus *g, size_t i, struct wl_arena *a);

int wl_gpu_clock_lock(const struct wl_gpus *g, size_t i, enum wl_gpu_clock which, double mhz,
                      struct wl_err *e) WL_MUST_CHECK;
int wl_gpu_clock_unlock(const struct wl_gpus *g, size_t i, enum wl_gpu_clock which, struct wl_err *e) WL_MUST_CHECK;

#endif
