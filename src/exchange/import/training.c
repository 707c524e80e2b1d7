#include "exchange/import/training.h"

#include "exchange/import/import.h"
#include "run/run.h"

#include <math.h>
#include <string.h>

/* ---- what counts ---- */

struct kept {
    struct wl_training_value *v; /* one for each metric and epoch */
    size_t n;
    int64_t *end_ns; /* [epochs + 1]: time of the last value of an epoch, WL_NO_NS: not known */
    int64_t epochs;
};

/* A name as marks take it, which have blanks between fields. */
static const char *mark_name(const char *name, struct wl_arena *a)
{
    char *text = wl_strdup(a, name);
    for (char *p = text; *p; p++)
        if ((unsigned char)*p <= ' ' || *p == '=' || *p == 0x7f) *p = '_';
    return text;
}

static struct kept keep(const struct wl_training_log *log, struct wl_arena *a)
{
    struct kept k = { .v = wl_new_array(a, struct wl_training_value, log->n) };
    struct wl_numbering known = wl_numbering_new(log->n, a);
    for (size_t i = 0; i < log->n; i++)
        if (log->values[i].epoch > k.epochs) k.epochs = log->values[i].epoch;
    k.end_ns = wl_new_array(a, int64_t, (size_t)k.epochs + 1);
    for (int64_t i = 0; i <= k.epochs; i++) k.end_ns[i] = WL_NO_NS;
    for (size_t i = 0; i < log->n; i++) {
        struct wl_training_value v = log->values[i];
        if (v.epoch && v.t_ns > k.end_ns[v.epoch]) k.end_ns[v.epoch] = v.t_ns;
        v.name = mark_name(v.name, a);
        if (isfinite(v.value)) k.v[wl_numbering_of(&known, wl_strf(a, "%lld %s", (long long)v.epoch, v.name))] = v;
    }
    k.n = known.n;
    return k;
}

/* ---- the run ---- */

static int find_run(struct wl_import *im, struct wl_run_row *out, struct wl_err *e)
{
    struct wl_run_filter filter = { .run = im->opts->run };
    struct wl_run_rows runs;
    if (!filter.run)
        return wl_fail(e, WL_EUSAGE, "%s: %s is a log of a training: give --run N, the run of the store that it is of",
                       im->in->path, im->format->name);
    int rc = wl_store_runs(im->store, &filter, &runs, im->a, e);
    if (rc < 0) return rc;
    if (runs.n == 0) return wl_fail(e, WL_ENOENT, "%s: no run %lld", wl_store_path(im->store), (long long)filter.run);
    *out = runs.v[0];
    if (wl_run_can_be_derived(out)) return 0;
    return wl_fail(e, WL_EINVAL,
                   "%s: run %lld has not ended or has no readings, so that no epochs and metrics can be added to it",
                   wl_store_path(im->store), (long long)filter.run);
}

/* The run's notes say which logs it has. 1: this one. */
static int has_log(struct wl_import *im, const char *note, struct wl_err *e)
{
    struct wl_log_rows rows;
    int rc = wl_store_read_log(im->store, im->opts->run, &rows, im->a, e);
    for (size_t i = 0; i < rows.n && rc == 0; i++) rc = wl_str_eq(rows.v[i].message, note);
    return rc;
}

static int has_epochs(struct wl_import *im, bool *found, struct wl_err *e)
{
    struct wl_mark_rows marks;
    *found = false;
    int rc = wl_store_read_marks(im->store, im->opts->run, &marks, im->a, e);
    for (size_t i = 0; i < marks.n && rc == 0; i++) *found = *found || wl_str_eq(marks.v[i].word, "epoch-end");
    return rc;
}

/* A log of another day is not of the run. */
static int check_times(struct wl_import *im, const struct kept *k, const struct wl_run_row *run, struct wl_err *e)
{
    const int64_t MARGIN_NS = 60 * WL_NS_PER_S; /* of a log that is written after the command's end */
    if (run->start.wall_ns == WL_NO_NS || run->stop.wall_ns == WL_NO_NS) return 0;
    for (size_t i = 0; i < k->n; i++) {
        const int64_t t = k->v[i].t_ns;
        if (t == WL_NO_NS || (t >= run->start.wall_ns - MARGIN_NS && t <= run->stop.wall_ns + MARGIN_NS)) continue;
        return wl_fail(e, WL_EINVAL, "%s: %s was logged at %s, and run %lld was from %s to %s: not its log",
                       im->in->path, k->v[i].name, wl_clock_iso(im->a, t), (long long)run->id,
                       wl_clock_iso(im->a, run->start.wall_ns), wl_clock_iso(im->a, run->stop.wall_ns));
    }
    return 0;
}

/* ---- marks ---- */

