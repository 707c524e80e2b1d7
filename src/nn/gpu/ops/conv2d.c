/* Convolution by cuDNN: images in NHWC, weights in KRSC. Bias and a relu that alone reads the result are computed by
 * the same engine where there is one, else by a kernel after it. Images and weights have channels up to a multiple of 8
 * in 16 bits, the others being zeros; cuDNN writes the result, and reads its gradient, without such a padding, so there
 * are copies around it where the number of channels that are made is not such a multiple.
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
    struct wl_gpu_conv c = { .pass = pass, .window = wl_conv_window(n), .type = p->precision, .dw = p->precision };
    c.window.c = padded(c.type, c.window.c);
    c.bias = pass == WL_GPU_CONV_FORWARD && n->par[1];
    c.relu = pass == WL_GPU_CONV_FORWARD && wl_gpu_conv_relu(p, n);
    return c;
}

/* ---- the step of a plan ---- */

struct operand {
    enum wl_gpu_dnn_tensor tensor;
    struct wl_buf *buf; /* NULL: the pass has none */
    bool write;
};

/* Uses are the operands, then the workspace if there is one. Where a micro-batch that is not the first writes its part
 * of a gradient elsewhere, it has a pack of its own. */
struct call {
    const struct wl_gpu_conv_plan *plan;
    struct wl_arena *arena;
    enum wl_gpu_dnn_tensor tensors[WL_MAX_USES];
    int n;
    cudnnBackendDescriptor_t first, later;
};

static int pack(const struct wl_step *s, bool first, cudnnBackendDescriptor_t *out, struct wl_err *e)
{
    const struct call *c = s->context;
    const struct wl_run r = { .first = first };
    struct wl_gpu_dnn_arg args[WL_MAX_USES];
    for (int i = 0; i < c->n; i++) args[i] = (struct wl_gpu_dnn_arg) { c->tensors[i], wl_use_at(s, &r, i) };
    void *workspace = c->plan->plan.workspace_bytes ? wl_use_at(s, &r, c->n) : NULL;
    return wl_gpu_dnn_pack(c->plan->plan.dnn, args, (size_t)c->n, workspace, out, c->arena, e);
}

static int call_bind(struct wl_step *s, struct wl_err *e)
{
    struct call *c = s->context;
    int rc = pack(s, true, &c->first, e);
    return rc ? rc : pack(s, false, &c->later, e);
}

static void *call_copy(const struct wl_step *s, struct wl_arena *a)
{
    struct call *c = wl_new(a, struct call);
    *c = *(const struct call *)s->context;
    return c;
}

static int call_run(const struct wl_step *s, const struct wl_run *r, struct wl_err *e)
{
    const struct call *c = s->context;
    return wl_gpu_dnn_run(&c->plan->plan, r->first ? c->first : c->later, e);
}

static void add_workspace(struct wl_program *p, struct wl_step *s, int64_t bytes)
{
    const int64_t floats = (bytes + (int64_t)sizeof(float) - 1) / (int64_t)sizeof(float);
    if (bytes) wl_step_writes(p, s, wl_buf_plain(p, WL_MEM_VALUE, WL_F32, &WL_DIMS(floats)));
}

/* "cuDNN eng47_k2=4, workspace 36.2 MB" */
static const char *implementation(const struct wl_gpu_dnn_plan *plan, struct wl_arena *a)
{
    if (!plan->workspace_bytes) return wl_strf(a, "cuDNN %s", plan->engine);
    return wl_strf(a, "cuDNN %s, workspace %s", plan->engine, wl_human_bytes(a, (double)plan->workspace_bytes));
}

