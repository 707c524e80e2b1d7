/* The result as JSON (keys in docs/formats.md). */
#include "cmd/wattlaw/tune/view.h"

#include <math.h>

static void add_ratio(struct wl_json *to, const char *name, struct wl_tune_ratio r, struct wl_arena *a)
{
    wl_json_add_real(to, name, r.value);
    wl_json_add_real(to, wl_strf(a, "%s_lo", name), r.lo);
    wl_json_add_real(to, wl_strf(a, "%s_hi", name), r.hi);
}

static void add_candidate(const struct wl_tune *t, size_t i, struct wl_json *o, struct wl_arena *a)
{
    const struct wl_tune_candidates *c = t->candidates;
    wl_json_add_number(o, "value", c->value[i]);
    wl_json_add_bool(o, "reference", i == c->reference);
    wl_json_add_str(o, "refused", c->refused[i]);
    if (t->probes.n == 0) return;
    const struct wl_advise_cap_estimate *x = &wl_advise_cap_estimates(t->search)[i];
    wl_json_add_int(o, "probes", (int64_t)x->windows);
    add_ratio(o, "time_ratio", wl_tune_view_time(t, i), a);
    wl_json_add_real(o, "energy_ratio", wl_tune_view_energy(t, i));
    add_ratio(o, "objective_ratio", wl_tune_view_objective(t, i), a);
    wl_json_add_real(o, "limit_probability", isnan(t->opts->goal.slowdown) ? NAN : x->p_limit);
}

static void add_windows(const struct wl_tune *t, struct wl_json *root)
{
    struct wl_json *list = wl_json_add_array(root, "windows");
    for (size_t i = 0; i < t->windows.n; i++) {
        const struct wl_tune_window *w = &t->windows.v[i];
        struct wl_json *o = wl_json_add_object(list, NULL);
        wl_json_add_int(o, "run", w->run);
        wl_json_add_number(o, "value", t->candidates->value[w->candidate]);
        wl_json_add_bool(o, "whole_run", w->is_whole);
        wl_json_add_real(o, "time_s", w->t_s);
        wl_json_add_real(o, "device_power_w", w->p_w);
        wl_json_add_real(o, "energy_j", w->p_w * w->t_s * (double)t->candidates->n_devices);
        wl_json_add_bool(o, "estimated", w->estimated);
        wl_json_add_bool(o, "simulated", w->simulated);
    }
}

struct wl_json *wl_tune_view_json(const struct wl_tune_view *v, const struct wl_tune *t, struct wl_arena *a)
{
    const struct wl_tune_candidates *c = t->candidates;
    struct wl_json *root = wl_json_root_object(a);
    wl_json_add_str(root, "wattlaw", WL_VERSION);
    wl_json_add_str(root, "store", t->store ? wl_store_path(t->store) : NULL);
    wl_json_add_str(root, "campaign", t->opts->name);
    wl_json_add_str(root, "setting", wl_cap_kind_name(c->kind));
    wl_json_add_str(root, "unit", wl_cap_kind_unit(c->kind));
    wl_json_add_int(root, "devices", (int64_t)c->n_devices);
    wl_json_add_str(root, "objective", v->objective);
    wl_json_add_real(root, "max_slowdown", v->goal->slowdown);
    wl_json_add_real(root, "probability", v->goal->probability);
    wl_json_add_number(root, "reference", c->value[c->reference]);
    wl_json_add_bool(root, "finished", t->step.done);
    wl_json_add_real(root, "choice", t->probes.n ? c->value[wl_tune_view_choice(t)] : NAN);
    wl_json_add_str(root, "reason", t->search ? wl_advise_cap_reason_text(t->step.reason) : NULL);
    wl_json_add_bool(root, "applied", t->applied);
    wl_json_add_str(root, "use", t->step.done ? wl_tune_view_use(v, t, a) : NULL);
    wl_json_add_int(root, "jobs", (int64_t)t->jobs);
    wl_json_add_int(root, "windows_before", (int64_t)t->before);
    wl_json_add_int(root, "window_steps", t->steps);
    wl_json_add_int(root, "exit_status", t->job.exit.status);
    add_windows(t, root);
    struct wl_json *list = wl_json_add_array(root, "candidates");
    for (size_t i = 0; i < c->n; i++) add_candidate(t, i, wl_json_add_object(list, NULL), a);
    return root;
}
