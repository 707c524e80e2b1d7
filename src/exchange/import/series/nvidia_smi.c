/* nvidia-smi --query-gpu=... --format=csv[,noheader][,nounits]. Sources: nvidia-smi --help-query-gpu; the header is the
 * query's name, or the longer one that it stands for, with the unit in brackets. */
#include "exchange/import/formats.h"
#include "exchange/import/reader.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- columns ---- */

enum role { QUANTITY, TIMESTAMP, UUID, INDEX, BUS_ID, NAME, DRIVER, REASONS };

static const struct field {
    const char *name, *other; /* in the header and in the query */
    enum role role;
    struct wl_import_quantity of;
} fields[] = {
    { "timestamp", NULL, .role = TIMESTAMP },
    { "uuid", "gpu_uuid", .role = UUID },
    { "index", NULL, .role = INDEX },
    { "pci.bus_id", "gpu_bus_id", .role = BUS_ID },
    { "name", "gpu_name", .role = NAME },
    { "driver_version", NULL, .role = DRIVER },
    { "power.draw", NULL, .of = { "power_w", "W", "gpu", "driver" } },
    { "power.draw.instant", NULL, .of = { "power_w", "W", "gpu", "instant" } },
    { "power.draw.average", NULL, .of = { "power_w", "W", "gpu", "average" } },
    { "module.power.draw.instant", NULL, .of = { "power_w", "W", "module", "instant" } },
    { "module.power.draw.average", NULL, .of = { "power_w", "W", "module", "average" } },
    { "clocks.current.sm", "clocks.sm", .of = { "sm_clock_mhz", "MHz", "gpu", "" } },
    { "clocks.current.memory", "clocks.mem", .of = { "mem_clock_mhz", "MHz", "gpu", "" } },
    { "utilization.gpu", NULL, .of = { "sm_util_pct", "%", "gpu", "" } },
    { "utilization.memory", NULL, .of = { "mem_util_pct", "%", "gpu", "" } },
    { "temperature.gpu", NULL, .of = { "temperature_c", "°C", "gpu", "" } },
    { "temperature.memory", NULL, .of = { "mem_temperature_c", "°C", "gpu", "" } },
    { "memory.used", NULL, .of = { "mem_used_bytes", "B", "gpu", "" } },
    { "clocks_event_reasons.active", "clocks_throttle_reasons.active", .role = REASONS,
      .of = { "event_reasons", "", "gpu", "" } },
};

enum { COLUMNS = 256 };

struct column {
    const struct field *field; /* NULL: not imported */
    struct wl_slice name;
    double scale; /* of values without a unit of their own; NAN: its unit is not known */
    size_t passed_over;
};

/* A GPU by the text that names it in its rows. */
struct gpu {
    char *key;
    size_t key_n;
    int channel[COLUMNS];
};

struct reader {
    struct wl_import *im;
    struct wl_zone zone;
    struct column column[COLUMNS];
    int n_columns, time, uuid, index, bus, name, driver; /* -1: none */
    struct wl_slice head;                                /* the latest header, which loops of nvidia-smi repeat */
    struct gpu *gpus;
    size_t n_gpus, gpus_cap, hint;
    struct wl_import_ticks ticks;
    size_t first_gpu;
    struct wl_arena *a; /* of the latest header: names, and GPUs, whose channels are by column */
};

static const struct field *field_named(struct wl_slice name)
{
    for (size_t i = 0; i < WL_COUNT(fields); i++)
        if (wl_slice_eq(name, fields[i].name) || (fields[i].other && wl_slice_eq(name, fields[i].other)))
            return &fields[i];
    return NULL;
}

/* "power.draw [W]": the name without the unit, which follows in brackets where there is one. */
static struct wl_slice without_unit(struct wl_slice text, struct wl_slice *unit)
{
    const char *open = memchr(text.s, '[', text.n);
    *unit = (struct wl_slice) { "", 0 };
    if (!open || text.s[text.n - 1] != ']') return text;
    *unit = (struct wl_slice) { open + 1, (size_t)(text.s + text.n - 1 - open - 1) };
    return wl_slice_trim((struct wl_slice) { text.s, (size_t)(open - text.s) });
}

