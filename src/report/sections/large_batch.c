/* The large-batch effect: metrics against the global batch. */
#include "report/large_batch.h"
#include "report/sections/sections.h"

#include <math.h>

static const struct wl_report_column columns[] = {
    { .id = "workload", .label = "workload", .text = true },
    { .id = "line", .label = "runs of", .text = true },
    { .id = "workers", .label = "workers" },
    { .id = "metric", .label = "metric", .text = true },
    { .id = "unit", .label = "unit", .text = true },
    { .id = "global_batch", .label = "global batch" },
    { .id = "runs", .label = "runs" },
    { .id = "final", .label = "at the end", .metric = "batch-final", .digits = 4 },
    { .id = "final_lo", .label = "from", .metric = "batch-ci95", .digits = 4 },
    { .id = "final_hi", .label = "to", .metric = "batch-ci95", .digits = 4 },
    { .id = "best", .label = "best epoch", .metric = "batch-best", .digits = 4 },
    { .id = "best_lo", .label = "from", .metric = "batch-ci95", .digits = 4 },
    { .id = "best_hi", .label = "to", .metric = "batch-ci95", .digits = 4 },
};

/* ---- the figure of a metric -------------------------------------------------------------------------------------- */

static struct wl_reals batch_ticks(const struct wl_large_batch_metric *m, struct wl_arena *a)
{
    enum { MAX_TICKS = 12 };
    size_t n = 0;
    for (size_t i = 0; i < m->n_lines; i++) n += m->lines[i].n_points;
    double *batches = wl_new_array(a, double, n);
    n = 0;
    for (size_t i = 0; i < m->n_lines; i++)
        for (size_t k = 0; k < m->lines[i].n_points; k++) batches[n++] = m->lines[i].points[k].batch;
    return wl_ticks_counts(batches, n, true, MAX_TICKS, a);
}

/* Runs as points, the means with their intervals on a line, the means of the best epochs on a dashed one. */
static void add_line(struct wl_figure *f, const struct wl_large_batch_line *line, bool with_best, int slot)
{
    size_t n = line->n_points;
    double *x = wl_new_array(f->arena, double, n), *final = wl_new_array(f->arena, double, n),
           *best = wl_new_array(f->arena, double, n), *lo = wl_new_array(f->arena, double, n),
           *hi = wl_new_array(f->arena, double, n);
    const char **notes = wl_new_array(f->arena, const char *, n);
    for (size_t i = 0; i < n; i++) {
        const struct wl_large_batch_point *p = &line->points[i];
        x[i] = p->batch;
        final[i] = p->final.value;
        lo[i] = p->final.lo;
        hi[i] = p->final.hi;
        best[i] = p->best.value;
        notes[i] = wl_strf(f->arena, "mean of %zu run%s", p->runs, p->runs == 1 ? "" : "s");
    }
    wl_figure_add(f, &(struct wl_figure_series) { .label = line->label,
                                                  .style = WL_STYLE_POINTS,
                                                  .n = line->n_runs,
                                                  .x = line->batch,
                                                  .y = line->final,
                                                  .notes = line->notes,
                                                  .colour = slot,
                                                  .marker = slot + slot / WL_COLOURS });
    struct wl_figure_series mean = { .style = WL_STYLE_LINE, .n = n, .x = x, .y = final, .colour = slot };
    mean.lo = lo;
    mean.hi = hi;
    mean.notes = notes;
    wl_figure_add(f, &mean);
    if (!with_best) return;
    mean.y = best;
    mean.lo = mean.hi = NULL;
    mean.dashed = true;
    wl_figure_add(f, &mean);
}

/* The loss of a diverged run would flatten all others on a linear axis. */
static bool needs_log(const struct wl_large_batch_metric *m)
{
    enum { LINEAR_FACTOR = 20 };
    double low = INFINITY, high = -INFINITY;
    for (size_t i = 0; i < m->n_lines; i++)
        for (size_t k = 0; k < m->lines[i].n_runs; k++) {
            low = fmin(low, m->lines[i].final[k]);
            high = fmax(high, m->lines[i].final[k]);
        }
    return low > 0 && high > LINEAR_FACTOR * low;
}

/* "Excluded, without a value at the end: run 3, run 7 and 4 more." */
static char *missing_text(const struct wl_strs *missing, struct wl_arena *a)
{
    enum { SHOWN = 5 };
    if (missing->n == 0) return NULL;
    struct wl_text t = WL_TEXT(a);
    wl_text_add(&t, "Excluded, without a value at the end: ");
    for (size_t i = 0; i < missing->n && i < SHOWN; i++) wl_text_addf(&t, "%s%s", i ? ", " : "", missing->v[i]);
    if (missing->n > SHOWN) wl_text_addf(&t, " and %zu more", missing->n - SHOWN);
    wl_text_add(&t, ".");
    return t.s;
}

static struct wl_figure *metric_figure(const struct wl_report_data *g, const struct wl_large_batch_set *set, bool many,
                                       const struct wl_large_batch_metric *m)
{
    struct wl_arena *a = g->arena;
    const bool directed = m->info.direction != WL_DIRECTION_UNKNOWN;
    const char *suffix = many ? wl_strf(a, "-%s", wl_slug(set->workload, a)) : "";
    struct wl_figure *f = wl_figure_new(a, wl_strf(a, "batch-%s%s", wl_slug(m->info.name, a), suffix),
                                        wl_strf(a, "%s against global batch%s%s", wl_metric_info_title(&m->info, a),
                                                many ? ", " : "", many ? set->workload : ""));
    f->workload = *set->workload ? set->workload : NULL;
    f->factor = "global batch";
    f->x = (struct wl_figure_axis) { .label = "global batch", .unit = "samples", .log = true, .min = NAN, .max = NAN };
    f->x.ticks = batch_ticks(m, a);
    f->y = (struct wl_figure_axis) {
        .label = wl_metric_info_axis(&m->info), .unit = m->info.unit, .log = needs_log(m), .min = NAN, .max = NAN
    };
    f->metrics = directed ? "batch-final batch-best batch-ci95" : "batch-final batch-ci95";
    f->caption =
        wl_strf(a, "Points: runs at their end. Line: their means, with 95 %% intervals where there are repeats.%s%s",
                directed ? " Dashed: means of the best epochs." : "", wl_metric_info_guess(&m->info));
    f->source = missing_text(&m->missing, a);
    f->simulated = set->simulated;
    for (size_t i = 0; i < m->n_lines; i++) add_line(f, &m->lines[i], directed, (int)i);
    wl_figure_finish(f);
    return f;
}

