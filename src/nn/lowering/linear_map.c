/* Linear maps without parameters, on plain values; other layouts are copied first. */
#include "nn/lowering/lowering.h"

struct map_step {
    void (*run)(const struct wl_node *n, const float *x, float *y);
};

static int map_run(const struct wl_step *s, const struct wl_run *r, struct wl_err *e)
{
    (void)e;
    const struct map_step *context = s->context;
    context->run(s->node, wl_step_use_f32(s, r, 0), wl_step_use_f32(s, r, 1));
    return 0;
}

static void emit_map(struct wl_program *p, const struct wl_node *n, const struct wl_linear_map *map, bool back,
                     struct wl_buf *from, struct wl_buf *to)
{
    struct map_step *context = wl_new(p->arena, struct map_step);
    context->run = back ? map->adjoint : map->apply;
    const unsigned when = back ? WL_TRAIN : WL_TRAIN | WL_EVAL;
    wl_step_emit_uses(p, n, back ? "backward" : "forward", when, map_run, WL_BUFS(from), WL_BUFS(to))->context =
        context;
}

int wl_lower_linear_map(struct wl_program *p, const struct wl_node *n, struct wl_err *e)
{
    const struct wl_linear_map *map = wl_rules_of(p, n)->kernels;
    struct wl_buf *x, *y = wl_buf_plain(p, WL_MEM_VALUE, WL_F32, &n->out->dims);
    int rc = wl_lower_plain_value(p, n, n->in[0], &x, e);
    if (rc) return rc;
    p->value[n->out->id] = y;
    emit_map(p, n, map, false, x, y);
    return 0;
}

int wl_lower_linear_map_backward(struct wl_program *p, const struct wl_node *n, struct wl_err *e)
{
    const struct wl_linear_map *map = wl_rules_of(p, n)->kernels;
    struct wl_buf *dy, *dx = wl_buf_plain(p, WL_MEM_VALUE, WL_F32, &n->in[0]->dims);
    int rc = wl_lower_plain_gradient(p, n, n->out, &dy, e);
    if (rc) return rc;
    emit_map(p, n, map, true, dy, dx);
    rc = wl_gradient_add_plain(p, n, n->in[0], dx, e);
    if (!rc) wl_gradient_done(p, n->out);
    return rc;
}
