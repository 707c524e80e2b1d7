/* Time and energy to a target as JSON; docs/formats.md describes the keys, which are stable. */
#include "law/json.h"
#include "law/target.h"

static void add_config(struct wl_json *array, const struct wl_target_config *c)
{
    struct wl_json *o = wl_json_add_object(array, NULL);
    wl_json_add_real(o, "workers", c->workers);
    wl_json_add_int(o, "runs", (int64_t)c->runs);
    wl_json_add_int(o, "reached", (int64_t)c->reached);
    wl_json_add_real(o, "epochs", c->epochs);
    wl_law_json_estimate(o, "time_s", "time_ci95", &c->time_s);
    wl_law_json_estimate(o, "energy_j", "energy_ci95", &c->energy_j);
}

void wl_target_json(const struct wl_target_result *r, struct wl_json *object)
{
    wl_json_add_str(object, "metric", r->metric);
    wl_json_add_real(object, "value", r->value);
    wl_json_add_str(object, "reached_at", r->rising ? ">=" : "<=");
    struct wl_json *groups = wl_json_add_array(object, "groups");
    for (size_t i = 0; i < r->n; i++) {
        const struct wl_target_group *g = &r->groups[i];
        struct wl_json *o = wl_json_add_object(groups, NULL);
        wl_law_json_key(o, g->key, g->n_key);
        wl_json_add_str(o, "title", g->title);
        wl_json_add_bool(o, "estimated", g->estimated);
        wl_json_add_bool(o, "simulated", g->simulated);
        struct wl_json *configs = wl_json_add_array(o, "worker_counts");
        for (size_t j = 0; j < g->n; j++) add_config(configs, &g->configs[j]);
        wl_law_json_notes(o, &g->notes);
    }
}