/* ---- the table --------------------------------------------------------------------------------------------------- */

static void add_mean(struct wl_report_table *t, const struct wl_estimate *m)
{
    wl_report_table_real(t, m->value);
    wl_report_table_real(t, m->lo);
    wl_report_table_real(t, m->hi);
}

static void add_rows(struct wl_report_table *t, const struct wl_large_batch_metric *m)
{
    for (size_t i = 0; i < m->n_lines; i++)
        for (size_t k = 0; k < m->lines[i].n_points; k++) {
            const struct wl_large_batch_line *line = &m->lines[i];
            const struct wl_large_batch_point *p = &line->points[k];
            wl_report_table_text(t, line->workload);
            wl_report_table_text(t, line->label);
            wl_report_table_real(t, line->workers);
            wl_report_table_text(t, m->info.name);
            wl_report_table_text(t, m->info.unit);
            wl_report_table_real(t, p->batch);
            wl_report_table_real(t, (double)p->runs);
            add_mean(t, &p->final);
            add_mean(t, &p->best);
        }
}

/* ---- findings ---------------------------------------------------------------------------------------------------- */

static void put_mean(struct wl_text *to, const struct wl_large_batch_point *p, const char *unit, struct wl_arena *a)
{
    wl_text_addf(to, "%s%s%s", wl_significant_digits(a, p->final.value, 3), unit ? " " : "", unit ? unit : "");
    if (isfinite(p->final.lo))
        wl_text_addf(to, " (95 %% interval %s to %s)", wl_significant_digits(a, p->final.lo, 3),
                     wl_significant_digits(a, p->final.hi, 3));
}

/* The batch with the best mean, and the mean at the largest batch. */
static void add_finding(const struct wl_large_batch_set *set, const struct wl_large_batch_metric *m,
                        struct wl_document *d)
{
    const struct wl_large_batch_line *line = &m->lines[0];
    const struct wl_large_batch_point *best = &line->points[0], *last = &line->points[line->n_points - 1];
    double sign = m->info.direction == WL_DIRECTION_MINIMISE ? -1 : 1;
    if (line->n_points < 2 || m->info.direction == WL_DIRECTION_UNKNOWN) return;
    for (size_t i = 1; i < line->n_points; i++)
        if (sign * line->points[i].final.value > sign * best->final.value) best = &line->points[i];
    struct wl_text t = WL_TEXT(d->arena);
    wl_text_addf(&t, "%s%s%s: %s at the end is best at a global batch of %.15g, ", set->workload,
                 *set->workload ? ", " : "", line->label, m->info.description, best->batch);
    put_mean(&t, best, m->info.unit, d->arena);
    if (best != last) {
        wl_text_addf(&t, "; at %.15g, the largest, it is ", last->batch);
        put_mean(&t, last, m->info.unit, d->arena);
    } else {
        wl_text_add(&t, ", the largest");
    }
    wl_text_add(&t, ".");
    wl_strs_add(d->arena, &d->findings, t.s);
}

/* ---- the section ------------------------------------------------------------------------------------------------- */

static void warn(const struct wl_large_batch_set *set, struct wl_document *d)
{
    wl_strs_add(d->arena, &d->warnings,
                wl_strf(d->arena,
                        "%s%sno run recorded metrics of learning (metric marks), so the effect of its %zu global "
                        "batches is unknown.",
                        set->workload, *set->workload ? ": " : "", set->n_batches));
}

int wl_report_add_large_batch(const struct wl_report_data *g, struct wl_document *d, struct wl_err *e)
{
    struct wl_large_batch_sets sets;
    struct wl_section *s = NULL;
    struct wl_report_table *t =
        wl_report_table_new(g->arena, "batches", "Learning by global batch", columns, WL_COUNT(columns));
    size_t n_omitted = 0;
    int rc = wl_large_batch_sets(g, &sets, e);
    if (rc) return rc;
    for (size_t i = 0; i < sets.n; i++) {
        const struct wl_large_batch_set *set = &sets.v[i];
        if (set->n_metrics == 0) warn(set, d);
        for (size_t k = 0; k < set->n_metrics; k++) {
            const struct wl_large_batch_metric *m = &set->metrics[k];
            if (m->n_lines == 0) continue;
            if (!s) s = wl_document_section(d, "batches", "Learning against global batch");
            wl_section_figure(d, s, metric_figure(g, set, sets.n > 1, m));
            add_rows(t, m);
            if (k == 0) add_finding(set, m, d);
        }
        t->simulated = t->simulated || set->simulated;
        n_omitted += set->n_omitted;
    }
    if (!s) return 0;
    t->caption = "Means over runs. All local batches, power caps and clocks are pooled.";
    if (n_omitted)
        t->caption =
            wl_strf(g->arena, "%s The store has %zu further metrics (wattlaw show --run ID).", t->caption, n_omitted);
    wl_section_table(d, s, t);
    return 0;
}
