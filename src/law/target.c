/* Epochs, time and energy until a metric reaches a value. Runs that never do are counted. */
#include "law/target.h"

#include "law/fit/notes.h"

#include <math.h>
#include <stdlib.h>

/* An epoch of a run. */
struct entry {
    size_t run, row;
    double epoch;
};

static int by_run_and_epoch(const void *a, const void *b)
{
    const struct entry *p = a, *q = b;
    if (p->run != q->run) return p->run < q->run ? -1 : 1;
    if (p->epoch < q->epoch || p->epoch > q->epoch) return p->epoch < q->epoch ? -1 : 1;
    return (p->row > q->row) - (p->row < q->row);
}

static bool has_metric(const struct wl_observations *obs, size_t row, const char *metric)
{
    return wl_str_eq(obs->metric[row], metric) && !isnan(obs->metric_value[row]);
}

/* Rows that are epochs with a worker count, run by run. */
static struct entry *sorted_epochs(const struct wl_observations *obs, const struct wl_law_partition_cell *part,
                                   size_t *n, struct wl_arena *a)
{
    struct entry *v = wl_new_array(a, struct entry, part->n);
    *n = 0;
    for (size_t i = 0; i < part->n; i++) {
        size_t row = part->rows[i];
        if (isnan(obs->epoch[row]) || !(obs->workers[row] > 0)) continue;
        v[(*n)++] = (struct entry) { obs->run_index[row], row, obs->epoch[row] };
    }
    qsort(v, *n, sizeof *v, by_run_and_epoch);
    return v;
}

static struct wl_target_run run_to_target(const struct wl_observations *obs, const struct entry *v, size_t n,
                                          const char *metric, double value, bool rising)
{
    struct wl_target_run out = { .workers = obs->workers[v->row], .complete = v->epoch == 1 };
    for (size_t i = 0; i < n && !out.reached; i++) {
        size_t row = v[i].row;
        if (!i || v[i].epoch != v[i - 1].epoch) { /* further rows of an epoch have further metrics */
            out.epochs++;
            out.time_s += obs->time_s[row];
            out.energy_j += obs->energy_j[row];
        }
        if (!has_metric(obs, row, metric)) continue;
        out.has_metric = true;
        out.reached = rising ? obs->metric_value[row] >= value : obs->metric_value[row] <= value;
    }
    return out;
}

static size_t end_of_run(const struct entry *v, size_t n, size_t first)
{
    size_t end = first + 1;
    while (end < n && v[end].run == v[first].run) end++;
    return end;
}

/* Last value less first value of the metric over a run. */
static double metric_change(const struct wl_observations *obs, const struct entry *v, size_t n, const char *metric)
{
    double first = NAN, last = NAN;
    for (size_t i = 0; i < n; i++) {
        if (!has_metric(obs, v[i].row, metric)) continue;
        last = obs->metric_value[v[i].row];
        if (isnan(first)) first = last;
    }
    return isnan(first) ? 0 : last - first;
}

/* ---- runs to worker counts ---- */

static int by_workers(const void *a, const void *b)
{
    const struct wl_target_run *p = a, *q = b;
    return (p->workers > q->workers) - (p->workers < q->workers);
}

/* The geometric mean, and its interval where there are two or more. */
static struct wl_estimate geometric(const double *v, size_t n, struct wl_arena *a)
{
    double *logs = wl_new_array(a, double, n);
    for (size_t i = 0; i < n; i++) logs[i] = log(v[i]);
    double mean = wl_mean(logs, n);
    double half = wl_t_quantile(0.5 + WL_LAW_CONFIDENCE / 2, (double)n - 1) * wl_sd(logs, n) / sqrt((double)n);
    return (struct wl_estimate) { exp(mean), exp(mean - half), exp(mean + half) };
}

static struct wl_target_config config_of(const struct wl_target_run *v, size_t n, struct wl_arena *a)
{
    struct wl_target_config c = { .workers = v->workers, .runs = n };
    double *epochs = wl_new_array(a, double, n), *time = wl_new_array(a, double, n),
           *energy = wl_new_array(a, double, n);
    for (size_t i = 0; i < n; i++) {
        if (!v[i].reached) continue;
        epochs[c.reached] = v[i].epochs;
        time[c.reached] = v[i].time_s;
        energy[c.reached++] = v[i].energy_j;
    }
    c.epochs = wl_mean(epochs, c.reached);
    c.time_s = geometric(time, c.reached, a);
    c.energy_j = geometric(energy, c.reached, a);
    if (c.reached < n) /* of the runs that reached it alone: an interval would be biased */
        c.time_s.lo = c.time_s.hi = c.energy_j.lo = c.energy_j.hi = NAN;
    return c;
}

static void collect_configs(struct wl_target_group *g, struct wl_target_run *v, size_t n, struct wl_arena *a)
{
    size_t missed = 0;
    qsort(v, n, sizeof *v, by_workers);
    g->configs = wl_new_array(a, struct wl_target_config, n);
    for (size_t i = 0, end; i < n; i = end) {
        for (end = i + 1; end < n && v[end].workers == v[i].workers;) end++;
        g->configs[g->n] = config_of(v + i, end - i, a);
        missed += g->configs[g->n].runs - g->configs[g->n].reached;
        g->n++;
    }
    if (missed)
        wl_strs_addf(
            a, &g->notes,
            "%s not reach it: time and energy are means over the others, and so too small at these worker counts",
            wl_law_count_text(a, missed, "run does|runs do"));
}

