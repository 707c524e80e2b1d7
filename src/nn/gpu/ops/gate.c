#include "nn/gpu/kernels/gate.h"

#include "nn/gpu/ops/rows.h"

enum { FORWARD, BACKWARD, SUM };
static const char *const kernels[] = { "gate", "gate_backward", "sum_row_parts", NULL };

/* A warp takes a row, a block four; backward a block keeps its weights' gradients, so there are as many as fill a GPU.
 */
enum { THREADS = 128, ROWS = 4, MOST_PARTS = 512 };

static struct wl_gpu_row_parts parts_of(float *at, int64_t room, int64_t f, int64_t k)
{
    const int64_t blocks = (room + ROWS - 1) / ROWS;
    return (struct wl_gpu_row_parts) { .at = at,
                                       .apart = (f * k + 3) / 4 * 4,
                                       .n = (int32_t)(blocks < MOST_PARTS ? blocks : MOST_PARTS) };
}

static int forward(const struct wl_step *s, const struct wl_run *r, struct wl_err *e)
{
    const struct wl_gate_args g = wl_rows_gate_args(s, r);
    const struct wl_gpu_grid grid = wl_gpu_grid_for(wl_gpu_rows_kernel(s, FORWARD)->gpu, g.rows * 32, THREADS, 4);
    const struct wl_gpu_gate a = { .rows = wl_rows_counts(s, r) + s->node->rows,
                                   .x = g.x,
                                   .basis = g.basis,
                                   .w = g.w,
                                   .y = g.y,
                                   .f = (int32_t)g.f,
                                   .k = (int32_t)g.k };
    return WL_GPU_ROWS_LAUNCH(s, FORWARD, &grid, &a, e);
}

static int backward(const struct wl_step *s, const struct wl_run *r, struct wl_err *e)
{
    const struct wl_gate_grad g = wl_rows_gate_grad(s, r);
    const struct wl_gpu_row_parts parts = parts_of(g.of.scratch, g.of.rows, g.of.f, g.of.k);
    const struct wl_gpu_grid grid = { .x = (unsigned)parts.n, .threads = THREADS };
    const struct wl_gpu_gate_backward a = { .rows = wl_rows_counts(s, r) + s->node->rows,
                                            .x = g.of.x,
                                            .basis = g.of.basis,
                                            .w = g.of.w,
                                            .dy = g.dy,
                                            .dx = g.dx,
                                            .d_basis = g.d_basis,
                                            .parts = parts,
                                            .f = (int32_t)g.of.f,
                                            .k = (int32_t)g.of.k,
                                            .add = g.add };
    int rc = WL_GPU_ROWS_LAUNCH(s, BACKWARD, &grid, &a, e);
    const struct wl_gpu_sum_row_parts sum = { .parts = parts, .first = g.dw, .n_first = g.of.f * g.of.k };
    return rc ? rc : wl_gpu_sum_row_parts(s, SUM, &sum, e);
}

static size_t scratch(const void *names, const struct wl_node *n, bool is_backward)
{
    (void)names;
    const int64_t *w = n->par[0]->dims.d;
    const struct wl_gpu_row_parts parts = parts_of(NULL, n->out->dims.d[0], w[0], w[1]);
    return is_backward ? wl_gpu_row_parts_floats(&parts) : 0;
}

static const struct wl_rows_op rows = { &wl_rows_uses_gate, forward, backward, scratch, wl_gpu_rows_prepare };

const struct wl_op_rules wl_gpu_op_gate = { wl_lower_rows, wl_lower_rows_backward, .lowering = &rows,
                                            .kernels = kernels };
