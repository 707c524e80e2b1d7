/* Attention in tiles (kernels/attention.h). Scores are recomputed in the backward pass from what is kept of them, the
 * logarithms of their sums: memory grows with the sequence, not with its square. */
#include "nn/gpu/kernels/attention.h"

#include "nn/gpu/ops/dropout_args.h"

#include <math.h>

enum { MOST_FEATURES = 64 };

struct attention {
    struct wl_gpu *gpu;
    struct wl_gpu_kernel forward, delta, dq, dkv;
    struct wl_heads h;
    struct wl_dropout drop;
    unsigned features, size; /* that the kernels take; bytes of a number */
};

static int check_attention(const struct wl_program *p, const struct attention *a, struct wl_err *e)
{
    if (a->h.f > MOST_FEATURES)
        return wl_fail(e, WL_EINVAL, "heads of %lld features; back-end gpu takes heads of at most %d",
                       (long long)a->h.f, MOST_FEATURES);
    if (p->precision == WL_BF16 && a->gpu->capability < 80)
        return wl_fail(e, WL_EUNAVAIL,
                       "%s (compute capability %d.%d) does not multiply bf16 numbers, which need 8.0; use f32",
                       a->gpu->name, a->gpu->capability / 10, a->gpu->capability % 10);
    return 0;
}

static int open_attention(struct wl_program *p, const struct wl_node *n, struct attention **out, struct wl_err *e)
{
    struct attention *a = *out = wl_new(p->arena, struct attention);
    a->gpu = wl_gpu_of(p);
    a->h = wl_heads_of(n);
    a->features = a->h.f <= 32 ? 32 : MOST_FEATURES;
    a->size = (unsigned)wl_dtype_bytes(p->precision);
    a->drop = wl_dropout_of(p, n, n->u.attention.drop, a->h.n, a->h.heads * a->h.s * a->h.s);
    return check_attention(p, a, e);
}

/* attention_64_bf16, for `name` attention */
/* Products of f32 are three of TF32 where there are such (kernels/mma.h). */
static void finish(struct wl_step *s, struct attention *a)
{
    s->context = a;
    if (a->size == 4 && a->gpu->capability >= 80)
        s->arithmetic = (struct wl_arithmetic) { .work = 3, .numbers = WL_NUMBERS_TF32 };
}

static int kernel_of(struct wl_program *p, const struct attention *a, const char *name, struct wl_gpu_kernel *out,
                     struct wl_err *e)
{
    return wl_gpu_kernel_of(a->gpu, wl_strf(p->arena, "%s_%u", name, a->features), p->precision, out, e);
}

/* A block for so many positions of a head. */
static struct wl_gpu_grid grid(const struct attention *a, int64_t positions, unsigned threads, unsigned shared_bytes)
{
    return (struct wl_gpu_grid) { .x = (unsigned)((a->h.s + positions - 1) / positions),
                                  .y = (unsigned)a->h.heads,
                                  .z = (unsigned)a->h.n,
                                  .threads = threads,
                                  .shared_bytes = shared_bytes };
}

/* ---- forward: uses x, lengths, y, then the logarithms in a plan that trains ---- */

static int forward_run(const struct wl_step *s, const struct wl_run *r, struct wl_err *e)
{
    const struct attention *a = s->context;
    const struct wl_gpu_attention args = { .x = s->uses[0].buf->at,
                                           .lengths = s->uses[1].buf->at,
                                           .y = s->uses[2].buf->at,
                                           .lse = r->training ? s->uses[3].buf->at : NULL,
                                           .n = (int32_t)a->h.n,
                                           .s = (int32_t)a->h.s,
                                           .heads = (int32_t)a->h.heads,
                                           .f = (int32_t)a->h.f,
                                           .scale = (float)(1 / sqrt((double)a->h.f)),
                                           .drop = wl_gpu_dropout_args(a->gpu, &a->drop, r) };
    const struct wl_gpu_grid g = grid(a, WL_GPU_ATTENTION_QUERIES, 128, WL_GPU_ATTENTION_SHARED(a->features, a->size));
    return WL_GPU_LAUNCH(&a->forward, &g, &args, e);
}

