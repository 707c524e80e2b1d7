/* jpwr's power.*.csv: ",timestamps,pynvml:0,pynvml:1", in W at s since 1970. Source: github.com/FZJ-JSC/jpwr. Methods
 * are read one after the other, so that rows come in pairs a fraction of a millisecond apart. */
#include "exchange/import/formats.h"
#include "exchange/import/hdf5.h"
#include "exchange/import/reader.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

enum { COLUMNS = 256 };

struct reader {
    struct wl_import *im;
    const char *name[COLUMNS];
    int channel[COLUMNS];
    struct wl_arena *a;
};

/* "pynvml:0" and "rocm:1" are GPUs; "gh:Module Power Socket 0" is a module with the GPU that pynvml reads as well. */
static void set_column(struct reader *r, int i, struct wl_slice text)
{
    char *name = wl_slice_text(text, r->a), *of = strchr(name, ':');
    struct wl_import_quantity q = { "power_w", "W", "gpu", "driver" };
    struct wl_import_device d = { .uuid = name };
    int64_t number;
    r->name[i] = name;
    of = of ? of + 1 : name;
    if (wl_str_to_int(of, &number) == 0) {
        d.number = of;
        d.uuid = wl_strf(r->a, "gpu%s", of);
    } else {
        q.variant = "average";
        q.scope = strstr(of, "Module") ? "module" : strstr(of, "CPU") || strstr(of, "Grace") ? "package" : "node";
    }
    if (wl_str_eq(q.scope, "node"))
        wl_import_note(r->im, "%s: column %s: of what it is the power is not known: imported as that of a node",
                       r->im->in->path, name);
    r->channel[i] = wl_series_channel(r->im, wl_series_device(r->im, &d), &q);
}

static int read_header(void *reader, const struct wl_slice *v, int n, struct wl_err *e)
{
    struct reader *r = reader;
    if (n < 3 || v[0].n != 0 || !wl_slice_eq(v[1], "timestamps"))
        return wl_fail(e, WL_EINVAL, "%s:%lld: expected a header ',timestamps,METHOD:NUMBER,...'", r->im->in->path,
                       (long long)r->im->in->line);
    for (int i = 2; i < n; i++) set_column(r, i, v[i]);
    return 0;
}

static int read_row(void *reader, const struct wl_slice *v, int n, struct wl_err *e)
{
    struct reader *r = reader;
    double t_s, watts;
    int rc = 0;
    if (!wl_slice_real(v[1], &t_s) || !(t_s > 0 && t_s < 9e9)) {
        wl_import_reject(r->im, "\"%.*s\" is not a time in s since 1970", WL_QUOTE(v[1]));
        return 0;
    }
    const int64_t t_ns = llround(t_s * 1e6) * 1000; /* a double has no more than that today */
    for (int i = 2; i < n && rc == 0; i++) {
        const char *why = wl_import_no_value(v[i]);
        if (why)
            rc = wl_series_missing(r->im, r->channel[i], t_ns, why, e);
        else if (wl_slice_real(v[i], &watts))
            rc = wl_series_add(r->im, r->channel[i], t_ns, watts, e);
        else
            wl_import_reject(r->im, "%s: \"%.*s\" is not a number", r->name[i], WL_QUOTE(v[i]));
    }
    return rc;
}

static int read_csv(struct wl_import *im, struct wl_err *e)
{
    struct wl_arena *a = wl_arena_new(im->a);
    struct reader *r = wl_new(a, struct reader);
    r->im = im;
    r->a = a;
    int rc = wl_import_rows(im, ',', COLUMNS, read_header, read_row, r, e);
    wl_arena_free(a);
    return rc;
}

static int read_file(struct wl_import *im, struct wl_err *e) { return wl_import_csv_or_hdf5(im, "jpwr", read_csv, e); }

static bool recognise(const struct wl_import_head *h, struct wl_arena *a)
{
    if (wl_import_is_hdf5(h)) return wl_import_head_has(h, "jpwr") && wl_import_head_has(h, "pandas_type");
    const char *line = wl_import_head_line(h, a);
    return line && wl_str_starts(line, ",timestamps,");
}

const struct wl_import_format wl_import_jpwr = {
    .name = "jpwr",
    .title = "jpwr",
    .looks_for = "a header ',timestamps,', or HDF5 with a table \"jpwr\"",
    .kind = WL_IMPORT_SERIES,
    .recognise = recognise,
    .read = read_file,
};
