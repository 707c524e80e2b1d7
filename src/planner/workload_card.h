/* Workload cards: what `wattlaw-train MODEL --explain --json` prints about a network, as numbers of a plan. */
#ifndef WL_PLANNER_WORKLOAD_CARD_H
#define WL_PLANNER_WORKLOAD_CARD_H

#include "planner/plan.h"

/* Sets from the file at `path` what is missing in *w: parameters, gflop, traffic, dtype, memory and local batch. Flops
 * of molecules depend on their size and stay missing. WL_EINVAL: not such a file, or a number outside of the range of
 * the key that it stands for, named with its place in the file. */
int wl_planner_workload_card_read(const char *path, struct wl_planner_workload *w, struct wl_arena *a,
                                  struct wl_err *e) WL_MUST_CHECK;

/* The same from the text of such a file; `path` is used in messages. */
int wl_planner_workload_card_parse(const char *path, const char *text, struct wl_planner_workload *w,
                                   struct wl_arena *a, struct wl_err *e) WL_MUST_CHECK;

#endif
