/* Power limits and locked clocks of NVIDIA GPUs. Anyone may read them; setting needs root or a site's wrapper. */
#include "power/nvml/limits.h"

#include "power/nvml/sensor.h"

#include <math.h>

int wl_gpus_open(struct wl_gpus **out, const struct wl_power_opts *opts, bool all, struct wl_arena *a, const char **fix,
                 struct wl_err *e)
{
    struct wl_gpus *g = wl_new(a, struct wl_gpus);
    struct wl_power_opts o = *opts;
    if (!o.root) o.root = "";
    g->lib = wl_new(a, struct wl_gpu_lib);
    struct wl_nvml_gpus found;
    int code = wl_nvml_library_open(&g->lib->nvml, &o, a, fix, e);
    if (code == 0)
        code = all ? wl_nvml_devices_all(&g->lib->nvml, &found, a, e)
                   : wl_nvml_devices_visible(&g->lib->nvml, opts->visible, &found, a, e);
    if (code < 0) return code;
    struct wl_device *devices = wl_new_array(a, struct wl_device, found.n);
    g->lib->handles = wl_new_array(a, nvmlDevice_t, found.n);
    for (size_t i = 0; i < found.n; i++) {
        devices[i] = found.v[i].device;
        devices[i].sensor = wl_sensor_nvml.name;
        g->lib->handles[i] = found.v[i].handle;
    }
    g->devices = devices;
    g->n = found.n;
    g->simulated = g->lib->nvml.simulated;
    *out = g;
    return 0;
}

/* The error of a failed call: the device, the call and NVML's reason. */
static int refused(const struct wl_gpus *g, size_t i, const char *call, nvmlReturn_t rc, struct wl_err *e)
{
    int code = WL_ELIB;
    if (rc == NVML_ERROR_NO_PERMISSION) code = WL_EPERM;
    if (rc == NVML_ERROR_NOT_SUPPORTED || rc == NVML_ERROR_FUNCTION_NOT_FOUND) code = WL_EUNAVAIL;
    if (rc == NVML_ERROR_INVALID_ARGUMENT || rc == NVML_ERROR_FREQ_NOT_SUPPORTED) code = WL_EINVAL;
    return wl_fail(e, code, "%s (%s): %s: %s", g->devices[i].uuid, g->devices[i].name, call, wl_nvml_error_text(rc));
}

static double read_w(nvmlReturn_t (*call)(nvmlDevice_t, unsigned *), nvmlDevice_t h, nvmlReturn_t *rc)
{
    unsigned mw = 0;
    *rc = call ? call(h, &mw) : NVML_ERROR_FUNCTION_NOT_FOUND;
    return *rc == NVML_SUCCESS ? mw * 1e-3 : NAN;
}

static int board_limit(const struct wl_gpus *g, size_t i, struct wl_gpu_power_limit *out, struct wl_err *e)
{
    const struct wl_nvml *lib = &g->lib->nvml;
    nvmlDevice_t h = g->lib->handles[i];
    nvmlReturn_t rc, ignored;
    unsigned min = 0, max = 0;
    *out = (struct wl_gpu_power_limit) { .min_w = NAN, .max_w = NAN };
    out->limit_w = read_w(lib->DeviceGetPowerManagementLimit, h, &rc);
    out->enforced_w = read_w(lib->DeviceGetEnforcedPowerLimit, h, &ignored);
    out->default_w = read_w(lib->DeviceGetPowerManagementDefaultLimit, h, &ignored);
    if (lib->DeviceGetPowerManagementLimitConstraints &&
        lib->DeviceGetPowerManagementLimitConstraints(h, &min, &max) == NVML_SUCCESS) {
        out->min_w = min * 1e-3;
        out->max_w = max * 1e-3;
    }
    return rc == NVML_SUCCESS ? 0 : refused(g, i, "reading the power limit", rc, e);
}

/* Are all values that both have equal? Then it is one limit under two names. */
static bool same_limits(const struct wl_gpu_power_limit *x, const struct wl_gpu_power_limit *y)
{
    const double pairs[][2] = { { x->limit_w, y->limit_w },
                                { x->enforced_w, y->enforced_w },
                                { x->default_w, y->default_w },
                                { x->min_w, y->min_w },
                                { x->max_w, y->max_w } };
    for (size_t k = 0; k < WL_COUNT(pairs); k++)
        if (fabs(pairs[k][0] - pairs[k][1]) > 0) return false; /* NAN equals anything */
    return true;
}

/* A module's limits are available as fields only. Drivers without scopes answer for the GPU, whose limit must not be
 * mistaken for the module's. Without the requested limit nothing could be restored. */
static int module_limit(const struct wl_gpus *g, size_t i, struct wl_gpu_power_limit *out, struct wl_err *e)
{
    static const char what[] = "reading the power limit of the module";
    const struct wl_nvml *lib = &g->lib->nvml;
    struct wl_gpu_power_limit board;
    struct wl_err none;
    if (!lib->DeviceGetFieldValues || !lib->DeviceSetPowerManagementLimit_v2)
        return refused(g, i, what, NVML_ERROR_FUNCTION_NOT_FOUND, e);
    nvmlReturn_t rc = wl_nvml_fields_limit(lib, g->lib->handles[i], NVML_POWER_SCOPE_MODULE, out);
    if (rc != NVML_SUCCESS) return refused(g, i, what, rc, e);
    if (board_limit(g, i, &board, &none) == 0 && same_limits(out, &board))
        return wl_fail(e, WL_EUNAVAIL, "%s (%s): the driver returns the limits of the GPU as those of the module",
                       g->devices[i].uuid, g->devices[i].name);
    return 0;
}

