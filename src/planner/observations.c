/* From the observation table to one row per configuration. */
#include "planner/calibrate.h"

#include <math.h>
#include <string.h>

/* Of one run: sums over its rows. */
struct run {
    size_t workload, epochs;
    struct wl_planner_setting at;
    double ln_time, time_s, energy_j, first_epoch;
    bool skipped, simulated, without_energy; /* without: an epoch's is not above 0 */
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
    const double replicas = obs->workers[row] / (double)(w->tensor_parallel * w->pipeline_stages);
    const double steps = obs->global_batch[row] / (batch * replicas);
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
    r->without_energy = r->without_energy || obs->energy_j[i] <= 0;
    r->simulated = r->simulated || obs->simulated[i] == 1;
}

static bool same(double x, double y) { return x == y || (isnan(x) && isnan(y)); }

static bool same_setting(const struct wl_planner_setting *x, const struct wl_planner_setting *y)
{
    return same(x->workers, y->workers) && same(x->local_batch, y->local_batch) && same(x->samples, y->samples) &&
           same(x->accumulation, y->accumulation) && same(x->cap_w, y->cap_w) && same(x->clock_mhz, y->clock_mhz);
}

/* Runs of each configuration that measured an energy. */
struct powered {
    size_t *n, size, cap;
};

static struct wl_planner_row *row_of(struct wl_planner_rows *out, struct powered *powered, const struct run *r,
                                     struct wl_arena *a)
{
    for (size_t i = 0; i < out->n; i++)
        if (out->v[i].workload == r->workload && same_setting(&out->v[i].at, &r->at)) return &out->v[i];
    WL_GROW(a, out->v, out->n, out->cap);
    WL_GROW(a, powered->n, powered->size, powered->cap);
    powered->n[powered->size++] = 0;
    out->v[out->n] = (struct wl_planner_row) { r->workload, r->at, 0, NAN, 0 };
    return &out->v[out->n++];
}

/* Running means over the runs of a configuration: of times, and of powers where there is one. */
static void add_run(struct wl_planner_rows *out, struct powered *powered, const struct run *r, struct wl_arena *a)
{
    struct wl_planner_row *row = row_of(out, powered, r, a);
    const double ln_power = r->without_energy ? NAN : log(r->energy_j / r->time_s / r->at.workers);
    out->simulated = out->simulated || r->simulated;
    row->ln_time += (r->ln_time / (double)r->epochs - row->ln_time) / (double)++row->runs;
    if (isnan(ln_power)) return;
    const double n = (double)++powered->n[row - out->v];
    row->ln_power = n == 1 ? ln_power : row->ln_power + (ln_power - row->ln_power) / n;
}

int wl_planner_rows_of(const struct wl_planner_plan *p, const struct wl_observations *obs, struct wl_planner_rows *out,
                       struct wl_arena *a, struct wl_err *e)
{
    struct run *runs = wl_new_array(a, struct run, obs->runs);
    size_t *rows = wl_new_array(a, size_t, obs->runs), skipped = 0, without = 0;
    struct powered powered = { 0 };
    *out = (struct wl_planner_rows) { 0 };
    first_epochs(obs, runs, rows);
    for (size_t i = 0; i < obs->n; i++) {
        struct run *r = &runs[obs->run_index[i]];
        if (!is_excluded(obs, i, r, rows[obs->run_index[i]])) add_observation(p, obs, i, r);
    }
    for (size_t i = 0; i < obs->runs; i++) {
        skipped += runs[i].skipped;
        if (runs[i].skipped || !runs[i].epochs) continue;
        add_run(out, &powered, &runs[i], a);
        without += runs[i].without_energy;
    }
    if (skipped)
        wl_strs_addf(a, &out->notes, "%zu of %zu runs are not used: no workload of the plan, or no workers or time",
                     skipped, obs->runs);
    if (without)
        wl_strs_addf(a, &out->notes, "energies of %zu of %zu runs are not used: energy_j of an epoch is not above 0",
                     without, obs->runs);
    if (out->n) return 0;
    return wl_fail(e, WL_EINVAL, "%s: no run of a workload of %s (first: %s)", obs->source, p->path,
                   p->workloads[0].name);
}
