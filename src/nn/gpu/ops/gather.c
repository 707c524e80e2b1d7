#include "nn/gpu/gpu.h"
#include "nn/gpu/kernels/tokens.h"
#include "nn/lowering/lowering.h"

struct gather {
    const struct wl_gpu *gpu;
    struct wl_gpu_kernel kernel;
    struct wl_gather_size size;
};

static int open_gather(struct wl_program *p, const struct wl_node *n, const char *name, struct gather **out,
                       struct wl_err *e)
{
    const int64_t *x = n->in[0]->dims.d;
    struct gather *o = *out = wl_new(p->arena, struct gather);
    o->gpu = wl_gpu_of(p);
    o->size = (struct wl_gather_size) { .n = x[0], .s = x[1], .p = n->in[1]->dims.d[1], .f = x[2] };
    return wl_gpu_kernel_of(wl_gpu_of(p), name, p->precision, &o->kernel, e);
}

/* A warp for each of n rows. */
static struct wl_gpu_grid grid(const struct gather *o, int64_t n)
{
    struct wl_gpu_grid g = wl_gpu_grid_for(o->gpu, n, WL_GPU_TOKEN_WARPS, 1);
    g.threads = WL_GPU_TOKEN_THREADS;
    return g;
}

/* Uses x, positions, y. */
static int forward_run(const struct wl_step *s, const struct wl_run *r, struct wl_err *e)
{
    (void)r;
    const struct gather *o = s->context;
    const struct wl_gpu_gather args = { .x = s->uses[0].buf->at,
                                        .positions = s->uses[1].buf->at,
                                        .y = s->uses[2].buf->at,
                                        .n = o->size.n * o->size.p,
                                        .p = (int32_t)o->size.p,
                                        .s = (int32_t)o->size.s,
                                        .f = (int32_t)o->size.f };
    const struct wl_gpu_grid g = grid(o, args.n);
    return WL_GPU_LAUNCH(&o->kernel, &g, &args, e);
}

/* Uses dy, positions, dx. */
static int backward_run(const struct wl_step *s, const struct wl_run *r, struct wl_err *e)
{
    (void)r;
    const struct gather *o = s->context;
    const struct wl_gpu_gather_backward args = { .dy = s->uses[0].buf->at,
                                                 .positions = s->uses[1].buf->at,
                                                 .dx = s->uses[2].buf->at,
                                                 .n = o->size.n * o->size.s,
                                                 .p = (int32_t)o->size.p,
                                                 .s = (int32_t)o->size.s,
                                                 .f = (int32_t)o->size.f };
    const struct wl_gpu_grid g = grid(o, args.n);
    return WL_GPU_LAUNCH(&o->kernel, &g, &args, e);
}

static int forward(struct wl_program *p, const struct wl_node *n, struct wl_err *e)
{
    struct gather *o;
    struct wl_buf *y = p->value[n->out->id] = wl_buf_value(p, &n->out->dims);
    int rc = open_gather(p, n, "gather", &o, e);
    struct wl_step *s = wl_step_emit_uses(p, n, "forward", WL_TRAIN | WL_EVAL, forward_run,
                                          WL_BUFS(p->value[n->in[0]->id], p->value[n->in[1]->id]), WL_BUFS(y));
    s->context = o;
    s->uses[0].moved_bytes = y->bytes; /* the rows that are taken */
    return rc;
}

static int backward(struct wl_program *p, const struct wl_node *n, struct wl_err *e)
{
    struct gather *o;
    struct wl_buf *dx = wl_buf_like(p, p->value[n->in[0]->id]);
    int rc = open_gather(p, n, "gather_backward", &o, e);
    wl_step_emit_uses(p, n, "backward", WL_TRAIN, backward_run,
                      WL_BUFS(p->gradient[n->out->id], p->value[n->in[1]->id]), WL_BUFS(dx))
        ->context = o;
    if (!rc) rc = wl_gradient_add(p, n, n->in[0], dx, e);
    wl_gradient_done(p, n->out);
    return rc;
}

const struct wl_op_rules wl_gpu_op_gather = { forward, backward };
