/* The steps of wl_choose. */
#ifndef WL_ADVISE_CHOOSE_INTERNAL_H
#define WL_ADVISE_CHOOSE_INTERNAL_H

#include "advise/choose/outcome.h"

/* Fills in rows[].meets and allowed, and out->allowed. */
void wl_choose_meet_limits(const struct wl_choose_context *c, struct wl_choose_result *out, struct wl_arena *a);

/* Without a choice: nearest, binding and relaxed. */
void wl_choose_explain(const struct wl_choose_context *c, struct wl_choose_result *out, struct wl_arena *a);

/* other, rows[].pareto and front, knee and depth. */
void wl_choose_trade_off(const struct wl_choose_context *c, struct wl_choose_result *out, struct wl_arena *a);

/* With a choice: measure and rows[].gain. */
void wl_choose_value_runs(const struct wl_choose_context *c, struct wl_choose_result *out, struct wl_arena *a);

/* The p-quantile of draws, which are reordered. */
double wl_choose_quantile(double v[WL_JOINT_DRAWS], double p);

#endif
