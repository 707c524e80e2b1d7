#include "power/calibration/cuda_load.h"

#include "cuda/cuda.h"

#include <math.h>

/* Eight independent chains x = 1 - 0.999999 x per thread, so that the units are kept busy and most bits change. The sum
 * is written only if it is -10000, which it cannot reach: nothing is optimised away and nothing is stored. */
const char wl_cuda_kernel[] = ".version 6.0\n"
                              ".target sm_50\n"
                              ".address_size 64\n"
                              ".visible .entry wl_fma(.param .u64 out, .param .u32 rounds)\n"
                              "{\n"
                              "    .reg .pred %more, %never;\n"
                              "    .reg .u32 %left, %thread;\n"
                              "    .reg .u64 %to;\n"
                              "    .reg .f32 %x<8>;\n"
                              "    ld.param.u64 %to, [out];\n"
                              "    ld.param.u32 %left, [rounds];\n"
                              "    mov.u32 %thread, %tid.x;\n"
                              "    cvt.rn.f32.u32 %x0, %thread;\n"
                              "    add.f32 %x1, %x0, 0f3F800000;\n"
                              "    add.f32 %x2, %x0, 0f40000000;\n"
                              "    add.f32 %x3, %x0, 0f40400000;\n"
                              "    add.f32 %x4, %x0, 0f40800000;\n"
                              "    add.f32 %x5, %x0, 0f40A00000;\n"
                              "    add.f32 %x6, %x0, 0f40C00000;\n"
                              "    add.f32 %x7, %x0, 0f40E00000;\n"
                              "again:\n"
                              "    fma.rn.f32 %x0, %x0, 0fBF7FFFF0, 0f3F800000;\n"
                              "    fma.rn.f32 %x1, %x1, 0fBF7FFFF0, 0f3F800000;\n"
                              "    fma.rn.f32 %x2, %x2, 0fBF7FFFF0, 0f3F800000;\n"
                              "    fma.rn.f32 %x3, %x3, 0fBF7FFFF0, 0f3F800000;\n"
                              "    fma.rn.f32 %x4, %x4, 0fBF7FFFF0, 0f3F800000;\n"
                              "    fma.rn.f32 %x5, %x5, 0fBF7FFFF0, 0f3F800000;\n"
                              "    fma.rn.f32 %x6, %x6, 0fBF7FFFF0, 0f3F800000;\n"
                              "    fma.rn.f32 %x7, %x7, 0fBF7FFFF0, 0f3F800000;\n"
                              "    sub.u32 %left, %left, 1;\n"
                              "    setp.ne.u32 %more, %left, 0;\n"
                              "    @%more bra again;\n"
                              "    add.f32 %x0, %x0, %x1;\n"
                              "    add.f32 %x2, %x2, %x3;\n"
                              "    add.f32 %x4, %x4, %x5;\n"
                              "    add.f32 %x6, %x6, %x7;\n"
                              "    add.f32 %x0, %x0, %x2;\n"
                              "    add.f32 %x4, %x4, %x6;\n"
                              "    add.f32 %x0, %x0, %x4;\n"
                              "    setp.eq.f32 %never, %x0, 0fC61C4000;\n"
                              "    @%never st.global.f32 [%to], %x0;\n"
                              "    ret;\n"
                              "}\n";

/* Kernels in flight: 32 ms, for which this thread may be preempted without the GPU becoming idle. */
enum { IN_FLIGHT = 64, THREADS = 256, BLOCKS_PER_MULTIPROCESSOR = 8 };

struct wl_cuda_load {
    struct wl_cuda cuda;
    CUdevice device;
    CUcontext context;
    CUmodule module;
    CUfunction kernel;
    CUstream stream;
    CUevent begin;           /* before the first of a run's kernels */
    CUevent done[IN_FLIGHT]; /* after each of the kernels in flight */
    unsigned blocks, rounds; /* of a kernel */
    double kernel_ms;        /* as last measured */
};

/* ---- Opening ---- */

static void release(void *load)
{
    struct wl_cuda_load *l = load;
    l->cuda.CtxSetCurrent(l->context);
    if (l->stream) l->cuda.StreamSynchronize(l->stream);
    if (l->begin) l->cuda.EventDestroy(l->begin);
    for (int i = 0; i < IN_FLIGHT; i++)
        if (l->done[i]) l->cuda.EventDestroy(l->done[i]);
    if (l->stream) l->cuda.StreamDestroy(l->stream);
    if (l->module) l->cuda.ModuleUnload(l->module);
    l->cuda.CtxSetCurrent(NULL);
    l->cuda.DevicePrimaryCtxRelease(l->device);
}

