/* Learning by global batch: which runs, which metrics, and the means over runs. */
#include "report/large_batch.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int by_metric_order(const void *a, const void *b)
{
    return wl_metric_info_order(&((const struct wl_large_batch_metric *)a)->info,
                                &((const struct wl_large_batch_metric *)b)->info);
}

/* ---- runs -------------------------------------------------------------------------------------------------------- */

/* A usable run and its metrics. */
struct run_metrics {
    const struct wl_run_row *run;
    struct wl_metric_rows metrics;
};

struct run_list {
    struct run_metrics *v;
    size_t n, cap;
};

static const char *workload_of(const struct wl_run_row *run) { return run->set.workload ? run->set.workload : ""; }

static int read_runs(const struct wl_report_data *g, struct run_list *out, struct wl_err *e)
{
    for (size_t i = 0; g->store && i < g->runs.n; i++) {
        const struct wl_run_row *run = &g->runs.v[i];
        if (run->status != WL_RUN_DONE || run->flag || !(run->set.global_batch > 0)) continue;
        WL_GROW(g->arena, out->v, out->n, out->cap);
        struct run_metrics *l = &out->v[out->n++];
        l->run = run;
        int rc = wl_report_data_metrics(g, run->id, &l->metrics, e);
        if (rc) return rc;
    }
    return 0;
}

/* final: of the last epoch, or of the run as a whole; best: over all epochs. NAN where not recorded or not a number. */
static void final_and_best(const struct run_metrics *l, const char *name, enum wl_metric_direction direction,
                           double *final, double *best)
{
    double last = -INFINITY;
    *final = *best = NAN;
    for (size_t i = 0; i < l->metrics.n; i++) {
        const struct wl_metric_row *m = &l->metrics.v[i];
        if (!wl_str_eq(m->name, name)) continue;
        double epoch = isnan(m->epoch) ? 0 : m->epoch;
        if (epoch >= last) {
            last = epoch;
            *final = m->value;
        }
        if (direction == WL_DIRECTION_MAXIMISE) *best = fmax(*best, m->value);
        if (direction == WL_DIRECTION_MINIMISE) *best = fmin(*best, m->value);
    }
}

/* ---- lines ------------------------------------------------------------------------------------------------------- */

static bool same_number(double a, double b) { return a == b || (isnan(a) && isnan(b)); }

/* Do the runs have the same settings that affect learning, apart from the batch? */
static bool same_line(const struct wl_run_row *a, const struct wl_run_row *b)
{
    return same_number(a->set.workers, b->set.workers) && same_number(a->set.epochs, b->set.epochs) &&
           wl_str_eq(a->set.extra, b->set.extra);
}

/* {"lr":"0.1"} as "lr 0.1" */
static char *plain(const char *json, struct wl_arena *a)
{
    struct wl_text t = WL_TEXT(a);
    for (const char *p = json; *p; p++)
        if (!strchr("{}\"", *p)) wl_text_addf(&t, "%s", *p == ':' ? " " : *p == ',' ? ", " : (char[2]) { *p, 0 });
    return t.s;
}

static char *label_of(const struct run_list *of, const struct wl_run_row *run, struct wl_arena *a)
{
    struct wl_text t = WL_TEXT(a);
    bool epochs = false, extra = false;
    for (size_t i = 0; i < of->n; i++) {
        epochs = epochs || !same_number(of->v[i].run->set.epochs, run->set.epochs);
        extra = extra || !wl_str_eq(of->v[i].run->set.extra, run->set.extra);
    }
    if (isnan(run->set.workers))
        wl_text_add(&t, "unknown worker count");
    else
        wl_text_addf(&t, "%.15g worker%s", run->set.workers, run->set.workers == 1 ? "" : "s");
    if (epochs && !isnan(run->set.epochs)) wl_text_addf(&t, ", %.15g epochs", run->set.epochs);
    if (extra && run->set.extra) wl_text_addf(&t, ", %s", plain(run->set.extra, a));
    return t.s;
}

