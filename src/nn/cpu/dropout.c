/* Dropout: wl_ref_dropout on values as they are, f32 or bf16. On large arrays it takes about 1.5 times as long as a
 * pass that only scales (bench/dropout.c), so the backward pass redraws the mask instead of keeping it. */
#include "nn/cpu/simd_step.h"

#include <string.h>

enum { PART = 64 * WL_DROP_GROUP }; /* of a sample; 32 KiB in f32 */

/* Uses x, scratch, y. */
static int run(const struct wl_step *s, const struct wl_run *r, struct wl_err *e)
{
    (void)e;
    const struct wl_buf *x = s->uses[0].buf, *y = s->uses[2].buf;
    const struct wl_simd_loops *rows = wl_simd_step_loops(x);
    const struct wl_dropout d = wl_dropout_in_run(s->context, r);
    const struct wl_dropout_mask mask = wl_simd_step_mask(&d);
    const size_t size = wl_dtype_bytes(x->dtype);
    const int64_t parts = (d.f + PART - 1) / PART;
#pragma omp parallel for schedule(static)
    for (int64_t i = 0; i < d.n * parts; i++) {
        int64_t row = i / parts, from = i % parts * PART, n = d.f - from < PART ? d.f - from : PART;
        size_t at = (size_t)(row * d.f + from) * size;
        rows->dropout(&mask, d.sample + row, from, n, (const char *)x->at + at, (char *)y->at + at,
                      wl_simd_step_thread_scratch(s->uses[1].buf));
    }
    return 0;
}

static int copy_run(const struct wl_step *s, const struct wl_run *r, struct wl_err *e)
{
    (void)r;
    (void)e;
    memcpy(s->uses[1].buf->at, s->uses[0].buf->at, s->uses[0].buf->bytes);
    return 0;
}

static struct wl_buf *plain_like(struct wl_program *p, const struct wl_buf *b)
{
    return wl_buf_plain(p, WL_MEM_VALUE, b->dtype, &b->dims);
}

static void emit(struct wl_program *p, const struct wl_node *n, const char *pass, struct wl_buf *from,
                 struct wl_buf *to)
{
    const struct wl_dims *x = &n->in[0]->dims;
    struct wl_dropout *drop = wl_new(p->arena, struct wl_dropout);
    *drop = wl_dropout_of(p, n, n->u.drop, x->d[0], wl_dims_count(x) / x->d[0]);
    struct wl_step *s = wl_simd_step_emit(p, n, pass, WL_TRAIN, run);
    s->context = drop;
    wl_step_reads(p, s, from);
    wl_step_writes(p, s, wl_simd_step_scratch(p, (PART + WL_DROPOUT_MASK_SLACK) * sizeof(uint16_t)));
    wl_step_writes(p, s, to);
}

static int plain(struct wl_program *p, const struct wl_node *n, struct wl_buf *from, struct wl_buf **out,
                 struct wl_err *e)
{
    wl_md md;
    *out = from;
    if (!from->layout) return 0;
    int rc = wl_md_plain(wl_cpu_of(p), &md, from->dtype, &from->dims, e);
    return rc ? rc : wl_cpu_in_layout(p, n, from, md, out, e);
}

static int forward(struct wl_program *p, const struct wl_node *n, struct wl_err *e)
{
    struct wl_buf *x;
    int rc = plain(p, n, p->value[n->in[0]->id], &x, e);
    if (rc) return rc;
    struct wl_buf *y = p->value[n->out->id] = plain_like(p, x);
    if (p->train) emit(p, n, "forward", x, y);
    struct wl_step *s = wl_simd_step_emit(p, n, "forward", WL_EVAL, copy_run);
    wl_step_reads(p, s, x);
    wl_step_writes(p, s, y);
    return 0;
}

static int backward(struct wl_program *p, const struct wl_node *n, struct wl_err *e)
{
    struct wl_buf *dy = p->gradient[n->out->id], *dx = plain_like(p, dy);
    emit(p, n, "backward", dy, dx);
    int rc = wl_cpu_gradient_add(p, n, n->in[0], dx, e);
    if (!rc) wl_gradient_done(p, n->out);
    return rc;
}

const struct wl_op_rules wl_cpu_op_dropout = { forward, backward };
