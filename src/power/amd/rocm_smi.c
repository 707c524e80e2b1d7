/* librocm_smi64.so of ROCm 5 and 6. Its clocks are not read: rsmi_frequencies_t has another layout since ROCm 6 under
 * the same library name. */
#include "base/library.h"
#include "power/amd/api.h"
#include "power/amd/library.h"

#include <math.h>

/* Functions by their names without "rsmi_". */
struct functions {
    int (*init)(uint64_t);
    int (*shut_down)(void);
    int (*num_monitor_devices)(uint32_t *);
    int (*dev_name_get)(uint32_t, char *, size_t);
    int (*dev_unique_id_get)(uint32_t, uint64_t *);
    int (*dev_pci_id_get)(uint32_t, uint64_t *);

    /* optional */
    int (*dev_id_get)(uint32_t, uint16_t *);
    int (*dev_power_get)(uint32_t, uint64_t *, int *);
    int (*dev_power_ave_get)(uint32_t, uint32_t, uint64_t *);
    int (*dev_energy_count_get)(uint32_t, uint64_t *, float *, uint64_t *);
    int (*dev_busy_percent_get)(uint32_t, uint32_t *);
    int (*dev_memory_busy_percent_get)(uint32_t, uint32_t *);
    int (*dev_memory_usage_get)(uint32_t, int, uint64_t *);
    int (*dev_temp_metric_get)(uint32_t, uint32_t, int, int64_t *);
    int (*dev_power_cap_get)(uint32_t, uint32_t, uint64_t *);
    int (*dev_power_cap_range_get)(uint32_t, uint32_t, uint64_t *max, uint64_t *min);
    int (*dev_power_cap_default_get)(uint32_t, uint64_t *);
};

#define FN(name, required)                                              \
    {                                                                   \
        offsetof(struct functions, name), "rsmi_" #name, NULL, required \
    }
static const struct wl_symbol symbols[] = {
    FN(init, true),
    FN(shut_down, true),
    FN(num_monitor_devices, true),
    FN(dev_name_get, true),
    FN(dev_unique_id_get, true),
    FN(dev_pci_id_get, true),
    FN(dev_id_get, false),
    FN(dev_power_get, false),
    FN(dev_power_ave_get, false),
    FN(dev_energy_count_get, false),
    FN(dev_busy_percent_get, false),
    FN(dev_memory_busy_percent_get, false),
    FN(dev_memory_usage_get, false),
    FN(dev_temp_metric_get, false),
    FN(dev_power_cap_get, false),
    FN(dev_power_cap_range_get, false),
    FN(dev_power_cap_default_get, false),
};

static const char *why_of(int rc)
{
    switch (rc) {
    case RSMI_STATUS_PERMISSION: return "ROCm SMI: no permission";
    case RSMI_STATUS_BUSY: return "ROCm SMI: the GPU is busy";
    default: return "ROCm SMI: the call failed";
    }
}

static struct wl_amd_value value_of(int rc, double value)
{
    if (rc == RSMI_STATUS_SUCCESS) return (struct wl_amd_value) { .value = value };
    return (struct wl_amd_value) { .value = NAN, .why = rc == RSMI_STATUS_NOT_SUPPORTED ? NULL : why_of(rc) };
}

static const struct wl_amd_value none = { .value = NAN };

/* dev_power_get returns the kind of value; libraries before 6.0 have the mean only. */
static struct wl_amd_value read_power(const struct functions *f, uint32_t gpu, bool mean)
{
    uint64_t uw = 0;
    int type = mean ? RSMI_AVERAGE_POWER : RSMI_CURRENT_POWER;
    if (mean && f->dev_power_ave_get) {
        int rc = f->dev_power_ave_get(gpu, 0, &uw);
        if (rc == RSMI_STATUS_SUCCESS) return value_of(rc, (double)uw * 1e-6);
    }
    if (!f->dev_power_get) return none;
    int got = -1, rc = f->dev_power_get(gpu, &uw, &got);
    return rc == RSMI_STATUS_SUCCESS && got != type ? none : value_of(rc, (double)uw * 1e-6);
}

static struct wl_amd_value read_energy(const struct functions *f, uint32_t gpu)
{
    uint64_t count = 0, stamp;
    float unit_uj = 0;
    if (!f->dev_energy_count_get) return none;
    int rc = f->dev_energy_count_get(gpu, &count, &unit_uj, &stamp);
    return value_of(rc, (double)count * (double)unit_uj * 1e-6);
}

static struct wl_amd_value read_share(int (*get)(uint32_t, uint32_t *), uint32_t gpu)
{
    uint32_t pct = 0;
    if (!get) return none;
    int rc = get(gpu, &pct);
    return value_of(rc, pct);
}

static struct wl_amd_value read_memory(const struct functions *f, uint32_t gpu)
{
    uint64_t used = 0;
    if (!f->dev_memory_usage_get) return none;
    int rc = f->dev_memory_usage_get(gpu, RSMI_MEM_TYPE_VRAM, &used);
    return value_of(rc, (double)used);
}

