/* DCGM readings, from any of the formats: devices, series, and missing values. */
#include "exchange/dcgm/internal.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- missing values ---- */

enum reason { UNSPECIFIED, NOT_FOUND, NOT_SUPPORTED, NOT_PERMITTED, IS_NAN, OUT_OF_RANGE, NEGATIVE };
static const char *const reasons[WL_DCGM_REASONS] = {
    [UNSPECIFIED] = "DCGM had no value",
    [NOT_FOUND] = "not found",
    [NOT_SUPPORTED] = "not supported",
    [NOT_PERMITTED] = "no permission",
    [IS_NAN] = "not a number",
    [OUT_OF_RANGE] = "more than 100 %",
    [NEGATIVE] = "below 0",
};

/* DCGM encodes a missing value as one of four numbers from these on, one per reason. Source: DCGM_INT32_BLANK,
 * DCGM_FP64_BLANK, DCGM_INT64_BLANK and the three after each, dcgm_structs.h. A counter in mJ passes the smallest of
 * them after 2.1 MJ and has 64 bits. */
static const uint64_t INT32_BLANK = 2147483632u, FP64_BLANK = 140737488355328u, INT64_BLANK = 9223372036854775792u;

static bool is_blank(const struct wl_dcgm_field *field, double v)
{
    return v >= (field->counter ? (double)FP64_BLANK : (double)INT32_BLANK);
}

/* From the text of the value: as doubles, the 64-bit ones are equal. */
static enum reason reason_of_blank(const char *value)
{
    const uint64_t from[] = { INT32_BLANK, FP64_BLANK, INT64_BLANK };
    uint64_t n = strtoull(value, NULL, 10);
    if (strcspn(value, "eE") < strlen(value)) return UNSPECIFIED;
    for (size_t i = 0; i < WL_COUNT(from); i++)
        if (n >= from[i] && n <= from[i] + NOT_PERMITTED) return (enum reason)(n - from[i]);
    return UNSPECIFIED;
}

/* NAN for a missing value, which is counted; false: the text is not a number. */
static bool value_of(struct wl_dcgm_series *s, const char *text, double *out)
{
    const struct wl_dcgm_field *field = s->field;
    enum reason why;
    double v = NAN;
    *out = NAN;
    if (wl_str_eq(text, "N/A")) {
        why = UNSPECIFIED;
    } else if (wl_str_eq(text, "NaN")) {
        why = IS_NAN;
    } else if (wl_str_to_real(text, &v) < 0) {
        return false;
    } else if (is_blank(field, v)) {
        why = reason_of_blank(text);
    } else if (field->pct && v * field->scale > 100) {
        why = OUT_OF_RANGE;
    } else if (v < 0) {
        why = NEGATIVE;
    } else {
        *out = v * field->scale;
        return true;
    }
    s->missing[why]++;
    return true;
}

/* ---- devices and series ---- */

static const char *or_empty(const char *s) { return s ? s : ""; }

static bool is_asked_for(const struct wl_dcgm_opts *o, const struct wl_dcgm_device *d)
{
    if (!o->gpus || o->gpus->n == 0) return true;
    for (size_t i = 0; i < o->gpus->n; i++) {
        const char *want = o->gpus->v[i];
        size_t host = strlen(d->host);
        if (wl_str_eq(want, d->host) || wl_str_starts(d->uuid, want)) return true;
        if (host && strncmp(want, d->host, host) == 0 && want[host] == ':' &&
            wl_str_eq(want + host + 1, or_empty(d->number)))
            return true;
    }
    return false;
}

static struct wl_dcgm_device device_of(const struct wl_dcgm_reader *r, const struct wl_dcgm_labels *l)
{
    const struct wl_strs *uuids = r->opts->uuids;
    int64_t number;
    const char *uuid = l->uuid;
    bool numbered = l->gpu && wl_str_to_int(l->gpu, &number) == 0 && number >= 0;
    if (!uuid && numbered && uuids && (size_t)number < uuids->n) uuid = uuids->v[number];
    if (!uuid) uuid = wl_strf(r->scratch, "gpu%s", or_empty(l->gpu));
    return (struct wl_dcgm_device) {
        .uuid = uuid, .host = or_empty(l->host), .model = l->model, .driver = l->driver, .number = l->gpu
    };
}

static bool same_device(const struct wl_dcgm_device *x, const struct wl_dcgm_device *y)
{
    return wl_str_eq(x->uuid, y->uuid) && wl_str_eq(x->host, y->host);
}

