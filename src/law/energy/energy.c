/* Energy against worker-hours: proportional and affine fits, drivers of the rate, and one slope for all groups? */
#include "law/energy/energy.h"

#include "law/energy/collect.h"
#include "law/energy/rates.h"
#include "law/fit/notes.h"

#include <math.h>

static const double vif_limit = 10, identity_limit = 0.03;

static const struct wl_energy_law_term no_term = { NAN, NAN, NAN, NAN, NAN };

/* ---- fits ---- */

enum field { WORKER_H, KWH, RATE, LN_WORKER_H, LN_KWH, SAMPLES, UPDATES };

static double value_of(const struct wl_energy_law_run *run, enum field f)
{
    switch (f) {
    case WORKER_H: return run->worker_h;
    case KWH: return run->kwh;
    case RATE: return run->rate;
    case LN_WORKER_H: return log(run->worker_h);
    case LN_KWH: return log(run->kwh);
    case SAMPLES: return run->samples_per_worker_h;
    case UPDATES: return run->updates_per_worker_h;
    }
    return NAN;
}

static double *column(const struct wl_energy_law_group *g, enum field f, struct wl_arena *a)
{
    double *v = wl_new_array(a, double, g->n);
    for (size_t i = 0; i < g->n; i++) v[i] = value_of(&g->runs[i], f);
    return v;
}

/* Coefficient j against `null`. */
static struct wl_energy_law_term term(const struct wl_ols *o, size_t j, double null)
{
    double half = wl_ols_half_width(o, j, WL_LAW_CONFIDENCE);
    double p = wl_t_two_sided((o->b[j] - null) / o->se[j], o->df);
    return (struct wl_energy_law_term) { o->b[j], o->se[j], o->b[j] - half, o->b[j] + half, p };
}

/* Rates of the runs of a configuration, less the mean of all: what their coefficient of variation is made of. */
struct rates {
    double mean; /* of all runs */
    struct rates_of_config {
        double runs, sum, squares;
    } * config;
    double *drawn;    /* [n_configs] how often, scratch of variation_of */
    size_t n_configs; /* or bundles of them */
};

/* Over the runs of the configurations drawn. Sums are in the order of configurations, whatever that of the draw: draws
 * of all configurations are equal to the estimate to the last bit, as the bias correction of the bootstrap counts them.
 */
static void variation_of(const size_t *index, size_t n, double *out, void *data)
{
    const struct rates *r = data;
    double sum = 0, squares = 0, runs = 0;
    for (size_t c = 0; c < r->n_configs; c++) r->drawn[c] = 0;
    for (size_t i = 0; i < n; i++) r->drawn[index[i]]++;
    for (size_t c = 0; c < r->n_configs; c++) {
        runs += r->drawn[c] * r->config[c].runs;
        sum += r->drawn[c] * r->config[c].sum;
        squares += r->drawn[c] * r->config[c].squares;
    }
    *out = sqrt((squares - sum * sum / runs) / (runs - 1)) / (r->mean + sum / runs);
}

/* Where a configuration is counted: many are drawn in bundles, which are as independent as they are. */
static size_t bundle_of(const struct rates *r, size_t configs, size_t c)
{
    static const uint64_t key = 0x62756e646c65; /* any fixed number */
    return configs > r->n_configs ? (size_t)(wl_random_uniform(key, 0, c) * (double)r->n_configs) : c;
}

static struct rates rates_by_config(const struct wl_energy_law_group *g, const double *rate, struct wl_arena *a)
{
    enum { MOST_DRAWN = 2000 };
    const size_t n = g->n_configs < MOST_DRAWN ? g->n_configs : MOST_DRAWN;
    struct rates r = { wl_mean(rate, g->n), wl_new_array(a, struct rates_of_config, n), wl_new_array(a, double, n), n };
    for (size_t i = 0; i < g->n; i++) {
        const size_t c = bundle_of(&r, g->n_configs, g->runs[i].config);
        const double off = rate[i] - r.mean;
        r.config[c].runs++;
        r.config[c].sum += off;
        r.config[c].squares += off * off;
    }
    return r;
}

