/* Many components of few standard deviations. */
#ifndef WL_LAW_HIER_MERGE_H
#define WL_LAW_HIER_MERGE_H

#include "law/hier/hier.h"

#include <stdint.h>

struct wl_hier_components {
    const double *weight, *mean; /* [n] weights of any sum */
    const uint32_t *of;          /* [n] the sd of a component is sd[of] */
    size_t n;
    const double *sd; /* [n_sd] */
    size_t n_sd;
};

/* As wl_hier_merge, in another order, without a logarithm or a search for each component. Scratch memory in `a` too. */
struct wl_hier_mixture wl_hier_merge_components(const struct wl_hier_components *c, struct wl_arena *a);

#endif
