/* Numbers of hardware cards for which no source was found. */
#include "cmd/cmd.h"
#include "cmd/wattlaw/plan/internal.h"

#include <math.h>

static bool is_dtype_of_any(const struct wl_planner_plan *p, const char *dtype)
{
    for (size_t i = 0; i < p->n_workloads; i++)
        if (wl_str_eq(p->workloads[i].dtype, dtype)) return true;
    return false;
}

/* Does the plan use the card's number, and not one of its own? */
static bool is_used(const struct wl_planner_plan *p, const struct wl_planner_machine *m, const char *key, double value)
{
    static const char peak[] = "peak_";
    const struct {
        const char *key;
        double value; /* in the card's base unit */
    } own[] = { { "idle_power", m->idle_w },
                { "max_power", m->max_w },
                { "min_power_cap", m->min_cap_w },
                { "clock", m->clock_mhz },
                { "lowest_clock", m->lowest_clock_mhz },
                { "link_bandwidth", m->node_gb_s * 1e9 },
                { "devices_per_node", (double)m->devices_per_node } };
    if (wl_str_starts(key, peak)) return is_dtype_of_any(p, key + sizeof peak - 1);
    for (size_t i = 0; i < WL_COUNT(own); i++)
        if (wl_str_eq(key, own[i].key)) return fabs(own[i].value - value) <= 1e-9 * fabs(value);
    return true; /* no key of the plan gives it */
}

static void print_numbers(const struct wl_planner_plan *p, const struct wl_planner_machine *m, struct wl_arena *a)
{
    const struct wl_card_source *source;
    const char *key, *unit;
    double value;
    for (size_t i = 0; wl_hardware_card_number(m->card, i, &key, &value, &unit, &source); i++) {
        if (isnan(value) || !source->assumed || !is_used(p, m, key, value)) continue;
        const bool counts = wl_str_eq(unit, "1");
        wl_print("%s: %s of the card %s, %s%s%s, is assumed: %s\n", m->name, key, m->card->name,
                 wl_number_text(value, a), counts ? "" : " ", counts ? "" : unit, source->text);
    }
}

void wl_cmd_plan_print_assumed(const struct wl_cmd_plan *c, struct wl_arena *a)
{
    for (size_t i = 0; i < c->n_machines; i++) {
        const struct wl_planner_machine *m = &c->plan->machines[c->machines[i].machine];
        if (m->card) print_numbers(c->plan, m, a);
    }
}
