/* The list of forms, and what they share. */
#include "report/forms/forms.h"

#include "report/escape.h"
#include "report/forms/internal.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name;
    wl_form_writer *write;
    bool adds_up; /* the runs of one model: one of them can be chosen, and several workloads are not one model */
    const char *fields[4];
} forms[] = {
    { "proposal", wl_form_proposal, false, { NULL } },
    { "model-card", wl_form_model_card, true, { "training_type", "geographical_location", NULL } },
    { "ai-act", wl_form_ai_act, true, { "floating_point_operations", NULL } },
    { "artifact", wl_form_artifact, false, { "contribution", "artifact_url", "license", NULL } },
};

/* ---- the runs of a form ---- */

static void choose_runs(struct wl_form *f)
{
    const struct wl_run_rows *all = &f->g->runs;
    const int64_t wanted = f->g->options.run;
    f->runs.v = wl_new_array(f->arena, struct wl_run_row, all->n);
    for (size_t i = 0; i < all->n; i++) {
        const struct wl_run_row *r = &all->v[i];
        const bool usable = r->status == WL_RUN_DONE && !r->flag;
        if (wanted ? r->id == wanted : usable)
            f->runs.v[f->runs.n++] = *r;
        else if (r->status != WL_RUN_PLANNED)
            f->left_out++;
    }
}

struct wl_form_sum wl_form_sum(const struct wl_form *f)
{
    struct wl_form_sum out = { .energy = wl_amount_of(NAN, "J", WL_MEASURED) };
    for (size_t i = 0; i < f->runs.n; i++) {
        const struct wl_run_row *r = &f->runs.v[i];
        const struct wl_amount energy =
            wl_amount_between(r->energy_j, r->energy_lo_j, r->energy_hi_j, "J", wl_run_provenance(r));
        out.time_s += r->time_s;
        out.worker_hours += r->time_s / 3600 * r->set.workers;
        if (isnan(energy.value))
            wl_strs_addf(f->arena, &out.without, "%lld", (long long)r->id);
        else if (isnan(out.energy.value))
            out.energy = energy;
        else
            wl_amount_add(&out.energy, &energy);
    }
    return out;
}

static int by_number(const void *x, const void *y)
{
    const int64_t a = *(const int64_t *)x, b = *(const int64_t *)y;
    return (a > b) - (a < b);
}

char *wl_form_runs(const struct wl_form *f)
{
    int64_t *v = wl_new_array(f->arena, int64_t, f->runs.n);
    struct wl_text t = WL_TEXT(f->arena);
    for (size_t i = 0; i < f->runs.n; i++) v[i] = f->runs.v[i].id;
    if (f->runs.n) qsort(v, f->runs.n, sizeof *v, by_number);
    for (size_t i = 0, last; i < f->runs.n; i = last + 1) {
        for (last = i; last + 1 < f->runs.n && v[last + 1] == v[last] + 1;) last++;
        wl_text_addf(&t, "%s%lld", t.n ? ", " : "", (long long)v[i]);
        if (last > i) wl_text_addf(&t, " to %lld", (long long)v[last]);
    }
    return wl_strf(f->arena, "run%s %s", f->runs.n == 1 ? "" : "s", t.s);
}

char *wl_form_left_out(const struct wl_form *f)
{
    if (!f->left_out) return NULL;
    return wl_strf(f->arena, "%zu other run%s of the store (failed, interrupted, flagged or not chosen)", f->left_out,
                   f->left_out == 1 ? "" : "s");
}

/* ---- words ---- */

static void add_once(struct wl_text *list, const char *word)
{
    const size_t n = strlen(word);
    for (const char *p = list->s; (p = strstr(p, word)); p += n)
        if ((p == list->s || wl_str_starts(p - 2, ", ")) && (p[n] == '\0' || p[n] == ',')) return;
    wl_text_addf(list, "%s%s", list->n ? ", " : "", word);
}

