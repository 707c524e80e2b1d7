/* Learning curves: losses and accuracies against epochs. */
#include "report/groups.h"
#include "report/metric_info.h"
#include "report/sections/curve.h"
#include "report/sections/sections.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Runs of one configuration of one group, with a legend entry. */
struct curve_runs {
    const char *label, *workload;
    int colour, marker;
    int64_t *runs;
    size_t n_runs;
    bool simulated;
};

enum { NAMES = 3 };

/* A figure shows one metric, under the first of its names that a run reports. */
struct learning_figure {
    const char *id, *title, *label, *names[NAMES];
};

static const struct learning_figure learning_figures[] = {
    { "training-loss", "Loss on the training data", "loss", { "train_loss", "loss" } },
    { "validation-loss", "Loss on held-out data", "loss", { "val_loss" } },
    { "training-accuracy",
      "Accuracy on the training data",
      "share of correct samples",
      { "train_top1", "train_accuracy", "train_masked_accuracy" } },
    { "validation-accuracy",
      "Accuracy on held-out data",
      "share of correct samples",
      { "val_top1", "val_accuracy", "val_masked_accuracy" } },
    { "validation-perplexity", "Perplexity of held-out text", "perplexity", { "val_perplexity" } },
};

/* Not drawn: redundant with the figures above. */
static const char *const excluded_metrics[] = { "val_top5" }, *const excluded_prefixes[] = { "train_", "eval_train_" };

static bool has_metric(const struct wl_metric_rows *rows, const char *name)
{
    for (size_t i = 0; i < rows->n; i++) {
        if (!isnan(rows->v[i].epoch) && wl_str_eq(rows->v[i].name, name)) return true;
    }
    return false;
}

/* Adds the values of the first of the names that the run recorded, and returns it; NULL: none. */
static const char *add_run(struct wl_curve *c, const struct wl_metric_rows *rows, const char *const names[NAMES],
                           struct wl_arena *a)
{
    for (size_t k = 0; k < NAMES && names[k]; k++) {
        if (!has_metric(rows, names[k])) continue;
        for (size_t i = 0; i < rows->n; i++) {
            if (wl_str_eq(rows->v[i].name, names[k])) wl_curve_add(c, rows->v[i].epoch, rows->v[i].value, a);
        }
        return names[k];
    }
    return NULL;
}

/* The means over runs as points on a line, and a band where runs differ. */
static void add_curve(struct wl_figure *f, const struct wl_curve *c, const struct curve_runs *l)
{
    double *x = wl_new_array(f->arena, double, c->n), *y = wl_new_array(f->arena, double, c->n),
           *lo = wl_new_array(f->arena, double, c->n), *hi = wl_new_array(f->arena, double, c->n);
    bool spread = false;
    for (size_t i = 0; i < c->n; i++) {
        bool have = c->count[i] > 0;
        x[i] = (double)i + 1;
        y[i] = have ? c->sum[i] / (double)c->count[i] : NAN;
        lo[i] = have ? c->lo[i] : NAN;
        hi[i] = have ? c->hi[i] : NAN;
        spread = spread || c->count[i] > 1;
    }
    if (c->n == 0) return;
    f->simulated = f->simulated || l->simulated;
    struct wl_figure_series s = {
        .label = l->label, .style = WL_STYLE_POINTS, .n = c->n, .x = x, .y = y, .colour = l->colour, .marker = l->marker
    };
    wl_figure_add(f, &s);
    s.label = NULL;
    s.style = WL_STYLE_LINE;
    wl_figure_add(f, &s);
    if (!spread) return;
    s.style = WL_STYLE_BAND;
    s.y = NULL;
    s.lo = lo;
    s.hi = hi;
    wl_figure_add(f, &s);
}

/* ---- which configurations ---- */

struct curve_list {
    struct curve_runs *v;
    size_t n, cap;
};

