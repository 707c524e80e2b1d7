/* How a program runs the reference kernels: all buffers plain, one step a kernel, nothing in place. The table of
 * rules, and what they share. */
#include "nn/lowering/step.h"

#include <string.h>

struct wl_buf *wl_ref_param(struct wl_program *p, const struct wl_tensor *t)
{
    return wl_buf_param(p, t, NULL, (size_t)wl_dims_count(&t->dims) * sizeof(float));
}

struct wl_step *wl_step_emit_uses(struct wl_program *p, const struct wl_node *n, const char *what, unsigned when,
                                  wl_step_run_fn *run, struct wl_buf *const *reads, struct wl_buf *const *writes)
{
    struct wl_step *s = wl_step_emit(p, n, what, when, run);
    for (; *reads; reads++) wl_step_reads(p, s, *reads);
    for (; *writes; writes++) wl_step_writes(p, s, *writes);
    return s;
}

static int copy_run(const struct wl_step *s, const struct wl_run *r, struct wl_err *e)
{
    (void)e;
    memcpy(wl_step_use_f32(s, r, 1), wl_step_use_f32(s, r, 0), s->uses[0].buf->bytes);
    return 0;
}

static int reorder(struct wl_program *p, const struct wl_node *n, struct wl_buf *from, struct wl_buf *to,
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
    struct wl_buf *w = *out = wl_ref_param(p, t);
    if (p->precision == WL_BF16) *out = wl_buf_value(p, &w->dims);
    return *out == w ? 0 : reorder(p, n, w, *out, e);
}

static const struct wl_op_rules rules[WL_OP_COUNT] = {
    [WL_OP_CONV] = { wl_ref_lower_conv, wl_ref_lower_conv_backward },
    [WL_OP_BATCH_NORM] = { wl_ref_lower_batch_norm, wl_ref_lower_batch_norm_backward },
    [WL_OP_RELU] = { wl_ref_lower_relu, wl_ref_lower_eltwise_backward },
    [WL_OP_ADD] = { wl_ref_lower_add, wl_ref_lower_eltwise_backward },
    [WL_OP_CONCAT] = { wl_ref_lower_concat, wl_ref_lower_concat_backward },
    [WL_OP_MAX_POOL] = { wl_ref_lower_pool, wl_ref_lower_pool_backward },
    [WL_OP_AVG_POOL] = { wl_ref_lower_pool, wl_ref_lower_pool_backward },
    [WL_OP_DROPOUT] = { wl_ref_lower_dropout, wl_ref_lower_dropout_backward },
    [WL_OP_LINEAR] = { wl_ref_lower_linear, wl_ref_lower_linear_backward },
    [WL_OP_EMBED] = { wl_lower_rows, wl_lower_rows_backward },
    [WL_OP_DENSE] = { wl_lower_rows, wl_lower_rows_backward },
    [WL_OP_SEGMENT_SUM] = { wl_lower_rows, wl_lower_rows_backward },
    [WL_OP_FILTER_CONV] = { wl_lower_rows, wl_lower_rows_backward },
    [WL_OP_EMBED_TOKENS] = { wl_ref_lower_embed_tokens, wl_ref_lower_embed_tokens_backward },
    [WL_OP_LAYER_NORM] = { wl_ref_lower_layer_norm, wl_ref_lower_layer_norm_backward },
    [WL_OP_PROJECT] = { wl_ref_lower_project, wl_ref_lower_project_backward },
    [WL_OP_ATTENTION] = { wl_ref_lower_attention, wl_ref_lower_attention_backward },
    [WL_OP_GATHER] = { wl_ref_lower_gather, wl_ref_lower_gather_backward },
    [WL_OP_DECODER] = { wl_ref_lower_project, wl_ref_lower_project_backward },
    [WL_OP_PATCHES] = { wl_ref_lower_field, wl_ref_lower_field_backward },
    [WL_OP_FROM_PATCHES] = { wl_ref_lower_field, wl_ref_lower_field_backward },
    [WL_OP_POSITION] = { wl_ref_lower_field, wl_ref_lower_field_backward },
    [WL_OP_FFT2] = { wl_ref_lower_field, wl_ref_lower_field_backward },
    [WL_OP_INVERSE_FFT2] = { wl_ref_lower_field, wl_ref_lower_field_backward },
    [WL_OP_COMPLEX_LINEAR] = { wl_ref_lower_field, wl_ref_lower_field_backward },
    [WL_OP_BESSEL_BASIS] = { wl_lower_rows, wl_lower_rows_backward },
    [WL_OP_SPHERICAL_BASIS] = { wl_lower_rows },
    [WL_OP_ANGULAR_BASIS] = { wl_lower_rows },
    [WL_OP_GATE] = { wl_lower_rows, wl_lower_rows_backward },
    [WL_OP_EDGE_CONCAT] = { wl_lower_rows, wl_lower_rows_backward },
    [WL_OP_TRIPLET_CONV] = { wl_lower_rows, wl_lower_rows_backward },
    [WL_OP_CROSS_ENTROPY] = { wl_lower_loss, wl_lower_loss_backward },
    [WL_OP_MEAN_SQUARE] = { wl_lower_loss, wl_lower_loss_backward },
    [WL_OP_RELATIVE_L2] = { wl_lower_loss, wl_lower_loss_backward },
};

static int sum_run(const struct wl_step *s, const struct wl_run *r, struct wl_err *e)
{
    (void)e;
    wl_ref_add(wl_dims_count(&s->uses[2].buf->dims), wl_step_use_f32(s, r, 0), wl_step_use_f32(s, r, 1),
               wl_step_use_f32(s, r, 2));
    return 0;
}

static int sum(struct wl_program *p, const struct wl_node *n, struct wl_buf *a, struct wl_buf *b, struct wl_buf *dst,
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
    .row = { "ref", NULL },
    .library = library,
    .rules = rules,
    .rows = &wl_ref_rows,
    .emulates_bf16 = true,
    .sum = sum,
    .reorder = reorder,
};
