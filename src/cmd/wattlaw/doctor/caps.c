/* What can be capped here, and caps that crashed runs left set. */
#include "cmd/wattlaw/doctor/doctor.h"

#include <math.h>
#include <stdio.h>

void wl_doctor_caps_find(struct wl_doctor_caps *c, const struct wl_cap_opts *opts, const struct wl_power_opts *power,
                         struct wl_arena *a)
{
    struct wl_restore_results lefts;
    *c = (struct wl_doctor_caps) { .state_dir = wl_cap_state_dir(opts, a) };
    wl_cap_service_probe(&c->service, a);
    for (int k = 0; k < WL_CAP_KINDS; k++) wl_cap_probe(k, opts, power, &c->can[k], a);
    struct wl_err e;
    int rc = wl_cap_restore(opts, power, (struct wl_cap_restore_flags) { .dry_run = true }, &lefts, a, &e);
    if (rc == WL_ENOENT) return; /* nobody has set caps here */
    if (rc < 0) {
        c->left_why = wl_strdup(a, e.msg);
        return;
    }
    for (size_t i = 0; i < lefts.n; i++) {
        const struct wl_restore_result *l = &lefts.v[i];
        c->left += l->state != WL_RESTORE_HELD && l->state != WL_RESTORE_BAD_JOURNAL;
        if (l->state == WL_RESTORE_BAD_JOURNAL) c->left_why = l->why;
    }
}

const char *const wl_doctor_cap_names[WL_CAP_KINDS] = { "power", "module", "clock", "mem-clock" };

static void print_range(const struct wl_cap_ability *can, enum wl_cap_kind kind, struct wl_arena *a)
{
    const char *range = wl_cap_range_text(&can->range, kind, a);
    if (range) wl_print(", %s", range);
    if (!isnan(can->present)) wl_print(", now %.6g %s", can->present, wl_cap_kind_unit(kind));
}

static void print_service(const struct wl_cap_service_state *s)
{
    if (!s->why)
        wl_print("  %-10s %-7s %zu limits may be set through %s\n", "service", "yes", s->limits, s->socket);
    else
        wl_print("  %-10s %-7s %s\n  %19sfix: %s\n", "service", "no", s->why, "", s->fix);
}

void wl_doctor_caps_print(const struct wl_doctor_caps *c, struct wl_arena *a)
{
    wl_print("\nCaps\n");
    for (int k = 0; k < WL_CAP_KINDS; k++) {
        const struct wl_cap_ability *can = &c->can[k];
        wl_print("  %-10s ", wl_doctor_cap_names[k]);
        wl_fprint_in(WL_STDOUT, can->why ? WL_PLAIN : WL_GOOD, "%-7s", can->why ? "no" : "yes");
        if (can->setter) {
            wl_print(" %s: %s%s", can->setter, can->devices, can->simulated ? " (simulated)" : "");
            print_range(can, k, a);
            wl_print("\n");
            if (can->why) wl_print("  %19s%s\n", "", can->why);
        } else {
            wl_print(" %s\n", can->why);
        }
        if (can->why && can->fix) wl_print("  %19sfix: %s\n", "", can->fix);
    }
    print_service(&c->service);
    if (c->left_why) wl_print("  left       ?       %s\n", c->left_why);
    if (c->left)
        wl_print("  left       %-7zu caps of crashed runs, journals in %s\n  %19sfix: wattlaw restore\n", c->left,
                 c->state_dir, "");
}

void wl_doctor_caps_json(const struct wl_doctor_caps *c, struct wl_json *root)
{
    struct wl_json *list = wl_json_add_array(root, "caps");
    for (int k = 0; k < WL_CAP_KINDS; k++) {
        const struct wl_cap_ability *can = &c->can[k];
        struct wl_json *o = wl_json_add_object(list, NULL);
        wl_json_add_str(o, "kind", wl_cap_kind_name(k));
        wl_json_add_bool(o, "can", !can->why);
        wl_json_add_str(o, "setter", can->setter);
        wl_json_add_str(o, "devices", can->devices);
        wl_json_add_real(o, "min", can->range.min);
        wl_json_add_real(o, "max", can->range.max);
        struct wl_json *steps = can->range.steps.n ? wl_json_add_array(o, "steps") : NULL;
        for (size_t i = 0; i < can->range.steps.n; i++) wl_json_add_real(steps, NULL, can->range.steps.v[i]);
        wl_json_add_real(o, "present", can->present);
        wl_json_add_bool(o, "simulated", can->simulated);
        wl_json_add_str(o, "reason", can->why);
        wl_json_add_str(o, "fix", can->why ? can->fix : NULL);
    }
    wl_json_add_int(root, "caps_left", (int64_t)c->left);
    struct wl_json *o = wl_json_add_object(root, "cap_service");
    wl_json_add_str(o, "socket", c->service.socket);
    wl_json_add_bool(o, "can", !c->service.why);
    wl_json_add_int(o, "limits", (int64_t)c->service.limits);
    wl_json_add_str(o, "reason", c->service.why);
    wl_json_add_str(o, "fix", c->service.why ? c->service.fix : NULL);
}