static struct wl_amd_value read_temperature(const struct functions *f, uint32_t gpu, uint32_t type)
{
    int64_t thousandths = 0;
    if (!f->dev_temp_metric_get) return none;
    int rc = f->dev_temp_metric_get(gpu, type, RSMI_TEMP_CURRENT, &thousandths);
    return value_of(rc, (double)thousandths * 1e-3);
}

static struct wl_amd_value rsmi_read(const struct wl_amd *lib, size_t i, enum wl_amd_metric what)
{
    const struct functions *f = lib->own;
    uint32_t gpu = (uint32_t)i;
    switch (what) {
    case WL_AMD_POWER: return read_power(f, gpu, false);
    case WL_AMD_POWER_MEAN: return read_power(f, gpu, true);
    case WL_AMD_ENERGY: return read_energy(f, gpu);
    case WL_AMD_UTIL: return read_share(f->dev_busy_percent_get, gpu);
    case WL_AMD_MEM_UTIL: return read_share(f->dev_memory_busy_percent_get, gpu);
    case WL_AMD_MEM_USED: return read_memory(f, gpu);
    case WL_AMD_TEMPERATURE: return read_temperature(f, gpu, RSMI_TEMP_TYPE_JUNCTION);
    case WL_AMD_MEM_TEMPERATURE: return read_temperature(f, gpu, RSMI_TEMP_TYPE_MEMORY);
    default: return none;
    }
}

static double microwatts(int rc, uint64_t uw) { return rc == RSMI_STATUS_SUCCESS ? (double)uw * 1e-6 : NAN; }

static struct wl_amd_gpu describe(const struct functions *f, uint32_t i, struct wl_arena *a)
{
    struct wl_amd_gpu g = { .name = "AMD GPU", .cap_w = NAN, .cap_min_w = NAN, .cap_max_w = NAN, .cap_default_w = NAN };
    char name[128];
    uint64_t id = 0, uw = 0, max = 0, min = 0;
    uint16_t device;
    if (f->dev_name_get(i, name, sizeof name) == RSMI_STATUS_SUCCESS) g.name = wl_strdup(a, name);
    bool unique = f->dev_unique_id_get(i, &id) == RSMI_STATUS_SUCCESS;
    g.uuid = unique ? wl_strf(a, "GPU-%016llx", (unsigned long long)id) : wl_strf(a, "amd:%u", i);
    if (f->dev_pci_id_get(i, &id) == RSMI_STATUS_SUCCESS) g.bus_id = wl_amd_bus_id(id, a);
    if (f->dev_id_get && f->dev_id_get(i, &device) == RSMI_STATUS_SUCCESS) g.device_id = device;
    int rc = f->dev_power_cap_get ? f->dev_power_cap_get(i, 0, &uw) : RSMI_STATUS_NOT_SUPPORTED;
    g.cap_w = microwatts(rc, uw);
    rc = f->dev_power_cap_default_get ? f->dev_power_cap_default_get(i, &uw) : RSMI_STATUS_NOT_SUPPORTED;
    g.cap_default_w = microwatts(rc, uw);
    rc = f->dev_power_cap_range_get ? f->dev_power_cap_range_get(i, 0, &max, &min) : RSMI_STATUS_NOT_SUPPORTED;
    g.cap_min_w = microwatts(rc, min);
    g.cap_max_w = microwatts(rc, max);
    return g;
}

static void shut_down(void *functions) { ((struct functions *)functions)->shut_down(); }

int wl_rocm_smi_open(struct wl_amd *out, const char *path, struct wl_arena *a, struct wl_err *e)
{
    static const char *const names[] = { "librocm_smi64.so",
                                         "librocm_smi64.so.7",
                                         "librocm_smi64.so.6",
                                         "librocm_smi64.so.5",
                                         "/opt/rocm/lib/librocm_smi64.so",
                                         NULL };
    struct functions *f = wl_new(a, struct functions);
    struct wl_library lib;
    uint32_t n = 0;
    *out = (struct wl_amd) { .read = rsmi_read, .own = f };
    const struct wl_library_spec spec = { .path = path, .names = names, .symbols = symbols, .n = WL_COUNT(symbols) };
    int code = wl_library_open(&lib, &spec, f, a, e);
    if (code < 0) return code;
    int rc = f->init(0);
    if (rc != RSMI_STATUS_SUCCESS)
        return wl_fail(e, rc == RSMI_STATUS_PERMISSION ? WL_EPERM : WL_ELIB, "%s: %s", lib.path, why_of(rc));
    wl_defer(a, shut_down, f);
    if (f->num_monitor_devices(&n) != RSMI_STATUS_SUCCESS || n == 0)
        return wl_fail(e, WL_EUNAVAIL, "%s: no AMD GPU", lib.path);
    out->n = n;
    out->gpus = wl_new_array(a, struct wl_amd_gpu, n);
    for (uint32_t i = 0; i < n; i++) out->gpus[i] = describe(f, i, a);
    out->path = lib.path;
    out->version = "ROCm SMI";
    out->simulated = lib.simulated;
    return 0;
}
