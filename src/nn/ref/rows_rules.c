/* How a program runs operations on rows: on plain f32 buffers, which other types are copied into first. Back-ends share
 * these rules and bring kernels (struct wl_rows_kernels).
 *
 * All of them lower alike. Forward reads the node's inputs and parameters and writes the result and what is kept of it;
 * backward reads those and the gradient of the result and writes the gradients of the parameters and of input 0. */
#include "nn/ref/step.h"

#include <string.h>

/* What a step finds among its uses. */
enum place {
    IN = 0,
    PAR = IN + WL_MAX_INPUTS,
    DPAR = PAR + WL_MAX_PARAMS,
    OUT = DPAR + WL_MAX_PARAMS,
    KEPT,
    DOUT,
    DIN,
    SCRATCH,
    PLACES
};

struct rows_step {
    const struct wl_rows_kernels *kernels;
    bool add;       /* to the gradient of input 0, instead of overwriting it */
    int at[PLACES]; /* a use of the step, or -1 */
};

static void *at(const struct wl_step *s, const struct wl_run *r, int place)
{
    const struct rows_step *own = s->own;
    return own->at[place] < 0 ? NULL : wl_use_at(s, r, own->at[place]);
}

static const struct wl_rows_kernels *kernels(const struct wl_step *s)
{
    return ((const struct rows_step *)s->own)->kernels;
}

/* ---- what the caller filled in ----------------------------------------------------------------------------------- */

static int last_input(const struct wl_node *n)
{
    int i = WL_MAX_INPUTS - 1;
    while (!n->in[i]) i--;
    return i;
}

/* The count of a kind of rows, which must find room. */
static int count_rows(const struct wl_step *s, const struct wl_run *r, enum wl_row_kind kind, int64_t room,
                      int64_t *rows, struct wl_err *e)
{
    const int32_t *counts = at(s, r, IN + last_input(s->node));
    *rows = counts[kind];
    if (*rows >= 0 && *rows <= room) return 0;
    return wl_fail(e, WL_EINVAL, "%lld rows, there is room for %lld", (long long)*rows, (long long)room);
}

static int check_indices(const char *what, const int32_t *index, int64_t n, int64_t limit, struct wl_err *e)
{
    for (int64_t i = 0; i < n; i++)
        if (index[i] < 0 || index[i] >= limit)
            return wl_fail(e, WL_EINVAL, "%s: entry %lld is %d, expected 0 to %lld", what, (long long)i, (int)index[i],
                           (long long)limit - 1);
    return 0;
}

/* start [n + 1] of n segments begins at 0 or later, never falls and ends within `limit`. */
static int check_starts(const char *what, const int32_t *start, int64_t n, int64_t limit, struct wl_err *e)
{
    int rc = check_indices(what, start, n + 1, limit + 1, e);
    for (int64_t i = 0; i < n && !rc; i++)
        if (start[i] > start[i + 1])
            rc = wl_fail(e, WL_EINVAL, "%s: entry %lld is %d, the next one %d", what, (long long)i, (int)start[i],
                         (int)start[i + 1]);
    return rc;
}

/* ---- embed ------------------------------------------------------------------------------------------------------- */

static int embed_run(const struct wl_step *s, const struct wl_run *r, struct wl_err *e)
{
    const struct wl_node *n = s->node;
    const struct wl_dims *w = &n->par[0]->dims;
    const int32_t *index = at(s, r, IN);
    int64_t rows;
    int rc = count_rows(s, r, n->rows, n->out->dims.d[0], &rows, e);
    if (!rc) rc = check_indices(n->in[0]->name, index, rows, w->d[0], e);
    if (!rc) wl_ref_embed(rows, w->d[1], index, at(s, r, PAR), at(s, r, OUT));
    return rc;
}

static int embed_backward_run(const struct wl_step *s, const struct wl_run *r, struct wl_err *e)
{
    const struct wl_dims *w = &s->node->par[0]->dims;
    int64_t rows;
    int rc = count_rows(s, r, s->node->rows, s->node->out->dims.d[0], &rows, e);
    if (!rc) wl_ref_embed_backward(rows, w->d[0], w->d[1], at(s, r, IN), at(s, r, DOUT), at(s, r, DPAR));
    return rc;
}

/* ---- segment_sum ------------------------------------------------------------------------------------------------- */

