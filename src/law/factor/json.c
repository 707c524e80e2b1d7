/* A comparison as JSON; docs/formats.md describes the keys, which are stable. */
#include "law/json.h"
#include "law/factor/factor.h"

#include <math.h>

static const char *value_of(const struct wl_factor_group *g, size_t l) { return g->levels[l].value; }

static void add_level(struct wl_json *array, const struct wl_factor_level *level)
{
    const struct wl_law_group *law = &level->law;
    struct wl_json *o = wl_json_add_object(array, NULL);
    wl_json_add_str(o, "value", level->value);
    wl_json_add_int(o, "runs", (int64_t)law->n_runs);
    wl_json_add_int(o, "configs", (int64_t)law->n_configs);
    const struct wl_law_estimate *e = law->law;
    wl_json_add_real(o, "alpha", e ? e->alpha : NAN);
    wl_json_add_real(o, "beta", e ? e->beta : NAN);
    wl_json_add_real(o, "beta_se", e ? e->beta_se : NAN);
    wl_law_json_interval(o, "beta_ci95", e ? e->beta_lo : NAN, e ? e->beta_hi : NAN);
    wl_json_add_real(o, "r2", e ? e->r2 : NAN);
    wl_json_add_str(o, "basis", e ? e->name : NULL);
    for (const struct wl_setting *r = NULL; (r = wl_setting_next_clock(r));)
        wl_json_add_real(o, r->achieved, level->achieved.clock[r->cap]);
    wl_json_add_real(o, "power_capped_pct", level->achieved.power_capped_pct);
    wl_json_add_real(o, "caps_acted_pct", level->achieved.caps_acted_pct);
    wl_json_add_str(o, "why", level->reason);
}

static void add_tests(struct wl_json *parent, const struct wl_factor_tests *t)
{
    struct wl_json *o = wl_json_add_object(parent, "equal_slopes");
    wl_json_add_real(o, "f", t->f);
    wl_json_add_real(o, "df1", t->df1);
    wl_json_add_real(o, "df2", t->df);
    wl_json_add_real(o, "p", t->p);
    wl_json_add_real(o, "partial_eta2", t->partial_eta2);
    wl_json_add_real(o, "sigma", t->sigma);
    wl_json_add_str(o, "why", t->reason);
    o = wl_json_add_object(parent, "common_slope");
    wl_json_add_real(o, "beta", t->beta);
    wl_json_add_real(o, "beta_se", t->beta_se);
    wl_law_json_interval(o, "beta_ci95", t->beta_lo, t->beta_hi);
    wl_json_add_real(o, "df", t->beta_df);
}

static void add_pairs(struct wl_json *o, const struct wl_factor_group *g, const struct wl_factor_tests *t,
                      double margin)
{
    struct wl_json *pairs = wl_json_add_array(o, "pairwise"), *tost = wl_json_add_array(o, "tost");
    for (size_t i = 0; i < t->n_pairs; i++) {
        const struct wl_factor_pair *p = &t->pairs[i];
        struct wl_json *at = wl_json_add_object(pairs, NULL), *same = wl_json_add_object(tost, NULL);
        wl_json_add_str(at, "a", value_of(g, p->a));
        wl_json_add_str(at, "b", value_of(g, p->b));
        wl_json_add_real(at, "difference", p->difference);
        wl_json_add_real(at, "se", p->se);
        wl_law_json_interval(at, "ci95", p->lo, p->hi);
        wl_json_add_real(at, "t", p->t);
        wl_json_add_real(at, "df", p->df);
        wl_json_add_real(at, "p", p->p);
        wl_json_add_real(at, "p_holm", p->p_holm);
        wl_json_add_real(at, "p_tukey", p->p_tukey);
        wl_json_add_str(same, "a", value_of(g, p->a));
        wl_json_add_str(same, "b", value_of(g, p->b));
        wl_json_add_real(same, "margin", margin);
        wl_json_add_real(same, "p", p->p_same);
    }
}

static void add_slowdowns(struct wl_json *o, const struct wl_factor_group *g)
{
    struct wl_json *array = wl_json_add_array(o, "slowdown");
    for (size_t i = 0; i < g->n_slowdowns; i++) {
        const struct wl_factor_slowdown *s = &g->slowdowns[i];
        struct wl_json *at = wl_json_add_object(array, NULL);
        wl_json_add_str(at, "level", value_of(g, s->level));
        wl_json_add_str(at, "base", value_of(g, g->base));
        wl_json_add_real(at, "workers", s->workers);
        wl_json_add_real(at, "ratio", s->ratio.value);
        wl_law_json_interval(at, "ratio_ci95", s->ratio.lo, s->ratio.hi);
    }
}

static void add_quantity(struct wl_json *parent, const char *key, const struct wl_factor_quantity *q)
{
    struct wl_json *o = wl_json_add_object(parent, key);
    wl_json_add_real(o, "ratio", q->ratio.value);
    wl_law_json_interval(o, "ci95", q->ratio.lo, q->ratio.hi);
    wl_law_json_interval(o, "configurations_ci95", q->configurations.lo, q->configurations.hi);
    wl_json_add_real(o, "p_same", q->p_same);
}

