/* project and decoder: rows times a matrix. The matrix is held plain in f32, so that its parts are runs of memory and
 * its gradient is written as a product gives it. For many rows each pass copies it into the blocks that its kernel
 * prefers (rounded in bf16), which takes 2 to 5 % of the product's time and makes that up to 20 % faster. For few rows
 * bf16 has one plain copy for both passes, whose kernels copy parts of it in the cache: two passes over a matrix would
 * take longer than the products gain. Where they apply, bf16 has the products of gemm_bf16.c instead (project_bf16.c).
 *
 * GELU overwrites its argument with its derivative, and the product that follows multiplies by that as it writes the
 * gradient, where it alone reads the result: which saves one pass over memory. A product whose input has a gradient
 * already adds to that. */
#include "nn/cpu/project.h"

static struct wl_buf *plain_param(struct wl_program *p, const struct wl_tensor *t)
{
    return wl_buf_param(p, t, NULL, (size_t)wl_dims_count(&t->dims) * sizeof(float));
}

enum { FEW_ROWS = 2048 };

/* The layout in which a product wants the matrix, as [f,k] for the forward pass (`transposed`) or as [k,f] for the
 * backward pass. */
static int weights_layout(struct wl_program *p, const struct wl_project_shape *s, bool transposed, wl_md *out,
                          struct wl_err *e)
{
    const int64_t rows = transposed ? s->f : s->k, columns = transposed ? s->k : s->f;
    if (p->precision == WL_BF16 && s->m < FEW_ROWS)
        return wl_md_matrix(wl_cpu_of(p), out, p->precision, rows, columns, transposed, e);
    return wl_md_any(wl_cpu_of(p), out, p->precision, &WL_DIMS(rows, columns), e);
}

/* The bf16 copy for both passes, which the first one makes. */
static int shared_copy(struct wl_program *p, const struct wl_node *n, struct wl_buf *w, struct wl_buf **out,
                       struct wl_err *e)
{
    struct wl_buf **saved = &p->saved[n->out->id].buf[1];
    *out = *saved;
    if (*saved) return 0;
    *out = *saved = wl_buf_value(p, &w->dims);
    return wl_cpu_reorder(p, n, w, *saved, e);
}

/* What a product reads of the matrix: the parameter, or a copy. */
static int weights(struct wl_program *p, const struct wl_node *n, bool transposed, const_dnnl_primitive_desc_t product,
                   struct wl_buf **out, struct wl_err *e)
{
    const struct wl_project_shape s = wl_project_shape(n);
    const int64_t rows = transposed ? s.f : s.k, columns = transposed ? s.k : s.f;
    const wl_md want = wl_pd_md(product, DNNL_ARG_WEIGHTS);
    wl_md master, plain;
    dnnl_primitive_desc_t pd;
    struct wl_buf *w = *out = plain_param(p, wl_project_weight(n));
    int rc = wl_md_matrix(wl_cpu_of(p), &master, WL_F32, rows, columns, transposed, e);
    if (!rc) rc = wl_md_matrix(wl_cpu_of(p), &plain, p->precision, rows, columns, transposed, e);
    if (rc || wl_md_equal(master, want)) return rc;
    if (wl_md_equal(plain, want)) return shared_copy(p, n, w, out, e);
    rc = wl_pd_reorder(wl_cpu_of(p), &pd, master, want, e);
    if (rc) return rc;
    *out = wl_cpu_buf(p, want, &WL_DIMS(rows, columns));
    p->reorders++;
    return wl_cpu_emit(p, n, "reorder", WL_TRAIN | WL_EVAL, pd,
                       (struct wl_cpu_arg[]) { { DNNL_ARG_FROM, w, false }, { DNNL_ARG_TO, *out, true }, { 0 } }, e);
}

/* ---- forward ---- */

static int gelu_run(const struct wl_step *s, const struct wl_run *r, struct wl_err *e)
{
    (void)e;
    enum { PART = 1 << 13 };
    const struct wl_buf *u = s->uses[0].buf, *y = s->uses[1].buf;
    const struct wl_simd_loops *rows = wl_simd_step_loops(u);
    const int64_t n = wl_dims_count(&s->node->out->dims);
    const size_t size = wl_dtype_bytes(u->dtype);
#pragma omp parallel for schedule(static)
    for (int64_t at = 0; at < n; at += PART) {
        char *x = (char *)u->at + (size_t)at * size;
        rows->gelu(n - at < PART ? n - at : PART, x, (char *)y->at + (size_t)at * size, r->training ? x : NULL);
    }
    return 0;
}

