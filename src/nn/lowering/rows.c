/* How a program runs operations on rows: on plain f32 buffers, which other types are copied into first. Back-ends share
 * these rules and provide the kernels (kernels.h). */
#include "nn/lowering/rows.h"

/* ---- what the caller filled in ----------------------------------------------------------------------------------- */

static int last_input(const struct wl_node *n)
{
    int i = WL_MAX_INPUTS - 1;
    while (!n->in[i]) i--;
    return i;
}

const int32_t *wl_rows_counts(const struct wl_step *s, const struct wl_run *r)
{
    return wl_rows_at(s, r, WL_ROWS_IN + last_input(s->node));
}

int64_t wl_rows_count(const struct wl_step *s, const struct wl_run *r, enum wl_row_kind kind)
{
    return wl_rows_counts(s, r)[kind];
}

const struct wl_rows_uses wl_rows_uses_parameters = { .gradients = 0 };

/* ---- lowering ---------------------------------------------------------------------------------------------------- */

static const struct wl_rows_op *op_of(const struct wl_program *p, const struct wl_node *n)
{
    return wl_rules_of(p, n)->lowering;
}

/* A step that is being built, and the uses of its operands. */
struct builder {
    struct wl_program *p;
    struct wl_step *s;
    struct wl_rows_step *context;
};

static struct builder begin(struct wl_program *p, const struct wl_node *n, const char *what, unsigned when,
                            wl_step_run_fn *run)
{
    struct builder b = { p, wl_step_emit(p, n, what, when, run), wl_new(p->arena, struct wl_rows_step) };
    b.s->context = b.context;
    b.context->kernels = wl_rules_of(p, n)->kernels;
    b.context->table = p->saved[n->out->id].context;
    for (int i = 0; i < WL_ROWS_OPERANDS; i++) b.context->at[i] = -1;
    return b;
}

static void reads(struct builder *b, int operand, struct wl_buf *buf)
{
    b->context->at[operand] = b->s->n_uses;
    wl_step_reads(b->p, b->s, buf);
}

static void writes(struct builder *b, int operand, struct wl_buf *buf)
{
    b->context->at[operand] = b->s->n_uses;
    wl_step_writes(b->p, b->s, buf);
}

/* Scratch memory is a step's last use. */
static void complete(struct builder *b, bool backward)
{
    const struct wl_rows_op *op = op_of(b->p, b->s->node);
    const size_t floats = op->scratch ? op->scratch(wl_rules_of(b->p, b->s->node)->kernels, b->s->node, backward) : 0;
    if (floats) writes(b, WL_ROWS_SCRATCH, wl_buf_plain(b->p, WL_MEM_VALUE, WL_F32, &WL_DIMS((int64_t)floats)));
    if (op->describe) op->describe(b->p, backward, b->s);
}

static int plain_inputs(struct wl_program *p, const struct wl_node *n, struct wl_buf *in[], struct wl_err *e)
{
    int rc = 0;
    for (int i = 0; i < WL_MAX_INPUTS && n->in[i] && !rc; i++) rc = wl_lower_plain_value(p, n, n->in[i], &in[i], e);
    return rc;
}

static void emit_forward(struct wl_program *p, const struct wl_node *n, unsigned when, struct wl_buf *const in[],
                         struct wl_buf *saved)
{
    struct builder b = begin(p, n, "forward", when, op_of(p, n)->forward);
    for (int i = 0; i < WL_MAX_INPUTS && n->in[i]; i++) reads(&b, WL_ROWS_IN + i, in[i]);
    for (int i = 0; i < WL_MAX_PARAMS && n->par[i]; i++) reads(&b, WL_ROWS_PARAM + i, p->value[n->par[i]->id]);
    writes(&b, WL_ROWS_OUT, p->value[n->out->id]);
    if (saved) writes(&b, WL_ROWS_SAVED, saved);
    complete(&b, false);
}

