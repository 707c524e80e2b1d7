/* Block-diagonal layers of complex numbers: products that fit a cache, so those of nn/simd with the activation fused.
 */
#include "nn/cpu/simd_step.h"

#include <string.h>

enum {
    ROWS = 480, /* of one task at most: a few of the blocks that the kernels work in */
    PARTS = 4,  /* of the rows, whose sums for the weights' gradient are separate: a fixed number, so that bits do not
                   depend on threads */
};

static int64_t min(int64_t a, int64_t b) { return a < b ? a : b; }

static struct wl_complex_layer layer(const struct wl_node *n, const struct wl_complex_size *v)
{
    const struct wl_complex *c = &n->u.complex;
    return (struct wl_complex_layer) { .in = v->in, .out = v->out, .relu = c->relu, .shrink = (float)c->shrink };
}

/* Rows of a task: the same number for all, so that threads are evenly loaded. */
static int64_t rows_of_task(const struct wl_complex_size *v)
{
    const int64_t tasks = (v->rows + ROWS - 1) / ROWS;
    return (v->rows + tasks - 1) / tasks;
}

/* Floats of a block's packed weights, transposed or not. */
static int64_t packed_floats(const struct wl_complex_size *v)
{
    const int64_t forward = v->in * WL_SIMD_COMPLEX_ROUND(v->out), back = v->out * WL_SIMD_COMPLEX_ROUND(v->in);
    return 3 * (forward > back ? forward : back);
}

/* Of all threads, for a step. */
static struct wl_buf *rows_scratch(struct wl_program *p, const struct wl_complex_size *v)
{
    const int64_t forward = WL_SIMD_COMPLEX_SCRATCH(v->in, v->out), back = WL_SIMD_COMPLEX_SCRATCH(v->out, v->in);
    return wl_simd_step_scratch(p, (size_t)(forward > back ? forward : back) * sizeof(float));
}

static float *use(const struct wl_step *s, const struct wl_run *r, int i) { return wl_use_at(s, r, i); }

/* ---- weights as the kernels read them ---- */

static void pack(const struct wl_step *s, const struct wl_run *r, bool transposed)
{
    const struct wl_complex_size v = wl_complex_size(s->node);
    const struct wl_simd *simd = wl_simd();
    const float *w = use(s, r, 0);
    float *packed = use(s, r, 1), *scratch = use(s, r, 2);
    const int64_t size = v.in * v.out;
    const int64_t stride = packed_floats(&v);
#pragma omp parallel for schedule(static)
    for (int64_t b = 0; b < v.blocks; b++)
        simd->complex_pack(w + b * size, w + (v.blocks + b) * size, v.in, v.out, transposed, scratch + b * size,
                           packed + b * stride);
}

static int pack_run(const struct wl_step *s, const struct wl_run *r, struct wl_err *e)
{
    (void)e;
    pack(s, r, false);
    return 0;
}

static int pack_back_run(const struct wl_step *s, const struct wl_run *r, struct wl_err *e)
{
    (void)e;
    pack(s, r, true);
    return 0;
}

static struct wl_buf *floats(struct wl_program *p, int64_t n)
{
    return wl_buf_plain(p, WL_MEM_VALUE, WL_F32, &WL_DIMS(n));
}

static struct wl_buf *emit_pack(struct wl_program *p, const struct wl_node *n, bool back)
{
    const struct wl_complex_size v = wl_complex_size(n);
    struct wl_buf *packed = floats(p, v.blocks * packed_floats(&v));
    struct wl_step *s = wl_step_emit(p, n, "weights", WL_TRAIN | WL_EVAL, back ? pack_back_run : pack_run);
    wl_step_reads(p, s, p->value[n->par[0]->id]);
    wl_step_writes(p, s, packed);
    wl_step_writes(p, s, floats(p, v.blocks * v.in * v.out));
    return packed;
}

/* ---- forward ---- */