static size_t add_device(struct wl_dcgm_reader *r, const struct wl_dcgm_device *d)
{
    struct wl_dcgm *out = r->out;
    size_t i = 0;
    while (i < out->n_devices && !same_device(&out->devices[i], d)) i++;
    if (i < out->n_devices) return i;
    WL_GROW(r->a, out->devices, out->n_devices, out->devices_cap);
    out->devices[out->n_devices++] = (struct wl_dcgm_device) {
        .uuid = wl_strdup(r->a, d->uuid),
        .host = wl_strdup(r->a, d->host),
        .model = d->model ? wl_strdup(r->a, d->model) : NULL,
        .driver = d->driver ? wl_strdup(r->a, d->driver) : NULL,
        .number = d->number ? wl_strdup(r->a, d->number) : NULL,
    };
    return i;
}

/* Lines have the same order in each scrape, so that the next series is nearly always the right one. */
static struct wl_dcgm_series *series_of(struct wl_dcgm_reader *r, const struct wl_dcgm_field *field,
                                        const struct wl_dcgm_device *d, const char *key)
{
    struct wl_dcgm *out = r->out;
    for (size_t i = 0; i < out->n_series; i++) {
        size_t at = (out->hint + 1 + i) % out->n_series;
        struct wl_dcgm_series *s = &out->series[at];
        if (s->field != field || !same_device(&out->devices[s->device], d)) continue;
        out->hint = at;
        return s;
    }
    WL_GROW(r->a, out->series, out->n_series, out->series_cap);
    out->hint = out->n_series;
    out->series[out->n_series++] = (struct wl_dcgm_series) { .device = add_device(r, d),
                                                             .field = field,
                                                             .quantity = field->quantity,
                                                             .unit = field->unit,
                                                             .variant = field->variant,
                                                             .counter = field->counter,
                                                             .key = wl_strdup(r->a, key),
                                                             .scrape = -1 };
    return &out->series[out->hint];
}

/* ---- a reading ---- */

static int time_of(struct wl_dcgm_reader *r, struct wl_dcgm_series *s, const char *key, int64_t own_ns, int64_t *t_ns,
                   struct wl_err *e)
{
    const struct wl_dcgm_opts *o = r->opts;
    *t_ns = own_ns != WL_NO_NS ? own_ns : r->now_ns;
    if (*t_ns != WL_NO_NS) return 0;
    if (o->start_ns == WL_NO_NS || o->period_ns == WL_NO_NS)
        return wl_fail(e, WL_EINVAL, "%s:%d: the time of this reading is unknown: give --start and --period", r->path,
                       r->line);
    if (s->scrape == r->scrape && wl_str_eq(s->key, key)) r->scrape++;
    s->scrape = r->scrape;
    if (r->scrape > (INT64_MAX - o->start_ns) / o->period_ns)
        return wl_fail(e, WL_EINVAL, "%s:%d: --start and --period lead past the year %d", r->path, r->line,
                       WL_CLOCK_END_YEAR);
    *t_ns = o->start_ns + r->scrape * o->period_ns;
    return 0;
}

int wl_dcgm_add(struct wl_dcgm_reader *r, const struct wl_dcgm_field *field, const struct wl_dcgm_labels *labels,
                const char *key, const char *value, int64_t own_ns, struct wl_err *e)
{
    struct wl_dcgm_device d = device_of(r, labels);
    r->known++;
    if (!is_asked_for(r->opts, &d) || (labels->instance && field->per_instance)) {
        r->out->ignored++;
        return 0;
    }
    struct wl_dcgm_series *s = series_of(r, field, &d, key);
    if (labels->instance) r->out->devices[s->device].split = true;
    int64_t t_ns;
    int rc = time_of(r, s, key, own_ns, &t_ns, e);
    if (rc < 0) return rc;
    if (s->n && s->v[s->n - 1].t_ns == t_ns) { /* of another instance, or a repeated scrape */
        r->out->duplicates++;
        return 0;
    }
    double v;
    if (!value_of(s, value, &v)) {
        wl_dcgm_malformed(r, "%s: \"%s\" is not a number", field->name, value);
        return 0;
    }
    WL_GROW(r->a, s->v, s->n, s->cap);
    s->v[s->n++] = (struct wl_dcgm_reading) { t_ns, v };
    return 0;
}

void wl_dcgm_malformed(struct wl_dcgm_reader *r, const char *fmt, ...)
{
    enum { MESSAGES = 10 };
    va_list ap;
    if (r->out->n_malformed++ >= MESSAGES) return;
    va_start(ap, fmt);
    wl_strs_add(r->a, &r->out->malformed, wl_strf(r->a, "%s:%d: %s", r->path, r->line, wl_strfv(r->a, fmt, ap)));
    va_end(ap);
}

/* ---- a file ---- */

static int read_json(struct wl_dcgm_reader *r, FILE *f, struct wl_err *e)
{
    enum { MAX_BYTES = 1 << 30, BLOCK = 1 << 16 };
    struct wl_text text = WL_TEXT(r->scratch);
    char *block = wl_alloc(r->scratch, BLOCK);
    for (size_t n; (n = fread(block, 1, BLOCK, f)) > 0;) {
        wl_text_addn(&text, block, n);
        if (text.n > MAX_BYTES) return wl_fail(e, WL_EINVAL, "%s: larger than %d bytes", r->path, MAX_BYTES);
    }
    return wl_dcgm_read_json(r, text.s, e);
}

