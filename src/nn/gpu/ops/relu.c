/* relu and add: in place where no later step reads the input, in whatever layout the first term has. */
#include "nn/gpu/kernels/elementwise.h"
#include "nn/gpu/layout.h"
#include "nn/gpu/ops/batch_norm.h"
#include "nn/gpu/plain.h"
#include "nn/lowering/lowering.h"

enum { THREADS = 256, EACH = 8 };

struct relu {
    struct wl_gpu_kernel kernel;
    struct wl_gpu_grid grid;
    int64_t n;
};

static int relu_run(const struct wl_step *s, const struct wl_run *r, struct wl_err *e)
{
    const struct relu *relu = s->context;
    const struct wl_gpu_relu a = { .x = wl_use_at(s, r, 0), .y = wl_use_at(s, r, 1), .n = relu->n };
    return WL_GPU_LAUNCH(&relu->kernel, &relu->grid, &a, e);
}

static int relu_backward_run(const struct wl_step *s, const struct wl_run *r, struct wl_err *e)
{
    const struct relu *relu = s->context;
    const struct wl_gpu_relu_backward a = {
        .y = wl_use_at(s, r, 0), .dy = wl_use_at(s, r, 1), .dx = wl_use_at(s, r, 2), .n = relu->n
    };
    return WL_GPU_LAUNCH(&relu->kernel, &relu->grid, &a, e);
}

static struct relu *relu_of(struct wl_program *p, const char *kernel, const struct wl_buf *b, struct wl_err *e)
{
    struct relu *relu = wl_new(p->arena, struct relu);
    relu->n = (int64_t)(b->bytes / wl_dtype_bytes(b->dtype));
    relu->grid = wl_gpu_grid_for(wl_gpu_of(p), relu->n, THREADS, EACH);
    return wl_gpu_kernel_of(wl_gpu_of(p), kernel, b->dtype, &relu->kernel, e) ? NULL : relu;
}

static void finish(struct wl_step *s, struct relu *relu)
{
    s->context = relu;
    s->implementation = relu->kernel.name;
}

/* Nothing to do if the convolution before it has applied it. */
static int relu_forward(struct wl_program *p, const struct wl_node *n, struct wl_err *e)
{
    if (p->value[n->out->id]) return 0;
    struct wl_buf *x = p->value[n->in[0]->id], *y = wl_may_overwrite(p, n->in[0]) ? x : wl_buf_like(p, x);
    struct relu *relu = relu_of(p, "relu", x, e);
    if (!relu) return WL_ELIB;
    p->value[n->out->id] = y;
    finish(wl_step_emit_uses(p, n, "forward", WL_TRAIN | WL_EVAL, relu_run, WL_BUFS(x), WL_BUFS(y)), relu);
    return 0;
}

/* Nothing to do if a norm has added already (batch_norm.c). */
static int add_forward(struct wl_program *p, const struct wl_node *n, struct wl_err *e)
{
    struct wl_buf *a = p->value[n->in[0]->id], *b = p->value[n->in[1]->id];
    if (p->value[n->out->id]) return 0;
    int rc = wl_gpu_in_layout(p, n, b, b->dtype, a->layout, &b, e);
    if (rc) return rc;
    const enum wl_dtype type = n->out->f32 ? WL_F32 : p->precision;
    struct wl_buf *y = a;
    if (!wl_may_overwrite(p, n->in[0]) || a->dtype != type)
        y = a->dtype == type ? wl_buf_like(p, a) : wl_buf_result(p, n);
    WL_CHECK(y->layout == a->layout);
    p->value[n->out->id] = y;
    return wl_gpu_emit_sum(p, n, &(struct wl_gpu_sum_step) { "forward", WL_TRAIN | WL_EVAL, n->relu, a, b, y }, e);
}

static int relu_backward(struct wl_program *p, const struct wl_node *n, struct wl_buf **d, struct wl_err *e)
{
    struct wl_buf *y = p->value[n->out->id], *dy = *d;
    struct wl_buf *dx = *d = wl_gradient_last_holder(p, n->out) ? dy : wl_buf_like(p, dy);
    struct relu *relu = relu_of(p, "relu_backward", dy, e);
    if (!relu) return WL_ELIB;
    finish(wl_step_emit_uses(p, n, "backward", WL_TRAIN, relu_backward_run, WL_BUFS(y, dy), WL_BUFS(dx)), relu);
    return 0;
}

/* Both terms get the same gradient, that of the relu if there is one: one buffer for both where it suits them. */
static int backward(struct wl_program *p, const struct wl_node *n, struct wl_err *e)
{
    if (p->saved[n->out->id].context) return wl_gpu_batch_norm_add_backward(p, n, e);
    struct wl_buf *d = p->gradient[n->out->id];
    int rc = n->relu ? relu_backward(p, n, &d, e) : 0;
    for (int i = 0; i < 2 && n->in[i] && !rc; i++)
        if (n->in[i]->gradient) rc = wl_gpu_gradient_add(p, n, n->in[i], d, e);
    if (!rc) wl_gradient_done(p, n->out);
    return rc;
}

const struct wl_op_rules wl_gpu_op_relu = { relu_forward, backward };
const struct wl_op_rules wl_gpu_op_add = { add_forward, backward };
