#include "nn/graph/ops.h"

#include "nn/graph/builder.h"
#include "nn/graph/input_checks.h"
#include "nn/graph/shapes.h"

#include <math.h>

static const char *dims_text(struct wl_graph *g, const struct wl_tensor *t) { return wl_dims_text(g->arena, &t->dims); }

bool wl_check_f32(struct wl_graph *g, const struct wl_node *n, const struct wl_tensor *t)
{
    if (t->dtype == WL_F32) return true;
    wl_graph_fail(g, "%s: %s reads f32, %s is %s", n->name, wl_op_name(n->op), t->name, wl_dtype_name(t->dtype));
    return false;
}

static bool check_image(struct wl_graph *g, const struct wl_node *n)
{
    if (!wl_check_f32(g, n, n->in[0])) return false;
    if (n->in[0]->dims.n == 4) return true;
    wl_graph_fail(g, "%s: %s needs an input [N,C,H,W], %s is %s", n->name, wl_op_name(n->op), n->in[0]->name,
                  dims_text(g, n->in[0]));
    return false;
}

bool wl_check_i32(struct wl_graph *g, const struct wl_node *n, const struct wl_tensor *t, struct wl_dims dims)
{
    if (t->dtype == WL_I32 && wl_dims_equal(&t->dims, &dims)) return true;
    wl_graph_fail(g, "%s: %s reads i32 %s, %s is %s %s", n->name, wl_op_name(n->op), wl_dims_text(g->arena, &dims),
                  t->name, wl_dtype_name(t->dtype), dims_text(g, t));
    return false;
}

bool wl_check_drop(struct wl_graph *g, const struct wl_node *n, double p)
{
    if (p >= 0 && lround(p * WL_DROP_STEPS) < WL_DROP_STEPS) return true;
    wl_graph_fail(g, "%s: dropout with probability %g, expected 0 <= p < 1", n->name, p);
    return false;
}

struct wl_tensor *wl_node_failed(struct wl_graph *g, struct wl_node *n) { return wl_node_out(g, n, &n->in[0]->dims); }

static struct wl_tensor *statistic(struct wl_graph *g, const struct wl_node *n, const char *suffix, int64_t channels,
                                   double start, double momentum)
{
    char *name = wl_strf(g->arena, "%s.%s", n->name, suffix);
    struct wl_tensor *t = wl_tensor_new(g, name, WL_F32, WL_ROLE_STATISTIC, &WL_DIMS(channels));
    t->init = (struct wl_init) { .rule = WL_INIT_CONSTANT, .scale = start };
    t->momentum = momentum;
    return t;
}

/* Fills the defaults of a window and gives the output's height and width; false with the graph's error when the
 * window does not fit. */
static bool window_out(struct wl_graph *g, const struct wl_node *n, const int64_t kernel[2], int64_t stride[2],
                       const int64_t pad[2], int64_t out[2])
{
    const struct wl_dims *x = &n->in[0]->dims;
    for (int i = 0; i < 2; i++)
        if (stride[i] == 0) stride[i] = 1;
    for (int i = 0; i < 2; i++) {
        if (kernel[i] < 1 || stride[i] < 1 || pad[i] < 0 || pad[i] >= kernel[i] ||
            x->d[2 + i] + 2 * pad[i] < kernel[i]) {
            wl_graph_fail(g, "%s: %s of kernel [%lld,%lld], stride [%lld,%lld], pad [%lld,%lld] does not fit %s",
                          n->name, wl_op_name(n->op), (long long)kernel[0], (long long)kernel[1], (long long)stride[0],
                          (long long)stride[1], (long long)pad[0], (long long)pad[1], dims_text(g, n->in[0]));
            return false;
        }
        out[i] = (x->d[2 + i] + 2 * pad[i] - kernel[i]) / stride[i] + 1;
    }
    return true;
}

static bool check_bytes(struct wl_graph *g, const struct wl_node *n)
{
    const struct wl_tensor *x = n->in[0];
    if (x->dtype == WL_U8 && x->dims.n == 4 && x->dims.d[1] <= WL_MAX_PIXEL_CHANNELS) return true;
    wl_graph_fail(g, "%s: %s reads u8 [N,C,H,W] of at most %d channels, %s is %s %s", n->name, wl_op_name(n->op),
                  WL_MAX_PIXEL_CHANNELS, x->name, wl_dtype_name(x->dtype), dims_text(g, x));
    return false;
}

