/* Convolution by cuDNN: images in NHWC, weights in KRSC. Bias and a relu that alone reads the result are computed by
 * the same engine where there is one, else by a kernel after it. Images and weights have channels up to a multiple of 8
 * in 16 bits, the others being zeros; cuDNN writes the result, and reads its gradient, without such a padding, so there
 * are copies around it where the number of channels that are made is not such a multiple.
 *
 * In training of 16-bit values the engine may also sum for the batch norm that reads the result (WL_FUSE_...).
 *
 * The weights' gradient is added up in f32. Where no engine is recommended that writes f32, it is rounded to the
 * values' type and widened by a copy. */
#include "nn/gpu/ops/conv2d.h"

#include "nn/gpu/kernels/bias.h"
#include "nn/gpu/layout.h"
#include "nn/gpu/ops/column_sums.h"
#include "nn/lowering/lowering.h"

/* Channels in memory as cuDNN writes them: none are added. */
static const struct wl_gpu_layout dense = { "nhwc", false };

static int64_t padded(enum wl_dtype type, int64_t channels)
{
    return wl_dtype_bytes(type) == 2 ? (channels + 7) / 8 * 8 : channels;
}

const struct wl_node *wl_gpu_conv_relu(const struct wl_program *p, const struct wl_node *n)
{
    const struct wl_node *reader = wl_may_overwrite(p, n->out) ? wl_only_reader(p->graph, n->out) : NULL;
    return reader && reader->op == WL_OP_RELU ? reader : NULL;
}

struct wl_gpu_conv wl_gpu_conv_of(const struct wl_program *p, const struct wl_node *n, enum wl_gpu_conv_pass pass)
{
    struct wl_gpu_conv c = {
        .pass = pass, .window = wl_conv_window(n), .type = p->precision, .dw = p->precision, .tf32 = p->tf32
    };
    c.window.c = padded(c.type, c.window.c);
    c.bias = pass == WL_GPU_CONV_FORWARD && n->par[1];
    c.relu = pass == WL_GPU_CONV_FORWARD && wl_gpu_conv_relu(p, n);
    return c;
}

static int no_engine(const struct wl_program *p, const struct wl_node *n, const struct wl_gpu_conv *c, struct wl_err *e)
{
    const struct wl_gpu_dnn *d = wl_gpu_of(p)->dnn;
    return wl_fail(e, WL_EUNAVAIL, "%s: cuDNN has no deterministic engine for %s on %s", n->name,
                   wl_gpu_conv_question(d, c, p->arena), wl_gpu_of(p)->name);
}

static int plan_of(struct wl_program *p, const struct wl_node *n, const struct wl_gpu_conv *c,
                   const struct wl_gpu_conv_plan **out, struct wl_err *e)
{
    int rc = wl_gpu_conv_plan(p, c, out, e);
    return rc || *out ? rc : no_engine(p, n, c, e);
}

bool wl_gpu_conv_with_sums(const struct wl_program *p, const struct wl_node *n, struct wl_gpu_conv *c)
{
    const struct wl_node *reader = wl_only_reader(p->graph, n->out);
    const int64_t channels = n->out->dims.d[1];
    *c = wl_gpu_conv_of(p, n, WL_GPU_CONV_FORWARD);
    c->sums = p->train && reader && reader->op == WL_OP_BATCH_NORM && wl_dtype_bytes(c->type) == 2 &&
              padded(c->type, channels) == channels;
    return c->sums;
}

const struct wl_gpu_conv_sums *wl_gpu_conv_sums_of(const struct wl_program *p, const struct wl_tensor *result)
{
    const struct wl_node *n = result->producer;
    return n && n->op == WL_OP_CONV ? p->saved[result->id].context : NULL;
}

/* ---- padding of the channels that are made ---- */

static bool is_padded(const struct wl_buf *y) { return wl_gpu_padded_channels(y) != y->dims.d[1]; }

/* A buffer of y's shape without padding. */
static struct wl_buf *dense_like(struct wl_program *p, const struct wl_buf *y)
{
    const size_t bytes = (size_t)wl_dims_count(&y->dims) * wl_dtype_bytes(y->dtype);
    return wl_buf_new(p, WL_MEM_VALUE, y->dtype, &y->dims, &dense, bytes);
}

/* Copies channels between rows of these widths. */
static int copy_channels(struct wl_program *p, const struct wl_node *n, struct wl_buf *from, struct wl_buf *to,
                         const int64_t width[2], struct wl_err *e)
{
    const struct wl_gpu_channels what = {
        .channels = width[0] < width[1] ? width[0] : width[1],
        .width = width[1],
        .from = { 0, (int32_t)width[0] },
        .to = { 0, (int32_t)width[1] },
    };
    return wl_gpu_emit_channels(p, n, "reorder", &what, from, to, e);
}

/* ---- forward ---- */

struct bias {
    struct wl_gpu_kernel kernel;
    struct wl_gpu_grid grid;
    int64_t rows, f;
    bool relu;
};

