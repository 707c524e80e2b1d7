/* Batch norm in NHWC, with its relu, or with the sum that alone reads it and that sum's relu, in the pass that writes
 * the result, into a concatenation's result where one alone reads it. Backward recovers from x or from the result what
 * the relu passed, so no mask is saved. */
#include "nn/gpu/ops/batch_norm.h"

#include "nn/gpu/kernels/batch_norm.h"
#include "nn/gpu/layout.h"
#include "nn/gpu/ops/concat.h"
#include "nn/gpu/ops/conv2d.h"
#include "nn/lowering/lowering.h"

enum operand { X, Z, Y, GAMMA, BETA, MEAN, VAR, PARTS, SUM, SQUARES, SLOPE, DY, D, DX, DGAMMA, DBETA, OPERANDS };

/* A pass: sums of parts, what follows of them, then every element. In evaluation the last alone. Sums that the
 * convolution has made take the place of parts. */
struct pass {
    struct wl_gpu_kernel sums, settle, write;
    struct wl_gpu_grid of_sums, of_settle, of_write;
    struct wl_gpu_batch_norm args;
    int use[OPERANDS]; /* of the step, plus 1; 0: there is none */
};

static void *at(const struct wl_step *s, const struct wl_run *r, enum operand o)
{
    const struct pass *pass = s->context;
    return pass->use[o] ? wl_use_at(s, r, pass->use[o] - 1) : NULL;
}

static struct wl_gpu_batch_norm args_of(const struct wl_step *s, const struct wl_run *r)
{
    const struct pass *pass = s->context;
    struct wl_gpu_batch_norm a = pass->args;
    a.x = at(s, r, X);
    a.z = at(s, r, Z);
    a.y = at(s, r, Y);
    a.dy = at(s, r, DY);
    a.d = at(s, r, D);
    a.dx = at(s, r, DX);
    a.gamma = at(s, r, GAMMA);
    a.beta = at(s, r, BETA);
    a.mean = at(s, r, MEAN);
    a.var = at(s, r, VAR);
    a.dgamma = at(s, r, DGAMMA);
    a.dbeta = at(s, r, DBETA);
    a.parts = at(s, r, PARTS);
    a.sum = at(s, r, SUM);
    a.squares = at(s, r, SQUARES);
    a.slope = at(s, r, SLOPE);
    return a;
}

static int run(const struct wl_step *s, const struct wl_run *r, struct wl_err *e)
{
    const struct pass *pass = s->context;
    const struct wl_gpu_batch_norm a = args_of(s, r);
    int rc = 0;
    if (a.parts) rc = WL_GPU_LAUNCH(&pass->sums, &pass->of_sums, &a, e);
    if ((a.parts || a.sum) && !rc) rc = WL_GPU_LAUNCH(&pass->settle, &pass->of_settle, &a, e);
    return rc ? rc : WL_GPU_LAUNCH(&pass->write, &pass->of_write, &a, e);
}

/* ---- lowering ---- */

/* A norm that is being lowered. */
struct norm {
    const struct wl_node *n, *sum;    /* sum NULL: nothing is added */
    const struct wl_gpu_place *place; /* NULL: the result has a buffer of its own */
    struct wl_buf *x, *z, *y, *gamma, *beta, *mean, *var;
    const struct wl_gpu_conv_sums *sums; /* of x; NULL: none */
};

/* A thread sums so many pixels of eight channels, and writes so many; blocks whose parts are added up. */
enum { PIXELS_OF_SUM = 32, PIXELS_OF_WRITE = 8, MOST_PARTS = 1024, MOST_BLOCKS = 1 << 16, CHANNELS_OF_SETTLE = 32 };

static struct wl_gpu_grid settle_grid(const struct wl_gpu_tiles *t)
{
    return (struct wl_gpu_grid) { .x = (unsigned)((t->width + CHANNELS_OF_SETTLE - 1) / CHANNELS_OF_SETTLE),
                                  .threads = WL_GPU_TILE_THREADS };
}

static struct pass *new_pass(struct wl_program *p, const struct norm *b)
{
    struct pass *pass = wl_new(p->arena, struct pass);
    const int64_t width = wl_gpu_padded_channels(b->x);
    const struct wl_gpu_slice result = b->place ? b->place->slice : (struct wl_gpu_slice) { 0, (int32_t)width };
    const struct wl_gpu_tiles tiles = wl_gpu_tiles_of(wl_gpu_pixels(b->x), width, true);
    pass->of_sums = wl_gpu_tiles_grid(&tiles, PIXELS_OF_SUM, MOST_PARTS);
    pass->of_settle = settle_grid(&tiles);
    pass->of_write = wl_gpu_tiles_grid(&tiles, PIXELS_OF_WRITE, MOST_BLOCKS);
    pass->args = (struct wl_gpu_batch_norm) { .tiles = tiles,
                                              .of_y = result,
                                              .of_dy = result,
                                              .channels = (int32_t)b->n->in[0]->dims.d[1],
                                              .n_parts = (int32_t)pass->of_sums.x,
                                              .eps = (float)b->n->u.norm.eps };
    return pass;
}

