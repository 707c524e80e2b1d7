/* How a program runs the losses: on plain values, which other layouts are copied into first. Other back-ends list these
 * rules too. */
#include "nn/lowering/step.h"

#include <math.h>

int wl_lower_check_labels(const struct wl_node *n, const int32_t *labels, struct wl_err *e)
{
    int64_t rows = n->in[0]->dims.d[0], k = n->in[0]->dims.d[1];
    for (int64_t i = 0; i < rows; i++)
        if (labels[i] >= k)
            return wl_fail(e, WL_EINVAL, "label %d of sample %lld is beyond the %lld classes", (int)labels[i],
                           (long long)i, (long long)k);
    return 0;
}

void wl_lower_count_loss(const struct wl_node *n, double loss, const struct wl_counts *seen, struct wl_counts *counts)
{
    counts->loss_sum += n->u.loss.weight * loss;
    if (!n->counts) return;
    counts->samples += seen->samples;
    counts->top1 += seen->top1;
    counts->top5 += seen->top5;
}

static int cross_entropy_run(const struct wl_step *s, const struct wl_run *r, struct wl_err *e)
{
    const struct wl_dims *x = &s->node->in[0]->dims;
    const int32_t *labels = s->uses[1].buf->at;
    int rc = wl_lower_check_labels(s->node, labels, e);
    if (rc) return rc;
    struct wl_counts seen = { 0 };
    double loss = wl_ref_cross_entropy(x->d[0], x->d[1], wl_step_use_f32(s, r, 0), labels, &seen);
    *wl_step_use_f32(s, r, 2) = (float)loss;
    wl_lower_count_loss(s->node, loss * (double)seen.samples, &seen, r->counts);
    return 0;
}

static int cross_entropy_backward_run(const struct wl_step *s, const struct wl_run *r, struct wl_err *e)
{
    (void)e;
    const struct wl_dims *x = &s->node->in[0]->dims;
    wl_ref_cross_entropy_backward(x->d[0], x->d[1], s->node->u.loss.weight, wl_step_use_f32(s, r, 0),
                                  s->uses[1].buf->at, wl_step_use_f32(s, r, 2));
    return 0;
}

/* A target counts one sample a row. */
static int mean_square_run(const struct wl_step *s, const struct wl_run *r, struct wl_err *e)
{
    (void)e;
    int64_t n = s->node->in[0]->dims.d[0];
    struct wl_counts seen = { 0 };
    double loss = wl_ref_mean_square(n, wl_step_input_count(s) / n, wl_step_use_f32(s, r, 0), wl_step_use_f32(s, r, 1),
                                     &seen.samples);
    *wl_step_use_f32(s, r, 2) = (float)loss;
    wl_lower_count_loss(s->node, loss * (double)seen.samples, &seen, r->counts);
    return 0;
}

static int mean_square_backward_run(const struct wl_step *s, const struct wl_run *r, struct wl_err *e)
{
    (void)e;
    int64_t n = s->node->in[0]->dims.d[0];
    wl_ref_mean_square_backward(n, wl_step_input_count(s) / n, s->node->u.loss.weight, wl_step_use_f32(s, r, 0),
                                wl_step_use_f32(s, r, 1), wl_step_use_f32(s, r, 2));
    return 0;
}

static int relative_l2_run(const struct wl_step *s, const struct wl_run *r, struct wl_err *e)
{
    const int64_t n = s->node->in[0]->dims.d[0];
    int64_t samples;
    double sum =
        wl_ref_relative_l2(n, wl_step_input_count(s) / n, wl_step_use_f32(s, r, 0), wl_step_use_f32(s, r, 1), &samples);
    if (isinf(sum)) return wl_fail(e, WL_EINVAL, "a target is 0 everywhere");
    *wl_step_use_f32(s, r, 2) = (float)(samples ? sum / (double)samples : 0);
    wl_lower_count_loss(s->node, sum, &(struct wl_counts) { .samples = samples }, r->counts);
    return 0;
}

static int relative_l2_backward_run(const struct wl_step *s, const struct wl_run *r, struct wl_err *e)
{
    (void)e;
    const int64_t n = s->node->in[0]->dims.d[0];
    wl_ref_relative_l2_backward(n, wl_step_input_count(s) / n, s->node->u.loss.weight, wl_step_use_f32(s, r, 0),
                                wl_step_use_f32(s, r, 1), wl_step_use_f32(s, r, 2));
    return 0;
}

static const struct {
    wl_step_run_fn *forward, *backward;
} runs[WL_OP_COUNT] = {
    [WL_OP_CROSS_ENTROPY] = { cross_entropy_run, cross_entropy_backward_run },
    [WL_OP_MEAN_SQUARE] = { mean_square_run, mean_square_backward_run },
    [WL_OP_RELATIVE_L2] = { relative_l2_run, relative_l2_backward_run },
};

int wl_lower_loss(struct wl_program *p, const struct wl_node *n, struct wl_err *e)
{
    struct wl_buf *x, *with;
    int rc = wl_lower_plain_value(p, n, n->in[0], &x, e);
    if (!rc) rc = wl_lower_plain_value(p, n, n->in[1], &with, e);
    if (rc) return rc;
    struct wl_buf *loss = p->value[n->out->id] = wl_buf_plain(p, WL_MEM_VALUE, WL_F32, &n->out->dims);
    wl_step_emit_uses(p, n, "forward", WL_TRAIN | WL_EVAL, runs[n->op].forward, WL_BUFS(x, with), WL_BUFS(loss));
    p->kept[n->out->id] = (struct wl_saved) { .buf = { x, with } };
    return 0;
}

int wl_lower_loss_backward(struct wl_program *p, const struct wl_node *n, struct wl_err *e)
{
    const struct wl_saved *kept = &p->kept[n->out->id];
    struct wl_buf *dx = wl_buf_plain(p, WL_MEM_VALUE, WL_F32, &n->in[0]->dims);
    wl_step_emit_uses(p, n, "backward", WL_TRAIN, runs[n->op].backward, WL_BUFS(kept->buf[0], kept->buf[1]),
                      WL_BUFS(dx));
    return wl_gradient_add_plain(p, n, n->in[0], dx, e);
}
