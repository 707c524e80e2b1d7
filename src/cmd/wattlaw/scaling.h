/* Parts of `wattlaw energy`: what more workers do to the speed and the energy of the same work. */
#ifndef WL_CMD_WATTLAW_SCALING_H
#define WL_CMD_WATTLAW_SCALING_H

#include "law/law.h"

/* "val_top1=0.75" into its parts. WL_EUSAGE where it is not METRIC=NUMBER. */
int wl_scaling_target_parse(const char *text, const char **metric, double *value, struct wl_arena *a,
                            struct wl_err *e) WL_MUST_CHECK;

/* Speed-up and energy of the same work against the smallest worker count, a table a law's group. */
void wl_scaling_print_normalised(const struct wl_law_result *r, struct wl_arena *a);

/* Epochs, time and energy to the target. */
void wl_scaling_print_target(const struct wl_target_result *r, struct wl_arena *a);

#endif
