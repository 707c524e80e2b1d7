/* Energy against worker-hours as JSON; docs/formats.md describes the keys, which are stable. */
#include "law/json.h"
#include "law/energy/energy.h"

#include <math.h>

static void add_term(struct wl_json *parent, const char *key, const struct wl_energy_law_term *t)
{
    struct wl_json *o = wl_json_add_object(parent, key);
    wl_json_add_real(o, "value", t->value);
    wl_json_add_real(o, "se", t->se);
    wl_law_json_interval(o, "ci95", t->lo, t->hi);
    wl_json_add_real(o, "p", t->p);
}

static struct wl_json *run_of(const void *group, size_t i, struct wl_arena *a)
{
    const struct wl_energy_law_group *g = group;
    const struct wl_energy_law_run *r = &g->runs[i];
    struct wl_json *o = wl_json_root_object(a);
    wl_json_add_str(o, "run", r->label);
    wl_json_add_number(o, "workers", r->workers);
    wl_json_add_number(o, "local_batch", r->local_batch);
    wl_json_add_real(o, "worker_h", r->worker_h);
    wl_json_add_real(o, "kwh", r->kwh);
    wl_law_json_interval(o, "kwh_ci95", r->kwh_lo, r->kwh_hi);
    wl_json_add_real(o, "kwh_per_worker_h", r->rate);
    wl_json_add_real(o, "samples_per_worker_h", r->samples_per_worker_h);
    wl_json_add_real(o, "updates_per_worker_h", r->updates_per_worker_h);
    wl_json_add_real(o, "identity", r->identity);
    if (!isnan(r->carbon_g_per_kwh)) wl_json_add_real(o, "carbon_g_per_kwh", r->carbon_g_per_kwh);
    return o;
}

static void add_group(struct wl_json *array, const struct wl_energy_law_group *g, struct wl_json_streams *streams)
{
    struct wl_json *o = wl_json_add_object(array, NULL);
    wl_law_json_key(o, g->key, g->n_key);
    wl_json_add_str(o, "title", g->title);
    wl_json_add_bool(o, "estimated", g->estimated);
    wl_json_add_bool(o, "simulated", g->simulated);
    wl_json_add_int(o, "runs", (int64_t)g->n);
    wl_json_add_real(o, "kwh", g->kwh);
    wl_law_json_interval(o, "kwh_ci95", g->kwh_lo, g->kwh_hi);
    wl_json_add_real(o, "worker_h", g->worker_h);
    struct wl_json *rate = wl_json_add_object(o, "kwh_per_worker_h");
    wl_json_add_real(rate, "mean", g->rate);
    wl_json_add_real(rate, "cv", g->rate_cv);
    wl_law_json_interval(rate, "cv_ci95", g->rate_cv_lo, g->rate_cv_hi);
    wl_json_add_real(rate, "least", g->rate_min);
    wl_json_add_real(rate, "most", g->rate_max);
    wl_json_add_real(rate, "of_sums", g->rate_of_sums);
    struct wl_json *origin = wl_json_add_object(o, "through_origin");
    add_term(origin, "slope", &g->origin);
    wl_json_add_real(origin, "r2_uncentred", g->origin_r2);
    struct wl_json *line = wl_json_add_object(o, "with_intercept");
    add_term(line, "intercept_kwh", &g->base);
    add_term(line, "slope", &g->slope);
    wl_json_add_real(line, "r2", g->r2);
    wl_json_add_real(line, "sigma", g->sigma);
    wl_json_add_real(line, "df", g->df);
    wl_json_add_str(line, "why", g->reason);
    wl_json_add_str(line, "basis", isnan(g->slope.value) ? NULL : g->basis);
    add_term(o, "exponent", &g->exponent);
    struct wl_json *drivers = wl_json_add_object(o, "drivers");
    add_term(drivers, "samples_per_worker_h", &g->by_samples);
    add_term(drivers, "updates_per_worker_h", &g->by_updates);
    wl_json_add_real(drivers, "r2", g->drivers_r2);
    wl_json_add_real(drivers, "vif", g->vif);
    wl_json_add_str(drivers, "why", g->drivers_reason);
    wl_json_add_real(o, "identity_worst", g->identity_worst);
    wl_json_add_stream(streams, o, "per_run", g->n, run_of, g);
    wl_law_json_notes(o, &g->notes);
}

void wl_energy_law_json(const struct wl_energy_law_result *r, struct wl_json *object, struct wl_json_streams *streams)
{
    struct wl_json *groups = wl_json_add_array(object, "groups");
    for (size_t i = 0; i < r->n; i++) add_group(groups, &r->groups[i], streams);
    struct wl_json *equal = wl_json_add_object(object, "equal_slopes");
    wl_json_add_real(equal, "f", r->f);
    wl_json_add_real(equal, "df1", r->df1);
    wl_json_add_real(equal, "df2", r->df2);
    wl_json_add_real(equal, "p", r->p);
    wl_json_add_str(equal, "why", r->reason);
}