struct wl_tensor *wl_pixels(struct wl_graph *g, const char *name, struct wl_tensor *x, struct wl_pixels pixels)
{
    struct wl_node *n = wl_node_new(g, WL_OP_PIXELS, name, x, NULL);
    if (!check_bytes(g, n)) return wl_node_failed(g, n);
    n->u.pixels = pixels;
    for (int64_t c = 0; c < x->dims.d[1]; c++)
        if (!(pixels.deviation[c] > 0))
            wl_graph_fail(g, "%s: the deviation of channel %lld is %g, expected more than 0", n->name, (long long)c,
                          (double)pixels.deviation[c]);
    return wl_node_out(g, n, &x->dims);
}

struct wl_tensor *wl_conv2d(struct wl_graph *g, const char *name, struct wl_tensor *x, struct wl_conv conv)
{
    struct wl_node *n = wl_node_new(g, WL_OP_CONV, name, x, NULL);
    int64_t out[2];
    if (!check_image(g, n) || !window_out(g, n, conv.kernel, conv.stride, conv.pad, out)) return wl_node_failed(g, n);
    int64_t k = conv.channels, c = x->dims.d[1], area = conv.kernel[0] * conv.kernel[1];
    n->u.conv = conv;
    struct wl_init he = { WL_INIT_NORMAL, sqrt(2.0 / ((double)k * (double)area)) };
    struct wl_init fan_in = { WL_INIT_UNIFORM, 1 / sqrt((double)c * (double)area) };
    n->par[0] = wl_node_param(g, n, "weight", WL_DIMS(k, c, conv.kernel[0], conv.kernel[1]), he, true);
    if (conv.bias) n->par[1] = wl_node_param(g, n, "bias", WL_DIMS(k), fan_in, false);
    return wl_node_out(g, n, &WL_DIMS(x->dims.d[0], k, out[0], out[1]));
}

struct wl_tensor *wl_batch_norm(struct wl_graph *g, const char *name, struct wl_tensor *x,
                                struct wl_batch_norm_opts norm)
{
    struct wl_node *n = wl_node_new(g, WL_OP_BATCH_NORM, name, x, NULL);
    if (!check_image(g, n)) return wl_node_failed(g, n);
    if (g->scope->params)
        wl_graph_fail(g, "%s: batch_norm keeps statistics, which two operations cannot share", n->name);
    if (norm.eps == 0) norm.eps = 1e-5;
    if (norm.momentum == 0) norm.momentum = 0.1;
    n->u.norm = norm;
    n->relu = norm.relu;
    int64_t c = x->dims.d[1];
    struct wl_init one = { WL_INIT_CONSTANT, norm.zero_gamma ? 0 : 1 }, zero = { WL_INIT_CONSTANT, 0 };
    n->par[0] = wl_node_param(g, n, "weight", WL_DIMS(c), one, false);
    n->par[1] = wl_node_param(g, n, "bias", WL_DIMS(c), zero, false);
    n->stat[0] = statistic(g, n, "running_mean", c, 0, norm.momentum);
    n->stat[1] = statistic(g, n, "running_var", c, 1, norm.momentum);
    return wl_node_out(g, n, &x->dims);
}

struct wl_tensor *wl_relu(struct wl_graph *g, const char *name, struct wl_tensor *x)
{
    struct wl_node *n = wl_node_new(g, WL_OP_RELU, name, x, NULL);
    wl_check_f32(g, n, x);
    n->relu = true;
    return wl_node_out(g, n, &x->dims);
}

static struct wl_tensor *add(struct wl_graph *g, const char *name, struct wl_tensor *a, struct wl_tensor *b, bool relu)
{
    struct wl_node *n = wl_node_new(g, WL_OP_ADD, name, a, b);
    n->relu = relu;
    if (wl_check_f32(g, n, a) && wl_check_f32(g, n, b) && !wl_dims_equal(&a->dims, &b->dims))
        wl_graph_fail(g, "%s: add of %s %s and %s %s", n->name, a->name, dims_text(g, a), b->name, dims_text(g, b));
    return wl_node_out(g, n, &a->dims);
}

struct wl_tensor *wl_add(struct wl_graph *g, const char *name, struct wl_tensor *a, struct wl_tensor *b)
{
    return add(g, name, a, b, false);
}

struct wl_tensor *wl_add_relu(struct wl_graph *g, const char *name, struct wl_tensor *a, struct wl_tensor *b)
{
    return add(g, name, a, b, true);
}

