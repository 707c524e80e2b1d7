/* Rows of tables. Gradients are added by columns, each thread taking some of them for all rows in their order:
 * without locks, and the same for any number of threads. */
#include "nn/cpu/simd_step.h"

#include <string.h>

static int embedding_run(const struct wl_step *s, const struct wl_run *r, struct wl_err *e)
{
    (void)e;
    const int64_t *y = s->node->out->dims.d, n = y[0] * y[1], f = y[2];
    const int32_t *tokens = s->uses[0].buf->at;
    const struct wl_simd_loops *rows = wl_simd_step_loops(s->uses[4].buf);
    const size_t size = wl_dtype_bytes(s->uses[4].buf->dtype);
    const float *word = wl_use_at(s, r, 1), *position = wl_use_at(s, r, 2), *segment = wl_use_at(s, r, 3);
    char *to = s->uses[4].buf->at;
#pragma omp parallel for schedule(static)
    for (int64_t i = 0; i < n; i++)
        rows->sum3(f, word + tokens[i] * f, position + i % y[1] * f, segment, to + (size_t)(i * f) * size);
    return 0;
}

static int forward(struct wl_program *p, const struct wl_node *n, struct wl_err *e)
{
    (void)e;
    struct wl_buf *y = wl_buf_value(p, &n->out->dims), *table[3];
    for (int i = 0; i < 3; i++)
        table[i] = wl_buf_param(p, n->par[i], NULL, (size_t)wl_dims_count(&n->par[i]->dims) * sizeof(float));
    struct wl_step *s = wl_simd_step_emit(p, n, "forward", WL_TRAIN | WL_EVAL, embedding_run);
    wl_step_reads(p, s, p->value[n->in[0]->id]);
    for (int i = 0; i < 3; i++) wl_step_reads(p, s, table[i]);
    wl_step_writes(p, s, y);
    p->value[n->out->id] = y;
    return 0;
}

/* Columns [from, from + n) of the gradients of an embedding. */
struct columns {
    const int32_t *tokens;
    const char *dy;
    size_t size;        /* bytes of an element of dy */
    float *table[3];    /* words, positions, segments */
    int64_t rows, s, f; /* rows of dy, of a sample, features */
    const struct wl_simd_loops *loops;
};

static void add_columns(const struct columns *c, int64_t from, int64_t n)
{
    for (int64_t i = 0; i < c->rows; i++) {
        const char *row = c->dy + (size_t)(i * c->f + from) * c->size;
        c->loops->add_row(n, row, c->table[0] + c->tokens[i] * c->f + from);
        c->loops->add_row(n, row, c->table[1] + i % c->s * c->f + from);
    }
    for (int64_t i = 0; i < c->s; i++)
        wl_simd()->of[WL_F32]->add_row(n, c->table[1] + i * c->f + from, c->table[2] + from);
}

/* A decoder has written the first table's gradient already, where there is one: `context` then says that this adds to
 * it.
 */
static int embedding_backward_run(const struct wl_step *s, const struct wl_run *r, struct wl_err *e)
{
    (void)e;
    const int64_t *y = s->node->out->dims.d;
    const struct wl_buf *dy = s->uses[1].buf;
    struct columns c = { .tokens = s->uses[0].buf->at,
                         .dy = dy->at,
                         .size = wl_dtype_bytes(dy->dtype),
                         .rows = y[0] * y[1],
                         .s = y[1],
                         .f = y[2],
                         .loops = wl_simd_step_loops(dy) };
    for (int i = 0; i < 3; i++) {
        c.table[i] = wl_use_at(s, r, 2 + i);
        if (i || !s->context) memset(c.table[i], 0, s->uses[2 + i].buf->bytes);
    }
    const int parts = omp_get_max_threads();
#pragma omp parallel for schedule(static)
    for (int i = 0; i < parts; i++) {
        int64_t from = wl_simd_step_column_cut(c.f, i, parts);
        add_columns(&c, from, wl_simd_step_column_cut(c.f, i + 1, parts) - from);
    }
    return 0;
}

static int backward(struct wl_program *p, const struct wl_node *n, struct wl_err *e)
{
    (void)e;
    struct wl_buf *word = p->gradient[n->par[0]->id];
    const bool tied = word->first >= 0;
    struct wl_step *s = wl_simd_step_emit(p, n, "backward", WL_TRAIN, embedding_backward_run);
    s->context = tied ? word : NULL;
    wl_step_reads(p, s, p->value[n->in[0]->id]);
    wl_step_reads(p, s, p->gradient[n->out->id]);
    if (tied)
        wl_step_accumulates(p, s, word);
    else
        wl_step_writes(p, s, word);
    for (int i = 1; i < 3; i++) wl_step_writes(p, s, p->gradient[n->par[i]->id]);
    wl_gradient_done(p, n->out);
    return 0;
}

const struct wl_op_rules wl_cpu_op_embed_tokens = { forward, backward };
