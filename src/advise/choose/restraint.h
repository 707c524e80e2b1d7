/* How much caps and clock locks hold settings back. */
#ifndef WL_ADVISE_CHOOSE_RESTRAINT_H
#define WL_ADVISE_CHOOSE_RESTRAINT_H

#include "advise/choose/campaign.h"

/* Marks the settings that no other of the same hardware is held back less than. One is held back less than another if
 * none of its caps is smaller and one is larger (no cap is larger than any). So settings that are capped on different
 * axes can all be marked. among: [n] the settings to mark and to compare with; NULL: all. Returns [n]. */
const bool *wl_choose_least_restrained(const struct wl_choose_campaign *c, const bool *among, struct wl_arena *a);

#endif
