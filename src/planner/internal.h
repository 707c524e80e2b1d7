/* Shared by the files of this folder. */
#ifndef WL_PLANNER_INTERNAL_H
#define WL_PLANNER_INTERNAL_H

#include "planner/model.h"

extern const struct wl_opt wl_planner_machine_keys[], wl_planner_workload_keys[];

/* Random streams of a draw. */
enum wl_planner_random { WL_PLANNER_NORMALS, WL_PLANNER_ANGLES, WL_PLANNER_NOISE, WL_PLANNER_NEW, WL_PLANNER_RANDOM };

static inline uint64_t wl_planner_stream(size_t draw, enum wl_planner_random what, size_t response)
{
    return ((uint64_t)draw * WL_PLANNER_RANDOM + what) * 2 + response;
}

#endif
