#include "cmd/wattlaw/scaling.h"

#include "cmd/wattlaw/curves.h"
#include "cmd/wattlaw/format.h"

#include <string.h>

int wl_scaling_target_parse(const char *text, const char **metric, double *value, struct wl_arena *a, struct wl_err *e)
{
    const char *equals = strrchr(text, '=');
    if (!equals || equals == text || wl_str_to_real(equals + 1, value))
        return wl_fail(e, WL_EUSAGE, "--target %s: expected METRIC=NUMBER", text);
    *metric = wl_strndup(a, text, (size_t)(equals - text));
    return 0;
}

static void ratio_cells(struct wl_table *t, double value, const struct wl_estimate *interval)
{
    wl_table_aligned(t, value);
    wl_table_cell(t, wl_format_range(interval->lo, interval->hi, t->arena));
}

static void ratio_columns(struct wl_table *t, const char *name)
{
    wl_table_real_column(t, name, 4);
    wl_table_column(t, "95 %", true);
}

/* What times and energies are of. */
static const char *span_of(const struct wl_law_group *g) { return g->work ? g->work->amount : "one epoch"; }

static void energy_columns(struct wl_table *t)
{
    wl_table_provenance_column(t);
    wl_table_unit_column(t, "energy_j", "energy", "J", 4);
}

/* ---- normalised ---- */

static void energy_cells(struct wl_table *t, const struct wl_law_group *g, const struct wl_law_config *c)
{
    const struct wl_amount energy = wl_amount_of(c->energy_j, "J", wl_provenance_of(g->estimated, g->simulated));
    wl_table_aligned(t, c->time_s);
    wl_table_provenance(t, energy.from);
    wl_table_amount(t, &energy, 0);
}

/* Intervals are those of other allocations of the same configurations. */
static void print_normalised_group(const struct wl_law_group *g, const struct wl_law_curves *curves, struct wl_arena *a)
{
    struct wl_table t = wl_table_new(a);
    static const char *const counts[] = { "workers", "runs" };
    const bool unequal = g->scaling == WL_SCALING_MIXED; /* a mean over unlike epochs is of nothing */
    for (size_t i = 0; i < WL_COUNT(counts); i++) wl_table_column(&t, counts[i], true);
    if (!unequal) {
        wl_table_real_column(&t, "time_s", 4);
        energy_columns(&t);
    }
    ratio_columns(&t, "speed-up");
    ratio_columns(&t, "energy ratio");
    for (size_t i = 0; i < g->n_configs; i++) {
        const struct wl_law_config *c = &g->configs[i];
        wl_table_workers(&t, c->workers);
        wl_table_int(&t, (double)c->runs);
        if (!unequal) energy_cells(&t, g, c);
        ratio_cells(&t, c->speedup.value, &c->config_speedup);
        ratio_cells(&t, c->energy_ratio.value, &c->config_energy_ratio);
        wl_table_row(&t);
    }
    wl_print("\n%s of %s%s\n", unequal ? "the same work" : span_of(g), g->title, g->simulated ? " (simulated)" : "");
    wl_table_print(&t, WL_STDOUT, wl_out_width(WL_STDOUT));
    if (unequal)
        wl_print("  note       %s are not comparable: their %s are neither constant nor proportional to the workers; "
                 "speed-up and energy ratio are per %.*s\n",
                 wl_law_rows_name(g), g->counted, (int)strlen(g->counted) - 1, g->counted);
    if (curves->refusal) return;
    wl_print("\nenergy of %s: medians of the hierarchical model's curve\n", span_of(g));
    wl_curves_print_table(curves, WL_LAW_ENERGY, wl_provenance_of(g->estimated, g->simulated), a);
    wl_print("\n");
    wl_curves_print(curves, wl_law_response_symbol(WL_LAW_ENERGY), a);
}

void wl_scaling_print_normalised(const struct wl_law_result *r, const struct wl_law_curves *curves, struct wl_arena *a)
{
    for (size_t i = 0; i < r->n; i++)
        if (r->groups[i].n_configs > 1) print_normalised_group(&r->groups[i], &curves[i], a);
}

/* ---- to a target ---- */

static void print_target_group(const struct wl_target_result *r, const struct wl_target_group *g, struct wl_arena *a)
{
    struct wl_table t = wl_table_new(a);
    static const char *const counts[] = { "workers", "runs", "reached" };
    for (size_t i = 0; i < WL_COUNT(counts); i++) wl_table_column(&t, counts[i], true);
    wl_table_real_column(&t, "epochs", 3);
    ratio_columns(&t, "time_s");
    energy_columns(&t);
    wl_table_range_column(&t, "95 %");
    for (size_t i = 0; i < g->n; i++) {
        const struct wl_target_config *c = &g->configs[i];
        wl_table_workers(&t, c->workers);
        wl_table_int(&t, (double)c->runs);
        wl_table_int(&t, (double)c->reached);
        wl_table_aligned(&t, c->epochs);
        ratio_cells(&t, c->time_s.value, &c->time_s);
        const struct wl_amount energy = wl_amount_between(c->energy_j.value, c->energy_j.lo, c->energy_j.hi, "J",
                                                          wl_provenance_of(g->estimated, g->simulated));
        wl_table_provenance(&t, energy.from);
        wl_table_amount(&t, &energy, 0);
        wl_table_range(&t, &energy);
        wl_table_row(&t);
    }
    wl_print("\n%s to %s %s %g%s\n", g->title, r->metric, r->rising ? ">=" : "<=", r->value,
             g->simulated ? " (simulated)" : "");
    if (g->n) wl_table_print(&t, WL_STDOUT, wl_out_width(WL_STDOUT));
    for (size_t i = 0; i < g->notes.n; i++) wl_print("  note       %s\n", g->notes.v[i]);
}

