/* Beyond the measured worker counts: the forecast of each group with its intervals and the curves that make it up. */
#include "report/sections/sections.h"

#include <math.h>

enum { FAN_POINTS = 13, MAX_FIGURES = 6 };
static const double shown_below = 8;     /* the figures begin at this fraction of the largest measured worker count */
static const double reach = 4;           /* of the figures, times the largest measured worker count */
static const double least_weight = 0.02; /* of a family that is drawn */
static const double table_reach[] = { 2, 4 };

/* ---- figures ---- */

static void add_configurations(struct wl_figure *f, const struct wl_law_group *law, double from)
{
    size_t n = 0;
    double *x = wl_new_array(f->arena, double, law->n_configs), *y = wl_new_array(f->arena, double, law->n_configs);
    for (size_t i = 0; i < law->n_configs; i++) {
        if (law->configs[i].workers < from) continue;
        x[n] = law->configs[i].workers;
        y[n++] = law->configs[i].response;
    }
    wl_figure_add(f,
                  &(struct wl_figure_series) { .label = "measured", .style = WL_STYLE_POINTS, .n = n, .x = x, .y = y });
}

static void add_band(struct wl_figure *f, const char *label, const struct wl_law_fan *fan, const double *lo,
                     const double *hi, int colour)
{
    wl_figure_add(f, &(struct wl_figure_series) { .label = label,
                                                  .style = WL_STYLE_BAND,
                                                  .n = fan->n,
                                                  .x = fan->workers,
                                                  .lo = lo,
                                                  .hi = hi,
                                                  .colour = colour });
}

static void add_families(struct wl_figure *f, const struct wl_law_posterior *p, const struct wl_law_fan *fan)
{
    for (int k = 0, colour = 2; k < WL_HIER_FAMILIES; k++) {
        if (!fan->family[k]) continue;
        wl_figure_add(f, &(struct wl_figure_series) { .label = wl_strf(f->arena, "%s, weight %.2f",
                                                                       wl_hier_family_name((enum wl_hier_family)k),
                                                                       p->fit.weight[k]),
                                                      .style = WL_STYLE_LINE,
                                                      .n = fan->n,
                                                      .x = fan->workers,
                                                      .y = fan->family[k],
                                                      .colour = colour++,
                                                      .dashed = true });
    }
}

static struct wl_figure *fan_figure(const struct wl_report_data *g, const struct wl_report_group *group,
                                    const struct wl_law_posterior *p)
{
    struct wl_arena *a = g->arena;
    const double largest = p->data->workers[p->data->n_configs - 1], to = reach * largest,
                 from = fmax(p->data->workers[0], largest / shown_below);
    const struct wl_law_fan fan = wl_law_fan(p, from, to, FAN_POINTS, least_weight, a);
    struct wl_figure *f =
        wl_figure_new(a, wl_strf(a, "forecast-%s", wl_slug(group->name, a)), wl_strf(a, "Forecast, %s", group->name));
    f->x = (struct wl_figure_axis) { .label = "workers", .log = true, .min = NAN, .max = NAN };
    f->y = (struct wl_figure_axis) {
        .label = wl_strf(a, "%s time", wl_report_data_span(g)), .unit = "s", .log = true, .min = NAN, .max = NAN
    };
    f->metrics = "forecast";
    f->simulated = group->law->simulated;
    f->caption =
        "Points: geometric means over runs. Line: median of the forecast. Shaded: 95 % intervals for one run of a new "
        "configuration, and for the mean of a new configuration. Dashed: the curves that make it up, with their "
        "posterior weights.";
    add_band(f, "95 % of new runs", &fan, fan.lo, fan.hi, 0);
    add_band(f, "95 % of new configurations", &fan, fan.config_lo, fan.config_hi, 0);
    wl_figure_add(f, &(struct wl_figure_series) {
                         .label = "forecast", .style = WL_STYLE_LINE, .n = fan.n, .x = fan.workers, .y = fan.value });
    add_families(f, p, &fan);
    add_configurations(f, group->law, from);
    wl_figure_finish(f);
    return f;
}

/* ---- table ---- */

static const struct wl_report_column columns[] = {
    { .id = "group", .label = "group", .text = true },
    { .id = "workers", .label = "workers" },
    { .id = "time_s", .label = "time", .unit = "s", .metric = "forecast", .digits = 4 },
    { .id = "run_lo", .label = "95 % of new runs from", .unit = "s", .metric = "forecast", .digits = 4 },
    { .id = "run_hi", .label = "to", .unit = "s", .metric = "forecast", .digits = 4 },
    { .id = "config_lo", .label = "95 % of new configurations from", .unit = "s", .metric = "forecast", .digits = 4 },
    { .id = "config_hi", .label = "to", .unit = "s", .metric = "forecast", .digits = 4 },
    { .id = "measure_at", .label = "measuring this many workers narrows it most", .metric = "forecast-narrower" },
    { .id = "narrower_pct", .label = "to % of its width", .unit = "%", .metric = "forecast-narrower", .digits = 2 },
};

static void add_rows(struct wl_report_table *t, const struct wl_report_group *group, const struct wl_law_posterior *p)
{
    const double largest = p->data->workers[p->data->n_configs - 1];
    double at[WL_COUNT(table_reach)];
    for (size_t i = 0; i < WL_COUNT(at); i++) at[i] = table_reach[i] * largest;
    const struct wl_law_forecast *forecasts = wl_law_forecasts(p, at, WL_COUNT(at), t->arena);
    for (size_t i = 0; i < WL_COUNT(at); i++) {
        const struct wl_law_forecast f = forecasts[i];
        wl_report_table_text(t, group->name);
        wl_report_table_real(t, f.workers);
        wl_report_table_real(t, f.value);
        wl_report_table_real(t, f.lo);
        wl_report_table_real(t, f.hi);
        wl_report_table_real(t, f.config_lo);
        wl_report_table_real(t, f.config_hi);
        wl_report_table_real(t, f.measure_at);
        wl_report_table_real(t, 100 * f.narrower);
    }
    t->simulated = t->simulated || group->law->simulated;
}

int wl_report_add_forecast(const struct wl_report_data *g, struct wl_document *d, struct wl_err *e)
{
    struct wl_report_table *t =
        wl_report_table_new(g->arena, "forecast", "Twice and four times the largest worker count", columns,
                            WL_COUNT(columns));
    t->caption = "By the hierarchical model (wattlaw predict); a group without a row has one worker count, or epochs "
                 "of unlike work.";
    struct wl_section *s = NULL;
    for (size_t i = 0; i < g->n_groups; i++) {
        struct wl_law_posterior p;
        int rc = wl_law_posterior(g->groups[i].law, WL_LAW_TIME, NULL, false, &p, g->arena, e);
        if (rc) return rc;
        if (p.refusal) continue;
        if (!s) s = wl_document_section(d, "forecast", "Beyond the measured worker counts");
        if (i < MAX_FIGURES) wl_section_figure(d, s, fan_figure(g, &g->groups[i], &p));
        add_rows(t, &g->groups[i], &p);
    }
    if (s) wl_section_table(d, s, t);
    return 0;
}
