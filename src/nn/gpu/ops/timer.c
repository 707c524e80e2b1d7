#include "nn/gpu/ops/timer.h"

int wl_gpu_timer_open(struct wl_gpu_timer *t, const struct wl_gpu *g, struct wl_err *e)
{
    *t = (struct wl_gpu_timer) { .gpu = g };
    WL_CUDA_CALL(&g->cuda, EventCreate, &t->from, CU_EVENT_DEFAULT);
    WL_CUDA_CALL(&g->cuda, EventCreate, &t->to, CU_EVENT_DEFAULT);
    return 0;
}

void wl_gpu_timer_close(struct wl_gpu_timer *t)
{
    const struct wl_cuda *cuda = &t->gpu->cuda;
    if (t->from) cuda->EventDestroy(t->from);
    if (t->to) cuda->EventDestroy(t->to);
}

static int timed_run(const struct wl_gpu_timer *t, int (*run)(void *of, struct wl_err *e), void *of, double *seconds,
                     struct wl_err *e)
{
    const struct wl_cuda *cuda = &t->gpu->cuda;
    float ms = 0;
    WL_CUDA_CALL(cuda, EventRecord, t->from, t->gpu->compute);
    int rc = run(of, e);
    if (rc) return rc;
    WL_CUDA_CALL(cuda, EventRecord, t->to, t->gpu->compute);
    WL_CUDA_CALL(cuda, EventSynchronize, t->to);
    WL_CUDA_CALL(cuda, EventElapsedTime, &ms, t->from, t->to);
    *seconds = (double)ms / 1e3;
    return 0;
}

int wl_gpu_timer_fastest(const struct wl_gpu_timer *t, int (*run)(void *of, struct wl_err *e), void *of,
                         double *fastest, struct wl_err *e)
{
    enum { REPEATS = 3 };
    double seconds = 0;
    int rc = timed_run(t, run, of, &seconds, e);
    *fastest = 1e9;
    for (int i = 0; i < REPEATS && !rc; i++) {
        rc = timed_run(t, run, of, &seconds, e);
        if (seconds < *fastest) *fastest = seconds;
    }
    if (*fastest < 1e-9) *fastest = 1e-9;
    return rc;
}

struct wl_gpu_fastest wl_gpu_rank(const double *seconds, size_t n)
{
    struct wl_gpu_fastest f = { 0 };
    for (size_t i = 1; i < n; i++)
        if (seconds[i] < wl_gpu_worth_it * seconds[0] && (!f.best || seconds[i] < seconds[f.best])) f.best = i;
    f.second = f.best ? 0 : 1;
    for (size_t i = 0; i < n; i++)
        if (i != f.best && seconds[i] < seconds[f.second]) f.second = i;
    return f;
}
