/* What `wattlaw doctor` found, as JSON. */
#include "cmd/wattlaw/doctor/doctor.h"

#include <math.h>

static void json_sensors(const struct wl_doctor_findings *f, struct wl_json *root)
{
    static const char *const states[] = {
        [WL_SENSOR_OPEN] = "open", [WL_SENSOR_UNAVAILABLE] = "unavailable", [WL_SENSOR_UNUSED] = "unused"
    };
    struct wl_json *list = wl_json_add_array(root, "sensors");
    for (size_t i = 0; i < f->sensors->n_info; i++) {
        const struct wl_sensor_info *info = &f->sensors->info[i];
        bool open = info->state == WL_SENSOR_OPEN;
        struct wl_json *o = wl_json_add_object(list, NULL);
        wl_json_add_str(o, "name", info->name);
        wl_json_add_str(o, "state", states[info->state]);
        wl_json_add_str(o, "source", info->source);
        wl_json_add_str(o, "reason", info->reason);
        wl_json_add_str(o, "fix", info->fix);
        wl_json_add_real(o, "read_s", info->read_s);
        wl_json_add_real(o, "highest_rate_hz", open ? wl_doctor_highest_rate_hz(info) : NAN);
    }
}

static void json_channels(const struct wl_doctor_findings *f, struct wl_json *root)
{
    struct wl_json *list = wl_json_add_array(root, "channels");
    for (size_t i = 0; i < f->sensors->n_channels; i++) {
        const struct wl_channel *c = &f->sensors->channels[i];
        const struct wl_device *d = &f->sensors->devices[c->device];
        struct wl_json *o = wl_json_add_object(list, NULL);
        wl_json_add_str(o, "sensor", d->sensor);
        wl_json_add_str(o, "device", d->name);
        wl_json_add_str(o, "uuid", d->uuid);
        wl_json_add_str(o, "bus_id", d->bus_id);
        wl_json_add_str(o, "scope", wl_scope_name(c->scope));
        wl_json_add_str(o, "quantity", wl_quantity_name(c->quantity));
        wl_json_add_str(o, "variant", wl_variant_name(c->variant));
        wl_json_add_str(o, "unit", wl_quantity_unit(c->quantity));
        wl_json_add_bool(o, "estimated", c->estimated);
        wl_json_add_bool(o, "simulated", c->simulated);
        struct wl_sensor_response g = wl_sensor_response_of(d, c);
        wl_json_add_real(o, "update_s", g.update_s);
        wl_json_add_real(o, "window_s", g.window_s);
        wl_json_add_real(o, "delay_s", g.delay_s);
        wl_json_add_real(o, "most_w", g.max_w);
        wl_json_add_str(o, "calibrated", c->calibration ? c->calibration->date : NULL);
        wl_json_add_real(o, "latest", f->latest[i]);
        wl_json_add_int(o, "good", (int64_t)f->channels[i].samples);
        wl_json_add_int(o, "failed", (int64_t)f->channels[i].errors);
        wl_json_add_str(o, "last_failure", f->channels[i].last_why);
    }
}

static void json_devices(const struct wl_doctor_findings *f, struct wl_json *root)
{
    struct wl_json *list = wl_json_add_array(root, "devices");
    for (size_t i = 0; i < f->sensors->n_devices; i++) {
        const struct wl_device *d = &f->sensors->devices[i];
        struct wl_json *o = wl_json_add_object(list, NULL);
        wl_json_add_str(o, "sensor", d->sensor);
        wl_json_add_str(o, "name", d->name);
        wl_json_add_str(o, "uuid", d->uuid);
        wl_json_add_str(o, "bus_id", d->bus_id);
        for (size_t k = 0; k < d->n_facts; k++) wl_json_add_str(o, d->facts[k].key, d->facts[k].value);
    }
    struct wl_json *notes = wl_json_add_array(root, "notes");
    for (size_t i = 0; i < f->notes.n; i++) wl_json_add_str(notes, NULL, f->notes.v[i]);
}

static void json_machine(const struct wl_doctor_findings *f, struct wl_json *root)
{
    const struct wl_doctor_machine *m = &f->machine;
    struct wl_json *o = wl_json_add_object(root, "machine");
    wl_json_add_str(o, "host", m->host);
    wl_json_add_str(o, "kernel", m->kernel);
    wl_json_add_str(o, "cpu", m->cpu);
    wl_json_add_int(o, "cpus", m->cpus);
    wl_json_add_int(o, "usable_cpus", m->usable_cpus);
    wl_json_add_str(o, "job_cgroups", m->job_cgroups);
    wl_json_add_str(o, "no_job_cgroups", m->no_cgroups);
    wl_json_add_real(o, "memory_bytes", m->memory_bytes);
    struct wl_json *list = wl_json_add_array(root, "programs");
    for (size_t i = 0; i < f->n_programs; i++) {
        const struct wl_doctor_program *p = &f->programs[i];
        struct wl_json *row = wl_json_add_object(list, NULL);
        wl_json_add_str(row, "name", p->name);
        wl_json_add_str(row, "purpose", p->purpose);
        wl_json_add_str(row, "path", p->path);
        wl_json_add_str(row, "version", p->version);
        wl_json_add_str(row, "fix", p->path ? NULL : p->fix);
    }
}

static void json_sampler(const struct wl_doctor_findings *f, struct wl_json *root)
{
    const struct wl_sampler_stats *s = &f->sampler;
    struct wl_json *o = wl_json_add_object(root, "sampler");
    wl_json_add_real(o, "sampled_s", f->sampled_s);
    wl_json_add_real(o, "period_s", s->period_s);
    wl_json_add_real(o, "achieved_period_s", s->achieved_period_s);
    wl_json_add_int(o, "ticks", (int64_t)s->ticks);
    wl_json_add_int(o, "skipped", (int64_t)s->skipped);
    wl_json_add_int(o, "failed", (int64_t)s->errors);
    wl_json_add_int(o, "threads", s->threads);
    wl_json_add_real(o, "cpu_share_pct", wl_doctor_cpu_share_pct(f));
    wl_json_add_int(o, "memory_bytes", (int64_t)s->memory_bytes);
}

void wl_doctor_print_json(const struct wl_doctor_findings *f, struct wl_arena *a)
{
    struct wl_json *root = wl_json_root_object(a);
    wl_json_add_str(root, "version", WL_VERSION);
    json_machine(f, root);
    json_sensors(f, root);
    json_channels(f, root);
    json_devices(f, root);
    wl_doctor_caps_json(&f->caps, root);
    wl_json_add_str(root, "energy_from", f->basis);
    json_sampler(f, root);
    wl_doctor_training_json(&f->training, root);
    wl_json_print(root);
}
