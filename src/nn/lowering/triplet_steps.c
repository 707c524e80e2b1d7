/* The operations of DimeNet. */
#include "nn/lowering/rows.h"

/* ---- bases ------------------------------------------------------------------------------------------------------- */

static int bessel_run(const struct wl_step *s, const struct wl_run *r, struct wl_err *e)
{
    int64_t rows;
    int rc = wl_rows_count(s, r, s->node->rows, s->node->out->dims.d[0], &rows, e);
    if (!rc)
        wl_rows_own(s)->kernels->bessel_basis(&s->node->u.basis, rows, wl_rows_at(s, r, IN), wl_rows_at(s, r, PAR),
                                              wl_rows_at(s, r, OUT));
    return rc;
}

static int bessel_backward_run(const struct wl_step *s, const struct wl_run *r, struct wl_err *e)
{
    int64_t rows;
    int rc = wl_rows_count(s, r, s->node->rows, s->node->out->dims.d[0], &rows, e);
    if (!rc)
        wl_rows_own(s)->kernels->bessel_basis_backward(&s->node->u.basis, rows, wl_rows_at(s, r, IN),
                                                       wl_rows_at(s, r, PAR), wl_rows_at(s, r, DOUT),
                                                       wl_rows_at(s, r, DPAR));
    return rc;
}

const struct wl_rows_op wl_rows_bessel_basis = { bessel_run, bessel_backward_run };

static int spherical_run(const struct wl_step *s, const struct wl_run *r, struct wl_err *e)
{
    int64_t rows;
    int rc = wl_rows_count(s, r, s->node->rows, s->node->out->dims.d[0], &rows, e);
    if (!rc)
        wl_rows_own(s)->kernels->spherical_basis(&s->node->u.basis, wl_rows_own(s)->table, rows, wl_rows_at(s, r, IN),
                                                 wl_rows_at(s, r, OUT));
    return rc;
}

static const void *spherical_table(const struct wl_rows_kernels *k, const struct wl_node *n, struct wl_arena *a)
{
    return k->spherical_table(&n->u.basis, a);
}

const struct wl_rows_op wl_rows_spherical_basis = { spherical_run, .table = spherical_table };

static int angular_run(const struct wl_step *s, const struct wl_run *r, struct wl_err *e)
{
    int64_t rows;
    int rc = wl_rows_count(s, r, s->node->rows, s->node->out->dims.d[0], &rows, e);
    if (!rc)
        wl_rows_own(s)->kernels->angular_basis(s->node->u.basis.spherical, rows, wl_rows_at(s, r, IN),
                                               wl_rows_at(s, r, OUT));
    return rc;
}

const struct wl_rows_op wl_rows_angular_basis = { angular_run };

/* ---- gate -------------------------------------------------------------------------------------------------------- */

static struct wl_gate_args gate_args(const struct wl_step *s, const struct wl_run *r)
{
    const struct wl_node *n = s->node;
    return (struct wl_gate_args) { .rows = n->out->dims.d[0],
                                   .f = n->par[0]->dims.d[0],
                                   .k = n->par[0]->dims.d[1],
                                   .x = wl_rows_at(s, r, IN),
                                   .basis = wl_rows_at(s, r, IN + 1),
                                   .w = wl_rows_at(s, r, PAR),
                                   .y = wl_rows_at(s, r, OUT),
                                   .scratch = wl_rows_at(s, r, SCRATCH) };
}

static int gate_run(const struct wl_step *s, const struct wl_run *r, struct wl_err *e)
{
    struct wl_gate_args a = gate_args(s, r);
    int rc = wl_rows_count(s, r, s->node->rows, a.rows, &a.rows, e);
    if (!rc) wl_rows_own(s)->kernels->gate(&a);
    return rc;
}

static int gate_backward_run(const struct wl_step *s, const struct wl_run *r, struct wl_err *e)
{
    struct wl_gate_grad g = { .of = gate_args(s, r),
                              .dy = wl_rows_at(s, r, DOUT),
                              .dx = wl_rows_at(s, r, DIN),
                              .d_basis = wl_rows_at(s, r, DIN + 1),
                              .dw = wl_rows_at(s, r, DPAR),
                              .add = wl_rows_own(s)->add[1] };
    int rc = wl_rows_count(s, r, s->node->rows, g.of.rows, &g.of.rows, e);
    if (!rc) wl_rows_own(s)->kernels->gate_backward(&g);
    return rc;
}

