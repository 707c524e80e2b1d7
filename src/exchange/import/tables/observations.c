/* The observations that `wattlaw export` writes: CSV (a row per epoch), long CSV (a line per value) and JSON Lines.
 * Rows of one run follow each other. docs/formats.md. */
#include "exchange/import/formats.h"
#include "exchange/import/tables/own.h"

#include <math.h>
#include <string.h>

enum { COLUMNS = 512 };

/* Derived from readings and caps, which a table does not have; or what names no fact of a run. */
static const char *const derived[] = { "repeat",
                                       "source",
                                       "achieved_clock_mhz",
                                       "achieved_mem_clock_mhz",
                                       "power_capped_pct",
                                       "begin_temperature_c",
                                       "switches",
                                       "queue_wait_s" };

struct reader {
    struct wl_import *im;
    struct wl_arena *a;
    struct wl_own_run *run; /* whose rows are read; NULL: none yet */
    const char *column[COLUMNS];
    int n;
    bool is_long, is_json;
};

static bool is_derived(const char *name)
{
    const size_t n = strlen(name);
    for (size_t i = 0; i < WL_COUNT(derived); i++)
        if (wl_str_eq(name, derived[i])) return true;
    return n > 10 && wl_str_eq(name + n - 10, "_acted_pct");
}

static int end_run(struct reader *r, struct wl_err *e)
{
    if (!r->run) return 0;
    int rc = wl_own_run_add(r->im, r->run, e);
    wl_arena_free(r->run->a);
    r->run = NULL;
    return rc;
}

/* ---- the fields of a row ---- */

/* A number of an epoch by its name; NULL: it is none of these. */
static double *number_named(struct wl_own_epoch *x, const char *name)
{
    struct {
        const char *name;
        double *at;
    } numbers[] = { { "time_s", &x->time_s },           { "energy_j", &x->energy_j },
                    { "energy_lo_j", &x->bounds.lo_j }, { "energy_hi_j", &x->bounds.hi_j },
                    { "idle_j", &x->bounds.idle_j },    { "samples", &x->samples },
                    { "updates", &x->updates },         { "tokens", &x->tokens } };
    for (size_t i = 0; i < WL_COUNT(numbers); i++)
        if (wl_str_eq(numbers[i].name, name)) return numbers[i].at;
    return NULL;
}

static bool read_number(struct reader *r, const char *name, struct wl_slice text, double *to)
{
    double v;
    if (text.n == 0) return true;
    if (!wl_slice_real(text, &v)) {
        wl_import_reject(r->im, "%s: \"%.*s\" is not a number", name, WL_QUOTE(text));
        return false;
    }
    *to = v;
    return true;
}

/* The run and epoch that a row is of; false: rejected. */
static int begin_row(struct reader *r, struct wl_slice run, struct wl_slice epoch, struct wl_own_epoch **x,
                     struct wl_err *e)
{
    uint64_t number = 0;
    if (run.n == 0 || (epoch.n && (!wl_slice_uint(epoch, &number) || number == 0 || number > INT32_MAX))) {
        wl_import_reject(r->im, "\"%.*s\" of run \"%.*s\" is not an epoch", WL_QUOTE(epoch), WL_QUOTE(run));
        return 0;
    }
    if (!r->run || !wl_slice_eq(run, r->run->name)) {
        int rc = end_run(r, e);
        if (rc < 0) return rc;
        r->run = wl_own_run_new(wl_strndup(r->a, run.s, run.n), r->a);
    }
    *x = wl_own_run_epoch(r->run, (int64_t)number);
    return 1;
}

static const char *plain_text(const struct reader *r, struct wl_slice text)
{
    return r->is_json ? wl_slice_text(text, r->run->a) : wl_csv_plain(r->run->a, text.s, text.n);
}

/* What a field says that is neither run, epoch nor metric. */
static void read_field(struct reader *r, struct wl_own_epoch *x, const char *name, struct wl_slice text)
{
    struct wl_err e;
    double *number = number_named(x, name);
    if (text.n == 0) return;
    if (number) {
        (void)read_number(r, name, text, number);
    } else if (wl_str_eq(name, "estimated")) {
        x->estimated = x->estimated || wl_slice_eq(text, "1");
    } else if (wl_str_eq(name, "simulated")) {
        r->run->simulated = r->run->simulated || wl_slice_eq(text, "1");
    } else if (!is_derived(name)) {
        if (wl_own_run_setting(r->run, name, plain_text(r, text), &e) < 0) wl_import_reject(r->im, "%s", e.msg);
    }
}

/* Is read with others of its row? */
static bool is_key(const char *name)
{
    static const char *const keys[] = { "run",           "epoch",    "metric", "metric_value", "metric_unit",
                                        "metric_better", "quantity", "unit",   "value" };
    for (size_t i = 0; i < WL_COUNT(keys); i++)
        if (wl_str_eq(keys[i], name)) return true;
    return false;
}

static struct wl_slice field(const struct reader *r, const struct wl_slice *v, const char *name)
{
    for (int i = 0; i < r->n; i++)
        if (wl_str_eq(r->column[i], name)) return v[i];
    return (struct wl_slice) { "", 0 };
}

/* What a metric is, as far as the table says. */
struct metric {
    struct wl_slice name, value, unit, better;
};