static int read_any(struct wl_dcgm_reader *r, FILE *f, struct wl_err *e)
{
    int c;
    while (isspace(c = getc(f))) r->line += c == '\n';
    if (c != EOF) ungetc(c, f);
    return c == '{' || c == '[' ? read_json(r, f, e) : wl_dcgm_read_text(r, f, e);
}

int wl_dcgm_read(FILE *f, const char *path, const struct wl_dcgm_opts *opts, struct wl_dcgm *out, struct wl_arena *a,
                 struct wl_err *e)
{
    struct wl_dcgm_reader r = { .opts = opts, .out = out, .path = path, .line = 1, .now_ns = WL_NO_NS, .a = a };
    struct wl_arena *scratch = r.scratch = wl_arena_new(a);
    for (size_t i = 0; i < out->n_series; i++) out->series[i].scrape = -1;
    size_t malformed = out->n_malformed;
    int rc = read_any(&r, f, e);
    if (rc == 0 && ferror(f)) rc = wl_fail_errno(e, "%s: cannot read", path);
    wl_arena_free(scratch);
    if (rc < 0 || r.known) return rc;
    if (out->n_malformed > malformed && out->malformed.n)
        return wl_fail(e, WL_EINVAL, "%s", out->malformed.v[out->malformed.n - 1]);
    return wl_fail(e, WL_EINVAL, "%s: no known DCGM field, such as DCGM_FI_DEV_POWER_USAGE or a column of dcgmi dmon",
                   path);
}

/* ---- after the last file ---- */

static int by_time(const void *x, const void *y)
{
    const struct wl_dcgm_reading *a = x, *b = y;
    return (a->t_ns > b->t_ns) - (a->t_ns < b->t_ns);
}

/* By time, one per instant; of readings outside the requested time, those next to its ends stay. */
static void put_in_order(struct wl_dcgm *d, struct wl_dcgm_series *s, const struct wl_dcgm_opts *o)
{
    const int64_t MARGIN_NS = 120 * WL_NS_PER_S;
    size_t n = 0;
    bool sorted = true;
    for (size_t i = 1; i < s->n && sorted; i++) sorted = s->v[i - 1].t_ns <= s->v[i].t_ns;
    if (!sorted) qsort(s->v, s->n, sizeof *s->v, by_time);
    for (size_t i = 0; i < s->n; i++) {
        const struct wl_dcgm_reading *v = &s->v[i];
        if (o->from_ns != WL_NO_NS && v->t_ns < o->from_ns - MARGIN_NS) continue;
        if (o->to_ns != WL_NO_NS && v->t_ns > o->to_ns + MARGIN_NS) continue;
        if (n && s->v[n - 1].t_ns == v->t_ns)
            d->duplicates++;
        else
            s->v[n++] = *v;
    }
    s->n = n;
}

static void note_missing(struct wl_dcgm *d, const struct wl_dcgm_series *s, struct wl_arena *a)
{
    const struct wl_dcgm_device *device = &d->devices[s->device];
    for (size_t i = 0; i < WL_DCGM_REASONS; i++)
        if (s->missing[i])
            wl_strs_add(a, &d->notes,
                        wl_strf(a, "%s: %s: %zu reading%s missing: %s", device->uuid, s->quantity, s->missing[i],
                                s->missing[i] == 1 ? " is" : "s are", reasons[i]));
}

static bool has_value(const struct wl_dcgm_series *s)
{
    for (size_t i = 0; i < s->n; i++)
        if (!isnan(s->v[i].value)) return true;
    return false;
}

int wl_dcgm_finish(struct wl_dcgm *d, const struct wl_dcgm_opts *opts, struct wl_arena *a, struct wl_err *e)
{
    size_t n = 0, readings = 0;
    for (size_t i = 0; i < d->n_series; i++) {
        put_in_order(d, &d->series[i], opts);
        note_missing(d, &d->series[i], a);
        readings += d->series[i].n;
        if (has_value(&d->series[i])) d->series[n++] = d->series[i];
    }
    d->n_series = n;
    for (size_t i = 0; i < d->n_devices; i++)
        if (d->devices[i].split)
            wl_strs_add(a, &d->notes,
                        wl_strf(a, "%s is split into MIG instances: power and energy are of all of them",
                                d->devices[i].uuid));
    if (n) return 0;
    if (readings)
        return wl_fail(e, WL_EINVAL, "no reading has a value: %s", d->notes.n ? d->notes.v[0] : "all are empty");
    return wl_fail(e, WL_ENOENT, "no reading is left: %s",
                   d->ignored ? "none is of a GPU given by --gpus, or all are of MIG instances"
                              : "none is between --from and --to");
}