void wl_scaling_print_target(const struct wl_target_result *r, struct wl_arena *a)
{
    for (size_t i = 0; i < r->n; i++) print_target_group(r, &r->groups[i], a);
}

/* ---- worker counts that were not measured ---- */

static void amount_cells(struct wl_table *t, const struct wl_estimate *v, const char *unit, enum wl_provenance from)
{
    const struct wl_amount amount = wl_amount_between(v->value, v->lo, v->hi, unit, from);
    wl_table_amount(t, &amount, 0);
    wl_table_range(t, &amount);
}

static void print_refusal(const char *what, const char *why)
{
    if (why) wl_print("  refused    %s: %s\n", what, why);
}

void wl_scaling_print_extrapolated(const struct wl_energy_extrapolation *x, struct wl_arena *a)
{
    static const struct {
        const char *name, *quantity, *unit; /* unit NULL: as the name says */
    } heads[] = { { "energy_j", "energy", "J" },
                  { "kWh per h", NULL, NULL },
                  { "energy_j to target", "energy to target", "J" } };
    const enum wl_provenance from = wl_provenance_of(x->group->estimated, x->group->simulated);
    struct wl_table t = wl_table_new(a);
    wl_print("\n%s of %s%s, a new run\n", span_of(x->group), x->group->title,
             x->group->simulated ? " (simulated)" : "");
    wl_table_column(&t, "workers", true);
    wl_table_provenance_column(&t);
    for (size_t i = 0; i < WL_COUNT(heads); i++) {
        if (heads[i].unit)
            wl_table_unit_column(&t, heads[i].name, heads[i].quantity, heads[i].unit, 4);
        else
            wl_table_real_column(&t, heads[i].name, 4);
        wl_table_range_column(&t, "95 %");
    }
    for (size_t i = 0; i < x->n; i++) {
        const struct wl_energy_at *at = &x->at[i];
        const struct wl_estimate epoch = { at->epoch.value, at->epoch.lo, at->epoch.hi };
        wl_table_workers(&t, at->epoch.workers);
        wl_table_provenance(&t, from);
        amount_cells(&t, &epoch, "J", from);
        amount_cells(&t, &at->kwh_per_worker_h, "kWh", from);
        amount_cells(&t, &at->target_j, "J", from);
        wl_table_row(&t);
    }
    if (x->n) wl_table_print(&t, WL_STDOUT, wl_out_width(WL_STDOUT));
    for (size_t i = 0; i < x->n; i++) wl_print("  N = %-6g %s\n", x->at[i].epoch.workers, x->at[i].epoch.reach);
    print_refusal("all", x->refused);
    print_refusal("kWh per worker-hour", x->rate_refused);
    print_refusal("energy to the target", x->target_refused);
}

static void add_interval(struct wl_json *o, const char *key, const char *interval, const struct wl_estimate *v)
{
    wl_json_add_real(o, key, v->value);
    struct wl_json *ends = wl_json_add_array(o, interval);
    wl_json_add_real(ends, NULL, v->lo);
    wl_json_add_real(ends, NULL, v->hi);
}

static void add_at(struct wl_json *array, const struct wl_energy_at *at)
{
    struct wl_json *o = wl_json_add_object(array, NULL);
    const struct wl_estimate epoch = { at->epoch.value, at->epoch.lo, at->epoch.hi };
    wl_json_add_number(o, "workers", at->epoch.workers);
    wl_json_add_real(o, "range_ratio", at->epoch.ratio);
    add_interval(o, "energy_j", "energy_run_interval95", &epoch);
    add_interval(o, "kwh_per_worker_h", "kwh_per_worker_h_run_interval95", &at->kwh_per_worker_h);
    add_interval(o, "target_energy_j", "target_energy_run_interval95", &at->target_j);
    wl_json_add_str(o, "reach", at->epoch.reach);
}

void wl_scaling_extrapolated_json(const struct wl_energy_extrapolation *v, size_t n, struct wl_json *object)
{
    struct wl_json *groups = wl_json_add_array(object, "extrapolated");
    for (size_t i = 0; i < n; i++) {
        struct wl_json *o = wl_json_add_object(groups, NULL);
        wl_json_add_str(o, "title", v[i].group->title);
        wl_json_add_bool(o, "estimated", v[i].group->estimated);
        wl_json_add_bool(o, "simulated", v[i].group->simulated);
        wl_json_add_str(o, "refused", v[i].refused);
        wl_json_add_str(o, "rate_refused", v[i].rate_refused);
        wl_json_add_str(o, "target_refused", v[i].target_refused);
        struct wl_json *at = wl_json_add_array(o, "at");
        for (size_t j = 0; j < v[i].n; j++) add_at(at, &v[i].at[j]);
    }
}
