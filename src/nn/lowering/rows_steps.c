/* The operations of SchNet, which other networks use too. */
#include "nn/lowering/rows.h"

/* ---- embed ------------------------------------------------------------------------------------------------------- */

static int embed_run(const struct wl_step *s, const struct wl_run *r, struct wl_err *e)
{
    const struct wl_node *n = s->node;
    const struct wl_dims *w = &n->par[0]->dims;
    const int32_t *index = wl_rows_at(s, r, IN);
    int64_t rows;
    int rc = wl_rows_count(s, r, n->rows, n->out->dims.d[0], &rows, e);
    if (!rc) rc = wl_rows_check_indices(n->in[0]->name, index, rows, w->d[0], e);
    if (!rc) wl_ref_embed(rows, w->d[1], index, wl_rows_at(s, r, PAR), wl_rows_at(s, r, OUT));
    return rc;
}

static int embed_backward_run(const struct wl_step *s, const struct wl_run *r, struct wl_err *e)
{
    const struct wl_dims *w = &s->node->par[0]->dims;
    int64_t rows;
    int rc = wl_rows_count(s, r, s->node->rows, s->node->out->dims.d[0], &rows, e);
    if (!rc)
        wl_ref_embed_backward(rows, w->d[0], w->d[1], wl_rows_at(s, r, IN), wl_rows_at(s, r, DOUT),
                              wl_rows_at(s, r, DPAR));
    return rc;
}

const struct wl_rows_op wl_rows_embed = { embed_run, embed_backward_run };

/* ---- segment_sum ------------------------------------------------------------------------------------------------- */

static int segment_run(const struct wl_step *s, const struct wl_run *r, struct wl_err *e)
{
    const struct wl_node *n = s->node;
    const int32_t *start = wl_rows_at(s, r, IN + 1);
    const int64_t room = n->out->dims.d[0];
    int64_t segments;
    int rc = wl_rows_count(s, r, n->rows, room, &segments, e);
    if (!rc) rc = wl_rows_check_starts(n->in[1]->name, start, segments, n->in[0]->dims.d[0], e);
    if (!rc) wl_ref_segment_sum(segments, room, n->out->dims.d[1], start, wl_rows_at(s, r, IN), wl_rows_at(s, r, OUT));
    return rc;
}

static int segment_backward_run(const struct wl_step *s, const struct wl_run *r, struct wl_err *e)
{
    int64_t segments;
    int rc = wl_rows_count(s, r, s->node->rows, s->node->out->dims.d[0], &segments, e);
    if (!rc)
        wl_ref_segment_sum_backward(segments, s->node->out->dims.d[1], wl_rows_at(s, r, IN + 1), wl_rows_at(s, r, DOUT),
                                    wl_rows_at(s, r, DIN));
    return rc;
}

const struct wl_rows_op wl_rows_segment_sum = { segment_run, segment_backward_run, .gradients = 1, .spares = 1 };

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
                               .x = wl_rows_at(s, r, IN),
                               .w = wl_rows_at(s, r, PAR),
                               .b = wl_rows_at(s, r, PAR + 1),
                               .residual = n->residual ? wl_rows_at(s, r, IN + 1) : NULL,
                               .y = wl_rows_at(s, r, OUT),
                               .u = wl_rows_at(s, r, KEPT),
                               .scratch = wl_rows_at(s, r, SCRATCH) };
    int rc = wl_rows_count(s, r, n->rows, a.m.n, &a.m.n, e);
    if (!rc) wl_rows_own(s)->kernels->dense(&a);
    return rc;
}

static int dense_backward_run(const struct wl_step *s, const struct wl_run *r, struct wl_err *e)
{
    const struct wl_node *n = s->node;
    struct wl_dense_grad a = { .m = dense_matrix(n),
                               .activation = n->u.dense.activation,
                               .x = wl_rows_at(s, r, IN),
                               .w = wl_rows_at(s, r, PAR),
                               .u = wl_rows_at(s, r, KEPT),
                               .dy = wl_rows_at(s, r, DOUT),
                               .dx = wl_rows_at(s, r, DIN),
                               .dw = wl_rows_at(s, r, DPAR),
                               .db = wl_rows_at(s, r, DPAR + 1),
                               .scratch = wl_rows_at(s, r, SCRATCH),
                               .add = wl_rows_own(s)->add[0] };
    int rc = wl_rows_count(s, r, n->rows, a.m.n, &a.m.n, e);
    if (!rc) wl_rows_own(s)->kernels->dense_backward(&a);
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

const struct wl_rows_op wl_rows_dense = { dense_run, dense_backward_run,   .gradients = 1,
                                          .adds = 1, .keeps = dense_keeps, .scratch = dense_scratch };

/* ---- filter_conv ------------------------------------------------------------------------------------------------- */

static struct wl_filter_args filter_args(const struct wl_step *s, const struct wl_run *r)
{
    const struct wl_node *n = s->node;
    return (struct wl_filter_args) { .f = n->out->dims.d[1],
                                     .gaussians = n->u.filter.gaussians,
                                     .cutoff = n->u.filter.cutoff,
                                     .x = wl_rows_at(s, r, IN),
                                     .atom_start = wl_rows_at(s, r, IN + 1),
                                     .pair_start = wl_rows_at(s, r, IN + 2),
                                     .pair = wl_rows_at(s, r, IN + 3),
                                     .distance = wl_rows_at(s, r, IN + 4),
                                     .w0 = wl_rows_at(s, r, PAR),
                                     .b0 = wl_rows_at(s, r, PAR + 1),
                                     .w2 = wl_rows_at(s, r, PAR + 2),
                                     .b2 = wl_rows_at(s, r, PAR + 3),
                                     .y = wl_rows_at(s, r, OUT),
                                     .kept = wl_rows_at(s, r, KEPT),
                                     .scratch = wl_rows_at(s, r, SCRATCH) };
}

/* Kernels share molecules out, so a pair must not reach beyond its own. */
static int check_pairs(const struct wl_node *n, const struct wl_filter_args *a, struct wl_err *e)
{
    int rc = wl_rows_check_starts(n->in[1]->name, a->atom_start, a->molecules, n->in[0]->dims.d[0], e);
    if (!rc) rc = wl_rows_check_starts(n->in[2]->name, a->pair_start, a->molecules, n->in[4]->dims.d[0], e);
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
    int rc = wl_rows_count(s, r, WL_MOLECULES, s->node->in[1]->dims.d[0] - 1, &a.molecules, e);
    if (!rc) rc = check_pairs(s->node, &a, e);
    if (!rc) wl_rows_own(s)->kernels->filter_conv(&a);
    return rc;
}

static int filter_backward_run(const struct wl_step *s, const struct wl_run *r, struct wl_err *e)
{
    struct wl_filter_grad g = { .of = filter_args(s, r),
                                .dy = wl_rows_at(s, r, DOUT),
                                .dx = wl_rows_at(s, r, DIN),
                                .dw0 = wl_rows_at(s, r, DPAR),
                                .db0 = wl_rows_at(s, r, DPAR + 1),
                                .dw2 = wl_rows_at(s, r, DPAR + 2),
                                .db2 = wl_rows_at(s, r, DPAR + 3) };
    int rc = wl_rows_count(s, r, WL_MOLECULES, s->node->in[1]->dims.d[0] - 1, &g.of.molecules, e);
    if (!rc) wl_rows_own(s)->kernels->filter_conv_backward(&g);
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

const struct wl_rows_op wl_rows_filter_conv = { filter_run, filter_backward_run, .gradients = 1, .keeps = filter_keeps,
                                                .scratch = filter_scratch };
