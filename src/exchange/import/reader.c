#include "exchange/import/reader.h"

#include "exchange/import/formats.h"

#include <ctype.h>
#include <math.h>
#include <string.h>
#include <strings.h>

int wl_import_line(struct wl_import *im, struct wl_slice *line, struct wl_err *e)
{
    int rc;
    while ((rc = wl_lines_next(im->in, line, e)) > 0) {
        if (im->in->nul)
            wl_import_reject(im, "a NUL byte: not text");
        else if (wl_slice_trim(*line).n == 0)
            continue;
        else if (!im->in->whole)
            wl_import_reject(im, "last line without newline: may be truncated");
        else
            return 1;
    }
    return rc;
}

int wl_import_rows(struct wl_import *im, char separator, int most, wl_import_fields *header, wl_import_fields *row,
                   void *reader, struct wl_err *e)
{
    struct wl_arena *a = wl_arena_new(im->a);
    struct wl_slice line, *v = wl_new_array(a, struct wl_slice, (size_t)most);
    int rc, n_columns = 0;
    while ((rc = wl_import_line(im, &line, e)) > 0) {
        const int n = wl_slice_split(line, separator, v, most);
        if (n < 0)
            wl_import_reject(im, "a quote is not closed");
        else if (n > most)
            wl_import_reject(im, "%d values: a table of %s has at most %d", n, im->format->title, most);
        else if (n_columns && n != n_columns)
            wl_import_reject(im, "%d values under %d columns", n, n_columns);
        else if ((rc = (n_columns ? row : header)(reader, v, n, e)) < 0)
            break;
        else
            n_columns = n_columns ? n_columns : n;
    }
    wl_arena_free(a);
    return rc;
}

const char *wl_import_no_value(struct wl_slice text)
{
    static const char *const texts[] = { "N/A",
                                         "[N/A]",
                                         "[Not Supported]",
                                         "[Unknown Error]",
                                         "[GPU requires reset]",
                                         "[GPU is lost]",
                                         "[Insufficient Permissions]",
                                         "[Requested functionality has been deprecated]",
                                         "Not Supported",
                                         "-",
                                         "null",
                                         "None",
                                         "NaN" };
    if (text.n == 0) return "empty";
    if (isdigit((unsigned char)text.s[0])) return NULL;
    for (size_t i = 0; i < WL_COUNT(texts); i++)
        if (text.n == strlen(texts[i]) && strncasecmp(text.s, texts[i], text.n) == 0) return texts[i];
    return text.s[0] == '[' ? "a text in brackets" : NULL;
}

double wl_import_unit(struct wl_slice unit, const char *to)
{
    static const struct {
        const char *unit, *to;
        double scale;
    } units[] = { { "mW", "W", 1e-3 },   { "uW", "W", 1e-6 },    { "µW", "W", 1e-6 },    { "kW", "W", 1e3 },
                  { "mJ", "J", 1e-3 },   { "uJ", "J", 1e-6 },    { "µJ", "J", 1e-6 },    { "kJ", "J", 1e3 },
                  { "Wh", "J", 3600 },   { "kWh", "J", 3.6e6 },  { "mWh", "J", 3.6 },    { "nJ", "J", 1e-9 },
                  { "Hz", "MHz", 1e-6 }, { "kHz", "MHz", 1e-3 }, { "KHz", "MHz", 1e-3 }, { "GHz", "MHz", 1e3 },
                  { "C", "°C", 1 },      { "KiB", "B", 1024 },   { "MiB", "B", 0x1p20 }, { "GiB", "B", 0x1p30 },
                  { "kB", "B", 1e3 },    { "MB", "B", 1e6 },     { "GB", "B", 1e9 },     { "bytes", "B", 1 },
                  { "percent", "%", 1 } };
    if (unit.n == 0 || wl_slice_eq(unit, to)) return 1;
    for (size_t i = 0; i < WL_COUNT(units); i++)
        if (wl_slice_eq(unit, units[i].unit) && wl_str_eq(to, units[i].to)) return units[i].scale;
    return NAN;
}

int wl_import_tick(struct wl_import *im, struct wl_import_ticks *t, bool step, int64_t *t_ns, struct wl_err *e)
{
    const struct wl_import_opts *o = im->opts;
    if (o->start_ns == WL_NO_NS || o->period_ns == WL_NO_NS)
        return wl_fail(e, WL_EINVAL, "%s:%lld: the time of this reading is unknown: give --start and --period",
                       im->in->path, (long long)im->in->line);
    if (t->n == 0) wl_import_note(im, "times are from --start and --period, not from the readings");
    t->n += step || t->n == 0;
    if (t->n > (INT64_MAX - o->start_ns) / o->period_ns)
        return wl_fail(e, WL_EINVAL, "%s:%lld: --start and --period lead past the year %d", im->in->path,
                       (long long)im->in->line, WL_CLOCK_END_YEAR);
    *t_ns = o->start_ns + (t->n - 1) * o->period_ns;
    return 0;
}

const char *wl_import_plain_uuid(const char *uuid)
{
    const char *colon = strchr(uuid, ':');
    for (size_t i = 0; colon && wl_import_formats[i]; i++) {
        const char *name = wl_import_formats[i]->name;
        if (wl_str_starts(uuid, name) && uuid + strlen(name) == colon) return colon + 1;
    }
    return uuid;
}
