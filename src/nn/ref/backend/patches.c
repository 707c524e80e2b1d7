#include "nn/ref/backend/backend.h"

/* from_patches puts the channels last, as the authors of FourCastNet do. */

static void to_patches(const struct wl_node *n, const float *x, float *y)
{
    const struct wl_patch_size v = wl_patch_size(n);
    wl_ref_to_patches(&v, n->op == WL_OP_FROM_PATCHES, x, y);
}

static void from_patches(const struct wl_node *n, const float *x, float *y)
{
    const struct wl_patch_size v = wl_patch_size(n);
    wl_ref_from_patches(&v, n->op == WL_OP_FROM_PATCHES, x, y);
}

static const struct wl_linear_map patches = { .apply = to_patches, .adjoint = from_patches };
static const struct wl_linear_map inverse = { .apply = from_patches, .adjoint = to_patches };

const struct wl_op_rules wl_ref_op_patches = { wl_lower_linear_map, wl_lower_linear_map_backward, .kernels = &patches };
const struct wl_op_rules wl_ref_op_from_patches = { wl_lower_linear_map, wl_lower_linear_map_backward,
                                                    .kernels = &inverse };
