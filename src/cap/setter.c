/* The table of setters, and the selection of one. */
#include "cap/setter.h"

#include "cap/service.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

const struct wl_setter_ops *const wl_setters[] = {
    &wl_setter_nvml,    &wl_setter_rapl,    &wl_setter_cpufreq,
    &wl_setter_service, &wl_setter_command, &wl_setter_slurm,
    &wl_setter_observe, &wl_setter_null,    NULL,
};

const struct wl_setter_ops *wl_setter_find(const char *name)
{
    for (size_t i = 0; wl_setters[i]; i++)
        if (wl_str_eq(wl_setters[i]->name, name)) return wl_setters[i];
    return NULL;
}

struct wl_control *wl_controls_add(struct wl_controls *list, struct wl_arena *a)
{
    WL_GROW(a, list->v, list->n, list->cap);
    struct wl_control *k = &list->v[list->n++];
    *k = (struct wl_control) { .range = { .min = NAN, .max = NAN }, .default_value = NAN };
    return k;
}

static int open_one(const struct wl_setter_ops *ops, const struct wl_setter_context *p, enum wl_cap_kind kind,
                    struct wl_controls *out, const char **fix, struct wl_err *e)
{
    if (ops->kinds[kind]) return ops->open(p, kind, out, fix, e);
    return wl_fail(e, WL_EUNAVAIL, "the setter %s does not set %s", ops->name, wl_cap_kind_name(kind));
}

/* The one for CPUs; NULL: they have no such limit. */
static const struct wl_setter_ops *cpu_setter(enum wl_cap_kind kind)
{
    static const struct wl_setter_ops *const setters[] = { &wl_setter_rapl, &wl_setter_cpufreq };
    for (size_t i = 0; i < WL_COUNT(setters); i++)
        if (setters[i]->kinds[kind]) return setters[i];
    return NULL;
}

int wl_setter_open_direct(const struct wl_setter_context *p, enum wl_cap_kind kind, struct wl_controls *out,
                          const char **fix, struct wl_err *e)
{
    struct wl_err gpu, cpu;
    int rc = open_one(&wl_setter_nvml, p, kind, out, fix, &gpu);
    if (rc == 0) return 0;
    const struct wl_setter_ops *ops = cpu_setter(kind);
    if (!ops) return wl_fail(e, rc, "%s", gpu.msg);
    const char *cpu_fix = NULL;
    int cpu_rc = open_one(ops, p, kind, out, &cpu_fix, &cpu);
    if (cpu_rc == 0) *fix = NULL;
    if (cpu_rc == 0) return 0;
    if (cpu_fix) *fix = cpu_fix;
    return wl_fail(e, cpu_rc == WL_EPERM ? cpu_rc : rc, "GPU: %s; CPU: %s", gpu.msg, cpu.msg);
}

/* For the cap service: every limit of the machine that its own drivers set. */
static int open_every(const struct wl_setter_context *p, enum wl_cap_kind kind, struct wl_controls *out,
                      const char **fix, struct wl_err *e)
{
    static const struct wl_setter_ops *const setters[] = { &wl_setter_nvml, &wl_setter_rapl, &wl_setter_cpufreq };
    int rc = WL_EUNAVAIL;
    struct wl_text why = WL_TEXT(p->a);
    for (size_t i = 0; i < WL_COUNT(setters); i++) {
        struct wl_err one;
        size_t before = out->n;
        if (open_one(setters[i], p, kind, out, fix, &one) == 0)
            rc = 0;
        else if (setters[i]->kinds[kind])
            wl_text_addf(&why, "%s%s", why.n ? "; " : "", one.msg), out->n = before;
    }
    return rc < 0 ? wl_fail(e, rc, "%s", why.s) : 0;
}

static bool by_command(const struct wl_cap_opts *o, enum wl_cap_kind kind)
{
    if (wl_cap_is_power(kind)) return o->command && (kind == WL_CAP_POWER || strstr(o->command, "{scope}"));
    return wl_setter_command.kinds[kind] && o->clock_command;
}

/* May this user not set one of these limits? NVIDIA's driver answers only to a limit that is set, to its present value;
 * root, for whom that would have an effect, is not asked. */
static bool lacks_rights(const struct wl_controls *controls, size_t from)
{
    const char *fix;
    struct wl_err e;
    for (size_t i = from; i < controls->n && geteuid() != 0; i++) {
        const struct wl_control *k = &controls->v[i];
        if (k->ops->probe && k->ops->probe(k, &fix, &e) == WL_EPERM) return true;
    }
    return false;
}

int wl_setter_open(const struct wl_setter_context *p, enum wl_cap_kind kind, struct wl_controls *out, const char **fix,
                   struct wl_err *e)
{
    const char *name = p->opts->setter ? p->opts->setter : "auto";
    *fix = NULL;
    if (p->opts->client) return open_every(p, kind, out, fix, e);
    if (!wl_str_eq(name, "auto")) {
        const struct wl_setter_ops *ops = wl_setter_find(name);
        return ops ? open_one(ops, p, kind, out, fix, e) : wl_fail(e, WL_EINVAL, "unknown cap setter '%s'", name);
    }
    if (by_command(p->opts, kind)) return open_one(&wl_setter_command, p, kind, out, fix, e);
    size_t before = out->n;
    int rc = wl_setter_open_direct(p, kind, out, fix, e);
    if (rc < 0 || p->all || !wl_cap_service_exists() || !lacks_rights(out, before)) return rc;
    out->n = before;
    return open_one(&wl_setter_service, p, kind, out, fix, e);
}
