#include "nn/gpu/kernels/triplets.h"

#include "nn/gpu/ops/rows.h"

_Static_assert((int)WL_GPU_NEIGHBOURS == (int)WL_MAX_NEIGHBOURS, "kernels have room for every atom's edges");

/* Indices of the kernels; of pairs, the one with large tiles. */
enum { OUT = 0, DATA = 2, WEIGHTS = 4, JOIN = 6, PART, BASIS, SUM, SUM_BASIS };
static const char *const kernels[] = { "triplet_out_large",  "triplet_out_small",     "triplet_data_large",
                                       "triplet_data_small", "triplet_weights_large", "triplet_weights_small",
                                       "triplet_join",       "triplet_part",          "triplet_basis",
                                       "sum_row_parts",      "triplet_sum_basis",     NULL };

/* What both passes of a step know, and its scratch memory. */
struct triplets {
    const struct wl_step *s;
    struct wl_gpu_triplets of;
    int64_t atoms, edges; /* room for them */
    float *z, *dz;        /* [edges,bilinear,f] */
    float *dr;            /* [edges,orders,bilinear] */
    struct wl_gpu_row_parts weights, basis;
};

/* Returns the floats of scratch memory. */
static size_t divide(struct triplets *c, float *scratch, bool backward)
{
    size_t used = 0;
    const int64_t f = c->of.f, b = c->of.bilinear, orders = c->of.orders;
    c->z = wl_gpu_take(scratch, &used, (size_t)(c->edges * b * f));
    if (!backward) return used;
    c->dz = wl_gpu_take(scratch, &used, (size_t)(c->edges * b * f));
    c->dr = wl_gpu_take(scratch, &used, (size_t)(c->edges * orders * b));
    c->weights = wl_gpu_row_parts_for(NULL, c->edges, f, b * f);
    c->basis = wl_gpu_row_parts_for(NULL, c->edges, orders * b, orders * c->of.radials);
    c->weights.at = wl_gpu_take(scratch, &used, wl_gpu_row_parts_floats(&c->weights));
    c->basis.at = wl_gpu_take(scratch, &used, wl_gpu_row_parts_floats(&c->basis));
    return used;
}

static struct triplets triplets_of(const struct wl_node *n)
{
    const int64_t orders = n->in[3]->dims.d[1], *v = n->par[0]->dims.d;
    return (struct triplets) { .atoms = n->in[4]->dims.d[0] - 1,
                               .edges = n->out->dims.d[0],
                               .of = { .orders = (int32_t)orders,
                                       .radials = (int32_t)(v[1] / orders),
                                       .bilinear = (int32_t)v[0],
                                       .f = (int32_t)n->out->dims.d[1] } };
}

static struct triplets triplets_in(const struct wl_step *s, const struct wl_run *r, const struct wl_triplet_args *a,
                                   bool backward)
{
    struct triplets c = triplets_of(s->node);
    c.s = s;
    c.of.atoms = wl_rows_counts(s, r) + WL_ATOMS;
    c.of.edge_start = a->edge_start;
    c.of.reverse = a->reverse;
    c.of.triplet_start = a->triplet_start;
    c.of.radial = a->radial;
    c.of.angular = a->angular;
    c.of.v = a->v;
    divide(&c, a->scratch, backward);
    return c;
}

static struct wl_gpu_grid atoms_grid(const struct triplets *c)
{
    return (struct wl_gpu_grid) { .x = (unsigned)c->atoms, .threads = 32 * WL_GPU_TRIPLET_WARPS };
}

static int join(const struct triplets *c, const float *x, struct wl_err *e)
{
    struct wl_gpu_grid grid = atoms_grid(c);
    grid.shared_bytes =
        (unsigned)sizeof(float) * WL_GPU_NEIGHBOURS * WL_GPU_BILINEAR * (unsigned)(c->of.orders + WL_GPU_TRIPLET_WARPS);
    const struct wl_gpu_triplet_join a = { c->of, x, c->z };
    return WL_GPU_ROWS_LAUNCH(c->s, JOIN, &grid, &a, e);
}

