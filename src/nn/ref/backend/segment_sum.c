#include "nn/ref/backend/backend.h"

static const struct wl_segment_sum_kernels kernels = { wl_ref_segment_sum, wl_ref_segment_sum_backward };

const struct wl_op_rules wl_ref_op_segment_sum = { wl_lower_rows, wl_lower_rows_backward,
                                                   .lowering = &wl_rows_segment_sum, .kernels = &kernels };
