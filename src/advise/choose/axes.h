/* Which columns of the observations a campaign varied, and settings as coordinates. */
#ifndef WL_ADVISE_CHOOSE_AXES_H
#define WL_ADVISE_CHOOSE_AXES_H

#include "advise/choose/campaign.h"

/* Workers, and the settings and the user's own axes that have more than one value. */
void wl_choose_find_axes(const struct wl_observations *obs, struct wl_choose_campaign *c, struct wl_arena *a);

/* Drops axes, but workers, of which all settings have one value. */
void wl_choose_drop_constant_axes(struct wl_choose_campaign *c);

/* With values and settings filled in: which axes are numbers, and which batch follows from the others. */
void wl_choose_classify_axes(struct wl_choose_campaign *c, struct wl_arena *a);

/* "8 workers, power cap 250 W" */
const char *wl_choose_name_setting(const struct wl_choose_campaign *c, size_t i, struct wl_arena *a);

/* The axes of the joint model of settings first .. first + n - 1: those numbers that vary among them. Returns how many;
 * out has room for c->n_axes. */
size_t wl_choose_coordinates(const struct wl_choose_campaign *c, size_t first, size_t n, struct wl_joint_axis *out,
                             struct wl_arena *a);

/* Does row `row` match? WL_ENOENT: no such column. */
int wl_choose_matches(const struct wl_observations *obs, size_t row, const struct wl_choose_where *w, bool *out,
                      struct wl_arena *a, struct wl_err *e) WL_MUST_CHECK;

#endif
