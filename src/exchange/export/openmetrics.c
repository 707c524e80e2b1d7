/* Runs as metrics. Every metric is a gauge without a timestamp, so that one text is valid in both formats:
 * Prometheus' text format 0.0.4 (prometheus.io/docs/instrumenting/exposition_formats), which takes the lines # UNIT and
 * # EOF for comments, and OpenMetrics 1.0 (prometheus.io/docs/specs/om/open_metrics_spec), which asks for them. Names
 * end with their base unit (prometheus.io/docs/practices/naming). What is missing has no sample. */
#include "exchange/export/export.h"
#include "exchange/export/number.h"
#include "exchange/export/run_data.h"

#include "settings/settings.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

struct metrics {
    FILE *to;
    const struct wl_run_data *of; /* [n] */
    size_t n;
    const char **campaign;   /* [n] */
    struct wl_arena *sample; /* of the labels of the next sample, which ends it */
};

/* ---- labels ---- */

struct labels {
    struct wl_text text;
    struct wl_strs names;
};

/* A name of Prometheus: letters, digits and "_", no digit first; "__" at its start is reserved. */
static char *label_name(const char *name, struct wl_arena *a)
{
    char *s = wl_strf(a, "%s%s", isalpha((unsigned char)*name) ? "" : "setting_", name);
    for (char *p = s; *p; p++)
        if (!isalnum((unsigned char)*p) || (unsigned char)*p > 127) *p = '_';
    return s;
}

static bool has_name(const struct labels *l, const char *name)
{
    for (size_t i = 0; i < l->names.n; i++)
        if (strcmp(l->names.v[i], name) == 0) return true;
    return false;
}

/* A label, whose name gets a number where another one has it already. NULL or "": left out. */
static void add_label(struct labels *l, const char *name, const char *value, struct wl_arena *a)
{
    if (!value || !*value) return;
    char *key = label_name(name, a);
    for (int k = 2; has_name(l, key); k++) key = wl_strf(a, "%s_%d", label_name(name, a), k);
    wl_strs_add(a, &l->names, key);
    wl_text_addf(&l->text, "%s%s=\"", l->text.n ? "," : "", key);
    for (const char *p = wl_utf8_sanitize(a, value); *p; p++) {
        if (*p == '\\' || *p == '"') wl_text_add(&l->text, "\\");
        if (*p == '\n')
            wl_text_add(&l->text, "\\n");
        else
            wl_text_addn(&l->text, p, 1);
    }
    wl_text_add(&l->text, "\"");
}

static struct labels labels_of_run(const struct wl_run_data *d, struct wl_arena *a)
{
    struct labels l = { .text = WL_TEXT(a) };
    add_label(&l, "run", wl_strf(a, "%lld", (long long)d->run->id), a);
    return l;
}

/* ---- samples ---- */

static void begin(struct metrics *m, const char *name, const char *unit, const char *help)
{
    fprintf(m->to, "# HELP wattlaw_%s %s\n# TYPE wattlaw_%s gauge\n", name, help, name);
    if (unit) fprintf(m->to, "# UNIT wattlaw_%s %s\n", name, unit);
}

static void sample(struct metrics *m, const char *name, const struct labels *l, double value)
{
    char number[WL_NUMBER_MAX];
    if (isfinite(value)) fprintf(m->to, "wattlaw_%s{%s} %s\n", name, l->text.s, wl_number_shortest(value, number));
    wl_arena_free(m->sample);
    m->sample = wl_arena_new(NULL);
}

/* ---- families ---- */

static void put_info(struct metrics *m)
{
    begin(m, "run_info", NULL, "What a run was: its campaign, machine, settings and how it ended. Always 1.");
    for (size_t i = 0; i < m->n; i++) {
        const struct wl_run_row *r = m->of[i].run;
        struct labels l = labels_of_run(&m->of[i], m->sample);
        const struct wl_settings_values set = wl_settings_values(&r->set, m->sample);
        add_label(&l, "campaign", m->campaign[i], m->sample);
        add_label(&l, "status", wl_run_status_names[r->status], m->sample);
        add_label(&l, "host", r->host, m->sample);
        add_label(&l, "repeat", wl_strf(m->sample, "%lld", (long long)r->repeat), m->sample);
        add_label(&l, "version", r->version, m->sample);
        for (size_t k = 0; k < set.n; k++) add_label(&l, set.v[k].name, set.v[k].value, m->sample);
        sample(m, "run_info", &l, 1);
    }
}

