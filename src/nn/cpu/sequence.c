/* embed_tokens and gather: rows of tables. Gradients are added up by columns, each thread taking some of them for all
 * rows in their order: without locks, and the same for any number of threads. */
#include "nn/cpu/simd_step.h"

#include <string.h>

/* ---- embed_tokens ---- */

static int embedding_run(const struct wl_step *s, const struct wl_run *r, struct wl_err *e)
{
    const struct wl_token_tables *how = &s->node->u.tables;
    const int64_t *y = s->node->out->dims.d, n = y[0] * y[1], f = y[2];
    const int32_t *tokens = s->uses[0].buf->at;
    const struct wl_simd_loops *rows = wl_simd_step_loops(s->uses[4].buf);
    const size_t each = wl_dtype_bytes(s->uses[4].buf->dtype);
    const float *word = wl_use_at(s, r, 1), *position = wl_use_at(s, r, 2), *segment = wl_use_at(s, r, 3);
    char *to = s->uses[4].buf->at;
    int rc = wl_lower_check_index("token", "rows of the table", tokens, n, y[0], how->vocabulary, e);
    if (rc) return rc;
#pragma omp parallel for schedule(static)
    for (int64_t i = 0; i < n; i++)
        rows->sum3(f, word + tokens[i] * f, position + i % y[1] * f, segment, to + (size_t)(i * f) * each);
    return 0;
}

int wl_cpu_embed_tokens_forward(struct wl_program *p, const struct wl_node *n, struct wl_err *e)
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
    size_t each;        /* bytes of an element of dy */
    float *table[3];    /* words, positions, segments */
    int64_t rows, s, f; /* rows of dy, of a sample, features */
    const struct wl_simd_loops *how;
};

static void add_columns(const struct columns *c, int64_t from, int64_t n)
{
    for (int64_t i = 0; i < c->rows; i++) {
        const char *row = c->dy + (size_t)(i * c->f + from) * c->each;
        c->how->add_row(n, row, c->table[0] + c->tokens[i] * c->f + from);
        c->how->add_row(n, row, c->table[1] + i % c->s * c->f + from);
    }
    for (int64_t i = 0; i < c->s; i++)
        wl_simd()->of[WL_F32]->add_row(n, c->table[1] + i * c->f + from, c->table[2] + from);
}

/* A decoder has written the first table's gradient already, where there is one: `own` then says that this adds to it.
 */
static int embedding_backward_run(const struct wl_step *s, const struct wl_run *r, struct wl_err *e)
{
    (void)e;
    const int64_t *y = s->node->out->dims.d;
    const struct wl_buf *dy = s->uses[1].buf;
    struct columns c = { .tokens = s->uses[0].buf->at,
                         .dy = dy->at,
                         .each = wl_dtype_bytes(dy->dtype),
                         .rows = y[0] * y[1],
                         .s = y[1],
                         .f = y[2],
                         .how = wl_simd_step_loops(dy) };
    for (int i = 0; i < 3; i++) {
        c.table[i] = wl_use_at(s, r, 2 + i);
        if (i || !s->own) memset(c.table[i], 0, s->uses[2 + i].buf->bytes);
    }
    const int parts = omp_get_max_threads();
#pragma omp parallel for schedule(static)
    for (int i = 0; i < parts; i++) {
        int64_t from = wl_simd_step_column_cut(c.f, i, parts);
        add_columns(&c, from, wl_simd_step_column_cut(c.f, i + 1, parts) - from);
    }
    return 0;
}

int wl_cpu_embed_tokens_backward(struct wl_program *p, const struct wl_node *n, struct wl_err *e)
{
    (void)e;
    struct wl_buf *word = p->gradient[n->par[0]->id];
    const bool tied = word->first >= 0;
    struct wl_step *s = wl_simd_step_emit(p, n, "backward", WL_TRAIN, embedding_backward_run);
    s->own = tied ? word : NULL;
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

/* ---- gather ---- */

/* Of sample i in bytes: its rows in x, and those of y. */
struct sample {
    char *x, *y;
    const int32_t *positions;
    int64_t s, p;
    size_t row;
};

static struct sample sample_of(const struct wl_step *s, const struct wl_buf *x, const struct wl_buf *y, int64_t i)
{
    const int64_t *d = s->node->in[0]->dims.d, places = s->node->in[1]->dims.d[1];
    const size_t row = (size_t)d[2] * wl_dtype_bytes(x->dtype);
    return (struct sample) { .x = (char *)x->at + (size_t)(i * d[1]) * row,
                             .y = (char *)y->at + (size_t)(i * places) * row,
                             .positions = (const int32_t *)s->uses[1].buf->at + i * places,
                             .s = d[1],
                             .p = places,
                             .row = row };
}

static int gather_run(const struct wl_step *s, const struct wl_run *r, struct wl_err *e)
{
    (void)r;
    const int64_t *d = s->node->in[0]->dims.d, places = s->node->in[1]->dims.d[1];
    int rc = wl_lower_check_index("position", "of its sequence", s->uses[1].buf->at, d[0] * places, d[0], d[1], e);
    for (int64_t i = 0; i < d[0] && !rc; i++) {
        const struct sample o = sample_of(s, s->uses[0].buf, s->uses[2].buf, i);
        for (int64_t k = 0; k < o.p; k++) memcpy(o.y + (size_t)k * o.row, o.x + (size_t)o.positions[k] * o.row, o.row);
    }
    return rc;
}

/* Rows that are not read get 0. Of places that are not used many may stand at one position, so rows are added. */
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

int wl_cpu_gather_forward(struct wl_program *p, const struct wl_node *n, struct wl_err *e)
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

int wl_cpu_gather_backward(struct wl_program *p, const struct wl_node *n, struct wl_err *e)
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
