/* The builds of the loops, and their functions as they are called inside of one. */
#ifndef WL_NN_WIDE_LEVELS_H
#define WL_NN_WIDE_LEVELS_H

#include "nn/wide/wide.h"

extern const struct wl_wide wl_wide_plain, wl_wide_v3, wl_wide_v4; /* v3 and v4 on x86-64 only */

#ifdef WL_WIDE_LEVEL
void WL_WIDE_NAME(wl_adam)(const struct wl_adam *how, float *w, const float *g, float *m, float *v, size_t n);
#endif

#endif
