/* A fake libcuda.so.1: launched kernels load the GPUs of the fake NVML's world ($WATTLAW_FAKE_NVML, "world=FILE"). A
 * kernel takes 1 us per 16 of its rounds; kernels of a GPU run one after the other. Keys in $WATTLAW_FAKE_CUDA, words
 * separated by ';':
 *
 *     init=100            cuInit fails with this code
 *     fail_at=20          the launch with that number fails
 */
#include "cuda/api.h"
#include "world.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Marks this library as a simulation. */
const char wattlaw_simulated[] = "simulated";

struct CUctx_st {
    int unused;
};
struct CUevent_st {
    int64_t done_ns; /* when all earlier work is done */
};

static struct {
    struct fake_world *world;
    int gpu, launches;
    int64_t busy_until_ns; /* the end of the launched work, 0: none */
    int working;           /* the GPU is busy in the world */
    struct CUctx_st context;
} cuda;

static int64_t key(const char *name, int64_t fallback)
{
    const char *script = getenv("WATTLAW_FAKE_CUDA"), *at = script ? strstr(script, name) : NULL;
    return at ? atoll(at + strlen(name)) : fallback;
}

/* ---- The load ---- */

static void set_load(struct fake_input *in, const void *to)
{
    in->shape = FAKE_CONSTANT;
    in->high = *(const double *)to;
}

static void put_load(int64_t t_ns, double load)
{
    fake_world_change(cuda.world, cuda.gpu, t_ns, set_load, &load);
    cuda.working = load > 0;
}

/* Ends the load if the launched work is done. */
static void rest_if_done(int64_t now_ns)
{
    if (cuda.working && now_ns >= cuda.busy_until_ns) put_load(cuda.busy_until_ns, 0);
}

static void wait_until(int64_t t_ns)
{
    struct timespec at = { t_ns / 1000000000, t_ns % 1000000000 };
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL) == EINTR) continue;
    rest_if_done(t_ns);
}

CUresult cuLaunchKernel(CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                        unsigned shared, CUstream stream, void **parameters, void **extra)
{
    (void)f, (void)gx, (void)gy, (void)gz, (void)bx, (void)by, (void)bz, (void)shared, (void)stream, (void)extra;
    int64_t now = fake_now_ns(), rounds = *(const unsigned *)parameters[1];
    if (++cuda.launches == key("fail_at=", -1)) return 700; /* CUDA_ERROR_ILLEGAL_ADDRESS */
    rest_if_done(now);
    if (!cuda.working) put_load(now, 1);
    cuda.busy_until_ns = (cuda.busy_until_ns > now ? cuda.busy_until_ns : now) + rounds * 1000 / 16;
    return CUDA_SUCCESS;
}

/* ---- The rest of the driver ---- */

CUresult cuInit(unsigned flags)
{
    (void)flags;
    const char *path = fake_world_path(getenv("WATTLAW_FAKE_NVML"));
    if (key("init=", 0)) return (CUresult)key("init=", 0);
    cuda.world = path ? fake_world_find(path) : NULL;
    return cuda.world ? CUDA_SUCCESS : CUDA_ERROR_NO_DEVICE;
}

CUresult cuGetErrorString(CUresult rc, const char **out)
{
    *out = rc == CUDA_ERROR_NO_DEVICE        ? "no CUDA-capable device is detected"
           : rc == CUDA_ERROR_INVALID_DEVICE ? "invalid device ordinal"
                                             : "an illegal memory access was encountered";
    return CUDA_SUCCESS;
}

CUresult cuDeviceGetByPCIBusId(CUdevice *out, const char *bus_id)
{
    unsigned domain, bus;
    if (sscanf(bus_id, "%x:%x:", &domain, &bus) != 2 || bus < 1 || (int)bus > cuda.world->gpus)
        return CUDA_ERROR_INVALID_DEVICE;
    *out = cuda.gpu = (int)bus - 1;
    return CUDA_SUCCESS;
}

CUresult cuDeviceGetAttribute(int *out, int attribute, CUdevice d)
{
    (void)d;
    if (attribute != CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT) return CUDA_ERROR_INVALID_VALUE;
    *out = 108;
    return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxRetain(CUcontext *out, CUdevice d)
{
    (void)d;
    *out = &cuda.context;
    return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxRelease_v2(CUdevice d)
{
    (void)d;
    return CUDA_SUCCESS;
}

static _Thread_local CUcontext current;

CUresult cuCtxSetCurrent(CUcontext c)
{
    current = c;
    return CUDA_SUCCESS;
}

CUresult cuModuleLoadData(CUmodule *out, const void *image)
{
    *out = NULL;
    if (!current) return CUDA_ERROR_INVALID_CONTEXT;
    return strstr(image, ".entry wl_fma(") ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuModuleUnload(CUmodule m)
{
    (void)m;
    return CUDA_SUCCESS;
}

CUresult cuModuleGetFunction(CUfunction *out, CUmodule m, const char *name)
{
    (void)m, (void)name;
    *out = NULL;
    return CUDA_SUCCESS;
}

CUresult cuStreamCreate(CUstream *out, unsigned flags)
{
    (void)flags;
    *out = NULL;
    return current ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
}

CUresult cuStreamDestroy_v2(CUstream s)
{
    (void)s;
    return CUDA_SUCCESS;
}

CUresult cuStreamSynchronize(CUstream s)
{
    (void)s;
    wait_until(cuda.busy_until_ns);
    return CUDA_SUCCESS;
}

CUresult cuEventCreate(CUevent *out, unsigned flags)
{
    (void)flags;
    *out = calloc(1, sizeof **out);
    return CUDA_SUCCESS;
}

CUresult cuEventDestroy_v2(CUevent event)
{
    free(event);
    return CUDA_SUCCESS;
}

CUresult cuEventRecord(CUevent event, CUstream s)
{
    (void)s;
    int64_t now = fake_now_ns();
    event->done_ns = cuda.busy_until_ns > now ? cuda.busy_until_ns : now;
    return CUDA_SUCCESS;
}

CUresult cuEventSynchronize(CUevent event)
{
    wait_until(event->done_ns);
    return CUDA_SUCCESS;
}

CUresult cuEventElapsedTime(float *ms, CUevent from, CUevent to)
{
    *ms = (float)((double)(to->done_ns - from->done_ns) / 1e6);
    return CUDA_SUCCESS;
}