/* Devices of one run that share a name: "4 x V100 (nvml)". */
static char *devices_of(const struct wl_form *f, int64_t run)
{
    struct wl_device_rows d;
    struct wl_text t = WL_TEXT(f->arena);
    if (wl_store_devices(f->g->store, run, &d, f->arena, NULL)) return t.s;
    for (size_t i = 0; i < d.n; i++) {
        size_t n = 0, first = i;
        for (size_t k = 0; k < d.n; k++) {
            if (!wl_str_eq(d.v[k].name, d.v[i].name) || !wl_str_eq(d.v[k].sensor, d.v[i].sensor)) continue;
            if (k < first) first = k;
            n++;
        }
        if (first == i && d.v[i].name && *d.v[i].name)
            wl_text_addf(&t, "%s%zu x %s (%s)", t.n ? ", " : "", n, d.v[i].name, d.v[i].sensor);
    }
    return t.s;
}

char *wl_form_hardware(const struct wl_form *f)
{
    struct wl_text t = WL_TEXT(f->arena);
    for (size_t i = 0; i < f->runs.n; i++) {
        const char *one = devices_of(f, f->runs.v[i].id);
        if (*one && !strstr(t.s, one)) wl_text_addf(&t, "%s%s", t.n ? "; or " : "", one);
    }
    return t.n ? t.s : wl_strdup(f->arena, "unknown: the sensors reported no names of devices");
}

char *wl_form_versions(const struct wl_form *f)
{
    struct wl_text t = WL_TEXT(f->arena);
    for (size_t i = 0; i < f->runs.n; i++)
        if (f->runs.v[i].version) add_once(&t, f->runs.v[i].version);
    return t.n ? t.s : wl_strdup(f->arena, "unknown");
}

char *wl_form_meters(const struct wl_form *f)
{
    struct wl_text t = WL_TEXT(f->arena);
    for (size_t i = 0; i < f->runs.n; i++) {
        const struct wl_run_row *r = &f->runs.v[i];
        const char *by = wl_strf(f->arena, "wattlaw %s", r->version ? r->version : "of unknown version");
        add_once(&t, r->source ? wl_strf(f->arena, "%s (imported by %s)", r->source, by) : by);
    }
    return t.s;
}

bool wl_form_has_imports(const struct wl_form *f)
{
    for (size_t i = 0; i < f->runs.n; i++)
        if (f->runs.v[i].source) return true;
    return false;
}

char *wl_form_workloads(const struct wl_form *f)
{
    struct wl_text t = WL_TEXT(f->arena);
    for (size_t i = 0; i < f->runs.n; i++)
        if (f->runs.v[i].set.workload) add_once(&t, f->runs.v[i].set.workload);
    return t.n ? t.s : wl_strdup(f->arena, "unnamed");
}

char *wl_form_period(const struct wl_form *f)
{
    int64_t begin = INT64_MAX, end = INT64_MIN;
    for (size_t i = 0; i < f->runs.n; i++) {
        const struct wl_run_row *r = &f->runs.v[i];
        if (r->start.wall_ns != WL_NO_NS && r->start.wall_ns < begin) begin = r->start.wall_ns;
        if (r->stop.wall_ns != WL_NO_NS && r->stop.wall_ns > end) end = r->stop.wall_ns;
    }
    if (begin == INT64_MAX || end == INT64_MIN) return wl_strdup(f->arena, "unknown");
    return wl_strf(f->arena, "%.10s to %.10s (UTC)", wl_clock_iso(f->arena, begin), wl_clock_iso(f->arena, end));
}

const char *wl_form_provenance(enum wl_provenance from)
{
    const char *word = wl_provenance_word(from);
    return *word ? word : "measured";
}

/* ---- text ---- */

void wl_form_line(struct wl_text *to, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    wl_text_add(to, wl_printable(to->arena, wl_strfv(to->arena, fmt, ap), WL_PRINTABLE_TEXT));
    va_end(ap);
    wl_text_add(to, "\n");
}

const char *wl_form_plain(const struct wl_form *f, const char *text)
{
    struct wl_text t = WL_TEXT(f->arena);
    wl_escape_markdown(&t, text);
    return t.s;
}

void wl_form_table(struct wl_text *to, const struct wl_report_table *t)
{
    wl_report_table_format("md")(t, to);
    wl_text_add(to, "\n");
}

