/* How long work takes on the GPU, for what is chosen by measurement. */
#ifndef WL_NN_GPU_OPS_TIMER_H
#define WL_NN_GPU_OPS_TIMER_H

#include "nn/gpu/gpu.h"

struct wl_gpu_timer {
    const struct wl_gpu *gpu;
    CUevent from, to;
};

int wl_gpu_timer_open(struct wl_gpu_timer *t, const struct wl_gpu *g, struct wl_err *e) WL_MUST_CHECK;
void wl_gpu_timer_close(struct wl_gpu_timer *t);

/* Seconds of the fastest of a few runs after the first, which loads code; above 0, as times in the table of choices
 * are. `run` enqueues the work. */
int wl_gpu_timer_fastest(const struct wl_gpu_timer *t, int (*run)(void *of, struct wl_err *e), void *of,
                         double *seconds, struct wl_err *e) WL_MUST_CHECK;

/* Another way than the first must gain at least this: smaller differences are noise. */
static const double wl_gpu_worth_it = 0.97;

/* Of n > 1 ways that took so many seconds: the fastest, and the next. */
struct wl_gpu_fastest {
    size_t best, second;
};
struct wl_gpu_fastest wl_gpu_rank(const double *seconds, size_t n);

#endif
