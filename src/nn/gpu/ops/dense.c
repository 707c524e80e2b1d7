#include "nn/gpu/kernels/dense.h"

#include "nn/gpu/ops/rows.h"

_Static_assert((int)WL_GPU_LINEAR == (int)WL_ACT_NONE && (int)WL_GPU_SOFTPLUS == (int)WL_ACT_SOFTPLUS &&
                   (int)WL_GPU_SWISH == (int)WL_ACT_SWISH,
               "kernels know the activations by number");

/* Indices of the kernels; of pairs, the one with large tiles. */
enum { FORWARD = 0, DATA = 2, WEIGHTS = 4, SUM = 6 };
static const char *const kernels[] = { "dense_large",         "dense_small",
                                       "dense_data_large",    "dense_data_small",
                                       "dense_weights_large", "dense_weights_small",
                                       "sum_row_parts",       NULL };

static const int32_t *rows_of(const struct wl_step *s, const struct wl_run *r)
{
    return wl_rows_counts(s, r) + s->node->rows;
}

static int forward(const struct wl_step *s, const struct wl_run *r, struct wl_err *e)
{
    const struct wl_dense_args d = wl_rows_dense_args(s, r);
    const struct wl_gpu_tile_grid t = wl_gpu_tile_grid_for(d.m.n, d.m.k, 1);
    const struct wl_gpu_dense a = { .rows = rows_of(s, r),
                                    .x = d.x,
                                    .w = d.w,
                                    .b = d.b,
                                    .residual = d.residual,
                                    .y = d.y,
                                    .u = d.u,
                                    .f = (int32_t)d.m.f,
                                    .k = (int32_t)d.m.k,
                                    .activation = d.activation };
    return WL_GPU_ROWS_LAUNCH(s, FORWARD + t.small, &t.grid, &a, e);
}

static int data(const struct wl_step *s, const int32_t *rows, const struct wl_dense_grad *d, struct wl_err *e)
{
    const struct wl_gpu_tile_grid t = wl_gpu_tile_grid_for(d->m.n, d->m.f, 1);
    const struct wl_gpu_dense_data a = { .rows = rows,
                                         .dy = d->dy,
                                         .u = d->u,
                                         .w = d->w,
                                         .dx = d->dx,
                                         .f = (int32_t)d->m.f,
                                         .k = (int32_t)d->m.k,
                                         .activation = d->activation,
                                         .add = d->add };
    return WL_GPU_ROWS_LAUNCH(s, DATA + t.small, &t.grid, &a, e);
}

static int weights(const struct wl_step *s, const int32_t *rows, const struct wl_dense_grad *d, struct wl_err *e)
{
    const struct wl_gpu_row_parts parts = wl_gpu_row_parts_for(d->scratch, d->m.n, d->m.k, d->m.f);
    const struct wl_gpu_tile_grid t = wl_gpu_tile_grid_for(d->m.k, d->m.f, parts.n);
    const struct wl_gpu_dense_weights a = { .rows = rows,
                                            .dy = d->dy,
                                            .u = d->u,
                                            .x = d->x,
                                            .parts = parts,
                                            .f = (int32_t)d->m.f,
                                            .k = (int32_t)d->m.k,
                                            .activation = d->activation };
    int rc = WL_GPU_ROWS_LAUNCH(s, WEIGHTS + t.small, &t.grid, &a, e);
    const struct wl_gpu_sum_row_parts sum = { parts, d->dw, d->db, d->m.k * d->m.f, d->m.k };
    return rc ? rc : wl_gpu_sum_row_parts(s, SUM, &sum, e);
}

static int backward(const struct wl_step *s, const struct wl_run *r, struct wl_err *e)
{
    const struct wl_dense_grad d = wl_rows_dense_grad(s, r);
    int rc = data(s, rows_of(s, r), &d, e);
    return rc ? rc : weights(s, rows_of(s, r), &d, e);
}

static size_t scratch(const void *names, const struct wl_node *n, bool is_backward)
{
    (void)names;
    const int64_t *w = n->par[0]->dims.d;
    const struct wl_gpu_row_parts parts = wl_gpu_row_parts_for(NULL, n->out->dims.d[0], w[0], w[1]);
    return is_backward ? wl_gpu_row_parts_floats(&parts) : 0;
}

static const struct wl_rows_op rows = { &wl_rows_uses_dense, forward, backward, scratch, wl_gpu_rows_prepare };

const struct wl_op_rules wl_gpu_op_dense = { wl_lower_rows, wl_lower_rows_backward, .lowering = &rows,
                                             .kernels = kernels };
