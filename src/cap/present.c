/* Power limits as they are, for what watches a machine. */
#include "cap/control.h"

#include <math.h>
#include <stdio.h>

struct limit {
    bool hung;
    char why[160];
};

struct wl_cap_reader {
    struct wl_controls controls;
    struct wl_cap_present *v; /* [controls.n] */
    struct limit *limits;     /* [controls.n] */
};

/* The limits of one kind that one setter shows; why there are none is added to `whys`. */
static int open_kind(struct wl_cap_reader *r, const struct wl_setter_context *context, const struct wl_setter_ops *ops,
                     enum wl_cap_kind kind, struct wl_text *whys, struct wl_err *e)
{
    const char *fix = NULL;
    const size_t before = r->controls.n;
    int rc = wl_controls_open(context, ops, kind, &r->controls, &fix, e);
    if (rc == 0) return 0;
    r->controls.n = before;
    if (kind == WL_CAP_POWER) wl_text_addf(whys, "%s%s", whys->n ? "; " : "", e->msg);
    return rc == WL_EHUNG ? rc : 0;
}

int wl_cap_reader_open(struct wl_cap_reader **out, const struct wl_cap_opts *opts, const struct wl_power_opts *power,
                       struct wl_arena *a, struct wl_err *e)
{
    static const struct wl_setter_ops *const setters[] = { &wl_setter_nvml, &wl_setter_rapl };
    const struct wl_setter_context context = { .opts = opts, .power = power, .all = true, .a = a };
    struct wl_cap_reader *r = wl_new(a, struct wl_cap_reader);
    struct wl_text whys = WL_TEXT(a);
    int rc = 0;
    for (size_t i = 0; i < WL_COUNT(setters) && rc == 0; i++)
        for (enum wl_cap_kind k = 0; k < WL_CAP_KINDS && rc == 0; k++)
            if (setters[i]->kinds[k] && wl_cap_is_power(k)) rc = open_kind(r, &context, setters[i], k, &whys, e);
    if (rc < 0) return rc;
    if (r->controls.n == 0) return wl_fail(e, WL_EUNAVAIL, "%s", whys.s);
    r->v = wl_new_array(a, struct wl_cap_present, r->controls.n);
    r->limits = wl_new_array(a, struct limit, r->controls.n);
    *out = r;
    return 0;
}

static void read_limit(const struct wl_control *k, struct limit *l, struct wl_cap_present *out)
{
    struct wl_err e = { 0 };
    *out = (struct wl_cap_present) { .kind = k->kind,
                                     .device = k->device,
                                     .name = k->name,
                                     .set = NAN,
                                     .enforced = NAN,
                                     .default_value = k->default_value,
                                     .simulated = k->simulated };
    int rc = l->hung ? WL_EHUNG : wl_control_get(k, &out->set, &out->enforced, &e);
    if (rc == 0) return;
    if (!l->hung) snprintf(l->why, sizeof l->why, "%.*s", (int)sizeof l->why - 1, e.msg);
    l->hung = rc == WL_EHUNG;
    out->set = out->enforced = NAN;
    out->why = l->why;
}

const struct wl_cap_present *wl_cap_reader_read(struct wl_cap_reader *r, size_t *n)
{
    for (size_t i = 0; i < r->controls.n; i++) read_limit(&r->controls.v[i], &r->limits[i], &r->v[i]);
    *n = r->controls.n;
    return r->v;
}
