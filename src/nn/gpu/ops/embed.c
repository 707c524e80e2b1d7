#include "nn/gpu/kernels/segments.h"
#include "nn/gpu/ops/rows.h"

enum { FORWARD, BACKWARD };
static const char *const kernels[] = { "embed", "embed_backward", NULL };

static int forward(const struct wl_step *s, const struct wl_run *r, struct wl_err *e)
{
    const struct wl_node *n = s->node;
    const struct wl_gpu_grid grid = wl_gpu_warps_grid(s, n->out->dims.d[0]);
    const struct wl_gpu_embed a = { .rows = wl_rows_counts(s, r) + n->rows,
                                    .index = wl_rows_at(s, r, WL_ROWS_IN),
                                    .w = wl_rows_at(s, r, WL_ROWS_PARAM),
                                    .y = wl_rows_at(s, r, WL_ROWS_OUT),
                                    .f = (int32_t)n->out->dims.d[1] };
    return WL_GPU_ROWS_LAUNCH(s, FORWARD, &grid, &a, e);
}

static int backward(const struct wl_step *s, const struct wl_run *r, struct wl_err *e)
{
    const struct wl_node *n = s->node;
    const int64_t *w = n->par[0]->dims.d;
    const struct wl_gpu_grid grid = { .x = (unsigned)w[0], .y = (unsigned)((w[1] + 127) / 128), .threads = 512 };
    const struct wl_gpu_embed_backward a = { .rows = wl_rows_counts(s, r) + n->rows,
                                             .index = wl_rows_at(s, r, WL_ROWS_IN),
                                             .dy = wl_rows_at(s, r, WL_ROWS_DOUT),
                                             .dw = wl_rows_at(s, r, WL_ROWS_DPARAM),
                                             .f = (int32_t)w[1] };
    return WL_GPU_ROWS_LAUNCH(s, BACKWARD, &grid, &a, e);
}

static const struct wl_rows_op rows = { &wl_rows_uses_parameters, forward, backward, .prepare = wl_gpu_rows_prepare };

const struct wl_op_rules wl_gpu_op_embed = { wl_lower_rows, wl_lower_rows_backward, .lowering = &rows,
                                             .kernels = kernels };
