/* libamd_smi.so of ROCm 6.4 and newer. */
#include "base/library.h"
#include "power/amd/api.h"
#include "power/amd/library.h"

#include <math.h>
#include <string.h>

enum { MIN_VERSION = 25, NOT_A_POWER = 0xffff };

/* Functions by their names without "amdsmi_". */
struct functions {
    int (*init)(uint64_t);
    int (*shut_down)(void);
    int (*get_lib_version)(amdsmi_version_t *);
    int (*get_socket_handles)(uint32_t *, amdsmi_socket_handle *);
    int (*get_processor_handles)(amdsmi_socket_handle, uint32_t *, amdsmi_processor_handle *);
    int (*get_gpu_device_uuid)(amdsmi_processor_handle, unsigned *, char *);
    int (*get_gpu_bdf_id)(amdsmi_processor_handle, uint64_t *);

    /* optional */
    int (*get_gpu_asic_info)(amdsmi_processor_handle, amdsmi_asic_info_t *);
    int (*get_power_info)(amdsmi_processor_handle, amdsmi_power_info_t *);
    int (*get_energy_count)(amdsmi_processor_handle, uint64_t *, float *, uint64_t *);
    int (*get_gpu_activity)(amdsmi_processor_handle, amdsmi_engine_usage_t *);
    int (*get_clock_info)(amdsmi_processor_handle, int, amdsmi_clk_info_t *);
    int (*get_temp_metric)(amdsmi_processor_handle, int, int, int64_t *);
    int (*get_gpu_memory_usage)(amdsmi_processor_handle, int, uint64_t *);
    int (*get_power_cap_info)(amdsmi_processor_handle, uint32_t, amdsmi_power_cap_info_t *);
};

#define FN(name, required)                                                \
    {                                                                     \
        offsetof(struct functions, name), "amdsmi_" #name, NULL, required \
    }
static const struct wl_symbol symbols[] = {
    FN(init, true),
    FN(shut_down, true),
    FN(get_lib_version, true),
    FN(get_socket_handles, true),
    FN(get_processor_handles, true),
    FN(get_gpu_device_uuid, true),
    FN(get_gpu_bdf_id, true),
    FN(get_gpu_asic_info, false),
    FN(get_power_info, false),
    FN(get_energy_count, false),
    FN(get_gpu_activity, false),
    FN(get_clock_info, false),
    FN(get_temp_metric, false),
    FN(get_gpu_memory_usage, false),
    FN(get_power_cap_info, false),
};

struct smi {
    struct functions f;
    amdsmi_processor_handle *gpus;
};

static const char *why_of(int rc)
{
    switch (rc) {
    case AMDSMI_STATUS_NO_PERM: return "AMD SMI: no permission";
    case AMDSMI_STATUS_BUSY: return "AMD SMI: the GPU is busy";
    case AMDSMI_STATUS_NOT_FOUND: return "AMD SMI: the GPU is gone";
    case AMDSMI_STATUS_DRIVER_NOT_LOADED: return "AMD SMI: the driver amdgpu is not loaded";
    default: return "AMD SMI: the call failed";
    }
}

static struct wl_amd_value value_of(int rc, double value)
{
    if (rc == AMDSMI_STATUS_SUCCESS) return (struct wl_amd_value) { .value = value };
    return (struct wl_amd_value) { .value = NAN, .why = rc == AMDSMI_STATUS_NOT_SUPPORTED ? NULL : why_of(rc) };
}

static const struct wl_amd_value none = { .value = NAN };

static struct wl_amd_value read_power(const struct functions *f, amdsmi_processor_handle h, bool mean)
{
    amdsmi_power_info_t p = { .current_socket_power = NOT_A_POWER, .average_socket_power = NOT_A_POWER };
    if (!f->get_power_info) return none;
    int rc = f->get_power_info(h, &p);
    uint32_t w = mean ? p.average_socket_power : p.current_socket_power;
    return rc == AMDSMI_STATUS_SUCCESS && w >= NOT_A_POWER ? none : value_of(rc, w);
}

