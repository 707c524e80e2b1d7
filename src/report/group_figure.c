#include "report/group_figure.h"

#include "report/groups.h"

#include <math.h>

enum { MAX_TICKS = 12 };

struct wl_reals wl_report_worker_counts(const struct wl_report_data *g, size_t facet, size_t most)
{
    size_t n = 0;
    for (size_t i = 0; i < g->n_drawn; i++) n += g->groups[i].law->n_configs;
    double *workers = wl_new_array(g->arena, double, n);
    n = 0;
    for (size_t i = 0; i < g->n_drawn; i++) {
        const struct wl_law_group *law = g->groups[i].law;
        for (size_t k = 0; g->groups[i].facet == facet && k < law->n_configs; k++)
            workers[n++] = law->configs[k].workers;
    }
    return wl_ticks_counts(workers, n, true, most, g->arena);
}

struct wl_figure *wl_report_group_figure(const struct wl_report_data *g, size_t facet, const char *id,
                                         const char *title)
{
    struct wl_figure *f =
        wl_figure_new(g->arena, wl_report_facet_id(g, facet, id), wl_report_facet_title(g, facet, title));
    f->workload = g->facets[facet].workload;
    f->factor = "workers";
    f->x = (struct wl_figure_axis) { .label = "workers", .log = true, .min = NAN, .max = NAN };
    f->x.ticks = wl_report_worker_counts(g, facet, MAX_TICKS);
    for (size_t i = 0; i < g->n_drawn; i++) {
        if (g->groups[i].facet == facet) f->simulated = f->simulated || g->groups[i].law->simulated;
    }
    return f;
}

void wl_report_add_estimates(struct wl_figure *f, const struct wl_report_group *group,
                             const struct wl_estimate *estimates)
{
    size_t n = group->law->n_configs;
    double *x = wl_new_array(f->arena, double, n), *y = wl_new_array(f->arena, double, n),
           *lo = wl_new_array(f->arena, double, n), *hi = wl_new_array(f->arena, double, n);
    for (size_t i = 0; i < n; i++) {
        x[i] = group->law->configs[i].workers;
        y[i] = estimates[i].value;
        lo[i] = estimates[i].lo;
        hi[i] = estimates[i].hi;
    }
    wl_figure_add(f, &(struct wl_figure_series) { .label = group->label,
                                                  .style = WL_STYLE_POINTS,
                                                  .n = n,
                                                  .x = x,
                                                  .y = y,
                                                  .lo = lo,
                                                  .hi = hi,
                                                  .colour = group->colour,
                                                  .marker = group->marker });
    wl_figure_add(f,
                  &(struct wl_figure_series) {
                      .style = WL_STYLE_LINE, .n = n, .x = x, .y = y, .colour = group->colour, .dash = group->dash });
}

/* Are the groups of a facet of one workload, with the same kind of work in an epoch? */
static bool same_work(const struct wl_report_data *g, size_t facet)
{
    const struct wl_report_group *first = NULL;
    for (size_t i = 0; i < g->n_drawn; i++) {
        const struct wl_report_group *group = &g->groups[i];
        if (group->facet != facet) continue;
        if (!first) first = group;
        if (!wl_str_eq(group->workload, first->workload) || group->law->scaling != first->law->scaling) return false;
    }
    return first && first->law->scaling != WL_SCALING_UNKNOWN;
}

struct wl_figure *wl_report_ratio_figure(const struct wl_report_data *g, size_t facet, const char *id,
                                         const char *title, const char *name)
{
    struct wl_figure *f = wl_report_group_figure(g, facet, id, title);
    f->base = (struct wl_figure_base) { .name = name, .groups = same_work(g, facet) };
    f->y = (struct wl_figure_axis) { .label = wl_strf(g->arena, "%s over the fewest workers", name),
                                     .min = NAN,
                                     .max = NAN };
    return f;
}

static const void *member_of(const struct wl_law_config *c, size_t offset) { return (const char *)c + offset; }

void wl_report_add_ratios(struct wl_figure *f, const struct wl_report_group *group, size_t ratio, size_t mean)
{
    const size_t n = group->law->n_configs, points = f->n_series;
    struct wl_estimate *ratios = wl_new_array(f->arena, struct wl_estimate, n);
    struct wl_figure_mean *means = wl_new_array(f->arena, struct wl_figure_mean, n);
    for (size_t i = 0; i < n; i++) {
        const struct wl_law_mean *m = member_of(&group->law->configs[i], mean);
        ratios[i] = *(const struct wl_estimate *)member_of(&group->law->configs[i], ratio);
        means[i] = (struct wl_figure_mean) { m->ln, m->variance, m->runs };
    }
    wl_report_add_estimates(f, group, ratios);
    f->series[points].means = means;
}

bool wl_report_facet_scales(const struct wl_report_data *g, size_t facet)
{
    for (size_t i = 0; i < g->n_drawn; i++)
        if (g->groups[i].facet == facet && g->groups[i].law->n_configs > 1) return true;
    return false;
}

static bool has_count(const struct wl_reals *at, double workers)
{
    for (size_t i = 0; i < at->n; i++)
        if (at->v[i] == workers) return true;
    return false;
}

void wl_report_choose_counts(const struct wl_report_data *g, const double *counts, size_t n, struct wl_figure *f)
{
    const struct wl_reals *at = &g->options.at;
    bool any = false;
    for (size_t i = 0; i < n; i++) any = any || has_count(at, counts[i]);
    for (size_t i = 0; i < n; i++)
        wl_figure_option(f, 0, "workers", wl_strf(f->arena, "%.15g", counts[i]),
                         any ? has_count(at, counts[i]) : i == 0 || i + 1 == n);
}
