/* What the workload learned: losses and accuracies against epochs. */
#include "report/gather.h"

#include <math.h>
#include <string.h>

/* One curve: a metric of the runs of one configuration, by epoch. */
struct curve {
    size_t n, cap;         /* epochs 1 .. n */
    double *sum, *lo, *hi; /* over runs */
    size_t *count;
};

/* Runs of one configuration of one group, with a legend entry. */
struct learner {
    const char *label;
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
      "share of samples that are right",
      { "train_top1", "train_accuracy", "train_masked_accuracy" } },
    { "validation-accuracy",
      "Accuracy on held-out data",
      "share of samples that are right",
      { "val_top1", "val_accuracy", "val_masked_accuracy" } },
    { "validation-perplexity", "Perplexity of held-out text", "perplexity", { "val_perplexity" } },
};

/* Not drawn: what the others say already. */
static const char *const left_out[] = { "val_top5" };

static void extend(struct curve *c, size_t n, struct wl_arena *a)
{
    if (n <= c->n) return;
    if (n > c->cap) {
        size_t cap = 2 * n;
        struct curve wider = { c->n,
                               cap,
                               wl_new_array(a, double, cap),
                               wl_new_array(a, double, cap),
                               wl_new_array(a, double, cap),
                               wl_new_array(a, size_t, cap) };
        for (size_t i = 0; i < c->n; i++) {
            wider.sum[i] = c->sum[i];
            wider.lo[i] = c->lo[i];
            wider.hi[i] = c->hi[i];
            wider.count[i] = c->count[i];
        }
        *c = wider;
    }
    c->n = n;
}

static void add_value(struct curve *c, double epoch, double value, struct wl_arena *a)
{
    enum { MOST_EPOCHS = 1000000 };
    if (!(epoch >= 1 && epoch <= MOST_EPOCHS) || !isfinite(value)) return;
    size_t i = (size_t)epoch - 1;
    extend(c, i + 1, a);
    c->lo[i] = c->count[i] ? fmin(c->lo[i], value) : value;
    c->hi[i] = c->count[i] ? fmax(c->hi[i], value) : value;
    c->sum[i] += value;
    c->count[i]++;
}

static bool has_metric(const struct wl_metric_rows *rows, const char *name)
{
    for (size_t i = 0; i < rows->n; i++) {
        if (!isnan(rows->v[i].epoch) && wl_streq(rows->v[i].name, name)) return true;
    }
    return false;
}

static void add_run(struct curve *c, const struct wl_metric_rows *rows, const char *const names[NAMES],
                    struct wl_arena *a)
{
    for (size_t k = 0; k < NAMES && names[k]; k++) {
        if (!has_metric(rows, names[k])) continue;
        for (size_t i = 0; i < rows->n; i++) {
            if (wl_streq(rows->v[i].name, names[k])) add_value(c, rows->v[i].epoch, rows->v[i].value, a);
        }
        return;
    }
}

