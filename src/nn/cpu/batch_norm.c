/* Batch norm, fused with what follows it into one pass over memory: its relu, or the sum that alone reads it, with that
 * sum's relu. Backward recovers from x or from the result what the relu passed, so no mask is saved. */
#include "nn/cpu/batch_norm_kernels.h"

#include "nn/cpu/cpu.h"
#include "nn/threads.h"

/* A step's call, and which of its uses are the call's values. */
struct context {
    struct wl_batch_norm_call call;
    int x, z, y, gamma, beta, mean, var, scratch, dy, more, d, dx, dgamma, dbeta;
};

static struct wl_batch_norm_call call_of(const struct wl_step *s, const struct wl_run *r)
{
    const struct context *o = s->context;
    struct wl_batch_norm_call c = o->call;
    c.x = wl_any_use_at(s, r, o->x);
    c.z = wl_any_use_at(s, r, o->z);
    c.y = wl_any_use_at(s, r, o->y);
    c.gamma = wl_any_use_at(s, r, o->gamma);
    c.beta = wl_any_use_at(s, r, o->beta);
    c.mean = wl_any_use_at(s, r, o->mean);
    c.var = wl_any_use_at(s, r, o->var);
    c.scratch = wl_any_use_at(s, r, o->scratch);
    c.dy = wl_any_use_at(s, r, o->dy);
    c.more = wl_any_use_at(s, r, o->more);
    c.d = wl_any_use_at(s, r, o->d);
    c.dx = wl_any_use_at(s, r, o->dx);
    c.dgamma = wl_any_use_at(s, r, o->dgamma);
    c.dbeta = wl_any_use_at(s, r, o->dbeta);
    return c;
}

static int run_train(const struct wl_step *s, const struct wl_run *r, struct wl_err *e)
{
    (void)e;
    const struct wl_batch_norm_call c = call_of(s, r);
    wl_batch_norm_train(&c);
    return 0;
}

static int run_eval(const struct wl_step *s, const struct wl_run *r, struct wl_err *e)
{
    (void)e;
    const struct wl_batch_norm_call c = call_of(s, r);
    wl_batch_norm_eval(&c);
    return 0;
}

static int run_backward(const struct wl_step *s, const struct wl_run *r, struct wl_err *e)
{
    (void)e;
    const struct wl_batch_norm_call c = call_of(s, r);
    wl_batch_norm_backward(&c);
    return 0;
}

/* ---- lowering ---- */

/* A norm that is being lowered. */
struct norm {
    const struct wl_node *n, *sum; /* sum NULL: nothing is added */
    struct wl_md_rows rows;
    struct wl_buf *x, *z, *y, *gamma, *beta, *mean, *var;
};

static struct wl_step *emit(struct wl_program *p, const struct norm *b, const char *pass, unsigned when,
                            int (*run)(const struct wl_step *, const struct wl_run *, struct wl_err *))
{
    const struct wl_batch_norm_kernels *k = wl_batch_norm_avx512(b->rows.type);
    struct context *o = wl_new(p->arena, struct context);
    *o = (struct context) {
        { .rows = b->rows, .kernels = k ? k : wl_batch_norm_plain(b->rows.type), .eps = b->n->u.norm.eps },
        .z = WL_NO_USE,
        .y = WL_NO_USE,
        .scratch = WL_NO_USE,
        .dy = WL_NO_USE,
        .more = WL_NO_USE,
        .d = WL_NO_USE,
        .dx = WL_NO_USE,
        .dgamma = WL_NO_USE,
        .dbeta = WL_NO_USE
    };
    struct wl_step *s = wl_step_emit(p, b->n, pass, when, run);
    s->context = o;
    s->implementation = o->call.kernels->name;
    o->x = wl_step_reads_any(p, s, b->x);
    o->gamma = wl_step_reads_any(p, s, b->gamma);
    o->beta = wl_step_reads_any(p, s, b->beta);
    return s;
}

static struct wl_buf *scratch(struct wl_program *p, const struct norm *b)
{
    const size_t bytes = wl_batch_norm_scratch_bytes(&b->rows, omp_get_max_threads());
    return bytes ? wl_buf_plain(p, WL_MEM_VALUE, WL_F32, &WL_DIMS((int64_t)(bytes / sizeof(float)))) : NULL;
}

static void emit_forward(struct wl_program *p, const struct norm *b, unsigned when)
{
    struct wl_step *s = emit(p, b, b->sum ? "forward, add" : "forward", when, when == WL_TRAIN ? run_train : run_eval);
    struct context *o = s->context;
    o->call.relu = (b->sum ? b->sum : b->n)->relu;
    o->mean =
        when == WL_TRAIN ? wl_step_writes_any(p, s, b->mean) : wl_step_reads_any(p, s, p->value[b->n->stat[0]->id]);
    o->var = when == WL_TRAIN ? wl_step_writes_any(p, s, b->var) : wl_step_reads_any(p, s, p->value[b->n->stat[1]->id]);
    o->z = wl_step_reads_any(p, s, b->z);
    o->y = wl_step_writes_any(p, s, b->y);
    if (when == WL_TRAIN) o->scratch = wl_step_writes_any(p, s, scratch(p, b));
}

/* x as rows, through a plain copy where its layout has none. */
static int find_rows(struct wl_program *p, struct norm *b, struct wl_err *e)
{
    wl_md md;
    int rc = wl_cpu_layout(p, b->x, &md, e);
    if (rc || wl_md_rows(md, &b->x->dims, &b->rows)) return rc;
    rc = wl_md_plain(wl_cpu_of(p), &md, b->x->dtype, &b->x->dims, e);
    if (!rc) rc = wl_cpu_in_layout(p, b->n, b->x, md, &b->x, e);
    if (!rc) WL_CHECK(wl_md_rows(md, &b->x->dims, &b->rows));
    return rc;
}