/* Bootstrap interval of the coefficient of variation: whole configurations are drawn. */
static void bound_variation(struct wl_energy_law_group *g, const double *rate, struct wl_arena *a)
{
    enum { MIN_CONFIGS = 5, DRAWS = 1999 };
    struct rates rates = rates_by_config(g, rate, a);
    struct wl_bootstrap_interval interval;
    struct wl_bootstrap bootstrap = { rates.n_configs, 1, DRAWS, 0x656e65726779, variation_of, &rates };
    g->rate_cv_lo = g->rate_cv_hi = NAN;
    if (g->n_configs < MIN_CONFIGS || wl_bootstrap(&bootstrap, WL_LAW_CONFIDENCE, &interval, a, NULL)) return;
    g->rate_cv_lo = interval.bca_lo;
    g->rate_cv_hi = interval.bca_hi;
}

static void describe_rate(struct wl_energy_law_group *g, struct wl_arena *scratch)
{
    double *rate = column(g, RATE, scratch);
    g->rate = wl_mean(rate, g->n);
    g->rate_cv = wl_sd(rate, g->n) / g->rate;
    bound_variation(g, rate, scratch);
    g->rate_of_sums = g->kwh / g->worker_h;
    g->rate_min = INFINITY;
    g->rate_max = -INFINITY;
    for (size_t i = 0; i < g->n; i++) {
        g->rate_min = fmin(g->rate_min, rate[i]);
        g->rate_max = fmax(g->rate_max, rate[i]);
    }
    if (!g->n) g->rate_min = g->rate_max = NAN;
}

static bool is_wider(const struct wl_energy_law_term *t, const struct wl_energy_law_term *than)
{
    return t->hi - t->lo > than->hi - than->lo;
}

/* Runs of one configuration share what it has: where the means of configurations give a wider interval, it is the one
 * to report (docs/adr/070). */
static void widen_by_configs(struct wl_energy_law_group *g, struct wl_arena *scratch, struct wl_arena *a)
{
    struct wl_ols o;
    struct wl_err e;
    if (g->n_configs == g->n) return;
    double *x = column(g, WORKER_H, scratch), *y = column(g, KWH, scratch), *ln_x = column(g, LN_WORKER_H, scratch),
           *ln_y = column(g, LN_KWH, scratch);
    const size_t n = wl_energy_law_config_means(g, x, y, scratch);
    wl_energy_law_config_means(g, ln_x, ln_y, scratch);
    const struct wl_ols_data through_origin = { .n = n, .columns = 1, .y = y, .x = x };
    if (wl_ols_fit(&o, &through_origin, scratch, &e) == 0 && o.df > 0) {
        const struct wl_energy_law_term origin = term(&o, 0, 0);
        if (is_wider(&origin, &g->origin)) g->origin = origin, g->origin_r2 = o.r2;
    }
    if (wl_ols_line(&o, ln_y, ln_x, n, scratch, &e) == 0 && o.df > 0) {
        const struct wl_energy_law_term exponent = term(&o, 1, 1);
        if (is_wider(&exponent, &g->exponent)) g->exponent = exponent;
    }
    if (wl_ols_line(&o, y, x, n, scratch, &e) || !(o.df > 0)) {
        wl_strs_addf(a, &g->notes, "%s: intervals of the line are over runs, of these allocations alone",
                     wl_law_count_text(a, n, "configuration"));
        return;
    }
    const struct wl_energy_law_term slope = term(&o, 1, 0);
    if (!is_wider(&slope, &g->slope)) return;
    g->base = term(&o, 0, 0);
    g->slope = slope;
    g->sigma = o.sigma;
    g->df = o.df;
    g->r2 = o.r2;
    g->basis = "configurations";
    wl_strs_addf(a, &g->notes, "runs of one configuration are not independent: the line is over the means of %s",
                 wl_law_count_text(a, n, "configuration"));
}

