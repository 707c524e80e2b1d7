/* The files of NVIDIA DCGM (exchange/dcgm): the text of dcgm-exporter, dcgmi dmon, and Prometheus' query_range. */
#include "exchange/dcgm/dcgm.h"

#include "exchange/import/formats.h"
#include "exchange/import/reader.h"

#include <math.h>
#include <string.h>

/* im->in as a stream. */
static ssize_t read_some(void *in, char *to, size_t n)
{
    struct wl_slice part;
    if (wl_lines_peek(in, 1, &part, NULL) < 0) return -1;
    struct wl_lines *r = in;
    size_t have = r->to - r->from;
    if (n > have) n = have;
    memcpy(to, r->buf + r->from, n);
    r->from += n;
    return (ssize_t)n;
}

static int add_series(struct wl_import *im, const struct wl_dcgm *d, const struct wl_dcgm_series *s, struct wl_err *e)
{
    const struct wl_dcgm_device *x = &d->devices[s->device];
    const struct wl_import_device device = { x->uuid, x->host, x->number, x->model, x->driver, x->split };
    const struct wl_import_quantity q = { s->quantity, s->unit, "gpu", s->variant, .counter = s->counter };
    int channel = wl_series_channel(im, wl_series_device(im, &device), &q), rc = 0;
    for (size_t i = 0; i < s->n && rc == 0; i++) {
        const struct wl_dcgm_reading *v = &s->v[i];
        rc = isnan(v->value) ? wl_series_missing(im, channel, v->t_ns, NULL, e)
                             : wl_series_add(im, channel, v->t_ns, v->value, e);
    }
    return rc;
}

/* Its lines and notes are counted by its own reader. */
static void take_notes(struct wl_import *im, const struct wl_dcgm *d)
{
    for (size_t i = 0; i < d->notes.n; i++) wl_import_note(im, "%s", d->notes.v[i]);
    for (size_t i = 0; i < d->malformed.n && im->report.rejected.n < WL_IMPORT_MESSAGES; i++)
        wl_strs_add(im->a, &im->report.rejected, wl_strdup(im->a, d->malformed.v[i]));
    im->report.n_rejected += d->n_malformed;
    im->report.duplicates += d->duplicates;
    if (d->ignored) wl_import_pass_over(im, "readings of other metrics, instances and GPUs", d->ignored);
    if (im->opts->start_ns != WL_NO_NS)
        wl_import_note(im, "times are from --start and --period, not from the readings");
}

static int read_file(struct wl_import *im, struct wl_err *e)
{
    struct wl_arena *a = wl_arena_new(im->a);
    const struct wl_import_opts *o = im->opts;
    const struct wl_dcgm_opts opts = { o->gpus, o->uuids, o->from_ns, o->to_ns, o->start_ns, o->period_ns };
    struct wl_dcgm d = { 0 };
    FILE *f = fopencookie(im->in, "r", (cookie_io_functions_t) { .read = read_some });
    int rc = f ? wl_dcgm_read(f, im->in->path, &opts, &d, a, e) : wl_fail_errno(e, "%s: cannot read", im->in->path);
    if (f) fclose(f);
    if (rc == 0) rc = wl_dcgm_finish(&d, &opts, a, e);
    for (size_t i = 0; i < d.n_series && rc == 0; i++) rc = add_series(im, &d, &d.series[i], e);
    if (rc == 0) take_notes(im, &d);
    wl_arena_free(a);
    return rc;
}

static bool recognise(const struct wl_import_head *h, struct wl_arena *a)
{
    (void)a;
    return wl_import_head_has(h, "DCGM_FI_") || (wl_import_head_has(h, "#Entity") || wl_import_head_has(h, "# Entity"));
}

const struct wl_import_format wl_import_dcgm = {
    .name = "dcgm",
    .title = "NVIDIA DCGM",
    .looks_for = "DCGM_FI_..., or '#Entity'",
    .kind = WL_IMPORT_SERIES,
    .recognise = recognise,
    .read = read_file,
};
