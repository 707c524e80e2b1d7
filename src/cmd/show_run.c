#include "cmd/show.h"

#include <math.h>
#include <string.h>

/* All that a store knows of one run. */
struct details {
    const struct wl_run_row *run;
    struct wl_epoch_rows epochs;
    struct wl_energy_rows energies;
    struct wl_metric_rows metrics;
    struct wl_stat_rows stats;
    struct wl_device_rows devices;
    struct wl_channel_rows channels;
};

static int read_details(struct wl_store *s, int64_t id, struct details *d, struct wl_arena *a, struct wl_err *e)
{
    struct wl_run_rows runs;
    int rc = wl_store_runs(s, &(struct wl_run_filter) { .run = id }, &runs, a, e);
    if (rc) return rc;
    if (runs.n == 0) return wl_fail(e, WL_ENOENT, "%s: no run %lld", wl_store_path(s), (long long)id);
    d->run = runs.v;
    rc = wl_store_epochs(s, id, &d->epochs, a, e);
    if (rc == 0) rc = wl_store_energies(s, id, &d->energies, a, e);
    if (rc == 0) rc = wl_store_metrics(s, id, &d->metrics, a, e);
    if (rc == 0) rc = wl_store_stats(s, id, &d->stats, a, e);
    if (rc == 0) rc = wl_store_devices(s, id, &d->devices, a, e);
    if (rc == 0) rc = wl_store_channels(s, id, &d->channels, a, e);
    return rc;
}

static const struct wl_device_row *device_of(const struct details *d, int64_t id)
{
    for (size_t i = 0; i < d->devices.n; i++)
        if (d->devices.v[i].id == id) return &d->devices.v[i];
    return NULL;
}

static const struct wl_channel_row *channel_of(const struct details *d, int64_t id)
{
    for (size_t i = 0; i < d->channels.n; i++)
        if (d->channels.v[i].id == id) return &d->channels.v[i];
    return NULL;
}

static const char *device_name(const struct details *d, int64_t id, struct wl_arena *a)
{
    const struct wl_device_row *v = device_of(d, id);
    if (!v) return NULL;
    return v->name && !wl_streq(v->name, v->uuid) ? wl_strf(a, "%s %s", v->name, v->uuid) : v->uuid;
}

/* Energy of an epoch: the sum over the chosen devices, missing as soon as one of them is. */
static double epoch_energy(const struct details *d, double epoch)
{
    double sum = NAN;
    for (size_t i = 0; i < d->energies.n; i++) {
        const struct wl_energy_row *v = &d->energies.v[i];
        if (!v->chosen || v->epoch != epoch) continue;
        sum = (isnan(sum) ? 0 : sum) + v->energy_j;
        if (isnan(v->energy_j)) return NAN;
    }
    return sum;
}

/* ---- text ---- */

static void line(const char *name, const char *value)
{
    if (value && *value) printf("  %-9s %s\n", name, value);
}

static void print_head(const struct wl_run_row *r, struct wl_arena *a)
{
    printf("run %lld, %s\n", (long long)r->id, wl_run_status_names[r->status]);
    line("settings", wl_cmd_settings_text(&r->set, a));
    line("repeat", wl_strf(a, "%lld%s", (long long)r->repeat,
                           r->attempt > 1 ? wl_strf(a, ", attempt %lld", (long long)r->attempt) : ""));
    line("command", r->command);
    line("folder", r->folder);
    line("host", r->host);
    if (r->start.wall_ns != WL_NO_NS) line("started", wl_iso_time(a, r->start.wall_ns));
    if (!isnan(r->time_s)) line("time", wl_human_time(a, r->time_s));
    line("ended", wl_cmd_run_end(r, a));
    line("flagged", r->flag);
    if (!isnan(r->util_pct)) line("util", wl_strf(a, "%.1f %%", r->util_pct));
}