static int open_context(struct wl_cuda_load *l, const char *bus_id, struct wl_arena *a, struct wl_err *e)
{
    int multiprocessors = 0;
    WL_CUDA_CALL(&l->cuda, Init, 0);
    WL_CUDA_CALL(&l->cuda, DeviceGetByPCIBusId, &l->device, bus_id);
    WL_CUDA_CALL(&l->cuda, DeviceGetAttribute, &multiprocessors, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, l->device);
    WL_CUDA_CALL(&l->cuda, DevicePrimaryCtxRetain, &l->context, l->device);
    wl_defer(a, release, l);
    l->blocks = (unsigned)(multiprocessors * BLOCKS_PER_MULTIPROCESSOR);
    WL_CUDA_CALL(&l->cuda, CtxSetCurrent, l->context);
    WL_CUDA_CALL(&l->cuda, ModuleLoadData, &l->module, wl_cuda_kernel);
    WL_CUDA_CALL(&l->cuda, ModuleGetFunction, &l->kernel, l->module, "wl_fma");
    WL_CUDA_CALL(&l->cuda, StreamCreate, &l->stream, CU_STREAM_NON_BLOCKING);
    WL_CUDA_CALL(&l->cuda, EventCreate, &l->begin, CU_EVENT_DEFAULT);
    for (int i = 0; i < IN_FLIGHT; i++) WL_CUDA_CALL(&l->cuda, EventCreate, &l->done[i], CU_EVENT_BLOCKING_SYNC);
    return 0;
}

static int launch(struct wl_cuda_load *l, CUevent after, struct wl_err *e)
{
    void *nowhere = NULL; /* the kernel never stores */
    void *parameters[] = { &nowhere, &l->rounds };
    WL_CUDA_CALL(&l->cuda, LaunchKernel, l->kernel, l->blocks, 1, 1, THREADS, 1, 1, 0, l->stream, parameters, NULL);
    WL_CUDA_CALL(&l->cuda, EventRecord, after, l->stream);
    return 0;
}

static const double KERNEL_MS = 0.5;
static const int64_t WARM_NS = WL_NS_PER_S / 2;
enum { TRIES = 5, FIRST_ROUNDS = 4000, MAX_ROUNDS = 100000000 };

/* Finds how many rounds take KERNEL_MS. The clocks of an idle GPU rise within the first tenths of a second. */
static int size_kernel(struct wl_cuda_load *l, struct wl_err *e)
{
    float ms = 0;
    l->rounds = FIRST_ROUNDS;
    for (int i = 0; i < TRIES; i++) {
        int64_t began_ns, ended_ns;
        WL_CUDA_CALL(&l->cuda, EventRecord, l->begin, l->stream);
        int rc = launch(l, l->done[0], e);
        if (rc < 0) return rc;
        WL_CUDA_CALL(&l->cuda, EventSynchronize, l->done[0]);
        WL_CUDA_CALL(&l->cuda, EventElapsedTime, &ms, l->begin, l->done[0]);
        l->kernel_ms = fmax(ms, 1e-3);
        l->rounds = (unsigned)fmax(1, fmin(MAX_ROUNDS, l->rounds * KERNEL_MS / l->kernel_ms));
        rc = wl_cuda_load_run(l, wl_now_ns() + WARM_NS / TRIES, &began_ns, &ended_ns, e);
        if (rc < 0) return rc;
    }
    return 0;
}

int wl_cuda_load_open(struct wl_cuda_load **out, const char *library, const char *bus_id, struct wl_arena *a,
                      struct wl_err *e)
{
    struct wl_cuda_load *l = wl_new(a, struct wl_cuda_load);
    int rc = wl_cuda_open(&l->cuda, library, a, e);
    if (rc < 0) return wl_err_prefix(e, "the load needs the CUDA driver");
    rc = open_context(l, bus_id, a, e);
    if (rc == 0) rc = size_kernel(l, e);
    if (rc == 0) *out = l;
    return rc;
}

bool wl_cuda_load_simulated(const struct wl_cuda_load *l) { return l->cuda.library.simulated; }

/* ---- Running ---- */

/* Runs as many kernels as take that long. Their duration is measured by the GPU: this thread may wake up late. */
int wl_cuda_load_run(struct wl_cuda_load *l, int64_t until_ns, int64_t *began_ns, int64_t *ended_ns, struct wl_err *e)
{
    float ms = 0;
    int rc = 0;
    int64_t before = wl_now_ns();
    double kernels = fmax(1, round((double)(until_ns - before) / 1e6 / l->kernel_ms));
    WL_CUDA_CALL(&l->cuda, EventRecord, l->begin, l->stream);
    *began_ns = before + (wl_now_ns() - before) / 2;
    for (unsigned n = 0; rc == 0 && n < kernels; n++) {
        if (n >= IN_FLIGHT) WL_CUDA_CALL(&l->cuda, EventSynchronize, l->done[n % IN_FLIGHT]);
        rc = launch(l, l->done[n % IN_FLIGHT], e);
    }
    if (rc < 0) return rc;
    WL_CUDA_CALL(&l->cuda, StreamSynchronize, l->stream);
    WL_CUDA_CALL(&l->cuda, EventElapsedTime, &ms, l->begin, l->done[((unsigned)kernels - 1) % IN_FLIGHT]);
    *ended_ns = *began_ns + (int64_t)(ms * 1e6f);
    return 0;
}
