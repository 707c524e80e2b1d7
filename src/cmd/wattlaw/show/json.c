#include "cmd/wattlaw/show/show.h"

#include "cmd/wattlaw/attribution.h"
#include "cmd/wattlaw/work.h"

#include <math.h>

static void add_time(struct wl_json *o, const char *name, struct wl_anchor t, struct wl_arena *a)
{
    if (t.wall_ns == WL_NO_NS)
        wl_json_add_null(o, name);
    else
        wl_json_add_str(o, name, wl_clock_iso(a, t.wall_ns));
}

void wl_show_run_json(struct wl_json *o, const struct wl_run_row *r, struct wl_arena *a)
{
    wl_json_add_int(o, "run", r->id);
    wl_json_add_str(o, "status", wl_run_status_names[r->status]);
    wl_cmd_settings_json(&r->set, wl_json_add_object(o, "settings"));
    wl_json_add_int(o, "repeat", r->repeat);
    wl_json_add_int(o, "attempt", r->attempt);
    wl_json_add_str(o, "command", r->command);
    wl_json_add_str(o, "folder", r->folder);
    wl_json_add_str(o, "host", r->host);
    wl_json_add_str(o, "training", r->training);
    wl_json_add_str(o, "stop_at", r->stop_at);
    wl_work_slurm_job_json(&r->slurm_job, o);
    wl_json_add_str(o, "version", r->version);
    add_time(o, "started", r->start, a);
    add_time(o, "stopped", r->stop, a);
    wl_json_add_number(o, "exit_status", r->exit_status);
    wl_json_add_number(o, "signal", r->signal);
    wl_json_add_str(o, "error", r->error);
    wl_json_add_str(o, "flag", r->flag);
    wl_json_add_real(o, "time_s", r->time_s);
    wl_json_add_number(o, "epochs_seen", r->epochs_seen);
    wl_json_add_real(o, "epoch_time_s", r->epoch_time_s);
    wl_json_add_real(o, "energy_j", r->energy_j);
    wl_json_add_real(o, "energy_lo_j", r->energy_lo_j);
    wl_json_add_real(o, "energy_hi_j", r->energy_hi_j);
    wl_json_add_real(o, "idle_j", r->idle_j);
    wl_json_add_real(o, "mean_power_w", r->mean_power_w);
    wl_json_add_bool(o, "estimated", r->estimated);
    wl_json_add_bool(o, "simulated", r->simulated);
    if (r->source) wl_json_add_str(o, "source", r->source);
    wl_json_add_real(o, "util_pct", r->util_pct);
    wl_json_add_real(o, "input_pct", r->input_pct);
    wl_json_add_real(o, "power_capped_pct", r->power_capped_pct);
    wl_json_add_real(o, "thermal_capped_pct", r->thermal_capped_pct);
    for (const struct wl_setting *c = NULL; (c = wl_setting_next_clock(c));)
        wl_json_add_real(o, c->achieved, r->achieved[c->cap]);
    for (const struct wl_setting *c = NULL; (c = wl_setting_next_cap(c));)
        wl_json_add_real(o, c->acted, r->acted_pct[c->cap]);
    wl_cmd_cooldown_json(&r->cooldown, o);
    wl_cmd_slurm_json(&r->slurm, o);
    wl_cmd_load_json(&r->load, r->other_run, o);
    wl_json_add_str(o, "metric", r->metric);
    wl_json_add_real(o, "metric_value", r->metric_value);
    wl_json_add_str(o, "metric_unit", r->metric_unit);
    struct wl_json *sampling = wl_json_add_object(o, "sampling");
    wl_json_add_real(sampling, "asked_s", r->sampling_asked_s);
    wl_json_add_real(sampling, "period_s", r->sampling_period_s);
    wl_json_add_number(sampling, "ticks", r->ticks);
    wl_json_add_number(sampling, "ticks_skipped", r->ticks_skipped);
    wl_json_add_number(sampling, "samples_lost", r->samples_lost);
    if (!isnan(r->sampler_cpu)) wl_json_add_number(sampling, "cpu", r->sampler_cpu);
    wl_json_add_real(sampling, "own_cpu_s", r->own_cpu_s);
}

/* Seconds since the start of the run. */
static double since_start(const struct wl_run_row *r, int64_t t_ns)
{
    const bool known = t_ns != WL_NO_NS && r->start.mono_ns != WL_NO_NS;
    return known ? (double)(t_ns - r->start.mono_ns) / WL_NS_PER_S : NAN;
}

