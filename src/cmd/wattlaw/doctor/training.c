/* What wattlaw-train --backend gpu needs: the driver, NVIDIA's libraries, own kernels, GPUs. Nothing here needs a build
 * with the training engine. */
#include "cmd/wattlaw/doctor/doctor.h"

#include "cuda/cuda.h"
#include "cuda/kernels_file.h"
#include "cuda/libraries.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { DRIVER, FIRST_LIBRARY, KERNELS = FIRST_LIBRARY + WL_GPU_LIBRARIES };
_Static_assert(KERNELS + 1 == WL_DOCTOR_PARTS, "parts");

/* ---- the driver ---- */

static const char no_gpus[] =
    "the driver finds none that this process may use (CUDA_VISIBLE_DEVICES, cgroup of the job)";

static int open_driver(struct wl_cuda *cuda, const char *library, struct wl_doctor_training *t, struct wl_arena *a,
                       struct wl_err *e)
{
    struct wl_doctor_part *part = &t->part[DRIVER];
    int version = 0, rc = wl_cuda_open(cuda, library, a, e);
    if (rc == WL_EUNAVAIL) return wl_err_prefix(e, "install NVIDIA's driver 525 or a newer one");
    if (rc) return rc;
    part->path = cuda->library.path;
    if (cuda->DriverGetVersion && !cuda->DriverGetVersion(&version))
        snprintf(part->version, sizeof part->version, "CUDA %d.%d", version / 1000, version / 10 % 100);
    const CUresult began = cuda->Init(0);
    if (began == CUDA_ERROR_NO_DEVICE) t->no_gpus = no_gpus; /* the driver works */
    if (began && began != CUDA_ERROR_NO_DEVICE) return wl_cuda_fail(cuda, "Init", began, e);
    return wl_cuda_trains(cuda, e);
}

/* ---- libraries, kernels ---- */

static void find_library(enum wl_gpu_library_kind k, int cuda, struct wl_doctor_part *part, struct wl_arena *a)
{
    struct wl_gpu_library_facts f;
    struct wl_err e = { 0 };
    part->name = wl_gpu_library_of(k, cuda, NULL, 0).name;
    if (wl_gpu_library_find(k, cuda, &f, a, &e)) part->why = wl_strdup(a, e.msg);
    part->path = f.path;
    if (f.version)
        snprintf(part->version, sizeof part->version, "%d.%d.%d", f.version / 10000, f.version / 100 % 100,
                 f.version % 100);
}

static void find_kernels(struct wl_doctor_training *t, struct wl_doctor_part *part, struct wl_arena *a)
{
    struct wl_err e = { 0 };
    part->name = "kernels";
    int rc = wl_gpu_kernels_find(&part->path, a, &e);
    if (!rc) rc = wl_gpu_kernels_targets(part->path, &t->targets, a, &e);
    if (rc) part->why = wl_strdup(a, e.msg);
}

/* Machine code serves GPUs of its major version from its minor on, PTX all from its version on. */
static bool target_serves(const char *target, int capability)
{
    const char *digits = strchr(target, '_');
    const int version = digits ? atoi(digits + 1) : 0;
    return wl_str_starts(target, "sm_") ? version / 10 == capability / 10 && version <= capability
                                        : version <= capability;
}

static bool has_kernels(const struct wl_strs *targets, int capability)
{
    for (size_t i = 0; i < targets->n; i++)
        if (target_serves(targets->v[i], capability)) return true;
    return false;
}

/* ---- GPUs ---- */

/* Only a context knows it. */
static double free_bytes(const struct wl_cuda *cuda, CUdevice d)
{
    CUcontext context;
    size_t left = 0, total;
    if (cuda->DevicePrimaryCtxRetain(&context, d)) return NAN;
    const bool known = !cuda->CtxSetCurrent(context) && !cuda->MemGetInfo(&left, &total);
    cuda->CtxSetCurrent(NULL);
    cuda->DevicePrimaryCtxRelease(d);
    return known ? (double)left : NAN;
}

static void read_gpu(const struct wl_cuda *cuda, int i, const struct wl_strs *targets, struct wl_doctor_gpu *g)
{
    CUdevice d;
    size_t total;
    int major = 0, minor = 0;
    *g = (struct wl_doctor_gpu) { .memory_bytes = NAN, .free_bytes = NAN };
    if (cuda->DeviceGet(&d, i)) return;
    if (cuda->DeviceGetName(g->name, (int)sizeof g->name, d)) g->name[0] = 0;
    if (!cuda->DeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, d) &&
        !cuda->DeviceGetAttribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, d))
        g->capability = 10 * major + minor;
    if (!cuda->DeviceTotalMem(&total, d)) g->memory_bytes = (double)total;
    g->free_bytes = free_bytes(cuda, d);
    g->has_kernels = has_kernels(targets, g->capability);
}

