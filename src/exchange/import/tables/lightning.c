/* metrics.csv of PyTorch Lightning's CSVLogger: a row per step or epoch, with empty fields where a metric was not
 * logged. Epochs count from 0; without times. Source: github.com/Lightning-AI/pytorch-lightning, loggers/csv_logs.py.
 */
#include "exchange/import/formats.h"
#include "exchange/import/tables/csv.h"
#include "exchange/import/training.h"

#include <math.h>

enum { MOST_VALUES = 1 << 22 };

struct reader {
    struct wl_table_csv *t;
    struct wl_arena *a;
    struct wl_training_value *v;
    size_t n, cap;
};

static int read_row(struct reader *r, struct wl_err *e)
{
    double epoch, value;
    if (!wl_table_csv_real(r->t, "epoch", &epoch)) return 0;
    if (!isnan(epoch) && !(epoch >= 0 && epoch < 1e6 && epoch == floor(epoch))) {
        wl_import_reject(r->t->im, "epoch: %g is not a whole number from 0", epoch);
        return 0;
    }
    for (int i = 0; i < r->t->n; i++) {
        const char *name = r->t->column[i];
        if (!*name || wl_str_eq(name, "epoch") || wl_str_eq(name, "step")) continue;
        if (!wl_table_csv_real(r->t, name, &value)) return 0;
        if (isnan(value)) continue;
        if (r->n == MOST_VALUES)
            return wl_fail(e, WL_EINVAL, "%s: more than %d values", r->t->im->in->path, MOST_VALUES);
        WL_GROW(r->a, r->v, r->n, r->cap);
        r->v[r->n++] = (struct wl_training_value) { name, isnan(epoch) ? 0 : (int64_t)epoch + 1, WL_NO_NS, value };
    }
    return 0;
}

static int read_file(struct wl_import *im, struct wl_err *e)
{
    struct wl_arena *a = wl_arena_new(im->a);
    struct reader r = { .t = wl_new(a, struct wl_table_csv), .a = a };
    int rc = wl_table_csv_open(r.t, im, ',', "step", a, e);
    if (rc == 0)
        while ((rc = wl_table_csv_next(r.t, e)) > 0)
            if ((rc = read_row(&r, e)) < 0) break;
    if (rc == 0) rc = wl_training_add(im, &(struct wl_training_log) { r.v, r.n }, e);
    wl_arena_free(a);
    return rc;
}

static const char *const columns[] = { "epoch", "step", NULL };

static bool recognise(const struct wl_import_head *h, struct wl_arena *a)
{
    return wl_table_csv_recognise(h, ',', columns, a);
}

const struct wl_import_format wl_import_lightning = {
    .name = "lightning",
    .title = "PyTorch Lightning's metrics.csv",
    .looks_for = "a header with epoch and step",
    .kind = WL_IMPORT_LOG,
    .columns = columns,
    .recognise = recognise,
    .read = read_file,
};