static struct wl_amd_value read_energy(const struct functions *f, amdsmi_processor_handle h)
{
    uint64_t count = 0, stamp;
    float unit_uj = 0;
    if (!f->get_energy_count) return none;
    int rc = f->get_energy_count(h, &count, &unit_uj, &stamp);
    return value_of(rc, (double)count * (double)unit_uj * 1e-6);
}

static struct wl_amd_value read_util(const struct functions *f, amdsmi_processor_handle h, bool memory)
{
    amdsmi_engine_usage_t u = { 0 };
    if (!f->get_gpu_activity) return none;
    int rc = f->get_gpu_activity(h, &u);
    return value_of(rc, memory ? u.umc_activity : u.gfx_activity);
}

static struct wl_amd_value read_clock(const struct functions *f, amdsmi_processor_handle h, int type)
{
    amdsmi_clk_info_t c = { 0 };
    if (!f->get_clock_info) return none;
    int rc = f->get_clock_info(h, type, &c);
    return value_of(rc, c.clk);
}

/* The header says thousandths of a degree, the library gives degrees: a value above 1000 is in thousandths. */
static struct wl_amd_value read_temperature(const struct functions *f, amdsmi_processor_handle h, int type)
{
    int64_t celsius = 0;
    if (!f->get_temp_metric) return none;
    int rc = f->get_temp_metric(h, type, AMDSMI_TEMP_CURRENT, &celsius);
    return value_of(rc, celsius > 1000 ? (double)celsius / 1000 : (double)celsius);
}

static struct wl_amd_value read_memory(const struct functions *f, amdsmi_processor_handle h)
{
    uint64_t used = 0;
    if (!f->get_gpu_memory_usage) return none;
    int rc = f->get_gpu_memory_usage(h, AMDSMI_MEM_TYPE_VRAM, &used);
    return value_of(rc, (double)used);
}

static struct wl_amd_value smi_read(const struct wl_amd *lib, size_t gpu, enum wl_amd_metric what)
{
    const struct smi *s = lib->own;
    const struct functions *f = &s->f;
    amdsmi_processor_handle h = s->gpus[gpu];
    switch (what) {
    case WL_AMD_POWER: return read_power(f, h, false);
    case WL_AMD_POWER_MEAN: return read_power(f, h, true);
    case WL_AMD_ENERGY: return read_energy(f, h);
    case WL_AMD_UTIL: return read_util(f, h, false);
    case WL_AMD_MEM_UTIL: return read_util(f, h, true);
    case WL_AMD_CLOCK: return read_clock(f, h, AMDSMI_CLK_TYPE_GFX);
    case WL_AMD_MEM_CLOCK: return read_clock(f, h, AMDSMI_CLK_TYPE_MEM);
    case WL_AMD_MEM_USED: return read_memory(f, h);
    case WL_AMD_TEMPERATURE: return read_temperature(f, h, AMDSMI_TEMPERATURE_TYPE_HOTSPOT);
    case WL_AMD_MEM_TEMPERATURE: return read_temperature(f, h, AMDSMI_TEMPERATURE_TYPE_VRAM);
    default: return none;
    }
}

