#include "report/from_table.h"

#include "settings/settings.h"

#include <math.h>

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

void wl_report_data_from_table(struct wl_report_data *g, const struct wl_observations *obs)
{
    bool *seen = wl_new_array(g->arena, bool, obs->runs);
    const char **labels = wl_new_array(g->arena, const char *, obs->n);
    g->observations = *obs;
    g->observations.run = labels; /* elsewhere a run is known by its number */
    g->runs = (struct wl_run_rows) { wl_new_array(g->arena, struct wl_run_row, obs->runs), obs->runs };
    for (size_t i = 0; i < obs->n; i++) {
        const size_t k = obs->run_index[i];
        labels[i] = wl_strf(g->arena, "%zu", k + 1);
        if (!seen[k]) g->runs.v[k] = first_row(obs, i, g->arena);
        seen[k] = true;
        add_epoch(&g->runs.v[k], obs, i);
    }
    for (size_t k = 0; k < g->runs.n; k++) {
        struct wl_run_row *run = &g->runs.v[k];
        run->mean_power_w = run->energy_j / run->time_s;
        run->epoch_time_s = run->time_s / run->epochs_seen;
    }
}