static void add_cells(struct wl_json *o, const struct wl_factor_group *g)
{
    struct wl_json *array = wl_json_add_array(o, "at_workers");
    for (size_t i = 0; i < g->n_cells; i++) {
        const struct wl_factor_cell *c = &g->cells[i];
        struct wl_json *at = wl_json_add_object(array, NULL);
        wl_json_add_real(at, "workers", c->workers);
        wl_json_add_str(at, "level", value_of(g, c->level));
        wl_json_add_str(at, "base", value_of(g, g->base));
        wl_json_add_int(at, "runs", (int64_t)c->runs);
        wl_json_add_real(at, "time_s", c->time_s);
        wl_json_add_real(at, "energy_j", c->energy_j);
        add_quantity(at, "time", &c->time);
        add_quantity(at, "energy", &c->energy);
        add_quantity(at, "power", &c->power);
        add_quantity(at, "energy_delay", &c->edp);
        wl_json_add_bool(at, "pareto", c->pareto);
    }
}

static void add_overhead(struct wl_json *parent, const struct wl_factor_group *g)
{
    const struct wl_factor_overhead *m = &g->overhead;
    struct wl_json *o = wl_json_add_object(parent, "shared_overhead_model"), *w = wl_json_add_object(o, "W");
    struct wl_json *se = wl_json_add_object(o, "W_se");
    for (size_t l = 0; l < g->n_levels; l++) {
        wl_json_add_real(w, value_of(g, l), m->w[l]);
        wl_json_add_real(se, value_of(g, l), m->w_se[l]);
    }
    wl_json_add_real(o, "c", m->c);
    wl_json_add_real(o, "c_se", m->c_se);
    wl_json_add_real(o, "sse", m->sse);
    wl_json_add_str(o, "why", m->reason);
    struct wl_json *aicc = wl_json_add_object(parent, "aicc");
    wl_json_add_real(aicc, "common_slope", g->aicc_common);
    wl_json_add_real(aicc, "separate_slopes", g->aicc_separate);
    wl_json_add_real(aicc, "shared_overhead", m->aicc);
    wl_json_add_str(parent, "best_model", g->best_model);
}

static void add_scaled_work(struct wl_json *parent, const struct wl_factor_scaled_work *t)
{
    struct wl_json *o = wl_json_add_object(parent, "scaled_work");
    wl_json_add_real(o, "overhead_share", t->overhead);
    wl_json_add_real(o, "f", t->f);
    wl_json_add_real(o, "df1", t->df1);
    wl_json_add_real(o, "df2", t->df);
    wl_json_add_real(o, "p", t->p);
    wl_json_add_real(o, "sigma", t->sigma);
    wl_json_add_bool(o, "decides", t->decides);
}

static void add_comparison(struct wl_json *o, const struct wl_factor_group *g, double margin)
{
    wl_json_add_str(o, "base", value_of(g, g->base));
    wl_json_add_str(o, "basis", g->tests->basis);
    wl_json_add_int(o, "shared_worker_counts", (int64_t)g->shared_workers);
    add_tests(o, g->tests);
    add_scaled_work(o, &g->scaled_work);
    struct wl_json *both = wl_json_add_object(o, "by_basis");
    const struct wl_factor_tests *const bases[] = { &g->over_runs, &g->over_configs };
    for (size_t i = 0; i < WL_COUNT(bases); i++) {
        struct wl_json *basis = wl_json_add_object(both, bases[i]->basis);
        add_tests(basis, bases[i]);
        add_pairs(basis, g, bases[i], margin);
    }
    wl_json_add_real(o, "equal_slopes_p_bh", g->p_bh);
    add_pairs(o, g, g->tests, margin);
    add_slowdowns(o, g);
    add_overhead(o, g);
    wl_json_add_str(o, "verdict", wl_factor_verdict_name(g->verdict));
    wl_json_add_str(o, "verdict_why", g->verdict_reason);
    wl_json_add_real(o, "runs_needed", g->runs_needed);
    wl_json_add_str(o, "runs_needed_why", g->runs_needed_reason);
}

static void add_work(struct wl_json *parent, const struct wl_factor_work *w)
{
    if (isnan(w->samples)) {
        wl_json_add_null(parent, "same_work");
        return;
    }
    struct wl_json *o = wl_json_add_object(parent, "same_work");
    wl_json_add_real(o, "samples", w->samples);
    wl_json_add_bool(o, "per_worker", w->per_worker);
}

static void add_group(struct wl_json *array, const struct wl_factor_group *g, double margin)
{
    struct wl_json *o = wl_json_add_object(array, NULL);
    wl_law_json_key(o, g->key, g->n_key);
    wl_json_add_str(o, "title", g->title);
    wl_json_add_bool(o, "estimated", g->estimated);
    wl_json_add_bool(o, "simulated", g->simulated);
    struct wl_json *names = wl_json_add_array(o, "levels");
    for (size_t l = 0; l < g->n_levels; l++) wl_json_add_str(names, NULL, value_of(g, l));
    struct wl_json *levels = wl_json_add_array(o, "per_level");
    for (size_t l = 0; l < g->n_levels; l++) add_level(levels, &g->levels[l]);
    add_work(o, &g->work);
    wl_json_add_str(o, "refused", g->refusal);
    if (!g->refusal)
        add_comparison(o, g, margin);
    else
        wl_json_add_null(o, "verdict");
    add_cells(o, g);
    wl_law_json_notes(o, &g->notes);
}

void wl_factor_json(const struct wl_factor_result *r, struct wl_json *object)
{
    wl_json_add_str(object, "factor", r->factor);
    wl_json_add_str(object, "response", wl_law_response_name(r->response));
    wl_json_add_str(object, "unit", wl_law_response_unit(r->response));
    wl_json_add_real(object, "margin", r->margin);
    wl_json_add_real(object, "ratio_margin", r->ratio_margin);
    struct wl_json *groups = wl_json_add_array(object, "groups");
    for (size_t i = 0; i < r->n; i++) add_group(groups, &r->groups[i], r->margin);
}
