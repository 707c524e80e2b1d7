/* Parts of `wattlaw energy`: speed and energy of the same work against the worker count. */
#ifndef WL_CMD_WATTLAW_SCALING_H
#define WL_CMD_WATTLAW_SCALING_H

#include "law/law.h"

/* Splits "val_top1=0.75". WL_EUSAGE if the text is not METRIC=NUMBER. */
int wl_scaling_target_parse(const char *text, const char **metric, double *value, struct wl_arena *a,
                            struct wl_err *e) WL_MUST_CHECK;

/* Speed-up and energy of the same work relative to the smallest worker count, one table per group of a law; then the
 * curves of the energy, one per group. */
void wl_scaling_print_normalised(const struct wl_law_result *r, const struct wl_law_curves *curves, struct wl_arena *a);

/* Epochs, time and energy until the target is reached. */
void wl_scaling_print_target(const struct wl_target_result *r, struct wl_arena *a);

/* Energy of an epoch, kWh per worker-hour and energy to the target at worker counts that were not measured. */
void wl_scaling_print_extrapolated(const struct wl_energy_extrapolation *x, struct wl_arena *a);
/* The member "extrapolated" of n groups. */
void wl_scaling_extrapolated_json(const struct wl_energy_extrapolation *v, size_t n, struct wl_json *object);

#endif
