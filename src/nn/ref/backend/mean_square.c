#include "nn/ref/backend/backend.h"

static const struct wl_distance_kernels kernels = { wl_ref_mean_square, wl_ref_mean_square_backward };

const struct wl_op_rules wl_ref_op_mean_square = { wl_lower_loss, wl_lower_loss_backward,
                                                   .lowering = &wl_loss_mean_square, .kernels = &kernels };
