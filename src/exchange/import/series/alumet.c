/* Alumet's CSV: "metric;timestamp;value;resource_kind;resource_id;consumer_kind;consumer_id;...;__late_attributes". The
 * separator is set by its configuration, units are appended to the names of metrics or are not, and attributes are
 * columns or in the last one. Source: the user book of alumet.dev and the plugins rapl and nvml of
 * github.com/alumet-dev/alumet. */
#include "exchange/import/formats.h"
#include "exchange/import/reader.h"

#include <math.h>
#include <string.h>

enum { METRIC, TIMESTAMP, VALUE, KIND, ID, CONSUMER, DOMAIN, LATE, ROLES, COLUMNS = 64, SERIES = 4096 };
static const char *const names[ROLES] = { "metric",      "timestamp",     "value",  "resource_kind",
                                          "resource_id", "consumer_kind", "domain", "__late_attributes" };

static const struct metric {
    const char *name, *kind, *domain; /* NULL: any */
    const char *unit;                 /* without one in its name */
    bool diff;                        /* since the previous measurement: they are added up to a counter */
    struct wl_import_quantity of;
} metrics[] = {
    { "rapl_consumed_energy",
      "cpu_package",
      "package",
      "J",
      true,
      { "energy_j", "J", "package", "", .counter = true } },
    { "rapl_consumed_energy", NULL, "dram", "J", true, { "energy_j", "J", "dram", "", .counter = true } },
    { "rapl_consumed_energy", NULL, "platform", "J", true, { "energy_j", "J", "psys", "", .counter = true } },
    { "nvml_energy_consumption", "gpu", NULL, "mJ", true, { "energy_j", "J", "gpu", "", .counter = true } },
    { "nvml_instant_power", "gpu", NULL, "mW", false, { "power_w", "W", "gpu", "driver" } },
    { "nvml_temperature_gpu", "gpu", NULL, "C", false, { "temperature_c", "°C", "gpu", "" } },
    { "nvml_gpu_utilization", "gpu", NULL, "%", false, { "sm_util_pct", "%", "gpu", "" } },
    { "nvml_memory_utilization", "gpu", NULL, "%", false, { "mem_util_pct", "%", "gpu", "" } },
};

/* A series by the texts that identify it in its rows. */
struct series {
    const char *key;
    int channel; /* PASSED: not imported */
    double scale, sum;
    bool diff;
    size_t passed_over;
};
enum { PASSED = -2 };

struct reader {
    struct wl_import *im;
    struct wl_zone zone;
    int column[ROLES]; /* -1: none */
    struct series *series;
    size_t n_series, cap, hint;
    struct wl_arena *a;
};

static int read_header(void *reader, const struct wl_slice *v, int n, struct wl_err *e)
{
    struct reader *r = reader;
    for (int k = 0; k < ROLES; k++) {
        r->column[k] = -1;
        for (int i = 0; i < n && i < COLUMNS; i++)
            if (wl_slice_eq(v[i], names[k])) r->column[k] = i;
        if (r->column[k] < 0 && k <= ID)
            return wl_fail(e, WL_EINVAL, "%s:%lld: no column %s", r->im->in->path, (long long)r->im->in->line,
                           names[k]);
    }
    return 0;
}

static struct wl_slice at(const struct reader *r, const struct wl_slice *v, int role)
{
    return r->column[role] < 0 ? (struct wl_slice) { "", 0 } : v[r->column[role]];
}

/* ---- series ---- */

/* The domain is a column or, as "domain=package", an attribute that came late. */
static struct wl_slice domain_of(const struct reader *r, const struct wl_slice *v)
{
    struct wl_slice own = at(r, v, DOMAIN), late = at(r, v, LATE);
    static const char key[] = "domain=";
    if (own.n) return own;
    const char *found = memmem(late.s, late.n, key, strlen(key));
    if (!found) return own;
    found += strlen(key);
    size_t left = (size_t)(late.s + late.n - found), n = 0;
    while (n < left && !strchr(", ;", found[n])) n++;
    return (struct wl_slice) { found, n };
}

/* The metric whose name this is, with its unit or without. */
static const struct metric *metric_of(const struct reader *r, const struct wl_slice *v, double *scale)
{
    const struct wl_slice name = at(r, v, METRIC), domain = domain_of(r, v);
    for (size_t i = 0; i < WL_COUNT(metrics); i++) {
        const struct metric *m = &metrics[i];
        const size_t n = strlen(m->name);
        if (!wl_slice_starts(name, m->name) || (name.n > n && name.s[n] != '_')) continue;
        if (m->kind && !wl_slice_eq(at(r, v, KIND), m->kind)) continue;
        if (m->domain && !wl_slice_eq(domain, m->domain)) continue;
        struct wl_slice unit =
            name.n > n + 1 ? (struct wl_slice) { name.s + n + 1, name.n - n - 1 } : wl_slice_of(m->unit);
        *scale = wl_import_unit(unit, m->of.unit);
        if (!isnan(*scale)) return m;
    }
    return NULL;
}

/* What processes and cgroups used is a part of what the resource did. */
static bool is_whole_resource(const struct reader *r, const struct wl_slice *v)
{
    const struct wl_slice c = at(r, v, CONSUMER);
    return c.n == 0 || wl_slice_eq(c, "local_machine");
}