/* The colour is that of the group in every figure; markers distinguish worker counts. */
static void add_curve_runs(const struct wl_report_data *g, const struct wl_report_group *group, size_t config,
                           struct curve_list *out)
{
    const struct wl_law_group *law = group->law;
    double workers = law->configs[config].workers;
    struct curve_runs l = { .simulated = law->simulated,
                            .workload = group->workload,
                            .runs = wl_new_array(g->arena, int64_t, law->n_runs) };
    l.label = wl_strf(g->arena, "%s%s%.15g worker%s", g->n_groups > 1 ? group->label : "", g->n_groups > 1 ? ", " : "",
                      workers, workers == 1 ? "" : "s");
    l.colour = group->colour;
    l.marker = group->marker + (int)config;
    for (size_t i = 0; i < law->n_runs; i++) {
        int64_t id;
        const char *label = law->runs[i].label;
        if (law->runs[i].workers == workers && label && wl_str_to_int(label, &id) == 0) l.runs[l.n_runs++] = id;
    }
    WL_GROW(g->arena, out->v, out->n, out->cap);
    out->v[out->n++] = l;
}

/* Every configuration of a facet, or the largest worker count of each group where that would be too many curves. */
static struct curve_list choose(const struct wl_report_data *g, size_t facet, bool *all)
{
    enum { MAX_CURVES = 7 };
    struct curve_list list = { 0 };
    size_t configs = 0;
    for (size_t i = 0; i < g->n_drawn; i++) configs += g->groups[i].facet == facet ? g->groups[i].law->n_configs : 0;
    *all = configs <= MAX_CURVES;
    for (size_t i = 0; i < g->n_drawn; i++) {
        size_t n = g->groups[i].law->n_configs, from = *all || n == 0 ? 0 : n - 1;
        if (g->groups[i].facet != facet) continue;
        for (size_t k = from; k < n; k++) add_curve_runs(g, &g->groups[i], k, &list);
    }
    return list;
}

/* The unit of an axis: that of all its curves, or none. */
struct unit {
    const char *name;
    bool set;
};

static void merge_unit(struct unit *u, const char *name)
{
    u->name = !u->set || wl_str_eq(u->name, name) ? name : NULL;
    u->set = true;
}

static int add_runs_curve(const struct wl_report_data *g, const struct curve_runs *l, const char *const names[NAMES],
                          struct wl_figure *f, struct unit *unit, struct wl_err *e)
{
    struct wl_curve curve = { 0 };
    for (size_t i = 0; i < l->n_runs; i++) {
        struct wl_metric_rows rows;
        int rc = wl_report_data_metrics(g, l->runs[i], &rows, e);
        if (rc) return rc;
        const char *name = add_run(&curve, &rows, names, g->arena);
        if (name) merge_unit(unit, wl_metric_info_of(&g->metric_defs, l->workload, name).unit);
    }
    add_curve(f, &curve, l);
    return 0;
}

static bool is_of(const struct wl_metric_def_row *def, const struct curve_runs *l)
{
    return wl_str_eq(def->workload ? def->workload : "", l->workload);
}

/* The baseline of a metric. It does not depend on training, so it is one line over all runs of its workload; NULL also
 * where several workloads have one. */
static const struct wl_metric_def_row *baseline_of(const struct wl_report_data *g, const struct curve_list *of,
                                                   const char *name)
{
    const struct wl_metric_def_row *found = NULL;
    for (size_t i = 0; i < g->metric_defs.n; i++) {
        const struct wl_metric_def_row *def = &g->metric_defs.v[i];
        bool drawn = false;
        for (size_t k = 0; k < of->n; k++) drawn = drawn || is_of(def, &of->v[k]);
        if (!drawn || !wl_str_eq(def->baseline_of, name)) continue;
        if (found) return NULL;
        found = def;
    }
    return found;
}

