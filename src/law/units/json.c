#include "law/json.h"
#include "law/units/units.h"

#include <math.h>

static const char *const states[] = { "compared", "with_others", "in_all_runs", "not_separated" };

static void add_unit(const struct wl_units_result *r, const struct wl_units_table *t, size_t u, struct wl_json *list)
{
    const struct wl_unit_effect *v = &t->effects.v[u];
    struct wl_json *o = wl_json_add_object(list, NULL);
    wl_json_add_str(o, wl_units_names[r->kind], r->label[u]);
    if (r->uuid) wl_json_add_str(o, "uuid", r->uuid[u]);
    if (r->uuid) wl_json_add_str(o, "serial", r->serial[u]);
    wl_json_add_int(o, "rows", (int64_t)v->rows);
    wl_json_add_str(o, "state", states[v->state]);
    wl_json_add_str(o, "effect_of", r->label[v->with]);
    wl_json_add_bool(o, "reference", v->reference);
    const struct wl_estimate percent = wl_units_percent(t, u);
    wl_law_json_estimate(o, t->is_share ? "points" : "percent", "ci95", &percent);
    if (t->mean) wl_json_add_real(o, "mean_pct", t->mean[u]);
    wl_json_add_real(o, "t", v->t);
    wl_json_add_real(o, "p", v->p);
    wl_json_add_real(o, "p_holm", v->p_holm);
}

static void add_table(const struct wl_units_result *r, const struct wl_units_table *t, struct wl_json *list)
{
    const struct wl_unit_effects *f = &t->effects;
    struct wl_json *o = wl_json_add_object(list, NULL);
    wl_json_add_str(o, "quantity", t->name);
    wl_json_add_str(o, "blocks", t->quantity <= WL_UNITS_ENERGY ? "settings" : t->of_epochs ? "epochs" : "runs");
    wl_json_add_bool(o, "estimated", t->estimated);
    wl_json_add_int(o, "rows", (int64_t)t->rows);
    wl_json_add_int(o, "n_blocks", (int64_t)t->blocks);
    wl_json_add_str(o, "refusal", t->refusal);
    wl_json_add_real(o, "f", f->f);
    wl_json_add_real(o, "df1", f->df1);
    wl_json_add_real(o, "df", f->df);
    wl_json_add_real(o, "p", f->p);
    wl_json_add_real(o, "sigma", f->sigma);
    wl_json_add_real(o, "between_sd", f->between);
    struct wl_json *units = wl_json_add_array(o, "units");
    for (size_t u = 0; u < r->n; u++)
        if (f->v[u].rows) add_unit(r, t, u, units);
}

void wl_units_json(const struct wl_units_result *r, struct wl_json *object)
{
    wl_json_add_str(object, "factor", wl_units_names[r->kind]);
    wl_json_add_int(object, "runs", (int64_t)r->runs);
    wl_json_add_bool(object, "simulated", r->simulated);
    struct wl_json *list = wl_json_add_array(object, "quantities");
    for (size_t i = 0; i < r->tables; i++) add_table(r, &r->v[i], list);
    wl_law_json_notes(object, &r->notes);
}
