/* What each thing that a campaign varied changes, all others held: time and energy at one value over those at another,
 * by the joint model. Where runs are few and scattered the model draws a value towards what all settings have in
 * common; it is then nearer to the truth on average than the ratio of raw means, which may lie outside of its interval
 * (docs/adr/149). */
#ifndef WL_ADVISE_CHOOSE_EFFECTS_H
#define WL_ADVISE_CHOOSE_EFFECTS_H

#include "advise/choose/campaign.h"

/* A value of an axis over the axis's base: geometric means over the pairs of settings that differ in this axis alone,
 * with 95 % intervals of the mean. */
struct wl_choose_effect {
    size_t axis;              /* of the campaign */
    const char *value, *base; /* as texts, "" where missing (no cap) */
    size_t pairs;
    struct wl_estimate time, energy; /* ratios; energy NAN: not measured */
    double raw_time, raw_energy;     /* the same of the means of runs alone; NAN: a setting has no run with it */
};

struct wl_choose_effects {
    struct wl_choose_effect *v; /* axes in their order, values ascending, names in order of appearance */
    size_t n, cap;
};

/* The base of workers and of other numbers is the smallest value, of a cap or clock none or else the largest, of names
 * the first one. A batch that follows from the other axes has no effect of its own. */
struct wl_choose_effects wl_choose_effects(const struct wl_choose_campaign *c, const struct wl_choose_options *o,
                                           struct wl_arena *a);

#endif