static int64_t on_run_clock(const struct wl_run_row *run, int64_t t_ns)
{
    if (t_ns == WL_NO_NS || run->start.wall_ns == WL_NO_NS) return run->stop.mono_ns;
    const int64_t t = run->start.mono_ns + (t_ns - run->start.wall_ns);
    return t < run->start.mono_ns ? run->start.mono_ns : t > run->stop.mono_ns ? run->stop.mono_ns : t;
}

static int add_epochs(struct wl_import *im, const struct kept *k, const struct wl_run_row *run, size_t *added,
                      struct wl_err *e)
{
    struct wl_mark_row *marks = wl_new_array(im->a, struct wl_mark_row, 2 * (size_t)k->epochs);
    size_t n = 0;
    bool has;
    *added = 0;
    int rc = has_epochs(im, &has, e);
    if (rc < 0 || has || run->start.wall_ns == WL_NO_NS) return rc;
    for (int64_t i = 2; i <= k->epochs; i++) {
        if (k->end_ns[i] == WL_NO_NS || k->end_ns[i - 1] == WL_NO_NS || k->end_ns[i] <= k->end_ns[i - 1]) continue;
        const char *fields = wl_strf(im->a, "epoch=%lld", (long long)i);
        marks[n++] = (struct wl_mark_row) { on_run_clock(run, k->end_ns[i - 1]), 0, "epoch-begin", fields };
        marks[n++] = (struct wl_mark_row) { on_run_clock(run, k->end_ns[i]), 0, "epoch-end", fields };
    }
    *added = n / 2;
    if (n)
        wl_import_note(im, "epochs last from the last value of the epoch before to their own last value in the log, "
                           "with what is between: evaluation, "
                           "checkpoints; when the first one began is not in the log");
    return wl_store_add_marks(im->store, run->id, marks, n, e);
}

static int add_metrics(struct wl_import *im, const struct kept *k, const struct wl_run_row *run, struct wl_err *e)
{
    struct wl_mark_row *marks = wl_new_array(im->a, struct wl_mark_row, k->n);
    for (size_t i = 0; i < k->n; i++) {
        const struct wl_training_value *v = &k->v[i];
        const char *epoch = v->epoch ? wl_strf(im->a, " epoch=%lld", (long long)v->epoch) : "";
        marks[i] = (struct wl_mark_row) { on_run_clock(run, v->t_ns), 0, "metric",
                                          wl_strf(im->a, "name=%s value=%.17g%s", v->name, v->value, epoch) };
    }
    return wl_store_add_marks(im->store, run->id, marks, k->n, e);
}

static int store_log(struct wl_import *im, const struct kept *k, struct wl_import_run *out, const char *note,
                     struct wl_err *e)
{
    struct wl_run_row run;
    size_t epochs = 0;
    int rc = find_run(im, &run, e);
    if (rc < 0) return rc;
    rc = has_log(im, note, e);
    if (rc == 1) {
        im->known_run = run.id;
        im->n_known_rows++;
        return 1;
    }
    if (rc == 0) rc = check_times(im, k, &run, e);
    if (rc == 0) rc = add_epochs(im, k, &run, &epochs, e);
    if (rc == 0) rc = add_metrics(im, k, &run, e);
    if (rc == 0) rc = wl_store_add_log(im->store, run.id, "info", "import", note, e);
    if (rc == 0) rc = wl_run_rebuild(im->store, &run, im->a, e);
    out->run = run.id;
    out->from_ns = run.start.wall_ns == WL_NO_NS ? 0 : run.start.wall_ns;
    out->to_ns = out->from_ns + (run.stop.mono_ns - run.start.mono_ns);
    out->devices = epochs;
    return rc;
}

/* The content of the log, so that it is added once. */
static uint32_t crc_of(const struct kept *k, struct wl_arena *a)
{
    uint32_t crc = 0;
    for (size_t i = 0; i < k->n; i++) {
        const char *text = wl_strf(a, "%s %lld %lld %.17g;", k->v[i].name, (long long)k->v[i].epoch,
                                   (long long)k->v[i].t_ns, k->v[i].value);
        crc = wl_crc32c(crc, text, strlen(text));
    }
    return crc;
}

int wl_training_add(struct wl_import *im, const struct wl_training_log *log, struct wl_err *e)
{
    const struct kept k = keep(log, im->a);
    struct wl_import_run run = {
        .format = im->format, .is_log = true, .hosts = "unknown", .period_s = NAN, .energy_j = NAN, .readings = k.n
    };
    if (k.n == 0) return 0;
    run.label = wl_strf(im->a, "%s, %lld epochs", wl_path_base(im->in->path), (long long)k.epochs);
    const char *note = wl_strf(im->a, "epochs and metrics of %s, %s, CRC-32C %08x", wl_path_base(im->in->path),
                               im->format->title, crc_of(&k, im->a));
    int rc = wl_import_open_store(im, e);
    if (rc == 0 && im->store) rc = store_log(im, &k, &run, note, e);
    if (rc != 0) return rc < 0 ? rc : 0;
    im->report.taken += k.n;
    wl_import_add_run(im, &run);
    return 0;
}
