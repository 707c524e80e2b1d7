/* project and decoder: rows times a matrix, which is the operation's own or another's. u, what gelu reads, is kept; its
 * backward pass sums the bias's gradient as it goes over the rows. A step of cuDNN's may compute product, bias and gelu
 * (WL_FUSE_...). */
#include "nn/gpu/kernels/activation.h"
#include "nn/gpu/ops/column_sums.h"
#include "nn/gpu/ops/fusion.h"
#include "nn/gpu/ops/matrix.h"
#include "nn/lowering/step.h"

static struct wl_gpu_matrix_op op_of(const struct wl_node *n)
{
    return (struct wl_gpu_matrix_op) { .size = wl_project_shape(n),
                                       .weight = wl_project_weight(n),
                                       .bias = wl_project_bias(n) };
}

/* ---- gelu: uses u, y ---- */

static int gelu_run(const struct wl_step *s, const struct wl_run *r, struct wl_err *e)
{
    const struct wl_gpu_kernel *k = s->context;
    const struct wl_gpu_gelu args = { .u = wl_use_at(s, r, 0),
                                      .y = wl_use_at(s, r, 1),
                                      .n = wl_dims_count(&s->node->out->dims) };
    const struct wl_gpu_grid grid = wl_gpu_grid_for(k->gpu, args.n, 256, 8);
    return WL_GPU_LAUNCH(k, &grid, &args, e);
}

static int gelu(struct wl_program *p, const struct wl_node *n, struct wl_buf *u, struct wl_buf *y, struct wl_err *e)
{
    struct wl_gpu_kernel *k = wl_new(p->arena, struct wl_gpu_kernel);
    int rc = wl_gpu_kernel_of(wl_gpu_of(p), "gelu", u->dtype, k, e);
    if (rc) return rc;
    struct wl_step *s = wl_step_emit_uses(p, n, "gelu", WL_TRAIN | WL_EVAL, gelu_run, WL_BUFS(u), WL_BUFS(y));
    s->context = k;
    s->implementation = k->name;
    return 0;
}

/* ---- its backward pass: uses u, dy, du, then parts and the bias's gradient ---- */

struct gelu_backward {
    struct wl_gpu_kernel kernel, sum_parts;
    struct wl_gpu_column_parts parts;
    struct wl_project_shape size;
    bool bias;
};

static int gelu_backward_run(const struct wl_step *s, const struct wl_run *r, struct wl_err *e)
{
    const struct gelu_backward *g = s->context;
    const struct wl_gpu_gelu_backward args = { .u = wl_use_at(s, r, 0),
                                               .dy = wl_use_at(s, r, 1),
                                               .du = wl_use_at(s, r, 2),
                                               .parts = g->bias ? wl_use_at(s, r, 3) : NULL,
                                               .rows = g->size.m,
                                               .f = g->size.k,
                                               .of_part = g->parts.of_part };
    const struct wl_gpu_grid grid = wl_gpu_column_parts_grid(&g->parts, g->size.k);
    int rc = WL_GPU_LAUNCH(&g->kernel, &grid, &args, e);
    if (rc || !g->bias) return rc;
    return wl_gpu_sum_column_parts(&g->sum_parts, &g->parts, g->size.k, args.parts, wl_use_at(s, r, 4), e);
}

static int gelu_backward(struct wl_program *p, const struct wl_node *n, struct wl_buf *du, struct wl_err *e)
{
    struct gelu_backward *g = wl_new(p->arena, struct gelu_backward);
    const struct wl_tensor *bias = wl_project_bias(n);
    *g = (struct gelu_backward) { .size = wl_project_shape(n), .bias = bias };
    g->parts = wl_gpu_column_parts(g->size.m, g->size.k);
    int rc = wl_gpu_kernel_of(wl_gpu_of(p), "gelu_backward", du->dtype, &g->kernel, e);
    if (!rc) rc = wl_gpu_kernel(wl_gpu_of(p), "sum_parts", &g->sum_parts, e);
    if (rc) return rc;
    struct wl_step *s = wl_step_emit_uses(p, n, "gelu, backward", WL_TRAIN, gelu_backward_run,
                                          WL_BUFS(p->saved[n->out->id].buf[2], p->gradient[n->out->id]), WL_BUFS(du));
    s->context = g;
    s->implementation = g->kernel.name;
    if (!bias) return 0;
    wl_step_writes(p, s, wl_gpu_column_parts_buf(p, &g->parts, g->size.k));
    wl_step_writes(p, s, p->gradient[bias->id]);
    return 0;
}

/* ---- the products ---- */

bool wl_gpu_project_with_gelu(const struct wl_program *p, const struct wl_node *n, struct wl_gpu_conv *c)
{
    enum { MULTIPLE = 8 }; /* of 16-bit channels, as engines of tensor cores read them */
    const struct wl_project_shape v = wl_project_shape(n);
    *c = (struct wl_gpu_conv) {
        .pass = WL_GPU_CONV_FORWARD,
        .type = p->precision,
        .dw = p->precision,
        .bias = true,
        .gelu = true,
        .window = { .n = 1,
                    .c = v.f,
                    .h = v.m,
                    .w = 1,
                    .k = v.k,
                    .p = v.m,
                    .q = 1,
                    .r = 1,
                    .s = 1,
                    .stride = { 1, 1 } },
    };
    return wl_project_gelu(n) && wl_project_bias(n) && wl_dtype_bytes(p->precision) == 2 && v.f % MULTIPLE == 0 &&
           v.k % MULTIPLE == 0;
}