static void fit_lines(struct wl_energy_law_group *g, struct wl_arena *scratch, struct wl_arena *a)
{
    struct wl_ols o;
    struct wl_err e;
    g->origin = g->base = g->slope = g->exponent = no_term;
    g->origin_r2 = g->r2 = g->sigma = g->df = NAN;
    g->basis = "runs";
    if (g->n < 2) {
        g->reason = g->n ? "one run: a rate but no line" : "no run has a worker count, a time and an energy";
        return;
    }
    double *x = column(g, WORKER_H, scratch), *y = column(g, KWH, scratch);
    const struct wl_ols_data through_origin = { .n = g->n, .columns = 1, .y = y, .x = x };
    if (wl_ols_fit(&o, &through_origin, scratch, &e) == 0) {
        g->origin = term(&o, 0, 0);
        g->origin_r2 = o.r2;
    }
    if (!(wl_sd(x, g->n) > 1e-12 * wl_mean(x, g->n))) {
        g->reason = "all runs have the same worker-hours: a line with a base cannot be fitted";
        return;
    }
    if (wl_ols_line(&o, y, x, g->n, scratch, &e)) {
        g->reason = wl_strdup(a, e.msg);
        return;
    }
    g->base = term(&o, 0, 0);
    g->slope = term(&o, 1, 0);
    g->sigma = o.sigma;
    g->df = o.df;
    g->r2 = o.df > 0 ? o.r2 : NAN;
    if (!(o.df > 0))
        wl_strs_addf(a, &g->notes, "no error estimate: a line through two runs leaves no degrees of freedom");
    if (g->slope.value < 0)
        wl_strs_addf(a, &g->notes,
                     "energy falls with worker-hours: over this range something else drives it; do not extrapolate");
    if (wl_ols_line(&o, column(g, LN_KWH, scratch), column(g, LN_WORKER_H, scratch), g->n, scratch, &e) == 0)
        g->exponent = term(&o, 1, 1);
    widen_by_configs(g, scratch, a);
}

/* ---- what drives the rate ---- */

static bool has_one_local_batch(const struct wl_energy_law_group *g)
{
    double one = NAN;
    for (size_t i = 0; i < g->n; i++) {
        const double batch = g->runs[i].local_batch;
        if (!isnan(batch) && !isnan(one) && batch != one) return false;
        if (!isnan(batch)) one = batch;
    }
    return !isnan(one);
}

static bool standardise(double *v, size_t n)
{
    double mean = wl_mean(v, n), sd = wl_sd(v, n);
    if (!(sd > 1e-9 * fabs(mean))) return false;
    for (size_t i = 0; i < n; i++) v[i] = (v[i] - mean) / sd;
    return true;
}

static const char *fit_drivers(struct wl_energy_law_group *g, struct wl_arena *scratch, struct wl_arena *a)
{
    struct wl_ols o;
    struct wl_err e;
    g->by_samples = g->by_updates = no_term;
    g->drivers_r2 = g->vif = NAN;
    for (size_t i = 0; i < g->n; i++)
        if (isnan(g->runs[i].samples_per_worker_h) || isnan(g->runs[i].updates_per_worker_h))
            return "samples or updates were not recorded in every run";
    if (g->n < 5) return "fewer than five runs";
    if (has_one_local_batch(g))
        return "one local batch: updates are samples divided by it, so their effects cannot be separated";
    double *x = wl_new_array(scratch, double, 2 * g->n), *y = column(g, RATE, scratch), vif[2];
    const enum field fields[] = { SAMPLES, UPDATES };
    for (size_t c = 0; c < 2; c++) {
        double *v = column(g, fields[c], scratch);
        if (!standardise(v, g->n))
            return c ? "updates per worker-hour do not vary" : "samples per worker-hour do not vary";
        for (size_t i = 0; i < g->n; i++) x[i + c * g->n] = v[i];
    }
    if (!standardise(y, g->n)) return "the rate does not vary";
    const struct wl_ols_data data = { .n = g->n, .columns = 2, .y = y, .x = x, .intercept = true };
    if (wl_ols_fit(&o, &data, scratch, &e)) return wl_strdup(a, e.msg);
    wl_ols_vif(&o, vif);
    g->vif = vif[0]; /* of two columns both have the same */
    g->by_samples = term(&o, 1, 0);
    g->by_updates = term(&o, 2, 0);
    g->drivers_r2 = o.r2;
    if (g->vif > vif_limit)
        wl_strs_addf(a, &g->notes,
                     "drivers: the variance inflation factor is %.3g: samples and updates are collinear, so neither "
                     "coefficient is meaningful by itself",
                     g->vif);
    return NULL;
}

