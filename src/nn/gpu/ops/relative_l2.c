#include "nn/gpu/kernels/relative_l2.h"
#include "nn/gpu/gpu.h"
#include "nn/lowering/lowering.h"

struct distance {
    struct wl_gpu *gpu;
    struct wl_gpu_kernel kernel, sum;
    int64_t n, f;
    int32_t step;
};

static struct distance *open_distance(struct wl_program *p, const struct wl_node *n)
{
    const struct wl_dims *x = &n->in[0]->dims;
    struct distance *o = wl_new(p->arena, struct distance);
    o->gpu = wl_gpu_of(p);
    o->n = x->d[0];
    o->f = wl_dims_count(x) / x->d[0];
    return o;
}

static int64_t parts_of(const struct distance *o) { return (o->f + WL_GPU_DISTANCE_PART - 1) / WL_GPU_DISTANCE_PART; }

/* ---- forward: uses x, the target, parts, scale, the loss ---- */

static int sum_run(const struct wl_step *s, struct wl_err *e)
{
    const struct distance *o = s->context;
    const struct wl_gpu_distance_sum args = { .parts = s->uses[2].buf->at,
                                              .t = s->uses[1].buf->at,
                                              .loss = s->uses[4].buf->at,
                                              .scale = s->uses[3].buf->at,
                                              .counts = o->gpu->counts,
                                              .n = o->n,
                                              .f = o->f,
                                              .n_parts = parts_of(o),
                                              .weight = s->node->u.loss.weight,
                                              .counts_samples = s->node->counts,
                                              .step = o->step };
    return WL_GPU_LAUNCH(&o->sum, &((struct wl_gpu_grid) { .x = 1, .threads = WL_GPU_DISTANCE_THREADS }), &args, e);
}

static int forward_run(const struct wl_step *s, const struct wl_run *r, struct wl_err *e)
{
    (void)r;
    const struct distance *o = s->context;
    const struct wl_gpu_distance_parts args = {
        .x = s->uses[0].buf->at, .t = s->uses[1].buf->at, .parts = s->uses[2].buf->at, .f = o->f
    };
    const struct wl_gpu_grid g = { .x = (unsigned)parts_of(o),
                                   .y = (unsigned)o->n,
                                   .threads = WL_GPU_DISTANCE_THREADS };
    int rc = WL_GPU_LAUNCH(&o->kernel, &g, &args, e);
    return rc ? rc : sum_run(s, e);
}

/* x of its own type where it is plain. */
static int forward(struct wl_program *p, const struct wl_node *n, struct wl_err *e)
{
    struct distance *o = open_distance(p, n);
    struct wl_buf *x = p->value[n->in[0]->id], *t;
    int rc = x->layout ? wl_lower_plain_value(p, n, n->in[0], &x, e) : 0;
    if (!rc) rc = wl_lower_plain_value(p, n, n->in[1], &t, e);
    if (!rc) rc = wl_gpu_kernel_of(o->gpu, "distance_parts", x->dtype, &o->kernel, e);
    if (!rc) rc = wl_gpu_kernel(o->gpu, "distance_sum", &o->sum, e);
    if (rc) return rc;
    struct wl_buf *parts = wl_buf_plain(p, WL_MEM_VALUE, WL_F32, &WL_DIMS(o->n, parts_of(o), 2));
    struct wl_buf *scale = wl_buf_plain(p, WL_MEM_VALUE, WL_F32, &WL_DIMS(o->n));
    struct wl_buf *loss = p->value[n->out->id] = wl_buf_plain(p, WL_MEM_VALUE, WL_F32, &n->out->dims);
    o->step = (int32_t)p->n_steps;
    wl_step_emit_uses(p, n, "forward", WL_TRAIN | WL_EVAL, forward_run, WL_BUFS(x, t), WL_BUFS(parts, scale, loss))
        ->context = o;
    p->saved[n->out->id] = (struct wl_saved) { .buf = { x, t, scale } };
    return 0;
}

/* ---- backward: uses x, the target, scale, dx ---- */

static int backward_run(const struct wl_step *s, const struct wl_run *r, struct wl_err *e)
{
    (void)r;
    const struct distance *o = s->context;
    const struct wl_gpu_distance_backward args = { .x = s->uses[0].buf->at,
                                                   .t = s->uses[1].buf->at,
                                                   .scale = s->uses[2].buf->at,
                                                   .run = o->gpu->run,
                                                   .dx = s->uses[3].buf->at,
                                                   .f = o->f };
    struct wl_gpu_grid g = wl_gpu_grid_for(o->gpu, o->f, WL_GPU_DISTANCE_THREADS, 8);
    g.y = (unsigned)o->n;
    return WL_GPU_LAUNCH(&o->kernel, &g, &args, e);
}

static int backward(struct wl_program *p, const struct wl_node *n, struct wl_err *e)
{
    struct distance *o = open_distance(p, n);
    const struct wl_saved *saved = &p->saved[n->out->id];
    struct wl_buf *dx = wl_buf_plain(p, WL_MEM_VALUE, saved->buf[0]->dtype, &n->in[0]->dims);
    int rc = wl_gpu_kernel_of(o->gpu, "distance_backward", dx->dtype, &o->kernel, e);
    if (rc) return rc;
    wl_step_emit_uses(p, n, "backward", WL_TRAIN, backward_run, WL_BUFS(saved->buf[0], saved->buf[1], saved->buf[2]),
                      WL_BUFS(dx))
        ->context = o;
    return wl_gradient_add_plain(p, n, n->in[0], dx, e);
}

const struct wl_op_rules wl_gpu_op_relative_l2 = { forward, backward };
