/* All runs, the failed ones with their reasons. */
#include "report/sections/runs.h"

#include "report/sections/sections.h"
#include "settings/settings.h"

#include <math.h>

/* Around those of the settings. */
static const struct wl_report_column number_column = { .id = "run", .label = "run" };
static const struct wl_report_column run_columns[] = {
    { .id = "repeat", .label = "repeat" },
    { .id = "status", .label = "status", .text = true },
    { .id = "time_s", .label = "wall time", .unit = "s", .metric = "run-time", .digits = 4 },
    { .id = "epochs", .label = "epochs" },
    { .id = "epoch_time_s", .label = "epoch time", .unit = "s", .metric = "run-epoch-time", .digits = 4 },
    { .id = "energy_j", .label = "energy", .unit = "J", .metric = "run-energy", .digits = 4 },
    { .id = "energy_lo_j", .label = "from", .unit = "J", .metric = "run-energy-range", .digits = 4 },
    { .id = "energy_hi_j", .label = "to", .unit = "J", .metric = "run-energy-range", .digits = 4 },
    { .id = "above_idle_j", .label = "above idle", .unit = "J", .metric = "run-above-idle", .digits = 4 },
    { .id = "mean_power_w", .label = "mean power", .unit = "W", .metric = "run-power", .digits = 3 },
    { .id = "input_pct", .label = "input wait", .unit = "%", .metric = "run-input", .digits = 3 },
    { .id = "power_capped", .label = "power-capped", .unit = "%", .metric = "run-capped", .digits = 3 },
    { .id = "thermal_capped", .label = "heat-capped", .unit = "%", .metric = "run-capped", .digits = 3 },
    { .id = "achieved_clock_mhz",
      .label = "SM clock achieved",
      .unit = "MHz",
      .metric = "achieved-clock",
      .digits = 4 },
    { .id = "achieved_mem_clock_mhz",
      .label = "memory clock achieved",
      .unit = "MHz",
      .metric = "achieved-clock",
      .digits = 4 },
    { .id = "power_cap_acted_pct", .label = "power cap acted", .unit = "%", .metric = "caps-acted", .digits = 3 },
    { .id = "module_cap_acted_pct",
      .label = "module power cap acted",
      .unit = "%",
      .metric = "caps-acted",
      .digits = 3 },
    { .id = "clock_acted_pct", .label = "clock acted", .unit = "%", .metric = "caps-acted", .digits = 3 },
    { .id = "mem_clock_acted_pct", .label = "memory clock acted", .unit = "%", .metric = "caps-acted", .digits = 3 },
    { .id = "metric", .label = "last metric", .text = true },
    { .id = "metric_value", .label = "its value", .metric = "quality", .digits = 3 },
    { .id = "metric_unit", .label = "its unit", .text = true },
    { .id = "reason", .label = "not used because", .text = true },
};

char *wl_report_run_reason(const struct wl_run_row *run, struct wl_arena *a)
{
    if (run->flag) return wl_strdup(a, run->flag);
    if (run->status != WL_RUN_FAILED && run->status != WL_RUN_INTERRUPTED) return NULL;
    if (run->error) return wl_strdup(a, run->error);
    if (isfinite(run->signal)) return wl_strf(a, "ended by signal %.0f", run->signal);
    return isfinite(run->exit_status) ? wl_strf(a, "exit status %.0f", run->exit_status) : NULL;
}

static void add_row(struct wl_report_table *t, const struct wl_run_row *run)
{
    wl_report_table_real(t, (double)run->id);
    for (const struct wl_setting *r = wl_settings_table; r->name; r++) {
        if (!r->in_runs) continue;
        if (r->type == WL_SETTING_TEXT)
            wl_report_table_text(t, wl_setting_string(r, &run->set));
        else
            wl_report_table_real(t, wl_setting_real(r, &run->set));
    }
    wl_report_table_real(t, (double)run->repeat);
    wl_report_table_text(t, wl_run_status_names[run->status]);
    wl_report_table_real(t, run->time_s);
    wl_report_table_real(t, run->epochs_seen);
    wl_report_table_real(t, run->epoch_time_s);
    wl_report_table_real(t, run->energy_j);
    wl_report_table_real(t, run->energy_lo_j);
    wl_report_table_real(t, run->energy_hi_j);
    wl_report_table_real(t, run->energy_j - run->idle_j);
    wl_report_table_real(t, run->mean_power_w);
    wl_report_table_real(t, run->input_pct);
    wl_report_table_real(t, run->power_capped_pct);
    wl_report_table_real(t, run->thermal_capped_pct);
    wl_report_table_real(t, run->achieved_clock_mhz);
    wl_report_table_real(t, run->achieved_mem_clock_mhz);
    wl_report_table_real(t, run->power_cap_acted_pct);
    wl_report_table_real(t, run->module_cap_acted_pct);
    wl_report_table_real(t, run->clock_acted_pct);
    wl_report_table_real(t, run->mem_clock_acted_pct);
    wl_report_table_text(t, run->metric);
    wl_report_table_real(t, run->metric_value);
    wl_report_table_text(t, run->metric_unit);
    wl_report_table_text(t, wl_report_run_reason(run, t->arena));
    t->estimated = t->estimated || run->estimated;
    t->simulated = t->simulated || run->simulated;
}

static const struct wl_report_column *all_columns(size_t *n, struct wl_arena *a)
{
    struct wl_report_column *v = NULL;
    size_t cap = 0;
    *n = 0;
    WL_GROW(a, v, *n, cap);
    v[(*n)++] = number_column;
    for (const struct wl_setting *r = wl_settings_table; r->name; r++) {
        if (!r->in_runs) continue;
        WL_GROW(a, v, *n, cap);
        v[(*n)++] = (struct wl_report_column) { .id = r->name,
                                                .label = r->label,
                                                .unit = r->is_cap ? r->unit : NULL,
                                                .digits = r->digits,
                                                .text = r->type == WL_SETTING_TEXT };
    }
    for (size_t i = 0; i < WL_COUNT(run_columns); i++) {
        WL_GROW(a, v, *n, cap);
        v[(*n)++] = run_columns[i];
    }
    return v;
}

void wl_report_add_runs(const struct wl_report_data *g, struct wl_document *d)
{
    struct wl_section *s = wl_document_section(d, "runs", "Runs");
    size_t n_columns;
    const struct wl_report_column *columns = all_columns(&n_columns, g->arena);
    struct wl_report_table *t = wl_report_table_new(g->arena, "runs", "All runs", columns, n_columns);
    t->caption = "In the order of execution. Wall time and energy are those of the whole job.";
    for (size_t i = 0; i < g->runs.n; i++) add_row(t, &g->runs.v[i]);
    wl_section_table(d, s, t);
}
