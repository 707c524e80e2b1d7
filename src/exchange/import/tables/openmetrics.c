/* The metrics of runs that `wattlaw export --format openmetrics` writes: each family has a line per run, epoch or
 * device. The runs are put together from all of the file. docs/reference/exporting.md. */
#include "exchange/import/formats.h"
#include "exchange/import/tables/own.h"

#include <math.h>
#include <string.h>

enum { LABELS = 64, MOST_RUNS = 100000 };

struct label {
    const char *name, *value;
};

/* "NAME{LABELS} VALUE" */
struct sample {
    const char *name;
    struct label label[LABELS];
    size_t n;
    double value;
};

struct reader {
    struct wl_import *im;
    struct wl_arena *a;
    struct wl_own_run **runs;
    size_t n_runs, runs_cap;
};

/* ---- a line ---- */

/* A label's value, whose escapes are \\, \" and \n; NULL: malformed. *p moves after its quote. */
static const char *read_value(char **p)
{
    char *from = *p, *to = from, *start = from;
    for (; *from && *from != '"'; from++) {
        if (*from == '\\' && from[1]) {
            from++;
            *to++ = *from == 'n' ? '\n' : *from;
        } else {
            *to++ = *from;
        }
    }
    if (*from != '"') return NULL;
    *p = from + 1;
    *to = '\0';
    return start;
}

static bool is_name(const char *s)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789";
    return *s && s[strspn(s, letters)] == '\0';
}

static bool parse_labels(struct sample *s, char **p)
{
    while (**p && **p != '}') {
        char *equals = strstr(*p, "=\"");
        if (!equals || s->n == LABELS) return false;
        struct label *l = &s->label[s->n++];
        *equals = '\0';
        l->name = *p;
        *p = equals + 2;
        l->value = read_value(p);
        if (!l->value || !is_name(l->name) || (**p != ',' && **p != '}')) return false;
        if (**p == ',') ++*p;
    }
    if (**p != '}') return false;
    ++*p;
    return true;
}

/* The text is changed. */
static bool parse_sample(struct sample *s, char *text)
{
    char *brace = strchr(text, '{'), *p = brace;
    *s = (struct sample) { .name = text };
    if (!brace) return false;
    *p++ = '\0';
    return parse_labels(s, &p) && *p == ' ' && wl_slice_real(wl_slice_of(p + 1), &s->value);
}

static const char *label(const struct sample *s, const char *name)
{
    for (size_t i = 0; i < s->n; i++)
        if (wl_str_eq(s->label[i].name, name)) return s->label[i].value;
    return "";
}

/* ---- what a family says of a run ---- */

static bool has_word(const struct sample *s, const char *word) { return strstr(label(s, "provenance"), word); }

static int64_t epoch_of(const struct sample *s)
{
    uint64_t n = 0;
    return wl_slice_uint(wl_slice_of(label(s, "epoch")), &n) && n < INT32_MAX ? (int64_t)n : 0;
}

/* 95 % interval and idle energy; NULL: it is none of these. */
static double *bound_named(struct wl_table_bounds *b, const char *what)
{
    return wl_str_eq(what, "energy_lower_joules")   ? &b->lo_j
           : wl_str_eq(what, "energy_upper_joules") ? &b->hi_j
           : wl_str_eq(what, "idle_energy_joules")  ? &b->idle_j
                                                    : NULL;
}

static void read_info(struct reader *r, struct wl_own_run *run, const struct sample *s)
{
    static const char *const others[] = { "run", "campaign", "status", "repeat", "version", "source" };
    for (size_t i = 0; i < s->n; i++) {
        struct wl_err e;
        bool other = false;
        for (size_t k = 0; k < WL_COUNT(others); k++) other = other || wl_str_eq(s->label[i].name, others[k]);
        if (!other && wl_own_run_setting(run, s->label[i].name, s->label[i].value, &e) < 0)
            wl_import_reject(r->im, "%s", e.msg);
    }
}

