/* NVIDIA GPUs. What a GPU can tell is found by one probe at opening, metric by metric: a channel exists only where the
 * driver answered. A power reading's kind is chosen once and kept: the instant value (field 186) where there is one,
 * else nvmlDeviceGetPowerUsage, whose meaning depends on the architecture. */
#include "power/nvml_lib.h"

#include <math.h>

enum { FIELDS = 3 };

static const struct {
    unsigned id;
    enum wl_quantity quantity;
    enum wl_variant variant;
    double scale; /* to our unit */
} fields[FIELDS] = {
    { NVML_FI_DEV_POWER_INSTANT, WL_POWER, WL_VARIANT_INSTANT, 1e-3 },
    { NVML_FI_DEV_TOTAL_ENERGY_CONSUMPTION, WL_ENERGY, WL_VARIANT_NONE, 1e-3 },
    { NVML_FI_DEV_POWER_AVERAGE, WL_POWER_AVERAGE, WL_VARIANT_AVERAGE, 1e-3 },
};

/* One GPU: which channel each quantity goes to (-1: none), and where power and energy come from. */
struct gpu {
    nvmlDevice_t handle;
    int channel[WL_QUANTITIES];
    int n_fields, field[FIELDS]; /* fields to ask for, as indices of `fields` */
    bool power_call, energy_call;
};

struct nvml {
    struct wl_nvml lib;
    struct gpu *gpus;
    size_t n;
};

/* ---- One quantity at a time: each returns NVML's code ---- */

static double field_number(const nvmlFieldValue_t *f)
{
    switch (f->valueType) {
    case NVML_VALUE_TYPE_DOUBLE: return f->value.dVal;
    case NVML_VALUE_TYPE_UNSIGNED_INT: return f->value.uiVal;
    case NVML_VALUE_TYPE_UNSIGNED_LONG: return (double)f->value.ulVal;
    case NVML_VALUE_TYPE_UNSIGNED_LONG_LONG: return (double)f->value.ullVal;
    case NVML_VALUE_TYPE_SIGNED_LONG_LONG: return (double)f->value.sllVal;
    case NVML_VALUE_TYPE_SIGNED_INT: return f->value.siVal;
    case NVML_VALUE_TYPE_UNSIGNED_SHORT: return f->value.usVal;
    default: return NAN;
    }
}

/* The second call of a pair is tried where the library lacks the first or the GPU does not support it. */
static nvmlReturn_t get_memory(const struct wl_nvml *lib, nvmlDevice_t h, double *bytes)
{
    if (lib->DeviceGetMemoryInfo_v2) {
        nvmlMemory_v2_t m = { .version = NVML_VERSIONED(nvmlMemory_v2_t, 2) };
        nvmlReturn_t rc = lib->DeviceGetMemoryInfo_v2(h, &m);
        *bytes = (double)m.used;
        if (rc != NVML_ERROR_NOT_SUPPORTED && rc != NVML_ERROR_ARGUMENT_VERSION_MISMATCH) return rc;
    }
    if (!lib->DeviceGetMemoryInfo) return NVML_ERROR_FUNCTION_NOT_FOUND;
    nvmlMemory_t m = { 0 };
    nvmlReturn_t rc = lib->DeviceGetMemoryInfo(h, &m);
    *bytes = (double)m.used;
    return rc;
}

static nvmlReturn_t get_temperature(const struct wl_nvml *lib, nvmlDevice_t h, double *celsius)
{
    if (lib->DeviceGetTemperatureV) {
        nvmlTemperature_t t = { .version = NVML_VERSIONED(nvmlTemperature_t, 1), .sensorType = NVML_TEMPERATURE_GPU };
        nvmlReturn_t rc = lib->DeviceGetTemperatureV(h, &t);
        *celsius = t.temperature;
        if (rc != NVML_ERROR_NOT_SUPPORTED && rc != NVML_ERROR_ARGUMENT_VERSION_MISMATCH) return rc;
    }
    if (!lib->DeviceGetTemperature) return NVML_ERROR_FUNCTION_NOT_FOUND;
    unsigned t = 0;
    nvmlReturn_t rc = lib->DeviceGetTemperature(h, NVML_TEMPERATURE_GPU, &t);
    *celsius = t;
    return rc;
}

static nvmlReturn_t get_clock(const struct wl_nvml *lib, nvmlDevice_t h, int type, double *mhz)
{
    if (!lib->DeviceGetClockInfo) return NVML_ERROR_FUNCTION_NOT_FOUND;
    unsigned clock = 0;
    nvmlReturn_t rc = lib->DeviceGetClockInfo(h, type, &clock);
    *mhz = clock;
    return rc;
}

static nvmlReturn_t get_sm_clock(const struct wl_nvml *lib, nvmlDevice_t h, double *mhz)
{
    return get_clock(lib, h, NVML_CLOCK_SM, mhz);
}

static nvmlReturn_t get_mem_clock(const struct wl_nvml *lib, nvmlDevice_t h, double *mhz)
{
    return get_clock(lib, h, NVML_CLOCK_MEM, mhz);
}

