/* A fake libcuda.so.1 whose kernels are those of tests/gpu/sim: the file that $WATTLAW_KERNELS names says, in its
 * second line, where the library of simulated kernels is; the first is "wattlaw simulated kernels". It refuses what a
 * real driver may let pass: a launch whose arguments have another size than the kernel's struct, calls without a
 * context or after a fork, pageable memory in a graph. Settings in $WATTLAW_FAKE_GPU, words separated by ';' (default):
 *
 *     init=CODE (0)  version=13000  devices=1  capability=90  multiprocessors=4  memory_mb=4096  used_mb=0  seed=1
 *     clock_khz=1980000  memory_khz=2619000  bus_bits=5120
 *     lacks_kernels=1                 modules have no functions
 *     fault_at=N fault=CODE (719)     the GPU fails at the N-th kernel; every later call returns the code */
#include "fake.h"

#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Marks this library as a simulation. */
FAKE_API const char wattlaw_simulated[] = "simulated";

struct CUctx_st {
    CUdevice device;
};
struct CUmod_st {
    void *library;
    wl_sim_launch_fn *launch;
};
struct CUfunc_st {
    const struct wl_sim_kernel *kernel;
    wl_sim_launch_fn *launch;
    long shared_limit;
    struct CUfunc_st *next;
};

enum { SHARED_WITHOUT_ASKING = 48 << 10 };

struct fake_counts fake_counts;
CUresult fake_failed;

static struct CUctx_st context;
static _Thread_local CUcontext current;
static pid_t initialised_in; /* process; 0: not */

long fake_key(const char *name, long fallback)
{
    const char *at = getenv("WATTLAW_FAKE_GPU");
    const size_t n = strlen(name);
    for (; at && *at; at = strchr(at, ';'), at = at ? at + 1 : NULL)
        if (!strncmp(at, name, n) && at[n] == '=') return atol(at + n + 1);
    return fallback;
}

CUresult fake_refuse(CUresult code, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    fputs("fake libcuda: ", stderr);
    vfprintf(stderr, fmt, ap);
    fputs("\n", stderr);
    va_end(ap);
    return code;
}

CUresult fake_usable(void)
{
    if (fake_failed) return fake_failed;
    if (!initialised_in) return CUDA_ERROR_NOT_INITIALIZED;
    if (initialised_in != getpid()) return fake_refuse(CUDA_ERROR_NOT_INITIALIZED, "cuInit was called before a fork");
    return current ? CUDA_SUCCESS : fake_refuse(CUDA_ERROR_INVALID_CONTEXT, "this thread has no context");
}

long wl_fake_count(const char *what)
{
    const struct {
        const char *name;
        long n;
    } all[] = { { "allocations", fake_counts.allocations },
                { "waits", fake_counts.waits },
                { "launches", fake_counts.launches },
                { "graphs", fake_counts.graphs } };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (!strcmp(what, all[i].name)) return all[i].n;
    return -1;
}

/* ---- the device ---- */

FAKE_API CUresult cuInit(unsigned flags)
{
    (void)flags;
    if (fake_key("init", 0)) return (CUresult)fake_key("init", 0);
    if (initialised_in && initialised_in != getpid()) return fake_usable();
    initialised_in = getpid();
    return fake_key("devices", 1) ? CUDA_SUCCESS : CUDA_ERROR_NO_DEVICE;
}

