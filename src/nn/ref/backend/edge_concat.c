#include "nn/ref/backend/backend.h"

static void edge_concat(const struct wl_edge_concat_args *a, int64_t atoms) { wl_ref_edge_concat(a, 0, atoms); }

static void edge_concat_backward(const struct wl_edge_concat_grad *b, int64_t atoms)
{
    wl_ref_edge_concat_backward(b, 0, atoms);
}

static const struct wl_edge_concat_kernels kernels = { edge_concat, edge_concat_backward };

const struct wl_op_rules wl_ref_op_edge_concat = { wl_lower_rows, wl_lower_rows_backward,
                                                   .lowering = &wl_rows_edge_concat, .kernels = &kernels };