static void set_column(struct reader *r, int i, struct wl_slice text)
{
    struct wl_slice unit, name = without_unit(wl_slice_trim(text), &unit);
    struct column *c = &r->column[i];
    *c = (struct column) { .field = field_named(name), .name = wl_slice_of(wl_slice_text(name, r->a)), .scale = 1 };
    if (!c->field) return;
    int *const of_role[] = { [TIMESTAMP] = &r->time, [UUID] = &r->uuid, [INDEX] = &r->index,
                             [BUS_ID] = &r->bus,     [NAME] = &r->name, [DRIVER] = &r->driver };
    if (c->field->role == QUANTITY) {
        /* without a unit in the header, as of --columns, nvidia-smi's own: MiB of memory */
        if (unit.n == 0 && wl_str_eq(c->field->of.unit, "B")) unit = wl_slice_of("MiB");
        c->scale = wl_import_unit(unit, c->field->of.unit);
        if (isnan(c->scale))
            wl_import_note(r->im, "%s: column %.*s: unit [%.*s], expected %s: left out", r->im->in->path,
                           WL_QUOTE(name), WL_QUOTE(unit), c->field->of.unit);
        if (isnan(c->scale)) c->field = NULL;
    } else if (c->field->role != REASONS) {
        *of_role[c->field->role] = i;
    }
}

static void set_header(struct reader *r, const struct wl_slice *names, int n)
{
    wl_arena_free(r->a);
    r->a = wl_arena_new(r->im->a);
    r->gpus = NULL;
    r->n_gpus = r->gpus_cap = r->hint = 0;
    r->n_columns = n;
    r->time = r->uuid = r->index = r->bus = r->name = r->driver = -1;
    for (int i = 0; i < n; i++) set_column(r, i, names[i]);
}

/* ---- rows ---- */

static const struct wl_slice *key_of(const struct reader *r, const struct wl_slice *v)
{
    int at = r->uuid >= 0 ? r->uuid : r->index >= 0 ? r->index : r->bus;
    return at >= 0 ? &v[at] : NULL;
}

static const char *text_at(const struct reader *r, const struct wl_slice *v, int column)
{
    if (column < 0 || wl_import_no_value(v[column])) return NULL;
    return wl_slice_text(v[column], r->a);
}

static struct gpu *new_gpu(struct reader *r, struct wl_slice key, const struct wl_slice *v)
{
    WL_GROW(r->a, r->gpus, r->n_gpus, r->gpus_cap);
    struct gpu *g = &r->gpus[r->n_gpus++];
    *g = (struct gpu) { .key = wl_slice_text(key, r->a), .key_n = key.n };
    const char *uuid = r->uuid >= 0 ? wl_slice_text(key, r->a) : wl_strf(r->a, r->index >= 0 ? "gpu%s" : "%s", g->key);
    if (!key_of(r, v)) {
        uuid = "gpu0";
        wl_import_note(r->im, "%s: no column index, uuid or pci.bus_id: taken for one GPU", r->im->in->path);
    }
    const struct wl_import_device d = { .uuid = uuid,
                                        .number = text_at(r, v, r->index),
                                        .model = text_at(r, v, r->name),
                                        .driver = text_at(r, v, r->driver) };
    int device = wl_series_device(r->im, &d);
    for (int i = 0; i < r->n_columns; i++) {
        const struct field *f = r->column[i].field;
        bool read = f && (f->role == QUANTITY || f->role == REASONS);
        g->channel[i] = read ? wl_series_channel(r->im, device, &f->of) : WL_SERIES_UNWANTED;
    }
    return g;
}

/* GPUs have the same order in each reading, so that the next one is nearly always the right one. */
static struct gpu *gpu_of(struct reader *r, const struct wl_slice *v)
{
    const struct wl_slice *given = key_of(r, v);
    struct wl_slice key = given ? *given : wl_slice_of("");
    for (size_t i = 0; i < r->n_gpus; i++) {
        size_t at = r->hint + 1 + i;
        at = at >= r->n_gpus ? at % r->n_gpus : at;
        struct gpu *g = &r->gpus[at];
        if (g->key_n != key.n || memcmp(g->key, key.s, key.n) != 0) continue;
        r->hint = at;
        return g;
    }
    r->hint = r->n_gpus;
    return new_gpu(r, key, v);
}