/* Uses: y, and the bias where there is one. */
static int bias_run(const struct wl_step *s, const struct wl_run *r, struct wl_err *e)
{
    const struct bias *b = s->context;
    const struct wl_gpu_bias args = { .y = wl_use_at(s, r, 0),
                                      .b = s->n_uses > 1 ? wl_use_at(s, r, 1) : NULL,
                                      .rows = b->rows,
                                      .f = b->f,
                                      .relu = b->relu };
    return WL_GPU_LAUNCH(&b->kernel, &b->grid, &args, e);
}

static int emit_bias(struct wl_program *p, const struct wl_node *n, const struct wl_gpu_conv *c, unsigned when,
                     struct wl_buf *y, struct wl_buf *bias, struct wl_err *e)
{
    enum { THREADS = 256, EACH = 8 };
    struct bias *b = wl_new(p->arena, struct bias);
    const int64_t count = wl_dims_count(&y->dims);
    *b = (struct bias) { .f = y->dims.d[1], .rows = count / y->dims.d[1], .relu = c->relu };
    b->grid = wl_gpu_grid_for(wl_gpu_of(p), count, THREADS, EACH);
    int rc = wl_gpu_kernel_of(wl_gpu_of(p), "bias", y->dtype, &b->kernel, e);
    if (rc) return rc;
    const char *pass = c->bias ? c->relu ? "forward, bias, relu" : "forward, bias" : "forward, relu";
    struct wl_step *s = wl_step_emit(p, n, pass, when, bias_run);
    wl_step_writes(p, s, y); /* in place */
    if (bias) wl_step_reads(p, s, bias);
    s->context = b;
    s->implementation = b->kernel.name;
    s->flops_share = 0;
    return 0;
}

/* In training, with the sums. `when` is left with the passes that have no such step. */
static int emit_sums(struct wl_program *p, const struct wl_node *n, struct wl_buf *bias, struct wl_buf *y,
                     unsigned *when, struct wl_err *e)
{
    struct wl_saved *saved = &p->saved[n->out->id];
    const struct wl_dims channels = WL_DIMS(n->out->dims.d[1]);
    const struct wl_gpu_conv_plan *plan = NULL;
    struct wl_gpu_conv c;
    int rc = wl_gpu_conv_with_sums(p, n, &c) ? wl_gpu_conv_fused_plan(p, &c, &plan, e) : 0;
    if (rc || !plan) return rc;
    struct wl_gpu_conv_sums *sums = wl_new(p->arena, struct wl_gpu_conv_sums);
    sums->sum = wl_buf_plain(p, WL_MEM_VALUE, WL_F32, &channels);
    sums->squares = wl_buf_plain(p, WL_MEM_VALUE, WL_F32, &channels);
    wl_gpu_dnn_emit(p, n, "forward, sums", WL_TRAIN, plan,
                    (struct wl_gpu_dnn_operand[]) { { WL_GPU_DNN_X, saved->buf[0], false },
                                                    { WL_GPU_DNN_W, saved->buf[1], false },
                                                    { WL_GPU_DNN_BIAS, bias, false },
                                                    { WL_GPU_DNN_Y, y, true },
                                                    { WL_GPU_DNN_SUM, sums->sum, true },
                                                    { WL_GPU_DNN_SQUARES, sums->squares, true },
                                                    { 0 } });
    saved->context = sums;
    *when &= ~(unsigned)WL_TRAIN;
    return 0;
}

/* y without padding. */
static int emit_forward(struct wl_program *p, const struct wl_node *n, const struct wl_gpu_conv *c, unsigned when,
                        struct wl_buf *bias, struct wl_buf *y, struct wl_err *e)
{
    const struct wl_saved *saved = &p->saved[n->out->id];
    const struct wl_gpu_conv_plan *plan;
    struct wl_gpu_conv alone = *c;
    alone.bias = alone.relu = false;
    int rc = wl_gpu_conv_plan(p, c, &plan, e);
    const bool fused = !rc && plan;
    if (!rc && !fused) rc = plan_of(p, n, &alone, &plan, e);
    if (rc) return rc;
    wl_gpu_dnn_emit(p, n, fused && c->relu ? "forward, relu" : "forward", when, plan,
                    (struct wl_gpu_dnn_operand[]) { { WL_GPU_DNN_X, saved->buf[0], false },
                                                    { WL_GPU_DNN_W, saved->buf[1], false },
                                                    { WL_GPU_DNN_BIAS, fused ? bias : NULL, false },
                                                    { WL_GPU_DNN_Y, y, true },
                                                    { 0 } });
    return fused ? 0 : emit_bias(p, n, c, when, y, bias, e);
}

