#include "cmd/wattlaw/predict/internal.h"

#include <math.h>

static void add_pair(struct wl_json *o, const char *key, double lo, double hi)
{
    struct wl_json *interval = wl_json_add_array(o, key);
    wl_json_add_real(interval, NULL, lo);
    wl_json_add_real(interval, NULL, hi);
}

static void add_estimate(struct wl_json *o, const char *key, const char *interval, const struct wl_estimate *v)
{
    wl_json_add_real(o, key, v->value);
    add_pair(o, interval, v->lo, v->hi);
}

static void add_parts(struct wl_json *o, const struct wl_energy_parts_forecast *f)
{
    struct wl_json *parts = wl_json_add_object(o, "parts");
    add_estimate(parts, "time_s", "time_interval95", &f->time_s);
    add_estimate(parts, "power_w", "power_interval95", &f->power_w);
    add_estimate(parts, "energy_j", "energy_interval95", &f->energy_j);
}

/* What joins the parts of a group's energy. */
static void add_explanation(struct wl_json *group, const struct wl_energy_parts *p)
{
    struct wl_json *o = wl_json_add_object(group, "by_parts");
    wl_json_add_str(o, "why", p->reason);
    wl_json_add_real(o, "correlation", p->reason ? NAN : p->correlation);
    struct wl_json *power = wl_json_add_array(o, "power_models");
    for (size_t f = 0; f < WL_HIER_FAMILIES && !p->reason; f++) {
        if (!(p->power.prior->weight[f] > 0)) continue;
        struct wl_json *m = wl_json_add_object(power, NULL);
        wl_json_add_str(m, "name", wl_hier_family_name(f));
        wl_json_add_real(m, "prior", p->power.prior->weight[f]);
        wl_json_add_real(m, "weight", p->power.reason[f] ? NAN : p->power.weight[f]);
        wl_json_add_str(m, "why", p->power.reason[f]);
    }
}

static void add_forecast(struct wl_json *array, const struct wl_law_forecast *f,
                         const struct wl_energy_parts_forecast *parts)
{
    struct wl_json *o = wl_json_add_object(array, NULL);
    wl_json_add_number(o, "workers", f->workers);
    wl_json_add_real(o, "range_ratio", f->ratio);
    wl_json_add_real(o, "epoch", f->value);
    add_pair(o, "run_interval95", f->lo, f->hi);
    add_pair(o, "configuration_interval95", f->config_lo, f->config_hi);
    wl_json_add_str(o, "basis", "hierarchical");
    wl_json_add_str(o, "refused", NULL);
    wl_json_add_str(o, "reach", f->reach);
    wl_json_add_real(o, "measure_at", f->measure_at);
    wl_json_add_real(o, "width_after", f->narrower);
    struct wl_json *models = wl_json_add_array(o, "models");
    for (size_t i = 0; i < f->n_families; i++) {
        const struct wl_law_forecast_family *v = &f->families[i];
        struct wl_json *m = wl_json_add_object(models, NULL);
        wl_json_add_str(m, "name", v->name);
        wl_json_add_real(m, "prior", v->prior);
        wl_json_add_real(m, "weight", v->reason ? NAN : v->weight);
        wl_json_add_real(m, "epoch", v->value);
        wl_json_add_real(m, "se_ln", v->se);
        wl_json_add_str(m, "why", v->reason);
    }
    if (parts) add_parts(o, parts);
}

static void add_refusal(struct wl_json *array, double workers, const char *refusal)
{
    struct wl_json *o = wl_json_add_object(array, NULL);
    wl_json_add_number(o, "workers", workers);
    wl_json_add_str(o, "refused", refusal);
}

void wl_cmd_predicted_json(struct wl_json *array, const struct wl_cmd_predicted *p, const struct wl_points *points)
{
    const struct wl_law_group *g = p->group;
    struct wl_json *o = wl_json_add_object(array, NULL), *key = wl_json_add_object(o, "key");
    for (size_t i = 0; i < g->n_key; i++)
        wl_json_add_str(key, g->key[i].column, *g->key[i].value ? g->key[i].value : NULL);
    wl_json_add_str(o, "title", g->title);
    wl_json_add_str(o, "scaling", wl_law_scaling_name(g->scaling));
    wl_json_add_bool(o, "estimated", g->estimated);
    wl_json_add_bool(o, "simulated", g->simulated);
    wl_json_add_real(o, "configuration_sd", p->posterior.refusal ? NAN : p->posterior.fit.tau);
    wl_json_add_real(o, "run_sd", p->posterior.refusal ? NAN : p->posterior.fit.sigma);
    struct wl_json *list = wl_json_add_array(o, "predictions"), *notes;
    for (size_t i = 0; i < p->n; i++) add_forecast(list, &p->at[i], p->by_parts ? &p->by_parts[i] : NULL);
    for (size_t i = p->n; i < points->n; i++) add_refusal(list, points->workers[i], p->posterior.refusal);
    if (p->n && p->response == WL_LAW_ENERGY) add_explanation(o, &p->parts);
    if (p->figure) wl_json_add_str(o, "figure", p->figure);
    notes = wl_json_add_array(o, "notes");
    for (size_t i = 0; i < p->posterior.notes.n; i++) wl_json_add_str(notes, NULL, p->posterior.notes.v[i]);
}