static int add_baseline(const struct wl_report_data *g, const struct curve_list *of, const char *name,
                        struct wl_figure *f, struct wl_err *e)
{
    const struct wl_metric_def_row *def = baseline_of(g, of, name);
    struct wl_curve curve = { 0 };
    for (size_t i = 0; def && i < of->n; i++) {
        for (size_t k = 0; is_of(def, &of->v[i]) && k < of->v[i].n_runs; k++) {
            struct wl_metric_rows rows;
            int rc = wl_report_data_metrics(g, of->v[i].runs[k], &rows, e);
            if (rc) return rc;
            add_run(&curve, &rows, (const char *[NAMES]) { def->name }, g->arena);
        }
    }
    if (curve.n == 0) return 0;
    double *x = wl_new_array(g->arena, double, curve.n), *y = wl_new_array(g->arena, double, curve.n);
    for (size_t i = 0; i < curve.n; i++) {
        x[i] = (double)i + 1;
        y[i] = curve.count[i] ? curve.sum[i] / (double)curve.count[i] : NAN;
    }
    wl_figure_add(f, &(struct wl_figure_series) { .label = "baseline",
                                                  .style = WL_STYLE_LINE,
                                                  .n = curve.n,
                                                  .x = x,
                                                  .y = y,
                                                  .colour = WL_COLOUR_NEUTRAL,
                                                  .dashed = true });
    f->caption = wl_strf(g->arena, "%s Dashed: %s.", f->caption, def->label ? def->label : def->name);
    return 0;
}

/* Whole epochs, thinned to 10. */
static struct wl_reals epoch_ticks(const struct wl_figure *f)
{
    size_t max = 0;
    for (size_t i = 0; i < f->n_series; i++) max = f->series[i].n > max ? f->series[i].n : max;
    double *epochs = wl_new_array(f->arena, double, max);
    for (size_t i = 0; i < max; i++) epochs[i] = (double)i + 1;
    return wl_ticks_counts(epochs, max, false, 10, f->arena);
}

/* *out is NULL where no run reported such a metric. */
static int learning_figure(const struct wl_report_data *g, size_t facet, const struct learning_figure *what,
                           struct wl_figure **out, struct wl_err *e)
{
    bool all;
    struct curve_list curves = choose(g, facet, &all);
    struct wl_figure *f =
        wl_figure_new(g->arena, wl_report_facet_id(g, facet, what->id), wl_report_facet_title(g, facet, what->title));
    f->workload = g->facets[facet].workload;
    f->x = (struct wl_figure_axis) { .label = "epoch", .min = NAN, .max = NAN };
    f->y = (struct wl_figure_axis) { .label = what->label, .min = NAN, .max = NAN };
    f->metrics = "quality";
    f->caption = "Means over runs; shaded: from the smallest to the largest run.";
    if (!all) f->source = "Configuration with the most workers of each group.";
    struct unit unit = { 0 };
    for (size_t i = 0; i < curves.n; i++) {
        int rc = add_runs_curve(g, &curves.v[i], what->names, f, &unit, e);
        if (rc) return rc;
    }
    f->y.unit = unit.name;
    *out = wl_figure_empty(f) ? NULL : f;
    if (!*out) return 0;
    int rc = add_baseline(g, &curves, what->names[0], f, e);
    if (rc) return rc;
    f->x.ticks = epoch_ticks(f);
    wl_figure_finish(f);
    return 0;
}

/* ---- other metrics of a workload ---- */

static bool is_already_covered(const char *name)
{
    for (size_t i = 0; i < WL_COUNT(learning_figures); i++)
        for (size_t k = 0; k < WL_COUNT(learning_figures[i].names); k++)
            if (wl_str_eq(learning_figures[i].names[k], name)) return true;
    for (size_t i = 0; i < WL_COUNT(excluded_metrics); i++)
        if (wl_str_eq(excluded_metrics[i], name)) return true;
    for (size_t i = 0; i < WL_COUNT(excluded_prefixes); i++)
        if (wl_str_starts(name, excluded_prefixes[i])) return true;
    return false;
}

struct metric_list {
    struct wl_metric_info *v;
    size_t n, cap;
};