static int segment_run(const struct wl_step *s, const struct wl_run *r, struct wl_err *e)
{
    const struct wl_node *n = s->node;
    const int32_t *start = at(s, r, IN + 1);
    const int64_t room = n->out->dims.d[0];
    int64_t segments;
    int rc = count_rows(s, r, n->rows, room, &segments, e);
    if (!rc) rc = check_starts(n->in[1]->name, start, segments, n->in[0]->dims.d[0], e);
    if (!rc) wl_ref_segment_sum(segments, room, n->out->dims.d[1], start, at(s, r, IN), at(s, r, OUT));
    return rc;
}

static int segment_backward_run(const struct wl_step *s, const struct wl_run *r, struct wl_err *e)
{
    int64_t segments;
    int rc = count_rows(s, r, s->node->rows, s->node->out->dims.d[0], &segments, e);
    if (!rc)
        wl_ref_segment_sum_backward(segments, s->node->out->dims.d[1], at(s, r, IN + 1), at(s, r, DOUT), at(s, r, DIN));
    return rc;
}

/* ---- dense ------------------------------------------------------------------------------------------------------- */

static struct wl_matrix dense_matrix(const struct wl_node *n)
{
    return (struct wl_matrix) { n->out->dims.d[0], n->par[0]->dims.d[1], n->par[0]->dims.d[0] };
}

static int dense_run(const struct wl_step *s, const struct wl_run *r, struct wl_err *e)
{
    const struct wl_node *n = s->node;
    struct wl_dense_args a = { .m = dense_matrix(n),
                               .activation = n->u.dense.activation,
                               .x = at(s, r, IN),
                               .w = at(s, r, PAR),
                               .b = at(s, r, PAR + 1),
                               .residual = n->u.dense.residual ? at(s, r, IN + 1) : NULL,
                               .y = at(s, r, OUT),
                               .u = at(s, r, KEPT),
                               .scratch = at(s, r, SCRATCH) };
    int rc = count_rows(s, r, n->rows, a.m.n, &a.m.n, e);
    if (!rc) kernels(s)->dense(&a);
    return rc;
}

static int dense_backward_run(const struct wl_step *s, const struct wl_run *r, struct wl_err *e)
{
    const struct wl_node *n = s->node;
    struct wl_dense_grad a = { .m = dense_matrix(n),
                               .activation = n->u.dense.activation,
                               .x = at(s, r, IN),
                               .w = at(s, r, PAR),
                               .u = at(s, r, KEPT),
                               .dy = at(s, r, DOUT),
                               .dx = at(s, r, DIN),
                               .dw = at(s, r, DPAR),
                               .db = at(s, r, DPAR + 1),
                               .scratch = at(s, r, SCRATCH),
                               .add = ((const struct rows_step *)s->own)->add };
    int rc = count_rows(s, r, n->rows, a.m.n, &a.m.n, e);
    if (!rc) kernels(s)->dense_backward(&a);
    return rc;
}

static size_t dense_scratch(const struct wl_rows_kernels *k, const struct wl_node *n, bool backward)
{
    return k->dense_scratch ? k->dense_scratch(dense_matrix(n), backward) : 0;
}

static bool dense_keeps(const struct wl_node *n, struct wl_dims *dims)
{
    *dims = n->out->dims;
    return n->u.dense.activation != WL_ACT_NONE;
}

/* ---- filter_conv ------------------------------------------------------------------------------------------------- */

static struct wl_filter_args filter_args(const struct wl_step *s, const struct wl_run *r)
{
    const struct wl_node *n = s->node;
    return (struct wl_filter_args) { .f = n->out->dims.d[1],
                                     .gaussians = n->u.filter.gaussians,
                                     .cutoff = n->u.filter.cutoff,
                                     .x = at(s, r, IN),
                                     .atom_start = at(s, r, IN + 1),
                                     .pair_start = at(s, r, IN + 2),
                                     .pair = at(s, r, IN + 3),
                                     .distance = at(s, r, IN + 4),
                                     .w0 = at(s, r, PAR),
                                     .b0 = at(s, r, PAR + 1),
                                     .w2 = at(s, r, PAR + 2),
                                     .b2 = at(s, r, PAR + 3),
                                     .y = at(s, r, OUT),
                                     .kept = at(s, r, KEPT),
                                     .scratch = at(s, r, SCRATCH) };
}

/* Kernels share molecules out, so a pair must not reach beyond its own. */
static int check_pairs(const struct wl_node *n, const struct wl_filter_args *a, struct wl_err *e)
{
    int rc = check_starts(n->in[1]->name, a->atom_start, a->molecules, n->in[0]->dims.d[0], e);
    if (!rc) rc = check_starts(n->in[2]->name, a->pair_start, a->molecules, n->in[4]->dims.d[0], e);
    for (int64_t m = 0; m < a->molecules && !rc; m++)
        for (int64_t p = 2 * (int64_t)a->pair_start[m]; p < 2 * (int64_t)a->pair_start[m + 1]; p++)
            if (a->pair[p] < a->atom_start[m] || a->pair[p] >= a->atom_start[m + 1])
                rc = wl_fail(e, WL_EINVAL, "%s: pair %lld names atom %d, which is not of molecule %lld", n->in[3]->name,
                             (long long)p / 2, (int)a->pair[p], (long long)m);
    return rc;
}