static void add_epochs(struct wl_json *root, const struct wl_show_details *d)
{
    struct wl_json *list = wl_json_add_array(root, "epochs");
    for (size_t i = 0; i < d->epochs.n; i++) {
        const struct wl_epoch_row *v = &d->epochs.v[i];
        struct wl_json *o = wl_json_add_object(list, NULL);
        wl_json_add_int(o, "epoch", v->epoch);
        wl_json_add_real(o, "begin_s", since_start(d->run, v->begin_ns));
        wl_json_add_real(o, "end_s", since_start(d->run, v->end_ns));
        wl_json_add_real(o, "time_s", v->time_s);
        wl_json_add_number(o, "samples", v->samples);
        wl_json_add_number(o, "updates", v->updates);
        if (v->tokens > 0) wl_json_add_number(o, "tokens", v->tokens);
        wl_json_add_real(o, "energy_j", wl_show_epoch_energy(d, v->epoch).value);
        struct wl_json *metrics = wl_json_add_object(o, "metrics");
        for (size_t k = 0; k < d->metrics.n; k++)
            if (d->metrics.v[k].epoch == (double)v->epoch)
                wl_json_add_real(metrics, d->metrics.v[k].name, d->metrics.v[k].value);
    }
}

/* What the program said its metrics are. */
static void add_metric_defs(struct wl_json *root, const struct wl_show_details *d)
{
    struct wl_json *list = wl_json_add_array(root, "metrics");
    for (size_t i = 0; i < d->metric_defs.n; i++) {
        const struct wl_metric_def_row *v = &d->metric_defs.v[i];
        struct wl_json *o = wl_json_add_object(list, NULL);
        wl_json_add_str(o, "name", v->name);
        wl_json_add_str(o, "label", v->label);
        wl_json_add_str(o, "unit", v->unit);
        wl_json_add_str(o, "better", isnan(v->larger) ? NULL : v->larger > 0 ? "larger" : "smaller");
        wl_json_add_bool(o, "main", v->main);
        wl_json_add_str(o, "baseline_of", v->baseline_of);
    }
}

static void add_energies(struct wl_json *root, const struct wl_show_details *d)
{
    struct wl_json *list = wl_json_add_array(root, "energies");
    for (size_t i = 0; i < d->energies.n; i++) {
        const struct wl_energy_row *v = &d->energies.v[i];
        const struct wl_device_row *device = wl_show_device(d, v->device);
        struct wl_json *o = wl_json_add_object(list, NULL);
        wl_json_add_number(o, "epoch", v->epoch);
        wl_json_add_str(o, "device", device ? device->uuid : NULL);
        wl_json_add_str(o, "scope", v->scope);
        wl_json_add_str(o, "method", v->method);
        wl_json_add_real(o, "energy_j", v->energy_j);
        wl_json_add_real(o, "energy_lo_j", v->energy_lo_j);
        wl_json_add_real(o, "energy_hi_j", v->energy_hi_j);
        wl_json_add_real(o, "idle_before_w", v->idle_before_w);
        wl_json_add_real(o, "idle_after_w", v->idle_after_w);
        wl_json_add_real(o, "idle_j", v->idle_j);
        wl_json_add_real(o, "mean_power_w", v->mean_power_w);
        wl_json_add_real(o, "coverage", v->coverage);
        wl_json_add_bool(o, "estimated", v->estimated);
        wl_json_add_bool(o, "simulated", v->simulated);
        wl_json_add_bool(o, "counted", v->chosen);
        wl_json_add_str(o, "why", v->why);
    }
}

static const char *uuid_of(const void *ctx, int64_t device)
{
    const struct wl_device_row *row = wl_show_device(ctx, device);
    return row ? row->uuid : NULL;
}

static void add_phases(struct wl_json *root, const struct wl_show_details *d)
{
    struct wl_json *list = wl_json_add_array(root, "phases");
    for (size_t i = 0; i < d->phases.n; i++) {
        const struct wl_phase_row *v = &d->phases.v[i];
        const struct wl_device_row *device = wl_show_device(d, v->device);
        struct wl_json *o = wl_json_add_object(list, NULL);
        wl_json_add_str(o, "phase", v->phase);
        wl_json_add_str(o, "device", device ? device->uuid : NULL);
        wl_json_add_str(o, "scope", v->scope);
        wl_json_add_str(o, "method", v->method);
        wl_json_add_int(o, "spans", v->spans);
        wl_json_add_real(o, "time_s", v->time_s);
        wl_json_add_real(o, "energy_j", v->energy_j);
        wl_json_add_real(o, "energy_lo_j", v->energy_lo_j);
        wl_json_add_real(o, "energy_hi_j", v->energy_hi_j);
        wl_json_add_bool(o, "estimated", v->estimated);
        wl_json_add_bool(o, "simulated", v->simulated);
        wl_json_add_str(o, "why", v->why);
    }
}

