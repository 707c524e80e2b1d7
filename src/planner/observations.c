/* From the observation table to one row per configuration. */
#include "planner/calibrate.h"

#include <math.h>
#include <string.h>

/* Of one run: sums over its rows. */
struct run {
    size_t workload, epochs;
    struct wl_planner_setting at;
    double ln_time, time_s, energy_j, first_epoch;
    bool skipped, simulated;
};

static bool is_excluded(const struct wl_observations *obs, size_t row, const struct run *r, size_t rows_of_run)
{
    return rows_of_run > 1 && (isnan(obs->epoch[row]) || obs->epoch[row] == r->first_epoch);
}

static int workload_of(const struct wl_planner_plan *p, const struct wl_observations *obs, size_t row)
{
    if (!obs->workload[row]) return p->n_workloads == 1 ? 0 : -1;
    return wl_planner_workload_index(p, obs->workload[row]);
}

static struct wl_planner_setting setting_of(const struct wl_observations *obs, size_t row,
                                            const struct wl_planner_workload *w)
{
    const double batch = isnan(obs->local_batch[row]) ? w->local_batch : obs->local_batch[row];
    const double steps = obs->global_batch[row] / (batch * obs->workers[row]);
    return (struct wl_planner_setting) { .workers = obs->workers[row],
                                         .local_batch = batch,
                                         .accumulation = steps >= 1 ? round(steps) : NAN,
                                         .samples = obs->samples[row],
                                         .cap_w = obs->power_cap_w[row],
                                         .clock_mhz = obs->clock_mhz[row] };
}

static void first_epochs(const struct wl_observations *obs, struct run *runs, size_t *rows)
{
    for (size_t i = 0; i < obs->n; i++) {
        struct run *r = &runs[obs->run_index[i]];
        if (!rows[obs->run_index[i]]++) r->first_epoch = NAN;
        r->first_epoch = fmin(r->first_epoch, obs->epoch[i]);
    }
}

static void add_observation(const struct wl_planner_plan *p, const struct wl_observations *obs, size_t i, struct run *r)
{
    const int w = workload_of(p, obs, i);
    r->skipped = r->skipped || w < 0 || !(obs->workers[i] >= 1) || !(obs->time_s[i] > 0);
    if (r->skipped) return;
    r->workload = (size_t)w;
    if (!r->epochs++) r->at = setting_of(obs, i, &p->workloads[w]);
    r->ln_time += log(obs->time_s[i]);
    r->time_s += obs->time_s[i];
    r->energy_j += obs->energy_j[i];
    r->simulated = r->simulated || obs->simulated[i] == 1;
}

static bool same(double x, double y) { return x == y || (isnan(x) && isnan(y)); }

static bool same_setting(const struct wl_planner_setting *x, const struct wl_planner_setting *y)
{
    return same(x->workers, y->workers) && same(x->local_batch, y->local_batch) && same(x->samples, y->samples) &&
           same(x->accumulation, y->accumulation) && same(x->cap_w, y->cap_w) && same(x->clock_mhz, y->clock_mhz);
}

/* Running means over the runs of a configuration. */
static void add_run(struct wl_planner_rows *out, const struct run *r, struct wl_arena *a)
{
    out->simulated = out->simulated || r->simulated;
    const double ln_time = r->ln_time / (double)r->epochs, ln_power = log(r->energy_j / r->time_s / r->at.workers);
    for (size_t i = 0; i < out->n; i++) {
        struct wl_planner_row *row = &out->v[i];
        if (row->workload != r->workload || !same_setting(&row->at, &r->at)) continue;
        row->runs++;
        row->ln_time += (ln_time - row->ln_time) / (double)row->runs;
        row->ln_power += (ln_power - row->ln_power) / (double)row->runs;
        return;
    }
    WL_GROW(a, out->v, out->n, out->cap);
    out->v[out->n++] = (struct wl_planner_row) { r->workload, r->at, ln_time, ln_power, 1 };
}

int wl_planner_rows_of(const struct wl_planner_plan *p, const struct wl_observations *obs, struct wl_planner_rows *out,
                       struct wl_arena *a, struct wl_err *e)
{
    struct run *runs = wl_new_array(a, struct run, obs->runs);
    size_t *rows = wl_new_array(a, size_t, obs->runs), skipped = 0;
    *out = (struct wl_planner_rows) { 0 };
    first_epochs(obs, runs, rows);
    for (size_t i = 0; i < obs->n; i++) {
        struct run *r = &runs[obs->run_index[i]];
        if (!is_excluded(obs, i, r, rows[obs->run_index[i]])) add_observation(p, obs, i, r);
    }
    for (size_t i = 0; i < obs->runs; i++) {
        skipped += runs[i].skipped;
        if (!runs[i].skipped && runs[i].epochs) add_run(out, &runs[i], a);
    }
    if (skipped)
        wl_strs_addf(a, &out->notes, "%zu of %zu runs are not used: no workload of the plan, or no workers or time",
                     skipped, obs->runs);
    if (out->n) return 0;
    return wl_fail(e, WL_EINVAL, "%s: no run of a workload of %s (first: %s)", obs->source, p->path,
                   p->workloads[0].name);
}
