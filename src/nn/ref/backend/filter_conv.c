#include "nn/ref/backend/backend.h"

static const struct wl_filter_kernels kernels = { wl_ref_filter_conv, wl_ref_filter_conv_backward,
                                                  wl_ref_filter_scratch };

const struct wl_op_rules wl_ref_op_filter_conv = { wl_lower_rows, wl_lower_rows_backward,
                                                   .lowering = &wl_rows_filter_conv, .kernels = &kernels };
