/* Rows whose work differs belong to different laws. */
#include "law/split.h"
#include "law/work.h"

#include <math.h>

/* The parts in which rows of one worker count (and one value of the excluded column) have unlike work. */
static bool find_unlike_work(const struct wl_law_split *s, const double *work, bool *unlike)
{
    size_t n = s->obs->n, *cell = wl_new_array(s->step, size_t, n);
    size_t cells =
        wl_law_split_within(s, s->part, wl_law_split_texts(s, &(struct wl_obs_column) { .real = s->obs->workers }),
                            cell);
    struct wl_obs_column excluded;
    struct wl_err none;
    if (s->rule->excluded_column && !wl_obs_find(s->obs, s->rule->excluded_column, &excluded, &none)) {
        size_t *finer = wl_new_array(s->step, size_t, n);
        cells = wl_law_split_within(s, cell, wl_law_split_texts(s, &excluded), finer);
        cell = finer;
    }
    double *least = wl_new_array(s->step, double, cells), *most = wl_new_array(s->step, double, cells);
    bool any = false;
    for (size_t i = 0; i < n; i++) {
        if (isnan(work[i])) continue;
        if (!(most[cell[i]] > 0)) least[cell[i]] = most[cell[i]] = work[i];
        least[cell[i]] = fmin(least[cell[i]], work[i]);
        most[cell[i]] = fmax(most[cell[i]], work[i]);
    }
    for (size_t i = 0; i < n; i++)
        if (most[cell[i]] > WL_LAW_SAME_WORK * least[cell[i]]) unlike[s->part[i]] = any = true;
    return any;
}

/* Epochs of unlike work are not one law. Of the samples of an epoch and those of a worker, the one with fewer values
 * (the samples where equal) separates the parts in which one worker count has several. */
static void by_samples(struct wl_law_split *s)
{
    const struct wl_observations *obs = s->obs;
    bool *unlike = wl_new_array(s->step, bool, s->parts);
    double *work = wl_law_work_of_rows(obs, s->step), *per_worker = wl_new_array(s->step, double, obs->n);
    if (!find_unlike_work(s, work, unlike)) return;
    size_t *epoch_classes = wl_new_array(s->step, size_t, s->parts),
           *worker_classes = wl_new_array(s->step, size_t, s->parts);
    for (size_t i = 0; i < obs->n; i++) per_worker[i] = work[i] / obs->workers[i];
    const char **of_epoch = wl_law_work_classes(work, s->part, obs->n, s->parts, epoch_classes, s->a);
    const char **of_worker = wl_law_work_classes(per_worker, s->part, obs->n, s->parts, worker_classes, s->a);
    const char **names = wl_new_array(s->step, const char *, obs->n),
               **texts = wl_new_array(s->step, const char *, obs->n);
    for (size_t i = 0; i < obs->n; i++) {
        const size_t p = s->part[i];
        if (!unlike[p]) continue;
        const bool worker = worker_classes[p] < epoch_classes[p];
        names[i] = worker ? "samples_per_worker" : "samples";
        texts[i] = worker ? of_worker[i] : of_epoch[i];
    }
    wl_law_split_refine(s, names, texts);
}

/* Each run's first known text of a column. */
static const char **text_of_runs(const struct wl_law_split *s, const struct wl_obs_column *column)
{
    const size_t n = s->obs->n;
    const char **of_row = wl_law_split_texts(s, column), **of_run = wl_new_array(s->step, const char *, s->obs->runs),
               **out = wl_new_array(s->step, const char *, n);
    for (size_t i = 0; i < n; i++)
        if (*of_row[i] && !of_run[s->obs->run_index[i]]) of_run[s->obs->run_index[i]] = of_row[i];
    for (size_t i = 0; i < n; i++) out[i] = of_run[s->obs->run_index[i]] ? of_run[s->obs->run_index[i]] : "";
    return out;
}

/* With values, metrics are what training was watched by: any run may record any. Without, they name the work. */
static bool has_metric_values(const struct wl_observations *obs)
{
    for (size_t i = 0; i < obs->n; i++)
        if (!isnan(obs->metric_value[i])) return true;
    return false;
}

/* Work is of another kind where runs of one worker count have another metric or unit. */
void wl_law_split_by_work(struct wl_law_split *s)
{
    static const char *const kinds[] = { "metric", "unit" };
    for (size_t k = 0; k < WL_COUNT(kinds); k++) {
        struct wl_obs_column column;
        struct wl_err none;
        if (k == 0 && has_metric_values(s->obs)) continue;
        if (wl_str_eq(s->rule->excluded_column, kinds[k]) || wl_obs_find(s->obs, kinds[k], &column, &none)) continue;
        wl_law_split_next_step(s);
        const char **texts = text_of_runs(s, &column);
        if (wl_law_split_values_vary(texts, s->obs->n)) wl_law_split_where_several(s, column.name, texts);
    }
    wl_law_split_next_step(s);
    if (!wl_law_work_is_key(s->rule->excluded_column)) by_samples(s);
}
