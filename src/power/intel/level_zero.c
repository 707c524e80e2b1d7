/* Intel GPUs through Level Zero's sysman: energy counters, clocks, engine activity, power limits. Domains of the whole
 * card are read; those of its tiles (subdevices) are parts of them. Power is the mean between two counter readings. */
#include "base/library.h"
#include "power/intel/api.h"
#include "power/sensor.h"

#include <string.h>

enum { MAX_HANDLES = 32 }; /* devices of a driver, domains of a device */

/* Functions by their names without "zes". */
struct functions {
    int (*Init)(uint32_t);
    int (*DriverGet)(uint32_t *, ze_handle_t *);
    int (*DeviceGet)(ze_handle_t, uint32_t *, ze_handle_t *);
    int (*DeviceGetProperties)(ze_handle_t, zes_device_properties_t *);

    /* optional */
    int (*DevicePciGetProperties)(ze_handle_t, zes_pci_properties_t *);
    int (*DeviceEnumPowerDomains)(ze_handle_t, uint32_t *, ze_handle_t *);
    int (*PowerGetProperties)(ze_handle_t, zes_power_properties_t *);
    int (*PowerGetEnergyCounter)(ze_handle_t, zes_power_energy_counter_t *);
    int (*PowerGetLimits)(ze_handle_t, zes_power_sustained_limit_t *, void *, void *);
    int (*DeviceEnumEngineGroups)(ze_handle_t, uint32_t *, ze_handle_t *);
    int (*EngineGetProperties)(ze_handle_t, zes_engine_properties_t *);
    int (*EngineGetActivity)(ze_handle_t, zes_engine_stats_t *);
    int (*DeviceEnumFrequencyDomains)(ze_handle_t, uint32_t *, ze_handle_t *);
    int (*FrequencyGetProperties)(ze_handle_t, zes_freq_properties_t *);
    int (*FrequencyGetState)(ze_handle_t, zes_freq_state_t *);
};

#define FN(name, required)                                            \
    {                                                                 \
        offsetof(struct functions, name), "zes" #name, NULL, required \
    }
static const struct wl_symbol symbols[] = {
    FN(Init, true),
    FN(DriverGet, true),
    FN(DeviceGet, true),
    FN(DeviceGetProperties, true),
    FN(DevicePciGetProperties, false),
    FN(DeviceEnumPowerDomains, false),
    FN(PowerGetProperties, false),
    FN(PowerGetEnergyCounter, false),
    FN(PowerGetLimits, false),
    FN(DeviceEnumEngineGroups, false),
    FN(EngineGetProperties, false),
    FN(EngineGetActivity, false),
    FN(DeviceEnumFrequencyDomains, false),
    FN(FrequencyGetProperties, false),
    FN(FrequencyGetState, false),
};

/* One domain that is read. */
struct domain {
    enum { ENERGY, ENGINE, CLOCK } kind;
    ze_handle_t handle;
    int channel, power;    /* of the sensor; -1: none */
    uint64_t count, stamp; /* of a counter, at the latest reading */
    int64_t at_ns;         /* time of that reading; 0: none yet */
};

struct intel {
    struct functions f;
    struct domain *v;
    size_t n, cap;
};

static const char *why_of(int rc)
{
    switch (rc) {
    case ZE_RESULT_ERROR_DEVICE_LOST: return "Level Zero: the GPU is lost";
    case ZE_RESULT_ERROR_INSUFFICIENT_PERMISSIONS: return "Level Zero: no permission";
    case ZE_RESULT_ERROR_DEPENDENCY_UNAVAILABLE: return "Level Zero: a library of the driver is missing";
    case ZE_RESULT_ERROR_UNINITIALIZED: return "Level Zero: no driver";
    case ZE_RESULT_ERROR_UNSUPPORTED_FEATURE: return "Level Zero: not supported by this GPU";
    default: return "Level Zero: the call failed";
    }
}

typedef int enumerate(ze_handle_t, uint32_t *, ze_handle_t *);

/* Up to MAX_HANDLES handles below a parent; 0: none, or the function is missing. */
static uint32_t list(enumerate *get, ze_handle_t parent, ze_handle_t *out)
{
    uint32_t n = 0;
    if (!get || get(parent, &n, NULL) != ZE_RESULT_SUCCESS) return 0;
    if (n > MAX_HANDLES) n = MAX_HANDLES;
    return n > 0 && get(parent, &n, out) == ZE_RESULT_SUCCESS ? n : 0;
}