static void open_series(struct reader *r, struct series *s, const struct wl_slice *v)
{
    const struct metric *m = is_whole_resource(r, v) ? metric_of(r, v, &s->scale) : NULL;
    s->channel = PASSED;
    if (!m) return;
    const struct wl_slice id = at(r, v, ID);
    const char *number = wl_slice_text(id, r->a), *kind = m->of.scope;
    int64_t ignored;
    bool uuid = id.n && wl_str_to_int(number, &ignored) < 0; /* newer versions name GPUs by bus or UUID */
    const struct wl_import_device d = {
        .uuid = uuid ? number : wl_strf(r->a, wl_str_eq(kind, "gpu") ? "%s%s" : "%s-%s", kind, number),
        .number = uuid || id.n == 0 ? NULL : number
    };
    s->channel = wl_series_channel(r->im, wl_series_device(r->im, &d), &m->of);
    s->diff = m->diff;
}

static struct series *series_of(struct reader *r, const struct wl_slice *v)
{
    static const int roles[] = { METRIC, KIND, ID, CONSUMER, DOMAIN, LATE };
    char key[512];
    size_t n = 0;
    for (size_t i = 0; i < WL_COUNT(roles); i++) {
        const struct wl_slice text = at(r, v, roles[i]);
        n += (size_t)snprintf(key + n, sizeof key - n, "%.*s\n", WL_QUOTE(text));
    }
    for (size_t i = 0; i < r->n_series; i++) {
        size_t k = (r->hint + 1 + i) % r->n_series;
        if (strcmp(r->series[k].key, key) != 0) continue;
        r->hint = k;
        return &r->series[k];
    }
    if (r->n_series == SERIES) return NULL;
    WL_GROW(r->a, r->series, r->n_series, r->cap);
    struct series *s = &r->series[r->hint = r->n_series++];
    *s = (struct series) { .key = wl_strdup(r->a, key) };
    open_series(r, s, v);
    return s;
}

/* ---- rows ---- */

static int read_row(void *reader, const struct wl_slice *v, int n, struct wl_err *e)
{
    struct reader *r = reader;
    int64_t t_ns;
    double value;
    (void)n;
    struct series *s = series_of(r, v);
    if (!s || s->channel == PASSED) {
        if (s)
            s->passed_over++;
        else
            wl_import_pass_over(r->im, "series beyond the first 4096", 1);
        return 0;
    }
    if (!wl_import_time(r->im, &r->zone, at(r, v, TIMESTAMP), WL_DATE_YMD, &t_ns)) return 0;
    const char *why = wl_import_no_value(at(r, v, VALUE));
    if (why) return wl_series_missing(r->im, s->channel, t_ns, why, e);
    if (!wl_slice_real(at(r, v, VALUE), &value)) {
        wl_import_reject(r->im, "\"%.*s\" is not a number", WL_QUOTE(at(r, v, VALUE)));
        return 0;
    }
    value *= s->scale;
    if (s->diff) {
        if (value < 0) return wl_series_missing(r->im, s->channel, t_ns, "an energy below 0", e);
        value = s->sum += value;
    }
    return wl_series_add(r->im, s->channel, t_ns, value, e);
}

static void report_passed(struct reader *r)
{
    for (size_t i = 0; i < r->n_series; i++) {
        const struct series *s = &r->series[i];
        if (s->passed_over)
            wl_import_pass_over(r->im, wl_strf(r->a, "metric %.*s", (int)strcspn(s->key, "\n"), s->key),
                                s->passed_over);
    }
}

/* The separator is what follows the name of the first column, which is always the same. */
static char separator_of(struct wl_slice header)
{
    static const char first[] = "metric";
    const char *found = memmem(header.s, header.n, first, strlen(first));
    size_t n = found ? (size_t)(found - header.s) + strlen(first) : header.n;
    while (n < header.n && header.s[n] == ' ') n++;
    return n < header.n ? header.s[n] : '\0';
}

static int read_file(struct wl_import *im, struct wl_err *e)
{
    struct wl_arena *a = wl_arena_new(im->a);
    struct reader *r = wl_new(a, struct reader);
    struct wl_slice head = { 0 };
    r->im = im;
    r->a = a;
    wl_import_set_tool(im, "Alumet");
    int rc = wl_zone_open(&r->zone, im->opts->timezone, a, e);
    if (rc == 0) rc = wl_lines_peek(im->in, WL_IMPORT_HEAD, &head, e);
    if (rc == 0) rc = wl_import_rows(im, separator_of(head), COLUMNS, read_header, read_row, r, e);
    report_passed(r);
    wl_arena_free(a);
    return rc;
}

static bool recognise(const struct wl_import_head *h, struct wl_arena *a)
{
    const char *line = wl_import_head_line(h, a);
    return line && wl_str_starts(line, "metric") && strstr(line, "resource_kind") && strstr(line, "timestamp");
}

static const char *const columns[] = { "metric", "timestamp", "value", "resource_kind", "resource_id", NULL };

const struct wl_import_format wl_import_alumet = {
    .name = "alumet",
    .title = "Alumet",
    .looks_for = "a header with metric, timestamp, resource_kind",
    .kind = WL_IMPORT_SERIES,
    .columns = columns,
    .recognise = recognise,
    .read = read_file,
};