static size_t gate_scratch(const struct wl_rows_kernels *k, const struct wl_node *n, bool backward)
{
    const int64_t *w = n->par[0]->dims.d;
    return k->gate_scratch ? k->gate_scratch(w[0], w[1], backward) : 0;
}

const struct wl_rows_op wl_rows_gate = { gate_run, gate_backward_run, .gradients = 2, .adds = 2,
                                         .scratch = gate_scratch };

/* ---- edges ------------------------------------------------------------------------------------------------------- */

/* Edges as the caller filled them in; `at` is the place of the first of these inputs. */
struct edges {
    int64_t atoms, edges;
    const int32_t *edge_start, *source, *reverse, *triplet_start;
};

static int read_edges(const struct wl_step *s, const struct wl_run *r, int at, struct edges *g, struct wl_err *e)
{
    struct wl_tensor *const *in = s->node->in + at;
    *g = (struct edges) { .edge_start = wl_rows_at(s, r, IN + at),
                          .source = wl_rows_at(s, r, IN + at + 1),
                          .reverse = wl_rows_at(s, r, IN + at + 2),
                          .triplet_start = wl_rows_at(s, r, IN + at + 3) };
    int rc = wl_rows_count(s, r, WL_EDGES, in[1]->dims.d[0], &g->edges, e);
    return rc ? rc : wl_rows_count(s, r, WL_ATOMS, in[0]->dims.d[0] - 1, &g->atoms, e);
}

/* Each edge between two atoms must have one back, or backward would sum what is not there. */
static int check_edges(const struct wl_step *s, int at, const struct edges *g, struct wl_err *e)
{
    struct wl_tensor *const *in = s->node->in + at;
    int rc = wl_rows_check_starts(in[0]->name, g->edge_start, g->atoms, g->edges, e);
    if (!rc) rc = wl_rows_check_indices(in[1]->name, g->source, g->edges, g->atoms, e);
    if (!rc) rc = wl_rows_check_indices(in[2]->name, g->reverse, g->edges, g->edges, e);
    for (int64_t i = 0; i < g->atoms && !rc; i++)
        for (int64_t q = g->edge_start[i]; q < g->edge_start[i + 1] && !rc; q++)
            if (g->source[g->reverse[q]] != i || g->reverse[g->reverse[q]] != q)
                rc = wl_fail(e, WL_EINVAL, "%s: edge %lld, from atom %d to %lld, has no edge back", in[2]->name,
                             (long long)q, (int)g->source[q], (long long)i);
    return rc;
}

/* Kernels take the edges that lead to an atom as one block. */
static int check_triplets(const struct wl_step *s, const struct wl_run *r, int at, const struct edges *g, int64_t room,
                          struct wl_err *e)
{
    const char *name = s->node->in[at + 3]->name;
    int64_t triplets;
    int rc = wl_rows_count(s, r, WL_TRIPLETS, room, &triplets, e);
    if (!rc) rc = wl_rows_check_starts(name, g->triplet_start, g->atoms, triplets, e);
    for (int64_t i = 0; i < g->atoms && !rc; i++) {
        const int64_t near = g->edge_start[i + 1] - g->edge_start[i];
        if (near > WL_MAX_NEIGHBOURS)
            rc = wl_fail(e, WL_EINVAL, "atom %lld has %lld neighbours, at most %d are expected", (long long)i,
                         (long long)near, WL_MAX_NEIGHBOURS);
        else if (g->triplet_start[i + 1] - g->triplet_start[i] != near * (near - 1))
            rc = wl_fail(e, WL_EINVAL, "%s: %d triplets around atom %lld, its %lld neighbours make %lld", name,
                         (int)(g->triplet_start[i + 1] - g->triplet_start[i]), (long long)i, (long long)near,
                         (long long)(near * (near - 1)));
    }
    return rc;
}

/* ---- edge_concat ------------------------------------------------------------------------------------------------- */

static struct wl_concat_args concat_args(const struct wl_step *s, const struct wl_run *r, const struct edges *g)
{
    return (struct wl_concat_args) { .f = s->node->in[0]->dims.d[1],
                                     .g = s->node->in[1]->dims.d[1],
                                     .edge_start = g->edge_start,
                                     .source = g->source,
                                     .reverse = g->reverse,
                                     .x = wl_rows_at(s, r, IN),
                                     .z = wl_rows_at(s, r, IN + 1),
                                     .y = wl_rows_at(s, r, OUT) };
}