static struct wl_amd_gpu describe(const struct functions *f, amdsmi_processor_handle h, size_t i, struct wl_arena *a)
{
    struct wl_amd_gpu g = { .name = "AMD GPU", .cap_w = NAN, .cap_min_w = NAN, .cap_max_w = NAN, .cap_default_w = NAN };
    amdsmi_asic_info_t asic = { .device_id = 0 };
    amdsmi_power_cap_info_t cap;
    char uuid[AMDSMI_UUID_SIZE + 1] = "";
    unsigned length = AMDSMI_UUID_SIZE;
    uint64_t bdf = 0;
    if (f->get_gpu_asic_info && f->get_gpu_asic_info(h, &asic) == AMDSMI_STATUS_SUCCESS) {
        g.name = wl_strndup(a, asic.market_name, strnlen(asic.market_name, sizeof asic.market_name));
        g.device_id = asic.device_id;
    }
    if (f->get_gpu_device_uuid(h, &length, uuid) != AMDSMI_STATUS_SUCCESS) uuid[0] = '\0';
    g.uuid = *uuid ? wl_strf(a, "GPU-%s", uuid) : wl_strf(a, "amd:%zu", i);
    if (f->get_gpu_bdf_id(h, &bdf) == AMDSMI_STATUS_SUCCESS) g.bus_id = wl_amd_bus_id(bdf, a);
    if (f->get_power_cap_info && f->get_power_cap_info(h, 0, &cap) == AMDSMI_STATUS_SUCCESS) {
        g.cap_w = (double)cap.power_cap * 1e-6;
        g.cap_min_w = (double)cap.min_power_cap * 1e-6;
        g.cap_max_w = (double)cap.max_power_cap * 1e-6;
        g.cap_default_w = (double)cap.default_power_cap * 1e-6;
    }
    return g;
}

/* GPUs are listed by socket. */
static void list_gpus(struct wl_amd *out, struct wl_arena *a)
{
    enum { MAX_GPUS = 64 };
    struct smi *s = out->own;
    amdsmi_socket_handle sockets[MAX_GPUS];
    uint32_t n_sockets = MAX_GPUS;
    s->gpus = wl_new_array(a, amdsmi_processor_handle, MAX_GPUS);
    if (s->f.get_socket_handles(&n_sockets, sockets) != AMDSMI_STATUS_SUCCESS) return;
    for (uint32_t i = 0; i < n_sockets && i < MAX_GPUS && out->n < MAX_GPUS; i++) {
        uint32_t n = (uint32_t)(MAX_GPUS - out->n);
        if (s->f.get_processor_handles(sockets[i], &n, &s->gpus[out->n]) == AMDSMI_STATUS_SUCCESS) out->n += n;
    }
    if (out->n > MAX_GPUS) out->n = MAX_GPUS;
    out->gpus = wl_new_array(a, struct wl_amd_gpu, out->n);
    for (size_t i = 0; i < out->n; i++) out->gpus[i] = describe(&s->f, s->gpus[i], i, a);
}

static void shut_down(void *smi) { ((struct smi *)smi)->f.shut_down(); }

int wl_amd_smi_open(struct wl_amd *out, const char *path, struct wl_arena *a, struct wl_err *e)
{
    static const char *const names[] = { "libamd_smi.so", "/opt/rocm/lib/libamd_smi.so", NULL };
    struct smi *s = wl_new(a, struct smi);
    struct wl_library lib;
    *out = (struct wl_amd) { .read = smi_read, .own = s };
    const struct wl_library_spec spec = { .path = path, .names = names, .symbols = symbols, .n = WL_COUNT(symbols) };
    int code = wl_library_open(&lib, &spec, &s->f, a, e);
    if (code < 0) return code;
    amdsmi_version_t version = { .major = 0 };
    int rc = s->f.get_lib_version(&version);
    if (rc != AMDSMI_STATUS_SUCCESS || version.major < MIN_VERSION)
        return wl_fail(e, WL_EUNAVAIL, "%s: version %u is not supported (at least %d, ROCm 6.4)", lib.path,
                       version.major, MIN_VERSION);
    rc = s->f.init(AMDSMI_INIT_AMD_GPUS);
    if (rc != AMDSMI_STATUS_SUCCESS)
        return wl_fail(e, rc == AMDSMI_STATUS_NO_PERM ? WL_EPERM : WL_ELIB, "%s: %s", lib.path, why_of(rc));
    wl_defer(a, shut_down, s);
    list_gpus(out, a);
    out->path = lib.path;
    out->version = wl_strf(a, "%u.%u.%u", version.major, version.minor, version.release);
    out->simulated = lib.simulated;
    return out->n > 0 ? 0 : wl_fail(e, WL_EUNAVAIL, "%s: no AMD GPU", lib.path);
}
