/* The report of a store: gather, then one section after the other. */
#include "report/sections/sections.h"

static char *title_of(const struct wl_report_data *g)
{
    if (g->campaigns.n == 1) return wl_strf(g->arena, "Scaling and energy: %s", g->campaigns.v[0].name);
    if (!g->store) return wl_strf(g->arena, "Scaling and energy: %s", wl_path_base(g->source));
    return wl_strf(g->arena, "Scaling and energy: %zu campaigns", g->campaigns.n);
}

/* No finished run: the message lists the others. */
static int no_finished_run(const struct wl_report_data *g, struct wl_err *e)
{
    const char *path = g->source;
    if (g->runs.n == 0) return wl_fail(e, WL_EJOB, "%s has no runs yet: nothing to report", path);
    return wl_fail(e, WL_EJOB,
                   "%s has no finished run to report (%zu failed, %zu interrupted, %zu planned, %zu running); "
                   "wattlaw show lists the reasons",
                   path, wl_report_data_count_runs(g, WL_RUN_FAILED), wl_report_data_count_runs(g, WL_RUN_INTERRUPTED),
                   wl_report_data_count_runs(g, WL_RUN_PLANNED), wl_report_data_count_runs(g, WL_RUN_RUNNING));
}

/* Was each worker count that was asked for measured? */
static int check_counts(const struct wl_report_data *g, struct wl_err *e)
{
    for (size_t i = 0; i < g->options.at.n; i++) {
        bool there = false;
        for (size_t k = 0; k < g->observations.n; k++) there |= g->observations.workers[k] == g->options.at.v[i];
        if (!there)
            return wl_fail(e, WL_ENOENT, "%s: no finished run has %.15g workers (--at)", g->source, g->options.at.v[i]);
    }
    return 0;
}

/* For the page's pickers. */
static void add_workloads(const struct wl_report_data *g, struct wl_document *d)
{
    for (size_t i = 0; i < g->n_groups; i++) wl_document_workload(d, g->groups[i].workload);
    for (size_t i = 0; i < g->runs.n; i++) wl_document_workload(d, g->runs.v[i].set.workload);
}

static int build(struct wl_document **out, struct wl_store *store, const struct wl_observations *table,
                 const struct wl_report_options *options, struct wl_arena *a, struct wl_err *e)
{
    struct wl_report_data g;
    int rc = wl_report_data_load(&g, store, table, options, a, e);
    if (rc) return rc;
    if (g.observations.n == 0) return no_finished_run(&g, e);
    rc = check_counts(&g, e);
    if (rc) return rc;

    struct wl_document *d = wl_document_new(a, title_of(&g));
    d->subtitle = g.source;
    add_workloads(&g, d);
    wl_report_add_facts(&g, d);
    wl_report_add_answers(&g, d);
    wl_report_add_choice(&g, d);
    wl_report_add_effects(&g, d);
    wl_report_add_findings(&g, d);
    wl_report_add_warnings(&g, d);
    wl_report_add_scaling(&g, d);
    wl_report_add_model_selection(&g, d);
    wl_report_add_forecast(&g, d);
    rc = wl_report_add_plan(&g, d, e);
    if (rc == 0) rc = wl_report_add_factors(&g, d, e);
    if (rc) return rc;
    wl_report_add_energy(&g, d);
    rc = wl_report_add_constant_batch(&g, d, e);
    if (rc) return rc;
    rc = wl_report_add_worker_hours(&g, d, e);
    if (rc == 0) rc = wl_report_add_footprint(&g, d, e);
    if (rc == 0) rc = wl_report_add_utilisation(&g, d, e);
    if (rc) return rc;
    wl_report_add_views(&g, d);
    if (store) rc = wl_report_add_power_trace(&g, d, e);
    if (rc == 0) rc = wl_report_add_learning_curves(&g, d, e);
    if (rc == 0) rc = wl_report_add_large_batch(&g, d, e);
    if (rc == 0) rc = wl_report_add_units(&g, d, e);
    if (rc) return rc;
    wl_report_add_runs(&g, d);
    *out = d;
    return 0;
}

int wl_report_build(struct wl_document **out, struct wl_store *store, const struct wl_report_options *options,
                    struct wl_arena *a, struct wl_err *e)
{
    return build(out, store, NULL, options, a, e);
}

int wl_report_build_table(struct wl_document **out, const struct wl_observations *table,
                          const struct wl_report_options *options, struct wl_arena *a, struct wl_err *e)
{
    return build(out, NULL, table, options, a, e);
}
