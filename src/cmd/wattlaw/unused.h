/* GPUs that a job holds and does not use. */
#ifndef WL_CMD_WATTLAW_UNUSED_H
#define WL_CMD_WATTLAW_UNUSED_H

#include "base/base.h"

/* A GPU of a run, and the mean of its busy time. */
struct wl_gpu_use {
    const char *host; /* NULL: there is one alone */
    double number, busy_pct;
};

/* "GPU 3 idle 98 % of the time: ask for 3 GPUs"; NULL: all are used. */
const char *wl_unused_gpus(const struct wl_gpu_use *v, size_t n, struct wl_arena *a);

#endif
