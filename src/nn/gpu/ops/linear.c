/* linear: x flattened, times a matrix. */
#include "nn/gpu/layout.h"
#include "nn/gpu/ops/column_sums.h"
#include "nn/gpu/ops/matrix.h"

static struct wl_gpu_matrix_op op_of(const struct wl_node *n)
{
    const int64_t *w = n->par[0]->dims.d;
    return (struct wl_gpu_matrix_op) { .size = { .m = n->out->dims.d[0], .f = w[1], .k = w[0] },
                                       .weight = n->par[0],
                                       .bias = n->par[1] };
}

static int forward(struct wl_program *p, const struct wl_node *n, struct wl_err *e)
{
    const struct wl_gpu_matrix_op op = op_of(n);
    struct wl_saved *saved = &p->saved[n->out->id];
    struct wl_buf *y = wl_buf_value(p, &n->out->dims);
    int rc = wl_gpu_plain_input(p, n, 0, &saved->buf[0], e);
    if (!rc) rc = wl_gpu_matrix_forward(p, n, &op, saved->buf[0], y, &saved->buf[1], e);
    p->value[n->out->id] = y;
    return rc;
}

static int backward_data(struct wl_program *p, const struct wl_node *n, const struct wl_gpu_matrix_op *op,
                         struct wl_err *e)
{
    const struct wl_saved *saved = &p->saved[n->out->id];
    const struct wl_gpu_matrix_data d = { .dy = p->gradient[n->out->id],
                                          .w = saved->buf[1],
                                          .dx = wl_buf_like(p, saved->buf[0]) };
    int rc = wl_gpu_matrix_backward_data(p, n, op, &d, e);
    return rc ? rc : wl_gpu_gradient_add(p, n, n->in[0], d.dx, e);
}

static int backward(struct wl_program *p, const struct wl_node *n, struct wl_err *e)
{
    const struct wl_gpu_matrix_op op = op_of(n);
    struct wl_buf *dy = p->gradient[n->out->id];
    int rc = wl_gpu_matrix_backward_weights(p, n, &op, p->saved[n->out->id].buf[0], dy, e);
    if (!rc) rc = wl_gpu_emit_column_sums(p, n, dy, op.size.k, p->gradient[op.bias->id], e);
    if (!rc && n->in[0]->gradient) rc = backward_data(p, n, &op, e);
    if (!rc) wl_gradient_done(p, n->out);
    return rc;
}

const struct wl_op_rules wl_gpu_op_linear = { forward, backward };
