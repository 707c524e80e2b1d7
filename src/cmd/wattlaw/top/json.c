#include "cmd/wattlaw/top/top.h"

#include <math.h>

static void add_readings(struct wl_json *device, const struct wl_live_view *v, int i)
{
    struct wl_json *list = wl_json_add_array(device, "readings");
    for (size_t k = 0; k < v->sensors->n_channels; k++) {
        const struct wl_channel *c = &v->sensors->channels[k];
        const struct wl_live_reading *r = &v->readings[k];
        if (c->device != i || c->scope == WL_SCOPE_JOB) continue;
        struct wl_json *o = wl_json_add_object(list, NULL);
        wl_json_add_str(o, "quantity", wl_quantity_name(c->quantity));
        wl_json_add_str(o, "scope", wl_scope_name(c->scope));
        wl_json_add_str(o, "variant", wl_variant_name(c->variant));
        wl_json_add_real(o, "value", r->value);
        wl_json_add_str(o, "unit", wl_quantity_unit(c->quantity));
        wl_json_add_str(o, "why", isnan(r->value) ? r->why : NULL);
        wl_json_add_bool(o, "estimated", c->estimated);
        wl_json_add_bool(o, "simulated", c->simulated);
    }
}

static void add_energies(struct wl_json *device, const struct wl_live_view *v, int i)
{
    struct wl_json *list = wl_json_add_array(device, "energies");
    for (size_t k = 0; k < v->n_energies; k++) {
        const struct wl_live_energy *x = &v->energies[k];
        const struct wl_channel *c = &v->sensors->channels[x->channel];
        if (c->device != i) continue;
        struct wl_json *o = wl_json_add_object(list, NULL);
        wl_json_add_str(o, "scope", wl_scope_name(c->scope));
        wl_json_add_str(o, "method", wl_energy_method_name(x->counter ? WL_ENERGY_BY_COUNTER : WL_ENERGY_BY_INTEGRAL));
        wl_json_add_real(o, "since_start_j", x->since_start_j);
        wl_json_add_bool(o, "counted", x->counted);
        wl_json_add_bool(o, "estimated", c->estimated);
        wl_json_add_bool(o, "simulated", c->simulated);
    }
}

static void add_devices(struct wl_json *root, const struct wl_live_view *v)
{
    struct wl_json *list = wl_json_add_array(root, "devices");
    for (size_t i = 0; i < v->sensors->n_devices; i++) {
        const struct wl_device *d = &v->sensors->devices[i];
        if (wl_str_eq(d->uuid, WL_JOB_DEVICE)) continue;
        struct wl_json *o = wl_json_add_object(list, NULL);
        wl_json_add_str(o, "device", d->uuid);
        wl_json_add_str(o, "sensor", d->sensor);
        wl_json_add_int(o, "number", d->index);
        wl_json_add_str(o, "name", d->name);
        add_energies(o, v, (int)i);
        add_readings(o, v, (int)i);
    }
}

static void add_caps(struct wl_json *root, const struct wl_live_view *v)
{
    struct wl_json *list = wl_json_add_array(root, "caps");
    for (size_t i = 0; i < v->n_caps; i++) {
        const struct wl_cap_present *c = &v->caps[i];
        struct wl_json *o = wl_json_add_object(list, NULL);
        wl_json_add_str(o, "device", c->device);
        wl_json_add_str(o, "name", c->name);
        wl_json_add_str(o, "cap", wl_cap_kind_name(c->kind));
        wl_json_add_real(o, "set_w", c->set);
        wl_json_add_real(o, "enforced_w", c->enforced);
        wl_json_add_real(o, "default_w", c->default_value);
        wl_json_add_bool(o, "simulated", c->simulated);
        wl_json_add_str(o, "why", c->why);
    }
    wl_json_add_str(root, "caps_why", v->caps_why);
}

static void add_processes(struct wl_json *root, const struct wl_live_view *v)
{
    struct wl_json *list = wl_json_add_array(root, "processes");
    for (size_t i = 0; i < v->n_processes; i++) {
        const struct wl_live_process *p = &v->processes[i];
        struct wl_json *o = wl_json_add_object(list, NULL), *gpus;
        wl_json_add_int(o, "pid", p->pid);
        wl_json_add_str(o, "user", p->user);
        wl_json_add_str(o, "name", p->name);
        wl_json_add_real(o, "cpu_pct", p->cpu_pct);
        wl_json_add_real(o, "rss_bytes", p->rss_bytes);
        gpus = wl_json_add_array(o, "gpus");
        for (size_t k = 0; k < p->n_gpus; k++) wl_json_add_str(gpus, NULL, v->sensors->devices[p->gpus[k]].uuid);
        wl_json_add_real(o, "gpu_pct", p->gpu_pct);
        wl_json_add_real(o, "gpu_memory_bytes", p->gpu_memory_bytes);
    }
    wl_json_add_str(root, "processes_why", v->processes_why);
}

static void add_sensors(struct wl_json *root, const struct wl_live_view *v)
{
    static const char *const states[] = {
        [WL_SENSOR_OPEN] = "open", [WL_SENSOR_UNAVAILABLE] = "unavailable", [WL_SENSOR_UNUSED] = "unused"
    };
    struct wl_json *list = wl_json_add_array(root, "sensors");
    for (size_t i = 0; i < v->sensors->n_info; i++) {
        const struct wl_sensor_info *s = &v->sensors->info[i];
        struct wl_json *o = wl_json_add_object(list, NULL);
        wl_json_add_str(o, "sensor", s->name);
        wl_json_add_str(o, "state", states[s->state]);
        wl_json_add_str(o, "why", s->reason);
    }
}

struct wl_json *wl_top_json(const struct wl_live_view *v, struct wl_arena *a)
{
    struct wl_json *root = wl_json_root_object(a);
    const struct wl_amount power = wl_live_power(v), energy = wl_live_energy_total(v);
    wl_json_add_str(root, "host", v->host);
    wl_json_add_str(root, "time", wl_clock_iso(a, v->wall_ns));
    wl_json_add_real(root, "watched_s", v->watched_s);
    wl_json_add_str(root, "energy_scope", v->energy_scope);
    wl_json_add_real(root, "power_w", power.value);
    wl_json_add_real(root, "energy_since_start_j", energy.value);
    wl_json_add_bool(root, "estimated", energy.from & WL_ESTIMATED);
    wl_json_add_bool(root, "simulated", energy.from & WL_SIMULATED);
    add_devices(root, v);
    add_caps(root, v);
    add_processes(root, v);
    add_sensors(root, v);
    return root;
}
