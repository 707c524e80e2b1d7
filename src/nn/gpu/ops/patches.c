/* patches and from_patches: each is the other's adjoint but for the order of a row. */
#include "nn/gpu/gpu.h"
#include "nn/gpu/kernels/fields.h"
#include "nn/lowering/lowering.h"

struct patches {
    struct wl_gpu_kernel kernel;
    struct wl_gpu_patches args; /* without addresses */
};

/* Uses what is read and what is written. */
static int run(const struct wl_step *s, const struct wl_run *r, struct wl_err *e)
{
    (void)r;
    const struct patches *o = s->context;
    struct wl_gpu_patches args = o->args;
    args.from = s->uses[0].buf->at;
    args.to = s->uses[1].buf->at;
    const struct wl_gpu_grid g = { .x = (unsigned)(args.n * args.h),
                                   .y = (unsigned)((args.w + WL_GPU_FIELD_THREADS - 1) / WL_GPU_FIELD_THREADS),
                                   .threads = WL_GPU_FIELD_THREADS };
    return WL_GPU_LAUNCH(&o->kernel, &g, &args, e);
}

/* from_patches has the channels of a row last. */
static struct wl_gpu_patches args_of(const struct wl_node *n, bool to_image)
{
    const struct wl_patch_size v = wl_patch_size(n);
    const int32_t c = (int32_t)v.c, side = (int32_t)v.side;
    const bool last = n->op == WL_OP_FROM_PATCHES;
    return (struct wl_gpu_patches) { .n = (int32_t)v.n,
                                     .c = c,
                                     .h = (int32_t)v.h,
                                     .w = (int32_t)v.w,
                                     .side = side,
                                     .channel = last ? 1 : side * side,
                                     .line = last ? side * c : side,
                                     .point = last ? c : 1,
                                     .to_image = to_image };
}

static int emit(struct wl_program *p, const struct wl_node *n, bool back, struct wl_buf *from, struct wl_buf *to,
                struct wl_err *e)
{
    struct patches *o = wl_new(p->arena, struct patches);
    o->args = args_of(n, back == (n->op == WL_OP_PATCHES));
    wl_step_emit_uses(p, n, back ? "backward" : "forward", back ? WL_TRAIN : WL_TRAIN | WL_EVAL, run, WL_BUFS(from),
                      WL_BUFS(to))
        ->context = o;
    return wl_gpu_kernel_of(wl_gpu_of(p), "patches", from->dtype, &o->kernel, e);
}

/* Of the value's type where it is plain; a copy in f32 where it is not. */
static int forward(struct wl_program *p, const struct wl_node *n, struct wl_err *e)
{
    struct wl_buf *x = p->value[n->in[0]->id];
    int rc = x->layout ? wl_lower_plain_value(p, n, n->in[0], &x, e) : 0;
    if (rc) return rc;
    struct wl_buf *y = p->value[n->out->id] = wl_buf_plain(p, WL_MEM_VALUE, x->dtype, &n->out->dims);
    return emit(p, n, false, x, y, e);
}

static int backward(struct wl_program *p, const struct wl_node *n, struct wl_err *e)
{
    struct wl_buf *dy = p->gradient[n->out->id];
    int rc = dy->layout ? wl_lower_plain_gradient(p, n, n->out, &dy, e) : 0;
    if (rc) return rc;
    struct wl_buf *dx = wl_buf_plain(p, WL_MEM_VALUE, dy->dtype, &n->in[0]->dims);
    rc = emit(p, n, true, dy, dx, e);
    if (!rc) rc = wl_gradient_add_plain(p, n, n->in[0], dx, e);
    if (!rc) wl_gradient_done(p, n->out);
    return rc;
}

const struct wl_op_rules wl_gpu_op_patches = { forward, backward };
const struct wl_op_rules wl_gpu_op_from_patches = { forward, backward };
