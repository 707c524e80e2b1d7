/* Reads a store once and fits the laws. */
#include "report/data.h"

#include "report/from_table.h"
#include "report/groups.h"
#include "report/labels.h"

#include <math.h>
#include <stdlib.h>

static int read_store(struct wl_report_data *g, struct wl_err *e)
{
    int64_t campaign = g->options.campaign;
    struct wl_run_filter filter = { .campaign = campaign };
    int rc = wl_store_campaigns(g->store, &g->campaigns, g->arena, e);
    if (rc == 0) rc = wl_store_trials(g->store, campaign, &g->trials, g->arena, e);
    if (rc == 0) rc = wl_store_runs(g->store, &filter, &g->runs, g->arena, e);
    if (rc == 0) rc = wl_store_observations(g->store, campaign, &g->observations, g->arena, e);
    if (rc == 0) rc = wl_store_unlike_repeats(g->store, campaign, &g->unlike, g->arena, e);
    if (rc == 0) rc = wl_store_variations(g->store, campaign, &g->variations, g->arena, e);
    if (rc == 0) rc = wl_store_metric_defs(g->store, campaign, 0, &g->metric_defs, g->arena, e);
    if (rc) return rc;

    size_t kept = 0; /* campaigns without a trial are not reported */
    for (size_t i = 0; i < g->campaigns.n; i++) {
        bool wanted = false;
        for (size_t k = 0; k < g->trials.n; k++) wanted = wanted || g->trials.v[k].campaign == g->campaigns.v[i].id;
        if (wanted) g->campaigns.v[kept++] = g->campaigns.v[i];
    }
    g->campaigns.n = kept;
    return 0;
}

static int by_run_id(const void *p, const void *q)
{
    const struct wl_run_row *const *a = p, *const *b = q;
    return ((*a)->id > (*b)->id) - ((*a)->id < (*b)->id);
}

static void index_runs(struct wl_report_data *g)
{
    g->runs_by_id = wl_new_array(g->arena, const struct wl_run_row *, g->runs.n);
    for (size_t i = 0; i < g->runs.n; i++) g->runs_by_id[i] = &g->runs.v[i];
    qsort(g->runs_by_id, g->runs.n, sizeof *g->runs_by_id, by_run_id);
}

/* The place of a run in g->runs_by_id; NULL: there is none. */
static const struct wl_run_row **find_run(const struct wl_report_data *g, int64_t id)
{
    const struct wl_run_row key = { .id = id }, *wanted = &key;
    return bsearch(&wanted, g->runs_by_id, g->runs.n, sizeof *g->runs_by_id, by_run_id);
}

const struct wl_run_row *wl_report_data_run(const struct wl_report_data *g, int64_t id)
{
    const struct wl_run_row **found = find_run(g, id);
    return found ? *found : NULL;
}

static int read_metrics(const struct wl_report_data *g, struct wl_err *e)
{
    struct wl_run_metric_rows rows;
    int rc = wl_store_metrics_by_run(g->store, g->options.campaign, &rows, g->arena, e);
    if (rc) return rc;
    struct wl_metric_row *v = wl_new_array(g->arena, struct wl_metric_row, rows.n);
    struct wl_metric_rows *of = wl_new_array(g->arena, struct wl_metric_rows, g->runs.n + 1);
    for (size_t i = 0, at = 0; i < g->runs.n; i++) { /* both are in the order of runs */
        const int64_t run = g->runs_by_id[i]->id;
        while (at < rows.n && rows.v[at].run < run) at++;
        of[i].v = v + at;
        for (; at < rows.n && rows.v[at].run == run; at++) of[i].v[of[i].n++] = rows.v[at].metric;
    }
    g->metrics->of = of;
    return 0;
}

int wl_report_data_metrics(const struct wl_report_data *g, int64_t run, struct wl_metric_rows *out, struct wl_err *e)
{
    const struct wl_run_row **at = find_run(g, run);
    *out = (struct wl_metric_rows) { 0 };
    int rc = g->metrics->of ? 0 : read_metrics(g, e);
    if (rc == 0 && at) *out = g->metrics->of[at - g->runs_by_id];
    return rc;
}

