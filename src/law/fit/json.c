/* A fit as JSON; docs/formats.md describes the keys, which are stable. */
#include "law/json.h"
#include "law/fit/fit.h"

#include <math.h>

static void add_estimate(struct wl_json *parent, const char *key, const struct wl_law_estimate *e, const char *basis)
{
    struct wl_json *o = wl_json_add_object(parent, key);
    wl_json_add_real(o, "alpha", e->alpha);
    wl_law_json_interval(o, "alpha_ci95", e->alpha_lo, e->alpha_hi);
    wl_json_add_real(o, "beta", e->beta);
    wl_json_add_real(o, "beta_se", e->beta_se);
    wl_law_json_interval(o, "beta_ci95", e->beta_lo, e->beta_hi);
    wl_json_add_real(o, "r2", e->r2);
    wl_json_add_real(o, "r2_adj", e->r2_adj);
    wl_json_add_real(o, "p_beta", e->p_beta);
    wl_json_add_real(o, "sigma", e->sigma);
    wl_json_add_real(o, "df", e->df);
    if (basis)
        wl_json_add_str(o, "basis", basis);
    else
        wl_json_add_str(o, "why", e->reason);
}

static void add_counts(struct wl_json *parent, const struct wl_law_counts *c)
{
    struct wl_json *o = wl_json_add_object(parent, "rows");
    const struct {
        const char *key;
        size_t n;
    } members[] = { { "read", c->rows },
                    { "used", c->used },
                    { "first_epochs", c->first_epochs },
                    { "no_workers", c->no_workers },
                    { "no_response", c->no_response },
                    { "not_positive", c->not_positive },
                    { "repeated", c->repeated },
                    { "totals", c->totals } };
    for (size_t i = 0; i < WL_COUNT(members); i++) wl_json_add_int(o, members[i].key, (int64_t)members[i].n);
}

static void add_config(struct wl_json *array, const struct wl_law_config *c)
{
    struct wl_json *o = wl_json_add_object(array, NULL);
    wl_json_add_real(o, "workers", c->workers);
    wl_json_add_int(o, "runs", (int64_t)c->runs);
    wl_json_add_int(o, "epochs", (int64_t)c->epochs);
    wl_json_add_real(o, "response", c->response);
    wl_json_add_real(o, "fitted", c->fitted);
    wl_law_json_interval(o, "fitted_ci95", c->fitted_lo, c->fitted_hi);
    wl_json_add_real(o, "time_s", c->time_s);
    wl_json_add_real(o, "energy_j", c->energy_j);
    wl_law_json_estimate(o, "speedup", "speedup_ci95", &c->speedup);
    wl_json_add_real(o, "efficiency", c->efficiency);
    wl_law_json_estimate(o, "energy_ratio", "energy_ratio_ci95", &c->energy_ratio);
}

static void add_test(struct wl_json *parent, const char *key, const struct wl_hypothesis_test *t)
{
    struct wl_json *o = wl_json_add_object(parent, key);
    wl_json_add_real(o, "statistic", t->statistic);
    wl_json_add_real(o, "p", t->p);
}

static void add_residuals(struct wl_json *parent, const struct wl_law_group *g)
{
    const struct wl_law_residuals *r = &g->residuals;
    const struct wl_law_series *s = &g->series;
    struct wl_json *o = wl_json_add_object(parent, "residuals");
    add_test(o, "shapiro_wilk", &r->shapiro_wilk);
    add_test(o, "anderson_darling", &r->anderson_darling);
    add_test(o, "breusch_pagan", &r->breusch_pagan);
    add_test(o, "reset", &r->reset);
    wl_json_add_str(o, "why", r->reason);
    o = wl_json_add_object(parent, "epoch_series");
    wl_json_add_int(o, "runs", (int64_t)s->runs);
    wl_json_add_real(o, "lag1", s->lag1);
    wl_json_add_real(o, "ess_share", s->ess_share);
    wl_json_add_real(o, "run_se", s->run_se);
    wl_json_add_real(o, "run_se_batches", s->run_se_batches);
    wl_json_add_int(o, "mser5_epochs", (int64_t)s->warm_up);
    wl_json_add_int(o, "mser5_longer", (int64_t)s->runs_longer_warm_up);
    wl_json_add_int(o, "unsettled", (int64_t)s->runs_unsettled);
}

