/* Rows of tables. The gradient of the words is the sum of the rows of each token: tokens are sorted on the device,
 * since a token may be anywhere in the micro-batch, and one that is frequent is spread over many warps. Sorting costs
 * less than the zeros of a table of 30,522 words do (94 MB, where the table has no decoder that writes them). */
#include "nn/gpu/kernels/tokens.h"

#include "nn/gpu/gpu.h"
#include "nn/gpu/kernels/fields.h"
#include "nn/gpu/kernels/sums.h"
#include "nn/lowering/lowering.h"

struct embedding {
    struct wl_gpu *gpu;
    struct wl_gpu_kernel forward, zero, order, sums, runs, pieces, columns, parts;
    struct wl_embedding_size size;
    bool tied; /* a decoder has written the gradient of the words before */
};

static struct embedding *open_embedding(struct wl_program *p, const struct wl_node *n)
{
    const int64_t *y = n->out->dims.d;
    struct embedding *o = wl_new(p->arena, struct embedding);
    o->gpu = wl_gpu_of(p);
    o->size = (struct wl_embedding_size) { .n = y[0] * y[1], .s = y[1], .f = y[2] };
    return o;
}

/* A warp for each of n pieces of work. */
static struct wl_gpu_grid warps(const struct embedding *o, int64_t n)
{
    struct wl_gpu_grid g = wl_gpu_grid_for(o->gpu, n, WL_GPU_TOKEN_WARPS, 1);
    g.threads = WL_GPU_TOKEN_THREADS;
    return g;
}

/* Of the table of words: a row for each token, at most. */
static size_t words_bytes(const struct embedding *o, const struct wl_buf *table)
{
    const size_t rows = (size_t)(o->size.n * o->size.f) * sizeof(float);
    return rows < table->bytes ? rows : table->bytes;
}

/* ---- forward: uses tokens, words, positions, segments, y ---- */

static int forward_run(const struct wl_step *s, const struct wl_run *r, struct wl_err *e)
{
    (void)r;
    const struct embedding *o = s->context;
    const struct wl_gpu_embed_tokens args = { .tokens = s->uses[0].buf->at,
                                              .word = s->uses[1].buf->at,
                                              .position = s->uses[2].buf->at,
                                              .segment = s->uses[3].buf->at,
                                              .y = s->uses[4].buf->at,
                                              .n = o->size.n,
                                              .s = (int32_t)o->size.s,
                                              .f = (int32_t)o->size.f };
    const struct wl_gpu_grid g = warps(o, o->size.n);
    return WL_GPU_LAUNCH(&o->forward, &g, &args, e);
}

static int forward(struct wl_program *p, const struct wl_node *n, struct wl_err *e)
{
    struct embedding *o = open_embedding(p, n);
    struct wl_buf *y = p->value[n->out->id] = wl_buf_value(p, &n->out->dims), *table[3];
    for (int i = 0; i < 3; i++) table[i] = wl_lower_plain_param(p, n->par[i]);
    struct wl_step *s = wl_step_emit_uses(p, n, "forward", WL_TRAIN | WL_EVAL, forward_run,
                                          WL_BUFS(p->value[n->in[0]->id], table[0], table[1], table[2]), WL_BUFS(y));
    s->context = o;
    s->uses[1].moved_bytes = words_bytes(o, table[0]);
    return wl_gpu_kernel_of(o->gpu, "embed_tokens", p->precision, &o->forward, e);
}

/* ---- backward: uses tokens, dy, order, sorted, parts, parts of the segment, then the gradients of words, positions
 * and segments ---- */

enum { TOKENS, DY, ORDER, SORTED, PARTS, SEGMENT_PARTS, WORDS, POSITIONS, SEGMENTS };

static int zero(const struct embedding *o, float *to, size_t bytes, struct wl_err *e)
{
    const struct wl_gpu_zero args = { .to = to, .n = (int64_t)(bytes / sizeof(float)) };
    const struct wl_gpu_grid g = wl_gpu_grid_for(o->gpu, args.n, WL_GPU_TOKEN_THREADS, 4);
    return WL_GPU_LAUNCH(&o->zero, &g, &args, e);
}

static int sort_tokens(const struct wl_step *s, struct wl_err *e)
{
    const struct embedding *o = s->context;
    const struct wl_gpu_token_order args = { .tokens = s->uses[TOKENS].buf->at,
                                             .order = s->uses[ORDER].buf->at,
                                             .sorted = s->uses[SORTED].buf->at,
                                             .n = o->size.n };
    const struct wl_gpu_grid g = warps(o, o->size.n);
    return WL_GPU_LAUNCH(&o->order, &g, &args, e);
}

static int64_t chunks(const struct embedding *o) { return (o->size.n + WL_GPU_TOKEN_CHUNK - 1) / WL_GPU_TOKEN_CHUNK; }

static int sum_words(const struct wl_step *s, const struct wl_run *r, struct wl_err *e)
{
    const struct embedding *o = s->context;
    const struct wl_gpu_token_sums args = { .order = s->uses[ORDER].buf->at,
                                            .sorted = s->uses[SORTED].buf->at,
                                            .dy = s->uses[DY].buf->at,
                                            .dword = wl_step_use_f32(s, r, WORDS),
                                            .parts = s->uses[PARTS].buf->at,
                                            .n = o->size.n,
                                            .f = (int32_t)o->size.f,
                                            .add = o->tied };
    const struct wl_gpu_grid g = warps(o, chunks(o) * ((o->size.f + WL_GPU_TOKEN_COLUMNS - 1) / WL_GPU_TOKEN_COLUMNS));
    int rc = WL_GPU_LAUNCH(&o->sums, &g, &args, e);
    return rc ? rc : WL_GPU_LAUNCH(&o->runs, &g, &args, e);
}