static void check_identity(struct wl_energy_law_group *g, struct wl_arena *a)
{
    double worst = 0;
    g->identity_worst = NAN;
    for (size_t i = 0; i < g->n; i++) {
        double off = fabs(log(g->runs[i].identity));
        if (off >= worst) worst = off, g->identity_worst = g->runs[i].identity;
    }
    if (worst > log1p(identity_limit))
        wl_strs_addf(a, &g->notes,
                     "energy is %.3f times power_w x time in one run: counter, power and time are inconsistent",
                     g->identity_worst);
}

/* ---- all ---- */

static void default_groups(const struct wl_observations *obs, struct wl_strs *by, struct wl_arena *a)
{
    const struct wl_obs_column columns[] = { { .name = "workload", .text = obs->workload },
                                             { .name = "hardware", .text = obs->hardware } };
    for (size_t c = 0; c < WL_COUNT(columns); c++)
        for (size_t i = 0; i < obs->n; i++)
            if (!wl_str_eq(wl_obs_text(&columns[c], i, a), c ? wl_obs_text(&columns[c], 0, a) : "")) {
                wl_strs_add(a, by, columns[c].name);
                break;
            }
}

/* The law that each row belongs to by the default rule: its settings except the worker count. */
static int find_laws(const struct wl_observations *obs, size_t *laws, struct wl_arena *a, struct wl_err *e)
{
    struct wl_law_partition_cells cells;
    int rc = wl_law_partition(obs, &(struct wl_law_grouping) { 0 }, &cells, a, e);
    for (size_t c = 0; rc == 0 && c < cells.n; c++)
        for (size_t i = 0; i < cells.v[c].n; i++) laws[cells.v[c].rows[i]] = c;
    return rc;
}

static void fit_group(struct wl_energy_law_group *g, struct wl_arena *a)
{
    struct wl_arena *scratch = wl_arena_new(a);
    describe_rate(g, scratch);
    fit_lines(g, scratch, a);
    g->drivers_reason = fit_drivers(g, scratch, a);
    wl_arena_free(scratch);
    check_identity(g, a);
    if (g->simulated) wl_strs_addf(a, &g->notes, "simulated: some of these rows are not measurements");
    if (g->estimated)
        wl_strs_addf(a, &g->notes, "estimated: the energy of some of these rows is marked as an estimate");
}

int wl_energy_law_fit(const struct wl_observations *obs, const struct wl_energy_law_options *options,
                      struct wl_energy_law_result *out, struct wl_arena *a, struct wl_err *e)
{
    struct wl_strs by = options->by;
    struct wl_law_partition_cells parts = { 0 };
    struct wl_law_partition_cell all = { .rows = wl_new_array(a, size_t, obs->n), .n = obs->n };
    *out = (struct wl_energy_law_result) { 0 };
    if (options->drop_epochs < 0)
        return wl_fail(e, WL_EINVAL, "drop_epochs is %lld, must be 0 or more", (long long)options->drop_epochs);
    if (!by.n) default_groups(obs, &by, a);
    for (size_t i = 0; i < obs->n; i++) all.rows[i] = i;
    int rc = by.n ? wl_law_partition(obs, &(struct wl_law_grouping) { .by = by }, &parts, a, e) : 0;
    size_t *laws = wl_new_array(a, size_t, obs->n);
    if (rc == 0) rc = find_laws(obs, laws, a, e);
    if (rc) return rc;
    if (!by.n) parts = (struct wl_law_partition_cells) { &all, 1 };
    out->groups = wl_new_array(a, struct wl_energy_law_group, parts.n);
    out->n = parts.n;
    out->work = obs->work;
    for (size_t i = 0; i < parts.n; i++) {
        struct wl_energy_law_group *g = &out->groups[i];
        g->key = parts.v[i].key;
        g->n_key = parts.v[i].n_key;
        g->title = wl_law_partition_title(&parts.v[i], a);
        wl_energy_law_collect(g, obs, &parts.v[i], options->drop_epochs, laws, a);
        fit_group(g, a);
    }
    wl_energy_law_compare_rates(out, a);
    return 0;
}