static void print_energy(const struct details *d, struct wl_arena *a)
{
    const struct wl_run_row *r = d->run;
    const char *note = wl_cmd_energy_note(r->estimated, r->simulated);
    if (isnan(r->energy_j))
        line("energy", "not measured");
    else
        line("energy", wl_strf(a, "%s, mean %s%s%s", wl_human(a, r->energy_j, "J"), wl_human(a, r->mean_power_w, "W"),
                               *note ? ", " : "", note));
    struct wl_table t = wl_table_new(a);
    static const struct wl_table_head head[] = { { "device", false },  { "scope", false }, { "method", false },
                                                 { "energy J", true }, { "mean W", true }, { "covered %", true },
                                                 { "counted", false }, { "note", false } };
    for (size_t i = 0; i < WL_COUNT(head); i++) wl_table_column(&t, head[i].name, head[i].right);
    for (size_t i = 0; i < d->energies.n; i++) {
        const struct wl_energy_row *v = &d->energies.v[i];
        if (!isnan(v->epoch)) continue;
        wl_table_cell(&t, device_name(d, v->device, a));
        wl_table_cell(&t, v->scope);
        wl_table_cell(&t, v->method);
        wl_table_real(&t, v->energy_j, 5);
        wl_table_real(&t, v->mean_power_w, 4);
        wl_table_real(&t, 100 * v->coverage, 3);
        wl_table_cell(&t, v->chosen ? "yes" : "no");
        wl_table_cell(&t, wl_cmd_energy_note(v->estimated, v->simulated));
        wl_table_row(&t);
    }
    if (wl_table_rows(&t)) printf("\n");
    if (wl_table_rows(&t)) wl_table_print(&t, stdout, wl_table_width(stdout));
}

static void print_sampling(const struct wl_run_row *r, struct wl_arena *a)
{
    struct wl_text t = WL_TEXT(a);
    if (!isnan(r->sampling_period_s)) wl_text_addf(&t, "a reading each %s", wl_human(a, r->sampling_period_s, "s"));
    if (!isnan(r->sampling_asked_s)) wl_text_addf(&t, " (asked for: %s)", wl_human(a, r->sampling_asked_s, "s"));
    if (!isnan(r->ticks)) wl_text_addf(&t, ", %.0f ticks", r->ticks);
    if (!isnan(r->ticks_skipped)) wl_text_addf(&t, ", %.0f skipped", r->ticks_skipped);
    if (!isnan(r->samples_lost)) wl_text_addf(&t, ", %.0f readings lost", r->samples_lost);
    if (!isnan(r->own_cpu_s)) wl_text_addf(&t, ", %s of CPU time", wl_human(a, r->own_cpu_s, "s"));
    line("sampling", wl_starts(t.s, ", ") ? t.s + 2 : t.s);
}

/* The names of all metrics, in the order of first appearance. */
static struct wl_strs metric_names(const struct details *d, struct wl_arena *a)
{
    struct wl_strs names = { 0 };
    for (size_t i = 0; i < d->metrics.n; i++) {
        bool known = isnan(d->metrics.v[i].epoch);
        for (size_t k = 0; k < names.n; k++) known = known || strcmp(names.v[k], d->metrics.v[i].name) == 0;
        if (!known) wl_strs_add(a, &names, d->metrics.v[i].name);
    }
    return names;
}

static double metric_at(const struct details *d, double epoch, const char *name)
{
    for (size_t i = 0; i < d->metrics.n; i++)
        if (d->metrics.v[i].epoch == epoch && strcmp(d->metrics.v[i].name, name) == 0) return d->metrics.v[i].value;
    return NAN;
}

