#include "nn/ref/backend/backend.h"

static const struct wl_triplet_kernels kernels = { wl_ref_triplet_conv, wl_ref_triplet_conv_backward };

const struct wl_op_rules wl_ref_op_triplet_conv = { wl_lower_rows, wl_lower_rows_backward,
                                                    .lowering = &wl_rows_triplet_conv, .kernels = &kernels };
