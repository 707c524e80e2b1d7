/* The processes that use a GPU, by NVML. */
#ifndef WL_POWER_NVML_USERS_H
#define WL_POWER_NVML_USERS_H

#include "power/nvml/limits.h"

enum { WL_GPU_USERS_MAX = 64 }; /* of one GPU; more are not listed */

struct wl_gpu_user {
    int64_t pid;
    double memory_bytes; /* of the GPU's memory; NAN: the driver does not tell (a GPU with MIG, WSL) */
    double util_pct;     /* of the GPU's time since the last call; NAN: the driver does not tell */
};

/* What is remembered of a GPU between two calls; zeroed at first. */
struct wl_gpu_users_state {
    unsigned long long newest_us; /* the latest time stamp of utilisation */
};

/* The compute processes of GPU i, in the driver's order; returns their number, at most WL_GPU_USERS_MAX. WL_EUNAVAIL:
 * the driver does not tell. */
int wl_gpu_users(const struct wl_gpus *g, size_t i, struct wl_gpu_users_state *state,
                 struct wl_gpu_user out[WL_GPU_USERS_MAX], struct wl_err *e) WL_MUST_CHECK;

#endif
