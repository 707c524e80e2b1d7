#include "law/energy/parts.h"

#include <math.h>
#include <stdlib.h>

static int by_workers(const void *x, const void *y)
{
    const struct wl_energy_parts_run *p = x, *q = y;
    return (p->workers > q->workers) - (p->workers < q->workers);
}

enum part { TIME, POWER };

static double value_of(const struct wl_energy_parts_run *run, enum part part)
{
    return part == TIME ? run->ln_time_s : run->ln_power_w;
}

/* ---- correlation of the residuals ---- */

struct residuals {
    double of_config[2]; /* mean of a configuration about the mean curve, by part */
    size_t n;            /* runs */
};

static struct residuals residuals_of(const struct wl_energy_parts *p, const struct wl_energy_parts_run *v, size_t n)
{
    struct residuals r = { .n = n };
    for (size_t i = 0; i < n; i++)
        for (int part = TIME; part <= POWER; part++) r.of_config[part] += value_of(&v[i], part) / (double)n;
    r.of_config[TIME] -= wl_hier_curve_mean(&p->time, v->workers);
    r.of_config[POWER] -= wl_hier_curve_mean(&p->power, v->workers);
    return r;
}

/* Sums of products of the residuals of both parts: of configurations, once their mean is taken away, times their runs,
 * and of runs within them. */
struct products {
    double time2, power2, cross;
};

static void add_product(struct products *s, double weight, double time, double power)
{
    s->time2 += weight * time * time;
    s->power2 += weight * power * power;
    s->cross += weight * time * power;
}

static void add_runs(struct products *s, const struct wl_energy_parts_run *v, size_t n)
{
    double mean[2] = { 0 };
    for (size_t i = 0; i < n; i++)
        for (int part = TIME; part <= POWER; part++) mean[part] += value_of(&v[i], part) / (double)n;
    for (size_t i = 0; i < n; i++) add_product(s, 1, v[i].ln_time_s - mean[TIME], v[i].ln_power_w - mean[POWER]);
}

static double correlation_of(const struct wl_energy_parts *p, const struct wl_energy_parts_run *v, size_t n,
                             struct wl_arena *scratch)
{
    struct residuals *r = wl_new_array(scratch, struct residuals, n);
    struct products s = { 0 };
    double mean[2] = { 0 };
    size_t m = 0;
    for (size_t i = 0, end; i < n; i = end) {
        for (end = i + 1; end < n && v[end].workers == v[i].workers;) end++;
        r[m++] = residuals_of(p, v + i, end - i);
        add_runs(&s, v + i, end - i);
    }
    for (size_t c = 0; c < m; c++)
        for (int part = TIME; part <= POWER; part++) mean[part] += r[c].of_config[part] / (double)m;
    for (size_t c = 0; c < m; c++)
        add_product(&s, (double)r[c].n, r[c].of_config[TIME] - mean[TIME], r[c].of_config[POWER] - mean[POWER]);
    const double scale = sqrt(s.time2 * s.power2), df = (double)(n - m) + fmax(1, (double)m - 3);
    return scale > 0 ? s.cross / scale * df / (df + 4) : 0;
}

/* ---- the fit ---- */

static int fit_part(const struct wl_energy_parts_run *v, size_t n, enum part part, const struct wl_hier_prior *prior,
                    struct wl_hier_fit *out, struct wl_arena *a, struct wl_err *e)
{
    struct wl_hier_run *runs = wl_new_array(a, struct wl_hier_run, n);
    struct wl_hier_data *data = wl_new(a, struct wl_hier_data);
    for (size_t i = 0; i < n; i++)
        runs[i] = (struct wl_hier_run) { .workers = v[i].workers, .epochs = 1, .mean = value_of(&v[i], part) };
    int rc = wl_hier_reduce(runs, n, data, a, e);
    return rc ? rc : wl_hier_fit(data, prior, out, a, e);
}

int wl_energy_parts_fit(const struct wl_energy_parts_run *runs, size_t n, const struct wl_hier_prior *time,
                        const struct wl_hier_prior *power, struct wl_energy_parts *out, struct wl_arena *a,
                        struct wl_err *e)
{
    struct wl_arena *scratch = wl_arena_new(a);
    struct wl_energy_parts_run *sorted = wl_new_array(scratch, struct wl_energy_parts_run, n);
    *out = (struct wl_energy_parts) { 0 };
    for (size_t i = 0; i < n; i++) sorted[i] = runs[i];
    qsort(sorted, n, sizeof *sorted, by_workers);
    int rc = fit_part(sorted, n, TIME, time, &out->time, a, e);
    if (rc == 0) rc = fit_part(sorted, n, POWER, power, &out->power, a, e);
    if (rc == 0) out->correlation = correlation_of(out, sorted, n, scratch);
    wl_arena_free(scratch);
    return rc;
}

