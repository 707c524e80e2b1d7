/* Attention by sample and head, in tiles of queries, whose scores stay in the cache and are recomputed in the backward
 * pass: memory grows with the sequence, not with its square (Dao et al. 2022, arXiv:2205.14135; docs/adr/101). Heads
 * are spread over the threads; the products within one are oneDNN's, on one thread, on copies of the heads.
 */
#include "nn/cpu/simd_step.h"

#include <math.h>
#include <string.h>

enum { TILE = 128 }; /* queries; scores of 512 keys take 256 KiB in f32 */

/* With queries in tiles of T: scores [T,S] = rows [T,f] of one times all rows of another; rows [T,f] = scores times
 * rows; rows [S,f] += scores' times rows. The last tile may be shorter. */
enum product { SCORES, ROWS, BACK, PRODUCTS };
enum { ARGS = 4 }; /* of a product: src, weights, dst, scratch */

struct compiled {
    dnnl_primitive_t primitive;
    wl_md md[ARGS];
};

struct attention {
    struct wl_cpu *cpu;
    struct wl_heads h;
    struct wl_dropout drop;
    enum wl_dtype type;
    struct compiled products[2][PRODUCTS];      /* of whole tiles, and of the rest */
    dnnl_memory_t (*memory)[2][PRODUCTS][ARGS]; /* by thread */
    dnnl_stream_t *stream;
    size_t work_bytes; /* of the largest product */
};

/* ---- compiling ---- */

static void destroy_primitive(void *primitive) { dnnl_primitive_destroy(primitive); }
static void destroy_memory(void *memory) { dnnl_memory_destroy(memory); }
static void destroy_stream(void *stream) { dnnl_stream_destroy(stream); }

static int describe(const struct attention *a, enum product which, int64_t tile, struct wl_product *shape,
                    struct wl_err *e)
{
    const int64_t m = which == BACK ? a->h.s : tile, n = which == SCORES ? a->h.s : a->h.f;
    const int64_t k = which == SCORES ? a->h.f : which == ROWS ? a->h.s : tile;
    *shape = (struct wl_product) { .add = which == BACK };
    int rc = wl_md_matrix(a->cpu, &shape->src, a->type, m, k, which == BACK, e);
    if (!rc) rc = wl_md_matrix(a->cpu, &shape->weights, a->type, k, n, which == SCORES, e);
    if (!rc) rc = wl_md_matrix(a->cpu, &shape->dst, which == ROWS ? a->type : WL_F32, m, n, false, e);
    return rc;
}

static int compile(struct attention *a, enum product which, bool rest, int64_t tile, const char **name,
                   struct wl_err *e)
{
    struct compiled *c = &a->products[rest][which];
    struct wl_product shape;
    dnnl_primitive_desc_t pd;
    int rc = describe(a, which, tile, &shape, e);
    if (!rc) rc = wl_pd_product(a->cpu, &pd, &shape, e);
    if (!rc) rc = wl_cpu_primitive_new(&c->primitive, pd, "attention", e);
    if (rc) return rc;
    wl_defer(a->cpu->arena, destroy_primitive, c->primitive);
    const wl_md md[ARGS] = { shape.src, shape.weights, shape.dst, wl_pd_md(pd, DNNL_ARG_SCRATCHPAD) };
    memcpy(c->md, md, sizeof md);
    if (md[3] && wl_md_bytes(md[3]) > a->work_bytes) a->work_bytes = wl_md_bytes(md[3]);
    *name = wl_pd_implementation(pd);
    return 0;
}

static int open_thread(struct attention *a, int thread, struct wl_err *e)
{
    int rc = wl_dnnl_check(dnnl_stream_create(&a->stream[thread], a->cpu->engine, dnnl_stream_in_order), "stream", e);
    if (rc) return rc;
    wl_defer(a->cpu->arena, destroy_stream, a->stream[thread]);
    for (int i = 0; i < 2 * PRODUCTS * ARGS; i++) {
        const wl_md md = a->products[i / ARGS / PRODUCTS][i / ARGS % PRODUCTS].md[i % ARGS];
        dnnl_memory_t *to = &a->memory[thread][i / ARGS / PRODUCTS][i / ARGS % PRODUCTS][i % ARGS];
        if (!md) continue;
        rc = wl_dnnl_check(dnnl_memory_create(to, md, a->cpu->engine, DNNL_MEMORY_NONE), "memory", e);
        if (rc) return rc;
        wl_defer(a->cpu->arena, destroy_memory, *to);
    }
    return 0;
}

