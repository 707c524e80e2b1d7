/* relu and add, in place where no later step reads the input. */
#include "nn/cpu/simd_step.h"

#include <string.h>

/* Nothing to do if the convolution before it has applied it. */
static int relu_forward(struct wl_program *p, const struct wl_node *n, struct wl_err *e)
{
    if (p->value[n->out->id]) return 0;
    struct wl_buf *x = p->value[n->in[0]->id], *y = wl_may_overwrite(p, n->in[0]) ? x : wl_buf_like(p, x);
    wl_md md;
    dnnl_primitive_desc_t pd;
    int rc = wl_cpu_layout(p, x, &md, e);
    if (!rc) rc = wl_pd_relu(wl_cpu_of(p), &pd, md, e);
    if (rc) return rc;
    p->value[n->out->id] = y;
    return wl_cpu_emit(p, n, "forward", WL_TRAIN | WL_EVAL, pd,
                       (struct wl_cpu_arg[]) { { DNNL_ARG_SRC, x, false }, { DNNL_ARG_DST, y, true }, { 0 } }, e);
}

/* The step y = a + b, then max(0, .) with relu; all of one shape and layout, y may be a. */
struct sum {
    const char *pass;
    unsigned when;
    bool relu;
    struct wl_buf *a, *b, *y;
};

static int emit_sum(struct wl_program *p, const struct wl_node *n, const struct sum *s, struct wl_err *e)
{
    wl_md md;
    dnnl_primitive_desc_t pd;
    int rc = wl_cpu_layout(p, s->a, &md, e);
    if (!rc) rc = wl_pd_add(wl_cpu_of(p), &pd, s->relu, md, e);
    if (rc) return rc;
    return wl_cpu_emit(p, n, s->pass, s->when, pd,
                       (struct wl_cpu_arg[]) { { DNNL_ARG_SRC_0, s->a, false },
                                               { DNNL_ARG_SRC_1, s->b, false },
                                               { DNNL_ARG_DST, s->y, true },
                                               { 0 } },
                       e);
}

static bool is_padded(const struct wl_buf *b)
{
    return b->bytes > (size_t)wl_dims_count(&b->dims) * wl_dtype_bytes(b->dtype);
}

/* Terms and sum each in its own type, a piece at a time that stays in the first cache. */
static int mixed_run(const struct wl_step *s, const struct wl_run *r, struct wl_err *e)
{
    enum { PIECE = 2048 };
    (void)r, (void)e;
    const struct wl_buf *a = s->uses[0].buf, *b = s->uses[1].buf, *y = s->uses[2].buf;
    const int64_t n = wl_dims_count(&y->dims);
    const size_t size[] = { wl_dtype_bytes(a->dtype), wl_dtype_bytes(b->dtype), wl_dtype_bytes(y->dtype) };
#pragma omp parallel for schedule(static)
    for (int64_t from = 0; from < n; from += PIECE) {
        const int64_t some = from + PIECE < n ? PIECE : n - from;
        float sum[PIECE];
        memset(sum, 0, sizeof sum);
        wl_simd_step_loops(a)->add_row(some, (const char *)a->at + (size_t)from * size[0], sum);
        wl_simd_step_loops(b)->add_row(some, (const char *)b->at + (size_t)from * size[1], sum);
        wl_simd_step_loops(y)->narrow(some, sum, (char *)y->at + (size_t)from * size[2]);
    }
    return 0;
}

static void add_mixed(struct wl_program *p, const struct wl_node *n, struct wl_buf *a, struct wl_buf *b)
{
    WL_CHECK(!a->layout && !b->layout && !n->relu);
    struct wl_buf *y = wl_buf_result(p, n);
    struct wl_step *s = wl_simd_step_emit(p, n, "forward", WL_TRAIN | WL_EVAL, mixed_run);
    wl_step_reads(p, s, a);
    wl_step_reads(p, s, b);
    wl_step_writes(p, s, y);
    p->value[n->out->id] = y;
}

/* Nothing to do if a norm has added already (batch_norm.c). Where a layout pads the channels, oneDNN 2.6's sum followed
 * by a relu gives wrong values in place. */
static int add_forward(struct wl_program *p, const struct wl_node *n, struct wl_err *e)
{
    struct wl_buf *a = p->value[n->in[0]->id], *b = p->value[n->in[1]->id];
    bool over_a = wl_may_overwrite(p, n->in[0]) && !is_padded(a);
    wl_md md;
    if (p->value[n->out->id]) return 0;
    if (a->dtype != b->dtype || (n->out->f32 && a->dtype != WL_F32)) {
        add_mixed(p, n, a, b);
        return 0;
    }
    int rc = wl_cpu_layout(p, a, &md, e);
    if (!rc) rc = wl_cpu_in_layout(p, n, b, md, &b, e);
    if (rc) return rc;
    struct wl_buf *y = p->value[n->out->id] = over_a ? a : wl_buf_like(p, a);
    return emit_sum(p, n, &(struct sum) { "forward", WL_TRAIN | WL_EVAL, n->relu, a, b, y }, e);
}

int wl_cpu_sum(struct wl_program *p, const struct wl_node *n, struct wl_buf *a, struct wl_buf *b, struct wl_buf *dst,
               struct wl_err *e)
{
    return emit_sum(p, n, &(struct sum) { "sum of gradients", WL_TRAIN, false, a, b, dst }, e);
}

int wl_cpu_relu_backward(struct wl_program *p, const struct wl_node *n, const struct wl_tensor *y, struct wl_buf **d,
                         struct wl_err *e)
{
    struct wl_buf *dy = p->gradient[y->id], *dx = wl_gradient_last_holder(p, y) ? dy : wl_buf_like(p, dy);
    wl_md md;
    dnnl_primitive_desc_t pd;
    int rc = wl_cpu_layout(p, dy, &md, e);
    if (!rc) rc = wl_pd_relu_backward(wl_cpu_of(p), &pd, md, e);
    *d = dx;
    return rc ? rc
              : wl_cpu_emit(p, n, "backward", WL_TRAIN, pd,
                            (struct wl_cpu_arg[]) { { DNNL_ARG_DST, p->value[y->id], false },
                                                    { DNNL_ARG_DIFF_DST, dy, false },
                                                    { DNNL_ARG_DIFF_SRC, dx, true },
                                                    { 0 } },
                            e);
}

/* Both terms get the same gradient, that of the relu if there is one: one buffer for both. */
static int eltwise_backward(struct wl_program *p, const struct wl_node *n, struct wl_err *e)
{
    const struct wl_node *norm = p->saved[n->out->id].context;
    if (norm) return wl_cpu_batch_norm_add_backward(p, n, norm, e);
    struct wl_buf *d = p->gradient[n->out->id];
    const bool relu = n->relu && !p->saved[n->out->id].relu_passed;
    int rc = relu ? wl_cpu_relu_backward(p, n, n->out, &d, e) : 0;
    for (int i = 0; i < 2 && n->in[i] && !rc; i++)
        if (n->in[i]->gradient) rc = wl_cpu_gradient_add(p, n, n->in[i], d, e);
    if (!rc) wl_gradient_done(p, n->out);
    return rc;
}

const struct wl_op_rules wl_cpu_op_relu = { relu_forward, eltwise_backward };
const struct wl_op_rules wl_cpu_op_add = { .forward = add_forward,
                                           .backward = eltwise_backward,
                                           .adds_gradients = wl_cpu_batch_norm_adds_gradients };
