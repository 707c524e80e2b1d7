/* Memory of the GPU and page-locked memory of the host; copies outside of runs. */
#include "nn/gpu/internal.h"

#include <string.h>

static CUdeviceptr on_device(const void *at) { return (CUdeviceptr)(uintptr_t)at; }

int wl_gpu_enter(const struct wl_gpu *g, struct wl_err *e)
{
    WL_CUDA_CALL(&g->cuda, CtxSetCurrent, g->context);
    return 0;
}

static void remember(struct wl_gpu *g, void *at, size_t bytes, bool host)
{
    struct wl_gpu_state *s = g->state;
    WL_GROW(g->arena, s->allocations, s->n_allocations, s->cap_allocations);
    s->allocations[s->n_allocations++] = (struct wl_gpu_allocation) { at, bytes, host };
}

/* What is free now is asked for first, so that the message has it. */
static int no_memory(struct wl_gpu *g, size_t bytes, const char *what, struct wl_err *e)
{
    size_t available = 0, total = 0;
    WL_CUDA_CALL(&g->cuda, MemGetInfo, &available, &total);
    return wl_fail(e, WL_ENOMEM, "%s: %s of GPU memory needed, %s of %s free on %s", what,
                   wl_human_bytes(g->arena, (double)bytes), wl_human_bytes(g->arena, (double)available),
                   wl_human_bytes(g->arena, (double)total), g->name);
}

size_t wl_gpu_available(void *device)
{
    const struct wl_gpu *g = device;
    size_t available = 0, total = 0;
    return wl_gpu_enter(g, NULL) || g->cuda.MemGetInfo(&available, &total) ? 0 : available;
}

static int zero(struct wl_gpu *g, CUdeviceptr at, size_t bytes, struct wl_err *e)
{
    WL_CUDA_CALL(&g->cuda, MemsetD8Async, at, 0, bytes, g->compute);
    WL_CUDA_CALL(&g->cuda, StreamSynchronize, g->compute);
    return 0;
}

int wl_gpu_memory(void *device, size_t bytes, const char *what, void **at, struct wl_err *e)
{
    struct wl_gpu *g = device;
    CUdeviceptr p = 0;
    int rc = wl_gpu_enter(g, e);
    if (rc) return rc;
    if (!bytes) bytes = 1; /* CUDA refuses 0 */
    const CUresult cu = g->cuda.MemAlloc(&p, bytes);
    if (cu == CUDA_ERROR_OUT_OF_MEMORY) return no_memory(g, bytes, what, e);
    if (cu) return wl_cuda_fail(&g->cuda, "MemAlloc", cu, e);
    *at = (void *)(uintptr_t)p;
    remember(g, *at, bytes, false);
    return zero(g, p, bytes, e);
}

int wl_gpu_host_memory(void *device, size_t bytes, const char *what, void **at, struct wl_err *e)
{
    struct wl_gpu *g = device;
    int rc = wl_gpu_enter(g, e);
    if (rc) return rc;
    if (!bytes) bytes = 1;
    const CUresult cu = g->cuda.MemHostAlloc(at, bytes, CU_MEMHOSTALLOC_PORTABLE);
    if (cu) {
        wl_cuda_fail(&g->cuda, "MemHostAlloc", cu, e);
        return wl_err_prefix(e, "%s: %s of page-locked memory", what, wl_human_bytes(g->arena, (double)bytes));
    }
    memset(*at, 0, bytes);
    remember(g, *at, bytes, true);
    return 0;
}

/* When a plan goes nothing has waited for the last update, nor for inputs that went up and no run has read. */
static void finish_work(const struct wl_gpu *g)
{
    if (g->compute) g->cuda.StreamSynchronize(g->compute);
    if (g->copies) g->cuda.StreamSynchronize(g->copies);
}

void wl_gpu_release(void *device, void *at, size_t bytes)
{
    struct wl_gpu *g = device;
    struct wl_gpu_state *s = g->state;
    (void)bytes;
    if (!wl_gpu_enter(g, NULL)) finish_work(g); /* else the GPU has failed, and nothing runs any more */
    for (size_t i = 0; i < s->n_allocations; i++) {
        if (s->allocations[i].at != at) continue;
        if (s->allocations[i].host)
            g->cuda.MemFreeHost(at);
        else
            g->cuda.MemFree(on_device(at));
        s->allocations[i] = s->allocations[--s->n_allocations];
        return;
    }
}

bool wl_gpu_page_locked(const struct wl_gpu *g, const void *at, size_t bytes)
{
    const struct wl_gpu_state *s = g->state;
    for (size_t i = 0; i < s->n_allocations; i++) {
        const struct wl_gpu_allocation *m = &s->allocations[i];
        const char *from = m->at;
        if (m->host && (const char *)at >= from && (const char *)at + bytes <= from + m->bytes) return true;
    }
    return false;
}

/* Pageable memory: CUDA copies it through its own. */
int wl_gpu_put(void *device, void *to, const void *from, size_t bytes, struct wl_err *e)
{
    struct wl_gpu *g = device;
    int rc = wl_gpu_enter(g, e);
    if (rc || !bytes) return rc;
    g->state->copies_current = false; /* of parameters, if it is one */
    WL_CUDA_CALL(&g->cuda, MemcpyHtoDAsync, on_device(to), from, bytes, g->compute);
    WL_CUDA_CALL(&g->cuda, StreamSynchronize, g->compute);
    return 0;
}

int wl_gpu_get(void *device, void *to, const void *from, size_t bytes, struct wl_err *e)
{
    struct wl_gpu *g = device;
    int rc = wl_gpu_enter(g, e);
    if (rc || !bytes) return rc;
    WL_CUDA_CALL(&g->cuda, MemcpyDtoHAsync, to, on_device(from), bytes, g->compute);
    WL_CUDA_CALL(&g->cuda, StreamSynchronize, g->compute);
    return 0;
}
