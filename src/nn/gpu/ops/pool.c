/* max_pool and avg_pool in NHWC. The maximum keeps where in its window it is, so backward needs no value. */
#include "nn/gpu/kernels/pool.h"

#include "nn/gpu/layout.h"
#include "nn/lowering/step.h"

struct pool {
    struct wl_gpu_kernel kernel;
    struct wl_gpu_grid grid;
    struct wl_gpu_pool args;
};

/* Uses x, y, index. */
static int forward_run(const struct wl_step *s, const struct wl_run *r, struct wl_err *e)
{
    const struct pool *pool = s->context;
    struct wl_gpu_pool a = pool->args;
    a.x = wl_use_at(s, r, 0);
    a.y = wl_use_at(s, r, 1);
    if (s->n_uses > 2) a.index = wl_use_at(s, r, 2);
    return WL_GPU_LAUNCH(&pool->kernel, &pool->grid, &a, e);
}

/* Uses dy, then index where there is one, dx. */
static int backward_run(const struct wl_step *s, const struct wl_run *r, struct wl_err *e)
{
    const struct pool *pool = s->context;
    struct wl_gpu_pool a = pool->args;
    a.dy = wl_use_at(s, r, 0);
    if (s->n_uses > 2) a.index = wl_use_at(s, r, 1);
    a.dx = wl_use_at(s, r, s->n_uses - 1);
    return WL_GPU_LAUNCH(&pool->kernel, &pool->grid, &a, e);
}

static struct wl_gpu_pool args_of(const struct wl_node *n, const struct wl_buf *x)
{
    const struct wl_window v = wl_pool_window(n);
    return (struct wl_gpu_pool) {
        .n = (int32_t)v.n,
        .h = (int32_t)v.h,
        .w = (int32_t)v.w,
        .p = (int32_t)v.p,
        .q = (int32_t)v.q,
        .r = (int32_t)v.r,
        .s = (int32_t)v.s,
        .stride = { (int32_t)v.stride[0], (int32_t)v.stride[1] },
        .pad = { (int32_t)v.pad[0], (int32_t)v.pad[1] },
        .width = (int32_t)wl_gpu_padded_channels(x),
        .exclude_pad = n->u.pool.exclude_pad,
    };
}

/* A block takes a line, or a part of one. */
static struct wl_gpu_grid grid_of(const struct wl_gpu_pool *a, bool backward)
{
    enum { THREADS = 256, CHANNELS = 8, WARP = 32 };
    const int64_t lines = a->n * (int64_t)(backward ? a->h : a->p);
    const int64_t work = (backward ? a->w : a->q) * (int64_t)((a->width + CHANNELS - 1) / CHANNELS);
    const int64_t threads = work < THREADS ? (work + WARP - 1) / WARP * WARP : THREADS;
    return (struct wl_gpu_grid) { .x = (unsigned)lines,
                                  .y = (unsigned)((work + threads - 1) / threads),
                                  .threads = (unsigned)threads };
}

static int new_pool(struct wl_program *p, const struct wl_node *n, const struct wl_buf *x, bool backward,
                    struct pool **out, struct wl_err *e)
{
    const char *name = n->op == WL_OP_MAX_POOL ? (backward ? "max_pool_backward" : "max_pool")
                                               : (backward ? "avg_pool_backward" : "avg_pool");
    struct pool *pool = *out = wl_new(p->arena, struct pool);
    pool->args = args_of(n, x);
    pool->grid = grid_of(&pool->args, backward);
    return wl_gpu_kernel_of(wl_gpu_of(p), name, x->dtype, &pool->kernel, e);
}

static void emit(struct wl_program *p, const struct wl_node *n, struct pool *pool, bool backward,
                 struct wl_buf *const *reads, struct wl_buf *const *writes)
{
    struct wl_step *s = wl_step_emit_uses(p, n, backward ? "backward" : "forward", WL_TRAIN | WL_EVAL,
                                          backward ? backward_run : forward_run, reads, writes);
    s->context = pool;
    s->implementation = pool->kernel.name;
}

/* Kernels keep positions in 16 bits. */
static int check_window(const struct wl_node *n, struct wl_err *e)
{
    const struct wl_window v = wl_pool_window(n);
    if (n->op != WL_OP_MAX_POOL || v.r * v.s <= UINT16_MAX + 1) return 0;
    return wl_fail(e, WL_EINVAL, "window of %lldx%lld pixels; back-end gpu: expected at most %d pixels", (long long)v.r,
                   (long long)v.s, UINT16_MAX + 1);
}

/* The index [n,p,q,channels] has the layout of y in two bytes; a bf16 buffer stands for it. */
static struct wl_buf *new_index(struct wl_program *p, const struct wl_buf *y)
{
    const int64_t count = (int64_t)(y->bytes / wl_dtype_bytes(y->dtype));
    return wl_buf_plain(p, WL_MEM_VALUE, WL_BF16, &WL_DIMS(count));
}

static int forward(struct wl_program *p, const struct wl_node *n, struct wl_err *e)
{
    struct wl_buf *x, *index = NULL;
    struct pool *pool;
    int rc = check_window(n, e);
    if (!rc) rc = wl_gpu_nhwc_input(p, n, 0, &x, e);
    if (!rc) rc = new_pool(p, n, x, false, &pool, e);
    if (rc) return rc;
    struct wl_buf *y = p->value[n->out->id] = wl_gpu_nhwc_result(p, n);
    if (n->op == WL_OP_MAX_POOL && p->train) index = new_index(p, y);
    p->saved[n->out->id] = (struct wl_saved) { .buf = { x, index } };
    emit(p, n, pool, false, WL_BUFS(x), WL_BUFS(y, index));
    return 0;
}

static int backward(struct wl_program *p, const struct wl_node *n, struct wl_err *e)
{
    const struct wl_saved *saved = &p->saved[n->out->id];
    struct wl_buf *dy = p->gradient[n->out->id], *dx = wl_buf_like(p, saved->buf[0]);
    struct pool *pool;
    int rc = new_pool(p, n, dx, true, &pool, e);
    if (rc) return rc;
    emit(p, n, pool, true, WL_BUFS(dy, saved->buf[1]), WL_BUFS(dx));
    rc = wl_gpu_gradient_add(p, n, n->in[0], dx, e);
    if (!rc) wl_gradient_done(p, n->out);
    return rc;
}

const struct wl_op_rules wl_gpu_op_max_pool = { forward, backward };
const struct wl_op_rules wl_gpu_op_avg_pool = { forward, backward };
