#include "nn/gpu/kernels/filter.h"

#include "nn/gpu/ops/rows.h"

/* Indices of the kernels; of pairs, the one with large tiles. */
enum { HIDDEN = 0, FILTERS = 2, BEFORE = 4, WEIGHTS2 = 6, WEIGHTS0 = 8, SPREAD, GATHER, SUM };
static const char *const kernels[] = { "filter_hidden_large",
                                       "filter_hidden_small",
                                       "filter_filters_large",
                                       "filter_filters_small",
                                       "filter_before_large",
                                       "filter_before_small",
                                       "filter_weights2_large",
                                       "filter_weights2_small",
                                       "filter_weights0",
                                       "filter_spread",
                                       "filter_gather",
                                       "sum_row_parts",
                                       NULL };

/* What both passes of a step know, and its scratch memory. */
struct filter {
    const struct wl_step *s;
    struct wl_gpu_pairs pairs;
    int64_t atoms, room; /* room: of pairs */
    int32_t f, gaussians;
    float *hidden;                          /* [room,f] */
    float *unsaved;                         /* forward: the filters where nobody keeps them; backward: d_filters */
    struct wl_gpu_row_parts parts2, parts0; /* of the gradients of both layers */
};

/* Returns the floats of scratch memory. */
static size_t divide(struct filter *c, float *scratch, bool backward)
{
    size_t used = 0;
    const size_t rows = (size_t)(c->room * c->f);
    c->hidden = wl_gpu_take(scratch, &used, rows);
    c->unsaved = wl_gpu_take(scratch, &used, rows);
    if (!backward) return used;
    c->parts2 = wl_gpu_row_parts_for(NULL, c->room, c->f, c->f);
    c->parts0 = wl_gpu_row_parts_for(NULL, c->room, c->f, c->gaussians);
    c->parts2.at = wl_gpu_take(scratch, &used, wl_gpu_row_parts_floats(&c->parts2));
    c->parts0.at = wl_gpu_take(scratch, &used, wl_gpu_row_parts_floats(&c->parts0));
    return used;
}

static struct filter filter_of(const struct wl_node *n)
{
    return (struct filter) { .atoms = n->in[0]->dims.d[0],
                             .room = n->in[4]->dims.d[0],
                             .f = (int32_t)n->out->dims.d[1],
                             .gaussians = (int32_t)n->u.filter.gaussians };
}

static struct filter filter_in(const struct wl_step *s, const struct wl_run *r, const struct wl_filter_args *a,
                               bool backward)
{
    struct filter c = filter_of(s->node);
    c.s = s;
    c.pairs = (struct wl_gpu_pairs) { .molecules = wl_rows_counts(s, r) + WL_MOLECULES,
                                      .atom_start = a->atom_start,
                                      .pair_start = a->pair_start,
                                      .pair = a->pair,
                                      .distance = a->distance,
                                      .cutoff = a->cutoff };
    divide(&c, a->scratch, backward);
    return c;
}

static int hidden(const struct filter *c, const struct wl_filter_args *of, struct wl_err *e)
{
    const struct wl_gpu_tile_grid t = wl_gpu_tile_grid_for(c->room, c->f, 1);
    const struct wl_gpu_filter_hidden a = { c->pairs, of->w0, of->b0, c->hidden, c->f, c->gaussians };
    return WL_GPU_ROWS_LAUNCH(c->s, HIDDEN + t.small, &t.grid, &a, e);
}

static int filters(const struct filter *c, const struct wl_filter_args *of, float *to, struct wl_err *e)
{
    const struct wl_gpu_tile_grid t = wl_gpu_tile_grid_for(c->room, c->f, 1);
    const struct wl_gpu_filter_filters a = { c->pairs, c->hidden, of->w2, of->b2, to, c->f };
    return WL_GPU_ROWS_LAUNCH(c->s, FILTERS + t.small, &t.grid, &a, e);
}

static int spread(const struct filter *c, const float *with, const float *x, float *y, struct wl_err *e)
{
    const struct wl_gpu_grid grid = { .x = (unsigned)((c->atoms + 7) / 8), .threads = 256 }; /* a warp an atom */
    const struct wl_gpu_filter_spread a = { c->pairs, with, x, y, c->f };
    return WL_GPU_ROWS_LAUNCH(c->s, SPREAD, &grid, &a, e);
}