FAKE_API CUresult cuGetErrorString(CUresult rc, const char **out)
{
    static const struct {
        CUresult rc;
        const char *text;
    } texts[] = {
        { CUDA_ERROR_INVALID_VALUE, "invalid argument" },
        { CUDA_ERROR_OUT_OF_MEMORY, "out of memory" },
        { CUDA_ERROR_NOT_INITIALIZED, "initialization error" },
        { CUDA_ERROR_NO_DEVICE, "no CUDA-capable device is detected" },
        { CUDA_ERROR_INVALID_IMAGE, "device kernel image is invalid" },
        { CUDA_ERROR_NO_BINARY_FOR_GPU, "no kernel image is available for execution on the device" },
        { CUDA_ERROR_ECC_UNCORRECTABLE, "uncorrectable ECC error encountered" },
        { CUDA_ERROR_NOT_FOUND, "named symbol not found" },
        { CUDA_ERROR_ILLEGAL_ADDRESS, "an illegal memory access was encountered" },
        { CUDA_ERROR_LAUNCH_FAILED, "unspecified launch failure" },
        { CUDA_ERROR_SYSTEM_DRIVER_MISMATCH, "system has unsupported display driver / cuda driver combination" },
        { CUDA_ERROR_UNKNOWN, "unknown error" },
    };
    *out = NULL;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (texts[i].rc == rc) *out = texts[i].text;
    return *out ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

FAKE_API CUresult cuDriverGetVersion(int *out)
{
    *out = (int)fake_key("version", 13000);
    return CUDA_SUCCESS;
}

FAKE_API CUresult cuDeviceGetCount(int *out)
{
    *out = (int)fake_key("devices", 1);
    return CUDA_SUCCESS;
}

FAKE_API CUresult cuDeviceGet(CUdevice *out, int i)
{
    *out = i;
    return i >= 0 && i < fake_key("devices", 1) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}

FAKE_API CUresult cuDeviceGetByPCIBusId(CUdevice *out, const char *id)
{
    return sscanf(id, "%*x:%x", (unsigned *)out) == 1 ? cuDeviceGet(out, --*out) : CUDA_ERROR_INVALID_VALUE;
}

FAKE_API CUresult cuDeviceGetPCIBusId(char *out, int n, CUdevice d)
{
    snprintf(out, (size_t)n, "0000:%02X:00.0", d + 1);
    return CUDA_SUCCESS;
}

FAKE_API CUresult cuDeviceGetName(char *out, int n, CUdevice d)
{
    (void)d;
    snprintf(out, (size_t)n, "simulated GPU");
    return CUDA_SUCCESS;
}

FAKE_API CUresult cuDeviceGetUuid(CUuuid *out, CUdevice d)
{
    for (int i = 0; i < 16; i++) out->bytes[i] = (char)(16 * d + i);
    return CUDA_SUCCESS;
}

static long shared_limit(void)
{
    return (fake_key("capability", 90) >= 90 ? 227 : fake_key("capability", 90) >= 80 ? 99 : 64) << 10;
}

FAKE_API CUresult cuDeviceGetAttribute(int *out, int attribute, CUdevice d)
{
    (void)d;
    const long capability = fake_key("capability", 90);
    switch (attribute) {
    case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT: *out = (int)fake_key("multiprocessors", 4); return CUDA_SUCCESS;
    case CU_DEVICE_ATTRIBUTE_CLOCK_RATE: *out = (int)fake_key("clock_khz", 1980000); return CUDA_SUCCESS;
    case CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE: *out = (int)fake_key("memory_khz", 2619000); return CUDA_SUCCESS;
    case CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH: *out = (int)fake_key("bus_bits", 5120); return CUDA_SUCCESS;
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR: *out = (int)(capability / 10); return CUDA_SUCCESS;
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR: *out = (int)(capability % 10); return CUDA_SUCCESS;
    case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN: *out = (int)shared_limit(); return CUDA_SUCCESS;
    default: return fake_refuse(CUDA_ERROR_INVALID_VALUE, "attribute %d of a device is not simulated", attribute);
    }
}

FAKE_API CUresult cuDevicePrimaryCtxRetain(CUcontext *out, CUdevice d)
{
    if (initialised_in != getpid()) return fake_usable();
    context.device = d; /* one at a time */
    *out = &context;
    return fake_failed;
}

FAKE_API CUresult cuDevicePrimaryCtxRelease_v2(CUdevice d)
{
    (void)d;
    return CUDA_SUCCESS;
}

FAKE_API CUresult cuCtxSetCurrent(CUcontext c)
{
    current = c;
    return c ? fake_usable() : CUDA_SUCCESS;
}

FAKE_API CUresult cuCtxGetDevice(CUdevice *out)
{
    *out = context.device;
    return current ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
}

/* ---- kernels ---- */

FAKE_API CUresult cuModuleLoadData(CUmodule *out, const void *image)
{
    static const char title[] = "wattlaw simulated kernels\n";
    char path[4096];
    const CUresult rc = fake_usable();
    *out = NULL;
    if (rc) return rc;
    if (strncmp(image, title, sizeof title - 1) != 0) return CUDA_ERROR_NO_BINARY_FOR_GPU;
    snprintf(path, sizeof path, "%s", (const char *)image + sizeof title - 1);
    path[strcspn(path, "\n")] = 0;
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library) return fake_refuse(CUDA_ERROR_INVALID_IMAGE, "%s", dlerror());
    *out = calloc(1, sizeof **out);
    (*out)->library = library;
    (*out)->launch = (wl_sim_launch_fn *)dlsym(library, "wl_sim_launch");
    return (*out)->launch ? CUDA_SUCCESS : fake_refuse(CUDA_ERROR_INVALID_IMAGE, "%s has no wl_sim_launch", path);
}

