#include "power/calibration/cuda_load.h"

#include "base/library.h"
#include "cuda/api.h"

#include <math.h>
#include <stdlib.h>

/* Eight chains x = 1 - 0.999999 x a thread, so that the units need not wait for one another and most bits change. The
 * sum is written only where it is -10000, which it cannot reach: nothing is optimised away and nothing is stored. */
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

/* Functions by their names in the library, without "cu" and the suffix of their version. */
struct functions {
    CUresult (*Init)(unsigned flags);
    CUresult (*GetErrorString)(CUresult, const char **);
    CUresult (*DeviceGetByPCIBusId)(CUdevice *, const char *);
    CUresult (*DeviceGetAttribute)(int *, int attribute, CUdevice);
    CUresult (*DevicePrimaryCtxRetain)(CUcontext *, CUdevice);
    CUresult (*DevicePrimaryCtxRelease)(CUdevice);
    CUresult (*CtxSetCurrent)(CUcontext);
    CUresult (*ModuleLoadData)(CUmodule *, const void *image);
    CUresult (*ModuleUnload)(CUmodule);
    CUresult (*ModuleGetFunction)(CUfunction *, CUmodule, const char *);
    CUresult (*StreamCreate)(CUstream *, unsigned flags);
    CUresult (*StreamDestroy)(CUstream);
    CUresult (*StreamSynchronize)(CUstream);
    CUresult (*EventCreate)(CUevent *, unsigned flags);
    CUresult (*EventDestroy)(CUevent);
    CUresult (*EventRecord)(CUevent, CUstream);
    CUresult (*EventSynchronize)(CUevent);
    CUresult (*EventElapsedTime)(float *ms, CUevent from, CUevent to);
    CUresult (*LaunchKernel)(CUfunction, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                             unsigned shared_bytes, CUstream, void **parameters, void **extra);
};

#define FN(field, name)                                    \
    {                                                      \
        offsetof(struct functions, field), "cu" name, true \
    }
static const struct wl_symbol symbols[] = {
    FN(Init, "Init"),
    FN(GetErrorString, "GetErrorString"),
    FN(DeviceGetByPCIBusId, "DeviceGetByPCIBusId"),
    FN(DeviceGetAttribute, "DeviceGetAttribute"),
    FN(DevicePrimaryCtxRetain, "DevicePrimaryCtxRetain"),
    FN(DevicePrimaryCtxRelease, "DevicePrimaryCtxRelease_v2"),
    FN(CtxSetCurrent, "CtxSetCurrent"),
    FN(ModuleLoadData, "ModuleLoadData"),
    FN(ModuleUnload, "ModuleUnload"),
    FN(ModuleGetFunction, "ModuleGetFunction"),
    FN(StreamCreate, "StreamCreate"),
    FN(StreamDestroy, "StreamDestroy_v2"),
    FN(StreamSynchronize, "StreamSynchronize"),
    FN(EventCreate, "EventCreate"),
    FN(EventDestroy, "EventDestroy_v2"),
    FN(EventRecord, "EventRecord"),
    FN(EventSynchronize, "EventSynchronize"),
    FN(EventElapsedTime, "EventElapsedTime"),
    FN(LaunchKernel, "LaunchKernel"),
};

/* Kernels that wait or run: 32 ms of them, for which this thread may be held up without the GPU coming to rest. */
enum { IN_FLIGHT = 64, THREADS = 256, BLOCKS_A_MULTIPROCESSOR = 8 };

struct wl_cuda_load {
    struct wl_library library;
    struct functions f;
    CUdevice device;
    CUcontext context;
    CUmodule module;
    CUfunction kernel;
    CUstream stream;
    CUevent begin;           /* before the first of a run's kernels */
    CUevent done[IN_FLIGHT]; /* behind each of the kernels that wait or run */
    unsigned blocks, rounds; /* of a kernel */
    double kernel_ms;        /* as last measured */
};

static int refused(const struct wl_cuda_load *l, const char *call, CUresult rc, struct wl_err *e)
{
    const char *why = NULL;
    if (l->f.GetErrorString(rc, &why) != CUDA_SUCCESS) why = NULL;
    bool absent = rc == CUDA_ERROR_NO_DEVICE || rc == CUDA_ERROR_INVALID_DEVICE;
    return wl_fail(e, absent ? WL_EUNAVAIL : WL_ELIB, "%s: cu%s: %s (%d)", l->library.path, call,
                   why ? why : "unknown error", rc);
}