/* Each for one thread: heads are spread over the threads. */
static int compile_all(struct attention *a, const char **name, struct wl_err *e)
{
    const int64_t tile = a->h.s < TILE ? a->h.s : TILE, rest = a->h.s % tile;
    const int threads = omp_get_max_threads();
    int rc = 0;
    omp_set_num_threads(1);
    for (int which = 0; which < PRODUCTS && !rc; which++) {
        if (rest) rc = compile(a, (enum product)which, true, rest, name, e);
        if (!rc) rc = compile(a, (enum product)which, false, tile, name, e);
    }
    omp_set_num_threads(threads);
    a->memory = (void *)wl_new_array(a->cpu->arena, dnnl_memory_t, (size_t)threads * 2 * PRODUCTS * ARGS);
    a->stream = wl_new_array(a->cpu->arena, dnnl_stream_t, (size_t)threads);
    for (int i = 0; i < threads && !rc; i++) rc = open_thread(a, i, e);
    return rc;
}

static int open_attention(struct wl_program *p, const struct wl_node *n, struct attention **out, const char **name,
                          struct wl_err *e)
{
    struct attention *a = *out = wl_new(p->arena, struct attention);
    a->cpu = wl_cpu_of(p);
    a->h = wl_heads_of(n);
    a->type = p->precision;
    a->drop = wl_dropout_of(p, n, n->u.attention.drop, a->h.n, a->h.heads * a->h.s * a->h.s);
    return compile_all(a, name, e);
}

/* ---- a thread's memory ---- */

/* Dense copies of the rows of one head, a tile's scores and their gradient, and the probabilities. In f32 the
 * probabilities overwrite the scores. */
struct scratch {
    char *q, *k, *v, *dy, *rows; /* [S,f], rows [TILE,f] */
    float *scores, *dscores;     /* [TILE,S] */
    char *p, *ds;                /* [TILE,S] */
    float *dk, *dv;              /* [S,f] */
    uint16_t *numbers;
    void *work;
};

static char *take(char **at, size_t bytes)
{
    char *here = *at;
    *at += (bytes + WL_ALIGN - 1) / WL_ALIGN * WL_ALIGN;
    return here;
}

/* Assigns the scratch from `at` on; returns its bytes. */
static size_t assign_scratch(struct scratch *r, const struct attention *a, bool backward, char *at)
{
    const size_t size = wl_dtype_bytes(a->type), head = (size_t)(a->h.s * a->h.f), tile = (size_t)(TILE * a->h.s);
    const bool is_f32 = a->type == WL_F32;
    char *start = at;
    r->q = take(&at, head * size);
    r->k = take(&at, head * size);
    r->v = take(&at, head * size);
    r->rows = take(&at, (size_t)(TILE * a->h.f) * size);
    r->scores = (float *)take(&at, tile * sizeof(float));
    r->p = is_f32 ? (char *)r->scores : take(&at, tile * size);
    r->numbers = (uint16_t *)take(&at, ((size_t)a->h.s + WL_DROPOUT_MASK_SLACK) * sizeof(uint16_t));
    r->work = take(&at, a->work_bytes);
    if (backward) {
        r->dy = take(&at, head * size);
        r->dscores = (float *)take(&at, tile * sizeof(float));
        r->ds = is_f32 ? (char *)r->dscores : take(&at, tile * size);
        r->dk = (float *)take(&at, head * sizeof(float));
        r->dv = (float *)take(&at, head * sizeof(float));
    }
    return (size_t)(at - start);
}

static struct wl_buf *room_for(struct wl_program *p, const struct attention *a, bool backward)
{
    struct scratch r;
    static char nowhere; /* only differences of addresses are used */
    return wl_simd_step_scratch(p, assign_scratch(&r, a, backward, &nowhere));
}

/* ---- running ---- */

/* What one thread works on: a head of a sample. */
struct job {
    const struct attention *a;
    struct scratch scratch;
    struct wl_softmax_rows rows;
    const struct wl_simd_loops *loops;
    size_t size;      /* bytes of an element */
    int64_t features; /* D, of all heads */
    dnnl_status_t status;
};

static void product(struct job *j, enum product which, const void *x, const void *y, void *to)
{
    const bool rest = j->rows.n != (j->a->h.s < TILE ? j->a->h.s : TILE);
    const struct compiled *c = &j->a->products[rest][which];
    dnnl_memory_t *memory = j->a->memory[omp_get_thread_num()][rest][which];
    void *const at[ARGS] = { (void *)x, (void *)y, to, j->scratch.work };
    static const int arg[ARGS] = { DNNL_ARG_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_DST, DNNL_ARG_SCRATCHPAD };
    dnnl_exec_arg_t args[ARGS];
    const int n = c->md[3] ? ARGS : ARGS - 1;
    for (int i = 0; i < n && !j->status; i++) {
        j->status = dnnl_memory_set_data_handle(memory[i], at[i]);
        args[i] = (dnnl_exec_arg_t) { arg[i], memory[i] };
    }
    if (!j->status) j->status = dnnl_primitive_execute(c->primitive, j->a->stream[omp_get_thread_num()], n, args);
}

