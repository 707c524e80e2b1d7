/* Energy and power against workers. */
#include "report/group_figure.h"
#include "report/sections/sections.h"

#include <math.h>
#include <stdint.h>

/* Marks the figure as estimated where its energies are. */
static void mark_estimates(const struct wl_report_data *g, size_t facet, struct wl_figure *f)
{
    for (size_t i = 0; i < g->n_drawn; i++) {
        if (g->groups[i].facet == facet) f->estimated = f->estimated || g->groups[i].law->estimated;
    }
}

static struct wl_figure *energy_ratio_figure(const struct wl_report_data *g, size_t facet)
{
    struct wl_figure *f =
        wl_report_ratio_figure(g, facet, "energy-ratio",
                               wl_strf(g->arena, "Energy of %s, relative", wl_report_data_one_span(g)), "energy");
    f->metrics = "epoch-energy energy-ratio ratio95";
    f->caption =
        "Points: geometric means over the runs of a configuration, with 95 % intervals where there are repeats. "
        "Dashed: no change.";
    mark_estimates(g, facet, f);
    for (size_t i = 0; i < g->n_drawn; i++) {
        if (g->groups[i].facet == facet)
            wl_report_add_ratios(f, &g->groups[i], offsetof(struct wl_law_config, energy_ratio),
                                 offsetof(struct wl_law_config, energy));
    }
    if (wl_figure_empty(f)) return f;

    double *x = wl_new_array(g->arena, double, 2), *one = wl_new_array(g->arena, double, 2);
    x[0] = f->x.ticks.v[0];
    x[1] = f->x.ticks.v[f->x.ticks.n - 1];
    one[0] = one[1] = 1;
    wl_figure_add(f, &(struct wl_figure_series) { .label = "no change",
                                                  .style = WL_STYLE_LINE,
                                                  .n = 2,
                                                  .x = x,
                                                  .y = one,
                                                  .colour = WL_COLOUR_NEUTRAL,
                                                  .dashed = true });
    wl_figure_finish(f);
    return f;
}

/* ---- mean power: bars over the worker counts ---- */

static size_t place_of(const struct wl_reals *counts, double workers)
{
    size_t k = 0;
    while (k < counts->n && counts->v[k] != workers) k++;
    return k;
}

/* An axis on which worker count k of the list is at position k. */
static struct wl_figure_axis count_axis(const struct wl_report_data *g, const struct wl_reals *counts)
{
    struct wl_figure_axis axis = { .label = "workers", .min = NAN, .max = NAN };
    axis.ticks = (struct wl_reals) { wl_new_array(g->arena, double, counts->n), counts->n };
    for (size_t i = 0; i < counts->n; i++) {
        axis.ticks.v[i] = (double)i;
        wl_strs_add(g->arena, &axis.names, wl_strf(g->arena, "%.15g", counts->v[i]));
    }
    return axis;
}

static struct wl_figure *power_figure(const struct wl_report_data *g, size_t facet)
{
    struct wl_figure *f = wl_report_group_figure(g, facet, "mean-power", "Mean power while training");
    struct wl_reals counts = wl_report_worker_counts(g, facet, SIZE_MAX);
    f->x = count_axis(g, &counts);
    f->y = (struct wl_figure_axis) { .label = "mean power", .unit = "W", .zero = true, .min = NAN, .max = NAN };
    f->metrics = "mean-power";
    f->caption = "All chosen devices of the job together.";
    mark_estimates(g, facet, f);
    for (size_t i = 0; i < g->n_drawn; i++) {
        const struct wl_report_group *group = &g->groups[i];
        if (group->facet != facet) continue;
        size_t n = group->law->n_configs;
        double *x = wl_new_array(g->arena, double, n), *y = wl_new_array(g->arena, double, n);
        for (size_t k = 0; k < n; k++) {
            const struct wl_law_config *c = &group->law->configs[k];
            x[k] = (double)place_of(&counts, c->workers);
            y[k] = c->energy_j / c->time_s;
        }
        wl_figure_add(
            f, &(struct wl_figure_series) {
                   .label = group->label, .style = WL_STYLE_BARS, .n = n, .x = x, .y = y, .colour = group->colour });
    }
    if (!wl_figure_empty(f)) wl_figure_finish(f);
    return f;
}

/* *s is made where it is NULL and there is something to show. */
void wl_report_add_energy_figures(const struct wl_report_data *g, struct wl_document *d, struct wl_section **s)
{
    for (size_t k = 0; k < g->n_facets; k++) {
        struct wl_figure *figures[] = { wl_report_facet_scales(g, k) ? energy_ratio_figure(g, k) : NULL,
                                        power_figure(g, k) };
        for (size_t i = 0; i < WL_COUNT(figures); i++) {
            if (!figures[i] || wl_figure_empty(figures[i])) continue;
            if (!*s) *s = wl_document_section(d, "energy", "Energy and power against workers");
            wl_section_figure(d, *s, figures[i]);
        }
    }
}

void wl_report_add_energy(const struct wl_report_data *g, struct wl_document *d)
{
    struct wl_section *s = NULL;
    wl_report_add_energy_figures(g, d, &s);
}