static struct CUfunc_st *functions;

__attribute__((destructor)) static void free_functions(void)
{
    while (functions) {
        struct CUfunc_st *f = functions;
        functions = f->next;
        free(f);
    }
}

/* Functions of all modules stay to the end of the process: launches that wait may name them. */
FAKE_API CUresult cuModuleUnload(CUmodule m)
{
    free(m);
    return CUDA_SUCCESS;
}

FAKE_API CUresult cuModuleGetFunction(CUfunction *out, CUmodule m, const char *name)
{
    char symbol[256];
    snprintf(symbol, sizeof symbol, "wl_sim_kernel_%s", name);
    const struct wl_sim_kernel *kernel = dlsym(m->library, symbol);
    *out = NULL;
    if (!kernel || fake_key("lacks_kernels", 0)) return CUDA_ERROR_NOT_FOUND;
    for (struct CUfunc_st *f = functions; f; f = f->next)
        if (f->kernel == kernel) return *out = f, CUDA_SUCCESS;
    *out = calloc(1, sizeof **out);
    **out = (struct CUfunc_st) { kernel, m->launch, SHARED_WITHOUT_ASKING, functions };
    functions = *out;
    return CUDA_SUCCESS;
}

FAKE_API CUresult cuFuncSetAttribute(CUfunction f, int attribute, int value)
{
    if (attribute != CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES)
        return fake_refuse(CUDA_ERROR_INVALID_VALUE, "attribute %d of a function is not simulated", attribute);
    if (value < 0 || value > shared_limit())
        return fake_refuse(CUDA_ERROR_INVALID_VALUE, "%s: %d bytes of shared memory, the device has %ld",
                           f->kernel->name, value, shared_limit());
    f->shared_limit = value;
    return fake_usable();
}

/* The one block of arguments in `extra`; NULL: it is not written so, or of another size. */
static const void *arguments(const struct CUfunc_st *f, void **extra)
{
    if (!extra || extra[0] != CU_LAUNCH_PARAM_BUFFER_POINTER || extra[2] != CU_LAUNCH_PARAM_BUFFER_SIZE ||
        extra[4] != CU_LAUNCH_PARAM_END) {
        fake_refuse(0, "%s: arguments are expected in `extra`: pointer, size, end", f->kernel->name);
        return NULL;
    }
    const size_t n = *(const size_t *)extra[3];
    if (n == f->kernel->bytes) return extra[1];
    fake_refuse(0, "%s: %zu bytes of arguments, its struct has %zu", f->kernel->name, n, f->kernel->bytes);
    return NULL;
}

