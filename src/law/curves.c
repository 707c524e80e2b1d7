#include "law/curves.h"

#include "law/json.h"

#include <math.h>

static const double levels[] = { 0.5, (1 - WL_LAW_CONFIDENCE) / 2, (1 + WL_LAW_CONFIDENCE) / 2 };

/* Of the response, whose unit of work may grow with N. */
static struct wl_estimate exponent_of(const struct wl_law_posterior *p, double workers, int family)
{
    double b[WL_COUNT(levels)];
    wl_hier_exponent(&p->fit, workers, family, levels, WL_COUNT(levels), b);
    return (struct wl_estimate) { b[0] - p->growth, b[1] - p->growth, b[2] - p->growth };
}

static void fill_families(const struct wl_law_posterior *p, struct wl_law_curves *out)
{
    for (int f = 0; f < WL_HIER_FAMILIES; f++) {
        const char *reason = p->fit.reason[f];
        if (!(p->fit.prior->weight[f] > 0)) continue;
        out->families[out->n_families++] =
            (struct wl_law_curve_weight) { wl_hier_family_name(f), wl_hier_family_formula(f), p->fit.prior->weight[f],
                                           reason ? NAN : p->fit.weight[f], reason };
    }
}

static void fill_counts(const struct wl_law_posterior *p, struct wl_law_curves *out)
{
    enum { BLOCK = 64 }; /* worker counts of one visit */
    const double *workers = p->data->workers;
    for (size_t from = 0; from < out->n; from += BLOCK) {
        struct wl_arena *scratch = wl_arena_new(NULL);
        const size_t n = out->n - from < BLOCK ? out->n - from : BLOCK;
        const struct wl_hier_predictions *at = wl_hier_predictions_new(&p->fit, workers + from, n, scratch);
        for (size_t i = 0; i < n; i++) {
            struct wl_law_curves_at *to = &out->at[from + i];
            struct wl_estimate *const estimates[] = { &to->curve, &to->config, &to->run };
            to->workers = workers[from + i];
            to->exponent = exponent_of(p, to->workers, WL_HIER_ALL);
            const struct wl_hier_intervals v = wl_hier_intervals(at, i, WL_HIER_CURVE, WL_LAW_CONFIDENCE, scratch);
            for (int what = WL_HIER_CURVE; what <= WL_HIER_RUN; what++)
                *estimates[what] = wl_law_posterior_estimate(p, &v.of[what], to->workers);
        }
        wl_arena_free(scratch);
    }
}

/* Throughput of runs: samples, or epochs where these are not recorded, per second. */
static void fit_usl(const struct wl_law_group *g, enum wl_law_response response, struct wl_law_curves *out,
                    struct wl_arena *a)
{
    struct wl_err e = { 0 };
    double *workers = wl_new_array(a, double, g->n_runs), *x = wl_new_array(a, double, g->n_runs);
    const bool samples = g->scaling != WL_SCALING_UNKNOWN;
    if (response != WL_LAW_TIME) {
        out->no_usl = "it describes throughput, not energy";
        return;
    }
    for (size_t i = 0; i < g->n_runs; i++) {
        workers[i] = g->runs[i].workers;
        x[i] = (samples ? g->runs[i].samples : 1) / exp(g->runs[i].y);
    }
    out->usl_unit = wl_strf(a, "%s/s", samples ? g->counted : g->work ? g->work->amount : "epochs");
    if (wl_usl_fit(workers, x, g->n_runs, &out->usl, a, &e)) out->no_usl = wl_strdup(a, e.msg);
}

void wl_law_curves_of_posterior(const struct wl_law_group *g, enum wl_law_response response,
                                const struct wl_law_posterior *p, struct wl_law_curves *out, struct wl_arena *a)
{
    *out = (struct wl_law_curves) { .title = g->title, .configuration_sd = NAN, .run_sd = NAN };
    if (p->refusal) {
        out->refusal = wl_strdup(a, p->refusal);
        return;
    }
    out->growth = p->growth;
    fill_families(p, out);
    for (size_t f = 0; f < out->n_families; f++)
        if (out->families[f].reason) out->families[f].reason = wl_strdup(a, out->families[f].reason);
    out->configuration_sd = p->fit.tau;
    out->run_sd = p->fit.sigma;
    out->beta = exponent_of(p, p->data->workers[0], WL_HIER_POWER);
    out->n = p->data->n_configs;
    out->at = wl_new_array(a, struct wl_law_curves_at, out->n);
    fill_counts(p, out);
    struct wl_arena *scratch = wl_arena_new(a);
    fit_usl(g, response, out, scratch);
    if (out->no_usl) out->no_usl = wl_strdup(a, out->no_usl);
    if (out->usl_unit) out->usl_unit = wl_strdup(a, out->usl_unit);
    wl_arena_free(scratch);
    for (size_t i = 0; i < p->notes.n; i++) wl_strs_add(a, &out->notes, wl_strdup(a, p->notes.v[i]));
}

