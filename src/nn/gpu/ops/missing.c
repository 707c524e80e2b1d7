/* Operations that this back-end does not have yet. */
#include "nn/gpu/gpu.h"

static int missing(struct wl_program *p, const struct wl_node *n, struct wl_err *e)
{
    (void)p, (void)n;
    return wl_fail(e, WL_EUNAVAIL, "back-end gpu does not have this operation yet; back-end cpu has it");
}

#define MISSING(name) const struct wl_op_rules wl_gpu_op_##name = { missing, missing }

MISSING(conv2d);