static struct wl_own_device *device_of(struct wl_own_run *run, const struct sample *s)
{
    const char *uuid = wl_import_plain_uuid(label(s, "device"));
    for (size_t i = 0; i < run->n_devices; i++) {
        const struct wl_table_energy *x = &run->devices[i].energy;
        if (wl_str_eq(x->host, label(s, "host")) && wl_str_eq(x->uuid, uuid) && wl_str_eq(x->scope, label(s, "scope")))
            return &run->devices[i];
    }
    return NULL;
}

/* Of the energies of a device, by counter and by power, the counted one; a device of another format has its name
 * before its own. */
static void read_device(struct wl_own_run *run, const struct sample *s)
{
    struct wl_own_device *x = device_of(run, s);
    const bool part = !wl_str_eq(label(s, "counted"), "true");
    if (x && (part || !x->energy.part)) return;
    if (!x) {
        WL_GROW(run->a, run->devices, run->n_devices, run->devices_cap);
        x = &run->devices[run->n_devices++];
    }
    const char *method = wl_strdup(run->a, label(s, "method"));
    *x = (struct wl_own_device) { .energy = { .host = wl_strdup(run->a, label(s, "host")),
                                              .uuid = wl_strdup(run->a, wl_import_plain_uuid(label(s, "device"))),
                                              .scope = wl_strdup(run->a, label(s, "scope")),
                                              .integral = !wl_str_eq(method, "counter"),
                                              .estimated = has_word(s, "estimated"),
                                              .part = part,
                                              .energy_j = s->value,
                                              .power_w = NAN },
                                  .bounds = { NAN, NAN, NAN },
                                  .method = method };
}

/* What is known of a device's energy besides: its family is after that of energies. Of another method's, which was not
 * taken, it is not. */
static void read_bound(struct wl_own_run *run, const struct sample *s, const char *what)
{
    struct wl_own_device *x = device_of(run, s);
    if (!x || !wl_str_eq(x->method, label(s, "method"))) return;
    double *to = bound_named(&x->bounds, what);
    if (to) *to = s->value;
}

/* Of an epoch or of steps: false: not such a family. */
static bool read_part(struct wl_own_epoch *x, const struct sample *s, const char *what)
{
    const struct {
        const char *name;
        double *at;
    } numbers[] = { { "duration_seconds", &x->time_s },
                    { "energy_joules", &x->energy_j },
                    { "samples", &x->samples },
                    { "updates", &x->updates },
                    { "tokens", &x->tokens } };
    double *to = bound_named(&x->bounds, what);
    for (size_t i = 0; i < WL_COUNT(numbers) && !to; i++)
        if (wl_str_eq(numbers[i].name, what)) to = numbers[i].at;
    if (!to) return false;
    *to = s->value;
    x->estimated = x->estimated || has_word(s, "estimated");
    return true;
}

static void read_metric_info(struct wl_own_run *run, const struct sample *s)
{
    const char *text[] = { label(s, "label"), label(s, "unit"), label(s, "baseline_of") };
    for (size_t i = 0; i < WL_COUNT(text); i++)
        if (!*text[i]) text[i] = NULL;
    const struct wl_metric_def_row def = { .name = label(s, "metric"),
                                           .label = text[0],
                                           .unit = text[1],
                                           .baseline_of = text[2],
                                           .larger = wl_own_larger(wl_slice_of(label(s, "better"))),
                                           .main = wl_str_eq(label(s, "main"), "true") };
    if (*def.name) wl_own_run_define(run, &def);
}

/* The rest of a name that begins so; NULL: it does not. */
static const char *after(const char *name, const char *start)
{
    return wl_str_starts(name, start) ? name + strlen(start) : NULL;
}