int wl_gpu_power_limit(const struct wl_gpus *g, size_t i, enum wl_gpu_power_scope scope, struct wl_gpu_power_limit *out,
                       struct wl_err *e)
{
    return scope == WL_GPU_POWER_MODULE ? module_limit(g, i, out, e) : board_limit(g, i, out, e);
}

int wl_gpu_power_limit_set(const struct wl_gpus *g, size_t i, enum wl_gpu_power_scope scope, double watts,
                           struct wl_err *e)
{
    const struct wl_nvml *lib = &g->lib->nvml;
    nvmlDevice_t h = g->lib->handles[i];
    unsigned mw = (unsigned)lround(watts * 1e3);
    nvmlReturn_t rc = NVML_ERROR_FUNCTION_NOT_FOUND;
    if (scope == WL_GPU_POWER_MODULE) {
        nvmlPowerValue_v2_t value = { .version = NVML_VERSIONED(nvmlPowerValue_v2_t, 2),
                                      .powerScope = NVML_POWER_SCOPE_MODULE,
                                      .powerValueMw = mw };
        if (lib->DeviceSetPowerManagementLimit_v2) rc = lib->DeviceSetPowerManagementLimit_v2(h, &value);
        return rc == NVML_SUCCESS ? 0 : refused(g, i, "setting the power limit of the module", rc, e);
    }
    if (lib->DeviceSetPowerManagementLimit) rc = lib->DeviceSetPowerManagementLimit(h, mw);
    return rc == NVML_SUCCESS ? 0 : refused(g, i, "setting the power limit", rc, e);
}

static double read_mhz(nvmlReturn_t (*call)(nvmlDevice_t, int, unsigned *), nvmlDevice_t h, int type)
{
    unsigned mhz = 0;
    return call && call(h, type, &mhz) == NVML_SUCCESS ? mhz : NAN;
}

void wl_gpu_clock_state(const struct wl_gpus *g, size_t i, enum wl_gpu_clock which, struct wl_gpu_clock_state *out)
{
    const struct wl_nvml *lib = &g->lib->nvml;
    nvmlDevice_t h = g->lib->handles[i];
    int type = which == WL_GPU_CLOCK_SM ? NVML_CLOCK_SM : NVML_CLOCK_MEM;
    unsigned long long bits = 0;
    nvmlUtilization_t busy = { 0 };
    *out = (struct wl_gpu_clock_state) { .busy_pct = NAN, .reasons = NAN };
    out->now_mhz = read_mhz(lib->DeviceGetClockInfo, h, type);
    out->max_mhz = read_mhz(lib->DeviceGetMaxClockInfo, h, type);
    if (lib->DeviceGetUtilizationRates && lib->DeviceGetUtilizationRates(h, &busy) == NVML_SUCCESS)
        out->busy_pct = busy.gpu;
    if (lib->DeviceGetCurrentClocksEventReasons && lib->DeviceGetCurrentClocksEventReasons(h, &bits) == NVML_SUCCESS)
        out->reasons = (double)bits;
    out->lockable = which == WL_GPU_CLOCK_SM ? lib->DeviceSetGpuLockedClocks && lib->DeviceResetGpuLockedClocks
                                             : lib->DeviceSetMemoryLockedClocks && lib->DeviceResetMemoryLockedClocks;
}

struct wl_reals wl_gpu_memory_clocks(const struct wl_gpus *g, size_t i, struct wl_arena *a)
{
    enum { CLOCKS_MAX = 64 }; /* GPUs have one to six */
    unsigned mhz[CLOCKS_MAX], n = CLOCKS_MAX;
    const struct wl_nvml *lib = &g->lib->nvml;
    struct wl_reals out = { 0 };
    if (!lib->DeviceGetSupportedMemoryClocks ||
        lib->DeviceGetSupportedMemoryClocks(g->lib->handles[i], &n, mhz) != NVML_SUCCESS)
        return out;
    out.v = wl_new_array(a, double, n);
    for (; out.n < n && out.n < CLOCKS_MAX; out.n++) out.v[out.n] = mhz[out.n];
    return out;
}

int wl_gpu_clock_lock(const struct wl_gpus *g, size_t i, enum wl_gpu_clock which, double mhz, struct wl_err *e)
{
    const struct wl_nvml *lib = &g->lib->nvml;
    nvmlReturn_t (*call)(nvmlDevice_t, unsigned, unsigned) =
        which == WL_GPU_CLOCK_SM ? lib->DeviceSetGpuLockedClocks : lib->DeviceSetMemoryLockedClocks;
    unsigned f = (unsigned)lround(mhz);
    nvmlReturn_t rc = call ? call(g->lib->handles[i], f, f) : NVML_ERROR_FUNCTION_NOT_FOUND;
    return rc == NVML_SUCCESS ? 0 : refused(g, i, "locking the clock", rc, e);
}

int wl_gpu_clock_unlock(const struct wl_gpus *g, size_t i, enum wl_gpu_clock which, struct wl_err *e)
{
    const struct wl_nvml *lib = &g->lib->nvml;
    nvmlReturn_t (*call)(nvmlDevice_t) =
        which == WL_GPU_CLOCK_SM ? lib->DeviceResetGpuLockedClocks : lib->DeviceResetMemoryLockedClocks;
    nvmlReturn_t rc = call ? call(g->lib->handles[i]) : NVML_ERROR_FUNCTION_NOT_FOUND;
    return rc == NVML_SUCCESS ? 0 : refused(g, i, "unlocking the clock", rc, e);
}
