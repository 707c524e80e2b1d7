/* What `wattlaw export samples` writes, one reading per line (csv) or one instant per line (csv-wide): docs/formats.md.
 * Times count from the start of each run. A simulated reading measured nothing and is left out. */
#include "exchange/import/formats.h"
#include "exchange/import/reader.h"
#include "power/power.h"

#include <math.h>
#include <string.h>

enum { RUN, HOST, DEVICE, SENSOR, QUANTITY, UNIT, SCOPE, VARIANT, ESTIMATED, SIMULATED, TIME, VALUE, LONG_COLUMNS };
enum { COLUMNS = 4096, TEXT = 64, PASSED = -2, NOT_YET = -3 };

static const char long_head[] = "run,host,device,sensor,quantity,unit,scope,variant,estimated,simulated,t_s,value",
                  wide_head[] = "run,t_s,";

/* A channel as a file names it. */
struct series {
    struct wl_import_device device;
    const char *quantity, *scope, *variant, *unit; /* unit: NULL where the file does not say */
    bool estimated, simulated;
    int channel; /* of the run that is read; PASSED; NOT_YET */
    size_t passed;
};

struct reader {
    struct wl_import *im;
    struct wl_arena *a;
    char run[TEXT];
    bool wide;
    int n;                         /* columns of a wide table */
    struct series column[COLUMNS]; /* of it; or [0], the series of the latest line of a long one */
    struct wl_arena *latest;       /* of the texts of [0], which a file in the order of time changes with each line */
    const char *key;               /* the fields that make that series, of which many lines follow each other */
};

/* ---- series ---- */

static void open_series(struct reader *r, struct series *s)
{
    const int q = wl_quantity_from(s->quantity);
    s->channel = PASSED;
    if (s->simulated || q < 0 || wl_scope_from(s->scope) < 0 || wl_variant_from(s->variant) < 0) return;
    if (s->unit && !wl_str_eq(s->unit, wl_quantity_unit((enum wl_quantity)q))) return;
    const struct wl_import_quantity of = { .quantity = s->quantity,
                                           .unit = wl_quantity_unit((enum wl_quantity)q),
                                           .scope = s->scope,
                                           .variant = s->variant,
                                           .counter = wl_quantity_is_counter((enum wl_quantity)q),
                                           .estimated = s->estimated };
    s->channel = wl_series_channel(r->im, wl_series_device(r->im, &s->device), &of);
}

static void report_passed(struct reader *r, struct series *s)
{
    if (s->passed)
        wl_import_pass_over(r->im,
                            s->simulated ? "simulated readings"
                                         : wl_strf(r->a, "%s of %s", s->quantity, s->device.uuid),
                            s->passed);
    s->passed = 0;
}

static int add(struct reader *r, struct series *s, int64_t t_ns, struct wl_slice text, struct wl_err *e)
{
    double value;
    const char *why = wl_import_no_value(text);
    if (s->channel == NOT_YET) open_series(r, s);
    if (s->channel == PASSED) {
        s->passed++;
        return 0;
    }
    if (why) return wl_series_missing(r->im, s->channel, t_ns, why, e);
    if (wl_slice_real(text, &value)) return wl_series_add(r->im, s->channel, t_ns, value, e);
    wl_import_reject(r->im, "\"%.*s\" is not a number", WL_QUOTE(text));
    return 0;
}

/* 1: the line is of a run, which it begins where the one before was of another. 0: rejected. */
static int follow_run(struct reader *r, struct wl_slice run, struct wl_slice time, int64_t *t_ns, struct wl_err *e)
{
    uint64_t number;
    double t_s;
    if (!wl_slice_uint(run, &number)) {
        wl_import_reject(r->im, "\"%.*s\" is not the number of a run", WL_QUOTE(run));
        return 0;
    }
    if (!wl_slice_real(time, &t_s) || !(fabs(t_s) < 1e9)) {
        wl_import_reject(r->im, "\"%.*s\" is not a time in s from the start of the run", WL_QUOTE(time));
        return 0;
    }
    if (!wl_slice_eq(run, r->run)) {
        snprintf(r->run, sizeof r->run, "%.*s", (int)run.n, run.s);
        int rc = wl_series_next_run(r->im, wl_strf(r->a, "run %s", r->run), e);
        if (rc < 0) return rc;
        for (int i = 0; i < r->n; i++)
            if (r->column[i].channel != PASSED) r->column[i].channel = NOT_YET;
        r->key = "";
    }
    *t_ns = wl_series_undated(r->im) + llround(t_s * 1e6) * 1000;
    return 1;
}

/* ---- one reading per line ---- */

static bool is_set(struct wl_slice flag) { return wl_slice_eq(flag, "1"); }

static void set_series(struct reader *r, const struct wl_slice *v)
{
    struct series *s = &r->column[0];
    report_passed(r, s);
    if (r->latest) wl_arena_free(r->latest);
    r->latest = wl_arena_new(r->a);
    *s = (struct series) { .device = { .uuid = wl_import_plain_uuid(wl_csv_plain(r->latest, v[DEVICE].s, v[DEVICE].n)),
                                       .host = wl_csv_plain(r->latest, v[HOST].s, v[HOST].n) },
                           .quantity = wl_slice_text(v[QUANTITY], r->latest),
                           .unit = wl_slice_text(v[UNIT], r->latest),
                           .scope = wl_slice_text(v[SCOPE], r->latest),
                           .variant = wl_slice_text(v[VARIANT], r->latest),
                           .estimated = is_set(v[ESTIMATED]),
                           .simulated = is_set(v[SIMULATED]),
                           .channel = NOT_YET };
}

