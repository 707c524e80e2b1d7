/* All runs, the failed ones with their reasons. */
#include "report/sections/runs.h"

#include "report/sections/sections.h"
#include "settings/settings.h"

#include <math.h>

/* Before and after those of the settings and of caps. */
static const struct wl_report_column number_column[] = { { .id = "run", .label = "run" } };
static const struct wl_report_column label_column[] = { { .id = "label", .label = "label", .text = true } };
static const struct wl_report_column measured_columns[] = {
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
};
static const struct wl_report_column end_columns[] = {
    { .id = "metric", .label = "last metric", .text = true },
    { .id = "metric_value", .label = "its value", .metric = "quality", .digits = 3 },
    { .id = "metric_unit", .label = "its unit", .text = true },
    { .id = "reason", .label = "not used because", .text = true, .notable = true },
};

char *wl_report_run_reason(const struct wl_run_row *run, struct wl_arena *a)
{
    if (run->flag) return wl_strdup(a, run->flag);
    if (run->status != WL_RUN_FAILED && run->status != WL_RUN_INTERRUPTED) return NULL;
    if (run->error) return wl_strdup(a, run->error);
    if (isfinite(run->signal)) return wl_strf(a, "ended by signal %.0f", run->signal);
    return isfinite(run->exit_status) ? wl_strf(a, "exit status %.0f", run->exit_status) : NULL;
}

void wl_report_clock_columns(struct wl_report_columns *to, const char *suffix, struct wl_arena *a)
{
    for (const struct wl_setting *r = NULL; (r = wl_setting_next_clock(r));) {
        const struct wl_report_column column = { .id = r->achieved,
                                                 .label = wl_strf(a, "%s%s", wl_setting_limited(r, a), suffix),
                                                 .unit = r->unit,
                                                 .metric = "achieved-clock",
                                                 .digits = 4 };
        wl_report_columns_add(to, &column, 1, a);
    }
}

void wl_report_clock_cells(struct wl_report_table *t, const double mhz[WL_CAP_KINDS])
{
    for (const struct wl_setting *r = NULL; (r = wl_setting_next_clock(r));) wl_report_table_real(t, mhz[r->cap]);
}

/* The rows of the table of settings that have a column. */
struct settings_shown {
    const struct wl_setting **v;
    size_t n, cap;
};

static bool some_run_has(const struct wl_run_rows *runs, const struct wl_setting *choice, struct wl_arena *a)
{
    for (size_t i = 0; i < runs->n; i++)
        if (wl_setting_choice(choice, &runs->v[i].set, a)) return true;
    return false;
}

static struct settings_shown settings_to_show(const struct wl_run_rows *runs, struct wl_arena *a)
{
    struct settings_shown list = { 0 };
    for (const struct wl_setting *r = wl_settings_table; r->name; r++) {
        if (!r->in_runs || (r->type == WL_SETTING_CHOICE && !some_run_has(runs, r, a))) continue;
        WL_GROW(a, list.v, list.n, list.cap);
        list.v[list.n++] = r;
    }
    return list;
}

static bool is_text(const struct wl_setting *r) { return r->type == WL_SETTING_TEXT || r->type == WL_SETTING_CHOICE; }

static void add_settings_cells(struct wl_report_table *t, const struct settings_shown *list,
                               const struct wl_settings *set)
{
    for (size_t i = 0; i < list->n; i++) {
        const struct wl_setting *r = list->v[i];
        if (r->type == WL_SETTING_CHOICE)
            wl_report_table_text(t, wl_setting_choice(r, set, t->arena));
        else if (r->type == WL_SETTING_TEXT)
            wl_report_table_text(t, wl_setting_string(r, set));
        else
            wl_report_table_real(t, wl_setting_real(r, set));
    }
}

static void add_row(const struct wl_report_data *g, struct wl_report_table *t, const struct settings_shown *list,
                    size_t i)
{
    const struct wl_run_row *run = &g->runs.v[i];
    wl_report_table_real(t, (double)run->id);
    if (g->run_labels) wl_report_table_text(t, g->run_labels[i]);
    add_settings_cells(t, list, &run->set);
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
    wl_report_clock_cells(t, run->achieved);
    for (const struct wl_setting *r = NULL; (r = wl_setting_next_cap(r));)
        wl_report_table_real(t, run->acted_pct[r->cap]);
    wl_report_table_text(t, run->metric);
    wl_report_table_real(t, run->metric_value);
    wl_report_table_text(t, run->metric_unit);
    wl_report_table_text(t, wl_report_run_reason(run, t->arena));
    t->estimated = t->estimated || run->estimated;
    t->simulated = t->simulated || run->simulated;
}

static void add_settings_columns(struct wl_report_columns *to, const struct settings_shown *list, struct wl_arena *a)
{
    for (size_t i = 0; i < list->n; i++) {
        const struct wl_setting *r = list->v[i];
        const struct wl_report_column column = { .id = r->name,
                                                 .label = r->label,
                                                 .unit = r->is_cap ? r->unit : NULL,
                                                 .digits = r->digits,
                                                 .text = is_text(r) };
        wl_report_columns_add(to, &column, 1, a);
    }
}

static void add_acted_columns(struct wl_report_columns *to, struct wl_arena *a)
{
    for (const struct wl_setting *r = NULL; (r = wl_setting_next_cap(r));) {
        const struct wl_report_column column = {
            .id = r->acted, .label = wl_strf(a, "%s acted", r->label), .unit = "%", .metric = "caps-acted", .digits = 3
        };
        wl_report_columns_add(to, &column, 1, a);
    }
}

static struct wl_report_columns all_columns(const struct settings_shown *list, bool labels, struct wl_arena *a)
{
    struct wl_report_columns v = { 0 };
    wl_report_columns_add(&v, number_column, WL_COUNT(number_column), a);
    if (labels) wl_report_columns_add(&v, label_column, WL_COUNT(label_column), a);
    add_settings_columns(&v, list, a);
    wl_report_columns_add(&v, measured_columns, WL_COUNT(measured_columns), a);
    wl_report_clock_columns(&v, " achieved", a);
    add_acted_columns(&v, a);
    wl_report_columns_add(&v, end_columns, WL_COUNT(end_columns), a);
    return v;
}

void wl_report_add_runs(const struct wl_report_data *g, struct wl_document *d)
{
    struct wl_section *s = wl_document_section(d, "runs", "Runs");
    const struct settings_shown list = settings_to_show(&g->runs, g->arena);
    const struct wl_report_columns columns = all_columns(&list, g->run_labels != NULL, g->arena);
    struct wl_report_table *t = wl_report_table_new(g->arena, "runs", "All runs", columns.v, columns.n);
    t->caption = "In the order of execution. Wall time and energy are those of the whole job.";
    wl_report_table_reserve(t, g->runs.n);
    for (size_t i = 0; i < g->runs.n; i++) add_row(g, t, &list, i);
    wl_section_table(d, s, t);
}
