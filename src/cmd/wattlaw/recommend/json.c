/* The recommendation as JSON (docs/formats.md). */
#include "cmd/wattlaw/recommend/recommend.h"

#include <math.h>

static void add_interval(struct wl_json *o, const char *key, const struct wl_estimate *v)
{
    struct wl_json *pair = wl_json_add_array(o, key);
    wl_json_add_real(pair, NULL, v->lo);
    wl_json_add_real(pair, NULL, v->hi);
}

static void add_name(struct wl_json *o, const char *key, const struct wl_recommendation *r, int i)
{
    wl_json_add_str(o, key, i == WL_CHOOSE_NONE ? NULL : r->campaign.settings[i].name);
}

static const struct {
    enum wl_choose_quantity quantity;
    const char *value, *interval, *ratio, *ratio_interval;
} quantities[] = {
    { WL_CHOOSE_TIME, "time_s", "time_interval95", "time_ratio", "time_ratio_interval95" },
    { WL_CHOOSE_ENERGY, "energy_j", "energy_interval95", "energy_ratio", "energy_ratio_interval95" },
    { WL_CHOOSE_CARBON, "carbon_g", "carbon_interval95", "carbon_ratio", "carbon_ratio_interval95" },
    { WL_CHOOSE_COST, "cost", "cost_interval95", "cost_ratio", "cost_ratio_interval95" },
};

static void add_values(struct wl_json *to, const struct wl_choose_campaign *c, size_t i)
{
    struct wl_json *o = wl_json_add_object(to, "values");
    for (size_t k = 0; k < c->n_axes; k++) {
        double v;
        if (!*c->value[i][k])
            wl_json_add_null(o, c->axes[k].column);
        else if (c->axes[k].number && wl_str_to_real(c->value[i][k], &v) == 0)
            wl_json_add_number(o, c->axes[k].column, v);
        else
            wl_json_add_str(o, c->axes[k].column, c->value[i][k]);
    }
}

static void add_setting(struct wl_json *list, const struct wl_recommendation *r, size_t i)
{
    const struct wl_choose_row *row = &r->result.rows[i];
    struct wl_json *o = wl_json_add_object(list, NULL);
    wl_json_add_str(o, "setting", r->campaign.settings[i].name);
    add_values(o, &r->campaign, i);
    wl_json_add_int(o, "runs", (int64_t)r->campaign.settings[i].runs);
    wl_json_add_bool(o, "estimated", r->campaign.from[i] & WL_ESTIMATED);
    wl_json_add_bool(o, "simulated", r->campaign.from[i] & WL_SIMULATED);
    for (size_t k = 0; k < WL_COUNT(quantities); k++) {
        const struct wl_estimate *v = &row->amount[quantities[k].quantity];
        wl_json_add_real(o, quantities[k].value, v->value);
        add_interval(o, quantities[k].interval, v);
    }
    wl_json_add_real(o, "objective", row->amount[r->options.minimize].value);
    const size_t reference = wl_choose_reference_of(&r->options, i);
    add_name(o, "reference", r, reference == WL_CHOOSE_NO_REFERENCE ? WL_CHOOSE_NONE : (int)reference);
    wl_json_add_real(o, "slowdown", row->slowdown.value);
    add_interval(o, "slowdown_interval95", &row->slowdown);
    wl_json_add_real(o, "peak_power_w", r->campaign.peak_w[i]);
    wl_json_add_str(o, "peak_power_from",
                    isnan(r->campaign.peak_w[i]) ? NULL
                    : r->campaign.peak_is_cap[i] ? "cap"
                                                 : "measured");
    struct wl_json *meets = wl_json_add_array(o, "limit_probabilities");
    for (size_t k = 0; k < r->options.n_limits; k++) wl_json_add_real(meets, NULL, row->meets[k]);
    wl_json_add_bool(o, "allowed", row->allowed);
    wl_json_add_str(o, "excluded", r->campaign.settings[i].excluded);
    wl_json_add_bool(o, "tied", row->tied);
    wl_json_add_real(o, "trade_off_probability", row->pareto);
    wl_json_add_bool(o, "front", row->front);
    wl_json_add_real(o, "gain_of_a_run", row->gain);
    struct wl_json *idle = wl_json_add_array(o, "never_acted");
    for (size_t k = 0; k < r->campaign.never_acted[i].n; k++)
        wl_json_add_str(idle, NULL, r->campaign.never_acted[i].v[k]);
}

