/* The nodes of a run and the caps of its devices, as text and JSON. */
#include "cmd/wattlaw/format.h"
#include "cmd/wattlaw/screen.h"
#include "cmd/wattlaw/show/show.h"

#include <math.h>

void wl_show_caps(const struct wl_show_details *d, struct wl_arena *a)
{
    static const char *const limits[] = { "asked", "found", "enforced", "at end" };
    struct wl_table t = wl_table_new(a);
    if (d->caps.n == 0) return;
    wl_table_column(&t, "host", false);
    wl_table_column(&t, "device", false);
    wl_table_column(&t, "cap", false);
    for (size_t i = 0; i < WL_COUNT(limits); i++) wl_table_column(&t, limits[i], true);
    wl_table_provenance_column(&t);
    wl_table_column(&t, "achieved", true);
    wl_table_column(&t, "highest", true);
    wl_table_column(&t, "throttled %", true);
    wl_table_column(&t, "acted", false);
    wl_table_column(&t, "by", false);
    for (size_t i = 0; i < d->caps.n; i++) {
        const struct wl_cap_row *c = &d->caps.v[i];
        const double set[] = { c->requested, c->found, c->enforced, c->at_end };
        const enum wl_provenance from = wl_show_provenance(d, c->device);
        const struct wl_amount achieved = wl_amount_of(c->achieved, c->kind, from),
                               highest = wl_amount_of(c->achieved_max, c->kind, from);
        wl_table_cell(&t, c->host);
        wl_table_cell(&t, c->device);
        wl_table_cell(&t, c->kind);
        for (size_t k = 0; k < WL_COUNT(set); k++) wl_table_real(&t, set[k], 5);
        wl_table_provenance(&t, isnan(c->achieved) && isnan(c->achieved_max) ? WL_MEASURED : from);
        wl_table_amount(&t, &achieved, 5);
        wl_table_amount(&t, &highest, 5);
        wl_table_real(&t, c->held_pct, 5);
        wl_table_cell(&t, isnan(c->acted) ? NULL : c->acted > 0 ? "yes" : "never");
        wl_table_cellf(&t, "%s%s", c->setter, c->simulated ? " (simulated)" : "");
        wl_table_row(&t);
    }
    wl_print("\ncaps\n");
    wl_screen_table(&t, d->all);
}

static double seconds_between(const struct wl_anchor *from, const struct wl_anchor *to)
{
    return (double)(to->mono_ns - from->mono_ns) / WL_NS_PER_S;
}

void wl_show_nodes(const struct wl_show_details *d, struct wl_arena *a)
{
    static const char *const heads[] = { "node", "boot", "begin", "time s", "shift s", "drift s" };
    struct wl_table t = wl_table_new(a);
    for (size_t i = 0; i < WL_COUNT(heads); i++) wl_table_column(&t, heads[i], i > 2);
    for (size_t i = 0; i < d->nodes.n; i++) {
        const struct wl_node_row *n = &d->nodes.v[i];
        wl_table_cellf(&t, "%s%s", n->host, n->first ? " (reference clock)" : "");
        wl_table_cellf(&t, "%.8s", n->boot_id);
        wl_table_cell(&t, wl_clock_iso(a, n->start.wall_ns));
        wl_table_cellf(&t, "%.3f", seconds_between(&n->start, &n->stop));
        wl_table_cellf(&t, "%+.6f", (double)n->shift_ns / WL_NS_PER_S);
        wl_table_cellf(&t, "%+.6f", n->drift_s);
        wl_table_row(&t);
    }
    if (d->nodes.n < 2) return;
    wl_print("\n");
    wl_screen_table(&t, d->all);
}

static void caps_json(struct wl_json *root, const struct wl_cap_rows *caps)
{
    struct wl_json *list = wl_json_add_array(root, "caps");
    for (size_t i = 0; i < caps->n; i++) {
        const struct wl_cap_row *c = &caps->v[i];
        struct wl_json *o = wl_json_add_object(list, NULL);
        wl_json_add_str(o, "host", c->host);
        wl_json_add_str(o, "device", c->device);
        wl_json_add_str(o, "kind", c->kind);
        wl_json_add_str(o, "name", c->name);
        wl_json_add_str(o, "setter", c->setter);
        wl_json_add_real(o, "requested", c->requested);
        wl_json_add_real(o, "found", c->found);
        wl_json_add_real(o, "enforced", c->enforced);
        wl_json_add_real(o, "at_end", c->at_end);
        wl_json_add_real(o, "achieved", c->achieved);
        wl_json_add_real(o, "achieved_max", c->achieved_max);
        wl_json_add_real(o, "held_pct", c->held_pct);
        if (isnan(c->acted))
            wl_json_add_null(o, "acted");
        else
            wl_json_add_bool(o, "acted", c->acted > 0);
        wl_json_add_bool(o, "simulated", c->simulated);
    }
}

static void names_json(struct wl_json *o, const char *key, const char *list, struct wl_arena *a)
{
    if (!list) {
        wl_json_add_null(o, key);
        return;
    }
    const struct wl_strs names = wl_str_split(a, list, ',');
    struct wl_json *array = wl_json_add_array(o, key);
    for (size_t i = 0; i < names.n; i++) wl_json_add_str(array, NULL, names.v[i]);
}

void wl_show_placement_json(struct wl_json *root, const struct wl_show_details *d, struct wl_arena *a)
{
    if (!d->placement.n) return;
    const struct wl_placement_row *p = d->placement.v;
    struct wl_json *o = wl_json_add_object(root, "placement");
    names_json(o, "nodes", p->nodes, a);
    names_json(o, "switches", p->switches, a);
    wl_json_add_real(o, "queue_wait_s", p->queue_wait_s);
    names_json(o, "other_jobs", p->other_jobs, a);
}

void wl_show_nodes_json(struct wl_json *root, const struct wl_show_details *d)
{
    struct wl_json *list = wl_json_add_array(root, "nodes");
    for (size_t i = 0; i < d->nodes.n; i++) {
        const struct wl_node_row *n = &d->nodes.v[i];
        struct wl_json *o = wl_json_add_object(list, NULL);
        wl_json_add_str(o, "host", n->host);
        wl_json_add_str(o, "boot_id", n->boot_id);
        wl_json_add_bool(o, "first", n->first);
        wl_json_add_int(o, "start_mono_ns", n->start.mono_ns);
        wl_json_add_int(o, "start_wall_ns", n->start.wall_ns);
        wl_json_add_int(o, "stop_mono_ns", n->stop.mono_ns);
        wl_json_add_int(o, "stop_wall_ns", n->stop.wall_ns);
        wl_json_add_int(o, "shift_ns", n->shift_ns);
        wl_json_add_real(o, "drift_s", n->drift_s);
    }
    caps_json(root, &d->caps);
}
