/* Runs to worker counts; speedup and energy ratio over the smallest one. */
#include "law/fit/speedup.h"

#include "law/hier/hier.h"

#include <math.h>

static void add_run(struct wl_law_config *c, const struct wl_law_run *run)
{
    c->workers = run->workers;
    c->runs++;
    c->epochs += run->epochs;
}

/* A logarithm of a run's quantity; EDP: energy x time. */
enum field { RESPONSE, TIME, ENERGY, POWER, EDP };

static double field_of(const struct wl_law_run *run, enum field f, bool per_sample)
{
    const double work = per_sample ? log(run->samples) : 0, time = run->ln_time_s - work,
                 energy = run->ln_energy_j - work;
    switch (f) {
    case TIME: return time;
    case ENERGY: return energy;
    case POWER: return energy - time;
    case EDP: return energy + time;
    default: return run->y - work;
    }
}

/* Runs are in the order of their worker counts: the first with that many. */
static size_t first_run(const struct wl_law_group *g, double workers)
{
    size_t low = 0, high = g->n_runs;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (g->runs[mid].workers < workers)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

/* Mean, spread and number of a field over the runs of one worker count; runs that miss it do not count. */
struct sample {
    double mean, variance, n; /* variance NAN where n < 2 */
};

static struct sample sample_of(const struct wl_law_group *g, double workers, enum field f, bool per_sample,
                               struct wl_arena *a)
{
    struct wl_arena *scratch = wl_arena_new(a);
    size_t first = first_run(g, workers), end = first, n = 0;
    while (end < g->n_runs && g->runs[end].workers == workers) end++;
    double *v = wl_new_array(scratch, double, end - first);
    for (const struct wl_law_run *run = g->runs + first; run < g->runs + end; run++)
        if (!isnan(field_of(run, f, per_sample))) v[n++] = field_of(run, f, per_sample);
    double sd = wl_sd(v, n);
    struct sample out = { wl_mean(v, n), sd * sd, (double)n };
    wl_arena_free(scratch);
    return out;
}

void wl_law_collect_configs(struct wl_law_group *g, struct wl_arena *a)
{
    g->configs = wl_new_array(a, struct wl_law_config, g->n_runs);
    for (size_t i = 0; i < g->n_runs; i++) {
        if (!g->n_configs || g->configs[g->n_configs - 1].workers != g->runs[i].workers) g->n_configs++;
        add_run(&g->configs[g->n_configs - 1], &g->runs[i]);
    }
    for (size_t i = 0; i < g->n_configs; i++) {
        struct wl_law_config *c = &g->configs[i];
        c->response = exp(sample_of(g, c->workers, RESPONSE, false, a).mean);
        c->time_s = exp(sample_of(g, c->workers, TIME, false, a).mean);
        c->energy_j = exp(sample_of(g, c->workers, ENERGY, false, a).mean);
    }
}

static struct wl_law_mean mean_of(struct sample s) { return (struct wl_law_mean) { s.mean, s.variance / s.n, s.n }; }

/* Error by Welch 1947; degrees of freedom after Satterthwaite. */
struct wl_law_ratio wl_law_ratio_of_means(const struct wl_law_mean *above, const struct wl_law_mean *below)
{
    const double u = above->variance, v = below->variance;
    return (struct wl_law_ratio) { .ln = above->ln - below->ln,
                                   .se = sqrt(u + v),
                                   .df = (u + v) * (u + v) / (u * u / (above->runs - 1) + v * v / (below->runs - 1)) };
}

static struct wl_law_ratio ratio_of(struct sample above, struct sample below)
{
    const struct wl_law_mean x = mean_of(above), y = mean_of(below);
    return wl_law_ratio_of_means(&x, &y);
}

struct wl_estimate wl_law_ratio_estimate(const struct wl_law_ratio *r)
{
    double half = r->se > 0 ? wl_t_quantile(0.5 + WL_LAW_CONFIDENCE / 2, r->df) * r->se : r->se;
    return (struct wl_estimate) { exp(r->ln), exp(r->ln - half), exp(r->ln + half) };
}

struct wl_law_tradeoff wl_law_tradeoff(const struct wl_law_group *g, const struct wl_law_group *base, double workers,
                                       struct wl_arena *a)
{
    const bool per_sample = g->scaling != WL_SCALING_UNKNOWN && base->scaling != WL_SCALING_UNKNOWN;
    static const enum field fields[] = { TIME, ENERGY, POWER, EDP };
    struct wl_law_ratio r[WL_COUNT(fields)];
    for (size_t i = 0; i < WL_COUNT(fields); i++)
        r[i] = ratio_of(sample_of(g, workers, fields[i], per_sample, a),
                        sample_of(base, workers, fields[i], per_sample, a));
    return (struct wl_law_tradeoff) { .time = r[0], .energy = r[1], .power = r[2], .edp = r[3] };
}

struct wl_estimate wl_law_ratio_of_configurations(const struct wl_law_ratio *r)
{
    const double tau = wl_hier_time_prior.tau;
    const double of_runs = r->se * r->se, variance = of_runs + 2 * tau * tau, share = variance / of_runs;
    const struct wl_law_ratio wider = { r->ln, sqrt(variance), of_runs == 0 ? INFINITY : r->df * share * share };
    return wl_law_ratio_estimate(&wider);
}

static void set_ratios(struct wl_estimate *of_runs, struct wl_estimate *of_configs, struct sample above,
                       struct sample below)
{
    const struct wl_law_ratio r = ratio_of(above, below);
    *of_runs = wl_law_ratio_estimate(&r);
    *of_configs = wl_law_ratio_of_configurations(&r);
}

void wl_law_fill_speedup(struct wl_law_group *g, struct wl_arena *a)
{
    if (!g->n_configs) return;
    const bool per_sample = g->scaling == WL_SCALING_WEAK || g->scaling == WL_SCALING_MIXED;
    double smallest = g->configs[0].workers;
    struct sample time0 = sample_of(g, smallest, TIME, per_sample, a);
    struct sample energy0 = sample_of(g, smallest, ENERGY, per_sample, a);
    for (size_t i = 0; i < g->n_configs; i++) {
        struct wl_law_config *c = &g->configs[i];
        set_ratios(&c->speedup, &c->config_speedup, time0, sample_of(g, c->workers, TIME, per_sample, a));
        set_ratios(&c->energy_ratio, &c->config_energy_ratio, sample_of(g, c->workers, ENERGY, per_sample, a), energy0);
        if (i == 0) { /* a ratio to itself */
            if (!isnan(time0.mean)) c->speedup = c->config_speedup = (struct wl_estimate) { 1, 1, 1 };
            if (!isnan(energy0.mean)) c->energy_ratio = c->config_energy_ratio = (struct wl_estimate) { 1, 1, 1 };
        }
        c->time = mean_of(sample_of(g, c->workers, TIME, g->scaling != WL_SCALING_UNKNOWN, a));
        c->energy = mean_of(sample_of(g, c->workers, ENERGY, g->scaling != WL_SCALING_UNKNOWN, a));
        c->efficiency = c->speedup.value * smallest / c->workers;
        struct wl_law_point p = wl_law_at(g, c->workers);
        c->fitted = p.value;
        c->fitted_lo = p.curve_lo;
        c->fitted_hi = p.curve_hi;
    }
}