static double start_s(const struct wl_run_row *r)
{
    return r->start.wall_ns == WL_NO_NS ? NAN : (double)r->start.wall_ns / 1e9;
}
static double duration_s(const struct wl_run_row *r) { return r->time_s; }
static double energy_j(const struct wl_run_row *r) { return r->energy_j; }
static double energy_lo_j(const struct wl_run_row *r) { return r->energy_lo_j; }
static double energy_hi_j(const struct wl_run_row *r) { return r->energy_hi_j; }
static double idle_j(const struct wl_run_row *r) { return r->idle_j; }
static double power_w(const struct wl_run_row *r) { return r->mean_power_w; }
static double utilization(const struct wl_run_row *r) { return r->util_pct / 100; }

static const struct {
    const char *name, *unit, *help;
    double (*value)(const struct wl_run_row *r);
    bool energy; /* has a provenance */
} of_runs[] = {
    { "run_start_time_seconds", "seconds", "Start of a run, seconds since 1970.", start_s, false },
    { "run_duration_seconds", "seconds", "Time from the start to the end of a run.", duration_s, false },
    { "run_energy_joules", "joules", "Energy of the counted devices over a run.", energy_j, true },
    { "run_energy_lower_joules", "joules", "Lower end of the 95 % interval of the energy of a run.", energy_lo_j,
      true },
    { "run_energy_upper_joules", "joules", "Upper end of the 95 % interval of the energy of a run.", energy_hi_j,
      true },
    { "run_idle_energy_joules", "joules", "Energy that the counted devices would have drawn idle over a run.", idle_j,
      true },
    { "run_mean_power_watts", "watts", "Mean power of the counted devices over a run.", power_w, true },
    { "run_utilization_ratio", "ratio", "Share of a run in which its GPUs, without them its CPUs, were busy.",
      utilization, false },
};

static void put_run_families(struct metrics *m)
{
    for (size_t k = 0; k < WL_COUNT(of_runs); k++) {
        begin(m, of_runs[k].name, of_runs[k].unit, of_runs[k].help);
        for (size_t i = 0; i < m->n; i++) {
            const struct wl_run_row *r = m->of[i].run;
            struct labels l = labels_of_run(&m->of[i], m->sample);
            if (of_runs[k].energy)
                add_label(&l, "provenance", wl_run_data_provenance(r->estimated, r->simulated), m->sample);
            sample(m, of_runs[k].name, &l, of_runs[k].value(r));
        }
    }
}

/* Values that the workload reported, of the whole run or, under another name, of an epoch. */
static void put_metrics(struct metrics *m, bool of_epochs)
{
    const char *name = of_epochs ? "epoch_metric" : "run_metric";
    begin(m, name, NULL,
          of_epochs ? "Value that the workload reported for an epoch, in its own unit."
                    : "Value that the workload reported for a run, in its own unit.");
    for (size_t i = 0; i < m->n; i++)
        for (size_t k = 0; k < m->of[i].metrics.n; k++) {
            const struct wl_metric_row *v = &m->of[i].metrics.v[k];
            if (isnan(v->epoch) == of_epochs) continue;
            struct labels l = labels_of_run(&m->of[i], m->sample);
            if (of_epochs) add_label(&l, "epoch", wl_strf(m->sample, "%.0f", v->epoch), m->sample);
            add_label(&l, "metric", v->name, m->sample);
            sample(m, name, &l, v->value);
        }
}

enum epoch_value { DURATION, ENERGY, SAMPLES };

