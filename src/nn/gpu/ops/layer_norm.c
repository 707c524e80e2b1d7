/* layer_norm fused with the sum and the dropout before it. hat, the normalised row, and the inverse deviation are kept.
 * The gradients of gamma and beta are sums over a fixed number of parts of the rows. */
#include "nn/gpu/kernels/layer_norm.h"

#include "nn/gpu/gpu.h"
#include "nn/gpu/kernels/sums.h"
#include "nn/gpu/ops/dropout_args.h"

/* Blocks of the backward pass: what fills the GPUs of today twice, and a number that depends on none of them. */
enum { PARTS = 256, BLOCK_F = 8192 /* longest row: its sums fit into shared memory everywhere */ };

struct norm {
    struct wl_gpu *gpu;
    struct wl_gpu_kernel kernel, sum_parts;
    struct wl_dropout drop;
    struct wl_vectors rows;
    bool by_warps;
};

/* See layer_norm.h. */
static bool by_warps(const struct norm *o)
{
    return o->rows.f <= WL_GPU_NORM_WARP_F && o->rows.f % (o->drop.drop ? WL_DROP_GROUP : 8) == 0;
}

static int open_norm(struct wl_program *p, const struct wl_node *n, const char *name, struct norm **out,
                     struct wl_err *e)
{
    const int64_t *x = n->in[0]->dims.d;
    struct norm *o = *out = wl_new(p->arena, struct norm);
    o->gpu = wl_gpu_of(p);
    o->rows = wl_vectors_of(n->in[0]);
    o->drop = wl_dropout_of(p, n, n->in[1] ? n->u.layer_norm.drop : 0, x[0], o->rows.n / x[0] * o->rows.f);
    o->by_warps = by_warps(o);
    if (o->rows.f > BLOCK_F)
        return wl_fail(e, WL_EINVAL, "rows of %lld features; back-end gpu normalises rows of at most %d",
                       (long long)o->rows.f, BLOCK_F);
    return wl_gpu_kernel_of(o->gpu, wl_strf(p->arena, "%s_%s", name, o->by_warps ? "warp" : "block"), p->precision,
                            &o->kernel, e);
}

/* Enough blocks for all rows, at most `most`. */
static struct wl_gpu_grid grid(const struct norm *o, int64_t most, size_t floats)
{
    const int64_t blocks = o->by_warps ? (o->rows.n + WL_GPU_NORM_WARPS - 1) / WL_GPU_NORM_WARPS : o->rows.n;
    return (struct wl_gpu_grid) { .x = (unsigned)(blocks < most ? blocks : most),
                                  .threads = WL_GPU_NORM_THREADS,
                                  .shared_bytes = o->by_warps ? 0 : (unsigned)(floats * sizeof(float)) };
}

/* ---- forward: uses x, gamma, beta, the branch if there is one, y, then hat and inverse in a plan that trains ---- */

static int forward_run(const struct wl_step *s, const struct wl_run *r, struct wl_err *e)
{
    const struct norm *o = s->context;
    const int y = s->node->in[1] ? 4 : 3;
    const struct wl_gpu_layer_norm args = { .x = s->uses[0].buf->at,
                                            .branch = s->node->in[1] ? s->uses[3].buf->at : NULL,
                                            .gamma = s->uses[1].buf->at,
                                            .beta = s->uses[2].buf->at,
                                            .y = s->uses[y].buf->at,
                                            .hat = r->training ? s->uses[y + 1].buf->at : NULL,
                                            .inverse = r->training ? s->uses[y + 2].buf->at : NULL,
                                            .rows = o->rows.n,
                                            .f = (int32_t)o->rows.f,
                                            .x_f32 = s->uses[0].buf->dtype == WL_F32,
                                            .sample_rows = (int32_t)(o->drop.f / o->rows.f),
                                            .eps = (float)s->node->u.layer_norm.eps,
                                            .drop = wl_gpu_dropout_args(o->gpu, &o->drop, r) };
    const struct wl_gpu_grid g = grid(o, (int64_t)o->gpu->multiprocessors * 8, (size_t)o->rows.f);
    return WL_GPU_LAUNCH(&o->kernel, &g, &args, e);
}

