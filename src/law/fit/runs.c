/* Rows to runs: which epochs count, and the mean of ln(response) over them. */
#include "law/fit/runs.h"

#include "law/fit/notes.h"

#include <math.h>
#include <stdlib.h>

/* A row that may be used, with what it is sorted by. */
struct entry {
    size_t run, row;
    double epoch; /* NAN: the total of a run */
    double response;
};

static double response_of(const struct wl_observations *obs, size_t row, enum wl_law_response response)
{
    return response == WL_LAW_TIME ? obs->time_s[row] : obs->energy_j[row];
}

/* By run, then epoch, totals after the epochs; ties in the order of the table. */
static int by_run_and_epoch(const void *a, const void *b)
{
    const struct entry *p = a, *q = b;
    if (p->run != q->run) return p->run < q->run ? -1 : 1;
    if (isnan(p->epoch) != isnan(q->epoch)) return isnan(p->epoch) ? 1 : -1;
    if (p->epoch < q->epoch || p->epoch > q->epoch) return p->epoch < q->epoch ? -1 : 1;
    return (p->row > q->row) - (p->row < q->row);
}

const double *wl_law_extra_column(const struct wl_observations *obs, const char *name)
{
    for (size_t c = 0; c < obs->n_extra; c++)
        if (wl_str_eq(obs->extra[c].name, name)) return obs->extra[c].real;
    return NULL;
}

static bool usable(struct wl_law_counts *counts, const struct wl_observations *obs, size_t row, double response)
{
    if (!(obs->workers[row] >= 1 / WL_LAW_WORKERS_MAX) || obs->workers[row] > WL_LAW_WORKERS_MAX)
        return counts->no_workers++, false;
    if (isnan(response)) return counts->no_response++, false;
    if (!(response > 0) || isinf(response)) return counts->not_positive++, false;
    return true;
}

static bool same_epoch(const struct entry *a, const struct entry *b)
{
    return a->epoch == b->epoch || (isnan(a->epoch) && isnan(b->epoch));
}

/* Removes copies of an epoch, and totals of runs that have epochs, from a run's sorted entries; returns how many are
 * kept. */
static size_t distinct_epochs(struct wl_law_counts *counts, struct entry *v, size_t n, size_t *conflicts)
{
    size_t kept = 0, first = 0; /* first: where the epoch of the last kept entry begins */
    for (size_t i = 0; i < n; i++) {
        if (isnan(v[i].epoch) && !isnan(v[0].epoch)) {
            counts->totals++;
            continue;
        }
        if (kept && !same_epoch(&v[first], &v[i])) first = kept;
        bool copy = false;
        for (size_t j = first; j < kept; j++) copy |= v[j].response == v[i].response;
        if (copy) {
            counts->repeated++;
            continue;
        }
        if (kept > first) ++*conflicts;
        v[kept++] = v[i];
    }
    return kept;
}

/* Means over the rows of one run without the first `drop`. series: [n] for their logarithms. */
static struct wl_law_run average(const struct wl_observations *obs, const struct entry *v, size_t n, size_t drop,
                                 double *series)
{
    for (size_t i = 0; i < n; i++) series[i] = log(v[i].response);
    v += drop, n -= drop;
    struct wl_law_run run = { .label = obs->run[v->row], .workers = obs->workers[v->row], .epochs = n };
    const double *lo_j = wl_law_extra_column(obs, "energy_lo_j"), *hi_j = wl_law_extra_column(obs, "energy_hi_j");
    double time = 0, energy = 0, samples = 0;
    size_t times = 0, energies = 0;
    run.row = v->row;
    run.dropped = drop;
    run.epoch_y = series + drop;
    for (size_t i = 0; i < n; i++) {
        double t = obs->time_s[v[i].row], j = obs->energy_j[v[i].row];
        samples += obs->samples[v[i].row];
        if (t > 0) time += log(t), times++;
        if (j > 0) energy += log(j), energies++;
        if (!(t > 0 && j > 0)) continue;
        run.n_paired++;
        run.sum_time_s += t;
        run.sum_energy_j += j;
        run.sum_energy_lo_j += lo_j ? lo_j[v[i].row] : NAN;
        run.sum_energy_hi_j += hi_j ? hi_j[v[i].row] : NAN;
        run.sum_samples += obs->samples[v[i].row];
        run.sum_updates += obs->updates[v[i].row];
    }
    if (!run.n_paired)
        run.sum_time_s = run.sum_energy_j = run.sum_samples = run.sum_updates = run.sum_energy_lo_j =
            run.sum_energy_hi_j = NAN;
    run.y = wl_mean(run.epoch_y, n);
    run.samples = samples / (double)n;
    run.ln_time_s = times ? time / (double)times : NAN;
    run.ln_energy_j = energies ? energy / (double)energies : NAN;
    run.studentised = NAN;
    return run;
}