static void add_channels(struct wl_json *root, const struct wl_show_details *d)
{
    struct wl_json *list = wl_json_add_array(root, "channels");
    for (size_t i = 0; i < d->stats.n; i++) {
        const struct wl_stat_row *v = &d->stats.v[i];
        const struct wl_channel_row *c = wl_show_channel(d, v->channel);
        const struct wl_device_row *device = c ? wl_show_device(d, c->device) : NULL;
        if (!device || !isnan(v->epoch)) continue;
        struct wl_json *o = wl_json_add_object(list, NULL);
        wl_json_add_str(o, "device", device->uuid);
        wl_json_add_str(o, "name", device->name);
        wl_json_add_str(o, "sensor", device->sensor);
        wl_json_add_str(o, "quantity", c->quantity);
        wl_json_add_str(o, "unit", c->unit);
        wl_json_add_str(o, "scope", c->scope);
        wl_json_add_str(o, "variant", c->variant);
        wl_json_add_real(o, "mean", v->mean);
        wl_json_add_real(o, "sd", v->sd);
        wl_json_add_real(o, "min", v->min);
        wl_json_add_real(o, "max", v->max);
        wl_json_add_int(o, "readings", v->readings);
        wl_json_add_real(o, "period_s", v->period_s);
        wl_json_add_bool(o, "estimated", c->estimated);
        wl_json_add_bool(o, "simulated", c->simulated);
        wl_json_add_real(o, "update_s", c->update_s);
        wl_json_add_real(o, "window_s", c->window_s);
        wl_json_add_real(o, "delay_s", c->delay_s);
        wl_json_add_real(o, "most_w", c->power_limit_w);
        wl_json_add_str(o, "calibrated", c->calibrated);
    }
}

/* What is known of a device is a flat object of texts. */
static void add_info(struct wl_json *o, const struct wl_device_row *device, struct wl_arena *a)
{
    struct wl_json *info;
    if (!device->info || wl_json_parse(device->info, device->uuid, &info, a, NULL) < 0) return;
    for (const char *key = wl_json_key(info, NULL); key; key = wl_json_key(info, key))
        wl_json_add_str(o, key, wl_json_str(wl_json_get(info, key)));
}

static void add_devices(struct wl_json *root, const struct wl_show_details *d, struct wl_arena *a)
{
    struct wl_json *list = wl_json_add_array(root, "devices");
    for (size_t i = 0; i < d->devices.n; i++) {
        const struct wl_device_row *device = &d->devices.v[i];
        struct wl_json *o = wl_json_add_object(list, NULL);
        wl_json_add_str(o, "uuid", device->uuid);
        wl_json_add_str(o, "name", device->name);
        wl_json_add_str(o, "sensor", device->sensor);
        add_info(o, device, a);
    }
}

static void add_notes(struct wl_json *root, const struct wl_show_details *d)
{
    struct wl_json *list = wl_json_add_array(root, "notes");
    for (size_t i = 0; i < d->log.n; i++) {
        struct wl_json *o = wl_json_add_object(list, NULL);
        wl_json_add_str(o, "level", d->log.v[i].level);
        wl_json_add_str(o, "area", d->log.v[i].area);
        wl_json_add_str(o, "message", d->log.v[i].message);
    }
}

void wl_show_details_json(struct wl_json *o, const struct wl_show_details *d, struct wl_arena *a)
{
    wl_show_run_json(o, d->run, a);
    wl_json_add_str(o, "log_tail", d->run->log_tail);
    add_epochs(o, d);
    wl_work_spans_json(d->spans.v, d->spans.n, o);
    add_metric_defs(o, d);
    add_energies(o, d);
    wl_json_add_str(o, "attribute", d->attribute);
    wl_job_energy_json(d->attributions.v, d->attributions.n, uuid_of, d, o, a);
    add_phases(o, d);
    add_channels(o, d);
    add_devices(o, d, a);
    add_notes(o, d);
    wl_show_nodes_json(o, d);
    wl_show_placement_json(o, d, a);
    if (d->rules) wl_rules_json(d->rules, wl_json_add_object(o, "rules"));
}