/* Product, bias and gelu in a step of cuDNN's. */
static int fused_forward(struct wl_program *p, const struct wl_node *n, const struct wl_gpu_conv_plan *plan,
                         struct wl_buf *y, struct wl_err *e)
{
    struct wl_buf *x = p->value[n->in[0]->id], *w, *bias, *u = wl_buf_like(p, y);
    int rc = wl_gpu_weights(p, n, wl_project_weight(n), y->dtype, NULL, &w, e);
    if (!rc) rc = wl_gpu_weights(p, n, wl_project_bias(n), WL_F32, NULL, &bias, e);
    if (rc) return rc;
    wl_gpu_dnn_emit(p, n, "forward, gelu", WL_TRAIN | WL_EVAL, plan,
                    (struct wl_gpu_dnn_operand[]) { { WL_GPU_DNN_X, x, false },
                                                    { WL_GPU_DNN_W, w, false },
                                                    { WL_GPU_DNN_BIAS, bias, false },
                                                    { WL_GPU_DNN_U, u, true },
                                                    { WL_GPU_DNN_Y, y, true },
                                                    { 0 } });
    p->saved[n->out->id] = (struct wl_saved) { .buf = { x, w, u } };
    return 0;
}

static int separate_forward(struct wl_program *p, const struct wl_node *n, struct wl_buf *y, struct wl_err *e)
{
    const struct wl_gpu_matrix_op op = op_of(n);
    struct wl_buf *x = p->value[n->in[0]->id], *w;
    struct wl_buf *u = wl_project_gelu(n) ? wl_buf_like(p, y) : NULL;
    int rc = wl_gpu_matrix_forward(p, n, &op, x, u ? u : y, &w, e);
    if (!rc && u) rc = gelu(p, n, u, y, e);
    p->saved[n->out->id] = (struct wl_saved) { .buf = { x, w, u } };
    return rc;
}

static int forward(struct wl_program *p, const struct wl_node *n, struct wl_err *e)
{
    struct wl_buf *y = p->value[n->out->id] = wl_buf_value(p, &n->out->dims);
    const struct wl_gpu_conv_plan *plan = NULL;
    struct wl_gpu_conv c;
    int rc = wl_gpu_project_with_gelu(p, n, &c) ? wl_gpu_conv_fused_plan(p, &c, &plan, e) : 0;
    if (rc) return rc;
    return plan ? fused_forward(p, n, plan, y, e) : separate_forward(p, n, y, e);
}

/* The gradient by what the matrix gives, and that by its bias. */
static int backward_result(struct wl_program *p, const struct wl_node *n, struct wl_buf **du, struct wl_err *e)
{
    const struct wl_tensor *bias = wl_project_bias(n);
    struct wl_buf *dy = *du = p->gradient[n->out->id];
    if (wl_project_gelu(n)) {
        if (!wl_gradient_last_holder(p, n->out)) *du = wl_buf_like(p, dy);
        return gelu_backward(p, n, *du, e);
    }
    return bias ? wl_gpu_emit_column_sums(p, n, dy, wl_project_shape(n).k, p->gradient[bias->id], e) : 0;
}

/* A gradient that only this node's input holds already is added to. */
static int backward_data(struct wl_program *p, const struct wl_node *n, const struct wl_gpu_matrix_op *op,
                         struct wl_buf *du, struct wl_err *e)
{
    const struct wl_tensor *x = n->in[0];
    const struct wl_saved *saved = &p->saved[n->out->id];
    struct wl_buf *sum = p->gradient[x->id] && wl_gradient_last_holder(p, x) ? p->gradient[x->id] : NULL;
    const struct wl_gpu_matrix_data d = {
        .dy = du, .w = saved->buf[1], .dx = sum ? sum : wl_buf_like(p, saved->buf[0]), .add = sum
    };
    int rc = wl_gpu_matrix_backward_data(p, n, op, &d, e);
    return rc || sum ? rc : wl_gradient_add(p, n, x, d.dx, e);
}

static int backward(struct wl_program *p, const struct wl_node *n, struct wl_err *e)
{
    const struct wl_gpu_matrix_op op = op_of(n);
    struct wl_buf *du;
    int rc = backward_result(p, n, &du, e);
    if (!rc) rc = wl_gpu_matrix_backward_weights(p, n, &op, p->saved[n->out->id].buf[0], du, e);
    if (!rc && n->in[0]->gradient) rc = backward_data(p, n, &op, du, e);
    if (!rc) wl_gradient_done(p, n->out);
    return rc;
}

const struct wl_op_rules wl_gpu_op_project = { forward, backward };
const struct wl_op_rules wl_gpu_op_decoder = { forward, backward };
