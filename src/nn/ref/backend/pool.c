#include "nn/ref/backend/backend.h"

static int max_run(const struct wl_step *s, const struct wl_run *r, struct wl_err *e)
{
    (void)e;
    struct wl_window v = wl_pool_window(s->node);
    wl_ref_max_pool(&v, wl_step_use_f32(s, r, 0), wl_step_use_f32(s, r, 1));
    return 0;
}

static int max_backward_run(const struct wl_step *s, const struct wl_run *r, struct wl_err *e)
{
    (void)e;
    struct wl_window v = wl_pool_window(s->node);
    wl_ref_max_pool_backward(&v, wl_step_use_f32(s, r, 1), wl_step_use_f32(s, r, 0), wl_step_use_f32(s, r, 2));
    return 0;
}

static int avg_run(const struct wl_step *s, const struct wl_run *r, struct wl_err *e)
{
    (void)e;
    struct wl_window v = wl_pool_window(s->node);
    wl_ref_avg_pool(&v, s->node->u.pool.exclude_pad, wl_step_use_f32(s, r, 0), wl_step_use_f32(s, r, 1));
    return 0;
}

static int avg_backward_run(const struct wl_step *s, const struct wl_run *r, struct wl_err *e)
{
    (void)e;
    struct wl_window v = wl_pool_window(s->node);
    wl_ref_avg_pool_backward(&v, s->node->u.pool.exclude_pad, wl_step_use_f32(s, r, 0), wl_step_use_f32(s, r, 1));
    return 0;
}

static int pool(struct wl_program *p, const struct wl_node *n, struct wl_err *e)
{
    (void)e;
    wl_step_emit_uses(p, n, "forward", WL_TRAIN | WL_EVAL, n->op == WL_OP_MAX_POOL ? max_run : avg_run,
                      WL_BUFS(wl_ref_input(p, n, 0)), WL_BUFS(wl_ref_output(p, n)));
    return 0;
}

static int pool_backward(struct wl_program *p, const struct wl_node *n, struct wl_err *e)
{
    struct wl_buf *dy = wl_ref_out_gradient(p, n), *x = wl_ref_input(p, n, 0), *dx = wl_buf_like(p, x);
    if (n->op == WL_OP_MAX_POOL)
        wl_step_emit_uses(p, n, "backward", WL_TRAIN, max_backward_run, WL_BUFS(dy, x), WL_BUFS(dx));
    else
        wl_step_emit_uses(p, n, "backward", WL_TRAIN, avg_backward_run, WL_BUFS(dy), WL_BUFS(dx));
    int rc = wl_gradient_add(p, n, n->in[0], dx, e);
    wl_gradient_done(p, n->out);
    return rc;
}

const struct wl_op_rules wl_ref_op_max_pool = { pool, pool_backward };
const struct wl_op_rules wl_ref_op_avg_pool = { pool, pool_backward };