const struct wl_run_row *wl_report_data_run_by_label(const struct wl_report_data *g, const char *label)
{
    int64_t id;
    return label && wl_str_to_int(label, &id) == 0 ? wl_report_data_run(g, id) : NULL;
}

const char *wl_report_data_run_name(const struct wl_report_data *g, int64_t id)
{
    const struct wl_run_row *run = wl_report_data_run(g, id);
    const char *label = run && g->run_labels ? g->run_labels[run - g->runs.v] : NULL;
    return label ? label : wl_strf(g->arena, "%lld", (long long)id);
}

size_t wl_report_data_count_runs(const struct wl_report_data *g, enum wl_run_status status)
{
    size_t n = 0;
    for (size_t i = 0; i < g->runs.n; i++) n += g->runs.v[i].status == status;
    return n;
}

const char *wl_report_data_one_span(const struct wl_report_data *g)
{
    return g->work ? g->span : wl_strf(g->arena, "one %s", g->span);
}

const char *wl_report_data_of_span(const struct wl_report_data *g, const char *quantity)
{
    return wl_span_quantity(g->span, g->work != NULL, quantity, g->arena);
}

static bool any_epoch(const struct wl_observations *o)
{
    for (size_t i = 0; o->epoch && i < o->n; i++) {
        if (!isnan(o->epoch[i])) return true;
    }
    return false;
}

/* Sums over runs keep the times and energies of the rows as they are. */
static int count_work(struct wl_report_data *g, struct wl_err *e)
{
    g->work = wl_law_work_of(g->options.work);
    g->span = g->work ? g->work->amount : any_epoch(&g->observations) ? "epoch" : "run";
    g->whole = g->observations;
    if (!g->work || g->observations.n == 0) return 0;
    const size_t *one_part = wl_new_array(g->arena, size_t, g->observations.n);
    g->whole = *wl_obs_split(&g->observations, one_part, 1, g->arena);
    int rc = wl_law_per_work(&g->observations, g->options.work, g->arena, e);
    g->observations.note = g->whole.note; /* the page says itself of what work its numbers are */
    return rc;
}

/* What the choices take for an epoch or a run is that amount of work. */
static void name_work(struct wl_report_data *g)
{
    for (size_t k = 0; g->work && k < g->choices.n; k++) {
        const char **unit = &g->choices.v[k]->campaign.unit;
        if (*unit && wl_str_starts(*unit, "per ")) *unit = wl_strf(g->arena, "for %s", g->span);
    }
}

int wl_report_data_load(struct wl_report_data *g, struct wl_store *store, const struct wl_observations *table,
                        const struct wl_report_options *options, struct wl_arena *a, struct wl_err *e)
{
    *g = (struct wl_report_data) {
        .store = store, .source = store ? wl_store_path(store) : table->source, .options = *options, .arena = a
    };
    struct wl_law_options how = { .response = WL_LAW_TIME, .drop_epochs = options->drop_epochs, .thorough = true };
    int rc = store ? read_store(g, e) : 0;
    if (!store) wl_report_data_from_table(g, table);
    if (rc == 0) rc = count_work(g, e);
    if (rc == 0) rc = wl_law_fit(&g->observations, &how, &g->law, a, e);
    if (rc == 0) rc = wl_report_models(&g->law, true, &g->models, a, e);
    if (rc == 0 && g->observations.n)
        rc = wl_report_choices(&g->observations, store != NULL, options->drop_epochs, &g->choices, a, e);
    if (rc) return rc;
    name_work(g);
    index_runs(g);
    g->metrics = wl_new(g->arena, struct wl_report_metrics);
    wl_report_groups_name(g);
    return 0;
}

int wl_report_data_load_series(struct wl_report_data *out, const struct wl_report_data *g, const char *batch,
                               struct wl_err *e)
{
    struct wl_law_options how = { .response = WL_LAW_TIME,
                                  .drop_epochs = g->options.drop_epochs,
                                  .fixed_batch = batch };
    *out = *g;
    int rc = wl_law_fit(&g->observations, &how, &out->law, g->arena, e);
    if (rc == 0) rc = wl_report_models(&out->law, false, &out->models, g->arena, e);
    if (rc) return rc;
    out->series = wl_str_eq(batch, "local_batch") ? "constant local batch" : "constant global batch";
    wl_report_groups_name(out);
    return 0;
}