int wl_law_curves(const struct wl_law_group *g, enum wl_law_response response, const struct wl_hier_prior *prior,
                  struct wl_law_curves *out, struct wl_arena *a, struct wl_err *e)
{
    struct wl_arena *scratch = wl_arena_new(a);
    struct wl_law_posterior p;
    int rc = wl_law_posterior(g, response, prior, false, &p, scratch, e);
    if (rc == 0) wl_law_curves_of_posterior(g, response, &p, out, a);
    wl_arena_free(scratch);
    return rc;
}

/* ---- all groups ---- */

struct job {
    const struct wl_law_result *r;
    const struct wl_hier_prior *prior;
    struct wl_law_curves *out;
    int *rc;          /* [n] */
    struct wl_err *e; /* [n] */
};

static void curves_of_group(void *ctx, size_t i, struct wl_arena *a)
{
    const struct job *j = ctx;
    j->rc[i] = wl_law_curves(&j->r->groups[i], j->r->response, j->prior, &j->out[i], a, &j->e[i]);
}

int wl_law_curves_of_result(const struct wl_law_result *r, const struct wl_hier_prior *prior,
                            struct wl_law_curves **out, struct wl_arena *a, struct wl_err *e)
{
    struct job j = { r, prior, wl_new_array(a, struct wl_law_curves, r->n), wl_new_array(a, int, r->n),
                     wl_new_array(a, struct wl_err, r->n) };
    *out = j.out;
    wl_parallel(r->n, curves_of_group, &j, a);
    for (size_t i = 0; i < r->n; i++)
        if (j.rc[i]) {
            *e = j.e[i];
            return j.rc[i];
        }
    return 0;
}

/* ---- JSON ---- */

static void add_families(struct wl_json *o, const struct wl_law_curves *c)
{
    struct wl_json *models = wl_json_add_array(o, "models");
    for (size_t f = 0; f < c->n_families; f++) {
        const struct wl_law_curve_weight *w = &c->families[f];
        struct wl_json *m = wl_json_add_object(models, NULL);
        wl_json_add_str(m, "name", w->name);
        wl_json_add_str(m, "formula", w->formula);
        wl_json_add_real(m, "prior", w->prior);
        wl_json_add_real(m, "weight", w->weight);
        wl_json_add_str(m, "why", w->reason);
    }
}

static void add_counts(struct wl_json *o, const struct wl_law_curves *c)
{
    struct wl_json *counts = wl_json_add_array(o, "worker_counts");
    for (size_t i = 0; i < c->n; i++) {
        const struct wl_law_curves_at *at = &c->at[i];
        struct wl_json *p = wl_json_add_object(counts, NULL);
        wl_json_add_real(p, "workers", at->workers);
        wl_law_json_estimate(p, "response", "curve_interval95", &at->curve);
        wl_law_json_interval(p, "configuration_interval95", at->config.lo, at->config.hi);
        wl_law_json_interval(p, "run_interval95", at->run.lo, at->run.hi);
        wl_law_json_estimate(p, "beta", "beta_interval95", &at->exponent);
    }
}

static void add_usl(struct wl_json *o, const struct wl_law_curves *c)
{
    const struct wl_usl *u = &c->usl;
    struct wl_json *usl = wl_json_add_object(o, "usl");
    const struct {
        const char *key;
        double value;
    } members[] = { { "gamma", u->gamma },
                    { "gamma_se", u->gamma_se },
                    { "sigma", u->sigma },
                    { "sigma_se", u->sigma_se },
                    { "kappa", u->kappa },
                    { "kappa_se", u->kappa_se },
                    { "residual_sd", u->residual_sd },
                    { "df", u->df },
                    { "peak_workers", u->peak_workers },
                    { "peak_throughput", u->peak } };
    for (size_t i = 0; i < WL_COUNT(members); i++)
        wl_json_add_real(usl, members[i].key, c->no_usl || c->refusal ? NAN : members[i].value);
    wl_json_add_str(usl, "unit", c->usl_unit);
    wl_json_add_str(usl, "why", c->no_usl);
}

void wl_law_curves_json(const struct wl_law_curves *v, size_t n, struct wl_json *object)
{
    struct wl_json *groups = wl_json_add_array(object, "hierarchical");
    for (size_t i = 0; i < n; i++) {
        const struct wl_law_curves *c = &v[i];
        struct wl_json *o = wl_json_add_object(groups, NULL);
        wl_json_add_str(o, "title", c->title);
        wl_json_add_str(o, "refused", c->refusal);
        wl_json_add_real(o, "per_workers_to", c->refusal ? NAN : c->growth);
        wl_json_add_real(o, "configuration_sd", c->configuration_sd);
        wl_json_add_real(o, "run_sd", c->run_sd);
        wl_law_json_estimate(o, "power_beta", "power_beta_interval95",
                             c->refusal ? &(struct wl_estimate) { NAN, NAN, NAN } : &c->beta);
        add_families(o, c);
        add_counts(o, c);
        add_usl(o, c);
        wl_law_json_notes(o, &c->notes);
    }
}
