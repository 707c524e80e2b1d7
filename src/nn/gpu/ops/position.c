#include "nn/gpu/gpu.h"
#include "nn/gpu/kernels/fields.h"
#include "nn/lowering/lowering.h"

struct position {
    const struct wl_gpu *gpu;
    struct wl_gpu_kernel kernel;
    int64_t n, size; /* pieces, and numbers of each */
};

static int open_position(struct wl_program *p, const struct wl_node *n, const char *name, enum wl_dtype type,
                         struct position **out, struct wl_err *e)
{
    struct position *o = *out = wl_new(p->arena, struct position);
    o->gpu = wl_gpu_of(p);
    o->size = wl_dims_count(&n->par[0]->dims);
    o->n = wl_dims_count(&n->out->dims) / o->size;
    return wl_gpu_kernel_of(wl_gpu_of(p), name, type, &o->kernel, e);
}

static struct wl_gpu_grid grid(const struct position *o)
{
    return wl_gpu_grid_for(o->gpu, o->size, WL_GPU_FIELD_THREADS, o->size % 8 ? 1 : 8);
}

/* Uses x, p, y. */
static int forward_run(const struct wl_step *s, const struct wl_run *r, struct wl_err *e)
{
    (void)r;
    const struct position *o = s->context;
    const struct wl_gpu_position args = { .x = s->uses[0].buf->at,
                                          .p = s->uses[1].buf->at,
                                          .y = s->uses[2].buf->at,
                                          .n = o->n,
                                          .size = o->size,
                                          .y_f32 = s->uses[2].buf->dtype == WL_F32 };
    struct wl_gpu_grid g = grid(o);
    g.y = (unsigned)o->n;
    return WL_GPU_LAUNCH(&o->kernel, &g, &args, e);
}

/* Uses dy, dp. */
static int backward_run(const struct wl_step *s, const struct wl_run *r, struct wl_err *e)
{
    const struct position *o = s->context;
    const struct wl_gpu_sum_pieces args = {
        .x = s->uses[0].buf->at, .to = wl_step_use_f32(s, r, 1), .n = o->n, .size = o->size, .room = o->size
    };
    const struct wl_gpu_grid g = grid(o);
    return WL_GPU_LAUNCH(&o->kernel, &g, &args, e);
}

static int forward(struct wl_program *p, const struct wl_node *n, struct wl_err *e)
{
    struct position *o;
    struct wl_buf *x = p->value[n->in[0]->id];
    int rc = x->layout ? wl_lower_plain_value(p, n, n->in[0], &x, e) : 0;
    if (!rc) rc = open_position(p, n, "position", x->dtype, &o, e);
    if (rc) return rc;
    struct wl_buf *y = p->value[n->out->id] = wl_buf_result(p, n), *w = wl_lower_plain_param(p, n->par[0]);
    wl_step_emit_uses(p, n, "forward", WL_TRAIN | WL_EVAL, forward_run, WL_BUFS(x, w), WL_BUFS(y))->context = o;
    return 0;
}

/* The gradient of x is that of y. */
static int backward(struct wl_program *p, const struct wl_node *n, struct wl_err *e)
{
    struct position *o;
    struct wl_buf *dy = p->gradient[n->out->id];
    int rc = dy->layout ? wl_lower_plain_gradient(p, n, n->out, &dy, e) : 0;
    if (!rc) rc = open_position(p, n, "sum_pieces", dy->dtype, &o, e);
    if (rc) return rc;
    wl_step_emit_uses(p, n, "backward", WL_TRAIN, backward_run, WL_BUFS(dy), WL_BUFS(p->gradient[n->par[0]->id]))
        ->context = o;
    if (n->in[0]->gradient) rc = wl_gradient_add_plain(p, n, n->in[0], dy, e);
    if (!rc) wl_gradient_done(p, n->out);
    return rc;
}

const struct wl_op_rules wl_gpu_op_position = { forward, backward };