static void print_epochs(const struct details *d, struct wl_arena *a)
{
    struct wl_strs metrics = metric_names(d, a);
    struct wl_table t = wl_table_new(a);
    static const char *const head[] = { "epoch", "time s", "samples/s", "updates", "energy J", "power W" };
    for (size_t i = 0; i < WL_COUNT(head); i++) wl_table_column(&t, head[i], true);
    for (size_t i = 0; i < metrics.n; i++) wl_table_column(&t, metrics.v[i], true);
    for (size_t i = 0; i < d->epochs.n; i++) {
        const struct wl_epoch_row *v = &d->epochs.v[i];
        double energy_j = epoch_energy(d, (double)v->epoch);
        wl_table_cellf(&t, "%lld", (long long)v->epoch);
        wl_table_real(&t, v->time_s, 5);
        wl_table_real(&t, v->samples / v->time_s, 4);
        wl_table_int(&t, v->updates);
        wl_table_real(&t, energy_j, 4);
        wl_table_real(&t, energy_j / v->time_s, 4);
        for (size_t k = 0; k < metrics.n; k++) wl_table_real(&t, metric_at(d, (double)v->epoch, metrics.v[k]), 4);
        wl_table_row(&t);
    }
    if (d->epochs.n) printf("\n");
    if (d->epochs.n) wl_table_print(&t, stdout, wl_table_width(stdout));
}

static void print_channels(const struct details *d, struct wl_arena *a)
{
    struct wl_table t = wl_table_new(a);
    static const struct wl_table_head head[] = { { "device", false },  { "sensor", false }, { "quantity", false },
                                                 { "scope", false },   { "mean", true },    { "sd", true },
                                                 { "min", true },      { "max", true },     { "unit", false },
                                                 { "readings", true }, { "note", false } };
    for (size_t i = 0; i < WL_COUNT(head); i++) wl_table_column(&t, head[i].name, head[i].right);
    for (size_t i = 0; i < d->stats.n; i++) {
        const struct wl_stat_row *v = &d->stats.v[i];
        const struct wl_channel_row *c = channel_of(d, v->channel);
        if (!isnan(v->epoch) || !c) continue;
        const struct wl_device_row *device = device_of(d, c->device);
        wl_table_cell(&t, device_name(d, c->device, a));
        wl_table_cell(&t, device ? device->sensor : NULL);
        wl_table_cell(&t, *c->variant ? wl_strf(a, "%s (%s)", c->quantity, c->variant) : c->quantity);
        wl_table_cell(&t, c->scope);
        wl_table_real(&t, v->mean, 4);
        wl_table_real(&t, v->sd, 3);
        wl_table_real(&t, v->min, 4);
        wl_table_real(&t, v->max, 4);
        wl_table_cell(&t, c->unit);
        wl_table_cellf(&t, "%lld", (long long)v->readings);
        wl_table_cell(&t, wl_cmd_energy_note(c->estimated, c->simulated));
        wl_table_row(&t);
    }
    if (wl_table_rows(&t)) printf("\n");
    if (wl_table_rows(&t)) wl_table_print(&t, stdout, wl_table_width(stdout));
}

static void print_log_tail(const struct wl_run_row *r, struct wl_arena *a)
{
    struct wl_strs lines = wl_split(a, r->log_tail ? r->log_tail : "", '\n');
    if (lines.n) printf("\nlast lines of its log\n");
    for (size_t i = 0; i < lines.n; i++)
        if (*lines.v[i] || i + 1 < lines.n) printf("  | %s\n", lines.v[i]);
}

/* ---- JSON ---- */

static void add_time(struct wl_json *o, const char *name, struct wl_anchor t, struct wl_arena *a)
{
    if (t.wall_ns == WL_NO_NS)
        wl_json_add_null(o, name);
    else
        wl_json_add_str(o, name, wl_iso_time(a, t.wall_ns));
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
    wl_json_add_real(o, "mean_power_w", r->mean_power_w);
    wl_json_add_bool(o, "estimated", r->estimated);
    wl_json_add_bool(o, "simulated", r->simulated);
    wl_json_add_real(o, "util_pct", r->util_pct);
    wl_json_add_str(o, "metric", r->metric);
    wl_json_add_real(o, "metric_value", r->metric_value);
    struct wl_json *sampling = wl_json_add_object(o, "sampling");
    wl_json_add_real(sampling, "asked_s", r->sampling_asked_s);
    wl_json_add_real(sampling, "period_s", r->sampling_period_s);
    wl_json_add_number(sampling, "ticks", r->ticks);
    wl_json_add_number(sampling, "ticks_skipped", r->ticks_skipped);
    wl_json_add_number(sampling, "samples_lost", r->samples_lost);
    wl_json_add_real(sampling, "own_cpu_s", r->own_cpu_s);
}