static void add_equivalence(struct wl_json *o, const struct wl_law_equivalence *q)
{
    wl_json_add_real(o, "margin", q->margin);
    wl_json_add_real(o, "change_per_decade", q->change);
    wl_law_json_interval(o, "ci95", q->lo, q->hi);
    wl_json_add_real(o, "se", q->se);
    wl_json_add_real(o, "df", q->df);
    wl_json_add_real(o, "smallest_margin", q->smallest_margin);
    wl_json_add_real(o, "workers_needed", q->needs_workers);
    wl_json_add_real(o, "runs_needed", q->needs_runs ? (double)q->needs_runs : NAN);
}

static void add_shape(struct wl_json *o, const struct wl_law_group *g)
{
    const struct wl_law_quadratic *q = &g->quadratic;
    struct wl_json *quadratic = wl_json_add_object(o, "log_quadratic");
    wl_json_add_real(quadratic, "q", q->q);
    wl_json_add_real(quadratic, "q_se", q->se);
    wl_json_add_real(quadratic, "t", q->t);
    wl_json_add_real(quadratic, "df", q->df);
    wl_json_add_real(quadratic, "p", q->p);
    wl_json_add_real(quadratic, "p_bh", q->p_bh);
    wl_json_add_str(quadratic, "basis", q->basis);
    wl_json_add_str(quadratic, "why", q->reason);
    struct wl_json *local = wl_json_add_array(o, "local_exponents");
    for (size_t i = 0; i < g->n_configs && q->basis; i++) {
        struct wl_json *at = wl_json_add_object(local, NULL);
        wl_json_add_real(at, "workers", g->configs[i].workers);
        wl_json_add_real(at, "beta", g->configs[i].local_beta);
        wl_law_json_interval(at, "beta_ci95", g->configs[i].local_lo, g->configs[i].local_hi);
    }
    const struct wl_law_breakpoint *b = &g->breakpoint;
    struct wl_json *broken = wl_json_add_object(o, "break");
    wl_json_add_real(broken, "n", b->workers);
    wl_law_json_interval(broken, "ci95", b->lo, b->hi);
    wl_json_add_real(broken, "beta1", b->beta1);
    wl_json_add_real(broken, "beta2", b->beta2);
    wl_json_add_real(broken, "p", b->p);
    wl_json_add_str(broken, "basis", b->basis);
    wl_json_add_str(broken, "why", b->reason);
    wl_json_add_int(broken, "counts_before", (int64_t)b->before);
    wl_json_add_int(broken, "counts_after", (int64_t)b->after);
    wl_json_add_bool(broken, "compared", b->compared);
    wl_json_add_real(o, "departure_beyond", g->departure_base);
    struct wl_json *departures = wl_json_add_array(o, "departure");
    for (size_t i = 0; i < g->n_departures; i++) {
        const struct wl_law_departure *d = &g->departures[i];
        struct wl_json *at = wl_json_add_object(departures, NULL);
        wl_json_add_real(at, "workers", d->workers);
        wl_json_add_real(at, "excess_pct", d->excess_pct);
        wl_json_add_real(at, "t", d->t);
        wl_json_add_real(at, "df", d->df);
        wl_json_add_real(at, "p", d->p);
        wl_json_add_real(at, "p_holm", d->p_holm);
    }
    add_equivalence(wl_json_add_object(o, "equivalence"), &g->equivalence);
    wl_json_add_str(o, "verdict", wl_law_verdict_name(g->verdict));
    wl_json_add_str(o, "verdict_why", g->verdict_reason);
}

static void add_model(struct wl_json *array, const struct wl_law_model *m)
{
    struct wl_json *o = wl_json_add_object(array, NULL);
    wl_json_add_str(o, "name", m->name);
    wl_json_add_str(o, "formula", m->formula);
    struct wl_json *params = wl_json_add_object(o, "params"), *se = wl_json_add_object(o, "se");
    for (size_t j = 0; j < m->k; j++) {
        wl_json_add_real(params, m->param[j], m->value[j]);
        wl_json_add_real(se, m->param[j], m->se[j]);
    }
    wl_json_add_real(o, "sse", m->sse);
    wl_json_add_real(o, "aicc", m->aicc);
    wl_json_add_real(o, "bic", m->bic);
    wl_json_add_real(o, "weight", m->weight);
    wl_json_add_real(o, "llo_pct", m->llo_pct);
    wl_json_add_str(o, "why", m->reason);
}