/* Copies rows of a head between their place among all heads, where they are `step` elements apart, and a dense matrix.
 */
static void collect(const struct job *j, const char *from, int64_t step, char *to, int64_t n)
{
    const size_t row = (size_t)j->a->h.f * j->size;
    for (int64_t i = 0; i < n; i++) memcpy(to + (size_t)i * row, from + (size_t)(i * step) * j->size, row);
}

static void spread(const struct job *j, const char *from, char *to, int64_t step, int64_t n)
{
    const size_t row = (size_t)j->a->h.f * j->size;
    for (int64_t i = 0; i < n; i++) memcpy(to + (size_t)(i * step) * j->size, from + (size_t)i * row, row);
}

static struct job job_of(const struct wl_step *s, const struct wl_run *r, int64_t i, const struct wl_buf *scratch,
                         bool backward)
{
    const struct attention *a = s->context;
    const struct wl_dropout d = wl_dropout_in_run(&a->drop, r);
    const int64_t sample = i / a->h.heads;
    const int32_t length = ((const int32_t *)s->uses[1].buf->at)[sample];
    struct job j = {
        .a = a, .loops = wl_simd()->of[a->type], .size = wl_dtype_bytes(a->type), .features = a->h.heads * a->h.f
    };
    j.rows = (struct wl_softmax_rows) { .sample = d.sample + sample,
                                        .head = i % a->h.heads,
                                        .s = a->h.s,
                                        .length = length < 0        ? 0
                                                  : length < a->h.s ? length
                                                                    : a->h.s,
                                        .scale = (float)(1 / sqrt((double)a->h.f)),
                                        .mask = wl_simd_step_mask(&d) };
    assign_scratch(&j.scratch, a, backward, wl_simd_step_thread_scratch(scratch));
    j.rows.numbers = j.scratch.numbers;
    return j;
}

/* Where this head's rows begin in an array [N,S,features]. */
static char *head_at(const struct job *j, const struct wl_buf *b, int64_t i, int64_t features)
{
    const struct wl_heads *h = &j->a->h;
    return (char *)b->at + (size_t)(i / h->heads * h->s * features + i % h->heads * h->f) * j->size;
}

static void collect_qkv(struct job *j, const char *x)
{
    const size_t part = (size_t)j->features * j->size;
    collect(j, x, 3 * j->features, j->scratch.q, j->a->h.s);
    collect(j, x + part, 3 * j->features, j->scratch.k, j->a->h.s);
    collect(j, x + 2 * part, 3 * j->features, j->scratch.v, j->a->h.s);
}

/* Advances to the next tile. */
static bool next_tile(struct job *j)
{
    const int64_t s = j->a->h.s;
    j->rows.from += j->rows.n;
    j->rows.n = s - j->rows.from < TILE ? s - j->rows.from : TILE;
    return j->rows.n > 0 && !j->status;
}

static char *tile_of(const struct job *j, char *rows) { return rows + (size_t)(j->rows.from * j->a->h.f) * j->size; }

static void forward(struct job *j, const char *x, char *y, float *log_sum)
{
    const struct scratch *r = &j->scratch;
    collect_qkv(j, x);
    while (next_tile(j)) {
        product(j, SCORES, tile_of(j, r->q), r->k, r->scores);
        j->loops->softmax(&j->rows, r->scores, r->p, log_sum ? log_sum + j->rows.from : NULL);
        product(j, ROWS, r->p, r->v, r->rows);
        spread(j, r->rows, y + (size_t)(j->rows.from * j->features) * j->size, j->features, j->rows.n);
    }
}

static void spread_f32(const struct job *j, const float *from, char *to, int64_t step)
{
    for (int64_t i = 0; i < j->a->h.s; i++)
        j->loops->narrow(j->a->h.f, from + i * j->a->h.f, to + (size_t)(i * step) * j->size);
}