static int forward(const struct wl_step *s, const struct wl_run *r, struct wl_err *e)
{
    const struct wl_filter_args of = wl_rows_filter_args(s, r);
    const struct filter c = filter_in(s, r, &of, false);
    float *const to = of.saved_filters ? of.saved_filters : c.unsaved;
    int rc = hidden(&c, &of, e);
    if (!rc) rc = filters(&c, &of, to, e);
    return rc ? rc : spread(&c, to, of.x, of.y, e);
}

static int gather(const struct filter *c, const struct wl_filter_grad *g, struct wl_err *e)
{
    const struct wl_gpu_grid grid = wl_gpu_warps_grid(c->s, c->room);
    const struct wl_gpu_filter_gather a = { c->pairs, g->of.x, g->dy, c->unsaved, c->f };
    return WL_GPU_ROWS_LAUNCH(c->s, GATHER, &grid, &a, e);
}

static int before(const struct filter *c, const struct wl_filter_grad *g, struct wl_err *e)
{
    const struct wl_gpu_tile_grid t = wl_gpu_tile_grid_for(c->room, c->f, 1);
    const struct wl_gpu_filter_before a = { c->pairs, c->unsaved, g->of.w2, c->hidden, c->f };
    return WL_GPU_ROWS_LAUNCH(c->s, BEFORE + t.small, &t.grid, &a, e);
}

/* The gradients of one layer and its bias. */
static int weights(const struct filter *c, int kernel, const struct wl_gpu_grid *grid,
                   const struct wl_gpu_sum_row_parts *sum, struct wl_err *e)
{
    const struct wl_gpu_filter_weights a = { c->pairs, c->unsaved, c->hidden, sum->parts, c->f, c->gaussians };
    int rc = WL_GPU_ROWS_LAUNCH(c->s, kernel, grid, &a, e);
    return rc ? rc : wl_gpu_sum_row_parts(c->s, SUM, sum, e);
}

static int weights2(const struct filter *c, const struct wl_filter_grad *g, struct wl_err *e)
{
    const struct wl_gpu_tile_grid t = wl_gpu_tile_grid_for(c->f, c->f, c->parts2.n);
    const struct wl_gpu_sum_row_parts sum = { c->parts2, g->dw2, g->db2, (int64_t)c->f * c->f, c->f };
    return weights(c, WEIGHTS2 + t.small, &t.grid, &sum, e);
}

static int weights0(const struct filter *c, const struct wl_filter_grad *g, struct wl_err *e)
{
    const struct wl_gpu_grid grid = wl_gpu_small_tile_grid(c->f, c->gaussians, c->parts0.n);
    const struct wl_gpu_sum_row_parts sum = { c->parts0, g->dw0, g->db0, (int64_t)c->f * c->gaussians, c->f };
    return weights(c, WEIGHTS0, &grid, &sum, e);
}

/* The second layer's weights read `hidden` before its gradient overwrites it. */
static int backward(const struct wl_step *s, const struct wl_run *r, struct wl_err *e)
{
    const struct wl_filter_grad g = wl_rows_filter_grad(s, r);
    const struct filter c = filter_in(s, r, &g.of, true);
    int rc = spread(&c, g.of.saved_filters, g.dy, g.dx, e);
    if (!rc) rc = hidden(&c, &g.of, e);
    if (!rc) rc = gather(&c, &g, e);
    if (!rc) rc = weights2(&c, &g, e);
    if (!rc) rc = before(&c, &g, e);
    return rc ? rc : weights0(&c, &g, e);
}

static size_t scratch(const void *names, const struct wl_node *n, bool is_backward)
{
    (void)names;
    struct filter c = filter_of(n);
    return divide(&c, NULL, is_backward);
}

/* There is no table on a GPU, whatever the node says. */
static void describe(const struct wl_program *p, bool is_backward, struct wl_step *s)
{
    (void)p, (void)is_backward;
    s->implementation = "exact filters";
}

static const struct wl_rows_op rows = { &wl_rows_uses_filter_conv, forward, backward, scratch, wl_gpu_rows_prepare,
                                        .describe = describe };

const struct wl_op_rules wl_gpu_op_filter_conv = { wl_lower_rows, wl_lower_rows_backward, .lowering = &rows,
                                                   .kernels = kernels };
