/* NVIDIA GPUs. Opening probes each metric of a GPU once. */
#include "power/nvml/sensor.h"

#include "power/procfs.h"
#include "power/sensor_response.h"

#include <math.h>
#include <stdatomic.h>

/* How often other processes are looked for. */
static const int64_t look_ns = 5 * (int64_t)WL_NS_PER_S;

bool wl_nvml_has_channel(const struct wl_sensor *s, const struct wl_nvml_device *u, enum wl_quantity q,
                         enum wl_scope scope)
{
    for (size_t i = 0; i < s->n_channels; i++) {
        const struct wl_channel *c = &s->channels[i];
        if (c->device == u->device && c->quantity == q && c->scope == scope) return true;
    }
    return false;
}

int wl_nvml_add_channel(struct wl_sensor *s, const struct wl_nvml_device *u, enum wl_quantity q, enum wl_scope scope,
                        enum wl_power_variant variant)
{
    const struct wl_nvml_sensor *n = s->state;
    if (wl_nvml_has_channel(s, u, q, scope)) return -1;
    int channel = wl_sensor_add_channel(s, u->device, q, scope, variant);
    s->channels[channel].simulated = n->lib.simulated;
    return channel;
}

void wl_nvml_reading_set(struct wl_reading *out, nvmlReturn_t rc, double value, int64_t t0_ns)
{
    if (rc != NVML_SUCCESS)
        wl_reading_fail(out, wl_nvml_error_text(rc));
    else if (!isfinite(value))
        wl_reading_fail(out, "NVML: a value of unknown type");
    else
        wl_reading_set(out, value, t0_ns);
}

static bool has_counter(const struct wl_sensor *s, const struct wl_nvml_device *u)
{
    return wl_nvml_has_channel(s, u, WL_ENERGY, WL_SCOPE_GPU);
}

/* ---- Opening ---- */

static void set_limit(struct wl_sensor *s, const struct wl_nvml_device *u)
{
    const struct wl_nvml *lib = &((struct wl_nvml_sensor *)s->state)->lib;
    unsigned mw;
    bool enforced =
        lib->DeviceGetEnforcedPowerLimit && lib->DeviceGetEnforcedPowerLimit(u->handle, &mw) == NVML_SUCCESS;
    if (!enforced &&
        (!lib->DeviceGetPowerManagementLimit || lib->DeviceGetPowerManagementLimit(u->handle, &mw) != NVML_SUCCESS))
        return;
    for (size_t i = 0; i < s->n_channels; i++) {
        struct wl_channel *c = &s->channels[i];
        bool power = c->quantity == WL_POWER || c->quantity == WL_POWER_AVERAGE;
        if (c->device == u->device && power && c->scope == WL_SCOPE_GPU) c->max_w = mw * 1e-3;
    }
}

/* Without an energy counter the energy comes from power readings alone: then each update of the power is read. Slightly
 * more often than updates occur, since the clocks drift, and at a ratio that no load is likely to be in step with. Not
 * below the default sampling rate. */
static void match_update_period(struct wl_sensor *s, double rate_hz)
{
    const double SHARE = 0.7, SHORTEST_S = 1.0 / 75, USUAL_HZ = 10;
    const struct wl_nvml_sensor *n = s->state;
    double burst_period_s = HUGE_VAL;
    for (size_t i = 0; i < s->n_channels && rate_hz >= USUAL_HZ; i++) {
        const struct wl_channel *c = &s->channels[i];
        if (c->quantity != WL_POWER || c->scope != WL_SCOPE_GPU || has_counter(s, &n->gpus[c->device])) continue;
        double update_s = wl_sensor_response_of(&s->devices[c->device], c).update_s;
        if (isfinite(update_s)) burst_period_s = fmin(burst_period_s, fmax(SHORTEST_S, SHARE * update_s));
    }
    if (isfinite(burst_period_s)) s->burst_period_s = burst_period_s;
}

static void probe(struct wl_sensor *s, const struct wl_power_opts *o)
{
    struct wl_nvml_sensor *n = s->state;
    for (size_t k = 0; k < n->n; k++) {
        wl_nvml_processes_probe(s, &n->gpus[k]);
        wl_nvml_facts_add(s, &n->gpus[k]);
    }
    wl_nvml_fields_probe(s);
    for (size_t k = 0; k < n->n; k++) {
        wl_nvml_calls_probe(s, &n->gpus[k]);
        const char *why = o->gpm ? wl_nvml_gpm_probe(s, &n->gpus[k], &s->fix) : NULL;
        if (why && !s->reason) s->reason = why;
        set_limit(s, &n->gpus[k]);
    }
    wl_nvml_update_period_find(s);
    wl_nvml_calibrations_attach(s, o);
    match_update_period(s, o->rate_hz);
}