static void reads(struct wl_program *p, struct wl_step *s, enum operand o, struct wl_buf *b)
{
    struct pass *pass = s->context;
    if (!b) return;
    wl_step_reads(p, s, b);
    pass->use[o] = s->n_uses;
}

static void writes(struct wl_program *p, struct wl_step *s, enum operand o, struct wl_buf *b)
{
    struct pass *pass = s->context;
    if (!b) return;
    wl_step_writes(p, s, b);
    pass->use[o] = s->n_uses;
}

/* Images go through the memory so often: twice where sums over all of one come before the first number is written. Of a
 * concatenation's buffer a slice does. */
static void moves(struct wl_step *s, const struct norm *b, enum operand o, size_t times)
{
    const struct pass *pass = s->context;
    if (pass->use[o]) s->uses[pass->use[o] - 1].moved_bytes = times * b->x->bytes;
}

static struct wl_step *emit(struct wl_program *p, const struct norm *b, const char *name, unsigned when,
                            struct pass *pass)
{
    struct wl_step *s = wl_step_emit(p, b->n, name, when, run);
    s->context = pass;
    s->implementation = pass->write.name;
    reads(p, s, X, b->x);
    reads(p, s, GAMMA, b->gamma);
    reads(p, s, BETA, b->beta);
    return s;
}

/* n f32 numbers for each channel, padding included. */
static struct wl_buf *by_channel(struct wl_program *p, const struct pass *pass, int64_t n)
{
    return wl_buf_plain(p, WL_MEM_VALUE, WL_F32, &WL_DIMS(n * pass->args.tiles.width));
}

static int find_kernels(struct wl_program *p, struct pass *pass, const struct norm *b, bool backward, struct wl_err *e)
{
    const enum wl_dtype t = b->x->dtype;
    struct wl_gpu *g = wl_gpu_of(p);
    int rc = wl_gpu_kernel_of(g, backward ? "batch_norm_reduce" : "batch_norm_sums", t, &pass->sums, e);
    if (!rc && backward) rc = wl_gpu_kernel(g, "batch_norm_gradients", &pass->settle, e);
    if (!rc && !backward) rc = wl_gpu_kernel_of(g, "batch_norm_moments", t, &pass->settle, e);
    return rc ? rc : wl_gpu_kernel_of(g, backward ? "batch_norm_spread" : "batch_norm_apply", t, &pass->write, e);
}

/* ---- forward ---- */

static int emit_forward(struct wl_program *p, const struct norm *b, unsigned when, struct wl_err *e)
{
    const bool train = when == WL_TRAIN;
    const struct wl_gpu_conv_sums *sums = train ? b->sums : NULL;
    struct pass *pass = new_pass(p, b);
    int rc = find_kernels(p, pass, b, false, e);
    if (rc) return rc;
    if (sums) rc = wl_gpu_kernel(wl_gpu_of(p), "batch_norm_moments_of_sums", &pass->settle, e);
    if (rc) return rc;
    pass->args.relu = (b->sum ? b->sum : b->n)->relu;
    struct wl_step *s = emit(p, b, b->sum ? "forward, add" : "forward", when, pass);
    if (!train) reads(p, s, MEAN, p->value[b->n->stat[0]->id]);
    if (!train) reads(p, s, VAR, p->value[b->n->stat[1]->id]);
    reads(p, s, Z, b->z);
    if (sums) reads(p, s, SUM, sums->sum);
    if (sums) reads(p, s, SQUARES, sums->squares);
    if (train) writes(p, s, MEAN, b->mean);
    if (train) writes(p, s, VAR, b->var);
    writes(p, s, Y, b->y);
    if (train && !sums) writes(p, s, PARTS, by_channel(p, pass, 2 * (int64_t)pass->args.n_parts));
    moves(s, b, X, train && !sums ? 2 : 1);
    moves(s, b, Y, 1);
    return 0;
}

static const struct wl_tensor *other_term(const struct wl_node *sum, const struct wl_node *norm)
{
    return sum->in[sum->in[0] == norm->out];
}

/* The sum that may be computed with the norm: it alone reads it, and its other term has the same layout. */
static void find_sum(struct wl_program *p, struct norm *b)
{
    const struct wl_node *n = b->n, *sum = wl_may_overwrite(p, n->out) ? wl_only_reader(p->graph, n->out) : NULL;
    if (!sum || sum->op != WL_OP_ADD || n->relu || sum->out->f32) return;
    struct wl_buf *z = p->value[other_term(sum, n)->id];
    if (!z || z->dtype != b->x->dtype || z->layout != b->x->layout) return;
    b->sum = sum;
    b->z = z;
}

static struct wl_buf *vector(struct wl_program *p, const struct wl_tensor *t)
{
    return wl_buf_plain(p, WL_MEM_VALUE, WL_F32, &t->dims);
}

