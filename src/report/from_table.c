/* Runs and what their table says of them: settings, labels, metrics. */
#include "report/from_table.h"

#include "settings/settings.h"

#include <math.h>

/* NULL: the table does not have that column of texts. */
static const char **texts_of(const struct wl_observations *obs, const char *name)
{
    struct wl_obs_column column;
    return wl_obs_find(obs, name, &column, NULL) == 0 ? column.text : NULL;
}

/* Settings without a column of a run, precision and the like, as a store has them: a JSON object, or NULL. */
static const char *choices_of(const struct wl_observations *obs, size_t row, struct wl_arena *a)
{
    struct wl_json *object = wl_json_root_object(a);
    bool any = false;
    for (const struct wl_setting *r = wl_settings_table; r->name; r++) {
        struct wl_obs_column column;
        if (r->type != WL_SETTING_CHOICE || wl_obs_find(obs, r->name, &column, NULL)) continue;
        const char *text = wl_obs_text(&column, row, a);
        if (!text || !*text) continue;
        wl_json_add_str(object, r->name, text);
        any = true;
    }
    return any ? wl_json_text(object, 0, a) : NULL;
}

static struct wl_settings settings_of(const struct wl_observations *obs, size_t row, struct wl_arena *a)
{
    struct wl_settings set = wl_settings_none;
    for (const struct wl_setting *r = wl_settings_table; r->name; r++) {
        struct wl_obs_column column;
        if (r->type == WL_SETTING_CHOICE || wl_obs_find(obs, r->name, &column, NULL)) continue;
        if (r->type == WL_SETTING_TEXT)
            wl_setting_set_string(r, &set, column.text && column.text[row] ? wl_obs_text(&column, row, a) : NULL);
        else if (column.real)
            wl_setting_set_real(r, &set, column.real[row]);
    }
    set.extra = choices_of(obs, row, a);
    return set;
}

static struct wl_run_row first_row(const struct wl_observations *obs, size_t row, struct wl_arena *a)
{
    struct wl_run_row run = { .id = (int64_t)obs->run_index[row] + 1, .status = WL_RUN_DONE };
    run.set = settings_of(obs, row, a);
    run.start.mono_ns = run.start.wall_ns = run.stop.mono_ns = run.stop.wall_ns = WL_NO_NS;
    run.seed = run.position = run.pid = run.exit_status = run.signal = NAN;
    run.sampling_asked_s = run.sampling_period_s = run.ticks = run.ticks_skipped = run.samples_lost = NAN;
    run.own_cpu_s = run.idle_s = run.sampler_cpu = run.other_run = run.idle_j = run.util_pct = NAN;
    run.input_pct = run.power_capped_pct = run.thermal_capped_pct = run.energy_lo_j = run.energy_hi_j = NAN;
    for (size_t k = 0; k < WL_CAP_KINDS; k++) run.achieved[k] = run.acted_pct[k] = NAN;
    run.epochs_seen = run.epoch_time_s = run.mean_power_w = run.metric_value = NAN;
    return run;
}

static void add_epoch(struct wl_run_row *run, const struct wl_observations *obs, size_t row)
{
    run->time_s += obs->time_s[row];
    run->energy_j += obs->energy_j[row];
    if (!isnan(obs->epoch[row])) run->epochs_seen = isnan(run->epochs_seen) ? 1 : run->epochs_seen + 1;
    run->estimated |= obs->estimated[row] > 0;
    run->simulated |= obs->simulated[row] > 0;
    if (!obs->metric[row] || isnan(obs->metric_value[row])) return;
    run->metric = obs->metric[row];
    run->metric_value = obs->metric_value[row];
}

static bool is_defined(const struct wl_metric_def_rows *defs, const struct wl_metric_def_row *def)
{
    for (size_t i = 0; i < defs->n; i++)
        if (wl_str_eq(defs->v[i].workload, def->workload) && wl_str_eq(defs->v[i].name, def->name)) return true;
    return false;
}

/* The main metric of each workload, as the columns metric_unit and metric_better define it. */
static void define_metrics(struct wl_report_data *g, const struct wl_observations *obs, const char *const *units)
{
    const char **better = texts_of(obs, "metric_better");
    size_t cap = 0;
    for (size_t i = 0; (units || better) && i < obs->n; i++) {
        const char *direction = better && better[i] ? better[i] : "";
        const struct wl_metric_def_row def = { .workload = obs->workload[i],
                                               .name = obs->metric[i],
                                               .unit = units ? units[i] : NULL,
                                               .larger = wl_str_eq(direction, "larger")    ? 1
                                                         : wl_str_eq(direction, "smaller") ? 0
                                                                                           : NAN,
                                               .main = true,
                                               .place = 1 };
        if (!def.name || is_defined(&g->metric_defs, &def)) continue;
        WL_GROW(g->arena, g->metric_defs.v, g->metric_defs.n, cap);
        g->metric_defs.v[g->metric_defs.n++] = def;
    }
}

void wl_report_data_from_table(struct wl_report_data *g, const struct wl_observations *obs)
{
    bool *seen = wl_new_array(g->arena, bool, obs->runs);
    const char **labels = wl_new_array(g->arena, const char *, obs->n);
    const char **units = texts_of(obs, "metric_unit");
    g->run_labels = wl_new_array(g->arena, const char *, obs->runs);
    g->observations = *obs;
    g->observations.run = labels; /* elsewhere a run is known by its number */
    g->runs = (struct wl_run_rows) { wl_new_array(g->arena, struct wl_run_row, obs->runs), obs->runs };
    for (size_t i = 0; i < obs->n; i++) {
        const size_t k = obs->run_index[i];
        labels[i] = wl_strf(g->arena, "%zu", k + 1);
        if (!seen[k]) g->runs.v[k] = first_row(obs, i, g->arena);
        seen[k] = true;
        if (obs->run[i] && *obs->run[i]) g->run_labels[k] = obs->run[i];
        add_epoch(&g->runs.v[k], obs, i);
        if (units && g->runs.v[k].metric == obs->metric[i]) g->runs.v[k].metric_unit = units[i];
    }
    define_metrics(g, obs, units);
    for (size_t k = 0; k < g->runs.n; k++) {
        struct wl_run_row *run = &g->runs.v[k];
        run->mean_power_w = run->energy_j / run->time_s;
        run->epoch_time_s = run->time_s / run->epochs_seen;
    }
}