static void gelu(struct wl_program *p, const struct wl_node *n, struct wl_buf *u, struct wl_buf *y)
{
    struct wl_step *s = wl_simd_step_emit(p, n, "gelu", WL_TRAIN | WL_EVAL, gelu_run);
    wl_step_reads(p, s, u);
    wl_step_writes(p, s, y);
    wl_step_writes(p, s, u); /* the derivative */
}

static int forward_product(struct wl_program *p, const struct wl_node *n, dnnl_primitive_desc_t *pd, struct wl_err *e)
{
    const struct wl_project_shape s = wl_project_shape(n);
    struct wl_cpu *c = wl_cpu_of(p);
    struct wl_product product = { 0 };
    int rc = wl_md_matrix(c, &product.src, p->precision, s.m, s.f, false, e);
    if (!rc) rc = weights_layout(p, &s, true, &product.weights, e);
    if (!rc && wl_project_bias(n)) rc = wl_md_matrix(c, &product.bias, WL_F32, 1, s.k, false, e);
    if (!rc) rc = wl_md_matrix(c, &product.dst, p->precision, s.m, s.k, false, e);
    return rc ? rc : wl_pd_product(c, pd, &product, e);
}

/* u: what gelu reads, or y. */
static int forward(struct wl_program *p, const struct wl_node *n, struct wl_buf *b, struct wl_buf *u, struct wl_err *e)
{
    struct wl_buf *w;
    dnnl_primitive_desc_t pd;
    int rc = forward_product(p, n, &pd, e);
    if (!rc) rc = weights(p, n, true, pd, &w, e);
    if (rc) return rc;
    return wl_cpu_emit(p, n, "forward", WL_TRAIN | WL_EVAL, pd,
                       (struct wl_cpu_arg[]) { { DNNL_ARG_SRC, p->value[n->in[0]->id], false },
                                               { DNNL_ARG_WEIGHTS, w, false },
                                               { DNNL_ARG_BIAS, b, false },
                                               { DNNL_ARG_DST, u, true },
                                               { 0 } },
                       e);
}

static int project_forward(struct wl_program *p, const struct wl_node *n, struct wl_err *e)
{
    struct wl_buf *w = plain_param(p, wl_project_weight(n)), *y = wl_buf_value(p, &n->out->dims);
    struct wl_buf *b = wl_project_bias(n) ? plain_param(p, wl_project_bias(n)) : NULL;
    struct wl_buf *u = wl_project_gelu(n) ? wl_buf_like(p, y) : NULL;
    p->value[n->out->id] = y;
    p->saved[n->out->id].buf[0] = p->value[n->in[0]->id];
    p->saved[n->out->id].buf[2] = u;
    if (wl_project_uses_gemm_bf16(p, n)) {
        wl_project_bf16_forward(p, n, w, b, y, p->train ? u : NULL);
        return 0;
    }
    int rc = forward(p, n, b, u ? u : y, e);
    if (!rc && u) gelu(p, n, u, y);
    return rc;
}

/* ---- backward ---- */

static int multiply_run(const struct wl_step *s, const struct wl_run *r, struct wl_err *e)
{
    (void)r;
    (void)e;
    enum { PART = 1 << 13 };
    const struct wl_simd_loops *rows = wl_simd_step_loops(s->uses[0].buf);
    const int64_t n = wl_dims_count(&s->node->out->dims);
    const size_t size = wl_dtype_bytes(s->uses[0].buf->dtype);
#pragma omp parallel for schedule(static)
    for (int64_t at = 0; at < n; at += PART) {
        char *x[3];
        for (int i = 0; i < 3; i++) x[i] = (char *)s->uses[i].buf->at + (size_t)at * size;
        rows->multiply(n - at < PART ? n - at : PART, x[0], x[1], x[2]);
    }
    return 0;
}

/* The gradient by the input of gelu: left by the product that follows, or a step of its own. */
static struct wl_buf *gelu_backward(struct wl_program *p, const struct wl_node *n)
{
    const struct wl_saved *saved = &p->saved[n->out->id];
    struct wl_buf *dy = p->gradient[n->out->id], *du = dy;
    if (!wl_project_gelu(n) || saved->context) return dy;
    if (!wl_gradient_last_holder(p, n->out)) du = wl_buf_like(p, dy);
    struct wl_step *s = wl_simd_step_emit(p, n, "gelu, backward", WL_TRAIN, multiply_run);
    wl_step_reads(p, s, dy);
    wl_step_reads(p, s, saved->buf[2]);
    wl_step_writes(p, s, du);
    return du;
}