static int forward(struct wl_program *p, const struct wl_node *n, struct wl_err *e)
{
    struct norm *o;
    int rc = open_norm(p, n, "layer_norm", &o, e);
    if (rc) return rc;
    struct wl_buf *y = wl_buf_value(p, &n->out->dims), **saved = p->saved[n->out->id].buf;
    struct wl_buf *gamma = wl_lower_plain_param(p, n->par[0]), *beta = wl_lower_plain_param(p, n->par[1]);
    if (p->train) {
        saved[0] = wl_buf_like(p, y);
        saved[1] = wl_buf_plain(p, WL_MEM_VALUE, WL_F32, &WL_DIMS(o->rows.n));
    }
    wl_step_emit_uses(p, n, "forward", WL_TRAIN | WL_EVAL, forward_run,
                      WL_BUFS(p->value[n->in[0]->id], gamma, beta, n->in[1] ? p->value[n->in[1]->id] : NULL),
                      WL_BUFS(y, saved[0], saved[1]))
        ->context = o;
    p->value[n->out->id] = y;
    return 0;
}

/* ---- backward: uses dy, hat, inverse, gamma, parts, dz, dgamma, dbeta, then dbranch where it is not dz ---- */

static int sum_parts(const struct wl_step *s, const struct wl_run *r, unsigned parts, struct wl_err *e)
{
    const struct norm *o = s->context;
    const struct wl_gpu_sum_parts args = { .parts = s->uses[4].buf->at,
                                           .to = wl_step_use_f32(s, r, 6),
                                           .rest = wl_step_use_f32(s, r, 7),
                                           .n = parts,
                                           .size = 2 * o->rows.f,
                                           .cut = o->rows.f };
    const struct wl_gpu_grid g = { .x = (unsigned)((args.size + 31) / 32), .threads = 256 };
    return WL_GPU_LAUNCH(&o->sum_parts, &g, &args, e);
}

static int backward_run(const struct wl_step *s, const struct wl_run *r, struct wl_err *e)
{
    const struct norm *o = s->context;
    const struct wl_gpu_layer_norm_backward args = { .dy = s->uses[0].buf->at,
                                                     .hat = s->uses[1].buf->at,
                                                     .inverse = s->uses[2].buf->at,
                                                     .gamma = s->uses[3].buf->at,
                                                     .dz = s->uses[5].buf->at,
                                                     .dbranch = s->n_uses > 8 ? s->uses[8].buf->at : NULL,
                                                     .parts = s->uses[4].buf->at,
                                                     .rows = o->rows.n,
                                                     .f = (int32_t)o->rows.f,
                                                     .sample_rows = (int32_t)(o->drop.f / o->rows.f),
                                                     .drop = wl_gpu_dropout_args(o->gpu, &o->drop, r) };
    const struct wl_gpu_grid g = grid(o, PARTS, (size_t)(2 * o->rows.f));
    int rc = WL_GPU_LAUNCH(&o->kernel, &g, &args, e);
    return rc ? rc : sum_parts(s, r, g.x, e);
}

/* One buffer for x and branch where nothing is dropped. */
static void emit_backward(struct wl_program *p, const struct wl_node *n, struct norm *o, struct wl_buf *dz,
                          struct wl_buf *branch)
{
    struct wl_buf **saved = p->saved[n->out->id].buf;
    struct wl_buf *parts = wl_buf_plain(p, WL_MEM_VALUE, WL_F32, &WL_DIMS(grid(o, PARTS, 0).x, 2, o->rows.f));
    wl_step_emit_uses(p, n, "backward", WL_TRAIN, backward_run,
                      WL_BUFS(p->gradient[n->out->id], saved[0], saved[1], p->value[n->par[0]->id]),
                      WL_BUFS(parts, dz, p->gradient[n->par[0]->id], p->gradient[n->par[1]->id], branch))
        ->context = o;
}

static int backward(struct wl_program *p, const struct wl_node *n, struct wl_err *e)
{
    struct norm *o;
    int rc = open_norm(p, n, "layer_norm_backward", &o, e);
    if (!rc) rc = wl_gpu_kernel(o->gpu, "sum_parts", &o->sum_parts, e);
    if (rc) return rc;
    struct wl_buf *dy = p->gradient[n->out->id];
    struct wl_buf *dz = wl_gradient_last_holder(p, n->out) ? dy : wl_buf_like(p, dy);
    struct wl_buf *branch = n->in[1] && o->drop.drop ? wl_buf_like(p, dy) : NULL;
    emit_backward(p, n, o, dz, branch);
    wl_gradient_done(p, n->out);
    if (n->in[0]->gradient) rc = wl_gradient_add(p, n, n->in[0], dz, e);
    if (!rc && n->in[1] && n->in[1]->gradient) rc = wl_gradient_add(p, n, n->in[1], branch ? branch : dz, e);
    return rc;
}

const struct wl_op_rules wl_gpu_op_layer_norm = { forward, backward };
