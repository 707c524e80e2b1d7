#ifndef WL_NN_RECOMPUTE_PLAN_SEGMENT_H
#define WL_NN_RECOMPUTE_PLAN_SEGMENT_H

#include "base/base.h"

/* Segment i of info.segments: the first and the last of its operations that run again in training, and the bytes of
 * the values that they make again. */
struct wl_plan_segment {
    const char *first, *last;
    size_t steps, bytes;
    double flops; /* a sample */
};

#endif
