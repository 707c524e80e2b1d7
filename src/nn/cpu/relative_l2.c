#include "nn/cpu/cpu.h"
#include "nn/ref/ref.h"

static const struct wl_distance_kernels kernels = { wl_ref_relative_l2, wl_ref_relative_l2_backward };

const struct wl_op_rules wl_cpu_op_relative_l2 = { wl_lower_loss, wl_lower_loss_backward,
                                                   .lowering = &wl_loss_relative_l2, .kernels = &kernels };
