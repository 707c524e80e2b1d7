/* Rows to runs with worker-hours and kWh, and the configurations that runs share. */
#include "law/energy/collect.h"

#include "law/fit/notes.h"
#include "law/fit/runs.h"
#include "law/work.h"

#include <math.h>
#include <stdlib.h>

static const double joules_per_kwh = 3.6e6, seconds_per_hour = 3600;

/* power_w: mean power of all devices of a run as reported by another instrument or program, an extra column. */
static double identity_of(const struct wl_observations *obs, const struct wl_law_run *run)
{
    const double *power_w = wl_law_extra_column(obs, "power_w");
    return power_w ? run->sum_energy_j / (power_w[run->row] * run->sum_time_s) : NAN;
}

static double samples_of(const struct wl_energy_law_run *run) { return run->samples_per_worker_h * run->worker_h; }

/* Runs of one law and worker count, by the work of an epoch; those of unknown work come last. */
struct placed {
    size_t law, run;
    double samples;
};

static int by_law_and_work(const void *a, const void *b)
{
    const struct placed *p = a, *q = b;
    if (p->law != q->law) return p->law < q->law ? -1 : 1;
    if (isnan(p->samples) != isnan(q->samples)) return isnan(p->samples) ? 1 : -1;
    if (p->samples < q->samples || p->samples > q->samples) return p->samples < q->samples ? -1 : 1;
    return (p->run > q->run) - (p->run < q->run);
}

/* Numbers the classes of runs of one worker count from 0: those of a law whose work is that of the least one but for a
 * last partial batch. Unknown work is taken to be that of the class before. */
static void classify(const struct placed *v, size_t n, size_t *class_of)
{
    size_t classes = 0;
    double least = NAN;
    for (size_t i = 0; i < n; i++) {
        const bool other_law = !i || v[i].law != v[i - 1].law;
        if (other_law || v[i].samples > WL_LAW_SAME_WORK * least) least = v[i].samples, classes++;
        class_of[v[i].run] = classes - 1;
    }
}

/* Runs are in order of workers: numbers the triples of worker count, law and work in the order of their first runs.
 * laws: [rows] the group of the default rule. */
static void number_configs(struct wl_energy_law_group *g, const size_t *laws, const size_t *rows,
                           struct wl_arena *scratch)
{
    struct placed *v = wl_new_array(scratch, struct placed, g->n);
    size_t *class_of = wl_new_array(scratch, size_t, g->n), *number = wl_new_array(scratch, size_t, g->n);
    for (size_t i = 0; i < g->n; i++) v[i] = (struct placed) { laws[rows[i]], i, samples_of(&g->runs[i]) };
    for (size_t first = 0, end; first < g->n; first = end) {
        for (end = first; end < g->n && g->runs[end].workers == g->runs[first].workers;) end++;
        qsort(v + first, end - first, sizeof *v, by_law_and_work);
        classify(v + first, end - first, class_of);
        for (size_t i = first; i < end; i++) number[i] = SIZE_MAX; /* number[first + class] */
        for (size_t i = first; i < end; i++) {
            size_t *k = &number[first + class_of[i]];
            if (*k == SIZE_MAX) *k = g->n_configs++;
            g->runs[i].config = *k;
        }
    }
}

void wl_energy_law_collect(struct wl_energy_law_group *g, const struct wl_observations *obs,
                           const struct wl_law_partition_cell *part, int64_t drop_epochs, const size_t *laws,
                           struct wl_arena *a)
{
    struct wl_law_options law_options = { .response = WL_LAW_ENERGY, .drop_epochs = drop_epochs };
    struct wl_law_group rows = { 0 };
    size_t no_time = 0, incomplete = 0;
    struct wl_arena *scratch = wl_arena_new(a);
    wl_law_collect_runs(&rows, obs, part, &law_options, scratch);
    g->counts = rows.counts;
    g->estimated = rows.estimated;
    g->simulated = rows.simulated;
    for (size_t i = 0; i < rows.notes.n; i++) wl_strs_add(a, &g->notes, wl_strdup(a, rows.notes.v[i]));
    const double *carbon = wl_law_extra_column(obs, "carbon_g_per_kwh");
    double carbon_g = 0;
    g->runs = wl_new_array(a, struct wl_energy_law_run, rows.n_runs);
    size_t *first_rows = wl_new_array(scratch, size_t, rows.n_runs);
    for (size_t i = 0; i < rows.n_runs; i++) {
        const struct wl_law_run *from = &rows.runs[i];
        if (isnan(from->sum_time_s)) {
            no_time++;
            continue;
        }
        first_rows[g->n] = from->row;
        struct wl_energy_law_run *run = &g->runs[g->n++];
        *run = (struct wl_energy_law_run) { .label = from->label, .workers = from->workers };
        run->local_batch = obs->local_batch[from->row];
        run->worker_h = from->sum_time_s * from->workers / seconds_per_hour;
        run->kwh = from->sum_energy_j / joules_per_kwh;
        run->kwh_lo = from->sum_energy_lo_j / joules_per_kwh;
        run->kwh_hi = from->sum_energy_hi_j / joules_per_kwh;
        run->rate = run->kwh / run->worker_h;
        run->samples_per_worker_h = from->sum_samples / run->worker_h;
        run->updates_per_worker_h = from->sum_updates / run->worker_h;
        run->identity = identity_of(obs, from);
        run->carbon_g_per_kwh = carbon ? carbon[from->row] : NAN;
        carbon_g += run->kwh * run->carbon_g_per_kwh;
        incomplete += from->n_paired < from->epochs;
        g->kwh += run->kwh;
        g->kwh_lo += run->kwh_lo;
        g->kwh_hi += run->kwh_hi;
        g->worker_h += run->worker_h;
    }
    number_configs(g, laws, first_rows, scratch);
    wl_arena_free(scratch);
    g->carbon_g_per_kwh = carbon_g / g->kwh;
    if (incomplete)
        wl_strs_addf(a, &g->notes, "%s no time in some epochs: energy and worker-hours are those of the other epochs",
                     wl_law_count_text(a, incomplete, "run has|runs have"));
    if (no_time) wl_strs_addf(a, &g->notes, "excluded: %s without a time", wl_law_count_text(a, no_time, "run"));
}