static int forward(struct wl_program *p, const struct wl_node *n, struct wl_err *e)
{
    struct attention *a;
    int rc = open_attention(p, n, &a, e);
    if (!rc) rc = kernel_of(p, a, "attention", &a->forward, e);
    if (rc) return rc;
    struct wl_buf *y = p->value[n->out->id] = wl_buf_value(p, &n->out->dims), *lse = NULL;
    if (p->train) lse = wl_buf_plain(p, WL_MEM_VALUE, WL_F32, &WL_DIMS(a->h.n, a->h.heads, a->h.s));
    p->saved[n->out->id].buf[0] = lse;
    finish(wl_step_emit_uses(p, n, "forward", WL_TRAIN | WL_EVAL, forward_run,
                             WL_BUFS(p->value[n->in[0]->id], p->value[n->in[1]->id]), WL_BUFS(y, lse)),
           a);
    return 0;
}

/* ---- backward: uses x, lengths, y, dy, the logarithms, delta, dx ---- */

static struct wl_gpu_attention_backward backward_args(const struct wl_step *s, const struct wl_run *r)
{
    const struct attention *a = s->context;
    return (struct wl_gpu_attention_backward) { .x = s->uses[0].buf->at,
                                                .y = s->uses[2].buf->at,
                                                .dy = s->uses[3].buf->at,
                                                .lengths = s->uses[1].buf->at,
                                                .lse = s->uses[4].buf->at,
                                                .delta = s->uses[5].buf->at,
                                                .dx = s->uses[6].buf->at,
                                                .n = (int32_t)a->h.n,
                                                .s = (int32_t)a->h.s,
                                                .heads = (int32_t)a->h.heads,
                                                .f = (int32_t)a->h.f,
                                                .scale = (float)(1 / sqrt((double)a->h.f)),
                                                .drop = wl_gpu_dropout_args(a->gpu, &a->drop, r) };
}

static int backward_run(const struct wl_step *s, const struct wl_run *r, struct wl_err *e)
{
    const struct attention *a = s->context;
    const struct wl_gpu_attention_backward args = backward_args(s, r);
    const int keys = a->size == 4 ? WL_GPU_ATTENTION_DKV_KEYS_F32 : WL_GPU_ATTENTION_DKV_KEYS;
    struct wl_gpu_grid by_rows = wl_gpu_grid_for(a->gpu, a->h.n * a->h.s, 8, 1);
    by_rows.threads = 256; /* eight warps, a row each */
    const struct wl_gpu_grid by_queries =
        grid(a, WL_GPU_ATTENTION_QUERIES, 128, WL_GPU_ATTENTION_DQ_SHARED(a->features, a->size));
    const struct wl_gpu_grid by_keys =
        grid(a, keys, (unsigned)keys * 2, WL_GPU_ATTENTION_DKV_SHARED(a->features, a->size));
    int rc = WL_GPU_LAUNCH(&a->delta, &by_rows, &args, e);
    if (!rc) rc = WL_GPU_LAUNCH(&a->dq, &by_queries, &args, e);
    return rc ? rc : WL_GPU_LAUNCH(&a->dkv, &by_keys, &args, e);
}

static int open_kernels(struct wl_program *p, struct attention *a, struct wl_err *e)
{
    int rc = wl_gpu_kernel_of(a->gpu, "attention_delta", p->precision, &a->delta, e);
    if (!rc) rc = kernel_of(p, a, "attention_dq", &a->dq, e);
    return rc ? rc : kernel_of(p, a, "attention_dkv", &a->dkv, e);
}

static int backward(struct wl_program *p, const struct wl_node *n, struct wl_err *e)
{
    struct attention *a;
    int rc = open_attention(p, n, &a, e);
    if (!rc) rc = open_kernels(p, a, e);
    if (rc) return rc;
    struct wl_buf *x = p->value[n->in[0]->id], *dx = wl_buf_like(p, x);
    struct wl_buf *delta = wl_buf_plain(p, WL_MEM_VALUE, WL_F32, &WL_DIMS(a->h.n, a->h.heads, a->h.s));
    finish(wl_step_emit_uses(p, n, "backward", WL_TRAIN, backward_run,
                             WL_BUFS(x, p->value[n->in[1]->id], p->value[n->out->id], p->gradient[n->out->id],
                                     p->saved[n->out->id].buf[0]),
                             WL_BUFS(delta, dx)),
           a);
    rc = wl_gradient_add(p, n, n->in[0], dx, e);
    wl_gradient_done(p, n->out);
    return rc;
}

const struct wl_op_rules wl_gpu_op_attention = { forward, backward };