static void add_models(struct wl_json *o, const struct wl_law_group *g)
{
    struct wl_json *models = wl_json_add_array(o, "models");
    for (size_t i = 0; i < g->n_models; i++) add_model(models, &g->models[i]);
    wl_json_add_str(o, "no_models", g->no_models_reason);
    wl_json_add_str(o, "best_model", g->best_model ? g->best_model->name : NULL);
    wl_json_add_str(o, "best_predictor", g->best_predictor ? g->best_predictor->name : NULL);
}

static size_t epochs_of(const struct wl_law_group *g)
{
    size_t n = 0;
    for (size_t i = 0; i < g->n_configs; i++) n += g->configs[i].epochs;
    return n;
}

static void add_group(struct wl_json *array, const struct wl_law_group *g)
{
    struct wl_json *o = wl_json_add_object(array, NULL);
    wl_law_json_key(o, g->key, g->n_key);
    wl_json_add_str(o, "title", g->title);
    wl_json_add_str(o, "scaling", wl_law_scaling_name(g->scaling));
    wl_json_add_bool(o, "estimated", g->estimated);
    wl_json_add_bool(o, "simulated", g->simulated);
    wl_json_add_int(o, "runs", (int64_t)g->n_runs);
    wl_json_add_int(o, "configs", (int64_t)g->n_configs);
    wl_json_add_int(o, "epochs", (int64_t)epochs_of(g));
    add_counts(o, &g->counts);
    wl_json_add_str(o, "refused", g->no_law_reason);
    if (g->law)
        add_estimate(o, "power_law", g->law, g->law->name);
    else
        wl_json_add_null(o, "power_law");
    struct wl_json *estimators = wl_json_add_object(o, "estimators");
    for (size_t i = 0; i < WL_LAW_ESTIMATORS; i++)
        add_estimate(estimators, g->estimates[i].name, &g->estimates[i], NULL);
    struct wl_json *lack = wl_json_add_object(o, "lack_of_fit");
    wl_json_add_real(lack, "f", g->lack_of_fit.f);
    wl_json_add_real(lack, "df1", g->lack_of_fit.df1);
    wl_json_add_real(lack, "df2", g->lack_of_fit.df2);
    wl_json_add_real(lack, "p", g->lack_of_fit.p);
    add_residuals(o, g);
    add_shape(o, g);
    add_models(o, g);
    struct wl_json *configs = wl_json_add_array(o, "worker_counts");
    for (size_t i = 0; i < g->n_configs; i++) add_config(configs, &g->configs[i]);
    wl_law_json_notes(o, &g->notes);
}

void wl_law_json(const struct wl_law_result *r, struct wl_json *object)
{
    wl_json_add_str(object, "response", wl_law_response_name(r->response));
    wl_json_add_str(object, "unit", wl_law_response_unit(r->response));
    add_counts(object, &r->counts);
    struct wl_json *groups = wl_json_add_array(object, "groups");
    for (size_t i = 0; i < r->n; i++) add_group(groups, &r->groups[i]);
}

void wl_law_normalised_json(const struct wl_law_result *r, struct wl_json *object)
{
    struct wl_json *groups = wl_json_add_array(object, "normalised");
    for (size_t i = 0; i < r->n; i++) {
        const struct wl_law_group *g = &r->groups[i];
        struct wl_json *group = wl_json_add_object(groups, NULL);
        wl_json_add_str(group, "title", g->title);
        wl_json_add_str(group, "scaling", wl_law_scaling_name(g->scaling));
        wl_json_add_bool(group, "estimated", g->estimated);
        wl_json_add_bool(group, "simulated", g->simulated);
        struct wl_json *configs = wl_json_add_array(group, "worker_counts");
        for (size_t j = 0; j < g->n_configs; j++) {
            const struct wl_law_config *c = &g->configs[j];
            struct wl_json *o = wl_json_add_object(configs, NULL);
            wl_json_add_real(o, "workers", c->workers);
            wl_json_add_real(o, "time_s", c->time_s);
            wl_json_add_real(o, "energy_j", c->energy_j);
            wl_law_json_estimate(o, "speedup", "speedup_ci95", &c->speedup);
            wl_law_json_estimate(o, "energy_ratio", "energy_ratio_ci95", &c->energy_ratio);
            wl_law_json_interval(o, "speedup_configuration_ci95", c->config_speedup.lo, c->config_speedup.hi);
            wl_law_json_interval(o, "energy_ratio_configuration_ci95", c->config_energy_ratio.lo,
                                 c->config_energy_ratio.hi);
        }
    }
}