static void put_epoch(struct metrics *m, const char *name, const struct wl_run_data *d, const struct wl_epoch_row *v,
                      enum epoch_value what)
{
    struct labels l = labels_of_run(d, m->sample);
    add_label(&l, "epoch", wl_strf(m->sample, "%lld", (long long)v->epoch), m->sample);
    double value = what == DURATION ? v->time_s : v->samples;
    if (what == ENERGY) {
        const struct wl_amount energy = wl_run_data_epoch_energy(d, v->epoch);
        value = energy.value;
        add_label(&l, "provenance", wl_run_data_provenance(energy.from & WL_ESTIMATED, energy.from & WL_SIMULATED),
                  m->sample);
    }
    sample(m, name, &l, value);
}

static void put_epochs(struct metrics *m)
{
    static const struct {
        const char *name, *unit, *help;
        enum epoch_value what;
    } families[] = {
        { "epoch_duration_seconds", "seconds", "Time of the training pass of an epoch.", DURATION },
        { "epoch_energy_joules", "joules", "Energy of the counted devices over an epoch.", ENERGY },
        { "epoch_samples", NULL, "Samples that all workers processed in an epoch.", SAMPLES },
    };
    for (size_t k = 0; k < WL_COUNT(families); k++) {
        begin(m, families[k].name, families[k].unit, families[k].help);
        for (size_t i = 0; i < m->n; i++)
            for (size_t j = 0; j < m->of[i].epochs.n; j++)
                put_epoch(m, families[k].name, &m->of[i], &m->of[i].epochs.v[j], families[k].what);
    }
}

static void put_devices(struct metrics *m)
{
    begin(m, "device_energy_joules", "joules",
          "Energy of a device over a run, by scope and method; counted: part of the energy of the run.");
    for (size_t i = 0; i < m->n; i++)
        for (size_t k = 0; k < m->of[i].energies.n; k++) {
            const struct wl_energy_row *v = &m->of[i].energies.v[k];
            const struct wl_device_row *device = wl_run_data_device(&m->of[i], v->device);
            if (!isnan(v->epoch)) continue;
            struct labels l = labels_of_run(&m->of[i], m->sample);
            add_label(&l, "host", device ? device->host : NULL, m->sample);
            add_label(&l, "device", device ? device->uuid : NULL, m->sample);
            add_label(&l, "scope", v->scope, m->sample);
            add_label(&l, "method", v->method, m->sample);
            add_label(&l, "counted", v->chosen ? "true" : "false", m->sample);
            add_label(&l, "provenance", wl_run_data_provenance(v->estimated, v->simulated), m->sample);
            sample(m, "device_energy_joules", &l, v->energy_j);
        }
}

static int find_campaigns(const struct wl_export *x, struct metrics *m, struct wl_arena *a, struct wl_err *e)
{
    struct wl_campaign_rows rows;
    int rc = wl_store_campaigns(x->store, &rows, a, e);
    m->campaign = wl_new_array(a, const char *, m->n);
    for (size_t i = 0; rc == 0 && i < m->n; i++)
        for (size_t k = 0; k < rows.n; k++)
            if (rows.v[k].id == m->of[i].run->campaign) m->campaign[i] = rows.v[k].name;
    return rc;
}

static void put_all(struct metrics *m)
{
    m->sample = wl_arena_new(NULL);
    put_info(m);
    put_run_families(m);
    put_metrics(m, false);
    put_epochs(m);
    put_metrics(m, true);
    put_devices(m);
    fputs("# EOF\n", m->to);
    wl_arena_free(m->sample);
}

int wl_export_openmetrics(const struct wl_export *x, FILE *to, struct wl_err *e)
{
    struct wl_arena *a = wl_arena_new(NULL);
    struct metrics m = { .to = to, .n = x->runs->n };
    struct wl_run_data *of;
    int rc = wl_fields_check(x->fields, (const char *const[]) { NULL }, "the format openmetrics", e);
    if (rc == 0) rc = wl_run_data_read_all(x->store, x->runs, &of, a, e);
    if (rc == 0) {
        m.of = of;
        rc = find_campaigns(x, &m, a, e);
    }
    if (rc == 0) put_all(&m);
    wl_arena_free(a);
    return rc;
}
