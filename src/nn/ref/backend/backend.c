/* How a program runs the reference kernels: all buffers plain, one step a kernel, nothing in place. The table of
 * rules, and what they share. */
#include "nn/ref/backend/backend.h"

#include "nn/host/host.h"

#include <string.h>

static int copy_run(const struct wl_step *s, const struct wl_run *r, struct wl_err *e)
{
    (void)e;
    memcpy(wl_step_use_f32(s, r, 1), wl_step_use_f32(s, r, 0), s->uses[0].buf->bytes);
    return 0;
}

int wl_ref_reorder(struct wl_program *p, const struct wl_node *n, struct wl_buf *from, struct wl_buf *to,
                   struct wl_err *e)
{
    (void)e;
    wl_step_emit_uses(p, n, "reorder", WL_TRAIN | WL_EVAL, copy_run, WL_BUFS(from), WL_BUFS(to));
    p->reorders++;
    return 0;
}

int wl_ref_weights(struct wl_program *p, const struct wl_node *n, const struct wl_tensor *t, struct wl_buf **out,
                   struct wl_err *e)
{
    struct wl_buf *w = *out = wl_lower_plain_param(p, t);
    if (wl_dtype_bytes(p->precision) == 2) *out = wl_buf_value(p, &w->dims);
    return *out == w ? 0 : wl_ref_reorder(p, n, w, *out, e);
}

const struct wl_op_rules *const wl_ref_rules[WL_OP_COUNT] = {
#define RULES(op, name, ...) [WL_OP_##op] = &wl_ref_op_##name,
    WL_OPS(RULES)
#undef RULES
};

static int sum_run(const struct wl_step *s, const struct wl_run *r, struct wl_err *e)
{
    (void)e;
    wl_ref_add(wl_dims_count(&s->uses[2].buf->dims), wl_step_use_f32(s, r, 0), wl_step_use_f32(s, r, 1),
               wl_step_use_f32(s, r, 2));
    return 0;
}

int wl_ref_sum(struct wl_program *p, const struct wl_node *n, struct wl_buf *a, struct wl_buf *b, struct wl_buf *dst,
               struct wl_err *e)
{
    (void)e;
    wl_step_emit_uses(p, n, "sum of gradients", WL_TRAIN, sum_run, WL_BUFS(a, b), WL_BUFS(dst));
    return 0;
}

static const char *library(struct wl_arena *a)
{
    (void)a;
    return "plain C";
}

const struct wl_backend wl_backend_ref = {
    .row = { .name = "ref", .help = "plain C, slow, for comparison" },
    .library = library,
    .device = &wl_host_device,
    .open = wl_host_open,
    .rules = wl_ref_rules,
    .emulates_16_bits = true,
    .f16 = true,
    .sum = wl_ref_sum,
    .reorder = wl_ref_reorder,
};