static void emit(struct wl_program *p, const struct wl_node *n, const char *pass, unsigned when,
                 const struct wl_gpu_conv_plan *plan, const struct operand *operands)
{
    struct call *c = wl_new(p->arena, struct call);
    struct wl_step *s = wl_step_emit(p, n, pass, when, call_run);
    *c = (struct call) { .plan = plan, .arena = p->arena };
    for (; operands->tensor; operands++) {
        if (!operands->buf) continue;
        c->tensors[c->n++] = operands->tensor;
        if (operands->write)
            wl_step_writes(p, s, operands->buf);
        else
            wl_step_reads(p, s, operands->buf);
    }
    add_workspace(p, s, plan->plan.workspace_bytes);
    s->context = c;
    s->bind = call_bind;
    s->clone_context = call_copy;
    s->implementation = implementation(&plan->plan, p->arena);
    s->choice = plan->choice;
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

static int emit_bias(struct wl_program *p, const struct wl_node *n, const struct wl_gpu_conv *c, struct wl_buf *y,
                     struct wl_buf *bias, struct wl_err *e)
{
    enum { THREADS = 256, EACH = 8 };
    struct bias *b = wl_new(p->arena, struct bias);
    const int64_t count = wl_dims_count(&y->dims);
    *b = (struct bias) { .f = y->dims.d[1], .rows = count / y->dims.d[1], .relu = c->relu };
    b->grid = wl_gpu_grid_for(wl_gpu_of(p), count, THREADS, EACH);
    int rc = wl_gpu_kernel_of(wl_gpu_of(p), "bias", y->dtype, &b->kernel, e);
    if (rc) return rc;
    const char *pass = c->bias ? c->relu ? "forward, bias, relu" : "forward, bias" : "forward, relu";
    struct wl_step *s = wl_step_emit(p, n, pass, WL_TRAIN | WL_EVAL, bias_run);
    wl_step_writes(p, s, y); /* in place */
    if (bias) wl_step_reads(p, s, bias);
    s->context = b;
    s->implementation = b->kernel.name;
    s->flops_share = 0;
    return 0;
}

/* y without padding. */
static int emit_forward(struct wl_program *p, const struct wl_node *n, const struct wl_gpu_conv *c, struct wl_buf *bias,
                        struct wl_buf *y, struct wl_err *e)
{
    const struct wl_saved *saved = &p->saved[n->out->id];
    const struct wl_gpu_conv_plan *plan;
    struct wl_gpu_conv alone = *c;
    alone.bias = alone.relu = false;
    int rc = wl_gpu_conv_plan(p, c, &plan, e);
    const bool fused = !rc && plan;
    if (!rc && !fused) rc = plan_of(p, n, &alone, &plan, e);
    if (rc) return rc;
    emit(p, n, fused && c->relu ? "forward, relu" : "forward", WL_TRAIN | WL_EVAL, plan,
         (struct operand[]) { { WL_GPU_DNN_X, saved->buf[0], false },
                              { WL_GPU_DNN_W, saved->buf[1], false },
                              { WL_GPU_DNN_BIAS, fused ? bias : NULL, false },
                              { WL_GPU_DNN_Y, y, true },
                              { 0 } });
    return fused ? 0 : emit_bias(p, n, c, y, bias, e);
}

static int forward(struct wl_program *p, const struct wl_node *n, struct wl_err *e)
{
    const struct wl_node *relu = wl_gpu_conv_relu(p, n);
    const struct wl_gpu_conv c = wl_gpu_conv_of(p, n, WL_GPU_CONV_FORWARD);
    struct wl_saved *saved = &p->saved[n->out->id];
    struct wl_buf *b = n->par[1] ? wl_lower_plain_param(p, n->par[1]) : NULL, *y = wl_gpu_nhwc_result(p, n), *to = y;
    int rc = wl_gpu_nhwc_input(p, n, 0, &saved->buf[0], e);
    if (!rc) rc = wl_gpu_weights(p, n, n->par[0], p->precision, &wl_gpu_krsc, &saved->buf[1], e);
    if (is_padded(y)) to = dense_like(p, y);
    if (!rc) rc = emit_forward(p, n, &c, b, to, e);
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
    emit(p, n, "backward weights", WL_TRAIN, plan,
         (struct operand[]) { { WL_GPU_DNN_X, p->saved[n->out->id].buf[0], false },
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
    emit(p, n, "backward data", WL_TRAIN, plan,
         (struct operand[]) {
             { WL_GPU_DNN_Y, dy, false }, { WL_GPU_DNN_W, saved->buf[1], false }, { WL_GPU_DNN_X, dx, true }, { 0 } });
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
