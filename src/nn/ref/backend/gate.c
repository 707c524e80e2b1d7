#include "nn/ref/backend/backend.h"

static const struct wl_gate_kernels kernels = { wl_ref_gate, wl_ref_gate_backward };

const struct wl_op_rules wl_ref_op_gate = { wl_lower_rows, wl_lower_rows_backward, .lowering = &wl_rows_gate,
                                            .kernels = &kernels };
