/* Beyond the measured worker counts: the forecast of each group with its intervals and the curves that make it up. */
#include "report/fan_figure.h"
#include "report/sections/sections.h"

#include <math.h>

enum { MAX_FIGURES = 6 };
static const double table_reach[] = { 2, 4 };

static struct wl_figure *fan_figure(const struct wl_report_data *g, const struct wl_report_group *group)
{
    struct wl_figure *f = wl_report_fan_figure(&(struct wl_report_fan) { .law = group->law,
                                                                         .posterior = &group->model->posterior,
                                                                         .response = WL_LAW_TIME,
                                                                         .name = group->name,
                                                                         .span = g->span,
                                                                         .of_amount = g->work != NULL },
                                               g->arena);
    f->workload = *group->workload ? group->workload : NULL;
    f->factor = "workers";
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

static void add_rows(struct wl_report_table *t, const struct wl_report_group *group)
{
    const struct wl_law_posterior *p = &group->model->posterior;
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

/* All groups where they are few, else the last of each workload, which has the highest cap or clock. */
static bool is_drawn(const struct wl_report_data *g, size_t i)
{
    return g->n_groups <= MAX_FIGURES || i + 1 == g->n_groups ||
           !wl_str_eq(g->groups[i].workload, g->groups[i + 1].workload);
}

void wl_report_add_forecast(const struct wl_report_data *g, struct wl_document *d)
{
    struct wl_report_table *t =
        wl_report_table_new(g->arena, "forecast", "Twice and four times the largest worker count", columns,
                            WL_COUNT(columns));
    t->caption = "By the hierarchical model (wattlaw predict); a group without a row has one worker count, or epochs "
                 "of unlike work.";
    struct wl_section *s = NULL;
    for (size_t i = 0; i < g->n_groups; i++) {
        if (g->groups[i].model->posterior.refusal) continue;
        if (!s) s = wl_document_section(d, "forecast", "Beyond the measured worker counts");
        if (is_drawn(g, i)) wl_section_figure(d, s, fan_figure(g, &g->groups[i]));
        add_rows(t, &g->groups[i]);
    }
    if (s) wl_section_table(d, s, t);
}