/* 0x0000000000000004 */
static bool read_hex(struct wl_slice text, double *out)
{
    uint64_t bits = 0;
    if (text.n < 3 || text.n > 18 || text.s[0] != '0' || (text.s[1] | 0x20) != 'x') return false;
    for (size_t i = 2; i < text.n; i++) {
        char c = text.s[i], low = (char)(c | 0x20);
        if (!(c >= '0' && c <= '9') && !(low >= 'a' && low <= 'f')) return false;
        bits = bits << 4 | (uint64_t)(c <= '9' ? c - '0' : low - 'a' + 10);
    }
    *out = (double)bits;
    return bits < UINT64_C(1) << 53;
}

static int read_value(struct reader *r, int i, struct wl_slice text, int channel, int64_t t_ns, struct wl_err *e)
{
    const struct column *c = &r->column[i];
    struct wl_slice unit;
    double v, scale = c->scale;
    const char *why = wl_import_no_value(text);
    if (why) return wl_series_missing(r->im, channel, t_ns, why, e);
    if (c->field->role == REASONS) {
        if (read_hex(text, &v)) return wl_series_add(r->im, channel, t_ns, v, e);
    } else if (wl_slice_real_then(text, &v, &unit)) {
        if (unit.n) scale = wl_import_unit(unit, c->field->of.unit);
        if (!isnan(scale)) return wl_series_add(r->im, channel, t_ns, v * scale, e);
    }
    wl_import_reject(r->im, "%.*s: \"%.*s\" is not a value in %s", WL_QUOTE(c->name), WL_QUOTE(text),
                     c->field->role == REASONS ? "hexadecimal" : c->field->of.unit);
    return 0;
}

static int row_time(struct reader *r, const struct wl_slice *v, const struct gpu *g, int64_t *t_ns, struct wl_err *e)
{
    if (r->time >= 0) return wl_import_time(r->im, &r->zone, v[r->time], WL_DATE_YMD, t_ns);
    size_t at = (size_t)(g - r->gpus);
    if (r->ticks.n == 0) r->first_gpu = at;
    int rc = wl_import_tick(r->im, &r->ticks, at == r->first_gpu, t_ns, e);
    return rc < 0 ? rc : 1;
}

static int read_row(struct reader *r, const struct wl_slice *v, int n, struct wl_err *e)
{
    int64_t t_ns;
    if (n != r->n_columns) {
        wl_import_reject(r->im, "%d values under %d columns", n, r->n_columns);
        return 0;
    }
    const struct wl_slice *key = key_of(r, v);
    if (key && wl_import_no_value(*key)) {
        wl_import_reject(r->im, "the GPU is not named: \"%.*s\"", WL_QUOTE(*key));
        return 0;
    }
    struct gpu *g = gpu_of(r, v);
    int rc = row_time(r, v, g, &t_ns, e);
    if (rc <= 0) return rc;
    rc = 0;
    for (int i = 0; i < n && rc == 0; i++) {
        struct column *c = &r->column[i];
        if (!c->field)
            c->passed_over++;
        else if (c->field->role == QUANTITY || c->field->role == REASONS)
            rc = read_value(r, i, v[i], g->channel[i], t_ns, e);
    }
    return rc;
}

static void report_columns(struct reader *r)
{
    for (int i = 0; i < r->n_columns; i++)
        if (r->column[i].passed_over)
            wl_import_pass_over(r->im, wl_strf(r->a, "column %.*s", WL_QUOTE(r->column[i].name)),
                                r->column[i].passed_over);
}

/* ---- a file ---- */

/* How many of the names are those of nvidia-smi. */
static int known_names(const struct wl_slice *v, int n)
{
    int known = 0;
    for (int i = 0; i < n && i < COLUMNS; i++) {
        struct wl_slice unit;
        known += field_named(without_unit(v[i], &unit)) != NULL;
    }
    return known;
}

