#include "nn/ref/backend/backend.h"

static int add_run(const struct wl_step *s, const struct wl_run *r, struct wl_err *e)
{
    (void)e;
    wl_ref_add(wl_step_input_count(s), wl_step_use_f32(s, r, 0), wl_step_use_f32(s, r, 1), wl_step_use_f32(s, r, 2));
    if (s->node->relu) wl_ref_relu(wl_step_input_count(s), wl_step_use_f32(s, r, 2), wl_step_use_f32(s, r, 2));
    return 0;
}

static int add(struct wl_program *p, const struct wl_node *n, struct wl_err *e)
{
    (void)e;
    wl_step_emit_uses(p, n, "forward", WL_TRAIN | WL_EVAL, add_run,
                      WL_BUFS(wl_ref_input(p, n, 0), wl_ref_input(p, n, 1)), WL_BUFS(wl_ref_output(p, n)));
    return 0;
}

const struct wl_op_rules wl_ref_op_add = { add, wl_ref_relu_backward_rule };