static int read_long(struct reader *r, const struct wl_slice *v, struct wl_err *e)
{
    int64_t t_ns;
    int rc = follow_run(r, v[RUN], v[TIME], &t_ns, e);
    if (rc <= 0) return rc;
    const struct wl_slice key = { v[HOST].s, (size_t)(v[SIMULATED].s + v[SIMULATED].n - v[HOST].s) };
    if (!wl_slice_eq(key, r->key)) {
        set_series(r, v);
        r->key = wl_slice_text(key, r->latest);
    }
    return add(r, &r->column[0], t_ns, v[VALUE], e);
}

/* ---- one instant per line ---- */

/* "GPU-5f0a gpu power_w instant (estimated)", after the host where there are several. Without the marks, the names are
 * found from the end, since a host or device may have a blank. False: not such a name. */
static bool parse_name(struct series *s, char *name, struct wl_arena *a)
{
    char *mark = strstr(name, " (");
    if (mark) {
        s->estimated = strstr(mark, "estimated");
        s->simulated = strstr(mark, "simulated");
        *mark = '\0';
    }
    const struct wl_strs words = wl_str_split(a, name, ' ');
    size_t n = words.n;
    s->variant = "";
    if (n >= 4 && wl_variant_from(words.v[n - 1]) > 0) s->variant = words.v[--n];
    if (n < 3 || wl_quantity_from(words.v[n - 1]) < 0 || wl_scope_from(words.v[n - 2]) < 0) return false;
    s->quantity = words.v[n - 1];
    s->scope = words.v[n - 2];
    s->device.uuid = wl_import_plain_uuid(words.v[n - 3]);
    struct wl_text host = WL_TEXT(a);
    for (size_t i = 0; i + 3 < n; i++) wl_text_addf(&host, "%s%s", i ? " " : "", words.v[i]);
    s->device.host = host.n ? host.s : NULL;
    return true;
}

static int set_columns(struct reader *r, const struct wl_slice *v, int n, struct wl_err *e)
{
    for (r->n = 0; r->n < n; r->n++) {
        struct series *s = &r->column[r->n];
        *s = (struct series) { .channel = NOT_YET };
        if (r->n >= 2 && !parse_name(s, wl_csv_plain(r->a, v[r->n].s, v[r->n].n), r->a))
            return wl_fail(e, WL_EINVAL, "%s:%lld: the column \"%.*s\" does not name a device, a scope and a quantity",
                           r->im->in->path, (long long)r->im->in->line, WL_QUOTE(v[r->n]));
    }
    return 0;
}

/* An empty field is an instant of other series; a reading that failed is NaN. */
static int read_wide(struct reader *r, const struct wl_slice *v, int n, struct wl_err *e)
{
    int64_t t_ns;
    int rc = follow_run(r, v[0], v[1], &t_ns, e);
    if (rc <= 0) return rc;
    rc = 0;
    for (int i = 2; i < n && rc == 0; i++)
        if (v[i].n) rc = add(r, &r->column[i], t_ns, v[i], e);
    return rc;
}

/* ---- both ---- */

static int read_header(void *reader, const struct wl_slice *v, int n, struct wl_err *e)
{
    struct reader *r = reader;
    r->wide = n > 1 && wl_slice_eq(v[1], "t_s");
    if (r->wide) return set_columns(r, v, n, e);
    if (n == LONG_COLUMNS && wl_slice_eq(v[VALUE], "value")) return 0;
    return wl_fail(e, WL_EINVAL, "%s:%lld: expected the header %s, or %s...", r->im->in->path,
                   (long long)r->im->in->line, long_head, wide_head);
}

static int read_row(void *reader, const struct wl_slice *v, int n, struct wl_err *e)
{
    struct reader *r = reader;
    return r->wide ? read_wide(r, v, n, e) : read_long(r, v, e);
}

static int read_file(struct wl_import *im, struct wl_err *e)
{
    struct wl_arena *a = wl_arena_new(im->a);
    struct reader *r = wl_new(a, struct reader);
    r->im = im;
    r->a = a;
    r->key = "";
    wl_import_set_tool(im, "wattlaw");
    int rc = wl_import_rows(im, ',', COLUMNS, read_header, read_row, r, e);
    for (int i = 0; i < COLUMNS; i++) report_passed(r, &r->column[i]);
    wl_arena_free(a);
    return rc;
}

static bool recognise(const struct wl_import_head *h, struct wl_arena *a)
{
    const char *line = wl_import_head_line(h, a);
    return line && (wl_str_starts(line, long_head) || wl_str_starts(line, wide_head));
}

const struct wl_import_format wl_import_samples = {
    .name = "wattlaw-samples",
    .title = "wattlaw's export of samples",
    .looks_for = "the header of wattlaw export samples",
    .kind = WL_IMPORT_SERIES,
    .recognise = recognise,
    .read = read_file,
};
