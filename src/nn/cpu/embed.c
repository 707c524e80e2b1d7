#include "nn/cpu/cpu.h"
#include "nn/ref/ref.h"

static const struct wl_embed_kernels kernels = { wl_ref_embed, wl_ref_embed_backward };

const struct wl_op_rules wl_cpu_op_embed = { wl_lower_rows, wl_lower_rows_backward, .lowering = &wl_rows_embed,
                                             .kernels = &kernels };
