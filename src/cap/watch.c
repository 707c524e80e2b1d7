#include "cap/watch.h"

#include "cap/control.h"

#include <math.h>

static const int64_t PERIOD_NS = WL_NS_PER_S / 2;

/* Clocks of GPUs have steps of up to 15 MHz, and a request becomes the nearest one. */
static const double STEP_MHZ = 15;

static bool has_effect(const struct wl_control *k, const struct wl_cap_setting *s)
{
    return k->write_only ? s->enforced <= s->requested + STEP_MHZ : wl_cap_same(k->kind, s->enforced, s->requested);
}

/* A limit is read itself. A lock of a GPU is seen by its clock: the highest one since it first was as asked, because
 * the step that it is set for starts a while after the job. */
static void keep(const struct wl_control *k, struct wl_cap_setting *s, double set, double enforced)
{
    struct wl_cap_setting now = *s;
    now.enforced = k->write_only ? enforced : set;
    if (isnan(now.enforced)) return;
    const bool starts = k->write_only && !has_effect(k, s) && has_effect(k, &now),
               is_closer = !k->write_only && fabs(now.enforced - s->requested) < fabs(s->enforced - s->requested),
               is_higher = k->write_only && now.enforced > s->enforced;
    if (isnan(s->enforced) || starts || is_closer || is_higher) *s = now;
}

void wl_cap_watch_poll(struct wl_cap_watch *w, const struct wl_controls *controls, struct wl_cap_setting *setting)
{
    if (w->hangs || wl_now_ns() < w->next_ns) return;
    for (size_t i = 0; i < controls->n && !w->hangs; i++) {
        const struct wl_control *k = &controls->v[i];
        double set, enforced;
        struct wl_err e;
        if (!k->ops->watches) continue;
        const int rc = wl_control_get(k, &set, &enforced, &e);
        if (rc == 0) keep(k, &setting[i], set, enforced);
        w->hangs = rc == WL_EHUNG;
    }
    w->next_ns = wl_now_ns() + PERIOD_NS;
}

/* Of CPUs Slurm sets those of the job: one policy of them all is enough. */
static bool is_enough(const struct wl_controls *controls, const struct wl_cap_setting *setting, enum wl_cap_kind kind)
{
    for (size_t i = 0; i < controls->n; i++) {
        const struct wl_control *k = &controls->v[i];
        if (k->ops->watches && k->kind == kind && !k->write_only && has_effect(k, &setting[i])) return true;
    }
    return false;
}

const char *wl_cap_watch_failure(const struct wl_controls *controls, const struct wl_cap_setting *setting,
                                 struct wl_arena *a)
{
    for (size_t i = 0; i < controls->n; i++) {
        const struct wl_control *k = &controls->v[i];
        const struct wl_cap_setting *s = &setting[i];
        const char *unit = wl_cap_kind_unit(k->kind);
        if (!k->ops->watches || has_effect(k, s) || is_enough(controls, setting, k->kind)) continue;
        if (isnan(s->enforced))
            return wl_strf(a, "%s: %s was not read while the job ran: it is not known whether %s set %g %s",
                           wl_cap_kind_name(k->kind), k->device, k->ops->name, s->requested, unit);
        return wl_strf(a, "%s: %s was at %g %s while the job ran: the request to %s for %g %s had no effect",
                       wl_cap_kind_name(k->kind), k->device, s->enforced, unit, k->ops->name, s->requested, unit);
    }
    return NULL;
}
