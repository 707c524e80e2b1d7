/* SchNet. Source: Schuett et al. 2017, arXiv:1706.08566, as in PyTorch Geometric (torch_geometric.nn.SchNet with
 * its defaults, for a property that is a sum over atoms): names and initialisation of the parameters are the same,
 * 455,809 numbers at full size. There the filters are also named interactions.0.conv.nn. */
#include "models/molecule_models.h"

enum { ELEMENTS = 100 }; /* rows of the embedding */

struct shape {
    int64_t hidden, filters, interactions, gaussians;
    double cutoff; /* angstrom */
};
static const struct shape full = { .hidden = 128, .filters = 128, .interactions = 6, .gaussians = 50, .cutoff = 10 };
static const struct shape tiny = { .hidden = 32, .filters = 32, .interactions = 2, .gaussians = 25, .cutoff = 5 };

static const struct shape *shape_of(const char *size) { return wl_str_eq(size, "tiny") ? &tiny : &full; }

static void inputs(struct wl_graph *g, const struct wl_molecule_capacity *room, struct wl_molecule_model_io *io)
{
    *io = (struct wl_molecule_model_io) {
        .counts = wl_input(g, "counts", WL_I32, WL_DIMS(WL_ROW_KINDS)),
        .atom_start = wl_input(g, "atom_start", WL_I32, WL_DIMS(room->molecules + 1)),
        .number = wl_input(g, "number", WL_I32, WL_DIMS(room->atoms)),
        .pair_start = wl_input(g, "pair_start", WL_I32, WL_DIMS(room->molecules + 1)),
        .pair = wl_input(g, "pair", WL_I32, WL_DIMS(room->edges, 2)),
        .distance = wl_input(g, "distance", WL_F32, WL_DIMS(room->edges)),
        .target = wl_input(g, "target", WL_F32, WL_DIMS(room->molecules, 1)),
    };
}

/* x [A,hidden] -> x + the messages of its neighbours */
static struct wl_tensor *interaction(struct wl_graph *g, const struct shape *s, const struct wl_molecule_model_io *io,
                                     bool exact, struct wl_tensor *x)
{
    const struct wl_rows atoms = { io->counts, WL_ATOMS };
    const struct wl_pairs pairs = { io->counts, io->atom_start, io->pair_start, io->pair, io->distance };
    struct wl_tensor *y =
        wl_dense(g, "conv.lin1", atoms, x, (struct wl_dense) { .features = s->filters, .no_bias = true });
    y = wl_filter_conv(g, "mlp", pairs, y, (struct wl_filter) { s->gaussians, s->cutoff, exact });
    y = wl_dense(g, "conv.lin2", atoms, y, (struct wl_dense) { .features = s->hidden, .activation = WL_ACT_SOFTPLUS });
    return wl_dense(g, "lin", atoms, y, (struct wl_dense) { .features = s->hidden, .residual = x });
}

static int build(struct wl_graph *g, const struct wl_molecule_model_opts *opts, struct wl_molecule_model_io *io,
                 struct wl_err *e)
{
    const struct shape *s = shape_of(opts->size);
    inputs(g, &opts->capacity, io);
    const struct wl_rows atoms = { io->counts, WL_ATOMS }, molecules = { io->counts, WL_MOLECULES };
    struct wl_tensor *x = wl_embed(g, "embedding", atoms, io->number, ELEMENTS, s->hidden);
    for (int64_t i = 0; i < s->interactions; i++) {
        wl_scope_push(g, "interactions.%d", (int)i);
        x = interaction(g, s, io, opts->exact_filters, x);
        wl_scope_pop(g);
    }
    x = wl_dense(g, "lin1", atoms, x, (struct wl_dense) { .features = s->hidden / 2, .activation = WL_ACT_SOFTPLUS });
    x = wl_dense(g, "lin2", atoms, x, (struct wl_dense) { .features = 1 });
    io->prediction = wl_segment_sum(g, "sum", molecules, x, io->atom_start);
    wl_output(g, io->prediction);
    io->loss = wl_mean_square(g, "loss", io->prediction, io->target, (struct wl_loss) { .weight = 1 });
    return wl_graph_check(g, e);
}

static double cutoff(const char *size) { return shape_of(size)->cutoff; }

const struct wl_molecule_model wl_schnet = { .name = "schnet", .cutoff = cutoff, .build = build };