/* The means over runs as points on a line, and a band where runs differ. */
static void add_curve(struct wl_figure *f, const struct curve *c, const struct learner *l)
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
    struct wl_series s = {
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

struct learners {
    struct learner *v;
    size_t n, cap;
};

/* The colour is that of the group in every figure; the marker tells worker counts apart. */
static void add_learner(const struct wl_gathered *g, const struct wl_report_group *group, size_t config,
                        struct learners *out)
{
    const struct wl_law_group *law = group->law;
    double workers = law->configs[config].workers;
    struct learner l = { .simulated = law->simulated, .runs = wl_new_array(g->arena, int64_t, law->n_runs) };
    l.label = wl_strf(g->arena, "%s%s%.15g worker%s", g->n_groups > 1 ? group->label : "", g->n_groups > 1 ? ", " : "",
                      workers, workers == 1 ? "" : "s");
    l.colour = group->colour;
    l.marker = group->marker + (int)config;
    for (size_t i = 0; i < law->n_runs; i++) {
        int64_t id;
        const char *label = law->runs[i].label;
        if (law->runs[i].workers == workers && label && wl_parse_int(label, &id) == 0) l.runs[l.n_runs++] = id;
    }
    WL_GROW(g->arena, out->v, out->n, out->cap);
    out->v[out->n++] = l;
}

/* Every configuration of a facet, or the largest worker count of each group where that would be too many curves. */
static struct learners choose(const struct wl_gathered *g, size_t facet, bool *all)
{
    enum { MOST_CURVES = 7 };
    struct learners list = { 0 };
    size_t configs = 0;
    for (size_t i = 0; i < g->n_drawn; i++) configs += g->groups[i].facet == facet ? g->groups[i].law->n_configs : 0;
    *all = configs <= MOST_CURVES;
    for (size_t i = 0; i < g->n_drawn; i++) {
        size_t n = g->groups[i].law->n_configs, from = *all || n == 0 ? 0 : n - 1;
        if (g->groups[i].facet != facet) continue;
        for (size_t k = from; k < n; k++) add_learner(g, &g->groups[i], k, &list);
    }
    return list;
}

static int add_learner_curve(const struct wl_gathered *g, const struct learner *l, const struct learning_figure *what,
                             struct wl_figure *f, struct wl_err *e)
{
    struct curve curve = { 0 };
    for (size_t i = 0; i < l->n_runs; i++) {
        struct wl_metric_rows rows;
        int rc = wl_store_metrics(g->store, l->runs[i], &rows, g->arena, e);
        if (rc) return rc;
        add_run(&curve, &rows, what->names, g->arena);
    }
    add_curve(f, &curve, l);
    return 0;
}

/* Whole epochs, as many as fit. */
static struct wl_reals epoch_ticks(const struct wl_figure *f)
{
    size_t most = 0;
    for (size_t i = 0; i < f->n_series; i++) most = f->series[i].n > most ? f->series[i].n : most;
    double *epochs = wl_new_array(f->arena, double, most);
    for (size_t i = 0; i < most; i++) epochs[i] = (double)i + 1;
    return wl_count_ticks(epochs, most, false, 10, f->arena);
}

/* *out is NULL where no run reported such a metric. */
static int learning_figure(const struct wl_gathered *g, size_t facet, const struct learning_figure *what,
                           struct wl_figure **out, struct wl_err *e)
{
    bool all;
    struct learners learners = choose(g, facet, &all);
    struct wl_figure *f =
        wl_figure_new(g->arena, wl_facet_id(g, facet, what->id), wl_facet_title(g, facet, what->title));
    f->x = (struct wl_axis) { .label = "epoch", .min = NAN, .max = NAN };
    f->y = (struct wl_axis) { .label = what->label, .min = NAN, .max = NAN };
    f->metrics = "quality";
    f->caption = "Means over runs; shaded: from the smallest to the largest run.";
    if (!all) f->source = "Of each group the configuration with the most workers.";
    for (size_t i = 0; i < learners.n; i++) {
        int rc = add_learner_curve(g, &learners.v[i], what, f, e);
        if (rc) return rc;
    }
    *out = wl_figure_empty(f) ? NULL : f;
    if (!*out) return 0;
    f->x.ticks = epoch_ticks(f);
    wl_figure_finish(f);
    return 0;
}

/* ---- what else a workload reports of held-out data ---- */

static bool is_drawn(const char *name)
{
    for (size_t i = 0; i < WL_COUNT(learning_figures); i++)
        for (size_t k = 0; k < WL_COUNT(learning_figures[i].names); k++)
            if (wl_streq(learning_figures[i].names[k], name)) return true;
    for (size_t i = 0; i < WL_COUNT(left_out); i++)
        if (wl_streq(left_out[i], name)) return true;
    return false;
}

static bool among(const struct wl_strs *list, const char *name)
{
    for (size_t i = 0; i < list->n; i++)
        if (wl_streq(list->v[i], name)) return true;
    return false;
}

static int add_names(const struct wl_gathered *g, int64_t run, struct wl_strs *names, struct wl_err *e)
{
    struct wl_metric_rows rows;
    int rc = wl_store_metrics(g->store, run, &rows, g->arena, e);
    for (size_t i = 0; !rc && i < rows.n; i++) {
        const char *name = rows.v[i].name;
        const bool other = wl_starts(name, "val_") && !isnan(rows.v[i].epoch) && !is_drawn(name);
        if (other && !among(names, name)) wl_strs_add(g->arena, names, name);
    }
    return rc;
}

/* Names of such metrics of the runs that are drawn. */
static int other_names(const struct wl_gathered *g, struct wl_strs *names, struct wl_err *e)
{
    for (size_t facet = 0; facet < g->n_facets; facet++) {
        bool all;
        struct learners learners = choose(g, facet, &all);
        for (size_t i = 0; i < learners.n; i++) {
            for (size_t k = 0; k < learners.v[i].n_runs; k++) {
                int rc = add_names(g, learners.v[i].runs[k], names, e);
                if (rc) return rc;
            }
        }
    }
    return 0;
}

static struct learning_figure figure_of(const char *name, struct wl_arena *a)
{
    const char *word = name + strlen("val_");
    return (struct learning_figure) { .id = wl_strf(a, "validation-%s", word),
                                      .title = wl_strf(a, "%s on held-out data", word),
                                      .label = name,
                                      .names = { name } };
}

/* ---- the section ---- */

static int add_figures(const struct wl_gathered *g, const struct learning_figure *list, size_t n, struct wl_document *d,
                       struct wl_section **s, struct wl_err *e)
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

int wl_add_learning(const struct wl_gathered *g, struct wl_document *d, struct wl_err *e)
{
    enum { MOST_OTHERS = 6 }; /* a workload with more of them names the important ones first */
    struct learning_figure others[MOST_OTHERS];
    struct wl_section *s = NULL;
    struct wl_strs names = { 0 };
    int rc = other_names(g, &names, e);
    const size_t n = names.n < MOST_OTHERS ? names.n : MOST_OTHERS;
    for (size_t i = 0; i < n; i++) others[i] = figure_of(names.v[i], g->arena);
    if (!rc) rc = add_figures(g, learning_figures, WL_COUNT(learning_figures), d, &s, e);
    if (!rc) rc = add_figures(g, others, n, d, &s, e);
    if (rc) return rc;
    wl_add_quality_figures(g, d, &s);
    return 0;
}