/* dposition = the sum of dy over the samples. */
static int sum_positions(const struct wl_step *s, const struct wl_run *r, struct wl_err *e)
{
    const struct embedding *o = s->context;
    const int64_t size = o->size.s * o->size.f;
    const struct wl_gpu_sum_pieces args = { .x = s->uses[DY].buf->at,
                                            .to = wl_step_use_f32(s, r, POSITIONS),
                                            .n = o->size.n / o->size.s,
                                            .size = size,
                                            .room = (int64_t)(s->uses[POSITIONS].buf->bytes / sizeof(float)) };
    const struct wl_gpu_grid g = wl_gpu_grid_for(o->gpu, size, WL_GPU_FIELD_THREADS, 8);
    return WL_GPU_LAUNCH(&o->pieces, &g, &args, e);
}

/* dsegment[0] = the sum of dposition over the positions. */
static int sum_segment(const struct wl_step *s, const struct wl_run *r, struct wl_err *e)
{
    const struct embedding *o = s->context;
    const struct wl_gpu_column_sums columns = { .x = wl_step_use_f32(s, r, POSITIONS),
                                                .parts = s->uses[SEGMENT_PARTS].buf->at,
                                                .rows = o->size.s,
                                                .f = o->size.f,
                                                .of_part = WL_GPU_SUM_ROWS };
    const struct wl_gpu_sum_parts parts = { .parts = columns.parts,
                                            .to = wl_step_use_f32(s, r, SEGMENTS),
                                            .n = (o->size.s + WL_GPU_SUM_ROWS - 1) / WL_GPU_SUM_ROWS,
                                            .size = o->size.f };
    const struct wl_gpu_grid by_columns = { .x = (unsigned)((o->size.f + WL_GPU_SUM_COLUMNS - 1) / WL_GPU_SUM_COLUMNS),
                                            .y = (unsigned)parts.n,
                                            .threads = 256 };
    const struct wl_gpu_grid by_32 = { .x = (unsigned)((o->size.f + 31) / 32), .threads = 256 };
    int rc = WL_GPU_LAUNCH(&o->columns, &by_columns, &columns, e);
    return rc ? rc : WL_GPU_LAUNCH(&o->parts, &by_32, &parts, e);
}

static int backward_run(const struct wl_step *s, const struct wl_run *r, struct wl_err *e)
{
    const struct embedding *o = s->context;
    int rc = 0;
    if (!o->tied) rc = zero(o, wl_step_use_f32(s, r, WORDS), s->uses[WORDS].buf->bytes, e);
    if (!rc) rc = sort_tokens(s, e);
    if (!rc) rc = sum_words(s, r, e);
    if (!rc) rc = sum_positions(s, r, e);
    if (!rc) rc = zero(o, wl_step_use_f32(s, r, SEGMENTS), s->uses[SEGMENTS].buf->bytes, e);
    return rc ? rc : sum_segment(s, r, e);
}

static int open_kernels(struct wl_program *p, struct embedding *o, struct wl_err *e)
{
    int rc = wl_gpu_kernel(o->gpu, "zero_floats", &o->zero, e);
    if (!rc) rc = wl_gpu_kernel(o->gpu, "token_order", &o->order, e);
    if (!rc) rc = wl_gpu_kernel_of(o->gpu, "token_sums", p->precision, &o->sums, e);
    if (!rc) rc = wl_gpu_kernel(o->gpu, "token_runs", &o->runs, e);
    if (!rc) rc = wl_gpu_kernel_of(o->gpu, "sum_pieces", p->precision, &o->pieces, e);
    if (!rc) rc = wl_gpu_kernel_of(o->gpu, "column_sums", WL_F32, &o->columns, e);
    return rc ? rc : wl_gpu_kernel(o->gpu, "sum_parts", &o->parts, e);
}

static int backward(struct wl_program *p, const struct wl_node *n, struct wl_err *e)
{
    struct embedding *o = open_embedding(p, n);
    struct wl_buf *word = p->gradient[n->par[0]->id];
    const int64_t segment_parts = (o->size.s + WL_GPU_SUM_ROWS - 1) / WL_GPU_SUM_ROWS;
    o->tied = word->first >= 0;
    struct wl_step *s =
        wl_step_emit_uses(p, n, "backward", WL_TRAIN, backward_run,
                          WL_BUFS(p->value[n->in[0]->id], p->gradient[n->out->id]),
                          WL_BUFS(wl_buf_plain(p, WL_MEM_VALUE, WL_I32, &WL_DIMS(o->size.n)),
                                  wl_buf_plain(p, WL_MEM_VALUE, WL_I32, &WL_DIMS(o->size.n)),
                                  wl_buf_plain(p, WL_MEM_VALUE, WL_F32, &WL_DIMS(chunks(o), 2, o->size.f)),
                                  wl_buf_plain(p, WL_MEM_VALUE, WL_F32, &WL_DIMS(segment_parts, o->size.f))));
    s->context = o;
    if (o->tied)
        wl_step_accumulates(p, s, word);
    else
        wl_step_writes(p, s, word);
    if (o->tied) s->uses[WORDS].moved_bytes = 2 * words_bytes(o, word);
    for (int i = 1; i < 3; i++) wl_step_writes(p, s, p->gradient[n->par[i]->id]);
    wl_gradient_done(p, n->out);
    return open_kernels(p, o, e);
}

const struct wl_op_rules wl_gpu_op_embed_tokens = { forward, backward };
