#include "nn/cpu/simd_step.h"

#include <string.h>

/* Of sample i in bytes: its rows in x, and those of y. */
struct sample {
    char *x, *y;
    const int32_t *positions;
    int64_t s, p;
    size_t row;
};

static struct sample sample_of(const struct wl_step *s, const struct wl_buf *x, const struct wl_buf *y, int64_t i)
{
    const int64_t *d = s->node->in[0]->dims.d, positions = s->node->in[1]->dims.d[1];
    const size_t row = (size_t)d[2] * wl_dtype_bytes(x->dtype);
    return (struct sample) { .x = (char *)x->at + (size_t)(i * d[1]) * row,
                             .y = (char *)y->at + (size_t)(i * positions) * row,
                             .positions = (const int32_t *)s->uses[1].buf->at + i * positions,
                             .s = d[1],
                             .p = positions,
                             .row = row };
}

static int gather_run(const struct wl_step *s, const struct wl_run *r, struct wl_err *e)
{
    (void)e;
    (void)r;
    const int64_t *d = s->node->in[0]->dims.d;
    for (int64_t i = 0; i < d[0]; i++) {
        const struct sample o = sample_of(s, s->uses[0].buf, s->uses[2].buf, i);
        for (int64_t k = 0; k < o.p; k++) memcpy(o.y + (size_t)k * o.row, o.x + (size_t)o.positions[k] * o.row, o.row);
    }
    return 0;
}

/* Rows that are not read get 0. Many unused entries of `positions` may name the same row, so rows are added. */
static int gather_backward_run(const struct wl_step *s, const struct wl_run *r, struct wl_err *e)
{
    (void)r;
    (void)e;
    const int64_t *d = s->node->in[0]->dims.d;
    const struct wl_buf *dx = s->uses[2].buf;
#pragma omp parallel for schedule(static)
    for (int64_t i = 0; i < d[0]; i++) {
        const struct sample o = sample_of(s, dx, s->uses[0].buf, i);
        memset(o.x, 0, (size_t)o.s * o.row);
        for (int64_t k = 0; k < o.p; k++) {
            char *to = o.x + (size_t)o.positions[k] * o.row;
            wl_simd_step_loops(dx)->add(d[2], o.y + (size_t)k * o.row, to, to);
        }
    }
    return 0;
}

static int forward(struct wl_program *p, const struct wl_node *n, struct wl_err *e)
{
    (void)e;
    struct wl_buf *y = wl_buf_value(p, &n->out->dims);
    struct wl_step *s = wl_simd_step_emit(p, n, "forward", WL_TRAIN | WL_EVAL, gather_run);
    wl_step_reads(p, s, p->value[n->in[0]->id]);
    wl_step_reads(p, s, p->value[n->in[1]->id]);
    wl_step_writes(p, s, y);
    p->value[n->out->id] = y;
    return 0;
}

static int backward(struct wl_program *p, const struct wl_node *n, struct wl_err *e)
{
    struct wl_buf *dx = wl_buf_like(p, p->value[n->in[0]->id]);
    struct wl_step *s = wl_simd_step_emit(p, n, "backward", WL_TRAIN, gather_backward_run);
    wl_step_reads(p, s, p->gradient[n->out->id]);
    wl_step_reads(p, s, p->value[n->in[1]->id]);
    wl_step_writes(p, s, dx);
    int rc = wl_gradient_add(p, n, n->in[0], dx, e);
    wl_gradient_done(p, n->out);
    return rc;
}

const struct wl_op_rules wl_cpu_op_gather = { forward, backward };