static int forward_run(const struct wl_step *s, const struct wl_run *r, struct wl_err *e)
{
    (void)e;
    const struct wl_complex_size v = wl_complex_size(s->node);
    const struct wl_simd *simd = wl_simd();
    const int64_t stride = packed_floats(&v);
    const int64_t rows = rows_of_task(&v), chunks = (v.rows + rows - 1) / rows, x_step = 2 * v.in * v.blocks,
                  y_step = 2 * v.out * v.blocks;
    const float *x = use(s, r, 0), *packed = use(s, r, 1), *bias = use(s, r, 2);
    float *y = use(s, r, 3), *own_bias = use(s, r, 4);
    const struct wl_buf *scratch = s->uses[5].buf;
#pragma omp parallel for schedule(static)
    for (int64_t b = 0; b < v.blocks; b++)
        for (int i = 0; i < 2; i++)
            memcpy(own_bias + (2 * b + i) * v.out, bias + (i * v.blocks + b) * v.out, (size_t)v.out * sizeof *bias);
#pragma omp parallel for schedule(static)
    for (int64_t i = 0; i < chunks * v.blocks; i++) {
        const int64_t b = i % v.blocks, from = i / v.blocks * rows;
        struct wl_complex_layer l = layer(s->node, &v);
        l.packed = packed + b * stride;
        l.bias = own_bias + 2 * b * v.out;
        simd->complex_rows(&l, min(v.rows - from, rows), x + from * x_step + 2 * b * v.in, x_step,
                           y + from * y_step + 2 * b * v.out, y_step, wl_simd_step_thread_scratch(scratch));
    }
    return 0;
}

static struct wl_buf *plain_param(struct wl_program *p, const struct wl_tensor *t)
{
    return wl_buf_param(p, t, NULL, (size_t)wl_dims_count(&t->dims) * sizeof(float));
}

static int complex_linear_forward(struct wl_program *p, const struct wl_node *n, struct wl_err *e)
{
    const struct wl_complex_size v = wl_complex_size(n);
    struct wl_buf *x, *b = plain_param(p, n->par[1]);
    plain_param(p, n->par[0]);
    int rc = wl_lower_plain_value(p, n, n->in[0], &x, e);
    if (rc) return rc;
    struct wl_buf *y = p->value[n->out->id] = wl_buf_plain(p, WL_MEM_VALUE, WL_F32, &n->out->dims);
    p->saved[n->out->id].buf[0] = x;
    struct wl_buf *packed = emit_pack(p, n, false);
    struct wl_step *s = wl_step_emit(p, n, "forward", WL_TRAIN | WL_EVAL, forward_run);
    wl_step_reads(p, s, x);
    wl_step_reads(p, s, packed);
    wl_step_reads(p, s, b);
    wl_step_writes(p, s, y);
    wl_step_writes(p, s, floats(p, wl_dims_count(&n->par[1]->dims)));
    wl_step_writes(p, s, rows_scratch(p, &v));
    return 0;
}

/* ---- backward ---- */

static int data_run(const struct wl_step *s, const struct wl_run *r, struct wl_err *e)
{
    (void)e;
    const struct wl_complex_size v = wl_complex_size(s->node);
    const struct wl_simd *simd = wl_simd();
    const int64_t stride = packed_floats(&v);
    const int64_t rows = rows_of_task(&v), chunks = (v.rows + rows - 1) / rows, x_step = 2 * v.in * v.blocks,
                  y_step = 2 * v.out * v.blocks;
    const float *y = use(s, r, 0), *dy = use(s, r, 1), *packed = use(s, r, 2);
    float *g = use(s, r, 3), *dx = s->n_uses > 5 ? use(s, r, 5) : NULL;
    const struct wl_buf *scratch = s->uses[4].buf;
#pragma omp parallel for schedule(static)
    for (int64_t i = 0; i < chunks * v.blocks; i++) {
        const int64_t b = i % v.blocks, from = i / v.blocks * rows, at = from * y_step + 2 * b * v.out;
        struct wl_complex_layer l = layer(s->node, &v);
        l.packed = packed + b * stride;
        simd->complex_rows_back(&l, min(v.rows - from, rows), y + at, dy + at, g + at, y_step,
                                dx ? dx + from * x_step + 2 * b * v.in : NULL, x_step,
                                wl_simd_step_thread_scratch(scratch));
    }
    return 0;
}

