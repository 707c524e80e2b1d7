/* How a program runs the losses: on plain values, which other layouts are copied into first. Other back-ends list these
 * rules too. */
#include "nn/ref/step.h"

static int check_labels(const struct wl_step *s, const int32_t *labels, struct wl_err *e)
{
    int64_t n = s->node->in[0]->dims.d[0], k = s->node->in[0]->dims.d[1];
    for (int64_t i = 0; i < n; i++)
        if (labels[i] >= k)
            return wl_fail(e, WL_EINVAL, "label %d of sample %lld is beyond the %lld classes", (int)labels[i],
                           (long long)i, (long long)k);
    return 0;
}

/* The loss's value, and its share of what the trainer counts. An auxiliary loss counts no samples; mean_square counts
 * one a row. */
static int cross_entropy_run(const struct wl_step *s, const struct wl_run *r, struct wl_err *e)
{
    const struct wl_dims *x = &s->node->in[0]->dims;
    const int32_t *labels = s->uses[1].buf->at;
    int rc = check_labels(s, labels, e);
    if (rc) return rc;
    struct wl_counts seen = { 0 };
    double loss = wl_ref_cross_entropy(x->d[0], x->d[1], wl_ref_at(s, r, 0), labels, &seen);
    *wl_ref_at(s, r, 2) = (float)loss;
    r->counts->loss_sum += s->node->u.loss.weight * loss * (double)seen.samples;
    if (s->node->u.loss.auxiliary) return 0;
    r->counts->samples += seen.samples;
    r->counts->top1 += seen.top1;
    r->counts->top5 += seen.top5;
    return 0;
}

static int cross_entropy_backward_run(const struct wl_step *s, const struct wl_run *r, struct wl_err *e)
{
    (void)e;
    const struct wl_dims *x = &s->node->in[0]->dims;
    wl_ref_cross_entropy_backward(x->d[0], x->d[1], s->node->u.loss.weight, wl_ref_at(s, r, 0), s->uses[1].buf->at,
                                  wl_ref_at(s, r, 2));
    return 0;
}

static int mean_square_run(const struct wl_step *s, const struct wl_run *r, struct wl_err *e)
{
    (void)e;
    int64_t n = s->node->in[0]->dims.d[0], rows;
    double loss = wl_ref_mean_square(n, wl_ref_count(s) / n, wl_ref_at(s, r, 0), wl_ref_at(s, r, 1), &rows);
    *wl_ref_at(s, r, 2) = (float)loss;
    r->counts->loss_sum += s->node->u.loss.weight * loss * (double)rows;
    if (!s->node->u.loss.auxiliary) r->counts->samples += rows;
    return 0;
}

static int mean_square_backward_run(const struct wl_step *s, const struct wl_run *r, struct wl_err *e)
{
    (void)e;
    int64_t n = s->node->in[0]->dims.d[0];
    wl_ref_mean_square_backward(n, wl_ref_count(s) / n, s->node->u.loss.weight, wl_ref_at(s, r, 0), wl_ref_at(s, r, 1),
                                wl_ref_at(s, r, 2));
    return 0;
}

int wl_ref_loss_forward_rule(struct wl_program *p, const struct wl_node *n, struct wl_err *e)
{
    struct wl_buf *x, *with;
    int rc = wl_plain_value(p, n, n->in[0], &x, e);
    if (!rc) rc = wl_plain_value(p, n, n->in[1], &with, e);
    if (rc) return rc;
    struct wl_buf *loss = p->value[n->out->id] = wl_buf_plain(p, WL_MEM_VALUE, WL_F32, &n->out->dims);
    wl_ref_emit(p, n, "forward", WL_TRAIN | WL_EVAL, n->op == WL_OP_CROSS_ENTROPY ? cross_entropy_run : mean_square_run,
                WL_BUFS(x, with), WL_BUFS(loss));
    p->kept[n->out->id] = (struct wl_kept) { .buf = { x, with } };
    return 0;
}

int wl_ref_loss_backward_rule(struct wl_program *p, const struct wl_node *n, struct wl_err *e)
{
    const struct wl_kept *kept = &p->kept[n->out->id];
    struct wl_buf *dx = wl_buf_plain(p, WL_MEM_VALUE, WL_F32, &n->in[0]->dims);
    wl_ref_emit(p, n, "backward", WL_TRAIN,
                n->op == WL_OP_CROSS_ENTROPY ? cross_entropy_backward_run : mean_square_backward_run,
                WL_BUFS(kept->buf[0], kept->buf[1]), WL_BUFS(dx));
    return wl_gradient_add_plain(p, n, n->in[0], dx, e);
}