static void add_limits(struct wl_json *root, const struct wl_recommendation *r)
{
    const struct wl_choose_result *x = &r->result;
    struct wl_json *list = wl_json_add_array(root, "limits");
    for (size_t k = 0; k < r->options.n_limits; k++) {
        const struct wl_choose_limit *l = &r->options.limits[k];
        struct wl_json *o = wl_json_add_object(list, NULL);
        wl_json_add_str(o, "limit", l->name);
        wl_json_add_str(o, "quantity", wl_choose_quantity_name(l->quantity));
        wl_json_add_bool(o, "relative", l->relative);
        wl_json_add_bool(o, "default", l->by_default);
        wl_json_add_real(o, "most", l->most);
        wl_json_add_real(o, "probability", x->choice == WL_CHOOSE_NONE ? NAN : x->rows[x->choice].meets[k]);
        wl_json_add_real(o, "needed", x->relaxed ? x->relaxed[k].most : NAN);
        add_name(o, "needed_by", r, x->relaxed ? x->relaxed[k].setting : WL_CHOOSE_NONE);
    }
}

static void add_choice(struct wl_json *root, const struct wl_recommendation *r, struct wl_arena *a)
{
    const struct wl_choose_result *x = &r->result;
    const bool any = x->choice != WL_CHOOSE_NONE;
    add_name(root, "choice", r, x->choice);
    add_name(root, "reference", r, wl_recommend_reference(r));
    wl_json_add_str(root, "command", any ? wl_recommend_command(r, (size_t)x->choice, a) : NULL);
    struct wl_json *saving = wl_json_add_object(root, "over_reference");
    for (size_t k = 0; k < WL_COUNT(quantities); k++) {
        const struct wl_estimate *v = &x->saving[quantities[k].quantity];
        wl_json_add_real(saving, quantities[k].ratio, v->value);
        add_interval(saving, quantities[k].ratio_interval, v);
    }
    add_name(root, "worst", r, x->worst);
    wl_json_add_real(root, "over_worst", x->over_worst.value);
    add_interval(root, "over_worst_interval95", &x->over_worst);
    wl_json_add_real(root, "within_1_percent", x->within[0]);
    wl_json_add_real(root, "within_3_percent", x->within[1]);
    add_name(root, "runner_up", r, x->runner_up);
    wl_json_add_real(root, "ahead_of_runner_up", x->ahead);
    add_name(root, "next_run", r, wl_choose_next_run(x));
    wl_json_add_str(root, "trade_off", x->other == WL_CHOOSE_TIME ? NULL : wl_choose_quantity_name(x->other));
    add_name(root, "knee", r, x->knee);
    wl_json_add_real(root, "knee_depth", x->depth);
    add_name(root, "nearest", r, x->nearest);
    wl_json_add_str(root, "binding", x->binding == WL_CHOOSE_NONE ? NULL : r->options.limits[x->binding].name);
}

void wl_recommend_json(const struct wl_recommendation *r, struct wl_json *root, struct wl_arena *a)
{
    wl_json_add_int(root, "drop_epochs", r->asked->drop_epochs);
    wl_json_add_str(root, "workload", r->campaign.workload);
    wl_json_add_str(root, "minimize", wl_choose_quantity_name(r->options.minimize));
    wl_json_add_real(root, "probability", r->options.probability);
    wl_json_add_str(root, "work", r->campaign.unit);
    wl_json_add_bool(root, "estimated", r->campaign.any_from & WL_ESTIMATED);
    wl_json_add_bool(root, "simulated", r->campaign.any_from & WL_SIMULATED);
    add_choice(root, r, a);
    add_limits(root, r);
    wl_json_add_real(root, "noise_correlation", r->campaign.rho);
    wl_cmd_footprint_json(&r->asked->footprint, wl_json_add_object(root, "footprint"));
    struct wl_json *notes = wl_json_add_array(root, "notes");
    for (size_t i = 0; i < r->campaign.notes.n; i++) wl_json_add_str(notes, NULL, r->campaign.notes.v[i]);
    struct wl_json *list = wl_json_add_array(root, "settings");
    for (size_t i = 0; i < r->campaign.n; i++) add_setting(list, r, i);
}
