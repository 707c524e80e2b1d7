#include "nn/gpu/kernels/bases.h"
#include "nn/gpu/ops/rows.h"

enum { FORWARD, BACKWARD, SUM };
static const char *const kernels[] = { "bessel_basis", "bessel_backward", "sum_row_parts", NULL };

static int forward(const struct wl_step *s, const struct wl_run *r, struct wl_err *e)
{
    const struct wl_node *n = s->node;
    const struct wl_gpu_grid grid = wl_gpu_rows_grid(s, wl_dims_count(&n->out->dims));
    const struct wl_gpu_bessel a = { .rows = wl_rows_counts(s, r) + n->rows,
                                     .distance = wl_rows_at(s, r, WL_ROWS_IN),
                                     .freq = wl_rows_at(s, r, WL_ROWS_PARAM),
                                     .y = wl_rows_at(s, r, WL_ROWS_OUT),
                                     .cutoff = n->u.basis.cutoff,
                                     .radial = (int32_t)n->u.basis.radial,
                                     .power = n->u.basis.power };
    return WL_GPU_ROWS_LAUNCH(s, FORWARD, &grid, &a, e);
}

/* A block of 256 threads takes some rows for one number. */
static struct wl_gpu_row_parts parts_of(float *at, const struct wl_node *n)
{
    enum { ROWS = 1024, MOST_PARTS = 64 };
    const int64_t blocks = (n->out->dims.d[0] + ROWS - 1) / ROWS;
    return (struct wl_gpu_row_parts) { .at = at,
                                       .apart = (n->u.basis.radial + 3) / 4 * 4,
                                       .n = (int32_t)(blocks < MOST_PARTS ? blocks : MOST_PARTS) };
}

static int backward(const struct wl_step *s, const struct wl_run *r, struct wl_err *e)
{
    const struct wl_node *n = s->node;
    const struct wl_gpu_row_parts parts = parts_of(wl_rows_at(s, r, WL_ROWS_SCRATCH), n);
    const struct wl_gpu_grid grid = { .x = (unsigned)parts.n, .y = (unsigned)n->u.basis.radial, .threads = 256 };
    const struct wl_gpu_bessel_backward a = { .rows = wl_rows_counts(s, r) + n->rows,
                                              .distance = wl_rows_at(s, r, WL_ROWS_IN),
                                              .freq = wl_rows_at(s, r, WL_ROWS_PARAM),
                                              .dy = wl_rows_at(s, r, WL_ROWS_DOUT),
                                              .parts = parts,
                                              .cutoff = n->u.basis.cutoff,
                                              .radial = (int32_t)n->u.basis.radial,
                                              .power = n->u.basis.power };
    int rc = WL_GPU_ROWS_LAUNCH(s, BACKWARD, &grid, &a, e);
    const struct wl_gpu_sum_row_parts sum = { .parts = parts,
                                              .first = wl_rows_at(s, r, WL_ROWS_DPARAM),
                                              .n_first = n->u.basis.radial };
    return rc ? rc : wl_gpu_sum_row_parts(s, SUM, &sum, e);
}

static size_t scratch(const void *names, const struct wl_node *n, bool is_backward)
{
    (void)names;
    const struct wl_gpu_row_parts parts = parts_of(NULL, n);
    return is_backward ? wl_gpu_row_parts_floats(&parts) : 0;
}

static const struct wl_rows_op rows = { &wl_rows_uses_parameters, forward, backward, scratch, wl_gpu_rows_prepare };

const struct wl_op_rules wl_gpu_op_bessel_basis = { wl_lower_rows, wl_lower_rows_backward, .lowering = &rows,
                                                    .kernels = kernels };