static nvmlReturn_t get_reasons(const struct wl_nvml *lib, nvmlDevice_t h, double *bits)
{
    if (!lib->DeviceGetCurrentClocksEventReasons) return NVML_ERROR_FUNCTION_NOT_FOUND;
    unsigned long long mask = 0;
    nvmlReturn_t rc = lib->DeviceGetCurrentClocksEventReasons(h, &mask);
    *bits = (double)mask;
    return rc;
}

static nvmlReturn_t get_power(const struct wl_nvml *lib, nvmlDevice_t h, double *watts)
{
    if (!lib->DeviceGetPowerUsage) return NVML_ERROR_FUNCTION_NOT_FOUND;
    unsigned mw = 0;
    nvmlReturn_t rc = lib->DeviceGetPowerUsage(h, &mw);
    *watts = mw * 1e-3;
    return rc;
}

static nvmlReturn_t get_energy(const struct wl_nvml *lib, nvmlDevice_t h, double *joules)
{
    if (!lib->DeviceGetTotalEnergyConsumption) return NVML_ERROR_FUNCTION_NOT_FOUND;
    unsigned long long mj = 0;
    nvmlReturn_t rc = lib->DeviceGetTotalEnergyConsumption(h, &mj);
    *joules = (double)mj * 1e-3;
    return rc;
}

static nvmlReturn_t get_util(const struct wl_nvml *lib, nvmlDevice_t h, nvmlUtilization_t *u)
{
    *u = (nvmlUtilization_t) { 0 };
    return lib->DeviceGetUtilizationRates ? lib->DeviceGetUtilizationRates(h, u) : NVML_ERROR_FUNCTION_NOT_FOUND;
}

/* Quantities that one call gives. */
static const struct {
    enum wl_quantity quantity;
    nvmlReturn_t (*get)(const struct wl_nvml *, nvmlDevice_t, double *);
} singles[] = {
    { WL_SM_CLOCK, get_sm_clock },       { WL_MEM_CLOCK, get_mem_clock },   { WL_MEM_USED, get_memory },
    { WL_TEMPERATURE, get_temperature }, { WL_EVENT_REASONS, get_reasons },
};

/* ---- Reading ---- */

static void set_or_fail(struct wl_reading *out, nvmlReturn_t rc, double value, int64_t t0)
{
    if (rc != NVML_SUCCESS)
        wl_reading_fail(out, wl_nvml_why(rc));
    else if (!isfinite(value))
        wl_reading_fail(out, "NVML: a value of unknown type");
    else
        wl_reading_set(out, value, t0);
}

static void ask_fields(const struct nvml *n, const struct gpu *g, nvmlFieldValue_t *asked, nvmlReturn_t *rc)
{
    for (int i = 0; i < g->n_fields; i++) asked[i] = (nvmlFieldValue_t) { .fieldId = fields[g->field[i]].id };
    *rc = n->lib.DeviceGetFieldValues(g->handle, g->n_fields, asked);
}

static void read_fields(const struct nvml *n, const struct gpu *g, struct wl_reading *out)
{
    if (g->n_fields == 0) return;
    nvmlFieldValue_t asked[FIELDS];
    nvmlReturn_t rc;
    int64_t t0 = wl_now_ns();
    ask_fields(n, g, asked, &rc);
    int64_t t1 = wl_now_ns();
    for (int i = 0; i < g->n_fields; i++) {
        int f = g->field[i];
        nvmlReturn_t item = rc == NVML_SUCCESS ? asked[i].nvmlReturn : rc;
        struct wl_reading *r = &out[g->channel[fields[f].quantity]];
        set_or_fail(r, item, field_number(&asked[i]) * fields[f].scale, t0);
        r->t_ns = t0 + (t1 - t0) / 2;
    }
}

/* A share above 100 % is a driver's mistake: it is no reading, and not 100 either. */
static void set_share(struct wl_reading *out, nvmlReturn_t rc, unsigned pct, int64_t t0)
{
    if (rc == NVML_SUCCESS && pct > 100)
        wl_reading_fail(out, "NVML: utilisation above 100 %");
    else
        set_or_fail(out, rc, pct, t0);
}

static void read_util(const struct nvml *n, const struct gpu *g, struct wl_reading *out)
{
    if (g->channel[WL_SM_UTIL] < 0) return;
    nvmlUtilization_t u;
    int64_t t0 = wl_now_ns();
    nvmlReturn_t rc = get_util(&n->lib, g->handle, &u);
    set_share(&out[g->channel[WL_SM_UTIL]], rc, u.gpu, t0);
    set_share(&out[g->channel[WL_MEM_UTIL]], rc, u.memory, t0);
}

static void read_call(const struct nvml *n, const struct gpu *g, enum wl_quantity q,
                      nvmlReturn_t (*get)(const struct wl_nvml *, nvmlDevice_t, double *), struct wl_reading *out)
{
    double value = NAN;
    int64_t t0 = wl_now_ns();
    nvmlReturn_t rc = get(&n->lib, g->handle, &value);
    set_or_fail(&out[g->channel[q]], rc, value, t0);
}