struct wl_tensor *wl_concat(struct wl_graph *g, const char *name, struct wl_tensor *const *x, int n_inputs)
{
    WL_CHECK(n_inputs > 0);
    struct wl_node *n = wl_node_new(g, WL_OP_CONCAT, name, x[0], NULL);
    if (n_inputs > WL_MAX_INPUTS)
        wl_graph_fail(g, "%s: concat of %d inputs, expected at most %d", n->name, n_inputs, WL_MAX_INPUTS);
    if (g->err.code || !check_image(g, n)) return wl_node_failed(g, n);
    struct wl_dims y = x[0]->dims, like = y;
    for (int i = 1; i < n_inputs; i++) {
        n->in[i] = x[i];
        x[i]->readers++;
        if (!wl_check_f32(g, n, x[i])) return wl_node_failed(g, n);
        like.d[1] = x[i]->dims.d[1];
        if (!wl_dims_equal(&x[i]->dims, &like)) {
            wl_graph_fail(g, "%s: concat of %s %s and %s %s", n->name, x[0]->name, dims_text(g, x[0]), x[i]->name,
                          dims_text(g, x[i]));
            return wl_node_failed(g, n);
        }
        y.d[1] += like.d[1];
    }
    return wl_node_out(g, n, &y);
}

static struct wl_tensor *pool(struct wl_graph *g, enum wl_op op, const char *name, struct wl_tensor *x,
                              struct wl_pool p)
{
    struct wl_node *n = wl_node_new(g, op, name, x, NULL);
    if (!check_image(g, n)) return wl_node_failed(g, n);
    if (p.kernel[0] == 0 && p.kernel[1] == 0) {
        p.kernel[0] = x->dims.d[2];
        p.kernel[1] = x->dims.d[3];
    }
    int64_t out[2];
    if (!window_out(g, n, p.kernel, p.stride, p.pad, out)) return wl_node_failed(g, n);
    n->u.pool = p;
    return wl_node_out(g, n, &WL_DIMS(x->dims.d[0], x->dims.d[1], out[0], out[1]));
}

struct wl_tensor *wl_max_pool(struct wl_graph *g, const char *name, struct wl_tensor *x, struct wl_pool p)
{
    return pool(g, WL_OP_MAX_POOL, name, x, p);
}

struct wl_tensor *wl_avg_pool(struct wl_graph *g, const char *name, struct wl_tensor *x, struct wl_pool p)
{
    return pool(g, WL_OP_AVG_POOL, name, x, p);
}

struct wl_tensor *wl_dropout(struct wl_graph *g, const char *name, struct wl_tensor *x, double p)
{
    struct wl_node *n = wl_node_new(g, WL_OP_DROPOUT, name, x, NULL);
    wl_check_f32(g, n, x);
    wl_check_drop(g, n, p);
    n->u.drop = p;
    return wl_node_out(g, n, &x->dims);
}

struct wl_tensor *wl_linear(struct wl_graph *g, const char *name, struct wl_tensor *x, int64_t features)
{
    struct wl_node *n = wl_node_new(g, WL_OP_LINEAR, name, x, NULL);
    if (!wl_check_f32(g, n, x)) return wl_node_failed(g, n);
    if (x->dims.n < 2) {
        wl_graph_fail(g, "%s: linear needs an input [N,...], %s is %s", n->name, x->name, dims_text(g, x));
        return wl_node_failed(g, n);
    }
    int64_t f = wl_dims_count(&x->dims) / x->dims.d[0];
    struct wl_init fan_in = { WL_INIT_UNIFORM, 1 / sqrt((double)f) };
    n->par[0] = wl_node_param(g, n, "weight", WL_DIMS(features, f), fan_in, true);
    n->par[1] = wl_node_param(g, n, "bias", WL_DIMS(features), fan_in, false);
    return wl_node_out(g, n, &WL_DIMS(x->dims.d[0], features));
}

static void init_param(struct wl_graph *g, struct wl_tensor *y, int which, struct wl_init init)
{
    if (g->err.code) return; /* an operation that failed has no parameters */
    struct wl_tensor *t = y->producer ? y->producer->par[which] : NULL;
    if (t)
        t->init = init;
    else
        wl_graph_fail(g, "%s has no %s to initialise", y->name, which ? "bias" : "weight");
}

void wl_init_weight(struct wl_graph *g, struct wl_tensor *y, struct wl_init init) { init_param(g, y, 0, init); }

void wl_init_bias(struct wl_graph *g, struct wl_tensor *y, struct wl_init init) { init_param(g, y, 1, init); }

static bool counts_already(const struct wl_graph *g)
{
    for (size_t i = 0; i < g->n_nodes; i++)
        if (g->nodes[i]->counts) return true;
    return false;
}

static struct wl_node *loss_node(struct wl_graph *g, enum wl_op op, const char *name, struct wl_tensor *x,
                                 struct wl_tensor *with, struct wl_loss loss)
{
    struct wl_node *n = wl_node_new(g, op, name, x, with);
    wl_check_f32(g, n, x);
    if (with->gradient) wl_graph_fail(g, "%s: %s has no gradient by %s", n->name, wl_op_name(op), with->name);
    if (loss.weight == 0) loss.weight = 1;
    n->u.loss = loss;
    n->counts = !loss.auxiliary && !counts_already(g);
    return n;
}