static int by_number(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Sorts v and keeps the distinct numbers; returns how many. */
static size_t distinct(double *v, size_t n)
{
    size_t kept = 0;
    qsort(v, n, sizeof *v, by_number);
    for (size_t i = 0; i < n; i++)
        if (kept == 0 || v[i] != v[kept - 1]) v[kept++] = v[i];
    return kept;
}

static void add_points(struct wl_large_batch_line *line, struct wl_arena *a)
{
    double *batches = wl_new_array(a, double, line->n_runs), *final = wl_new_array(a, double, line->n_runs),
           *best = wl_new_array(a, double, line->n_runs);
    for (size_t i = 0; i < line->n_runs; i++) batches[i] = line->batch[i];
    line->n_points = distinct(batches, line->n_runs);
    line->points = wl_new_array(a, struct wl_large_batch_point, line->n_points);
    for (size_t k = 0; k < line->n_points; k++) {
        size_t n = 0;
        for (size_t i = 0; i < line->n_runs; i++) {
            if (line->batch[i] != batches[k]) continue;
            final[n] = line->final[i];
            best[n++] = line->best[i];
        }
        line->points[k] = (struct wl_large_batch_point) { .batch = batches[k],
                                                          .runs = n,
                                                          .final = wl_mean_interval(final, n, WL_LAW_CONFIDENCE),
                                                          .best = wl_mean_interval(best, n, WL_LAW_CONFIDENCE) };
    }
}

/* The line of run `first` and of all later runs that belong to it; runs without the metric are listed in m->missing. */
static struct wl_large_batch_line make_line(const struct run_list *of, size_t first, struct wl_large_batch_metric *m,
                                            struct wl_arena *a)
{
    const struct wl_run_row *run = of->v[first].run;
    struct wl_large_batch_line line = { .label = label_of(of, run, a),
                                        .workload = workload_of(run),
                                        .workers = run->set.workers,
                                        .notes = wl_new_array(a, const char *, of->n),
                                        .batch = wl_new_array(a, double, of->n),
                                        .final = wl_new_array(a, double, of->n),
                                        .best = wl_new_array(a, double, of->n) };
    for (size_t i = first; i < of->n; i++) {
        const struct run_metrics *l = &of->v[i];
        size_t n = line.n_runs;
        if (!same_line(run, l->run)) continue;
        char *name = wl_strf(a, "run %lld", (long long)l->run->id);
        final_and_best(l, m->info.name, m->info.direction, &line.final[n], &line.best[n]);
        if (!isfinite(line.final[n])) {
            wl_strs_add(a, &m->missing, name);
            continue;
        }
        line.notes[n] = name;
        line.batch[n] = l->run->set.global_batch;
        line.n_runs++;
    }
    add_points(&line, a);
    return line;
}

static bool starts_line(const struct run_list *of, size_t i)
{
    for (size_t k = 0; k < i; k++)
        if (same_line(of->v[k].run, of->v[i].run)) return false;
    return true;
}

static void add_lines(const struct run_list *of, struct wl_large_batch_metric *m, struct wl_arena *a)
{
    m->lines = wl_new_array(a, struct wl_large_batch_line, of->n);
    for (size_t i = 0; i < of->n; i++) {
        if (!starts_line(of, i)) continue;
        m->lines[m->n_lines] = make_line(of, i, m, a);
        m->n_lines += m->lines[m->n_lines].n_runs > 0;
    }
}

/* ---- workloads --------------------------------------------------------------------------------------------------- */

static bool has(const struct wl_large_batch_set *s, const char *name)
{
    for (size_t i = 0; i < s->n_metrics; i++)
        if (wl_str_eq(s->metrics[i].info.name, name)) return true;
    return false;
}

static void add_metrics(struct wl_large_batch_set *s, const struct run_list *of, const struct wl_metric_def_rows *defs,
                        struct wl_arena *a)
{
    enum { MAX_METRICS = 8 }; /* a workload with more defines the important ones first */
    size_t cap = 0;
    for (size_t i = 0; i < of->n; i++)
        for (size_t k = 0; k < of->v[i].metrics.n; k++) {
            const char *name = of->v[i].metrics.v[k].name;
            if (!wl_metric_info_is_quality(name) || has(s, name)) continue;
            const struct wl_metric_info info = wl_metric_info_of(defs, s->workload, name);
            if (info.baseline_of) continue; /* a baseline does not learn */
            WL_GROW(a, s->metrics, s->n_metrics, cap);
            s->metrics[s->n_metrics++] = (struct wl_large_batch_metric) { .info = info };
        }
    if (s->n_metrics) qsort(s->metrics, s->n_metrics, sizeof *s->metrics, by_metric_order);
    s->n_omitted = s->n_metrics > MAX_METRICS ? s->n_metrics - MAX_METRICS : 0;
    s->n_metrics -= s->n_omitted;
    for (size_t i = 0; i < s->n_metrics; i++) add_lines(of, &s->metrics[i], a);
}

/* The runs of one workload; no metrics where they have one batch. */
static struct wl_large_batch_set make_set(const struct run_list *all, const char *workload,
                                          const struct wl_metric_def_rows *defs, struct wl_arena *a)
{
    struct wl_large_batch_set s = { .workload = workload };
    struct run_list of = { .v = wl_new_array(a, struct run_metrics, all->n) };
    double *batches = wl_new_array(a, double, all->n);
    for (size_t i = 0; i < all->n; i++) {
        if (!wl_str_eq(workload_of(all->v[i].run), workload)) continue;
        s.simulated = s.simulated || all->v[i].run->simulated;
        batches[of.n] = all->v[i].run->set.global_batch;
        of.v[of.n++] = all->v[i];
    }
    s.n_runs = of.n;
    s.n_batches = distinct(batches, of.n);
    if (s.n_batches > 1) add_metrics(&s, &of, defs, a);
    return s;
}

int wl_large_batch_sets(const struct wl_report_data *g, struct wl_large_batch_sets *out, struct wl_err *e)
{
    struct run_list all = { 0 };
    *out = (struct wl_large_batch_sets) { 0 };
    int rc = read_runs(g, &all, e);
    if (rc) return rc;
    for (size_t i = 0; i < all.n; i++) {
        bool seen = false;
        for (size_t k = 0; k < i && !seen; k++) seen = wl_str_eq(workload_of(all.v[k].run), workload_of(all.v[i].run));
        if (seen) continue;
        struct wl_large_batch_set s = make_set(&all, workload_of(all.v[i].run), &g->metric_defs, g->arena);
        if (s.n_batches < 2) continue;
        WL_GROW(g->arena, out->v, out->n, out->cap);
        out->v[out->n++] = s;
    }
    return 0;
}