/* ---- Reading ---- */

static void read_energy(const struct functions *f, struct domain *d, struct wl_reading *out)
{
    zes_power_energy_counter_t c = { 0 };
    int64_t t0 = wl_now_ns(), before_ns = d->at_ns;
    int rc = f->PowerGetEnergyCounter(d->handle, &c);
    if (rc != ZE_RESULT_SUCCESS) {
        wl_reading_fail(&out[d->channel], why_of(rc));
        wl_reading_fail(&out[d->power], why_of(rc));
        return;
    }
    uint64_t before_uj = d->count, before_us = d->stamp;
    wl_reading_set(&out[d->channel], (double)c.energy * 1e-6, t0);
    d->count = c.energy;
    d->stamp = c.timestamp;
    d->at_ns = out[d->channel].t_ns;
    /* The counter's own time stamps are closer to its updates than our readings. */
    if (before_ns != 0 && c.timestamp > before_us && c.energy >= before_uj)
        wl_reading_mean(&out[d->power], (double)(c.energy - before_uj) / (double)(c.timestamp - before_us), before_ns,
                        d->at_ns);
}

static void read_engine(const struct functions *f, struct domain *d, struct wl_reading *out)
{
    zes_engine_stats_t s = { 0 };
    int rc = f->EngineGetActivity(d->handle, &s);
    int64_t now = wl_now_ns(), before_ns = d->at_ns;
    if (rc != ZE_RESULT_SUCCESS) {
        wl_reading_fail(&out[d->channel], why_of(rc));
        return;
    }
    if (before_ns != 0 && s.timestamp <= d->stamp) return; /* not updated yet */
    if (before_ns != 0) {
        double pct = 100 * (double)(s.activeTime - d->count) / (double)(s.timestamp - d->stamp);
        if (pct >= 0 && pct <= 100.5)
            wl_reading_mean(&out[d->channel], pct, before_ns, now);
        else
            wl_reading_fail(&out[d->channel], "Level Zero: an engine busy for more than 100 % of the time");
    }
    d->count = s.activeTime;
    d->stamp = s.timestamp;
    d->at_ns = now;
}

static void read_clock(const struct functions *f, const struct domain *d, struct wl_reading *out)
{
    zes_freq_state_t s = { .stype = ZES_STRUCTURE_TYPE_FREQ_STATE };
    int64_t t0 = wl_now_ns();
    int rc = f->FrequencyGetState(d->handle, &s);
    if (rc == ZE_RESULT_SUCCESS && s.actual >= 0)
        wl_reading_set(&out[d->channel], s.actual, t0);
    else
        wl_reading_fail(&out[d->channel], rc == ZE_RESULT_SUCCESS ? "Level Zero: the clock is not known" : why_of(rc));
}

static void intel_read(struct wl_sensor *s, struct wl_due due, struct wl_reading *out)
{
    struct intel *m = s->state;
    for (size_t i = 0; i < m->n; i++) {
        struct domain *d = &m->v[i];
        if (!wl_is_due(due, s->channels[d->channel].quantity)) continue;
        if (d->kind == ENERGY) read_energy(&m->f, d, out);
        if (d->kind == ENGINE) read_engine(&m->f, d, out);
        if (d->kind == CLOCK) read_clock(&m->f, d, out);
    }
}

/* ---- Finding ---- */

static void add_domain(struct wl_sensor *s, int kind, ze_handle_t h, int device, enum wl_quantity q, bool simulated)
{
    struct intel *m = s->state;
    WL_GROW(s->arena, m->v, m->n, m->cap);
    struct domain *d = &m->v[m->n++];
    *d = (struct domain) { .kind = kind, .handle = h, .power = -1 };
    d->channel = wl_sensor_add_channel(s, device, q, WL_SCOPE_GPU, WL_VARIANT_NONE);
    if (kind == ENERGY) d->power = wl_sensor_add_channel(s, device, WL_POWER, WL_SCOPE_GPU, WL_VARIANT_MEAN);
    s->channels[d->channel].simulated = simulated;
    if (d->power >= 0) s->channels[d->power].simulated = simulated;
}

static void add_watts(struct wl_sensor *s, int device, const char *key, int32_t milliwatts)
{
    if (milliwatts > 0) wl_sensor_add_fact(s, device, key, wl_strf(s->arena, "%g W", milliwatts * 1e-3));
}

