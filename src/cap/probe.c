/* What can be set here, tested without changing anything. */
#include "cap/control.h"
#include "cap/state_dir.h"

#include <math.h>
#include <unistd.h>

/* "2 x NVIDIA A100", or the list of names if they differ. */
static const char *names_of(const struct wl_controls *controls, struct wl_arena *a)
{
    bool alike = true;
    struct wl_text t = WL_TEXT(a);
    for (size_t i = 0; i < controls->n; i++) {
        alike = alike && wl_str_eq(controls->v[i].name, controls->v[0].name);
        wl_text_addf(&t, "%s%s", i ? ", " : "", controls->v[i].name);
    }
    return alike && controls->n > 1 ? wl_strf(a, "%zu x %s", controls->n, controls->v[0].name) : t.s;
}

/* Restricts the range to what all devices accept: the steps that each of them has. */
static void add_range(struct wl_cap_range *all, const struct wl_cap_range *one, enum wl_cap_kind kind, bool first,
                      struct wl_arena *a)
{
    all->min = fmax(all->min, one->min);
    all->max = fmin(all->max, one->max);
    if (one->steps.n == 0) return;
    const struct wl_reals *from = first || all->steps.n == 0 ? &one->steps : &all->steps;
    struct wl_reals kept = { .v = wl_new_array(a, double, from->n) };
    for (size_t i = 0; i < from->n; i++)
        if (!wl_cap_refusal(one, kind, from->v[i], a)) kept.v[kept.n++] = from->v[i];
    all->steps = kept;
}

static void probe_all(enum wl_cap_kind kind, const struct wl_setter_context *context, struct wl_cap_ability *out)
{
    struct wl_controls controls = { 0 };
    struct wl_err e;
    const char *fix = NULL;
    *out = (struct wl_cap_ability) { .range = { .min = NAN, .max = NAN }, .present = NAN };
    int rc = wl_controls_open(context, NULL, kind, &controls, &fix, &e);
    for (size_t i = 0; i < controls.n && rc == 0; i++) {
        const struct wl_control *k = &controls.v[i];
        double set = NAN, enforced;
        rc = wl_control_get(k, &set, &enforced, &e);
        if (rc == 0) rc = wl_control_probe(k, &fix, &e);
        if (i == 0) out->present = set;
        add_range(&out->range, &k->range, kind, i == 0, context->a);
        out->simulated |= k->simulated;
    }
    if (controls.n > 0) {
        out->setter = controls.v[0].ops->name;
        out->devices = names_of(&controls, context->a);
    }
    if (rc == 0) return;
    out->why = wl_strdup(context->a, e.msg);
    out->fix = fix;
}

/* Under the lock of the state folder, if that exists: no other wattlaw sets a limit between reading it and setting it
 * to the same value. If another process holds the lock, it may be setting caps: then nothing is tested. */
void wl_cap_probe(enum wl_cap_kind kind, const struct wl_cap_opts *opts, const struct wl_power_opts *power,
                  struct wl_cap_ability *out, struct wl_arena *a)
{
    static const double WAIT_S = 1;
    struct wl_setter_context context = { .opts = opts, .power = power, .a = a };
    struct wl_err e;
    const char *dir = wl_cap_state_dir(opts, a);
    int lock = wl_is_dir(dir) ? wl_cap_state_lock(dir, WAIT_S, &e) : -1;
    if (lock == WL_EHUNG)
        *out =
            (struct wl_cap_ability) { .range = { .min = NAN, .max = NAN }, .present = NAN, .why = wl_strdup(a, e.msg) };
    else
        probe_all(kind, &context, out);
    if (lock >= 0) close(lock);
}