static void reach_group(struct wl_target_group *g, const struct wl_observations *obs,
                        const struct wl_law_partition_cell *part, const struct wl_target_result *r, struct wl_arena *a)
{
    size_t n, runs = 0, no_metric = 0, incomplete = 0;
    struct entry *v = sorted_epochs(obs, part, &n, a);
    struct wl_target_run *reached = wl_new_array(a, struct wl_target_run, n);
    for (size_t i = 0, end; i < n; i = end) {
        end = end_of_run(v, n, i);
        reached[runs] = run_to_target(obs, v + i, end - i, r->metric, r->value, r->rising);
        if (!reached[runs].has_metric)
            no_metric++;
        else if (!reached[runs].complete)
            incomplete++;
        else
            runs++;
        g->simulated |= obs->simulated[v[i].row] != 0;
        g->estimated |= obs->estimated[v[i].row] != 0;
    }
    collect_configs(g, reached, runs, a);
    g->runs = reached;
    g->n_runs = runs;
    if (no_metric)
        wl_strs_addf(a, &g->notes, "excluded: %s without %s", wl_law_count_text(a, no_metric, "run"), r->metric);
    if (incomplete)
        wl_strs_addf(a, &g->notes, "excluded: %s not begin with epoch 1: earlier epochs are unknown",
                     wl_law_count_text(a, incomplete, "run that does|runs that do"));
}

/* ---- all ---- */

/* The direction that the workload declared: 1 larger is better, 0 smaller is better, -1 none. */
static int declared_direction(const struct wl_observations *obs, const char *metric)
{
    struct wl_obs_column better;
    if (wl_obs_find(obs, "metric_better", &better, NULL) < 0 || !better.text) return -1;
    for (size_t i = 0; i < obs->n; i++)
        if (has_metric(obs, i, metric) && better.text[i] && *better.text[i]) return wl_str_eq(better.text[i], "larger");
    return -1;
}

/* Does the metric rise from the first epoch of a run to the last, over all runs? */
static bool metric_rises(const struct wl_observations *obs, const char *metric, struct wl_arena *a)
{
    struct wl_law_partition_cell all = { .rows = wl_new_array(a, size_t, obs->n), .n = obs->n };
    size_t n;
    double change = 0;
    for (size_t i = 0; i < obs->n; i++) all.rows[i] = i;
    struct entry *v = sorted_epochs(obs, &all, &n, a);
    for (size_t i = 0, end; i < n; i = end) {
        end = end_of_run(v, n, i);
        change += metric_change(obs, v + i, end - i, metric);
    }
    return change >= 0;
}

static void add_name(struct wl_strs *names, const char *name, struct wl_arena *a)
{
    for (size_t i = 0; i < names->n; i++)
        if (wl_str_eq(names->v[i], name)) return;
    wl_strs_add(a, names, name);
}

/* "; did you mean val_top1? There are lr, val_top1", cut to the room of a message. */
static const char *metrics_text(const struct wl_strs *names, const char *word, struct wl_arena *a)
{
    enum { ROOM = 600 };
    struct wl_text t = WL_TEXT(a);
    const char *near = wl_str_closest(word, (const char *const *)names->v, names->n);
    if (near) wl_text_addf(&t, "; did you mean %s?", near);
    for (size_t i = 0; i < names->n; i++) {
        if (t.n > ROOM) {
            wl_text_addf(&t, " and %zu more", names->n - i);
            break;
        }
        if (i)
            wl_text_add(&t, ", ");
        else
            wl_text_addf(&t, "%s %s ", near ? " There" : "; there", names->n == 1 ? "is" : "are");
        wl_text_add(&t, names->v[i]);
    }
    return t.n ? t.s : "";
}

/* The others of the source, and whether epochs name this one without a value. */
static bool collect_metrics(const struct wl_observations *obs, const char *metric, const struct wl_strs *others,
                            struct wl_strs *names, struct wl_arena *a)
{
    bool named = false;
    for (size_t i = 0; i < others->n; i++)
        if (!wl_str_eq(others->v[i], metric)) add_name(names, others->v[i], a);
    for (size_t i = 0; i < obs->n; i++) {
        const char *name = obs->metric[i];
        named = named || wl_str_eq(name, metric);
        if (name && has_metric(obs, i, name)) add_name(names, name, a);
    }
    return named;
}

static int find_metric(const struct wl_observations *obs, const char *metric, const struct wl_strs *others,
                       struct wl_arena *a, struct wl_err *e)
{
    struct wl_strs names = { 0 };
    for (size_t i = 0; i < obs->n; i++)
        if (has_metric(obs, i, metric)) return 0;
    const bool named = collect_metrics(obs, metric, others, &names, a);
    return wl_fail(e, WL_ENOENT, "%s: no epoch has %s %s%s", obs->source,
                   named ? "a value of the metric" : "the metric", metric, metrics_text(&names, metric, a));
}

int wl_target_reach(const struct wl_observations *obs, const struct wl_target_options *options,
                    struct wl_target_result *out, struct wl_arena *a, struct wl_err *e)
{
    const char *metric = options->metric;
    struct wl_law_partition_cells parts;
    *out = (struct wl_target_result) { .metric = metric, .value = options->value };
    int rc = find_metric(obs, metric, &options->others, a, e);
    if (rc == 0) rc = wl_law_partition(obs, &(struct wl_law_grouping) { .by = options->by }, &parts, a, e);
    if (rc) return rc;
    const int better = declared_direction(obs, metric);
    out->rising = better < 0 ? metric_rises(obs, metric, a) : better == 1;
    out->groups = wl_new_array(a, struct wl_target_group, parts.n);
    out->n = parts.n;
    for (size_t i = 0; i < parts.n; i++) {
        struct wl_target_group *g = &out->groups[i];
        g->key = parts.v[i].key;
        g->n_key = parts.v[i].n_key;
        g->title = wl_law_partition_title(&parts.v[i], a);
        reach_group(g, obs, &parts.v[i], out, a);
    }
    return 0;
}