static void add_epochs(struct wl_json *root, const struct details *d)
{
    struct wl_json *list = wl_json_add_array(root, "epochs");
    for (size_t i = 0; i < d->epochs.n; i++) {
        const struct wl_epoch_row *v = &d->epochs.v[i];
        struct wl_json *o = wl_json_add_object(list, NULL);
        wl_json_add_int(o, "epoch", v->epoch);
        wl_json_add_real(o, "time_s", v->time_s);
        wl_json_add_number(o, "samples", v->samples);
        wl_json_add_number(o, "updates", v->updates);
        wl_json_add_real(o, "energy_j", epoch_energy(d, (double)v->epoch));
        struct wl_json *metrics = wl_json_add_object(o, "metrics");
        for (size_t k = 0; k < d->metrics.n; k++)
            if (d->metrics.v[k].epoch == (double)v->epoch)
                wl_json_add_real(metrics, d->metrics.v[k].name, d->metrics.v[k].value);
    }
}

static void add_energies(struct wl_json *root, const struct details *d)
{
    struct wl_json *list = wl_json_add_array(root, "energies");
    for (size_t i = 0; i < d->energies.n; i++) {
        const struct wl_energy_row *v = &d->energies.v[i];
        const struct wl_device_row *device = device_of(d, v->device);
        struct wl_json *o = wl_json_add_object(list, NULL);
        wl_json_add_number(o, "epoch", v->epoch);
        wl_json_add_str(o, "device", device ? device->uuid : NULL);
        wl_json_add_str(o, "scope", v->scope);
        wl_json_add_str(o, "method", v->method);
        wl_json_add_real(o, "energy_j", v->energy_j);
        wl_json_add_real(o, "mean_power_w", v->mean_power_w);
        wl_json_add_real(o, "coverage", v->coverage);
        wl_json_add_bool(o, "estimated", v->estimated);
        wl_json_add_bool(o, "simulated", v->simulated);
        wl_json_add_bool(o, "counted", v->chosen);
    }
}

static void add_channels(struct wl_json *root, const struct details *d)
{
    struct wl_json *list = wl_json_add_array(root, "channels");
    for (size_t i = 0; i < d->stats.n; i++) {
        const struct wl_stat_row *v = &d->stats.v[i];
        const struct wl_channel_row *c = channel_of(d, v->channel);
        const struct wl_device_row *device = c ? device_of(d, c->device) : NULL;
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
        wl_json_add_bool(o, "estimated", c->estimated);
        wl_json_add_bool(o, "simulated", c->simulated);
    }
}

int wl_show_run(struct wl_store *s, int64_t run, bool json, struct wl_arena *a, struct wl_err *e)
{
    struct details d;
    int rc = read_details(s, run, &d, a, e);
    if (rc) return rc;
    if (json) {
        struct wl_json *root = wl_json_root_object(a);
        wl_show_run_json(root, d.run, a);
        wl_json_add_str(root, "log_tail", d.run->log_tail);
        add_epochs(root, &d);
        add_energies(root, &d);
        add_channels(root, &d);
        wl_json_print(root, stdout);
        return WL_EXIT_OK;
    }
    print_head(d.run, a);
    print_sampling(d.run, a);
    print_energy(&d, a);
    print_epochs(&d, a);
    print_channels(&d, a);
    if (d.run->status != WL_RUN_DONE) print_log_tail(d.run, a);
    return WL_EXIT_OK;
}