/* The counter of the whole card. Without one there is no energy, and the reason says so: those of the tiles may not add
 * up to the card. */
static void add_energy(struct wl_sensor *s, ze_handle_t gpu, int device, bool simulated)
{
    const struct functions *f = &((struct intel *)s->state)->f;
    ze_handle_t h[MAX_HANDLES];
    uint32_t n = list(f->DeviceEnumPowerDomains, gpu, h);
    if (!f->PowerGetProperties || !f->PowerGetEnergyCounter) return;
    int rc = ZE_RESULT_SUCCESS;
    for (uint32_t i = 0; i < n; i++) {
        zes_power_properties_t p = { .stype = ZES_STRUCTURE_TYPE_POWER_PROPERTIES };
        zes_power_energy_counter_t c;
        zes_power_sustained_limit_t limit = { .power = 0 };
        if (f->PowerGetProperties(h[i], &p) != ZE_RESULT_SUCCESS || p.onSubdevice) continue;
        rc = f->PowerGetEnergyCounter(h[i], &c);
        if (rc != ZE_RESULT_SUCCESS) continue;
        add_domain(s, ENERGY, h[i], device, WL_ENERGY, simulated);
        if (f->PowerGetLimits && f->PowerGetLimits(h[i], &limit, NULL, NULL) == ZE_RESULT_SUCCESS && limit.enabled)
            add_watts(s, device, "power_cap", limit.power);
        add_watts(s, device, "power_cap_max", p.maxLimit);
        add_watts(s, device, "power_cap_default", p.defaultLimit);
        return;
    }
    s->reason = rc == ZE_RESULT_SUCCESS ? "an Intel GPU has no energy counter of the whole card" : why_of(rc);
    if (rc == ZE_RESULT_ERROR_INSUFFICIENT_PERMISSIONS)
        s->fix = "sudo usermod -aG render,video $USER    (then log in again)";
}

/* Activity of the whole card: of all engines or, if that is missing, of the compute engines. */
static void add_engine(struct wl_sensor *s, ze_handle_t gpu, int device, bool simulated)
{
    const struct functions *f = &((struct intel *)s->state)->f;
    static const int wanted[] = { ZES_ENGINE_GROUP_ALL, ZES_ENGINE_GROUP_COMPUTE_ALL };
    ze_handle_t h[MAX_HANDLES];
    uint32_t n = list(f->DeviceEnumEngineGroups, gpu, h);
    if (!f->EngineGetProperties || !f->EngineGetActivity) return;
    for (size_t k = 0; k < WL_COUNT(wanted); k++) {
        for (uint32_t i = 0; i < n; i++) {
            zes_engine_properties_t p = { .stype = ZES_STRUCTURE_TYPE_ENGINE_PROPERTIES };
            zes_engine_stats_t stats;
            if (f->EngineGetProperties(h[i], &p) != ZE_RESULT_SUCCESS || p.onSubdevice || p.type != wanted[k]) continue;
            if (f->EngineGetActivity(h[i], &stats) != ZE_RESULT_SUCCESS) continue;
            add_domain(s, ENGINE, h[i], device, WL_SM_UTIL, simulated);
            return;
        }
    }
}

/* The clock of the GPU or of its memory: of the card, else of its first tile. */
static void add_clock(struct wl_sensor *s, ze_handle_t gpu, int device, int type, enum wl_quantity q, bool simulated)
{
    const struct functions *f = &((struct intel *)s->state)->f;
    ze_handle_t h[MAX_HANDLES];
    uint32_t n = list(f->DeviceEnumFrequencyDomains, gpu, h);
    if (!f->FrequencyGetProperties || !f->FrequencyGetState) return;
    for (uint32_t i = 0; i < n; i++) {
        zes_freq_properties_t p = { .stype = ZES_STRUCTURE_TYPE_FREQ_PROPERTIES };
        zes_freq_state_t state = { .stype = ZES_STRUCTURE_TYPE_FREQ_STATE };
        if (f->FrequencyGetProperties(h[i], &p) != ZE_RESULT_SUCCESS || p.type != type) continue;
        if (f->FrequencyGetState(h[i], &state) != ZE_RESULT_SUCCESS || state.actual < 0) continue;
        add_domain(s, CLOCK, h[i], device, q, simulated);
        return;
    }
}