int wl_energy_parts_of_group(const struct wl_law_group *g, const struct wl_hier_prior *time,
                             const struct wl_hier_prior *power, struct wl_energy_parts *out, struct wl_arena *a,
                             struct wl_err *e)
{
    struct wl_energy_parts_run *v = wl_new_array(a, struct wl_energy_parts_run, g->n_runs);
    const double growth = g->scaling == WL_SCALING_WEAK;
    size_t n = 0, worker_counts = 0;
    *out = (struct wl_energy_parts) { .reason = "fewer than two worker counts have both a time and an energy" };
    for (size_t i = 0; i < g->n_runs; i++) {
        const struct wl_law_run *r = &g->runs[i];
        const double ln_workers = log(r->workers);
        if (isnan(r->ln_time_s) || isnan(r->ln_energy_j)) continue;
        worker_counts += n == 0 || v[n - 1].workers != r->workers;
        v[n++] = (struct wl_energy_parts_run) { r->workers, r->ln_time_s - growth * ln_workers,
                                                r->ln_energy_j - r->ln_time_s - ln_workers };
    }
    if (worker_counts < 2) return 0;
    int rc = wl_energy_parts_fit(v, n, time, power, out, a, e);
    out->growth = growth;
    return rc;
}

/* ---- forecasts ---- */

/* The posteriors of both parts at several worker counts. */
struct view {
    const struct wl_hier_predictions *time, *power;
};

static struct view view_of(const struct wl_energy_parts *p, const double *workers, size_t n, struct wl_arena *a)
{
    return (struct view) { wl_hier_predictions_new(&p->time, workers, n, a),
                           wl_hier_predictions_new(&p->power, workers, n, a) };
}

/* Each component of one part with each of the other: means add, and variances with the correlation. */
static struct wl_hier_mixture join(const struct wl_hier_mixture *t, const struct wl_hier_mixture *p, double correlation,
                                   double ln_workers, struct wl_arena *a)
{
    const size_t n = t->n * p->n;
    struct wl_hier_mixture m = { wl_new_array(a, double, n), wl_new_array(a, double, n), wl_new_array(a, double, n),
                                 n };
    for (size_t i = 0; i < t->n; i++)
        for (size_t j = 0; j < p->n; j++) {
            const size_t k = i * p->n + j;
            const double s = t->sd[i], q = p->sd[j];
            m.weight[k] = t->weight[i] * p->weight[j];
            m.mean[k] = t->mean[i] + p->mean[j] + ln_workers;
            m.sd[k] = sqrt(s * s + q * q + 2 * correlation * s * q);
        }
    return m;
}

/* The energy from its parts, merged; in a. */
static struct wl_hier_mixture energy_of(const struct wl_hier_mixture *t, const struct wl_hier_mixture *q,
                                        double correlation, double ln_workers, struct wl_arena *a)
{
    struct wl_hier_mixture m = join(t, q, correlation, ln_workers, a);
    struct wl_arena *scratch = wl_arena_new(a);
    wl_hier_merge(&m, scratch);
    wl_arena_free(scratch);
    return m;
}

struct wl_hier_mixture wl_energy_parts_energy(const struct wl_energy_parts *p, double workers, enum wl_hier_what what,
                                              struct wl_arena *a)
{
    struct wl_arena *scratch = wl_arena_new(a);
    const struct view v = view_of(p, &workers, 1, scratch);
    const struct wl_hier_mixture t = wl_hier_prediction(v.time, 0, what, WL_HIER_ALL, scratch),
                                 q = wl_hier_prediction(v.power, 0, what, WL_HIER_ALL, scratch);
    const struct wl_hier_mixture m = energy_of(&t, &q, p->correlation, log(workers), a);
    wl_arena_free(scratch);
    return m;
}

static struct wl_estimate estimate_of(const struct wl_hier_mixture *m, double ln_work)
{
    return (struct wl_estimate) { exp(wl_hier_quantile(m, 0.5) + ln_work),
                                  exp(wl_hier_quantile(m, (1 - WL_LAW_CONFIDENCE) / 2) + ln_work),
                                  exp(wl_hier_quantile(m, (1 + WL_LAW_CONFIDENCE) / 2) + ln_work) };
}

static struct wl_energy_parts_forecast forecast_at(const struct wl_energy_parts *p, const struct view *v, size_t i,
                                                   double workers)
{
    struct wl_arena *a = wl_arena_new(NULL);
    const double ln_work = p->growth * log(workers);
    const struct wl_hier_mixture time = wl_hier_prediction(v->time, i, WL_HIER_RUN, WL_HIER_ALL, a),
                                 power = wl_hier_prediction(v->power, i, WL_HIER_RUN, WL_HIER_ALL, a),
                                 energy = energy_of(&time, &power, p->correlation, log(workers), a);
    const struct wl_energy_parts_forecast f = { estimate_of(&time, ln_work), estimate_of(&power, 0),
                                                estimate_of(&energy, ln_work) };
    wl_arena_free(a);
    return f;
}

struct wl_energy_parts_forecast *wl_energy_parts_forecasts(const struct wl_energy_parts *p, const double *workers,
                                                           size_t n, struct wl_arena *a)
{
    enum { BLOCK = 64 }; /* worker counts of one visit */
    struct wl_energy_parts_forecast *out = wl_new_array(a, struct wl_energy_parts_forecast, n);
    for (size_t from = 0; from < n; from += BLOCK) {
        struct wl_arena *scratch = wl_arena_new(a);
        const size_t k = n - from < BLOCK ? n - from : BLOCK;
        const struct view v = view_of(p, workers + from, k, scratch);
        for (size_t i = 0; i < k; i++) out[from + i] = forecast_at(p, &v, i, workers[from + i]);
        wl_arena_free(scratch);
    }
    return out;
}