static int weights_product(struct wl_program *p, const struct wl_node *n, struct wl_buf *dy, struct wl_buf *dw,
                           struct wl_err *e)
{
    const struct wl_project_shape s = wl_project_shape(n);
    struct wl_cpu *c = wl_cpu_of(p);
    struct wl_product product = { 0 };
    dnnl_primitive_desc_t pd;
    int rc = wl_md_matrix(c, &product.src, p->precision, s.k, s.m, true, e);
    if (!rc) rc = wl_md_matrix(c, &product.weights, p->precision, s.m, s.f, false, e);
    if (!rc) rc = wl_md_matrix(c, &product.dst, WL_F32, s.k, s.f, false, e);
    if (!rc) rc = wl_pd_product(c, &pd, &product, e);
    if (rc) return rc;
    return wl_cpu_emit(p, n, "backward weights", WL_TRAIN, pd,
                       (struct wl_cpu_arg[]) { { DNNL_ARG_SRC, dy, false },
                                               { DNNL_ARG_WEIGHTS, p->saved[n->out->id].buf[0], false },
                                               { DNNL_ARG_DST, dw, true },
                                               { 0 } },
                       e);
}

static int backward_weights(struct wl_program *p, const struct wl_node *n, struct wl_buf *dy, struct wl_err *e)
{
    struct wl_buf *dw = p->gradient[wl_project_weight(n)->id];
    struct wl_buf *db = wl_project_bias(n) ? p->gradient[wl_project_bias(n)->id] : NULL;
    if (wl_project_uses_gemm_bf16(p, n)) {
        wl_project_bf16_backward_weights(p, n, dy, dw, db);
        return 0;
    }
    int rc = weights_product(p, n, dy, dw, e);
    if (!rc && db) wl_simd_step_column_sum(p, n, dy, db);
    return rc;
}

/* The derivative that the gradient by x may be multiplied with at once; NULL: x is not the result of a gelu, or others
 * read it too. */
static struct wl_buf *slope_of(struct wl_program *p, const struct wl_tensor *x)
{
    if (!x->producer || !wl_project_gelu(x->producer) || x->readers > 1 || p->keep_values) return NULL;
    struct wl_saved *saved = &p->saved[x->id];
    saved->context = saved->buf[2];
    return saved->buf[2];
}

/* sum: what the gradient is added to; NULL: nothing. */
static int data_product(struct wl_program *p, const struct wl_node *n, struct wl_buf *dy, struct wl_buf *dx,
                        struct wl_buf *sum, struct wl_buf *slope, struct wl_err *e)
{
    const struct wl_project_shape s = wl_project_shape(n);
    struct wl_cpu *c = wl_cpu_of(p);
    struct wl_product product = { .add = sum };
    struct wl_buf *w;
    dnnl_primitive_desc_t pd;
    int rc = wl_md_matrix(c, &product.src, p->precision, s.m, s.k, false, e);
    if (!rc) rc = weights_layout(p, &s, false, &product.weights, e);
    if (!rc) rc = wl_md_matrix(c, &product.dst, p->precision, s.m, s.f, false, e);
    if (slope) product.scale = product.dst;
    if (!rc) rc = wl_pd_product(c, &pd, &product, e);
    if (!rc) rc = weights(p, n, false, pd, &w, e);
    if (rc) return rc;
    return wl_cpu_emit(p, n, "backward data", WL_TRAIN, pd,
                       (struct wl_cpu_arg[]) { { DNNL_ARG_SRC, dy, false },
                                               { DNNL_ARG_WEIGHTS, w, false },
                                               { DNNL_ARG_DST, dx, true },
                                               { slope ? WL_ARG_SCALE : DNNL_ARG_DST, slope, false },
                                               { 0 } },
                       e);
}

static int backward_data(struct wl_program *p, const struct wl_node *n, struct wl_buf *dy, struct wl_err *e)
{
    const struct wl_tensor *x = n->in[0];
    struct wl_buf *slope = slope_of(p, x), *w = plain_param(p, wl_project_weight(n));
    struct wl_buf *sum = p->gradient[x->id] && wl_gradient_last_holder(p, x) ? p->gradient[x->id] : NULL;
    struct wl_buf *dx = sum ? sum : wl_buf_like(p, p->value[x->id]);
    int rc = 0;
    if (wl_project_uses_gemm_bf16(p, n))
        wl_project_bf16_backward_data(p, n, dy, w, dx, sum, slope);
    else
        rc = data_product(p, n, dy, dx, sum, slope, e);
    return rc || sum ? rc : wl_gradient_add(p, n, x, dx, e);
}

static int project_backward(struct wl_program *p, const struct wl_node *n, struct wl_err *e)
{
    struct wl_buf *dy = gelu_backward(p, n);
    int rc = backward_weights(p, n, dy, e);
    if (!rc && n->in[0]->gradient) rc = backward_data(p, n, dy, e);
    if (!rc) wl_gradient_done(p, n->out);
    return rc;
}

const struct wl_op_rules wl_cpu_op_project = { project_forward, project_backward };
const struct wl_op_rules wl_cpu_op_decoder = { project_forward, project_backward };