static const char *uuid_text(const uint8_t *id, struct wl_arena *a)
{
    struct wl_text t = WL_TEXT(a);
    wl_text_add(&t, "GPU-");
    for (int i = 0; i < 16; i++) wl_text_addf(&t, "%s%02x", i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", id[i]);
    return t.s;
}

static void add_gpu(struct wl_sensor *s, ze_handle_t gpu, bool simulated)
{
    const struct functions *f = &((struct intel *)s->state)->f;
    zes_device_properties_t p = { .stype = ZES_STRUCTURE_TYPE_DEVICE_PROPERTIES };
    zes_pci_properties_t pci = { .stype = ZES_STRUCTURE_TYPE_PCI_PROPERTIES };
    if (f->DeviceGetProperties(gpu, &p) != ZE_RESULT_SUCCESS) return;
    struct wl_device d = { .uuid = uuid_text(p.core.uuid, s->arena), .index = (int)s->n_devices };
    d.name = wl_strndup(s->arena, p.core.name, strnlen(p.core.name, sizeof p.core.name));
    if (f->DevicePciGetProperties && f->DevicePciGetProperties(gpu, &pci) == ZE_RESULT_SUCCESS)
        d.bus_id = wl_strf(s->arena, "%08x:%02x:%02x.%x", pci.address.domain, pci.address.bus, pci.address.device,
                           pci.address.function);
    int device = wl_sensor_add_device(s, &d);
    if (p.driverVersion[0])
        wl_sensor_add_fact(s, device, "driver",
                           wl_strndup(s->arena, p.driverVersion, strnlen(p.driverVersion, sizeof p.driverVersion)));
    add_energy(s, gpu, device, simulated);
    add_engine(s, gpu, device, simulated);
    add_clock(s, gpu, device, ZES_FREQ_DOMAIN_GPU, WL_SM_CLOCK, simulated);
    add_clock(s, gpu, device, ZES_FREQ_DOMAIN_MEMORY, WL_MEM_CLOCK, simulated);
}

static uint32_t list_drivers(const struct functions *f, ze_handle_t *out)
{
    uint32_t n = 0;
    if (f->DriverGet(&n, NULL) != ZE_RESULT_SUCCESS) return 0;
    if (n > MAX_HANDLES) n = MAX_HANDLES;
    return n > 0 && f->DriverGet(&n, out) == ZE_RESULT_SUCCESS ? n : 0;
}

static int intel_open(struct wl_sensor *s, const struct wl_power_opts *o, struct wl_err *e)
{
    static const char *const names[] = { "libze_loader.so.1", "libze_loader.so", NULL };
    struct intel *m = wl_new(s->arena, struct intel);
    struct wl_library lib;
    s->state = m;
    const struct wl_library_spec spec = {
        .path = o->level_zero_library, .names = names, .symbols = symbols, .n = WL_COUNT(symbols)
    };
    int code = wl_library_open(&lib, &spec, &m->f, s->arena, e);
    if (code < 0) {
        bool present = wl_is_dir(wl_strf(s->arena, "%s/sys/module/xe", o->root));
        if (code == WL_EUNAVAIL && present) s->fix = "sudo apt install libze1 libze-intel-gpu1";
        return code;
    }
    int rc = m->f.Init(0);
    if (rc != ZE_RESULT_SUCCESS) return wl_fail(e, WL_EUNAVAIL, "%s: %s", lib.path, why_of(rc));
    ze_handle_t drivers[MAX_HANDLES], devices[MAX_HANDLES];
    uint32_t n_drivers = list_drivers(&m->f, drivers);
    for (uint32_t i = 0; i < n_drivers; i++) {
        uint32_t n = list(m->f.DeviceGet, drivers[i], devices);
        for (uint32_t k = 0; k < n; k++) add_gpu(s, devices[k], lib.simulated);
    }
    if (s->n_channels == 0) return wl_fail(e, WL_EUNAVAIL, "%s: %s", lib.path, s->reason ? s->reason : "no GPU");
    s->source = wl_strf(s->arena, "%s, sysman%s", lib.path, lib.simulated ? " (simulated)" : "");
    return 0;
}

const struct wl_sensor_ops wl_sensor_level_zero = {
    .name = "level_zero",
    .help = "Intel GPUs: energy, busy time, clocks",
    .open = intel_open,
    .read = intel_read,
};
