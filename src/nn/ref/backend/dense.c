#include "nn/ref/backend/backend.h"

static const struct wl_dense_kernels kernels = { wl_ref_dense, wl_ref_dense_backward };

const struct wl_op_rules wl_ref_op_dense = { wl_lower_rows, wl_lower_rows_backward, .lowering = &wl_rows_dense,
                                             .kernels = &kernels };
