#include "nn/gpu/kernels/segments.h"
#include "nn/gpu/ops/rows.h"

enum { FORWARD, BACKWARD };
static const char *const kernels[] = { "edge_concat", "edge_concat_backward", NULL };

static int forward(const struct wl_step *s, const struct wl_run *r, struct wl_err *e)
{
    const struct wl_edge_concat_args c = wl_rows_edge_concat_args(s, r);
    const struct wl_gpu_grid grid = wl_gpu_warps_grid(s, s->node->out->dims.d[0]);
    const struct wl_gpu_edge_concat a = { .atoms = wl_rows_counts(s, r) + WL_ATOMS,
                                          .edge_start = c.edge_start,
                                          .source = c.source,
                                          .reverse = c.reverse,
                                          .x = c.x,
                                          .z = c.z,
                                          .y = c.y,
                                          .f = (int32_t)c.f,
                                          .g = (int32_t)c.g };
    return WL_GPU_ROWS_LAUNCH(s, FORWARD, &grid, &a, e);
}

static int backward(const struct wl_step *s, const struct wl_run *r, struct wl_err *e)
{
    const struct wl_edge_concat_grad c = wl_rows_edge_concat_grad(s, r);
    const struct wl_gpu_grid grid = { .x = (unsigned)s->node->in[0]->dims.d[0], .threads = 128 };
    const struct wl_gpu_edge_concat_backward a = { .atoms = wl_rows_counts(s, r) + WL_ATOMS,
                                                   .edge_start = c.of.edge_start,
                                                   .reverse = c.of.reverse,
                                                   .dy = c.dy,
                                                   .dx = c.dx,
                                                   .dz = c.dz,
                                                   .f = (int32_t)c.of.f,
                                                   .g = (int32_t)c.of.g };
    return WL_GPU_ROWS_LAUNCH(s, BACKWARD, &grid, &a, e);
}

static const struct wl_rows_op rows = { &wl_rows_uses_edge_concat, forward, backward, .prepare = wl_gpu_rows_prepare };

const struct wl_op_rules wl_gpu_op_edge_concat = { wl_lower_rows, wl_lower_rows_backward, .lowering = &rows,
                                                   .kernels = kernels };