static int filter_run(const struct wl_step *s, const struct wl_run *r, struct wl_err *e)
{
    struct wl_filter_args a = filter_args(s, r);
    int rc = count_rows(s, r, WL_MOLECULES, s->node->in[1]->dims.d[0] - 1, &a.molecules, e);
    if (!rc) rc = check_pairs(s->node, &a, e);
    if (!rc) kernels(s)->filter_conv(&a);
    return rc;
}

static int filter_backward_run(const struct wl_step *s, const struct wl_run *r, struct wl_err *e)
{
    struct wl_filter_grad g = { .of = filter_args(s, r),
                                .dy = at(s, r, DOUT),
                                .dx = at(s, r, DIN),
                                .dw0 = at(s, r, DPAR),
                                .db0 = at(s, r, DPAR + 1),
                                .dw2 = at(s, r, DPAR + 2),
                                .db2 = at(s, r, DPAR + 3) };
    int rc = count_rows(s, r, WL_MOLECULES, s->node->in[1]->dims.d[0] - 1, &g.of.molecules, e);
    if (!rc) kernels(s)->filter_conv_backward(&g);
    return rc;
}

static size_t filter_scratch(const struct wl_rows_kernels *k, const struct wl_node *n, bool backward)
{
    return k->filter_scratch ? k->filter_scratch(n->out->dims.d[1], n->u.filter.gaussians, backward) : 0;
}

static bool filter_keeps(const struct wl_node *n, struct wl_dims *dims)
{
    *dims = WL_DIMS(n->in[4]->dims.d[0], n->out->dims.d[1]);
    return true;
}

/* ---- lowering ---------------------------------------------------------------------------------------------------- */

struct rows_op {
    wl_ref_run_fn *forward, *backward;
    bool reads_input;                                             /* backward reads input 0 */
    bool adds;                                                    /* backward can add to the gradient of input 0 */
    bool (*keeps)(const struct wl_node *n, struct wl_dims *dims); /* (optional) What forward keeps for backward */
    size_t (*scratch)(const struct wl_rows_kernels *k, const struct wl_node *n, bool backward); /* (optional) Floats */
};

static const struct rows_op *op_of(const struct wl_node *n)
{
    static const struct rows_op ops[WL_OP_COUNT] = {
        [WL_OP_EMBED] = { embed_run, embed_backward_run, .reads_input = true },
        [WL_OP_SEGMENT_SUM] = { segment_run, segment_backward_run },
        [WL_OP_DENSE] = { dense_run, dense_backward_run, .reads_input = true, .adds = true, .keeps = dense_keeps,
                          .scratch = dense_scratch },
        [WL_OP_FILTER_CONV] = { filter_run, filter_backward_run, .reads_input = true, .keeps = filter_keeps,
                                .scratch = filter_scratch },
    };
    return &ops[n->op];
}

static void use(struct wl_program *p, struct wl_step *s, int place, struct wl_buf *b, bool write)
{
    ((struct rows_step *)s->own)->at[place] = s->n_uses;
    if (write)
        wl_writes(p, s, b);
    else
        wl_reads(p, s, b);
}

static struct wl_step *emit(struct wl_program *p, const struct wl_node *n, const char *what, unsigned when,
                            wl_ref_run_fn *run)
{
    struct rows_step *own = wl_new(p->arena, struct rows_step);
    own->kernels = p->backend->rows;
    for (int i = 0; i < PLACES; i++) own->at[i] = -1;
    struct wl_step *s = wl_emit(p, n, what, when, run);
    s->own = own;
    return s;
}

static void use_scratch(struct wl_program *p, const struct wl_node *n, struct wl_step *s, bool backward)
{
    const struct rows_op *op = op_of(n);
    const size_t floats = op->scratch ? op->scratch(p->backend->rows, n, backward) : 0;
    if (floats) use(p, s, SCRATCH, wl_buf_plain(p, WL_MEM_VALUE, WL_F32, &WL_DIMS((int64_t)floats)), true);
}

static int plain_inputs(struct wl_program *p, const struct wl_node *n, struct wl_buf *in[], struct wl_err *e)
{
    int rc = 0;
    for (int i = 0; i < WL_MAX_INPUTS && n->in[i] && !rc; i++) rc = wl_plain_value(p, n, n->in[i], &in[i], e);
    return rc;
}