static const struct wl_tensor *other_term(const struct wl_node *sum, const struct wl_node *norm)
{
    return sum->in[sum->in[0] == norm->out];
}

/* The sum that may be computed with the norm: it alone reads it, and its other term has the same layout. */
static int find_sum(struct wl_program *p, struct norm *b, struct wl_err *e)
{
    const struct wl_node *n = b->n, *sum = wl_may_overwrite(p, n->out) ? wl_only_reader(p->graph, n->out) : NULL;
    if (!sum || sum->op != WL_OP_ADD || n->relu) return 0;
    struct wl_buf *z = p->value[other_term(sum, n)->id];
    wl_md mine, others;
    if (!z) return 0;
    int rc = wl_cpu_layout(p, b->x, &mine, e);
    if (!rc) rc = wl_cpu_layout(p, z, &others, e);
    if (rc || !wl_md_equal(mine, others)) return rc;
    b->sum = sum;
    b->z = z;
    return 0;
}

static struct wl_buf *vector(struct wl_program *p, const struct wl_tensor *t)
{
    return wl_buf_plain(p, WL_MEM_VALUE, WL_F32, &t->dims);
}

static struct wl_buf *param(struct wl_program *p, const struct wl_tensor *t)
{
    return wl_buf_param(p, t, NULL, (size_t)wl_dims_count(&t->dims) * sizeof(float));
}

static int batch_norm_forward(struct wl_program *p, const struct wl_node *n, struct wl_err *e)
{
    struct norm b = { .n = n, .x = p->value[n->in[0]->id], .gamma = param(p, n->par[0]), .beta = param(p, n->par[1]) };
    int rc = find_rows(p, &b, e);
    if (!rc) rc = find_sum(p, &b, e);
    if (rc) return rc;
    wl_lower_statistics(p, n);
    b.y = b.sum && wl_may_overwrite(p, other_term(b.sum, n)) ? b.z : wl_buf_like(p, b.x);
    p->value[n->out->id] = b.y;
    if (b.sum) {
        p->value[b.sum->out->id] = b.y;
        p->saved[b.sum->out->id].context = n;
    }
    if (p->train) {
        b.mean = vector(p, n->stat[0]);
        b.var = vector(p, n->stat[1]);
        p->saved[n->out->id] = (struct wl_saved) { .buf = { b.x, b.mean, b.var } };
        emit_forward(p, &b, WL_TRAIN);
        wl_lower_statistic_sums(p, n, b.mean, b.var);
    }
    emit_forward(p, &b, WL_EVAL);
    return 0;
}

/* `out` is the norm's result or its sum's. */
static int backward(struct wl_program *p, const struct wl_node *n, const struct wl_node *sum, struct wl_err *e)
{
    const struct wl_tensor *out = (sum ? sum : n)->out, *other = sum ? other_term(sum, n) : NULL;
    const bool last = wl_gradient_last_holder(p, out), of_y = sum && sum->relu;
    struct wl_buf *const *saved = p->saved[n->out->id].buf, *dy = p->gradient[out->id];
    struct wl_buf *d = !of_y ? NULL : last ? dy : wl_buf_like(p, dy);
    struct wl_buf *dx = !sum && last ? dy : wl_buf_like(p, dy);
    struct norm b = { .n = n, .x = saved[0], .gamma = p->value[n->par[0]->id], .beta = p->value[n->par[1]->id] };
    int rc = find_rows(p, &b, e);
    if (rc) return rc;
    struct wl_step *s = emit(p, &b, sum ? "backward, add" : "backward", WL_TRAIN, run_backward);
    struct context *o = s->context;
    o->call.backward = of_y ? WL_BATCH_NORM_RELU_FROM_Y : n->relu ? WL_BATCH_NORM_RELU_FROM_X : WL_BATCH_NORM_NO_RELU;
    o->mean = wl_step_reads_any(p, s, saved[1]);
    o->var = wl_step_reads_any(p, s, saved[2]);
    o->y = of_y ? wl_step_reads_any(p, s, p->value[out->id]) : WL_NO_USE;
    o->dy = wl_step_reads_any(p, s, dy);
    o->more = wl_step_reads_any(p, s, p->addend[out->id]);
    o->d = wl_step_writes_any(p, s, d);
    o->dx = wl_step_writes_any(p, s, dx);
    o->dgamma = wl_step_writes_any(p, s, p->gradient[n->par[0]->id]);
    o->dbeta = wl_step_writes_any(p, s, p->gradient[n->par[1]->id]);
    o->scratch = wl_step_writes_any(p, s, scratch(p, &b));
    if (other && other->gradient) rc = wl_gradient_add(p, n, other, d ? d : dy, e);
    if (!rc && n->in[0]->gradient) rc = wl_cpu_gradient_add(p, n, n->in[0], dx, e);
    if (!rc) wl_gradient_done(p, out);
    return rc;
}

static int batch_norm_backward(struct wl_program *p, const struct wl_node *n, struct wl_err *e)
{
    return backward(p, n, NULL, e);
}

bool wl_cpu_batch_norm_adds_gradients(const struct wl_program *p, const struct wl_node *sum)
{
    return sum->relu && p->saved[sum->out->id].context;
}

int wl_cpu_batch_norm_add_backward(struct wl_program *p, const struct wl_node *sum, const struct wl_node *norm,
                                   struct wl_err *e)
{
    return backward(p, norm, sum, e);
}

const struct wl_op_rules wl_cpu_op_batch_norm = { batch_norm_forward, batch_norm_backward };