static int read_gpus(const struct wl_cuda *cuda, struct wl_doctor_training *t, struct wl_arena *a, struct wl_err *e)
{
    int n = 0;
    WL_CUDA_CALL(cuda, DeviceGetCount, &n);
    if (n < 1) return wl_fail(e, WL_EUNAVAIL, "%s", no_gpus);
    struct wl_doctor_gpu *gpus = wl_new_array(a, struct wl_doctor_gpu, (size_t)n);
    for (int i = 0; i < n; i++) read_gpu(cuda, i, &t->targets, &gpus[i]);
    t->gpus = gpus;
    t->n_gpus = n;
    return 0;
}

void wl_doctor_training_find(struct wl_doctor_training *t, const char *library, struct wl_arena *a)
{
    struct wl_cuda cuda;
    struct wl_err e = { 0 };
    struct wl_doctor_part *driver = &t->part[DRIVER];
    driver->name = "driver";
    if (open_driver(&cuda, library, t, a, &e)) driver->why = wl_strdup(a, e.msg);
    const int version = driver->path ? wl_cuda_major(&cuda) : 0;
    for (int k = 0; k < WL_GPU_LIBRARIES; k++)
        find_library((enum wl_gpu_library_kind)k, version, &t->part[FIRST_LIBRARY + k], a);
    find_kernels(t, &t->part[KERNELS], a);
    if (!driver->why && !t->no_gpus && read_gpus(&cuda, t, a, &e)) t->no_gpus = wl_strdup(a, e.msg);
}

/* ---- text ---- */

static void print_gpu(const struct wl_doctor_gpu *g, int i, const struct wl_strs *targets, struct wl_arena *a)
{
    wl_print("  GPU %d: %s, compute capability %d.%d", i, g->name, g->capability / 10, g->capability % 10);
    if (!isnan(g->memory_bytes)) wl_print(", %s of memory", wl_human_bytes(a, g->memory_bytes));
    if (!isnan(g->free_bytes)) wl_print(", %s of them free", wl_human_bytes(a, g->free_bytes));
    wl_print("%s\n", targets->n && !g->has_kernels ? ": the kernels are not for it" : "");
}

void wl_doctor_training_print(const struct wl_doctor_training *t, struct wl_arena *a)
{
    wl_print("\nTraining on GPUs (wattlaw-train --backend gpu)\n");
    for (int i = 0; i < WL_DOCTOR_PARTS; i++) {
        const struct wl_doctor_part *p = &t->part[i];
        wl_print("  %-10s %s", p->name, p->why ? "no" : "yes");
        if (p->path) wl_print("%*s%s%s%s", p->why ? 6 : 5, "", p->version, *p->version ? ", " : "", p->path);
        for (size_t k = 0; i == KERNELS && k < t->targets.n; k++) wl_print("%s %s", k ? "," : " for", t->targets.v[k]);
        wl_print("\n");
        if (p->why) wl_print("  %19s%s\n", "", p->why);
    }
    for (int i = 0; i < t->n_gpus; i++) print_gpu(&t->gpus[i], i, &t->targets, a);
    if (t->no_gpus) wl_print("  no GPU: %s\n", t->no_gpus);
}

/* ---- JSON ---- */

void wl_doctor_training_json(const struct wl_doctor_training *t, struct wl_json *root)
{
    struct wl_json *o = wl_json_add_object(root, "training");
    struct wl_json *parts = wl_json_add_array(o, "parts");
    bool usable = t->n_gpus > 0;
    for (int i = 0; i < WL_DOCTOR_PARTS; i++) {
        const struct wl_doctor_part *p = &t->part[i];
        struct wl_json *row = wl_json_add_object(parts, NULL);
        wl_json_add_str(row, "name", p->name);
        wl_json_add_bool(row, "serves", !p->why);
        wl_json_add_str(row, "path", p->path);
        wl_json_add_str(row, "version", *p->version ? p->version : NULL);
        wl_json_add_str(row, "reason", p->why);
        usable &= !p->why || i == FIRST_LIBRARY + WL_GPU_NCCL; /* sums go through host memory without it */
    }
    struct wl_json *targets = wl_json_add_array(o, "kernel_targets");
    for (size_t i = 0; i < t->targets.n; i++) wl_json_add_str(targets, NULL, t->targets.v[i]);
    struct wl_json *gpus = wl_json_add_array(o, "gpus");
    for (int i = 0; i < t->n_gpus; i++) {
        const struct wl_doctor_gpu *g = &t->gpus[i];
        struct wl_json *row = wl_json_add_object(gpus, NULL);
        wl_json_add_str(row, "name", g->name);
        wl_json_add_real(row, "compute_capability", g->capability ? g->capability / 10.0 : NAN);
        wl_json_add_real(row, "memory_bytes", g->memory_bytes);
        wl_json_add_real(row, "free_bytes", g->free_bytes);
        wl_json_add_bool(row, "has_kernels", g->has_kernels);
    }
    wl_json_add_str(o, "no_gpus", t->no_gpus);
    wl_json_add_bool(o, "usable", usable);
}
