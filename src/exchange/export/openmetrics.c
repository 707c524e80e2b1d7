/* Runs as metrics. Every metric is a gauge without a timestamp, so that one text is valid in both formats of
 * base/openmetrics.h: Prometheus takes the lines # UNIT and # EOF for comments, and OpenMetrics asks for them. */
#include "exchange/export/export.h"
#include "exchange/export/run_data.h"

#include "settings/settings.h"

#include <math.h>

struct run_metrics {
    FILE *to;
    const struct wl_run_data *of; /* [n] */
    size_t n;
    const char **campaign; /* [n] */
    struct wl_metrics m;
    struct wl_text text; /* of one family, not yet written */
    struct wl_arena *a;
};

static void begin(struct run_metrics *x, const struct wl_metrics_family *f)
{
    fputs(x->text.s, x->to);
    wl_text_clear(&x->text);
    wl_metrics_begin(&x->m, f);
}

static void label_number(struct run_metrics *x, const char *name, int64_t value)
{
    char number[24];
    snprintf(number, sizeof number, "%lld", (long long)value);
    wl_metrics_label(&x->m, name, number);
}

static void label_run(struct run_metrics *x, size_t i) { label_number(x, "run", x->of[i].run->id); }

static void label_provenance(struct run_metrics *x, enum wl_provenance from)
{
    wl_metrics_label(&x->m, "provenance", wl_run_data_provenance(from));
}

/* ---- families ---- */