static int nvml_open(struct wl_sensor *s, const struct wl_power_opts *o, struct wl_err *e)
{
    struct wl_nvml_sensor *n = wl_new(s->arena, struct wl_nvml_sensor);
    struct wl_nvml *lib = &n->lib;
    s->state = n;
    n->proc_fd = wl_procfs_open(o->root, "/proc", s->arena, NULL);
    n->period_s = 1 / o->rate_hz;
    int code = wl_nvml_library_open(lib, o, s->arena, &s->fix, e);
    if (code < 0) return code;
    struct wl_nvml_gpus found;
    code = wl_nvml_devices_visible(lib, o->visible, &found, s->arena, e);
    if (code < 0) return code;
    n->n = found.n;
    n->gpus = wl_new_array(s->arena, struct wl_nvml_device, found.n);
    for (size_t i = 0; i < found.n; i++) {
        n->gpus[i].handle = found.v[i].handle;
        n->gpus[i].device = wl_sensor_add_device(s, &found.v[i].device);
    }
    s->reason = found.note;
    probe(s, o);
    s->source = wl_strf(s->arena, "%s %s, driver %s%s", lib->path, lib->version, lib->driver,
                        lib->simulated ? " (simulated)" : "");
    return 0;
}

static void nvml_read(struct wl_sensor *s, struct wl_due due, struct wl_reading *out)
{
    struct wl_nvml_sensor *n = s->state;
    int64_t now = wl_now_ns();
    bool look = wl_is_due(due, WL_OTHER_PROCESSES) && now - n->look_ns >= look_ns && atomic_load(&n->job) != 0;
    for (size_t k = 0; k < n->n; k++) {
        struct wl_nvml_device *u = &n->gpus[k];
        wl_nvml_fields_read(s, u, due, out);
        wl_nvml_calls_read(s, u, due, out);
        if (wl_is_due(due, WL_SM_ACTIVE)) wl_nvml_gpm_read(s, u, out);
        if (look) wl_nvml_processes_poll(n, u, out);
        if (wl_is_due(due, WL_PROCESS_UTIL)) wl_nvml_processes_util(n, u, out);
    }
    if (look) n->look_ns = now;
}

static void nvml_watch(struct wl_sensor *s, pid_t pid)
{
    struct wl_nvml_sensor *n = s->state;
    atomic_store(&n->job, pid);
}

/* Without an energy counter, unread updates are lost. */
static void note_unread(const struct wl_sensor *s, const struct wl_nvml_device *u, struct wl_strs *out,
                        struct wl_arena *a)
{
    const double MUCH = 1.5; /* updates per reading */
    const struct wl_nvml_sensor *n = s->state;
    double read_s = s->burst_period_s > 0 ? fmin(s->burst_period_s, n->period_s) : n->period_s;
    if (has_counter(s, u)) return;
    for (size_t i = 0; i < s->n_channels; i++) {
        const struct wl_channel *c = &s->channels[i];
        if (c->device != u->device || c->quantity != WL_POWER || !(read_s > MUCH * c->update_s)) continue;
        wl_strs_add(a, out,
                    wl_strf(a,
                            "%s has no energy counter; its power is updated every %s but was read every %s: "
                            "--rate-hz %.0f reads every update",
                            s->devices[u->device].uuid, wl_human(a, c->update_s, "s"), wl_human(a, read_s, "s"),
                            ceil(1 / c->update_s)));
    }
}

static void nvml_notes(const struct wl_sensor *s, struct wl_strs *out, struct wl_arena *a)
{
    const struct wl_nvml_sensor *n = s->state;
    for (size_t k = 0; k < n->n; k++) {
        wl_nvml_processes_notes(s, &n->gpus[k], out, a);
        note_unread(s, &n->gpus[k], out, a);
        wl_nvml_update_period_notes(s, &n->gpus[k], out, a);
    }
}

const struct wl_sensor_ops wl_sensor_nvml = {
    .name = "nvml",
    .help = "NVIDIA GPUs: power, energy, busy time, clocks and why they are throttled, memory, links, temperature",
    .open = nvml_open,
    .read = nvml_read,
    .watch = nvml_watch,
    .notes = nvml_notes,
    .update_period_wrong = wl_nvml_update_period_forget,
};