static void read_metric(struct reader *r, int64_t epoch, const struct metric *m)
{
    double value = NAN;
    if (!m->name.n || !read_number(r, "metric_value", m->value, &value) || isnan(value)) return;
    const char *name = plain_text(r, m->name);
    wl_own_run_metric(r->run, epoch, name, value);
    const struct wl_metric_def_row def = { .name = name,
                                           .unit = m->unit.n ? plain_text(r, m->unit) : NULL,
                                           .larger = wl_own_larger(m->better) };
    if (def.unit || !isnan(def.larger)) wl_own_run_define(r->run, &def);
}

/* The quantity of a long table that the other table has no column for is the metric. */
static void read_quantity(struct reader *r, struct wl_own_epoch *x, const struct metric *m)
{
    const char *name = wl_slice_text(m->name, r->run->a);
    if (number_named(x, name))
        read_field(r, x, name, m->value);
    else if (!is_derived(name))
        read_metric(r, x->epoch, m);
}

static int read_fields(struct reader *r, const struct wl_slice *v, struct wl_err *e)
{
    struct wl_own_epoch *x;
    int rc = begin_row(r, field(r, v, "run"), field(r, v, "epoch"), &x, e);
    if (rc <= 0) return rc;
    for (int i = 0; i < r->n; i++)
        if (!is_key(r->column[i])) read_field(r, x, r->column[i], v[i]);
    const struct metric m = { .name = field(r, v, r->is_long ? "quantity" : "metric"),
                              .value = field(r, v, r->is_long ? "value" : "metric_value"),
                              .unit = field(r, v, r->is_long ? "unit" : "metric_unit"),
                              .better = field(r, v, "metric_better") };
    if (r->is_long)
        read_quantity(r, x, &m);
    else
        read_metric(r, x->epoch, &m);
    return 0;
}

/* ---- CSV ---- */

static int read_header(void *reader, const struct wl_slice *v, int n, struct wl_err *e)
{
    struct reader *r = reader;
    (void)e;
    for (r->n = 0; r->n < n; r->n++) {
        r->column[r->n] = wl_slice_text(v[r->n], r->a);
        r->is_long = r->is_long || wl_str_eq(r->column[r->n], "quantity");
    }
    return 0;
}

static int read_row(void *reader, const struct wl_slice *v, int n, struct wl_err *e)
{
    (void)n;
    return read_fields(reader, v, e);
}

/* ---- JSON Lines ---- */

/* The members of an object as the fields of a row, in columns of its own. */
static int read_object(struct reader *r, const struct wl_json *object, struct wl_arena *a, struct wl_err *e)
{
    struct wl_slice v[COLUMNS];
    char number[WL_NUMBER_MAX];
    r->n = 0;
    for (const char *key = wl_json_key(object, NULL); key && r->n < COLUMNS; key = wl_json_key(object, key)) {
        const struct wl_json *value = wl_json_get(object, key);
        const char *text = wl_json_str(value);
        if (!text) text = wl_strdup(a, wl_number_shortest(wl_json_real(value), number));
        r->column[r->n] = key;
        v[r->n++] = wl_slice_of(text);
    }
    return read_fields(r, v, e);
}

static int read_json_lines(struct reader *r, struct wl_err *e)
{
    struct wl_slice line;
    int rc;
    r->is_json = true;
    while ((rc = wl_import_line(r->im, &line, e)) > 0) {
        struct wl_arena *a = wl_arena_new(r->a);
        struct wl_json *object;
        struct wl_err own;
        rc = 0;
        if (wl_json_parse(wl_slice_text(line, a), r->im->in->path, &object, a, &own) < 0 || !wl_json_is_object(object))
            wl_import_reject(r->im, "not an object in JSON");
        else
            rc = read_object(r, object, a, e);
        wl_arena_free(a);
        if (rc < 0) break;
    }
    return rc;
}

/* ---- the formats ---- */

static int read_csv_file(struct reader *r, struct wl_err *e)
{
    return wl_import_rows(r->im, ',', COLUMNS, read_header, read_row, r, e);
}

static int read_as(struct wl_import *im, int (*read_rows)(struct reader *, struct wl_err *), struct wl_err *e)
{
    struct reader *r = wl_new(im->a, struct reader);
    *r = (struct reader) { .im = im, .a = wl_arena_new(im->a) };
    wl_import_set_tool(im, "wattlaw");
    int rc = read_rows(r, e);
    if (rc == 0) rc = end_run(r, e);
    wl_arena_free(r->a);
    return rc;
}

static int read_file(struct wl_import *im, struct wl_err *e)
{
    struct wl_slice head;
    int rc = wl_lines_peek(im->in, 1, &head, e);
    return rc < 0 ? rc : read_as(im, head.n && head.s[0] == '{' ? read_json_lines : read_csv_file, e);
}

static bool recognise(const struct wl_import_head *h, struct wl_arena *a)
{
    const char *line = wl_import_head_line(h, a);
    if (!line) return false;
    if (line[0] == '{')
        return strstr(line, "\"time_s\": ") && strstr(line, "\"run\": \"") && strstr(line, "\"simulated\": ");
    if (!wl_str_starts(line,
                       "workload,hardware,nodes,workers,local_batch,global_batch,power_cap_w,clock_mhz,run,epoch,"))
        return false;
    return strstr(line, ",epoch,time_s,energy_j,") || strstr(line, ",quantity,unit,value,estimated,simulated");
}

const struct wl_import_format wl_import_observations = {
    .name = "wattlaw-observations",
    .title = "wattlaw's export of observations",
    .looks_for = "the header of wattlaw export, or its JSON Lines",
    .kind = WL_IMPORT_TABLE,
    .recognise = recognise,
    .read = read_file,
};