static bool read_family(struct reader *r, struct wl_own_run *run, const struct sample *s)
{
    const char *what = s->name + strlen("wattlaw_"), *of_epoch = after(what, "epoch_"),
               *of_steps = after(what, "steps_"), *of_device = after(what, "device_");
    const int64_t epoch = epoch_of(s);
    run->simulated = run->simulated || has_word(s, "simulated");
    if (wl_str_eq(what, "run_info")) {
        read_info(r, run, s);
    } else if (wl_str_eq(what, "metric_info")) {
        read_metric_info(run, s);
    } else if (wl_str_eq(what, "run_metric") || wl_str_eq(what, "epoch_metric")) {
        wl_own_run_metric(run, epoch, label(s, "metric"), s->value);
    } else if (wl_str_eq(what, "run_start_time_seconds")) {
        if (s->value > 0 && s->value < 9e9) run->start_ns = llround(s->value * 1e6) * 1000;
    } else if (wl_str_eq(what, "run_duration_seconds")) {
        run->time_s = s->value;
    } else if (after(what, "run_")) {
        return read_part(wl_own_run_epoch(run, 0), s, after(what, "run_"));
    } else if (of_epoch) {
        return epoch && read_part(wl_own_run_epoch(run, epoch), s, of_epoch);
    } else if (of_steps) {
        return read_part(wl_own_run_steps(run), s, of_steps);
    } else if (of_device && wl_str_eq(of_device, "energy_joules")) {
        read_device(run, s);
    } else if (of_device) {
        read_bound(run, s, of_device);
    } else {
        return false;
    }
    return true;
}

/* ---- the file ---- */

static struct wl_own_run *run_named(struct reader *r, const char *name)
{
    for (size_t i = r->n_runs; i > 0; i--) /* lines of one run follow each other */
        if (wl_str_eq(r->runs[i - 1]->name, name)) return r->runs[i - 1];
    if (r->n_runs == MOST_RUNS) return NULL;
    WL_GROW(r->a, r->runs, r->n_runs, r->runs_cap);
    r->runs[r->n_runs] = wl_own_run_new(name, r->a);
    return r->runs[r->n_runs++];
}

static void read_sample(struct reader *r, struct wl_slice line)
{
    struct wl_arena *a = wl_arena_new(r->a);
    struct sample s;
    if (!parse_sample(&s, wl_slice_text(line, a)) || !wl_str_starts(s.name, "wattlaw_") || !*label(&s, "run")) {
        wl_import_reject(r->im, "\"%.*s\" is not a metric of a run", WL_QUOTE(line));
    } else {
        struct wl_own_run *run = run_named(r, label(&s, "run"));
        if (!run)
            wl_import_reject(r->im, "more than %d runs", MOST_RUNS);
        else if (!read_family(r, run, &s))
            wl_import_pass_over(r->im, s.name, 1); /* computed from the others */
    }
    wl_arena_free(a);
}

static int read_file(struct wl_import *im, struct wl_err *e)
{
    struct reader r = { .im = im, .a = wl_arena_new(im->a) };
    struct wl_slice line;
    int rc;
    wl_import_set_tool(im, "wattlaw");
    while ((rc = wl_import_line(im, &line, e)) > 0)
        if (line.s[0] != '#') read_sample(&r, line);
    for (size_t i = 0; i < r.n_runs && rc == 0; i++) {
        struct wl_own_run *run = r.runs[i];
        for (size_t k = 0; k < run->n_devices; k++)
            run->devices[k].energy.power_w = run->devices[k].energy.energy_j / run->time_s;
        rc = wl_own_run_add(im, run, e);
    }
    wl_arena_free(r.a);
    return rc;
}

static bool recognise(const struct wl_import_head *h, struct wl_arena *a)
{
    (void)a;
    return wl_import_head_has(h, "wattlaw_run_info{run=\"");
}

const struct wl_import_format wl_import_openmetrics = {
    .name = "wattlaw-openmetrics",
    .title = "wattlaw's export of metrics",
    .looks_for = "wattlaw_run_info of wattlaw export --format openmetrics",
    .kind = WL_IMPORT_TABLE,
    .recognise = recognise,
    .read = read_file,
};