static void nvml_read(struct wl_sensor *s, bool all, struct wl_reading *out)
{
    (void)all;
    struct nvml *n = s->state;
    for (size_t k = 0; k < n->n; k++) {
        const struct gpu *g = &n->gpus[k];
        read_fields(n, g, out);
        if (g->power_call) read_call(n, g, WL_POWER, get_power, out);
        if (g->energy_call) read_call(n, g, WL_ENERGY, get_energy, out);
        read_util(n, g, out);
        for (size_t i = 0; i < WL_COUNT(singles); i++) {
            if (g->channel[singles[i].quantity] >= 0) read_call(n, g, singles[i].quantity, singles[i].get, out);
        }
    }
}

/* ---- Probing: what does this GPU answer? ---- */

static void add_channel(struct wl_sensor *s, struct gpu *g, int device, enum wl_quantity q, enum wl_variant variant)
{
    struct nvml *n = s->state;
    g->channel[q] = wl_sensor_add_channel(s, device, q, WL_SCOPE_GPU, variant);
    s->channels[g->channel[q]].simulated = n->lib.simulated;
}

/* "Not supported" may be a passing answer: ask twice. */
static void probe_fields(struct wl_sensor *s, struct gpu *g, int device)
{
    struct nvml *n = s->state;
    if (!n->lib.DeviceGetFieldValues) return;
    bool answered[FIELDS] = { false };
    for (int round = 0; round < 2; round++) {
        nvmlFieldValue_t asked[FIELDS];
        nvmlReturn_t rc;
        g->n_fields = FIELDS;
        for (int i = 0; i < FIELDS; i++) g->field[i] = i;
        ask_fields(n, g, asked, &rc);
        for (int i = 0; i < FIELDS; i++) answered[i] |= rc == NVML_SUCCESS && asked[i].nvmlReturn == NVML_SUCCESS;
    }
    g->n_fields = 0;
    for (int i = 0; i < FIELDS; i++) {
        if (!answered[i]) continue;
        g->field[g->n_fields++] = i;
        add_channel(s, g, device, fields[i].quantity, fields[i].variant);
    }
}

static bool answers(const struct nvml *n, const struct gpu *g,
                    nvmlReturn_t (*get)(const struct wl_nvml *, nvmlDevice_t, double *))
{
    double value;
    return get(&n->lib, g->handle, &value) == NVML_SUCCESS || get(&n->lib, g->handle, &value) == NVML_SUCCESS;
}

static void probe(struct wl_sensor *s, struct gpu *g, int device)
{
    struct nvml *n = s->state;
    for (int q = 0; q < WL_QUANTITIES; q++) g->channel[q] = -1;
    probe_fields(s, g, device);
    g->power_call = g->channel[WL_POWER] < 0 && answers(n, g, get_power);
    if (g->power_call) add_channel(s, g, device, WL_POWER, WL_VARIANT_DRIVER);
    g->energy_call = g->channel[WL_ENERGY] < 0 && answers(n, g, get_energy);
    if (g->energy_call) add_channel(s, g, device, WL_ENERGY, WL_VARIANT_NONE);
    nvmlUtilization_t u;
    if (get_util(&n->lib, g->handle, &u) == NVML_SUCCESS) {
        add_channel(s, g, device, WL_SM_UTIL, WL_VARIANT_NONE);
        add_channel(s, g, device, WL_MEM_UTIL, WL_VARIANT_NONE);
    }
    for (size_t i = 0; i < WL_COUNT(singles); i++) {
        if (answers(n, g, singles[i].get)) add_channel(s, g, device, singles[i].quantity, WL_VARIANT_NONE);
    }
}

static int nvml_open(struct wl_sensor *s, const struct wl_power_opts *o, struct wl_err *e)
{
    struct nvml *n = wl_new(s->arena, struct nvml);
    struct wl_nvml *lib = &n->lib;
    s->state = n;
    int code = wl_nvml_load(lib, o, s->arena, &s->fix, e);
    if (code < 0) return code;
    struct wl_nvml_gpus found;
    code = wl_nvml_find(lib, &found, s->arena, e);
    if (code < 0) return code;
    n->n = found.n;
    n->gpus = wl_new_array(s->arena, struct gpu, found.n);
    for (size_t i = 0; i < found.n; i++) {
        n->gpus[i].handle = found.v[i].handle;
        probe(s, &n->gpus[i], wl_sensor_add_device(s, &found.v[i].device));
    }
    s->reason = found.note;
    s->source = wl_strf(s->arena, "%s %s, driver %s%s", lib->path, lib->version, lib->driver,
                        lib->simulated ? " (simulated)" : "");
    return 0;
}

const struct wl_sensor_ops wl_sensor_nvml = {
    .name = "nvml",
    .help = "NVIDIA GPUs: power, energy, utilisation, clocks, memory, temperature",
    .open = nvml_open,
    .read = nvml_read,
};
