#include "nn/ref/backend/backend.h"

static const struct wl_position_kernels kernels = { wl_ref_position, wl_ref_position_backward };

const struct wl_op_rules wl_ref_op_position = { wl_lower_position, wl_lower_position_backward, .kernels = &kernels };