static int forward(const struct wl_step *s, const struct wl_run *r, struct wl_err *e)
{
    const struct wl_triplet_args of = wl_rows_triplet_args(s, r);
    const struct triplets c = triplets_in(s, r, &of, false);
    const struct wl_gpu_tile_grid t = wl_gpu_tile_grid_for(c.edges, c.of.f, 1);
    const struct wl_gpu_triplet_out a = { c.of, c.z, of.w, of.residual, of.y };
    int rc = join(&c, of.x, e);
    return rc ? rc : WL_GPU_ROWS_LAUNCH(s, OUT + t.small, &t.grid, &a, e);
}

static int data(const struct triplets *c, const struct wl_triplet_grad *g, struct wl_err *e)
{
    const struct wl_gpu_tile_grid t = wl_gpu_tile_grid_for(c->edges, c->of.bilinear * c->of.f, 1);
    const struct wl_gpu_triplet_data a = { c->of, g->dy, g->of.w, c->dz };
    return WL_GPU_ROWS_LAUNCH(c->s, DATA + t.small, &t.grid, &a, e);
}

static int weights(const struct triplets *c, const struct wl_triplet_grad *g, struct wl_err *e)
{
    const int64_t f = c->of.f, width = c->of.bilinear * f;
    const struct wl_gpu_tile_grid t = wl_gpu_tile_grid_for(f, width, c->weights.n);
    const struct wl_gpu_triplet_weights a = { c->of, g->dy, c->z, c->weights };
    int rc = WL_GPU_ROWS_LAUNCH(c->s, WEIGHTS + t.small, &t.grid, &a, e);
    const struct wl_gpu_sum_row_parts sum = { .parts = c->weights, .first = g->dw, .n_first = f * width };
    return rc ? rc : wl_gpu_sum_row_parts(c->s, SUM, &sum, e);
}

static int part(const struct triplets *c, const struct wl_triplet_grad *g, struct wl_err *e)
{
    const struct wl_gpu_grid grid = atoms_grid(c);
    const struct wl_gpu_triplet_part a = { c->of, g->of.x, c->dz, g->dx, c->dr };
    return WL_GPU_ROWS_LAUNCH(c->s, PART, &grid, &a, e);
}

static int basis(const struct triplets *c, const struct wl_triplet_grad *g, struct wl_err *e)
{
    const int64_t m = c->of.orders * c->of.bilinear, n = c->of.orders * c->of.radials;
    const struct wl_gpu_grid grid = wl_gpu_small_tile_grid(m, n, c->basis.n);
    const struct wl_gpu_grid sum = wl_gpu_rows_grid(c->s, c->of.bilinear * n);
    const struct wl_gpu_triplet_basis a = { c->of, c->dr, c->basis, g->dv };
    int rc = WL_GPU_ROWS_LAUNCH(c->s, BASIS, &grid, &a, e);
    return rc ? rc : WL_GPU_ROWS_LAUNCH(c->s, SUM_BASIS, &sum, &a, e);
}

static int backward(const struct wl_step *s, const struct wl_run *r, struct wl_err *e)
{
    const struct wl_triplet_grad g = wl_rows_triplet_grad(s, r);
    const struct triplets c = triplets_in(s, r, &g.of, true);
    int rc = join(&c, g.of.x, e);
    if (!rc) rc = data(&c, &g, e);
    if (!rc) rc = weights(&c, &g, e);
    if (!rc) rc = part(&c, &g, e);
    return rc ? rc : basis(&c, &g, e);
}

static size_t scratch(const void *names, const struct wl_node *n, bool is_backward)
{
    (void)names;
    struct triplets c = triplets_of(n);
    return divide(&c, NULL, is_backward);
}

static int prepare(struct wl_program *p, const struct wl_node *n, const void **table, struct wl_err *e)
{
    const int64_t orders = n->in[3]->dims.d[1];
    if (orders <= WL_GPU_TRIPLET_ORDERS) return wl_gpu_rows_prepare(p, n, table, e);
    return wl_fail(e, WL_EINVAL, "%lld orders of the angular basis, back-end gpu has at most %d", (long long)orders,
                   WL_GPU_TRIPLET_ORDERS);
}

static const struct wl_rows_op rows = { &wl_rows_uses_triplet_conv, forward, backward, scratch, prepare };

const struct wl_op_rules wl_gpu_op_triplet_conv = { wl_lower_rows, wl_lower_rows_backward, .lowering = &rows,
                                                    .kernels = kernels };
