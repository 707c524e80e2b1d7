/* How a program drops out: on plain values, which other layouts are copied into first. */
#include "nn/ref/step.h"

#include <math.h>
#include <string.h>

struct dropout {
    struct wl_dropout how; /* without the place of the run */
    wl_dropout_fn *kernel;
};

static int drop_run(const struct wl_step *s, const struct wl_run *r, struct wl_err *e)
{
    (void)e;
    const struct dropout *own = s->own;
    struct wl_dropout d = own->how;
    d.update = r->update;
    d.sample = r->sample;
    own->kernel(&d, wl_ref_at(s, r, 0), wl_ref_at(s, r, 1));
    return 0;
}

static int copy_run(const struct wl_step *s, const struct wl_run *r, struct wl_err *e)
{
    (void)e;
    memcpy(wl_ref_at(s, r, 1), wl_ref_at(s, r, 0), (size_t)wl_ref_count(s) * sizeof(float));
    return 0;
}

static void emit(struct wl_program *p, const struct wl_node *n, const char *what, wl_dropout_fn *kernel,
                 struct wl_buf *from, struct wl_buf *to)
{
    const struct wl_dims *x = &n->in[0]->dims;
    struct dropout *own = wl_new(p->arena, struct dropout);
    own->kernel = kernel;
    own->how = (struct wl_dropout) {
        .key = wl_dropout_key(p->seed, n->name),
        .drop = (uint32_t)lround(n->u.drop * WL_DROP_STEPS),
        .n = x->d[0],
        .f = wl_dims_count(x) / x->d[0],
    };
    wl_ref_emit(p, n, what, WL_TRAIN, drop_run, WL_BUFS(from), WL_BUFS(to))->own = own;
}

int wl_ref_dropout_forward(struct wl_program *p, const struct wl_node *n, wl_dropout_fn *kernel, struct wl_err *e)
{
    struct wl_buf *x, *y = wl_buf_plain(p, WL_MEM_VALUE, WL_F32, &n->out->dims);
    int rc = wl_plain_value(p, n, n->in[0], &x, e);
    if (rc) return rc;
    p->value[n->out->id] = y;
    if (p->train) emit(p, n, "forward", kernel, x, y);
    wl_ref_emit(p, n, "forward", WL_EVAL, copy_run, WL_BUFS(x), WL_BUFS(y));
    return 0;
}

int wl_ref_dropout_backward(struct wl_program *p, const struct wl_node *n, wl_dropout_fn *kernel, struct wl_err *e)
{
    struct wl_buf *dy, *dx = wl_buf_plain(p, WL_MEM_VALUE, WL_F32, &n->in[0]->dims);
    int rc = wl_plain_gradient(p, n, n->out, &dy, e);
    if (rc) return rc;
    emit(p, n, "backward", kernel, dy, dx);
    rc = wl_gradient_add_plain(p, n, n->in[0], dx, e);
    if (!rc) wl_gradient_done(p, n->out);
    return rc;
}