/* An evaluation step saves nothing; where nothing is saved, or nothing trained, one step serves both passes. */
int wl_lower_rows(struct wl_program *p, const struct wl_node *n, struct wl_err *e)
{
    const struct wl_rows_op *op = op_of(p, n);
    struct wl_buf *in[WL_MAX_INPUTS], *saved = NULL;
    struct wl_dims dims;
    int rc = plain_inputs(p, n, in, e);
    if (rc) return rc;
    for (int i = 0; i < WL_MAX_PARAMS && n->par[i]; i++) wl_lower_plain_param(p, n->par[i]);
    p->value[n->out->id] = wl_buf_plain(p, WL_MEM_VALUE, WL_F32, &n->out->dims);
    if (p->train && op->uses->saved_dims && op->uses->saved_dims(n, &dims))
        saved = wl_buf_plain(p, WL_MEM_VALUE, WL_F32, &dims);
    p->saved[n->out->id].buf[0] = saved;
    if (op->prepare && (rc = op->prepare(p, n, &p->saved[n->out->id].context, e))) return rc;
    emit_forward(p, n, saved ? WL_TRAIN : WL_TRAIN | WL_EVAL, in, saved);
    if (saved) emit_forward(p, n, WL_EVAL, in, NULL);
    return 0;
}

/* May backward add to the gradient of x in place? */
static bool adds_in_place(const struct wl_program *p, const struct wl_tensor *x)
{
    const struct wl_buf *g = p->gradient[x->id];
    return g && !p->keep_values && g->references == 1 && g->dtype == WL_F32 && !g->layout && g->holds == WL_F32;
}

/* The buffer that backward writes the gradient of input i to. */
static struct wl_buf *gradient_buf(struct wl_program *p, const struct wl_node *n, int i, bool *add)
{
    const struct wl_tensor *x = n->in[i];
    *add = op_of(p, n)->uses->adds >> i & 1 && adds_in_place(p, x);
    return *add ? p->gradient[x->id] : wl_buf_plain(p, WL_MEM_VALUE, WL_F32, &x->dims);
}

/* Does not read the inputs that uses->not_read names, nor the residual, which bypasses the operation. */
static void emit_backward(struct wl_program *p, const struct wl_node *n, struct wl_buf *const in[], struct wl_buf *dy,
                          struct wl_buf *const dx[], const bool add[])
{
    const struct wl_rows_op *op = op_of(p, n);
    struct builder b = begin(p, n, "backward", WL_TRAIN, op->backward);
    for (int i = 0; i < WL_MAX_INPUTS && n->in[i]; i++)
        if (!(op->uses->not_read >> i & 1) && (i == 0 || n->in[i] != n->residual)) reads(&b, WL_ROWS_IN + i, in[i]);
    for (int i = 0; i < WL_MAX_PARAMS && n->par[i]; i++) reads(&b, WL_ROWS_PARAM + i, p->value[n->par[i]->id]);
    if (p->saved[n->out->id].buf[0]) reads(&b, WL_ROWS_SAVED, p->saved[n->out->id].buf[0]);
    reads(&b, WL_ROWS_DOUT, dy);
    for (int i = 0; i < op->uses->gradients; i++) {
        b.context->add[i] = add[i];
        writes(&b, WL_ROWS_DIN + i, dx[i]);
    }
    for (int i = 0; i < WL_MAX_PARAMS && n->par[i]; i++) writes(&b, WL_ROWS_DPARAM + i, p->gradient[n->par[i]->id]);
    complete(&b, true);
}

int wl_lower_rows_backward(struct wl_program *p, const struct wl_node *n, struct wl_err *e)
{
    const struct wl_rows_op *op = op_of(p, n);
    struct wl_buf *in[WL_MAX_INPUTS], *dy, *dx[2];
    bool add[2] = { false };
    int rc = plain_inputs(p, n, in, e);
    if (!rc) rc = wl_lower_plain_gradient(p, n, n->out, &dy, e);
    if (rc) return rc;
    for (int i = 0; i < op->uses->gradients; i++) dx[i] = gradient_buf(p, n, i, &add[i]);
    emit_backward(p, n, in, dy, dx, add);
    for (int i = 0; i < op->uses->gradients && !rc; i++)
        if (n->in[i]->gradient && !add[i]) rc = wl_gradient_add_plain(p, n, n->in[i], dx[i], e);
    if (!rc && n->residual && n->residual->gradient) rc = wl_gradient_add_plain(p, n, n->residual, dy, e);
    wl_gradient_done(p, n->out);
    return rc;
}
