/* NVIDIA GPUs: power limit of the GPU or of its module, locked SM clock, locked memory clock. */
#include "cap/control.h"

#include <math.h>

static enum wl_gpu_clock clock_of(enum wl_cap_kind kind)
{
    return kind == WL_CAP_CLOCK ? WL_GPU_CLOCK_SM : WL_GPU_CLOCK_MEM;
}

static enum wl_gpu_power_scope scope_of(enum wl_cap_kind kind)
{
    return kind == WL_CAP_MODULE ? WL_GPU_POWER_MODULE : WL_GPU_POWER_BOARD;
}

/* The range of this GPU; WL_EUNAVAIL with the reason: it has no such limit. */
static int describe(struct wl_control *k, struct wl_arena *a, struct wl_err *e)
{
    const struct wl_gpus *g = k->state;
    size_t i = k->index;
    if (wl_cap_is_power(k->kind)) {
        struct wl_gpu_power_limit l;
        int rc = wl_gpu_power_limit(g, i, scope_of(k->kind), &l, e);
        k->range.min = l.min_w;
        k->range.max = l.max_w;
        k->default_value = l.default_w;
        return rc;
    }
    struct wl_gpu_clock_state s;
    wl_gpu_clock_state(g, i, clock_of(k->kind), &s);
    k->range.max = s.max_mhz;
    if (k->kind == WL_CAP_MEM_CLOCK) k->range.steps = wl_gpu_memory_clocks(g, i, a);
    if (s.lockable) return 0;
    return wl_fail(e, WL_EUNAVAIL, "%s: the driver cannot lock this clock", g->devices[i].name);
}

static int nvml_open(const struct wl_setter_context *p, enum wl_cap_kind kind, struct wl_controls *out,
                     const char **fix, struct wl_err *e)
{
    struct wl_gpus *g;
    int rc = wl_gpus_open(&g, p->power, p->all, p->a, fix, e);
    for (size_t i = 0; rc == 0 && i < g->n; i++) {
        struct wl_control *k = wl_controls_add(out, p->a);
        k->ops = &wl_setter_nvml;
        k->state = g;
        k->index = i;
        k->kind = kind;
        k->device = g->devices[i].uuid;
        k->name = g->devices[i].name;
        k->simulated = g->simulated;
        k->write_only = !wl_cap_is_power(kind);
        rc = wl_control_describe(p, k, describe, e);
    }
    return rc;
}

static int nvml_get(const struct wl_control *k, double *set, double *enforced, struct wl_err *e)
{
    if (wl_cap_is_power(k->kind)) {
        struct wl_gpu_power_limit l;
        int rc = wl_gpu_power_limit(k->state, k->index, scope_of(k->kind), &l, e);
        *set = l.limit_w;
        *enforced = l.enforced_w;
        return rc;
    }
    struct wl_gpu_clock_state s;
    wl_gpu_clock_state(k->state, k->index, clock_of(k->kind), &s);
    *set = NAN;
    *enforced = s.now_mhz;
    return 0;
}

static int nvml_set(const struct wl_control *k, double value, struct wl_err *e)
{
    if (wl_cap_is_power(k->kind)) return wl_gpu_power_limit_set(k->state, k->index, scope_of(k->kind), value, e);
    enum wl_gpu_clock which = clock_of(k->kind);
    return isnan(value) ? wl_gpu_clock_unlock(k->state, k->index, which, e)
                        : wl_gpu_clock_lock(k->state, k->index, which, value, e);
}

/* The driver has no query for the permission to set: the limit is set to its present value. Locked clocks have no such
 * harmless call; drivers grant or deny both together. */
static int nvml_probe(const struct wl_control *k, const char **fix, struct wl_err *e)
{
    struct wl_gpu_power_limit l;
    enum wl_gpu_power_scope scope = scope_of(k->kind);
    int rc = wl_gpu_power_limit(k->state, k->index, scope, &l, e);
    if (rc == 0) rc = wl_gpu_power_limit_set(k->state, k->index, scope, l.limit_w, e);
    if (!wl_cap_is_power(k->kind) && rc != WL_EPERM) return 0;
    if (rc == WL_EPERM)
        *fix = k->kind == WL_CAP_MODULE
                   ? "sudo wattlaw setup --system and join its group, run wattlaw as root (sudo), or name "
                     "the site's wrapper: --cap-command 'sudo site-cap {uuid} {watts} {scope}'"
                   : "sudo wattlaw setup --system and join its group, run wattlaw as root (sudo), or name "
                     "the site's wrapper: --cap-command 'sudo site-cap {uuid} {watts}'";
    return rc;
}

/* A busy GPU whose clock is below its maximum without an event reason is locked by somebody; so is one whose event
 * reasons include application clocks. */
static const char *nvml_locked_by_other(const struct wl_control *k, struct wl_arena *a)
{
    static const double BUSY_PCT = 90, BELOW = 0.95;
    struct wl_gpu_clock_state s;
    if (wl_cap_is_power(k->kind)) return NULL;
    wl_gpu_clock_state(k->state, k->index, clock_of(k->kind), &s);
    unsigned reasons = isnan(s.reasons) ? 0 : (unsigned)s.reasons;
    if (reasons & WL_REASON_APP_CLOCKS) return "the driver reports that application clocks are set";
    if (isnan(s.reasons) || reasons != 0 || !(s.busy_pct >= BUSY_PCT) || !(s.now_mhz < BELOW * s.max_mhz)) return NULL;
    return wl_strf(a, "busy at %g of %g MHz without a throttle reason: its clock seems to be locked", s.now_mhz,
                   s.max_mhz);
}

const struct wl_setter_ops wl_setter_nvml = {
    .name = "nvml",
    .help = "power limit and locked clocks of NVIDIA GPUs, power limit of their modules",
    .kinds = { [WL_CAP_POWER] = true, [WL_CAP_MODULE] = true, [WL_CAP_CLOCK] = true, [WL_CAP_MEM_CLOCK] = true },
    .open = nvml_open,
    .get = nvml_get,
    .set = nvml_set,
    .probe = nvml_probe,
    .locked_by_other = nvml_locked_by_other,
};