static bool among(const struct metric_list *list, const char *name)
{
    for (size_t i = 0; i < list->n; i++)
        if (wl_str_eq(list->v[i].name, name)) return true;
    return false;
}

static int add_other_metrics(const struct wl_report_data *g, int64_t run, struct metric_list *list, struct wl_err *e)
{
    struct wl_metric_rows rows;
    int rc = wl_report_data_metrics(g, run, &rows, e);
    for (size_t i = 0; !rc && i < rows.n; i++) {
        const char *name = rows.v[i].name;
        if (isnan(rows.v[i].epoch) || !wl_metric_info_is_quality(name) || is_already_covered(name) || among(list, name))
            continue;
        const struct wl_metric_info info = wl_metric_info_of(&g->metric_defs, NULL, name);
        if (info.baseline_of) continue; /* drawn in the figure of its metric */
        WL_GROW(g->arena, list->v, list->n, list->cap);
        list->v[list->n++] = info;
    }
    return rc;
}

static int by_order(const void *a, const void *b) { return wl_metric_info_order(a, b); }

/* The other metrics of the runs that are drawn, in order. */
static int list_other_metrics(const struct wl_report_data *g, struct metric_list *list, struct wl_err *e)
{
    for (size_t facet = 0; facet < g->n_facets; facet++) {
        bool all;
        struct curve_list curves = choose(g, facet, &all);
        for (size_t i = 0; i < curves.n; i++) {
            for (size_t k = 0; k < curves.v[i].n_runs; k++) {
                int rc = add_other_metrics(g, curves.v[i].runs[k], list, e);
                if (rc) return rc;
            }
        }
    }
    if (list->n) qsort(list->v, list->n, sizeof *list->v, by_order);
    return 0;
}

/* "val_mae" is the figure validation-mae. */
static struct learning_figure figure_of(const struct wl_metric_info *m, struct wl_arena *a)
{
    const bool held_out = wl_str_starts(m->name, "val_");
    const char *word = wl_slug(held_out ? m->name + strlen("val_") : m->name, a);
    return (struct learning_figure) { .id = wl_strf(a, "%s-%s", held_out ? "validation" : "metric", word),
                                      .title = wl_metric_info_title(m, a),
                                      .label = wl_metric_info_axis(m),
                                      .names = { m->name } };
}

/* ---- the section ---- */

static int add_figures(const struct wl_report_data *g, const struct learning_figure *list, size_t n,
                       struct wl_document *d, struct wl_section **s, struct wl_err *e)
{
    for (size_t i = 0; i < g->n_facets * n; i++) {
        struct wl_figure *f;
        int rc = learning_figure(g, i / n, &list[i % n], &f, e);
        if (rc) return rc;
        if (!f) continue;
        if (!*s) *s = wl_document_section(d, "learning", "Loss and accuracy");
        wl_section_figure(d, *s, f);
    }
    return 0;
}

int wl_report_add_learning_curves(const struct wl_report_data *g, struct wl_document *d, struct wl_err *e)
{
    enum { MAX_OTHERS = 6 }; /* a workload that defines more of them names the important ones first */
    struct learning_figure others[MAX_OTHERS];
    struct wl_section *s = NULL;
    struct metric_list list = { 0 };
    if (!g->store) { /* a table has the ends of runs alone */
        wl_report_add_quality_figures(g, d, &s);
        return 0;
    }
    int rc = list_other_metrics(g, &list, e);
    const size_t n = list.n < MAX_OTHERS ? list.n : MAX_OTHERS;
    for (size_t i = 0; i < n; i++) others[i] = figure_of(&list.v[i], g->arena);
    if (!rc) rc = add_figures(g, learning_figures, WL_COUNT(learning_figures), d, &s, e);
    if (!rc) rc = add_figures(g, others, n, d, &s, e);
    if (rc) return rc;
    wl_report_add_quality_figures(g, d, &s);
    return 0;
}
