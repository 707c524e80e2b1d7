/* The back-end on NVIDIA's GPUs: CUDA's driver and libraries, opened at run time, and own kernels (docs/adr/121).
 *
 * Nothing here calls CUDA before a plan is made: ranks are forked before that, and CUDA does not survive a fork. */
#include "nn/gpu/gpu.h"

#include "nn/gpu/internal.h"
#include "nn/gpu/layout.h"
#include "nn/gpu/plain.h"

#include <stdio.h>

/* ---- the device ---- */

static void release_context(void *gpu)
{
    struct wl_gpu *g = gpu;
    g->cuda.CtxSetCurrent(NULL);
    g->cuda.DevicePrimaryCtxRelease(g->device);
}

static int open_driver(struct wl_gpu *g, struct wl_err *e)
{
    int rc = wl_cuda_open(&g->cuda, NULL, g->arena, e);
    if (rc == WL_EUNAVAIL)
        return wl_err_prefix(e, "back-end gpu needs NVIDIA's driver (525 or newer), which has libcuda.so.1");
    if (rc) return rc;
    WL_CUDA_CALL(&g->cuda, Init, 0);
    return wl_cuda_trains(&g->cuda, e);
}

static void format_uuid(const CUuuid *u, char *to, size_t n)
{
    unsigned char b[16];
    for (int i = 0; i < 16; i++) b[i] = (unsigned char)u->bytes[i];
    snprintf(to, n, "GPU-%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x", b[0], b[1], b[2], b[3],
             b[4], b[5], b[6], b[7], b[8], b[9], b[10], b[11], b[12], b[13], b[14], b[15]);
}

static int read_facts(struct wl_gpu *g, struct wl_err *e)
{
    int major = 0, minor = 0;
    CUuuid uuid;
    const CUdevice d = g->device;
    WL_CUDA_CALL(&g->cuda, DeviceGetName, g->name, (int)sizeof g->name, d);
    WL_CUDA_CALL(&g->cuda, DeviceGetUuid, &uuid, d);
    WL_CUDA_CALL(&g->cuda, DeviceGetPCIBusId, g->bus, (int)sizeof g->bus, d);
    WL_CUDA_CALL(&g->cuda, DeviceTotalMem, &g->memory_bytes, d);
    WL_CUDA_CALL(&g->cuda, DeviceGetAttribute, &g->multiprocessors, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, d);
    WL_CUDA_CALL(&g->cuda, DeviceGetAttribute, &major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, d);
    WL_CUDA_CALL(&g->cuda, DeviceGetAttribute, &minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, d);
    format_uuid(&uuid, g->uuid, sizeof g->uuid);
    g->capability = 10 * major + minor;
    return 0;
}

/* Of those that this process may see ($CUDA_VISIBLE_DEVICES), counted around where ranks are more. */
static int find_device(struct wl_gpu *g, int node_rank, int *count, struct wl_err *e)
{
    WL_CUDA_CALL(&g->cuda, DeviceGetCount, count);
    if (*count < 1) return wl_fail(e, WL_EUNAVAIL, "the driver is there, but no GPU that this process may see");
    WL_CUDA_CALL(&g->cuda, DeviceGet, &g->device, node_rank % *count);
    return 0;
}

static int open_device(struct wl_gpu *g, struct wl_err *e)
{
    WL_CUDA_CALL(&g->cuda, DevicePrimaryCtxRetain, &g->context, g->device);
    wl_defer(g->arena, release_context, g);
    WL_CUDA_CALL(&g->cuda, CtxSetCurrent, g->context);
    return read_facts(g, e);
}

static int check_capability(const struct wl_gpu *g, const struct wl_program *p, struct wl_err *e)
{
    const int least = p->precision == WL_BF16 || p->tf32 ? 80 : 70;
    if (g->capability >= least) return 0;
    return wl_fail(e, WL_EUNAVAIL, "%s has compute capability %d.%d; %s needs %d.%d", g->name, g->capability / 10,
                   g->capability % 10, p->tf32 ? "tf32" : wl_dtype_name(p->precision), least / 10, least % 10);
}

static int open_gpu(struct wl_program *p, int threads, struct wl_err *e)
{
    struct wl_gpu *g = wl_new(p->arena, struct wl_gpu);
    g->arena = p->arena;
    g->state = wl_new(p->arena, struct wl_gpu_state);
    g->state->program = p;
    g->state->threads = threads ? threads : 1;
    p->device = g;
    int count, rc = open_driver(g, e);
    if (!rc) rc = find_device(g, p->node_rank, &count, e);
    if (!rc) rc = open_device(g, e);
    if (!rc) rc = check_capability(g, p, e);
    if (!rc) rc = wl_gpu_load_kernels(g, e);
    return rc ? rc : wl_gpu_open_state(g, e);
}

static int describe(struct wl_gpu *g, int node_rank, struct wl_backend_device *out, struct wl_err *e)
{
    int rc = open_driver(g, e);
    if (!rc) rc = find_device(g, node_rank, &out->count, e);
    if (!rc) rc = read_facts(g, e);
    if (rc) return rc;
    out->number = node_rank % out->count;
    snprintf(out->name, sizeof out->name, "%s", g->name);
    snprintf(out->uuid, sizeof out->uuid, "%s", g->uuid);
    snprintf(out->bus, sizeof out->bus, "%s", g->bus);
    return 0;
}

/* A rank's process calls it, which computes on that GPU afterwards. */
static int locate(int node_rank, struct wl_backend_device *out, struct wl_err *e)
{
    struct wl_gpu g = { .arena = wl_arena_new(NULL) };
    int rc = describe(&g, node_rank, out, e);
    wl_arena_free(g.arena);
    return rc;
}

/* ---- the row ---- */

static const struct wl_op_rules *const rules[WL_OP_COUNT] = {
#define RULES(op, name, ...) [WL_OP_##op] = &wl_gpu_op_##name,
    WL_OPS(RULES)
#undef RULES
};

static const char *library(struct wl_arena *a)
{
    (void)a;
    return "CUDA";
}

/* Chosen by name alone: its speed has not been measured on a GPU, and a machine with one may lack a library. */
const struct wl_backend wl_backend_gpu = {
    .row = { .name = "gpu",
             .help = "one NVIDIA GPU: CUDA's libraries and kernels of this project",
             .by_name = true,
             .gpus = true },
    .library = library,
    .f16 = true,
    .tf32 = true,
    .device = &wl_gpu_device,
    .open = open_gpu,
    .choose = wl_gpu_autotune,
    .locate = locate,
    .rules = rules,
    .own_kernel = "own kernel",
    .sum = wl_gpu_sum,
    .reorder = wl_gpu_reorder,
    .layout_name = wl_gpu_layout_name,
    .read = wl_gpu_read,
    .write = wl_gpu_write,
};