static const struct wl_report_column scaling_columns[] = {
    { .id = "workers", .label = "workers", .text = true },
    { .id = "time_s", .label = "time", .unit = "s", .digits = 4 },
    { .id = "speedup", .label = "speed-up", .digits = 4 },
    { .id = "speedup_lo", .label = "95 % from", .digits = 4 },
    { .id = "speedup_hi", .label = "to", .digits = 4 },
    { .id = "efficiency_pct", .label = "parallel efficiency", .unit = "%", .digits = 3 },
    { .id = "worker_hours", .label = "worker-hours", .digits = 4 },
    { .id = "energy_j", .label = "energy", .unit = "J", .digits = 4 },
    { .id = "runs", .label = "runs", .text = true },
};

static char *runs_at(const struct wl_law_group *law, double workers, struct wl_arena *a)
{
    struct wl_text t = WL_TEXT(a);
    for (size_t i = 0; i < law->n_runs; i++)
        if (law->runs[i].workers == workers)
            wl_text_addf(&t, "%s%s", t.n ? ", " : "", law->runs[i].label ? law->runs[i].label : "?");
    return t.s;
}

struct wl_report_table *wl_form_scaling_table(const struct wl_form *f, const struct wl_report_group *group)
{
    const struct wl_law_group *law = group->law;
    struct wl_report_table *t =
        wl_report_table_new(f->arena, "scaling",
                            wl_strf(f->arena, "%s: %s", wl_report_data_of_span(f->g, "time"), group->name),
                            scaling_columns, WL_COUNT(scaling_columns));
    for (size_t i = 0; i < law->n_configs; i++) {
        const struct wl_law_config *c = &law->configs[i];
        wl_report_table_text(t, wl_strf(f->arena, "%g", c->workers));
        wl_report_table_real(t, c->time_s);
        wl_report_table_real(t, c->speedup.value);
        wl_report_table_real(t, c->speedup.lo);
        wl_report_table_real(t, c->speedup.hi);
        wl_report_table_real(t, 100 * c->efficiency);
        wl_report_table_real(t, c->time_s * c->workers / 3600);
        wl_report_table_real(t, c->energy_j);
        wl_report_table_text(t, runs_at(law, c->workers, f->arena));
    }
    t->estimated = law->estimated;
    t->simulated = law->simulated;
    return t;
}

static bool is_one_model(const struct wl_form *f)
{
    for (size_t i = 1; i < f->runs.n; i++)
        if (!wl_str_eq(f->runs.v[i].set.workload, f->runs.v[0].set.workload)) return false;
    return true;
}

int wl_report_form(const char *form, struct wl_store *store, const struct wl_report_options *options,
                   const struct wl_strs *fields, struct wl_text *to, struct wl_arena *a, struct wl_err *e)
{
    struct wl_report_data g;
    struct wl_form f = { .g = &g, .fields = fields, .arena = a };
    size_t k = 0;
    while (k < WL_COUNT(forms) && strcmp(forms[k].name, form) != 0) k++;
    WL_CHECK(k < WL_COUNT(forms));
    if (options->run && !forms[k].adds_up)
        return wl_fail(e, WL_EUSAGE, "--run: the form %s compares runs; leave out --run", form);
    int rc = wl_fields_check(fields, forms[k].fields, wl_strf(a, "the form %s", form), e);
    if (rc == 0) rc = wl_report_data_load(&g, store, NULL, options, a, e);
    if (rc) return rc;
    choose_runs(&f);
    if (f.runs.n == 0 && options->run)
        return wl_fail(e, WL_ENOENT, "%s: no run %lld", g.source, (long long)options->run);
    if (f.runs.n == 0 || g.observations.n == 0)
        return wl_fail(e, WL_EJOB, "%s has no finished run to report; wattlaw show lists the reasons", g.source);
    if (forms[k].adds_up && !is_one_model(&f))
        return wl_fail(
            e, WL_EINVAL,
            "%s: the runs are of several workloads (%s), which are not one model: choose with --run or --campaign",
            g.source, wl_form_workloads(&f));
    return forms[k].write(&f, to, e);
}
