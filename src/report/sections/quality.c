/* What runs had learned at their end, against workers: the price of going faster (Huber et al. 2025). */
#include "report/group_figure.h"
#include "report/metric_info.h"
#include "report/sections/sections.h"

#include <math.h>

/* The main metrics that runs of the facet ended with, each once. */
static struct wl_strs metrics_of(const struct wl_report_data *g, size_t facet)
{
    struct wl_strs names = { 0 };
    for (size_t i = 0; i < g->n_drawn; i++) {
        const struct wl_law_group *law = g->groups[i].law;
        for (size_t k = 0; g->groups[i].facet == facet && k < law->n_runs; k++) {
            const struct wl_run_row *run = wl_report_data_run_by_label(g, law->runs[k].label);
            bool known = !run || !run->metric || !isfinite(run->metric_value);
            for (size_t j = 0; j < names.n && !known; j++) known = wl_str_eq(names.v[j], run->metric);
            if (!known) wl_strs_add(g->arena, &names, run->metric);
        }
    }
    return names;
}

/* Mean over the runs of a configuration with its t interval, NAN below two runs. */
static struct wl_estimate end_of(const struct wl_report_data *g, const struct wl_law_group *law, double workers,
                                 const char *metric)
{
    double *v = wl_new_array(g->arena, double, law->n_runs);
    size_t n = 0;
    for (size_t i = 0; i < law->n_runs; i++) {
        const struct wl_run_row *run =
            law->runs[i].workers == workers ? wl_report_data_run_by_label(g, law->runs[i].label) : NULL;
        if (run && wl_str_eq(run->metric, metric) && isfinite(run->metric_value)) v[n++] = run->metric_value;
    }
    return wl_mean_interval(v, n, WL_LAW_CONFIDENCE);
}

static void add_group(const struct wl_report_data *g, const struct wl_report_group *group, const char *metric,
                      struct wl_figure *f)
{
    const struct wl_law_group *law = group->law;
    struct wl_estimate *e = wl_new_array(g->arena, struct wl_estimate, law->n_configs);
    for (size_t i = 0; i < law->n_configs; i++) e[i] = end_of(g, law, law->configs[i].workers, metric);
    wl_report_add_estimates(f, group, e);
}

static struct wl_figure *quality_figure(const struct wl_report_data *g, size_t facet, const char *metric)
{
    const struct wl_metric_info info = wl_metric_info_of(&g->metric_defs, g->facets[facet].workload, metric);
    struct wl_figure *f =
        wl_report_group_figure(g, facet, wl_strf(g->arena, "quality-%s", wl_slug(metric, g->arena)),
                               wl_strf(g->arena, "%s at the end of a run", wl_metric_info_title(&info, g->arena)));
    f->y = (struct wl_figure_axis) { .label = wl_metric_info_axis(&info), .unit = info.unit, .min = NAN, .max = NAN };
    f->metrics = "quality-end";
    f->caption = "Points: means over the runs of a configuration, with 95 % intervals where there are repeats.";
    for (size_t i = 0; i < g->n_drawn; i++) {
        if (g->groups[i].facet == facet) add_group(g, &g->groups[i], metric, f);
    }
    if (!wl_figure_empty(f)) wl_figure_finish(f);
    return f;
}

/* *s is made where it is NULL and there is something to show. */
void wl_report_add_quality_figures(const struct wl_report_data *g, struct wl_document *d, struct wl_section **s)
{
    for (size_t k = 0; k < g->n_facets; k++) {
        struct wl_strs metrics = metrics_of(g, k);
        for (size_t i = 0; i < metrics.n; i++) {
            struct wl_figure *f = quality_figure(g, k, metrics.v[i]);
            if (wl_figure_empty(f)) continue;
            if (!*s) *s = wl_document_section(d, "learning", "Loss and accuracy");
            wl_section_figure(d, *s, f);
        }
    }
}
