/* WattAMeter's logs: "# timestamp reading-time[ns] gpu-0[mW] gpu-0[C]" and rows of these. Source: the logs of
 * github.com/NREL/WattAMeter. */
#include "exchange/import/formats.h"
#include "exchange/import/reader.h"

#include <math.h>
#include <string.h>

enum { COLUMNS = 512 };

struct reader {
    struct wl_import *im;
    struct wl_zone zone;
    int channel[COLUMNS]; /* of a column; PASSED: not imported */
    double scale[COLUMNS];
    size_t passed_over[COLUMNS];
    const char *name[COLUMNS];
    int n_columns;
    struct wl_arena *a; /* of the latest header */
};
enum { PASSED = -2 };

/* ---- the header ---- */

/* What "gpu-0[mW]" is: the device and quantity of unit `unit`; false: not imported. */
static bool find_quantity(struct wl_slice device, struct wl_slice unit, struct wl_import_quantity *q, const char **uuid,
                          struct wl_arena *a)
{
    static const struct wl_import_quantity of_gpu[] = { { "power_w", "W", "gpu", "driver" },
                                                        { "temperature_c", "°C", "gpu", "" },
                                                        { "sm_util_pct", "%", "gpu", "" },
                                                        { "mem_used_bytes", "B", "gpu", "" } };
    static const struct wl_import_quantity of_cpu[] = {
        { "power_w", "W", "package", "mean" }, { "energy_j", "J", "package", "", .counter = true, .wraps = true }
    };
    bool gpu = wl_slice_starts(device, "gpu-");
    struct wl_slice number = { device.s + 4, device.n < 4 ? 0 : device.n - 4 };
    bool dram = number.n > 5 && memcmp(number.s + number.n - 5, "-dram", 5) == 0;
    uint64_t ignored;
    if (!gpu && !wl_slice_starts(device, "cpu-")) return false;
    if (dram) number.n -= 5;
    if (!wl_slice_uint(number, &ignored)) return false; /* "cpu-0-core" is a part of cpu-0 */
    *uuid = wl_strf(a, gpu ? "gpu%.*s" : dram ? "dram-%.*s" : "package-%.*s", (int)number.n, number.s);
    const struct wl_import_quantity *v = gpu ? of_gpu : of_cpu;
    for (size_t i = 0; i < (gpu ? WL_COUNT(of_gpu) : WL_COUNT(of_cpu)); i++) {
        if (isnan(wl_import_unit(unit, v[i].unit))) continue;
        *q = v[i];
        if (dram) q->scope = "dram";
        return true;
    }
    return false;
}

static void read_column(struct reader *r, int i, struct wl_slice text)
{
    const char *open = memchr(text.s, '[', text.n), *uuid;
    struct wl_slice name = { text.s, open ? (size_t)(open - text.s) : text.n };
    struct wl_slice unit = { open ? open + 1 : "", open ? text.n - name.n - 2 : 0 };
    struct wl_import_quantity q;
    r->channel[i] = PASSED;
    r->name[i] = wl_slice_text(text, r->a);
    if (!open || text.s[text.n - 1] != ']' || text.n < name.n + 2) return;
    if (!find_quantity(name, unit, &q, &uuid, r->a)) return;
    const struct wl_import_device d = { .uuid = uuid, .number = uuid + strcspn(uuid, "0123456789") };
    r->scale[i] = wl_import_unit(unit, q.unit);
    r->channel[i] = wl_series_channel(r->im, wl_series_device(r->im, &d), &q);
}

static void report_columns(struct reader *r)
{
    for (int i = 1; i < r->n_columns; i++)
        if (r->passed_over[i]) wl_import_pass_over(r->im, wl_strf(r->a, "column %s", r->name[i]), r->passed_over[i]);
    memset(r->passed_over, 0, sizeof r->passed_over);
}

static void read_header(struct reader *r, const struct wl_slice *v, int n)
{
    report_columns(r);
    wl_arena_free(r->a);
    r->a = wl_arena_new(r->im->a);
    r->n_columns = n < COLUMNS ? n : COLUMNS;
    for (int i = 0; i < r->n_columns; i++) read_column(r, i, v[i]);
}

/* ---- rows ---- */

static int read_row(struct reader *r, const struct wl_slice *v, int n, struct wl_err *e)
{
    int64_t t_ns;
    double value;
    int rc = 0;
    if (n != r->n_columns) {
        wl_import_reject(r->im, "%d values under %d columns", n, r->n_columns);
        return 0;
    }
    if (!wl_import_time(r->im, &r->zone, v[0], WL_DATE_YMD, &t_ns)) return 0;
    for (int i = 1; i < n && rc == 0; i++) {
        const char *why = wl_import_no_value(v[i]);
        if (r->channel[i] == PASSED)
            r->passed_over[i]++;
        else if (why)
            rc = wl_series_missing(r->im, r->channel[i], t_ns, why, e);
        else if (wl_slice_real(v[i], &value))
            rc = wl_series_add(r->im, r->channel[i], t_ns, value * r->scale[i], e);
        else
            wl_import_reject(r->im, "%s: \"%.*s\" is not a number", r->name[i], WL_QUOTE(v[i]));
    }
    return rc;
}

static int read_lines(struct reader *r, struct wl_err *e)
{
    struct wl_slice line, v[COLUMNS];
    int rc;
    while ((rc = wl_import_line(r->im, &line, e)) > 0) {
        bool comment = line.s[0] == '#';
        if (comment) line.s++, line.n--;
        int n = wl_slice_words(line, v, COLUMNS);
        rc = 0;
        if (comment && n > 1 && n <= COLUMNS && wl_slice_eq(v[0], "timestamp"))
            read_header(r, v, n);
        else if (!comment && n <= COLUMNS)
            rc = read_row(r, v, n, e);
        if (rc < 0) return rc;
    }
    return rc;
}

static int read_file(struct wl_import *im, struct wl_err *e)
{
    struct wl_arena *a = wl_arena_new(im->a);
    struct reader *r = wl_new(a, struct reader);
    r->im = im;
    r->a = wl_arena_new(im->a);
    int rc = wl_zone_open(&r->zone, im->opts->timezone, a, e);
    if (rc == 0) rc = read_lines(r, e);
    report_columns(r);
    wl_arena_free(r->a);
    wl_arena_free(a);
    return rc;
}

static bool recognise(const struct wl_import_head *h, struct wl_arena *a)
{
    (void)a;
    return h->text[0] == '#' && wl_import_head_has(h, "# timestamp ") && wl_import_head_has(h, "reading-time[");
}

const struct wl_import_format wl_import_wattameter = {
    .name = "wattameter",
    .title = "WattAMeter",
    .looks_for = "a line '# timestamp reading-time[ns]'",
    .kind = WL_IMPORT_SERIES,
    .recognise = recognise,
    .read = read_file,
};
