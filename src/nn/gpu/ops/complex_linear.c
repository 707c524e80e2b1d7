/* complex_linear: products of real matrices twice as wide, a batch of one for each block; all in f32. */
#include "nn/gpu/blas/blas.h"
#include "nn/gpu/kernels/complex.h"
#include "nn/gpu/layout.h"
#include "nn/gpu/ops/column_sums.h"
#include "nn/graph/shapes.h"
#include "nn/lowering/lowering.h"

struct complex_step {
    struct wl_gpu_kernel kernel, sum_parts;
    struct wl_gpu_column_parts parts;
    struct wl_complex_size size;
    float shrink;
};

static int new_step(struct wl_program *p, const struct wl_node *n, const char *kernel, struct complex_step **out,
                    struct wl_err *e)
{
    struct complex_step *c = *out = wl_new(p->arena, struct complex_step);
    c->size = wl_complex_size(n);
    c->shrink = (float)n->u.complex.shrink;
    return wl_gpu_kernel(wl_gpu_of(p), kernel, &c->kernel, e);
}

static void runs(struct wl_step *s, struct complex_step *c)
{
    s->context = c;
    s->implementation = c->kernel.name;
}

static struct wl_buf *floats(struct wl_program *p, int64_t n)
{
    return wl_buf_plain(p, WL_MEM_VALUE, WL_F32, &WL_DIMS(n));
}

static int64_t wide_floats(const struct wl_complex_size *v) { return 4 * v->blocks * v->in * v->out; }

static int64_t columns_of(const struct wl_complex_size *v) { return 2 * v->blocks * v->out; }

/* ---- matrices of a batch: rows of all blocks next to each other; wide matrices one after the other ---- */

static struct wl_gpu_matrix rows(const struct wl_complex_size *v, struct wl_buf *b, int64_t features)
{
    return (struct wl_gpu_matrix) {
        .buf = b, .rows = v->rows, .columns = 2 * features, .ld = 2 * features * v->blocks, .stride = 2 * features
    };
}

static struct wl_gpu_matrix wide(const struct wl_complex_size *v, struct wl_buf *b)
{
    return (struct wl_gpu_matrix) { .buf = b, .rows = 2 * v->in, .columns = 2 * v->out };
}

static struct wl_gpu_matrix transposed(struct wl_gpu_matrix m)
{
    m.transposed = true;
    return m;
}

/* ---- forward ---- */

static int weights_run(const struct wl_step *s, const struct wl_run *r, struct wl_err *e)
{
    const struct complex_step *c = s->context;
    const struct wl_complex_size *v = &c->size;
    const struct wl_gpu_complex_weights args = { .w = wl_use_at(s, r, 0),
                                                 .to = wl_use_at(s, r, 1),
                                                 .blocks = (int32_t)v->blocks,
                                                 .in = (int32_t)v->in,
                                                 .out = (int32_t)v->out };
    const struct wl_gpu_grid grid = wl_gpu_grid_for(c->kernel.gpu, wide_floats(v), 256, 1);
    return WL_GPU_LAUNCH(&c->kernel, &grid, &args, e);
}

static int emit_weights(struct wl_program *p, const struct wl_node *n, struct wl_buf *w, struct wl_buf **out,
                        struct wl_err *e)
{
    struct complex_step *c;
    int rc = new_step(p, n, "complex_weights", &c, e);
    if (rc) return rc;
    *out = floats(p, wide_floats(&c->size));
    runs(wl_step_emit_uses(p, n, "weights", WL_TRAIN | WL_EVAL, weights_run, WL_BUFS(w), WL_BUFS(*out)), c);
    return 0;
}

static int activate_run(const struct wl_step *s, const struct wl_run *r, struct wl_err *e)
{
    enum { ROWS = 8, MOST = 1024 }; /* rows of a block at a time; blocks */
    const struct complex_step *c = s->context;
    const struct wl_complex_size *v = &c->size;
    const struct wl_gpu_complex_activate args = { .y = wl_use_at(s, r, 1),
                                                  .bias = wl_use_at(s, r, 0),
                                                  .rows = v->rows,
                                                  .blocks = (int32_t)v->blocks,
                                                  .out = (int32_t)v->out,
                                                  .shrink = c->shrink };
    const int64_t y = (v->rows + ROWS - 1) / ROWS;
    const struct wl_gpu_grid grid = { .x = (unsigned)((columns_of(v) + 255) / 256),
                                      .y = (unsigned)(y < MOST ? y : MOST),
                                      .threads = 256 };
    return WL_GPU_LAUNCH(&c->kernel, &grid, &args, e);
}

static int emit_activation(struct wl_program *p, const struct wl_node *n, struct wl_buf *y, struct wl_err *e)
{
    struct complex_step *c;
    int rc = new_step(p, n, "complex_activate", &c, e);
    if (rc) return rc;
    struct wl_step *s = wl_step_emit(p, n, "activation", WL_TRAIN | WL_EVAL, activate_run);
    wl_step_reads(p, s, wl_lower_plain_param(p, n->par[1]));
    wl_step_writes(p, s, y);
    runs(s, c);
    return 0;
}

static int forward(struct wl_program *p, const struct wl_node *n, struct wl_err *e)
{
    const struct wl_complex_size v = wl_complex_size(n);
    struct wl_buf *x, *y = wl_buf_plain(p, WL_MEM_VALUE, WL_F32, &n->out->dims), *w;
    int rc = wl_lower_plain_value(p, n, n->in[0], &x, e);
    if (!rc) rc = emit_weights(p, n, wl_lower_plain_param(p, n->par[0]), &w, e);
    if (rc) return rc;
    const struct wl_gpu_product product = {
        .a = rows(&v, x, v.in), .b = wide(&v, w), .c = rows(&v, y, v.out), .batch = v.blocks
    };
    rc = wl_gpu_product(p, n, "forward", WL_TRAIN | WL_EVAL, &product, e);
    if (!rc) rc = emit_activation(p, n, y, e);
    p->value[n->out->id] = y;
    p->saved[n->out->id] = (struct wl_saved) { .buf = { x, w } };
    return rc;
}