/* A step that evaluates keeps nothing; where nothing is kept, or nothing trained, one step serves both. */
static void emit_forward(struct wl_program *p, const struct wl_node *n, unsigned when, struct wl_buf *const in[],
                         struct wl_buf *kept)
{
    struct wl_step *s = emit(p, n, "forward", when, op_of(n)->forward);
    for (int i = 0; i < WL_MAX_INPUTS && n->in[i]; i++) use(p, s, IN + i, in[i], false);
    for (int i = 0; i < WL_MAX_PARAMS && n->par[i]; i++) use(p, s, PAR + i, p->value[n->par[i]->id], false);
    use(p, s, OUT, p->value[n->out->id], true);
    if (kept) use(p, s, KEPT, kept, true);
    use_scratch(p, n, s, false);
}

int wl_ref_rows_forward(struct wl_program *p, const struct wl_node *n, struct wl_err *e)
{
    const struct rows_op *op = op_of(n);
    struct wl_buf *in[WL_MAX_INPUTS], *kept = NULL;
    struct wl_dims dims;
    int rc = plain_inputs(p, n, in, e);
    if (rc) return rc;
    for (int i = 0; i < WL_MAX_PARAMS && n->par[i]; i++)
        wl_param_new(p, n->par[i], NULL, (size_t)wl_dims_count(&n->par[i]->dims) * sizeof(float));
    p->value[n->out->id] = wl_buf_plain(p, WL_MEM_VALUE, WL_F32, &n->out->dims);
    if (p->train && op->keeps && op->keeps(n, &dims)) kept = wl_buf_plain(p, WL_MEM_VALUE, WL_F32, &dims);
    p->kept[n->out->id].buf[0] = kept;
    emit_forward(p, n, kept ? WL_TRAIN : WL_TRAIN | WL_EVAL, in, kept);
    if (kept) emit_forward(p, n, WL_EVAL, in, NULL);
    return 0;
}

/* May backward add to the gradient of x as it stands? */
static bool adds_in_place(const struct wl_program *p, const struct wl_tensor *x)
{
    const struct wl_buf *g = p->gradient[x->id];
    return g && !p->keep_values && g->holders == 1 && g->dtype == WL_F32 && !g->layout && !g->rounded;
}

static int pass_residual(struct wl_program *p, const struct wl_node *n, struct wl_buf *dy, struct wl_err *e)
{
    const struct wl_tensor *residual = n->op == WL_OP_DENSE ? n->u.dense.residual : NULL;
    return residual && residual->gradient ? wl_gradient_add_plain(p, n, residual, dy, e) : 0;
}

int wl_ref_rows_backward(struct wl_program *p, const struct wl_node *n, struct wl_err *e)
{
    const struct rows_op *op = op_of(n);
    const struct wl_tensor *x = n->in[0];
    struct wl_buf *in[WL_MAX_INPUTS], *dy, *dx = NULL;
    int rc = plain_inputs(p, n, in, e);
    if (!rc) rc = wl_plain_gradient(p, n, n->out, &dy, e);
    if (rc) return rc;
    const bool add = x->gradient && op->adds && adds_in_place(p, x);
    if (x->gradient) dx = add ? p->gradient[x->id] : wl_buf_plain(p, WL_MEM_VALUE, WL_F32, &x->dims);
    struct wl_step *s = emit(p, n, "backward", WL_TRAIN, op->backward);
    ((struct rows_step *)s->own)->add = add;
    for (int i = op->reads_input ? 0 : 1; i < WL_MAX_INPUTS && n->in[i]; i++)
        if (n->in[i]->role == WL_ROLE_INPUT || i == 0) use(p, s, IN + i, in[i], false);
    for (int i = 0; i < WL_MAX_PARAMS && n->par[i]; i++) use(p, s, PAR + i, p->value[n->par[i]->id], false);
    if (p->kept[n->out->id].buf[0]) use(p, s, KEPT, p->kept[n->out->id].buf[0], false);
    use(p, s, DOUT, dy, false);
    if (dx) use(p, s, DIN, dx, true);
    for (int i = 0; i < WL_MAX_PARAMS && n->par[i]; i++) use(p, s, DPAR + i, p->gradient[n->par[i]->id], true);
    use_scratch(p, n, s, true);
    if (dx && !add) rc = wl_gradient_add_plain(p, n, x, dx, e);
    if (!rc) rc = pass_residual(p, n, dy, e);
    wl_gradient_done(p, n->out);
    return rc;
}