int wl_check_labels(const struct wl_node *n, const struct wl_input_values *v, struct wl_err *e)
{
    const int64_t rows = n->in[0]->dims.d[0], k = n->in[0]->dims.d[1];
    const int32_t *labels = wl_input_values_of(n, v, 1);
    for (int64_t i = 0; i < rows; i++)
        if (labels[i] >= k)
            return wl_fail(e, WL_EINVAL, "label %d of sample %lld is beyond the %lld classes", (int)labels[i],
                           (long long)i, (long long)k);
    return 0;
}

struct wl_tensor *wl_cross_entropy(struct wl_graph *g, const char *name, struct wl_tensor *logits,
                                   struct wl_tensor *labels, struct wl_loss loss)
{
    struct wl_node *n = loss_node(g, WL_OP_CROSS_ENTROPY, name, logits, labels, loss);
    if (labels->dtype != WL_I32 || labels->dims.n != 1 || logits->dims.n != 2 || labels->dims.d[0] != logits->dims.d[0])
        wl_graph_fail(g, "%s: cross_entropy of logits %s [N,K] and labels %s [N] of i32: they are %s and %s of %s",
                      n->name, logits->name, labels->name, dims_text(g, logits), dims_text(g, labels),
                      wl_dtype_name(labels->dtype));
    return wl_node_out(g, n, &WL_DIMS(1));
}

/* A loss between two tensors of one shape. */
static struct wl_tensor *distance(struct wl_graph *g, enum wl_op op, const char *name, struct wl_tensor *x,
                                  struct wl_tensor *target, struct wl_loss loss)
{
    struct wl_node *n = loss_node(g, op, name, x, target, loss);
    if (wl_check_f32(g, n, target) && !wl_dims_equal(&x->dims, &target->dims))
        wl_graph_fail(g, "%s: %s of %s %s and %s %s", n->name, wl_op_name(op), x->name, dims_text(g, x), target->name,
                      dims_text(g, target));
    return wl_node_out(g, n, &WL_DIMS(1));
}

struct wl_tensor *wl_mean_square(struct wl_graph *g, const char *name, struct wl_tensor *x, struct wl_tensor *target,
                                 struct wl_loss loss)
{
    return distance(g, WL_OP_MEAN_SQUARE, name, x, target, loss);
}

struct wl_tensor *wl_relative_l2(struct wl_graph *g, const char *name, struct wl_tensor *x, struct wl_tensor *target,
                                 struct wl_loss loss)
{
    return distance(g, WL_OP_RELATIVE_L2, name, x, target, loss);
}

static struct wl_window window(const struct wl_node *n, const int64_t kernel[2], const int64_t stride[2],
                               const int64_t pad[2])
{
    const int64_t *x = n->in[0]->dims.d, *y = n->out->dims.d;
    return (struct wl_window) {
        .n = x[0],
        .c = x[1],
        .h = x[2],
        .w = x[3],
        .k = y[1],
        .p = y[2],
        .q = y[3],
        .r = kernel[0],
        .s = kernel[1],
        .stride = { stride[0], stride[1] },
        .pad = { pad[0], pad[1] },
    };
}

struct wl_window wl_conv_window(const struct wl_node *n)
{
    return window(n, n->u.conv.kernel, n->u.conv.stride, n->u.conv.pad);
}

struct wl_window wl_pool_window(const struct wl_node *n)
{
    return window(n, n->u.pool.kernel, n->u.pool.stride, n->u.pool.pad);
}

struct wl_channels wl_channels_of(const struct wl_tensor *x)
{
    const int64_t *d = x->dims.d;
    return (struct wl_channels) { .n = d[0], .c = d[1], .area = d[2] * d[3] };
}

struct wl_pixel_map wl_pixel_map(const struct wl_node *n)
{
    const struct wl_channels x = wl_channels_of(n->out);
    const struct wl_pixels *o = &n->u.pixels;
    struct wl_pixel_map m = { .n = x.n, .c = x.c, .area = x.area };
    for (int64_t c = 0; c < m.c; c++) {
        m.scale[c] = 1 / (255 * o->deviation[c]);
        m.shift[c] = -o->mean[c] / o->deviation[c];
    }
    return m;
}

int64_t wl_concat_offset(const struct wl_node *n, int i)
{
    int64_t at = 0;
    while (i-- > 0) at += n->in[i]->dims.d[1];
    return at;
}

struct wl_vectors wl_vectors_of(const struct wl_tensor *x)
{
    int64_t f = x->dims.d[x->dims.n - 1];
    return (struct wl_vectors) { .n = wl_dims_count(&x->dims) / f, .f = f };
}