static bool grid_fits(const char *name, const unsigned grid[3])
{
    if (grid[0] && grid[0] <= 0x7fffffffu && grid[1] && grid[1] <= 65535 && grid[2] && grid[2] <= 65535) return true;
    fake_refuse(0, "%s: a grid of %u, %u, %u blocks", name, grid[0], grid[1], grid[2]);
    return false;
}

/* Whole warps, so that shuffles have all their lanes. */
static bool block_fits(const struct wl_sim_kernel *k, unsigned x, unsigned y, unsigned z)
{
    if (x && x <= k->threads && x % 32 == 0 && y == 1 && z == 1) return true;
    fake_refuse(0, "%s: blocks of %u, %u, %u threads, it is built for %u", k->name, x, y, z, k->threads);
    return false;
}

FAKE_API CUresult cuLaunchKernel(CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                                 unsigned bz, unsigned shared_bytes, CUstream s, void **parameters, void **extra)
{
    const unsigned grid[3] = { gx, gy, gz };
    const void *args = arguments(f, extra);
    if (!args || parameters || !grid_fits(f->kernel->name, grid) || !block_fits(f->kernel, bx, by, bz))
        return CUDA_ERROR_INVALID_VALUE;
    if (shared_bytes > f->shared_limit)
        return fake_refuse(CUDA_ERROR_INVALID_VALUE, "%s: %u bytes of shared memory, its limit is %ld", f->kernel->name,
                           shared_bytes, f->shared_limit);
    const size_t n = f->kernel->bytes;
    void *copy = aligned_alloc(16, (n + 15) / 16 * 16);
    memcpy(copy, args, n);
    const struct fake_op op = { .kind = FAKE_LAUNCH,
                                .arg = (void *)f->launch,
                                .launch = { f->kernel, copy, { gx, gy, gz }, bx, shared_bytes } };
    return fake_push(s, op);
}

/* ---- copies ---- */

static void *at(CUdeviceptr p) { return (void *)(uintptr_t)p; }

static CUresult copy(CUstream s, void *to, const void *from, size_t n, const void *on_host)
{
    if (on_host && fake_stream_captured(s) && !fake_page_locked(on_host, n))
        return fake_invalidate_captures("a copy of pageable memory");
    return fake_push(s, (struct fake_op) { .kind = FAKE_COPY, .to = to, .from = from, .n = n });
}

FAKE_API CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void *from, size_t n, CUstream s)
{
    if (!fake_on_device(at(to), n) || fake_on_device(from, 1))
        return fake_refuse(CUDA_ERROR_INVALID_VALUE, "a copy of %zu bytes to what is not the device's memory", n);
    if (fake_page_locked(from, n) && !fake_stream_captured(s))
        return fake_push(s, (struct fake_op) {
                                .kind = FAKE_COPY, .to = at(to), .from = from, .n = n, .hash = fake_hash(from, n) });
    return copy(s, at(to), from, n, from);
}

FAKE_API CUresult cuMemcpyDtoHAsync_v2(void *to, CUdeviceptr from, size_t n, CUstream s)
{
    if (!fake_on_device(at(from), n) || fake_on_device(to, 1))
        return fake_refuse(CUDA_ERROR_INVALID_VALUE, "a copy of %zu bytes from what is not the device's memory", n);
    return copy(s, to, at(from), n, to);
}

FAKE_API CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from, size_t n, CUstream s)
{
    if (!fake_on_device(at(to), n) || !fake_on_device(at(from), n))
        return fake_refuse(CUDA_ERROR_INVALID_VALUE, "a copy of %zu bytes within what is not the device's memory", n);
    return copy(s, at(to), at(from), n, NULL);
}

FAKE_API CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char byte, size_t n, CUstream s)
{
    if (!fake_on_device(at(to), n))
        return fake_refuse(CUDA_ERROR_INVALID_VALUE, "%zu bytes are set in what is not the device's memory", n);
    return fake_push(s, (struct fake_op) { .kind = FAKE_SET, .to = at(to), .byte = byte, .n = n });
}