static int by_workers(const void *a, const void *b)
{
    const struct wl_law_run *p = a, *q = b;
    return (p->workers > q->workers) - (p->workers < q->workers);
}

enum wl_law_scaling wl_law_scaling_of(const struct wl_law_run *runs, size_t n)
{
    double min = INFINITY, max = 0, min_per_worker = INFINITY, max_per_worker = 0;
    for (size_t i = 0; i < n; i++) {
        double per_worker = runs[i].samples / runs[i].workers;
        if (!(per_worker > 0)) return WL_SCALING_UNKNOWN;
        min = fmin(min, runs[i].samples), max = fmax(max, runs[i].samples);
        min_per_worker = fmin(min_per_worker, per_worker), max_per_worker = fmax(max_per_worker, per_worker);
    }
    if (!n) return WL_SCALING_UNKNOWN;
    if (max <= 1.05 * min) return WL_SCALING_STRONG;
    return max_per_worker <= 1.05 * min_per_worker ? WL_SCALING_WEAK : WL_SCALING_MIXED;
}

static void note_rows(struct wl_law_group *g, const char *note, const struct wl_law_options *options, size_t conflicts,
                      size_t short_runs, struct wl_arena *a)
{
    const struct wl_law_counts *c = &g->counts;
    const char *what = wl_law_response_name(options->response);
    if (note) wl_strs_add(a, &g->notes, note);
    if (c->first_epochs)
        wl_strs_addf(a, &g->notes, "excluded: first %s of each run (warm-up, %s)",
                     options->drop_epochs == 1 ? "epoch" : wl_law_count_text(a, (size_t)options->drop_epochs, "epoch"),
                     wl_law_count_text(a, c->first_epochs, "row"));
    if (short_runs)
        wl_strs_addf(a, &g->notes, "%s too few epochs to exclude the warm-up: the last epoch is used",
                     wl_law_count_text(a, short_runs, "run has|runs have"));
    if (c->no_workers)
        wl_strs_addf(a, &g->notes, "excluded: %s without a positive worker count",
                     wl_law_count_text(a, c->no_workers, "row"));
    if (c->no_response)
        wl_strs_addf(a, &g->notes, "excluded: %s without %s", wl_law_count_text(a, c->no_response, "row"), what);
    if (c->not_positive)
        wl_strs_addf(a, &g->notes, "excluded: %s whose %s is not positive and so has no logarithm",
                     wl_law_count_text(a, c->not_positive, "row"), what);
    if (c->repeated)
        wl_strs_addf(a, &g->notes, "excluded: %s an epoch of the same run with the same %s",
                     wl_law_count_text(a, c->repeated, "row that repeats|rows that repeat"), what);
    if (c->totals)
        wl_strs_addf(a, &g->notes, "excluded: %s with the total of a run whose epochs are in the table",
                     wl_law_count_text(a, c->totals, "row"));
    if (conflicts)
        wl_strs_addf(a, &g->notes,
                     "%s the same run and epoch as another row with a different %s; all are used: check that run "
                     "labels are unique",
                     wl_law_count_text(a, conflicts, "row has|rows have"), what);
}

static size_t count_runs(const struct entry *v, size_t n)
{
    size_t runs = 0;
    for (size_t i = 0; i < n; i++) runs += !i || v[i].run != v[i - 1].run;
    return runs;
}

/* ---- one run under two labels ---- */

/* Numbers of measured runs do not agree to the last digit in both time and energy. */
static bool same_measurement(const struct wl_observations *obs, const struct wl_law_run *p, const struct wl_law_run *q)
{
    const double *const settings[] = { obs->local_batch, obs->global_batch, obs->power_cap_w, obs->clock_mhz };
    for (size_t i = 0; i < WL_COUNT(settings); i++) {
        const double u = settings[i][p->row], v = settings[i][q->row];
        if (!(u == v || (isnan(u) && isnan(v)))) return false;
    }
    return p->workers == q->workers && p->epochs == q->epochs && p->n_paired == q->n_paired &&
           p->sum_time_s == q->sum_time_s && p->sum_energy_j == q->sum_energy_j &&
           (p->sum_samples == q->sum_samples || (isnan(p->sum_samples) && isnan(q->sum_samples)));
}

static int by_measurement(const void *a, const void *b)
{
    const struct wl_law_run *p = *(const struct wl_law_run *const *)a, *q = *(const struct wl_law_run *const *)b;
    if (p->workers != q->workers) return p->workers < q->workers ? -1 : 1;
    if (p->sum_time_s != q->sum_time_s) return p->sum_time_s < q->sum_time_s ? -1 : 1;
    if (p->sum_energy_j != q->sum_energy_j) return p->sum_energy_j < q->sum_energy_j ? -1 : 1;
    return (p->row > q->row) - (p->row < q->row);
}

