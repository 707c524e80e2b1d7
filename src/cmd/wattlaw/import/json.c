/* What an import says as JSON. */
#include "cmd/wattlaw/format.h"
#include "cmd/wattlaw/import/internal.h"
#include "cmd/wattlaw/store.h"

static void add_counts(struct wl_json *o, const char *key, const struct wl_import_counts *list)
{
    struct wl_json *counts = wl_json_add_object(o, key);
    for (size_t i = 0; i < list->n; i++) wl_json_add_int(counts, list->v[i].what, (int64_t)list->v[i].n);
}

static void add_time(struct wl_json *o, const char *key, const struct wl_import_run *run, int64_t t_ns)
{
    wl_json_add_real(o, key, (double)(t_ns / 1000) / 1e6);
    if (run->undated) wl_json_add_bool(o, "undated", true);
}

static void add_channels(const struct wl_import_run *run, struct wl_json *o)
{
    struct wl_json *list = wl_json_add_array(o, "channels");
    for (size_t i = 0; i < run->n_channels; i++) {
        const struct wl_import_channel *c = &run->channels[i];
        struct wl_json *v = wl_json_add_object(list, NULL);
        wl_json_add_str(v, "device", run->device[c->device].uuid);
        wl_json_add_str(v, "host", run->device[c->device].host);
        wl_json_add_str(v, "quantity", c->of.quantity);
        wl_json_add_str(v, "unit", c->of.unit);
        wl_json_add_str(v, "scope", c->of.scope);
        wl_json_add_str(v, "variant", c->of.variant);
        wl_json_add_int(v, "readings", (int64_t)c->readings);
        wl_json_add_int(v, "missing", (int64_t)c->missing);
        wl_json_add_real(v, c->of.counter ? "difference" : "mean", c->mean);
        add_time(v, "first_s", run, c->first_ns);
        add_time(v, "last_s", run, c->last_ns);
    }
}

static void add_run(const struct wl_import_command *im, size_t i, struct wl_json *o)
{
    const struct wl_import_run *run = &im->im.runs[i];
    struct wl_json *devices;
    if (run->run) wl_json_add_int(o, "run", run->run);
    wl_json_add_str(o, "source", run->format->name);
    wl_json_add_str(o, "label", run->label);
    wl_json_add_str(o, "started", run->undated || run->from_ns == WL_NO_NS ? NULL : wl_clock_iso(im->a, run->from_ns));
    if (run->is_log) { /* the run's own energy is not of the log */
        wl_json_add_int(o, "values", (int64_t)run->readings);
        wl_json_add_int(o, "epochs", (int64_t)run->devices);
        return;
    }
    wl_json_add_real(o, "time_s", im->rows ? im->rows[i].time_s : wl_import_duration_s(run));
    if (im->rows) {
        wl_json_add_real(o, "energy_j", im->rows[i].energy_j);
        wl_json_add_real(o, "energy_lo_j", im->rows[i].energy_lo_j);
        wl_json_add_real(o, "energy_hi_j", im->rows[i].energy_hi_j);
        wl_json_add_str(o, "why_no_energy", run->why_no_energy);
    } else if (run->is_row) {
        wl_json_add_real(o, "energy_j", run->energy_j);
        wl_json_add_str(o, "why_no_energy", run->why_no_energy);
    }
    if (run->is_row) {
        wl_json_add_bool(o, "estimated", run->estimated);
        wl_cmd_settings_json(&run->set, wl_json_add_object(o, "settings"));
    }
    wl_json_add_real(o, "period_s", run->period_s);
    wl_json_add_int(o, "readings", (int64_t)run->readings);
    devices = wl_json_add_array(o, "devices");
    for (size_t k = 0; k < run->devices && run->device; k++) {
        struct wl_json *d = wl_json_add_object(devices, NULL);
        wl_json_add_str(d, "uuid", run->device[k].uuid);
        wl_json_add_str(d, "host", wl_str_eq(run->device[k].host, "unknown") ? NULL : run->device[k].host);
        wl_json_add_str(d, "name", run->device[k].model);
    }
    add_channels(run, o);
}

int wl_import_json(const struct wl_import_command *im, struct wl_err *e)
{
    const struct wl_import_report *r = &im->im.report;
    struct wl_json *root = wl_json_root_object(im->a), *notes, *runs;
    wl_json_add_str(root, "store", im->store ? wl_store_path(im->store) : NULL);
    if (im->im.n_runs == 1) add_run(im, 0, root); /* what most calls import, and programs read */
    wl_json_add_str(root, "tool", r->tool);
    wl_json_add_int(root, "broken", (int64_t)r->n_rejected);
    wl_json_add_int(root, "repeated", (int64_t)r->duplicates);
    add_counts(root, "missing", &r->missing);
    add_counts(root, "passed_over", &r->passed_over);
    notes = wl_json_add_array(root, "notes");
    for (size_t i = 0; i < r->notes.n; i++) wl_json_add_str(notes, NULL, r->notes.v[i]);
    for (size_t i = 0; i < r->rejected.n; i++) wl_json_add_str(notes, NULL, r->rejected.v[i]);
    runs = wl_json_add_array(root, "runs");
    for (size_t i = 0; i < im->im.n_runs; i++) add_run(im, i, wl_json_add_object(runs, NULL));
    if (im->o->json) wl_json_print(root);
    return im->o->json_file ? wl_json_write(root, im->o->json_file, im->a, e) : 0;
}