static void choose_result(struct wl_program *p, struct norm *b)
{
    struct wl_gpu_place *place = wl_new(p->arena, struct wl_gpu_place);
    if (!b->sum && wl_gpu_concat_place(p, b->n->out, place)) {
        b->place = place;
        b->y = place->buf;
    } else {
        b->y = b->sum && wl_may_overwrite(p, other_term(b->sum, b->n)) ? b->z : wl_buf_like(p, b->x);
    }
    p->value[b->n->out->id] = b->y;
    if (!b->sum) return;
    p->value[b->sum->out->id] = b->y;
    p->saved[b->sum->out->id].context = b->n;
}

static int batch_norm_forward(struct wl_program *p, const struct wl_node *n, struct wl_err *e)
{
    struct norm b = { .n = n, .gamma = wl_lower_plain_param(p, n->par[0]), .beta = wl_lower_plain_param(p, n->par[1]) };
    int rc = wl_gpu_nhwc_input(p, n, 0, &b.x, e);
    if (rc) return rc;
    b.sums = wl_gpu_conv_sums_of(p, n->in[0]);
    find_sum(p, &b);
    wl_lower_statistics(p, n);
    choose_result(p, &b);
    if (p->train) {
        b.mean = vector(p, n->stat[0]);
        b.var = vector(p, n->stat[1]);
        p->saved[n->out->id] = (struct wl_saved) { .buf = { b.x, b.mean, b.var }, .context = b.place };
        rc = emit_forward(p, &b, WL_TRAIN, e);
        wl_lower_statistic_sums(p, n, b.mean, b.var);
    }
    return rc ? rc : emit_forward(p, &b, WL_EVAL, e);
}

/* ---- backward ---- */

/* What the backward step of norm n, or of the sum that it has computed, reads and writes besides the norm's. */
struct gradients {
    const struct wl_node *sum;
    struct wl_buf *y, *dy, *d, *dx;
};

static int emit_backward(struct wl_program *p, const struct norm *b, const struct gradients *g, struct wl_err *e)
{
    const struct wl_node *n = b->n;
    struct pass *pass = new_pass(p, b);
    int rc = find_kernels(p, pass, b, true, e);
    if (rc) return rc;
    pass->args.relu = g->d ? WL_GPU_NORM_RELU_FROM_Y : n->relu ? WL_GPU_NORM_RELU_FROM_X : WL_GPU_NORM_NO_RELU;
    struct wl_step *s = emit(p, b, g->sum ? "backward, add" : "backward", WL_TRAIN, pass);
    reads(p, s, MEAN, b->mean);
    reads(p, s, VAR, b->var);
    reads(p, s, Y, g->y);
    reads(p, s, DY, g->dy);
    writes(p, s, D, g->d);
    writes(p, s, DX, g->dx);
    writes(p, s, DGAMMA, p->gradient[n->par[0]->id]);
    writes(p, s, DBETA, p->gradient[n->par[1]->id]);
    writes(p, s, PARTS, by_channel(p, pass, 2 * (int64_t)pass->args.n_parts));
    writes(p, s, SLOPE, by_channel(p, pass, 3));
    static const enum operand summed[] = { X, Y, DY };
    for (size_t i = 0; i < WL_COUNT(summed); i++) moves(s, b, summed[i], 2);
    return 0;
}

static int backward(struct wl_program *p, const struct wl_node *n, const struct wl_node *sum, struct wl_err *e)
{
    const struct wl_tensor *out = (sum ? sum : n)->out, *other = sum ? other_term(sum, n) : NULL;
    const struct wl_gpu_place *place = p->saved[n->out->id].context;
    const bool last = !place && wl_gradient_last_holder(p, out);
    struct wl_buf *const *saved = p->saved[n->out->id].buf;
    struct gradients g = { .sum = sum, .dy = p->gradient[out->id] };
    if (sum && sum->relu) {
        g.y = p->value[out->id];
        g.d = last ? g.dy : wl_buf_like(p, g.dy);
    }
    g.dx = !sum && last ? g.dy : wl_buf_like(p, saved[0]);
    const struct norm b = { .n = n,
                            .place = place,
                            .x = saved[0],
                            .gamma = p->value[n->par[0]->id],
                            .beta = p->value[n->par[1]->id],
                            .mean = saved[1],
                            .var = saved[2] };
    int rc = emit_backward(p, &b, &g, e);
    if (!rc && other && other->gradient) rc = wl_gpu_gradient_add(p, n, other, g.d ? g.d : g.dy, e);
    if (!rc && n->in[0]->gradient) rc = wl_gpu_gradient_add(p, n, n->in[0], g.dx, e);
    if (!rc) wl_gradient_done(p, out);
    return rc;
}

static int batch_norm_backward(struct wl_program *p, const struct wl_node *n, struct wl_err *e)
{
    return backward(p, n, NULL, e);
}

int wl_gpu_batch_norm_add_backward(struct wl_program *p, const struct wl_node *sum, struct wl_err *e)
{
    return backward(p, p->saved[sum->out->id].context, sum, e);
}

const struct wl_op_rules wl_gpu_op_batch_norm = { batch_norm_forward, batch_norm_backward };