/* Marks the runs that are copies of an earlier one of another label: copy_of [n_runs], NULL for the others. */
static size_t find_copies(const struct wl_law_group *g, const struct wl_observations *obs,
                          const struct wl_law_run **copy_of, struct wl_arena *a)
{
    const struct wl_law_run **v = wl_new_array(a, const struct wl_law_run *, g->n_runs);
    size_t n = 0, copies = 0;
    for (size_t i = 0; i < g->n_runs; i++)
        if (g->runs[i].label && g->runs[i].n_paired) v[n++] = &g->runs[i];
    qsort(v, n, sizeof *v, by_measurement);
    for (size_t i = 1, first = 0; i < n; i++) {
        if (!same_measurement(obs, v[first], v[i]))
            first = i;
        else if (!wl_str_eq(v[first]->label, v[i]->label))
            copy_of[v[i] - g->runs] = v[first], copies++;
    }
    return copies;
}

/* Leaves out runs that are in the table twice. Where more than a quarter are, values are computed rather than measured,
 * and another note says so. */
static void drop_copies(struct wl_law_group *g, const struct wl_observations *obs, struct wl_arena *a)
{
    struct wl_arena *scratch = wl_arena_new(a);
    const struct wl_law_run **copy_of = wl_new_array(scratch, const struct wl_law_run *, g->n_runs);
    const size_t copies = find_copies(g, obs, copy_of, scratch);
    size_t kept = 0, named = 0;
    for (size_t i = 0; i < g->n_runs && copies && 4 * copies <= g->n_runs; i++) {
        const struct wl_law_run *run = &g->runs[i];
        if (!copy_of[i]) continue;
        g->counts.used -= run->epochs;
        g->counts.repeated += run->epochs;
        if (++named <= WL_LAW_NAMED_RUNS)
            wl_strs_addf(a, &g->notes, "excluded: run %s at N = %g repeats run %s: same settings, time and energy",
                         run->label, run->workers, copy_of[i]->label);
    }
    if (named > WL_LAW_NAMED_RUNS)
        wl_strs_addf(a, &g->notes, "excluded: %zu more runs that repeat another", named - WL_LAW_NAMED_RUNS);
    for (size_t i = 0; i < g->n_runs && named; i++)
        if (!copy_of[i]) g->runs[kept++] = g->runs[i];
    if (named) g->n_runs = kept;
    wl_arena_free(scratch);
}

void wl_law_collect_runs(struct wl_law_group *g, const struct wl_observations *obs,
                         const struct wl_law_partition_cell *part, const struct wl_law_options *options,
                         struct wl_arena *a)
{
    struct wl_arena *scratch = wl_arena_new(a);
    struct entry *v = wl_new_array(scratch, struct entry, part->n);
    size_t n = 0, conflicts = 0, short_runs = 0;
    g->counts = (struct wl_law_counts) { .rows = part->n };
    for (size_t i = 0; i < part->n; i++) {
        size_t row = part->rows[i];
        double response = response_of(obs, row, options->response);
        if (usable(&g->counts, obs, row, response))
            v[n++] = (struct entry) { obs->run_index[row], row, obs->epoch[row], response };
    }
    qsort(v, n, sizeof *v, by_run_and_epoch);
    g->runs = wl_new_array(a, struct wl_law_run, count_runs(v, n));
    double *series = wl_new_array(a, double, n);
    for (size_t i = 0, end; i < n; i = end) {
        for (end = i + 1; end < n && v[end].run == v[i].run;) end++;
        size_t epochs = distinct_epochs(&g->counts, v + i, end - i, &conflicts);
        size_t drop = isnan(v[i].epoch) ? 0 : (size_t)options->drop_epochs;
        if (drop >= epochs) {
            short_runs++;
            drop = epochs - 1;
        }
        struct wl_law_run run = average(obs, v + i, epochs, drop, series + i);
        for (size_t j = i + drop; j < i + epochs; j++) {
            g->estimated |= obs->estimated[v[j].row] != 0;
            g->simulated |= obs->simulated[v[j].row] != 0;
        }
        g->counts.first_epochs += drop;
        g->counts.used += epochs - drop;
        g->runs[g->n_runs++] = run;
    }
    wl_arena_free(scratch);
    note_rows(g, obs->note, options, conflicts, short_runs, a);
    drop_copies(g, obs, a);
    qsort(g->runs, g->n_runs, sizeof *g->runs, by_workers);
    g->scaling = wl_law_scaling_of(g->runs, g->n_runs);
}
