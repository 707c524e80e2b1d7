/* The summary as JSON. */
#include "cmd/wattlaw/measure/summary.h"

#include "cmd/wattlaw/attribution.h"
#include "cmd/wattlaw/format.h"
#include "cmd/wattlaw/store.h"
#include "cmd/wattlaw/totals.h"
#include "cmd/wattlaw/work.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static void json_energies(const struct wl_run_result *r, struct wl_json *root, struct wl_arena *a)
{
    struct wl_scope_total *sums = wl_new_array(a, struct wl_scope_total, 2 * r->derived.n_energies);
    size_t n = wl_totals_by_scope(r, sums);
    struct wl_json *list = wl_json_add_array(root, "energies");
    for (size_t i = 0; i < n; i++) {
        struct wl_json *o = wl_json_add_object(list, NULL);
        wl_json_add_str(o, "scope", sums[i].scope);
        wl_json_add_str(o, "method", sums[i].method);
        wl_json_add_real(o, "energy_j", sums[i].energy.value);
        wl_json_add_real(o, "energy_lo_j", sums[i].energy.lo);
        wl_json_add_real(o, "energy_hi_j", sums[i].energy.hi);
        wl_json_add_real(o, "idle_j", sums[i].idle.value);
        wl_json_add_real(o, "mean_power_w", sums[i].mean.value);
        wl_json_add_bool(o, "estimated", sums[i].energy.from & WL_ESTIMATED);
        wl_json_add_bool(o, "simulated", sums[i].energy.from & WL_SIMULATED);
        wl_json_add_bool(o, "chosen", sums[i].chosen);
        wl_json_add_bool(o, "counted", sums[i].chosen); /* as `show --json` calls it */
        wl_json_add_str(o, "why", sums[i].why);
    }
}

static const char *uuid_of(const void *ctx, int64_t device)
{
    const struct wl_run_result *r = ctx;
    for (size_t i = 0; i < r->sensors->n_devices; i++)
        if (r->device_ids[i] == device) return r->sensors->devices[i].uuid;
    return NULL;
}

static void json_stats(const struct wl_run_result *r, struct wl_json *root)
{
    struct wl_json *list = wl_json_add_array(root, "means");
    for (size_t i = 0; i < r->derived.n_stats; i++) {
        const struct wl_stat_row *row = &r->derived.stats[i];
        const struct wl_channel *c = wl_totals_channel(r, row->channel);
        if (!c || !wl_totals_is_whole_run(row->epoch)) continue;
        struct wl_json *o = wl_json_add_object(list, NULL);
        wl_json_add_str(o, "device", r->sensors->devices[c->device].uuid);
        wl_json_add_str(o, "quantity", wl_quantity_name(c->quantity));
        wl_json_add_str(o, "scope", wl_scope_name(c->scope));
        wl_json_add_real(o, "mean", row->mean);
        wl_json_add_real(o, "min", row->min);
        wl_json_add_real(o, "max", row->max);
        wl_json_add_real(o, "period_s", row->period_s);
    }
}

static void json_throttling(const struct wl_run_result *r, struct wl_json *root)
{
    wl_json_add_real(root, "power_capped_pct", wl_totals_throttled_pct(r, WL_POWER_CAPPED));
    wl_json_add_real(root, "thermal_capped_pct", wl_totals_throttled_pct(r, WL_THERMAL_CAPPED));
    struct wl_json *list = wl_json_add_array(root, "notes");
    for (size_t i = 0; i < r->notes.n; i++) wl_json_add_str(list, NULL, r->notes.v[i]);
}

static void json_caps(const struct wl_run_result *r, struct wl_json *root)
{
    struct wl_json *list = wl_json_add_array(root, "caps");
    for (size_t i = 0; i < r->n_caps; i++) {
        const struct wl_cap_setting *s = &r->caps[i];
        struct wl_json *o = wl_json_add_object(list, NULL);
        wl_json_add_str(o, "device", s->device);
        wl_json_add_str(o, "kind", wl_cap_kind_name(s->kind));
        wl_json_add_str(o, "setter", s->setter);
        wl_json_add_real(o, "requested", s->requested);
        wl_json_add_real(o, "found", s->found);
        wl_json_add_real(o, "enforced", s->enforced);
        wl_json_add_real(o, "at_end", s->at_end);
        wl_json_add_real(o, "min", s->range.min);
        wl_json_add_real(o, "max", s->range.max);
        wl_json_add_real(o, "default", s->default_value);
        wl_json_add_bool(o, "simulated", s->simulated);
    }
    wl_json_add_str(root, "flag", r->flag);
    wl_cmd_cooldown_json(&r->cooldown, root);
    wl_cmd_slurm_json(&r->slurm, root);
    if (r->derived.load) wl_cmd_load_json(r->derived.load, r->other_run, root);
}

struct wl_json *wl_measure_json(const struct wl_run_result *r, int64_t run, const char *store, const char *attribute,
                                const struct wl_footprint *f, const struct wl_rule_checks *rules, struct wl_arena *a)
{
    struct wl_json *root = wl_json_root_object(a);
    wl_json_add_str(root, "store", store);
    wl_json_add_int(root, "run", run);
    wl_json_add_str(root, "status", wl_run_status_names[r->status]);
    wl_json_add_int(root, "exit_status", r->exit.status);
    wl_json_add_real(root, "time_s", (double)(r->end_ns - r->start_ns) / WL_NS_PER_S);
    wl_json_add_str(root, "attribute", attribute);
    json_energies(r, root, a);
    wl_job_energy_json(r->derived.attributions, r->derived.n_attributions, uuid_of, r, root, a);
    struct wl_json *footprint = wl_json_add_object(root, "footprint");
    wl_cmd_footprint_json(f, footprint);
    wl_cmd_footprint_energy_json(f, wl_totals_energy(r, NAN).value / WL_J_PER_KWH, footprint);
    if (rules) wl_rules_json(rules, wl_json_add_object(root, "rules"));
    json_stats(r, root);
    json_throttling(r, root);
    json_caps(r, root);
    struct wl_json *epochs = wl_json_add_array(root, "epochs");
    for (size_t i = 0; i < r->derived.n_epochs; i++) {
        const struct wl_epoch_row *row = &r->derived.epochs[i];
        struct wl_json *o = wl_json_add_object(epochs, NULL);
        wl_json_add_int(o, "epoch", row->epoch);
        wl_json_add_real(o, "time_s", row->time_s);
        const struct wl_amount energy = wl_totals_energy(r, (double)row->epoch);
        wl_json_add_real(o, "energy_j", energy.value);
        wl_json_add_real(o, "energy_lo_j", energy.lo);
        wl_json_add_real(o, "energy_hi_j", energy.hi);
        wl_json_add_str(o, "energy_why", wl_totals_why_missing(r, (double)row->epoch));
        wl_json_add_real(o, "samples", row->samples);
    }
    wl_work_spans_json(r->derived.spans, r->derived.n_spans, root);
    wl_json_add_real(root, "sampling_period_s", r->sampling.achieved_period_s);
    const struct wl_channel *slowest = wl_totals_slowest_power(r);
    wl_json_add_real(root, "power_update_s", slowest ? slowest->update_s : NAN);
    wl_json_add_str(root, "power_calibrated", slowest && slowest->calibration ? slowest->calibration->date : NULL);
    wl_json_add_real(root, "own_cpu_s", r->own_cpu_s);
    wl_json_add_real(root, "own_energy_j", wl_totals_overhead(r).value);
    wl_json_add_number(root, "sampler_cpu", r->sampler_cpu);
    return root;
}
