/* The table of setters, and which one a request goes to. */
#include "cap/internal.h"

#include <math.h>
#include <string.h>

const struct wl_setter_ops *const wl_setters[] = {
    &wl_setter_nvml, &wl_setter_rapl, &wl_setter_cpufreq, &wl_setter_command, &wl_setter_observe, &wl_setter_null, NULL,
};

const struct wl_setter_ops *wl_setter_find(const char *name)
{
    for (size_t i = 0; wl_setters[i]; i++)
        if (wl_str_eq(wl_setters[i]->name, name)) return wl_setters[i];
    return NULL;
}

const char *wl_cap_kind_name(enum wl_cap_kind k) { return wl_setting_of_cap(k)->name; }
const char *wl_cap_kind_unit(enum wl_cap_kind k) { return wl_setting_of_cap(k)->unit; }

bool wl_cap_is_power(enum wl_cap_kind k) { return k == WL_CAP_POWER || k == WL_CAP_MODULE; }

const struct wl_cap_request wl_cap_none = { { NAN, NAN, NAN, NAN } };
_Static_assert(WL_CAP_KINDS == 4, "a value of wl_cap_none for each kind");

bool wl_cap_is_requested(const struct wl_cap_request *r)
{
    for (int k = 0; k < WL_CAP_KINDS; k++)
        if (!isnan(r->value[k])) return true;
    return false;
}

static bool is_step(const struct wl_reals *steps, enum wl_cap_kind kind, double value)
{
    for (size_t i = 0; i < steps->n; i++)
        if (wl_cap_same(kind, steps->v[i], value)) return true;
    return steps->n == 0;
}

char *wl_cap_refusal(const struct wl_cap_range *r, enum wl_cap_kind kind, double value, struct wl_arena *a)
{
    bool inside = !(value < r->min || value > r->max);
    if (inside && is_step(&r->steps, kind, value)) return NULL;
    return wl_strf(a, "it takes %s", wl_cap_range_text(r, kind, a));
}

char *wl_cap_range_text(const struct wl_cap_range *r, enum wl_cap_kind kind, struct wl_arena *a)
{
    const char *unit = wl_cap_kind_unit(kind);
    if (r->steps.n == 0)
        return isnan(r->max) ? NULL : wl_strf(a, "%.6g to %.6g %s", isnan(r->min) ? 0 : r->min, r->max, unit);
    struct wl_text t = WL_TEXT(a);
    for (size_t i = 0; i < r->steps.n; i++) wl_text_addf(&t, "%s%.6g", i ? ", " : "", r->steps.v[i]);
    wl_text_addf(&t, " %s", unit);
    return t.s;
}

/* RAPL counts in eighths of a watt and more, NVML in mW; CPU frequencies go in steps of 25 to 100 MHz. */
bool wl_cap_same(enum wl_cap_kind kind, double x, double y)
{
    if (isnan(x) || isnan(y)) return isnan(x) && isnan(y);
    double least = wl_cap_is_power(kind) ? 0.5 : 1;
    return fabs(x - y) <= fmax(least, 0.005 * fmax(x, y));
}

struct wl_control *wl_controls_add(struct wl_controls *list, struct wl_arena *a)
{
    WL_GROW(a, list->v, list->n, list->cap);
    struct wl_control *k = &list->v[list->n++];
    *k = (struct wl_control) { .range = { .min = NAN, .max = NAN }, .standard = NAN };
    return k;
}

static int open_one(const struct wl_setter_ops *ops, const struct wl_setter_context *p, enum wl_cap_kind kind,
                    struct wl_controls *out, const char **fix, struct wl_err *e)
{
    if (ops->kinds[kind]) return ops->open(p, kind, out, fix, e);
    return wl_fail(e, WL_EUNAVAIL, "the setter %s does not set %s", ops->name, wl_cap_kind_name(kind));
}

int wl_setter_open_direct(const struct wl_setter_context *p, enum wl_cap_kind kind, struct wl_controls *out,
                          const char **fix, struct wl_err *e)
{
    struct wl_err gpu, cpu;
    int rc = open_one(&wl_setter_nvml, p, kind, out, fix, &gpu);
    if (rc == 0) return 0;
    if (kind == WL_CAP_MEM_CLOCK || kind == WL_CAP_MODULE) return wl_fail(e, rc, "%s", gpu.msg);
    const struct wl_setter_ops *ops = kind == WL_CAP_POWER ? &wl_setter_rapl : &wl_setter_cpufreq;
    const char *cpu_fix = NULL;
    int cpu_rc = open_one(ops, p, kind, out, &cpu_fix, &cpu);
    if (cpu_rc == 0) *fix = NULL;
    if (cpu_rc == 0) return 0;
    if (cpu_fix) *fix = cpu_fix;
    return wl_fail(e, cpu_rc == WL_EPERM ? cpu_rc : rc, "GPU: %s; CPU: %s", gpu.msg, cpu.msg);
}

static bool by_command(const struct wl_cap_opts *o, enum wl_cap_kind kind)
{
    if (wl_cap_is_power(kind)) return o->command && (kind == WL_CAP_POWER || strstr(o->command, "{scope}"));
    return kind == WL_CAP_CLOCK && o->clock_command;
}

int wl_setter_open(const struct wl_setter_context *p, enum wl_cap_kind kind, struct wl_controls *out, const char **fix,
                   struct wl_err *e)
{
    const char *name = p->opts->setter ? p->opts->setter : "auto";
    *fix = NULL;
    if (!wl_str_eq(name, "auto")) {
        const struct wl_setter_ops *ops = wl_setter_find(name);
        return ops ? open_one(ops, p, kind, out, fix, e)
                   : wl_fail(e, WL_EINVAL, "there is no setter of caps named '%s'", name);
    }
    if (by_command(p->opts, kind)) return open_one(&wl_setter_command, p, kind, out, fix, e);
    return wl_setter_open_direct(p, kind, out, fix, e);
}