static int forward(struct wl_program *p, const struct wl_node *n, struct wl_err *e)
{
    const struct wl_node *relu = wl_gpu_conv_relu(p, n);
    const struct wl_gpu_conv c = wl_gpu_conv_of(p, n, WL_GPU_CONV_FORWARD);
    struct wl_saved *saved = &p->saved[n->out->id];
    unsigned when = WL_TRAIN | WL_EVAL;
    struct wl_buf *b = n->par[1] ? wl_lower_plain_param(p, n->par[1]) : NULL, *y = wl_gpu_nhwc_result(p, n), *to = y;
    int rc = wl_gpu_nhwc_input(p, n, 0, &saved->buf[0], e);
    if (!rc) rc = wl_gpu_weights(p, n, n->par[0], p->precision, &wl_gpu_krsc, &saved->buf[1], e);
    if (is_padded(y)) to = dense_like(p, y);
    if (!rc) rc = emit_sums(p, n, b, to, &when, e);
    if (!rc && when & p->passes) rc = emit_forward(p, n, &c, when, b, to, e);
    if (!rc && to != y) rc = copy_channels(p, n, to, y, (int64_t[]) { y->dims.d[1], wl_gpu_padded_channels(y) }, e);
    p->value[n->out->id] = y;
    if (relu) p->value[relu->out->id] = y;
    return rc;
}

/* ---- backward ---- */

/* The gradient of the result without padding. */
static int dense_gradient(struct wl_program *p, const struct wl_node *n, struct wl_buf **dy, struct wl_err *e)
{
    struct wl_buf *from = *dy = p->gradient[n->out->id];
    if (!is_padded(from)) return 0;
    *dy = dense_like(p, from);
    return copy_channels(p, n, from, *dy, (int64_t[]) { wl_gpu_padded_channels(from), from->dims.d[1] }, e);
}

/* A buffer for dw as cuDNN writes it, [K,channels,R,S] with the input's padding. */
static struct wl_buf *written_weights(struct wl_program *p, const struct wl_gpu_conv *c)
{
    const struct wl_window *v = &c->window;
    const struct wl_dims dims = WL_DIMS(v->k, v->c, v->r, v->s);
    return wl_buf_new(p, WL_MEM_VALUE, c->dw, &dims, &dense, (size_t)wl_dims_count(&dims) * wl_dtype_bytes(c->dw));
}

static int backward_weights(struct wl_program *p, const struct wl_node *n, struct wl_buf *dy, struct wl_err *e)
{
    const struct wl_gpu_conv c = wl_gpu_conv_of(p, n, WL_GPU_CONV_WEIGHTS);
    const struct wl_gpu_conv_plan *plan;
    struct wl_buf *dw = p->gradient[n->par[0]->id], *to = dw;
    int rc = plan_of(p, n, &c, &plan, e);
    if (rc) return rc;
    const int64_t channels = n->in[0]->dims.d[1];
    if (plan->conv.dw != WL_F32 || c.window.c != channels) to = written_weights(p, &plan->conv);
    wl_gpu_dnn_emit(p, n, "backward weights", WL_TRAIN, plan,
                    (struct wl_gpu_dnn_operand[]) { { WL_GPU_DNN_X, p->saved[n->out->id].buf[0], false },
                                                    { WL_GPU_DNN_Y, dy, false },
                                                    { WL_GPU_DNN_W, to, true },
                                                    { 0 } });
    return to == dw ? 0 : copy_channels(p, n, to, dw, (int64_t[]) { c.window.c, channels }, e);
}

static int backward_data(struct wl_program *p, const struct wl_node *n, struct wl_buf *dy, struct wl_err *e)
{
    const struct wl_gpu_conv c = wl_gpu_conv_of(p, n, WL_GPU_CONV_DATA);
    const struct wl_saved *saved = &p->saved[n->out->id];
    const struct wl_gpu_conv_plan *plan;
    int rc = plan_of(p, n, &c, &plan, e);
    if (rc) return rc;
    struct wl_buf *dx = wl_buf_like(p, saved->buf[0]);
    wl_gpu_dnn_emit(p, n, "backward data", WL_TRAIN, plan,
                    (struct wl_gpu_dnn_operand[]) { { WL_GPU_DNN_Y, dy, false },
                                                    { WL_GPU_DNN_W, saved->buf[1], false },
                                                    { WL_GPU_DNN_X, dx, true },
                                                    { 0 } });
    return wl_gpu_gradient_add(p, n, n->in[0], dx, e);
}

static int backward(struct wl_program *p, const struct wl_node *n, struct wl_err *e)
{
    struct wl_buf *dy;
    int rc = dense_gradient(p, n, &dy, e);
    if (!rc) rc = backward_weights(p, n, dy, e);
    if (!rc && n->par[1]) rc = wl_gpu_emit_column_sums(p, n, dy, n->out->dims.d[1], p->gradient[n->par[1]->id], e);
    if (!rc && n->in[0]->gradient) rc = backward_data(p, n, dy, e);
    if (!rc) wl_gradient_done(p, n->out);
    return rc;
}

const struct wl_op_rules wl_gpu_op_conv2d = { forward, backward };