static int concat_run(const struct wl_step *s, const struct wl_run *r, struct wl_err *e)
{
    struct edges g;
    int rc = read_edges(s, r, 2, &g, e);
    if (!rc) rc = check_edges(s, 2, &g, e);
    const struct wl_concat_args a = concat_args(s, r, &g);
    if (!rc) wl_rows_own(s)->kernels->edge_concat(&a, g.atoms);
    return rc;
}

static int concat_backward_run(const struct wl_step *s, const struct wl_run *r, struct wl_err *e)
{
    struct edges g;
    int rc = read_edges(s, r, 2, &g, e);
    const struct wl_concat_grad b = { .of = concat_args(s, r, &g),
                                      .dy = wl_rows_at(s, r, DOUT),
                                      .dx = wl_rows_at(s, r, DIN),
                                      .dz = wl_rows_at(s, r, DIN + 1) };
    if (!rc) wl_rows_own(s)->kernels->edge_concat_backward(&b, g.atoms);
    return rc;
}

const struct wl_rows_op wl_rows_edge_concat = { concat_run, concat_backward_run, .gradients = 2, .spares = 3 };

/* ---- triplet_conv ------------------------------------------------------------------------------------------------ */

enum { EDGES_AT = 4 }; /* behind x, residual, radial, angular */

static struct wl_triplet_args triplet_shape(const struct wl_node *n)
{
    const int64_t orders = n->in[3]->dims.d[1];
    return (struct wl_triplet_args) { .f = n->out->dims.d[1],
                                      .bilinear = n->par[0]->dims.d[0],
                                      .orders = orders,
                                      .radials = n->par[0]->dims.d[1] / orders };
}

static struct wl_triplet_args triplet_args(const struct wl_step *s, const struct wl_run *r, const struct edges *g)
{
    struct wl_triplet_args a = triplet_shape(s->node);
    a.atoms = g->atoms;
    a.edge_start = g->edge_start;
    a.reverse = g->reverse;
    a.triplet_start = g->triplet_start;
    a.x = wl_rows_at(s, r, IN);
    a.residual = wl_rows_at(s, r, IN + 1);
    a.radial = wl_rows_at(s, r, IN + 2);
    a.angular = wl_rows_at(s, r, IN + 3);
    a.v = wl_rows_at(s, r, PAR);
    a.w = wl_rows_at(s, r, PAR + 1);
    a.y = wl_rows_at(s, r, OUT);
    a.scratch = wl_rows_at(s, r, SCRATCH);
    return a;
}

static int triplet_run(const struct wl_step *s, const struct wl_run *r, struct wl_err *e)
{
    struct edges g;
    int rc = read_edges(s, r, EDGES_AT, &g, e);
    if (!rc) rc = check_edges(s, EDGES_AT, &g, e);
    if (!rc) rc = check_triplets(s, r, EDGES_AT, &g, s->node->in[3]->dims.d[0], e);
    const struct wl_triplet_args a = triplet_args(s, r, &g);
    if (!rc) wl_rows_own(s)->kernels->triplet_conv(&a);
    return rc;
}

static int triplet_backward_run(const struct wl_step *s, const struct wl_run *r, struct wl_err *e)
{
    struct edges g;
    int rc = read_edges(s, r, EDGES_AT, &g, e);
    const struct wl_triplet_grad b = { .of = triplet_args(s, r, &g),
                                       .dy = wl_rows_at(s, r, DOUT),
                                       .dx = wl_rows_at(s, r, DIN),
                                       .dv = wl_rows_at(s, r, DPAR),
                                       .dw = wl_rows_at(s, r, DPAR + 1) };
    if (!rc) wl_rows_own(s)->kernels->triplet_conv_backward(&b);
    return rc;
}

static size_t triplet_scratch(const struct wl_rows_kernels *k, const struct wl_node *n, bool backward)
{
    const struct wl_triplet_args shape = triplet_shape(n);
    return k->triplet_scratch ? k->triplet_scratch(&shape, backward) : 0;
}

const struct wl_rows_op wl_rows_triplet_conv = { triplet_run, triplet_backward_run, .gradients = 1,
                                                 .scratch = triplet_scratch };
