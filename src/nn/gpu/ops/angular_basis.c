#include "nn/gpu/kernels/bases.h"
#include "nn/gpu/ops/rows.h"

static const char *const kernels[] = { "angular_basis", NULL };

static int forward(const struct wl_step *s, const struct wl_run *r, struct wl_err *e)
{
    const struct wl_node *n = s->node;
    const struct wl_gpu_grid grid = wl_gpu_rows_grid(s, n->out->dims.d[0]);
    const struct wl_gpu_angular a = { .rows = wl_rows_counts(s, r) + n->rows,
                                      .cosine = wl_rows_at(s, r, WL_ROWS_IN),
                                      .y = wl_rows_at(s, r, WL_ROWS_OUT),
                                      .orders = (int32_t)n->out->dims.d[1] };
    return WL_GPU_ROWS_LAUNCH(s, 0, &grid, &a, e);
}

static const struct wl_rows_op rows = { &wl_rows_uses_parameters, forward, .prepare = wl_gpu_rows_prepare };

const struct wl_op_rules wl_gpu_op_angular_basis = { wl_lower_rows, .lowering = &rows, .kernels = kernels };
