/* Operations that this back-end does not have yet. */
#include "nn/gpu/gpu.h"

static int missing(struct wl_program *p, const struct wl_node *n, struct wl_err *e)
{
    (void)p, (void)n;
    return wl_fail(e, WL_EUNAVAIL, "back-end gpu does not have this operation yet; back-end cpu has it");
}

#define MISSING(name)              const struct wl_op_rules wl_gpu_op_##name = { missing, missing }
#define MISSING_BACKWARDLESS(name) const struct wl_op_rules wl_gpu_op_##name = { missing, NULL }

MISSING_BACKWARDLESS(angular_basis);
MISSING(attention);
MISSING(bessel_basis);
MISSING(complex_linear);
MISSING(conv2d);
MISSING(decoder);
MISSING(dense);
MISSING(edge_concat);
MISSING(embed);
MISSING(embed_tokens);
MISSING(fft2);
MISSING(filter_conv);
MISSING(from_patches);
MISSING(gate);
MISSING(gather);
MISSING(inverse_fft2);
MISSING(layer_norm);
MISSING(linear);
MISSING(patches);
MISSING(position);
MISSING(project);
MISSING(relative_l2);
MISSING(segment_sum);
MISSING_BACKWARDLESS(spherical_basis);
MISSING(triplet_conv);
