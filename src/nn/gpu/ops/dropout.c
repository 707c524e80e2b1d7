/* Dropout. The backward pass draws the mask anew instead of keeping it. */
#include "nn/gpu/kernels/dropout_apply.h"

#include "nn/gpu/layout.h"
#include "nn/gpu/ops/dropout_args.h"

struct dropout {
    struct wl_gpu_kernel kernel;
    struct wl_gpu_grid grid;
    struct wl_dropout drop;
};

/* Uses x, y. */
static int run(const struct wl_step *s, const struct wl_run *r, struct wl_err *e)
{
    const struct dropout *d = s->context;
    const struct wl_gpu_dropout_apply a = {
        .x = wl_use_at(s, r, 0),
        .y = wl_use_at(s, r, 1),
        .n = d->drop.n,
        .drop = wl_gpu_dropout_args(d->kernel.gpu, &d->drop, r),
    };
    return WL_GPU_LAUNCH(&d->kernel, &d->grid, &a, e);
}

static int emit(struct wl_program *p, const struct wl_node *n, const char *pass, struct wl_buf *from, struct wl_buf *to,
                struct wl_err *e)
{
    enum { THREADS = 256, EACH = 8 };
    const struct wl_dims *x = &n->in[0]->dims;
    struct dropout *d = wl_new(p->arena, struct dropout);
    int rc = wl_gpu_kernel_of(wl_gpu_of(p), "dropout", from->dtype, &d->kernel, e);
    if (rc) return rc;
    d->drop = wl_dropout_of(p, n, n->u.drop, x->d[0], wl_dims_count(x) / x->d[0]);
    d->grid = wl_gpu_grid_for(wl_gpu_of(p), wl_dims_count(x), THREADS, EACH);
    struct wl_step *s = wl_step_emit_uses(p, n, pass, WL_TRAIN | WL_EVAL, run, WL_BUFS(from), WL_BUFS(to));
    s->context = d;
    s->implementation = d->kernel.name;
    return 0;
}

static struct wl_buf *plain_like(struct wl_program *p, const struct wl_buf *b)
{
    return wl_buf_plain(p, WL_MEM_VALUE, b->dtype, &b->dims);
}

/* Masks number the elements of plain memory. */
static int forward(struct wl_program *p, const struct wl_node *n, struct wl_err *e)
{
    struct wl_buf *x;
    int rc = wl_gpu_plain_input(p, n, 0, &x, e);
    if (rc) return rc;
    struct wl_buf *y = p->value[n->out->id] = plain_like(p, x);
    return emit(p, n, "forward", x, y, e);
}

static int backward(struct wl_program *p, const struct wl_node *n, struct wl_err *e)
{
    struct wl_buf *dy = p->gradient[n->out->id], *dx = plain_like(p, dy);
    int rc = emit(p, n, "backward", dy, dx, e);
    if (!rc) rc = wl_gpu_gradient_add(p, n, n->in[0], dx, e);
    if (!rc) wl_gradient_done(p, n->out);
    return rc;
}

const struct wl_op_rules wl_gpu_op_dropout = { forward, backward };