/* Calls a function of the driver; from a function that returns a code. */
#define CUDA(l, name, ...)                                           \
    do {                                                             \
        CUresult rc_ = (l)->f.name(__VA_ARGS__);                     \
        if (rc_ != CUDA_SUCCESS) return refused((l), #name, rc_, e); \
    } while (0)

/* ---- Opening ---- */

static void release(void *load)
{
    struct wl_cuda_load *l = load;
    l->f.CtxSetCurrent(l->context);
    if (l->stream) l->f.StreamSynchronize(l->stream);
    if (l->begin) l->f.EventDestroy(l->begin);
    for (int i = 0; i < IN_FLIGHT; i++)
        if (l->done[i]) l->f.EventDestroy(l->done[i]);
    if (l->stream) l->f.StreamDestroy(l->stream);
    if (l->module) l->f.ModuleUnload(l->module);
    l->f.CtxSetCurrent(NULL);
    l->f.DevicePrimaryCtxRelease(l->device);
}

static int open_context(struct wl_cuda_load *l, const char *bus_id, struct wl_arena *a, struct wl_err *e)
{
    int multiprocessors = 0;
    CUDA(l, Init, 0);
    CUDA(l, DeviceGetByPCIBusId, &l->device, bus_id);
    CUDA(l, DeviceGetAttribute, &multiprocessors, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, l->device);
    CUDA(l, DevicePrimaryCtxRetain, &l->context, l->device);
    wl_defer(a, release, l);
    l->blocks = (unsigned)(multiprocessors * BLOCKS_A_MULTIPROCESSOR);
    CUDA(l, CtxSetCurrent, l->context);
    CUDA(l, ModuleLoadData, &l->module, wl_cuda_kernel);
    CUDA(l, ModuleGetFunction, &l->kernel, l->module, "wl_fma");
    CUDA(l, StreamCreate, &l->stream, CU_STREAM_NON_BLOCKING);
    CUDA(l, EventCreate, &l->begin, CU_EVENT_DEFAULT);
    for (int i = 0; i < IN_FLIGHT; i++) CUDA(l, EventCreate, &l->done[i], CU_EVENT_BLOCKING_SYNC);
    return 0;
}

static int launch(struct wl_cuda_load *l, CUevent behind, struct wl_err *e)
{
    void *nowhere = NULL; /* the kernel never stores */
    void *parameters[] = { &nowhere, &l->rounds };
    CUDA(l, LaunchKernel, l->kernel, l->blocks, 1, 1, THREADS, 1, 1, 0, l->stream, parameters, NULL);
    CUDA(l, EventRecord, behind, l->stream);
    return 0;
}

static const double KERNEL_MS = 0.5;
static const int64_t WARM_NS = WL_NS_PER_S / 2;
enum { TRIES = 5, FIRST_ROUNDS = 4000, MOST_ROUNDS = 100000000 };

/* How many rounds take KERNEL_MS. The clocks of a GPU at rest come up within the first tenths of a second. */
static int size_kernel(struct wl_cuda_load *l, struct wl_err *e)
{
    float ms = 0;
    l->rounds = FIRST_ROUNDS;
    for (int i = 0; i < TRIES; i++) {
        int64_t began_ns, ended_ns;
        CUDA(l, EventRecord, l->begin, l->stream);
        int rc = launch(l, l->done[0], e);
        if (rc < 0) return rc;
        CUDA(l, EventSynchronize, l->done[0]);
        CUDA(l, EventElapsedTime, &ms, l->begin, l->done[0]);
        l->kernel_ms = fmax(ms, 1e-3);
        l->rounds = (unsigned)fmax(1, fmin(MOST_ROUNDS, l->rounds * KERNEL_MS / l->kernel_ms));
        rc = wl_cuda_load_run(l, wl_now_ns() + WARM_NS / TRIES, &began_ns, &ended_ns, e);
        if (rc < 0) return rc;
    }
    return 0;
}

int wl_cuda_load_open(struct wl_cuda_load **out, const char *named, const char *bus_id, struct wl_arena *a,
                      struct wl_err *e)
{
    static const char *const names[] = { "libcuda.so.1", NULL };
    struct wl_cuda_load *l = wl_new(a, struct wl_cuda_load);
    if (!named) named = getenv("CUDA_DRIVER_LIBRARY");
    int rc = wl_library_open(&l->library, named, names, symbols, WL_COUNT(symbols), &l->f, a, e);
    if (rc < 0) return wl_err_prefix(e, "the load needs the CUDA driver");
    rc = open_context(l, bus_id, a, e);
    if (rc == 0) rc = size_kernel(l, e);
    if (rc == 0) *out = l;
    return rc;
}

bool wl_cuda_load_simulated(const struct wl_cuda_load *l) { return l->library.simulated; }

/* ---- Running ---- */

/* As many kernels as take that long. How long they took is the GPU's own account: this thread may be woken late. */
int wl_cuda_load_run(struct wl_cuda_load *l, int64_t until_ns, int64_t *began_ns, int64_t *ended_ns, struct wl_err *e)
{
    float ms = 0;
    int rc = 0;
    int64_t before = wl_now_ns();
    double kernels = fmax(1, round((double)(until_ns - before) / 1e6 / l->kernel_ms));
    CUDA(l, EventRecord, l->begin, l->stream);
    *began_ns = before + (wl_now_ns() - before) / 2;
    for (unsigned n = 0; rc == 0 && n < kernels; n++) {
        if (n >= IN_FLIGHT) CUDA(l, EventSynchronize, l->done[n % IN_FLIGHT]);
        rc = launch(l, l->done[n % IN_FLIGHT], e);
    }
    if (rc < 0) return rc;
    CUDA(l, StreamSynchronize, l->stream);
    CUDA(l, EventElapsedTime, &ms, l->begin, l->done[((unsigned)kernels - 1) % IN_FLIGHT]);
    *ended_ns = *began_ns + (int64_t)(ms * 1e6f);
    return 0;
}
