/* Cross entropy on values as they are, f32 or bf16: rows are spread over the threads, and their losses added in
 * order. Specification: wl_ref_cross_entropy. */
#include "nn/cpu/simd_step.h"

#include <string.h>

/* What the forward step leaves of each row with a label, [3,N]: the logarithm of its sum of exponents, its loss, and
 * how many classes rank before the label. */
enum { LOG_SUM, LOSS, RANK, FACTS };

static char *row_at(const struct wl_buf *x, int64_t i)
{
    return (char *)x->at + (size_t)(i * x->dims.d[1]) * wl_dtype_bytes(x->dtype);
}

static struct wl_counts add_up(const float *facts, const int32_t *labels, int64_t n, double *loss)
{
    struct wl_counts c = { 0 };
    *loss = 0;
    for (int64_t i = 0; i < n; i++) {
        if (labels[i] < 0) continue;
        *loss += (double)facts[LOSS * n + i];
        c.samples++;
        c.top1 += facts[RANK * n + i] < 1;
        c.top5 += facts[RANK * n + i] < 5;
    }
    return c;
}

/* Uses logits, labels, the loss, facts. */
static int forward_run(const struct wl_step *s, const struct wl_run *r, struct wl_err *e)
{
    (void)e;
    const struct wl_buf *x = s->uses[0].buf;
    const int64_t n = x->dims.d[0], k = x->dims.d[1];
    const int32_t *labels = s->uses[1].buf->at;
    const struct wl_simd_loops *rows = wl_simd_step_loops(x);
    float *facts = s->uses[3].buf->at;
#pragma omp parallel for schedule(static)
    for (int64_t i = 0; i < n; i++) {
        if (labels[i] < 0) continue;
        facts[LOSS * n + i] = rows->entropy(k, row_at(x, i), labels[i], &facts[LOG_SUM * n + i]);
        facts[RANK * n + i] = (float)rows->rank(k, row_at(x, i), labels[i]);
    }
    double loss;
    const struct wl_counts seen = add_up(facts, labels, n, &loss);
    *(float *)s->uses[2].buf->at = seen.samples ? (float)(loss / (double)seen.samples) : 0;
    wl_lower_count_loss(s->node, loss, &seen, r->counts);
    return 0;
}

static int forward(struct wl_program *p, const struct wl_node *n, struct wl_err *e)
{
    struct wl_buf *x = p->value[n->in[0]->id], *labels;
    wl_md plain;
    int rc = wl_md_plain(wl_cpu_of(p), &plain, x->dtype, &x->dims, e);
    if (!rc && x->layout) rc = wl_cpu_in_layout(p, n, x, plain, &x, e);
    if (!rc) rc = wl_lower_plain_value(p, n, n->in[1], &labels, e);
    if (rc) return rc;
    struct wl_buf *loss = p->value[n->out->id] = wl_buf_plain(p, WL_MEM_VALUE, WL_F32, &n->out->dims);
    struct wl_buf *facts = wl_buf_plain(p, WL_MEM_VALUE, WL_F32, &WL_DIMS(FACTS, x->dims.d[0]));
    struct wl_step *s = wl_simd_step_emit(p, n, "forward", WL_TRAIN | WL_EVAL, forward_run);
    wl_step_reads(p, s, x);
    wl_step_reads(p, s, labels);
    wl_step_writes(p, s, loss);
    wl_step_writes(p, s, facts);
    p->saved[n->out->id] = (struct wl_saved) { .buf = { x, labels, facts } };
    return 0;
}

/* ---- backward: uses logits, labels, facts, dx ---- */

static int backward_run(const struct wl_step *s, const struct wl_run *r, struct wl_err *e)
{
    (void)r;
    (void)e;
    const struct wl_buf *x = s->uses[0].buf, *dx = s->uses[3].buf;
    const int64_t n = x->dims.d[0], k = x->dims.d[1];
    const int32_t *labels = s->uses[1].buf->at;
    const float *facts = s->uses[2].buf->at;
    int64_t seen = 0;
    for (int64_t i = 0; i < n; i++) seen += labels[i] >= 0;
    const float scale = seen ? (float)(s->node->u.loss.weight / (double)seen) : 0;
#pragma omp parallel for schedule(static)
    for (int64_t i = 0; i < n; i++) {
        if (labels[i] < 0)
            memset(row_at(dx, i), 0, (size_t)k * wl_dtype_bytes(dx->dtype));
        else
            wl_simd_step_loops(x)->entropy_backward(k, row_at(x, i), facts[LOG_SUM * n + i], labels[i], scale,
                                                    row_at(dx, i));
    }
    return 0;
}

/* Overwrites the logits, unless others read them. */
static int backward(struct wl_program *p, const struct wl_node *n, struct wl_err *e)
{
    const struct wl_saved *saved = &p->saved[n->out->id];
    struct wl_buf *x = saved->buf[0],
                  *dx = wl_may_overwrite(p, n->in[0]) ? x : wl_buf_plain(p, WL_MEM_VALUE, x->dtype, &x->dims);
    struct wl_step *s = wl_simd_step_emit(p, n, "backward", WL_TRAIN, backward_run);
    wl_step_reads(p, s, x);
    wl_step_reads(p, s, saved->buf[1]);
    wl_step_reads(p, s, saved->buf[2]);
    wl_step_writes(p, s, dx);
    return wl_cpu_gradient_add(p, n, n->in[0], dx, e);
}

const struct wl_op_rules wl_cpu_op_cross_entropy = { forward, backward };
