/* layer_norm fused with the sum and the dropout before it. The gradients of gamma and beta are sums over rows: over
 * chunks of CHUNK rows, then over the chunks in order: the same for any number of threads. */
#include "nn/cpu/simd_step.h"

#include <string.h>

enum { CHUNK = 64 };

struct layer_norm {
    struct wl_dropout drop;
    struct wl_vectors rows;
};

/* A thread's row and its numbers. */
static size_t row_bytes(const struct wl_vectors *r) { return ((size_t)r->f * sizeof(float) + 63) / 64 * 64; }

static struct wl_buf *scratch(struct wl_program *p, const struct wl_vectors *r)
{
    return wl_simd_step_scratch(p, row_bytes(r) + ((size_t)r->f + WL_DROPOUT_MASK_SLACK) * sizeof(uint16_t));
}

/* What the loops read, in this run and by this thread. */
static struct wl_layer_norm_rows rows_of(const struct wl_step *s, const struct wl_run *r, const struct wl_buf *scratch,
                                         struct wl_buf *hat, struct wl_buf *inverse)
{
    const struct layer_norm *context = s->context;
    const struct wl_dropout d = wl_dropout_in_run(&context->drop, r);
    char *part = wl_simd_step_thread_scratch(scratch);
    return (struct wl_layer_norm_rows) { .f = context->rows.f,
                                         .s = d.f / context->rows.f,
                                         .first = d.sample,
                                         .eps = (float)s->node->u.layer_norm.eps,
                                         .mask = wl_simd_step_mask(&d),
                                         .inverse = inverse ? inverse->at : NULL,
                                         .hat = hat ? hat->at : NULL,
                                         .row = (float *)part,
                                         .numbers = (uint16_t *)(part + row_bytes(&context->rows)) };
}

static struct layer_norm *own_of(struct wl_program *p, const struct wl_node *n)
{
    const int64_t *x = n->in[0]->dims.d;
    struct layer_norm *context = wl_new(p->arena, struct layer_norm);
    context->rows = wl_vectors_of(n->in[0]);
    context->drop = wl_dropout_of(p, n, n->u.layer_norm.drop, x[0], context->rows.n / x[0] * context->rows.f);
    return context;
}

/* ---- forward: uses x, gamma, beta, scratch, y, then hat and inverse in a plan that trains, then the branch ---- */

static int forward_run(const struct wl_step *s, const struct wl_run *r, struct wl_err *e)
{
    (void)e;
    const struct layer_norm *context = s->context;
    const bool training = r->training, branch = s->node->in[1];
    const struct wl_simd_loops *simd = wl_simd_step_loops(s->uses[4].buf);
    const void *b = branch ? s->uses[s->n_uses - 1].buf->at : NULL;
#pragma omp parallel for schedule(static)
    for (int64_t from = 0; from < context->rows.n; from += CHUNK) {
        struct wl_layer_norm_rows o =
            rows_of(s, r, s->uses[3].buf, training ? s->uses[5].buf : NULL, training ? s->uses[6].buf : NULL);
        o.x_f32 = s->uses[0].buf->dtype != s->uses[4].buf->dtype;
        o.gamma = s->uses[1].buf->at;
        o.beta = s->uses[2].buf->at;
        simd->layer_norm(&o, from, from + CHUNK < context->rows.n ? from + CHUNK : context->rows.n, s->uses[0].buf->at,
                         b, s->uses[4].buf->at);
    }
    return 0;
}

static int forward(struct wl_program *p, const struct wl_node *n, struct wl_err *e)
{
    (void)e;
    struct layer_norm *context = own_of(p, n);
    struct wl_buf *y = wl_buf_value(p, &n->out->dims), **saved = p->saved[n->out->id].buf, *param[2];
    for (int i = 0; i < 2; i++) param[i] = wl_buf_param(p, n->par[i], NULL, (size_t)context->rows.f * sizeof(float));
    struct wl_step *s = wl_simd_step_emit(p, n, "forward", WL_TRAIN | WL_EVAL, forward_run);
    s->context = context;
    wl_step_reads(p, s, p->value[n->in[0]->id]);
    wl_step_reads(p, s, param[0]);
    wl_step_reads(p, s, param[1]);
    wl_step_writes(p, s, scratch(p, &context->rows));
    wl_step_writes(p, s, y);
    if (p->train) {
        saved[0] = wl_buf_like(p, y);
        saved[1] = wl_buf_plain(p, WL_MEM_VALUE, WL_F32, &WL_DIMS(context->rows.n));
        wl_step_writes(p, s, saved[0]);
        wl_step_writes(p, s, saved[1]);
    }
    if (n->in[1]) wl_step_reads(p, s, p->value[n->in[1]->id]);
    p->value[n->out->id] = y;
    return 0;
}