static void backward(struct job *j, const char *x, const char *dy, char *dx, const float *log_sum)
{
    const struct scratch *r = &j->scratch;
    const size_t part = (size_t)j->features * j->size, wide_head = (size_t)(j->a->h.s * j->a->h.f) * sizeof(float);
    const int64_t step = 3 * j->features;
    collect_qkv(j, x);
    collect(j, dy, j->features, r->dy, j->a->h.s);
    memset(r->dk, 0, wide_head);
    memset(r->dv, 0, wide_head);
    while (next_tile(j)) {
        product(j, SCORES, tile_of(j, r->q), r->k, r->scores);
        product(j, SCORES, tile_of(j, r->dy), r->v, r->dscores);
        j->loops->softmax_backward(&j->rows, r->scores, r->dscores, log_sum + j->rows.from, r->p, r->ds);
        product(j, BACK, r->p, tile_of(j, r->dy), r->dv);
        product(j, BACK, r->ds, tile_of(j, r->q), r->dk);
        product(j, ROWS, r->ds, r->k, r->rows);
        spread(j, r->rows, dx + (size_t)(j->rows.from * step) * j->size, step, j->rows.n);
    }
    spread_f32(j, r->dk, dx + part, step);
    spread_f32(j, r->dv, dx + 2 * part, step);
}

/* ---- rules ---- */

/* Uses x, lengths, y, scratch, then the logarithms of sums in a plan that trains. */
static int forward_run(const struct wl_step *s, const struct wl_run *r, struct wl_err *e)
{
    const struct attention *a = s->context;
    float *log_sum = r->training ? s->uses[4].buf->at : NULL;
    int status = dnnl_success;
#pragma omp parallel for schedule(static) reduction(max : status)
    for (int64_t i = 0; i < a->h.n * a->h.heads; i++) {
        struct job j = job_of(s, r, i, s->uses[3].buf, false);
        forward(&j, head_at(&j, s->uses[0].buf, i, 3 * j.features), head_at(&j, s->uses[2].buf, i, j.features),
                log_sum ? log_sum + i * a->h.s : NULL);
        status = (int)j.status > status ? (int)j.status : status;
    }
    return wl_dnnl_check((dnnl_status_t)status, "attention", e);
}

static int attention_forward(struct wl_program *p, const struct wl_node *n, struct wl_err *e)
{
    struct attention *a;
    const char *name;
    int rc = open_attention(p, n, &a, &name, e);
    if (rc) return rc;
    struct wl_buf *y = p->value[n->out->id] = wl_buf_value(p, &n->out->dims);
    struct wl_step *s = wl_simd_step_emit(p, n, "forward", WL_TRAIN | WL_EVAL, forward_run);
    s->context = a;
    s->implementation = wl_strf(p->arena, "%s, %s", s->implementation, name);
    p->saved[n->out->id].context = a;
    wl_step_reads(p, s, p->value[n->in[0]->id]);
    wl_step_reads(p, s, p->value[n->in[1]->id]);
    wl_step_writes(p, s, y);
    wl_step_writes(p, s, room_for(p, a, false));
    if (!p->train) return 0;
    struct wl_buf *log_sum = wl_buf_plain(p, WL_MEM_VALUE, WL_F32, &WL_DIMS(a->h.n, a->h.heads, a->h.s));
    p->saved[n->out->id].buf[0] = log_sum;
    wl_step_writes(p, s, log_sum);
    return 0;
}

/* Uses x, lengths, dy, logarithms, dx, scratch. */
static int backward_run(const struct wl_step *s, const struct wl_run *r, struct wl_err *e)
{
    const struct attention *a = s->context;
    const float *log_sum = s->uses[3].buf->at;
    int status = dnnl_success;
#pragma omp parallel for schedule(static) reduction(max : status)
    for (int64_t i = 0; i < a->h.n * a->h.heads; i++) {
        struct job j = job_of(s, r, i, s->uses[5].buf, true);
        backward(&j, head_at(&j, s->uses[0].buf, i, 3 * j.features), head_at(&j, s->uses[2].buf, i, j.features),
                 head_at(&j, s->uses[4].buf, i, 3 * j.features), log_sum + i * a->h.s);
        status = (int)j.status > status ? (int)j.status : status;
    }
    return wl_dnnl_check((dnnl_status_t)status, "attention, backward", e);
}

static int attention_backward(struct wl_program *p, const struct wl_node *n, struct wl_err *e)
{
    const struct wl_saved *saved = &p->saved[n->out->id];
    const struct attention *a = saved->context;
    struct wl_buf *x = p->value[n->in[0]->id], *dx = wl_buf_like(p, x);
    struct wl_step *s = wl_simd_step_emit(p, n, "backward", WL_TRAIN, backward_run);
    s->context = (void *)a;
    wl_step_reads(p, s, x);
    wl_step_reads(p, s, p->value[n->in[1]->id]);
    wl_step_reads(p, s, p->gradient[n->out->id]);
    wl_step_reads(p, s, saved->buf[0]);
    wl_step_writes(p, s, dx);
    wl_step_writes(p, s, room_for(p, a, true));
    int rc = wl_gradient_add(p, n, n->in[0], dx, e);
    wl_gradient_done(p, n->out);
    return rc;
}

const struct wl_op_rules wl_cpu_op_attention = { attention_forward, attention_backward };
