#include "nn/gpu/kernels/segments.h"
#include "nn/gpu/ops/rows.h"

enum { FORWARD, BACKWARD };
static const char *const kernels[] = { "segment_sum", "segment_sum_backward", NULL };

static int run(const struct wl_step *s, const struct wl_run *r, int kernel, struct wl_err *e)
{
    const struct wl_node *n = s->node;
    const bool back = kernel == BACKWARD;
    const struct wl_gpu_grid grid = wl_gpu_rows_grid(s, wl_dims_count(&n->out->dims));
    const struct wl_gpu_segment_sum a = { .segments = wl_rows_counts(s, r) + n->rows,
                                          .start = wl_rows_at(s, r, WL_ROWS_IN + 1),
                                          .x = wl_rows_at(s, r, back ? WL_ROWS_DOUT : WL_ROWS_IN),
                                          .y = wl_rows_at(s, r, back ? WL_ROWS_DIN : WL_ROWS_OUT),
                                          .room = (int32_t)n->out->dims.d[0],
                                          .f = (int32_t)n->out->dims.d[1] };
    return WL_GPU_ROWS_LAUNCH(s, kernel, &grid, &a, e);
}

static int forward(const struct wl_step *s, const struct wl_run *r, struct wl_err *e) { return run(s, r, FORWARD, e); }

static int backward(const struct wl_step *s, const struct wl_run *r, struct wl_err *e)
{
    return run(s, r, BACKWARD, e);
}

static const struct wl_rows_op rows = { &wl_rows_uses_segment_sum, forward, backward, .prepare = wl_gpu_rows_prepare };

const struct wl_op_rules wl_gpu_op_segment_sum = { wl_lower_rows, wl_lower_rows_backward, .lowering = &rows,
                                                   .kernels = kernels };
