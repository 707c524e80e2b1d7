/* Cross entropy on logits as they are, with counts. Specification: wl_ref_cross_entropy. */
#include "nn/gpu/kernels/cross_entropy.h"

#include "nn/gpu/layout.h"
#include "nn/lowering/step.h"

enum { THREADS = 256 };

struct entropy {
    struct wl_gpu_kernel rows, sum; /* backward: rows alone */
    int64_t n, k;
};

static struct wl_gpu_cross_entropy args_of(const struct wl_step *s)
{
    const struct entropy *c = s->context;
    const struct wl_node *n = s->node;
    return (struct wl_gpu_cross_entropy) { .counts = c->rows.gpu->counts,
                                           .run = c->rows.gpu->run,
                                           .n = c->n,
                                           .k = c->k,
                                           .weight = n->u.loss.weight,
                                           .counts_samples = n->counts };
}

static struct wl_gpu_grid a_block_each(int64_t n)
{
    return (struct wl_gpu_grid) { .x = (unsigned)n, .threads = THREADS };
}

/* Uses logits, labels, loss, facts, scale. */
static int forward_run(const struct wl_step *s, const struct wl_run *r, struct wl_err *e)
{
    const struct entropy *c = s->context;
    struct wl_gpu_cross_entropy a = args_of(s);
    const struct wl_gpu_grid rows = a_block_each(c->n), one = a_block_each(1);
    a.x = wl_use_at(s, r, 0);
    a.labels = wl_use_at(s, r, 1);
    a.loss = wl_use_at(s, r, 2);
    a.facts = wl_use_at(s, r, 3);
    a.scale = wl_use_at(s, r, 4);
    int rc = WL_GPU_LAUNCH(&c->rows, &rows, &a, e);
    return rc ? rc : WL_GPU_LAUNCH(&c->sum, &one, &a, e);
}

/* Uses logits, labels, facts, scale, dx. */
static int backward_run(const struct wl_step *s, const struct wl_run *r, struct wl_err *e)
{
    const struct entropy *c = s->context;
    struct wl_gpu_cross_entropy a = args_of(s);
    const struct wl_gpu_grid rows = a_block_each(c->n);
    a.x = wl_use_at(s, r, 0);
    a.labels = wl_use_at(s, r, 1);
    a.facts = wl_use_at(s, r, 2);
    a.scale = wl_use_at(s, r, 3);
    a.dx = wl_use_at(s, r, 4);
    return WL_GPU_LAUNCH(&c->rows, &rows, &a, e);
}

static int new_entropy(struct wl_program *p, const struct wl_buf *x, const char *kernel, struct entropy **out,
                       struct wl_err *e)
{
    struct entropy *c = *out = wl_new(p->arena, struct entropy);
    *c = (struct entropy) { .n = x->dims.d[0], .k = x->dims.d[1] };
    int rc = wl_gpu_kernel_of(wl_gpu_of(p), kernel, x->dtype, &c->rows, e);
    return rc ? rc : wl_gpu_kernel(wl_gpu_of(p), "cross_entropy_sum", &c->sum, e);
}

static struct wl_buf *floats(struct wl_program *p, int64_t n)
{
    return wl_buf_plain(p, WL_MEM_VALUE, WL_F32, &WL_DIMS(n));
}

static int forward(struct wl_program *p, const struct wl_node *n, struct wl_err *e)
{
    struct wl_buf *x, *labels;
    struct entropy *c;
    int rc = wl_gpu_plain_input(p, n, 0, &x, e);
    if (!rc) rc = wl_lower_plain_value(p, n, n->in[1], &labels, e);
    if (!rc) rc = new_entropy(p, x, "cross_entropy", &c, e);
    if (rc) return rc;
    struct wl_buf *loss = p->value[n->out->id] = wl_buf_plain(p, WL_MEM_VALUE, WL_F32, &n->out->dims);
    struct wl_buf *facts = floats(p, WL_GPU_ENTROPY_FACTS * c->n), *scale = floats(p, 1);
    wl_step_emit_uses(p, n, "forward", WL_TRAIN | WL_EVAL, forward_run, WL_BUFS(x, labels), WL_BUFS(loss, facts, scale))
        ->context = c;
    p->saved[n->out->id] = (struct wl_saved) { .buf = { x, facts, scale } };
    return 0;
}

/* Overwrites the logits, unless others read them. */
static int backward(struct wl_program *p, const struct wl_node *n, struct wl_err *e)
{
    const struct wl_saved *saved = &p->saved[n->out->id];
    struct wl_buf *x = saved->buf[0], *labels;
    struct wl_buf *dx = wl_may_overwrite(p, n->in[0]) ? x : wl_buf_plain(p, WL_MEM_VALUE, x->dtype, &x->dims);
    struct entropy *c;
    int rc = wl_lower_plain_value(p, n, n->in[1], &labels, e);
    if (!rc) rc = new_entropy(p, x, "cross_entropy_backward", &c, e);
    if (rc) return rc;
    wl_step_emit_uses(p, n, "backward", WL_TRAIN, backward_run, WL_BUFS(x, labels, saved->buf[1], saved->buf[2]),
                      WL_BUFS(dx))
        ->context = c;
    return wl_gpu_gradient_add(p, n, n->in[0], dx, e);
}

const struct wl_op_rules wl_gpu_op_cross_entropy = { forward, backward };