static int64_t sums_of_part(const struct wl_complex_size *v) { return 3 * v->in * v->out + 2 * v->out; }

/* The parts' sums of a block, added up in order, become its gradients. */
static void fold(const struct wl_step *s, const struct wl_complex_size *v, int64_t b, float *sums, float *dw, float *db)
{
    const int64_t n = sums_of_part(v), size = v->in * v->out;
    float *total = sums + b * PARTS * n;
    for (int64_t p = 1; p < PARTS; p++)
        for (int64_t i = 0; i < n; i++) total[i] += total[p * n + i];
    const struct wl_complex_layer l = layer(s->node, v);
    wl_simd()->complex_fold(&l, total, dw + b * size, dw + (v->blocks + b) * size);
    for (int i = 0; i < 2; i++)
        memcpy(db + (i * v->blocks + b) * v->out, total + 3 * size + i * v->out, (size_t)v->out * sizeof *db);
}

static int weights_run(const struct wl_step *s, const struct wl_run *r, struct wl_err *e)
{
    (void)e;
    const struct wl_complex_size v = wl_complex_size(s->node);
    const struct wl_simd *simd = wl_simd();
    const int64_t part = (v.rows + PARTS - 1) / PARTS, x_step = 2 * v.in * v.blocks, y_step = 2 * v.out * v.blocks;
    const float *x = use(s, r, 0), *g = use(s, r, 1);
    float *sums = use(s, r, 4), *dw = use(s, r, 2), *db = use(s, r, 3);
    const struct wl_buf *scratch = s->uses[5].buf;
#pragma omp parallel for schedule(dynamic)
    for (int64_t i = 0; i < v.blocks * PARTS; i++) {
        const int64_t b = i / PARTS, from = min(i % PARTS * part, v.rows), to = min(from + part, v.rows);
        const struct wl_complex_layer l = layer(s->node, &v);
        simd->complex_weights(&l, to - from, x + from * x_step + 2 * b * v.in, x_step,
                              g + from * y_step + 2 * b * v.out, y_step, sums + i * sums_of_part(&v),
                              wl_simd_step_thread_scratch(scratch));
    }
#pragma omp parallel for schedule(static)
    for (int64_t b = 0; b < v.blocks; b++) fold(s, &v, b, sums, dw, db);
    return 0;
}

static int complex_linear_backward(struct wl_program *p, const struct wl_node *n, struct wl_err *e)
{
    const struct wl_complex_size v = wl_complex_size(n);
    struct wl_buf *x = p->saved[n->out->id].buf[0], *y = p->value[n->out->id], *dy = p->gradient[n->out->id];
    struct wl_buf *packed = emit_pack(p, n, true), *g = wl_buf_like(p, y), *dx = NULL;
    struct wl_step *s = wl_step_emit(p, n, "backward data", WL_TRAIN, data_run);
    wl_step_reads(p, s, y);
    wl_step_reads(p, s, dy);
    wl_step_reads(p, s, packed);
    wl_step_writes(p, s, g);
    wl_step_writes(p, s, rows_scratch(p, &v));
    if (n->in[0]->gradient) wl_step_writes(p, s, dx = wl_buf_plain(p, WL_MEM_VALUE, WL_F32, &n->in[0]->dims));
    s = wl_step_emit(p, n, "backward weights", WL_TRAIN, weights_run);
    wl_step_reads(p, s, x);
    wl_step_reads(p, s, g);
    wl_step_writes(p, s, p->gradient[n->par[0]->id]);
    wl_step_writes(p, s, p->gradient[n->par[1]->id]);
    wl_step_writes(p, s, floats(p, v.blocks * PARTS * sums_of_part(&v)));
    wl_step_writes(p, s, rows_scratch(p, &v));
    wl_gradient_done(p, n->out);
    return dx ? wl_gradient_add_plain(p, n, n->in[0], dx, e) : 0;
}

const struct wl_op_rules wl_cpu_op_complex_linear = { complex_linear_forward, complex_linear_backward };