static bool has_stamp(const struct wl_slice *v, int n)
{
    int64_t s, ns;
    struct wl_slice rest;
    for (int i = 0; i < n && i < COLUMNS; i++)
        if (v[i].n > 19 && v[i].s[4] == '/' && wl_time_parse(v[i], WL_DATE_YMD, &s, &ns, &rest) && rest.n == 0)
            return true;
    return false;
}

static bool recognise(const struct wl_import_head *h, struct wl_arena *a)
{
    struct wl_slice *v = wl_new_array(a, struct wl_slice, COLUMNS);
    const char *line = wl_import_head_line(h, a);
    int n = line ? wl_slice_split(wl_slice_of(line), ',', v, COLUMNS) : 0;
    if (n < 1 || n > COLUMNS) return false;
    /* `name` alone is a column of many tables */
    return known_names(v, n) >= 2 && memmem(line, strlen(line), ".", 1) ? true : n > 1 && has_stamp(v, n);
}

static int first_header(struct reader *r, const struct wl_slice *v, int n, bool *is_row, struct wl_err *e)
{
    const struct wl_strs *given = r->im->opts->columns;
    struct wl_slice names[COLUMNS];
    *is_row = known_names(v, n) < 2;
    if (!*is_row) {
        set_header(r, v, n);
        return 0;
    }
    if (!given || given->n == 0)
        return wl_fail(e, WL_EINVAL,
                       "%s:%lld: the file has no header: give --columns as they were queried, for example "
                       "--columns index,timestamp,power.draw",
                       r->im->in->path, (long long)r->im->in->line);
    if (given->n > COLUMNS) return wl_fail(e, WL_EUSAGE, "--columns: more than %d", COLUMNS);
    for (size_t i = 0; i < given->n; i++) names[i] = wl_slice_of(given->v[i]);
    set_header(r, names, (int)given->n);
    return 0;
}

/* A header below the first one: the same again, or another query's. */
static bool is_header(struct reader *r, struct wl_slice line, const struct wl_slice *v, int n)
{
    if (v[0].n == 0 || (v[0].s[0] >= '0' && v[0].s[0] <= '9')) return false;
    if (line.n == r->head.n && memcmp(line.s, r->head.s, line.n) == 0) return true;
    if (known_names(v, n) < 2) return false;
    report_columns(r);
    set_header(r, v, n);
    r->head = wl_slice_of(wl_slice_text(line, r->a));
    return true;
}

static int read_lines(struct reader *r, struct wl_err *e)
{
    struct wl_slice line, v[COLUMNS];
    int rc;
    while ((rc = wl_import_line(r->im, &line, e)) > 0) {
        int n = wl_slice_split(line, ',', v, COLUMNS);
        bool is_row = true;
        if (n < 1 || n > COLUMNS) {
            wl_import_reject(r->im, n < 0 ? "a quote is not closed" : "more than %d values", COLUMNS);
            continue;
        }
        rc = 0;
        if (r->n_columns == 0)
            rc = first_header(r, v, n, &is_row, e);
        else if (is_header(r, line, v, n))
            is_row = false;
        if (rc == 0 && is_row) rc = read_row(r, v, n, e);
        if (rc < 0) return rc;
    }
    return rc;
}

static int read_file(struct wl_import *im, struct wl_err *e)
{
    struct wl_arena *a = wl_arena_new(im->a);
    struct reader *r = wl_new(a, struct reader);
    *r = (struct reader) { .im = im, .a = wl_arena_new(im->a) };
    int rc = wl_zone_open(&r->zone, im->opts->timezone, a, e);
    if (rc == 0) rc = read_lines(r, e);
    report_columns(r);
    wl_arena_free(r->a);
    wl_arena_free(a);
    return rc;
}

static const char *const columns[] = { "index", "timestamp", "power.draw", NULL };

const struct wl_import_format wl_import_nvidia_smi = {
    .name = "nvidia-smi",
    .title = "nvidia-smi --query-gpu",
    .looks_for = "a header with power.draw, index or uuid",
    .kind = WL_IMPORT_SERIES,
    .columns = columns,
    .recognise = recognise,
    .read = read_file,
};