/* ---- backward ---- */

/* Uses y, dy, g, parts, sums. */
static int mask_run(const struct wl_step *s, const struct wl_run *r, struct wl_err *e)
{
    const struct complex_step *c = s->context;
    const struct wl_gpu_complex_mask args = { .y = wl_use_at(s, r, 0),
                                              .dy = wl_use_at(s, r, 1),
                                              .g = wl_use_at(s, r, 2),
                                              .parts = wl_use_at(s, r, 3),
                                              .rows = c->size.rows,
                                              .f = columns_of(&c->size),
                                              .of_part = c->parts.of_part };
    const struct wl_gpu_grid grid = wl_gpu_column_parts_grid(&c->parts, args.f);
    int rc = WL_GPU_LAUNCH(&c->kernel, &grid, &args, e);
    return rc ? rc : wl_gpu_sum_column_parts(&c->sum_parts, &c->parts, args.f, args.parts, wl_use_at(s, r, 4), e);
}

static int emit_mask(struct wl_program *p, const struct wl_node *n, struct wl_buf *g, struct wl_buf **sums,
                     struct wl_err *e)
{
    struct complex_step *c;
    int rc = new_step(p, n, "complex_mask", &c, e);
    if (!rc) rc = wl_gpu_kernel(wl_gpu_of(p), "sum_parts", &c->sum_parts, e);
    if (rc) return rc;
    const int64_t f = columns_of(&c->size);
    c->parts = wl_gpu_column_parts(c->size.rows, f);
    *sums = floats(p, f);
    runs(wl_step_emit_uses(p, n, "activation, backward", WL_TRAIN, mask_run,
                           WL_BUFS(p->value[n->out->id], p->gradient[n->out->id]),
                           WL_BUFS(g, wl_gpu_column_parts_buf(p, &c->parts, f), *sums)),
         c);
    return 0;
}

/* Uses dw2, sums, dw, db. */
static int fold_run(const struct wl_step *s, const struct wl_run *r, struct wl_err *e)
{
    const struct complex_step *c = s->context;
    const struct wl_complex_size *v = &c->size;
    const struct wl_gpu_complex_fold args = { .dw2 = wl_use_at(s, r, 0),
                                              .sums = wl_use_at(s, r, 1),
                                              .dw = wl_use_at(s, r, 2),
                                              .db = wl_use_at(s, r, 3),
                                              .blocks = (int32_t)v->blocks,
                                              .in = (int32_t)v->in,
                                              .out = (int32_t)v->out };
    const struct wl_gpu_grid grid = wl_gpu_grid_for(c->kernel.gpu, wide_floats(v) / 4, 256, 1);
    return WL_GPU_LAUNCH(&c->kernel, &grid, &args, e);
}

static int backward_weights(struct wl_program *p, const struct wl_node *n, struct wl_buf *g, struct wl_buf *sums,
                            struct wl_err *e)
{
    const struct wl_complex_size v = wl_complex_size(n);
    struct wl_buf *dw = floats(p, wide_floats(&v));
    struct complex_step *c;
    const struct wl_gpu_product product = { .a = transposed(rows(&v, p->saved[n->out->id].buf[0], v.in)),
                                            .b = rows(&v, g, v.out),
                                            .c = wide(&v, dw),
                                            .batch = v.blocks };
    int rc = wl_gpu_product(p, n, "backward weights", WL_TRAIN, &product, e);
    if (!rc) rc = new_step(p, n, "complex_fold", &c, e);
    if (rc) return rc;
    runs(wl_step_emit_uses(p, n, "weights, backward", WL_TRAIN, fold_run, WL_BUFS(dw, sums),
                           WL_BUFS(p->gradient[n->par[0]->id], p->gradient[n->par[1]->id])),
         c);
    return 0;
}

static int backward_data(struct wl_program *p, const struct wl_node *n, struct wl_buf *g, struct wl_err *e)
{
    const struct wl_complex_size v = wl_complex_size(n);
    struct wl_buf *dx = wl_buf_plain(p, WL_MEM_VALUE, WL_F32, &n->in[0]->dims);
    const struct wl_gpu_product product = { .a = rows(&v, g, v.out),
                                            .b = transposed(wide(&v, p->saved[n->out->id].buf[1])),
                                            .c = rows(&v, dx, v.in),
                                            .batch = v.blocks };
    int rc = wl_gpu_product(p, n, "backward data", WL_TRAIN, &product, e);
    return rc ? rc : wl_gpu_gradient_add(p, n, n->in[0], dx, e);
}

static int backward(struct wl_program *p, const struct wl_node *n, struct wl_err *e)
{
    struct wl_buf *dy = p->gradient[n->out->id], *sums;
    struct wl_buf *g = wl_gradient_last_holder(p, n->out) ? dy : wl_buf_like(p, dy);
    int rc = emit_mask(p, n, g, &sums, e);
    if (!rc) rc = backward_weights(p, n, g, sums, e);
    if (!rc && n->in[0]->gradient) rc = backward_data(p, n, g, e);
    if (!rc) wl_gradient_done(p, n->out);
    return rc;
}

const struct wl_op_rules wl_gpu_op_complex_linear = { forward, backward };
