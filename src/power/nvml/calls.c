/* NVML's single calls: utilisation, clocks, memory, temperature; power and energy where the driver has no fields. */
#include "power/nvml/sensor.h"

#include <math.h>

typedef nvmlReturn_t getter(const struct wl_nvml *, nvmlDevice_t, double *);

/* The second call of a pair is tried if the library lacks the first or the GPU does not support it. */
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

static const struct {
    enum wl_quantity quantity;
    getter *get;
} singles[] = {
    { WL_SM_CLOCK, get_sm_clock },       { WL_MEM_CLOCK, get_mem_clock },   { WL_MEM_USED, get_memory },
    { WL_TEMPERATURE, get_temperature }, { WL_EVENT_REASONS, get_reasons },
};
_Static_assert(WL_COUNT(singles) <= WL_NVML_SINGLES, "more calls than a GPU has room for");

/* ---- Probing ---- */

/* A new channel for a call's value, or -1. "Not supported" may be transient: the call is made twice. */
static int probe_call(struct wl_sensor *s, struct wl_nvml_device *u, enum wl_quantity q, enum wl_power_variant variant,
                      getter *get)
{
    const struct wl_nvml *lib = &((struct wl_nvml_sensor *)s->state)->lib;
    double value;
    if (wl_nvml_has_channel(s, u, q, WL_SCOPE_GPU)) return -1;
    if (get(lib, u->handle, &value) != NVML_SUCCESS && get(lib, u->handle, &value) != NVML_SUCCESS) return -1;
    return wl_nvml_add_channel(s, u, q, WL_SCOPE_GPU, variant);
}

/* The driver's record of utilisation, if there is one. */
static void probe_samples(struct wl_sensor *s, struct wl_nvml_device *u)
{
    const struct wl_nvml *lib = &((struct wl_nvml_sensor *)s->state)->lib;
    struct wl_nvml_calls *c = &u->calls;
    int type;
    unsigned n = 0;
    if (!lib->DeviceGetSamples) return;
    if (lib->DeviceGetSamples(u->handle, NVML_GPU_UTILIZATION_SAMPLES, 0, &type, &n, NULL) != NVML_SUCCESS || n == 0)
        return;
    c->samples = wl_new_array(s->arena, nvmlSample_t, n);
    c->max_samples = n;
}

void wl_nvml_calls_probe(struct wl_sensor *s, struct wl_nvml_device *u)
{
    const struct wl_nvml *lib = &((struct wl_nvml_sensor *)s->state)->lib;
    struct wl_nvml_calls *c = &u->calls;
    nvmlUtilization_t util;
    c->power = probe_call(s, u, WL_POWER, WL_VARIANT_DRIVER, get_power);
    c->energy = probe_call(s, u, WL_ENERGY, WL_VARIANT_NONE, get_energy);
    c->sm_util = c->mem_util = -1;
    if (get_util(lib, u->handle, &util) == NVML_SUCCESS || get_util(lib, u->handle, &util) == NVML_SUCCESS) {
        c->sm_util = wl_nvml_add_channel(s, u, WL_SM_UTIL, WL_SCOPE_GPU, WL_VARIANT_NONE);
        c->mem_util = wl_nvml_add_channel(s, u, WL_MEM_UTIL, WL_SCOPE_GPU, WL_VARIANT_NONE);
        probe_samples(s, u);
    }
    for (size_t i = 0; i < WL_COUNT(singles); i++)
        c->singles[i] = probe_call(s, u, singles[i].quantity, WL_VARIANT_NONE, singles[i].get);
}

/* ---- Reading ---- */

static void read_call(const struct wl_nvml *lib, nvmlDevice_t h, getter *get, int channel, struct wl_reading *out)
{
    if (channel < 0) return;
    double value = NAN;
    int64_t t0 = wl_now_ns();
    nvmlReturn_t rc = get(lib, h, &value);
    wl_nvml_reading_set(&out[channel], rc, value, t0);
}

/* A driver may stop sampling and return the last value forever: then the time stamps of its record are old. */
static const int64_t stale_ns = 2 * (int64_t)WL_NS_PER_S;

static void check_samples(const struct wl_nvml *lib, struct wl_nvml_device *u)
{
    struct wl_nvml_calls *c = &u->calls;
    unsigned n = c->max_samples;
    int type;
    if (!c->samples) return;
    nvmlReturn_t rc =
        lib->DeviceGetSamples(u->handle, NVML_GPU_UTILIZATION_SAMPLES, c->newest_us, &type, &n, c->samples);
    int64_t now = wl_now_ns();
    if (c->newest_ns == 0) c->newest_ns = now;
    for (unsigned i = 0; rc == NVML_SUCCESS && i < n && i < c->max_samples; i++) {
        if (c->samples[i].timeStamp <= c->newest_us) continue;
        c->newest_us = c->samples[i].timeStamp;
        c->newest_ns = now;
    }
}

/* A share above 100 % is a driver's error: the reading fails. */
static void set_share(struct wl_reading *out, nvmlReturn_t rc, unsigned pct, bool stale, int64_t t0)
{
    if (rc == NVML_SUCCESS && pct > 100)
        wl_reading_fail(out, "NVML: utilisation above 100 %");
    else if (rc == NVML_SUCCESS && stale)
        wl_reading_fail(out, "NVML: the utilisation is older than 2 s");
    else
        wl_nvml_reading_set(out, rc, pct, t0);
}

static void read_util(const struct wl_nvml *lib, const struct wl_nvml_device *u, struct wl_reading *out)
{
    const struct wl_nvml_calls *c = &u->calls;
    if (c->sm_util < 0) return;
    nvmlUtilization_t util;
    int64_t t0 = wl_now_ns();
    nvmlReturn_t rc = get_util(lib, u->handle, &util);
    bool stale = c->samples && c->newest_ns != 0 && t0 - c->newest_ns > stale_ns;
    set_share(&out[c->sm_util], rc, util.gpu, stale, t0);
    set_share(&out[c->mem_util], rc, util.memory, stale, t0);
}

void wl_nvml_calls_read(const struct wl_sensor *s, struct wl_nvml_device *u, struct wl_due due, struct wl_reading *out)
{
    const struct wl_nvml *lib = &((const struct wl_nvml_sensor *)s->state)->lib;
    const struct wl_nvml_calls *c = &u->calls;
    read_call(lib, u->handle, get_power, c->power, out);
    read_call(lib, u->handle, get_energy, c->energy, out);
    if (due.interval == WL_POLL_SECOND) check_samples(lib, u);
    if (wl_is_due(due, WL_SM_UTIL)) read_util(lib, u, out);
    for (size_t i = 0; i < WL_COUNT(singles); i++)
        if (wl_is_due(due, singles[i].quantity)) read_call(lib, u->handle, singles[i].get, c->singles[i], out);
}