static void put_info(struct run_metrics *x)
{
    static const struct wl_metrics_family info = {
        "run_info", NULL, "What a run was: its campaign, machine, settings and how it ended. Always 1.",
        WL_METRICS_GAUGE
    };
    begin(x, &info);
    for (size_t i = 0; i < x->n; i++) {
        const struct wl_run_row *r = x->of[i].run;
        struct wl_arena *a = wl_arena_new(x->a);
        const struct wl_settings_values set = wl_settings_values(&r->set, a);
        label_run(x, i);
        wl_metrics_label(&x->m, "campaign", x->campaign[i]);
        wl_metrics_label(&x->m, "status", wl_run_status_names[r->status]);
        wl_metrics_label(&x->m, "host", r->host);
        label_number(x, "repeat", r->repeat);
        wl_metrics_label(&x->m, "version", r->version);
        wl_metrics_label(&x->m, "source", r->source);
        for (size_t k = 0; k < set.n; k++) wl_metrics_label(&x->m, set.v[k].name, set.v[k].value);
        wl_metrics_sample(&x->m, 1);
        wl_arena_free(a);
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
    struct wl_metrics_family family;
    double (*value)(const struct wl_run_row *r);
    bool energy; /* has a provenance */
} of_runs[] = {
    { { "run_start_time_seconds", "seconds", "Start of a run, seconds since 1970.", WL_METRICS_GAUGE },
      start_s,
      false },
    { { "run_duration_seconds", "seconds", "Time from the start to the end of a run.", WL_METRICS_GAUGE },
      duration_s,
      false },
    { { "run_energy_joules", "joules", "Energy of the counted devices over a run.", WL_METRICS_GAUGE },
      energy_j,
      true },
    { { "run_energy_lower_joules", "joules", "Lower end of the 95 % interval of the energy of a run.",
        WL_METRICS_GAUGE },
      energy_lo_j,
      true },
    { { "run_energy_upper_joules", "joules", "Upper end of the 95 % interval of the energy of a run.",
        WL_METRICS_GAUGE },
      energy_hi_j,
      true },
    { { "run_idle_energy_joules", "joules", "Energy that the counted devices would have drawn idle over a run.",
        WL_METRICS_GAUGE },
      idle_j,
      true },
    { { "run_mean_power_watts", "watts", "Mean power of the counted devices over a run.", WL_METRICS_GAUGE },
      power_w,
      true },
    { { "run_utilization_ratio", "ratio", "Share of a run in which its GPUs, without them its CPUs, were busy.",
        WL_METRICS_GAUGE },
      utilization,
      false },
};

static void put_run_families(struct run_metrics *x)
{
    for (size_t k = 0; k < WL_COUNT(of_runs); k++) {
        begin(x, &of_runs[k].family);
        for (size_t i = 0; i < x->n; i++) {
            const struct wl_run_row *r = x->of[i].run;
            label_run(x, i);
            if (of_runs[k].energy) label_provenance(x, wl_run_provenance(r));
            wl_metrics_sample(&x->m, of_runs[k].value(r));
        }
    }
}

/* Values that the workload reported, of the whole run or, under another name, of an epoch. */
static void put_metrics(struct run_metrics *x, bool of_epochs)
{
    static const struct wl_metrics_family families[] = {
        { "run_metric", NULL, "Value that the workload reported for a run, in its own unit.", WL_METRICS_GAUGE },
        { "epoch_metric", NULL, "Value that the workload reported for an epoch, in its own unit.", WL_METRICS_GAUGE },
    };
    begin(x, &families[of_epochs]);
    for (size_t i = 0; i < x->n; i++)
        for (size_t k = 0; k < x->of[i].metrics.n; k++) {
            const struct wl_metric_row *v = &x->of[i].metrics.v[k];
            if (isnan(v->epoch) == of_epochs) continue;
            label_run(x, i);
            if (of_epochs) label_number(x, "epoch", (int64_t)v->epoch);
            wl_metrics_label(&x->m, "metric", v->name);
            wl_metrics_sample(&x->m, v->value);
        }
}

/* What the workload said of its metrics. */
static void put_metric_info(struct run_metrics *x)
{
    static const struct wl_metrics_family info = {
        "metric_info", NULL, "What the workload said of a metric: its label, unit and better direction. Always 1.",
        WL_METRICS_GAUGE
    };
    begin(x, &info);
    for (size_t i = 0; i < x->n; i++)
        for (size_t k = 0; k < x->of[i].defs.n; k++) {
            const struct wl_metric_def_row *v = &x->of[i].defs.v[k];
            label_run(x, i);
            wl_metrics_label(&x->m, "metric", v->name);
            wl_metrics_label(&x->m, "label", v->label);
            wl_metrics_label(&x->m, "unit", v->unit);
            wl_metrics_label(&x->m, "better", isnan(v->larger) ? NULL : v->larger > 0 ? "larger" : "smaller");
            wl_metrics_label(&x->m, "baseline_of", v->baseline_of);
            wl_metrics_label(&x->m, "main", v->main ? "true" : NULL);
            wl_metrics_sample(&x->m, 1);
        }
}

/* An epoch of a run, or the steps of a run without epochs. */
struct part {
    size_t run;
    int64_t epoch; /* 0: steps */
    double time_s, samples, updates, tokens, idle_j;
    struct wl_amount energy;
};

static double part_time(const struct part *p) { return p->time_s; }
static double part_samples(const struct part *p) { return p->samples; }
static double part_updates(const struct part *p) { return p->updates; }
static double part_tokens(const struct part *p) { return p->tokens; }
static double part_energy(const struct part *p) { return p->energy.value; }
static double part_lower(const struct part *p) { return p->energy.lo; }
static double part_upper(const struct part *p) { return p->energy.hi; }
static double part_idle(const struct part *p) { return p->idle_j; }

struct part_family {
    struct wl_metrics_family family;
    double (*value)(const struct part *p);
    bool energy; /* has a provenance */
};

static const struct part_family of_epochs[] = {
    { { "epoch_duration_seconds", "seconds", "Time of the training pass of an epoch.", WL_METRICS_GAUGE },
      part_time,
      false },
    { { "epoch_energy_joules", "joules", "Energy of the counted devices over an epoch.", WL_METRICS_GAUGE },
      part_energy,
      true },
    { { "epoch_energy_lower_joules", "joules", "Lower end of the 95 % interval of the energy of an epoch.",
        WL_METRICS_GAUGE },
      part_lower,
      true },
    { { "epoch_energy_upper_joules", "joules", "Upper end of the 95 % interval of the energy of an epoch.",
        WL_METRICS_GAUGE },
      part_upper,
      true },
    { { "epoch_idle_energy_joules", "joules", "Energy that the counted devices would have drawn idle over an epoch.",
        WL_METRICS_GAUGE },
      part_idle,
      true },
    { { "epoch_samples", NULL, "Samples that all workers processed in an epoch.", WL_METRICS_GAUGE },
      part_samples,
      false },
    { { "epoch_updates", NULL, "Updates of the parameters in an epoch.", WL_METRICS_GAUGE }, part_updates, false },
    { { "epoch_tokens", NULL, "Tokens that all workers processed in an epoch.", WL_METRICS_GAUGE },
      part_tokens,
      false },
};

static const struct part_family of_steps[] = {
    { { "steps_duration_seconds", "seconds", "Time from the first to the last step of a run without epochs.",
        WL_METRICS_GAUGE },
      part_time,
      false },
    { { "steps_energy_joules", "joules", "Energy of the counted devices over the steps of a run without epochs.",
        WL_METRICS_GAUGE },
      part_energy,
      true },
    { { "steps_energy_lower_joules", "joules", "Lower end of the 95 % interval of the energy of steps.",
        WL_METRICS_GAUGE },
      part_lower,
      true },
    { { "steps_energy_upper_joules", "joules", "Upper end of the 95 % interval of the energy of steps.",
        WL_METRICS_GAUGE },
      part_upper,
      true },
    { { "steps_samples", NULL, "Samples that all workers processed in the steps of a run without epochs.",
        WL_METRICS_GAUGE },
      part_samples,
      false },
    { { "steps_updates", NULL, "Updates of the parameters in the steps of a run without epochs.", WL_METRICS_GAUGE },
      part_updates,
      false },
    { { "steps_tokens", NULL, "Tokens that all workers processed in the steps of a run without epochs.",
        WL_METRICS_GAUGE },
      part_tokens,
      false },
};

static void put_part(struct run_metrics *x, const struct part_family *f, const struct part *p)
{
    label_run(x, p->run);
    if (p->epoch) label_number(x, "epoch", p->epoch);
    if (f->energy) label_provenance(x, p->energy.from);
    wl_metrics_sample(&x->m, f->value(p));
}

/* Each of these is summed up once, not once for each family. */
struct parts {
    struct part *v;
    size_t n, cap;
};

static void add_part(struct run_metrics *x, struct parts *to, const struct part *p)
{
    WL_GROW(x->a, to->v, to->n, to->cap);
    to->v[to->n++] = *p;
}

static void put_parts(struct run_metrics *x, const struct part_family *families, size_t n, const struct parts *of)
{
    for (size_t k = 0; k < n; k++) {
        begin(x, &families[k].family);
        for (size_t i = 0; i < of->n; i++) put_part(x, &families[k], &of->v[i]);
    }
}

static void put_epochs(struct run_metrics *x)
{
    struct parts parts = { 0 };
    for (size_t i = 0; i < x->n; i++)
        for (size_t j = 0; j < x->of[i].epochs.n; j++) {
            const struct wl_epoch_row *v = &x->of[i].epochs.v[j];
            add_part(x, &parts,
                     &(struct part) { .run = i,
                                      .epoch = v->epoch,
                                      .time_s = v->time_s,
                                      .samples = v->samples,
                                      .updates = v->updates,
                                      .tokens = v->tokens,
                                      .idle_j = wl_run_data_epoch_idle(&x->of[i], v->epoch),
                                      .energy = wl_run_data_epoch_energy(&x->of[i], v->epoch) });
        }
    put_parts(x, of_epochs, WL_COUNT(of_epochs), &parts);
}

static void put_steps(struct run_metrics *x)
{
    struct parts parts = { 0 };
    for (size_t i = 0; i < x->n; i++) {
        const struct wl_span_row *v = wl_run_data_steps(&x->of[i]);
        if (!v) continue;
        const enum wl_provenance from =
            wl_provenance_of(v->estimated, v->simulated) | (x->of[i].run->source ? WL_IMPORTED : WL_MEASURED);
        add_part(x, &parts,
                 &(struct part) { .run = i,
                                  .time_s = v->time_s,
                                  .samples = v->samples,
                                  .updates = v->steps,
                                  .tokens = v->tokens,
                                  .idle_j = NAN,
                                  .energy =
                                      wl_amount_between(v->energy_j, v->energy_lo_j, v->energy_hi_j, "J", from) });
    }
    put_parts(x, of_steps, WL_COUNT(of_steps), &parts);
}

static double device_energy(const struct wl_energy_row *v) { return v->energy_j; }
static double device_lower(const struct wl_energy_row *v) { return v->energy_lo_j; }
static double device_upper(const struct wl_energy_row *v) { return v->energy_hi_j; }
static double device_idle(const struct wl_energy_row *v) { return v->idle_j; }

static void put_device(struct run_metrics *x, size_t i, const struct wl_energy_row *v, double value)
{
    const struct wl_device_row *device = wl_run_data_device(&x->of[i], v->device);
    label_run(x, i);
    wl_metrics_label(&x->m, "host", device ? device->host : NULL);
    wl_metrics_label(&x->m, "device", device ? device->uuid : NULL);
    wl_metrics_label(&x->m, "scope", v->scope);
    wl_metrics_label(&x->m, "method", v->method);
    wl_metrics_label(&x->m, "counted", v->chosen ? "true" : "false");
    label_provenance(x, wl_run_data_from(&x->of[i], v));
    wl_metrics_sample(&x->m, value);
}

static void put_devices(struct run_metrics *x)
{
    static const struct {
        struct wl_metrics_family family;
        double (*value)(const struct wl_energy_row *v);
    } families[] = {
        { { "device_energy_joules", "joules",
            "Energy of a device over a run, by scope and method; counted: part of the energy of the run.",
            WL_METRICS_GAUGE },
          device_energy },
        { { "device_energy_lower_joules", "joules", "Lower end of the 95 % interval of the energy of a device.",
            WL_METRICS_GAUGE },
          device_lower },
        { { "device_energy_upper_joules", "joules", "Upper end of the 95 % interval of the energy of a device.",
            WL_METRICS_GAUGE },
          device_upper },
        { { "device_idle_energy_joules", "joules", "Energy that a device would have drawn idle over a run.",
            WL_METRICS_GAUGE },
          device_idle },
    };
    for (size_t f = 0; f < WL_COUNT(families); f++) {
        begin(x, &families[f].family);
        for (size_t i = 0; i < x->n; i++)
            for (size_t k = 0; k < x->of[i].energies.n; k++) {
                const struct wl_energy_row *v = &x->of[i].energies.v[k];
                if (isnan(v->epoch)) put_device(x, i, v, families[f].value(v));
            }
    }
}

static int find_campaigns(const struct wl_export *given, struct run_metrics *x, struct wl_err *e)
{
    struct wl_campaign_rows rows;
    int rc = wl_store_campaigns(given->store, &rows, x->a, e);
    x->campaign = wl_new_array(x->a, const char *, x->n);
    for (size_t i = 0; rc == 0 && i < x->n; i++)
        for (size_t k = 0; k < rows.n; k++)
            if (rows.v[k].id == x->of[i].run->campaign) x->campaign[i] = rows.v[k].name;
    return rc;
}

static void put_all(struct run_metrics *x)
{
    x->text = WL_TEXT(x->a);
    wl_metrics_open(&x->m, &x->text, WL_METRICS_OPENMETRICS, x->a);
    put_info(x);
    put_run_families(x);
    put_metrics(x, false);
    put_epochs(x);
    put_steps(x);
    put_metrics(x, true);
    put_metric_info(x);
    put_devices(x);
    wl_metrics_close(&x->m);
    fputs(x->text.s, x->to);
}

int wl_export_openmetrics(const struct wl_export *given, FILE *to, struct wl_err *e)
{
    struct wl_arena *a = wl_arena_new(NULL);
    struct run_metrics x = { .to = to, .n = given->runs->n, .a = a };
    struct wl_run_data *of;
    int rc = wl_fields_check(given->fields, (const char *const[]) { NULL }, "the format openmetrics", e);
    if (rc == 0) rc = wl_run_data_read_all(given->store, given->runs, &of, a, e);
    if (rc == 0) {
        x.of = of;
        rc = find_campaigns(given, &x, e);
    }
    if (rc == 0) put_all(&x);
    wl_arena_free(a);
    return rc;
}