/* ---- backward: uses dy, hat, inverse, gamma, scratch, parts, dz, dgamma, dbeta, then dbranch where it is not dz ----
 */

static void sum_parts(const struct layer_norm *context, const float *parts, int64_t chunks, float *dgamma, float *dbeta)
{
    const struct wl_simd_loops *simd = wl_simd()->of[WL_F32];
    memset(dgamma, 0, (size_t)context->rows.f * sizeof(float));
    memset(dbeta, 0, (size_t)context->rows.f * sizeof(float));
    for (int64_t i = 0; i < chunks; i++, parts += 2 * context->rows.f) {
        simd->add_row(context->rows.f, parts, dgamma);
        simd->add_row(context->rows.f, parts + context->rows.f, dbeta);
    }
}

static int backward_run(const struct wl_step *s, const struct wl_run *r, struct wl_err *e)
{
    (void)e;
    const struct layer_norm *context = s->context;
    const int64_t f = context->rows.f, chunks = (context->rows.n + CHUNK - 1) / CHUNK;
    float *parts = s->uses[5].buf->at;
    void *branch = s->n_uses > 9 ? s->uses[9].buf->at : NULL;
#pragma omp parallel for schedule(static)
    for (int64_t i = 0; i < chunks; i++) {
        struct wl_layer_norm_rows o = rows_of(s, r, s->uses[4].buf, s->uses[1].buf, s->uses[2].buf);
        o.gamma = s->uses[3].buf->at;
        wl_simd_step_loops(s->uses[0].buf)
            ->layer_norm_backward(&o, i * CHUNK, i + 1 < chunks ? (i + 1) * CHUNK : context->rows.n, s->uses[0].buf->at,
                                  s->uses[6].buf->at, branch, parts + 2 * i * f, parts + (2 * i + 1) * f);
    }
    sum_parts(context, parts, chunks, wl_use_at(s, r, 7), wl_use_at(s, r, 8));
    return 0;
}

/* One buffer for x and branch where nothing is dropped. */
static int backward(struct wl_program *p, const struct wl_node *n, struct wl_err *e)
{
    struct layer_norm *context = own_of(p, n);
    struct wl_buf *dy = p->gradient[n->out->id], **saved = p->saved[n->out->id].buf;
    struct wl_buf *dz = wl_gradient_last_holder(p, n->out) ? dy : wl_buf_like(p, dy);
    struct wl_buf *branch = n->in[1] && context->drop.drop ? wl_buf_like(p, dy) : NULL;
    struct wl_step *s = wl_simd_step_emit(p, n, "backward", WL_TRAIN, backward_run);
    s->context = context;
    wl_step_reads(p, s, dy);
    wl_step_reads(p, s, saved[0]);
    wl_step_reads(p, s, saved[1]);
    wl_step_reads(p, s, p->value[n->par[0]->id]);
    wl_step_writes(p, s, scratch(p, &context->rows));
    wl_step_writes(p, s,
                   wl_buf_plain(p, WL_MEM_VALUE, WL_F32,
                                &WL_DIMS((context->rows.n + CHUNK - 1) / CHUNK, 2, context->rows.f)));
    wl_step_writes(p, s, dz);
    for (int i = 0; i < 2; i++) wl_step_writes(p, s, p->gradient[n->par[i]->id]);
    if (branch) wl_step_writes(p, s, branch);
    wl_gradient_done(p, n->out);
    int rc = n->in[0]->gradient ? wl_gradient_add(p, n, n->in[0], dz, e) : 0;
    if (!rc && n->in[1] && n->in[1]->gradient) rc = wl_gradient_add(p, n, n->in[1], branch ? branch : dz, e);
    return rc;
}

const struct wl_op_rules wl_cpu_op_layer_norm = { forward, backward };
