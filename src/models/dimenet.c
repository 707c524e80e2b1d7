/* DimeNet. Source: Gasteiger et al. 2020, arXiv:2003.03123, as in PyTorch Geometric (torch_geometric.nn.DimeNet
 * with hidden_channels 128, out_channels 1, num_blocks 6, num_bilinear 8, num_spherical 7, num_radial 6 and its
 * defaults): names of the parameters are the same, 2,100,070 numbers at full size. Angles are at i, as there; the paper
 * has them at j. Its matrices start as random orthogonal ones scaled to a variance of 2/(fan-in + fan-out); here they
 * are uniform with that variance. The last layer of each output block starts at 0. */
#include "models/molecule_models.h"

#include <math.h>
#include <stdio.h>

enum { ELEMENTS = 95, BEFORE_SKIP = 1, AFTER_SKIP = 2, OUTPUT_LAYERS = 3 };

struct shape {
    int64_t hidden, blocks, bilinear;
    struct wl_basis basis;
};
static const struct shape full = {
    .hidden = 128, .blocks = 6, .bilinear = 8, .basis = { .radial = 6, .spherical = 7, .power = 6, .cutoff = 5 }
};
static const struct shape tiny = {
    .hidden = 64, .blocks = 1, .bilinear = 8, .basis = { .radial = 4, .spherical = 3, .power = 6, .cutoff = 4 }
};

static const struct shape *shape_of(const char *size) { return wl_str_eq(size, "tiny") ? &tiny : &full; }

/* A graph under construction. */
struct net {
    struct wl_graph *g;
    const struct shape *s;
    struct wl_rows atoms, edges;
    struct wl_edges graph;
    struct wl_tensor *rbf, *radial, *angular; /* bases of edges, and of triplets */
};

static void inputs(struct wl_graph *g, const struct wl_molecule_capacity *room, struct wl_molecule_model_io *io)
{
    *io = (struct wl_molecule_model_io) {
        .counts = wl_input(g, "counts", WL_I32, WL_DIMS(WL_ROW_KINDS)),
        .atom_start = wl_input(g, "atom_start", WL_I32, WL_DIMS(room->molecules + 1)),
        .number = wl_input(g, "number", WL_I32, WL_DIMS(room->atoms)),
        .edge_start = wl_input(g, "edge_start", WL_I32, WL_DIMS(room->atoms + 1)),
        .source = wl_input(g, "source", WL_I32, WL_DIMS(room->edges)),
        .reverse = wl_input(g, "reverse", WL_I32, WL_DIMS(room->edges)),
        .triplet_start = wl_input(g, "triplet_start", WL_I32, WL_DIMS(room->atoms + 1)),
        .distance = wl_input(g, "distance", WL_F32, WL_DIMS(room->edges)),
        .cosine = wl_input(g, "cosine", WL_F32, WL_DIMS(room->triplets)),
        .target = wl_input(g, "target", WL_F32, WL_DIMS(room->molecules, 1)),
    };
}

/* swish(x w' + b) [+ residual], rows of `hidden` features */
static struct wl_tensor *layer(const struct net *n, struct wl_rows rows, const char *name, struct wl_tensor *x,
                               struct wl_tensor *residual)
{
    const struct wl_dense how = { .features = n->s->hidden, .activation = WL_ACT_SWISH, .residual = residual };
    return wl_dense(n->g, name, rows, x, how);
}

/* PyTorch's default initialisation of a linear layer. */
static struct wl_tensor *fan_in(const struct net *n, struct wl_tensor *y, int64_t features)
{
    const struct wl_init init = { WL_INIT_UNIFORM, 1 / sqrt((double)features) };
    wl_init_weight(n->g, y, init);
    wl_init_bias(n->g, y, init);
    return y;
}

/* Messages [E,hidden] of the edges. */
static struct wl_tensor *embedding(const struct net *n, struct wl_tensor *number)
{
    const int64_t hidden = n->s->hidden;
    wl_scope_push(n->g, "emb");
    struct wl_tensor *x = wl_embed(n->g, "emb", n->atoms, number, ELEMENTS, hidden);
    wl_init_weight(n->g, x, (struct wl_init) { WL_INIT_UNIFORM, sqrt(3) });
    struct wl_tensor *r = fan_in(n, layer(n, n->edges, "lin_rbf", n->rbf, NULL), n->s->basis.radial);
    x = wl_edge_concat(n->g, "cat", n->graph, x, r);
    x = fan_in(n, layer(n, n->edges, "lin", x, NULL), 3 * hidden);
    wl_scope_pop(n->g);
    return x;
}

static struct wl_tensor *residuals(const struct net *n, const char *name, int count, struct wl_tensor *x)
{
    for (int i = 0; i < count; i++) {
        wl_scope_push(n->g, "%s.%d", name, i);
        x = layer(n, n->edges, "lin2", layer(n, n->edges, "lin1", x, NULL), x);
        wl_scope_pop(n->g);
    }
    return x;
}

/* x [E,hidden] -> [E,hidden]: messages updated by those of the triplets */
static struct wl_tensor *interaction(const struct net *n, int64_t block, struct wl_tensor *x)
{
    wl_scope_push(n->g, "interaction_blocks");
    char name[16];
    snprintf(name, sizeof name, "%d", (int)block);
    wl_scope_push(n->g, "%s", name);
    struct wl_tensor *ji = layer(n, n->edges, "lin_ji", x, NULL), *kj = layer(n, n->edges, "lin_kj", x, NULL);
    kj = wl_gate(n->g, "lin_rbf", n->edges, kj, n->rbf);
    wl_scope_pop(n->g);
    struct wl_tensor *h = wl_triplet_conv(n->g, name, n->graph, kj,
                                          (struct wl_triplet_conv) { n->s->bilinear, n->radial, n->angular, ji });
    wl_scope_push(n->g, "%s", name);
    h = residuals(n, "layers_before_skip", BEFORE_SKIP, h);
    h = layer(n, n->edges, "lin", h, x);
    h = residuals(n, "layers_after_skip", AFTER_SKIP, h);
    wl_scope_pop(n->g);
    wl_scope_pop(n->g);
    return h;
}

/* Adds a block's contribution to the energies of the atoms [A,1]; `so_far` NULL: it is the first. */
static struct wl_tensor *output(const struct net *n, int64_t block, struct wl_tensor *x, struct wl_tensor *so_far)
{
    wl_scope_push(n->g, "output_blocks.%d", (int)block);
    x = wl_gate(n->g, "lin_rbf", n->edges, x, n->rbf);
    x = wl_segment_sum(n->g, "sum", n->atoms, x, n->graph.edge_start);
    wl_scope_push(n->g, "lins");
    for (int i = 0; i < OUTPUT_LAYERS; i++) {
        const char name[] = { (char)('0' + i), 0 };
        x = layer(n, n->atoms, name, x, NULL);
    }
    wl_scope_pop(n->g);
    x = wl_dense(n->g, "lin", n->atoms, x, (struct wl_dense) { .features = 1, .no_bias = true, .residual = so_far });
    wl_init_weight(n->g, x, (struct wl_init) { WL_INIT_CONSTANT, 0 });
    wl_scope_pop(n->g);
    return x;
}

static int build(struct wl_graph *g, const struct wl_molecule_model_opts *opts, struct wl_molecule_model_io *io,
                 struct wl_err *e)
{
    const struct shape *s = shape_of(opts->size);
    inputs(g, &opts->capacity, io);
    struct net n = { .g = g, .s = s, .atoms = { io->counts, WL_ATOMS }, .edges = { io->counts, WL_EDGES } };
    n.graph = (struct wl_edges) { io->counts, io->edge_start, io->source, io->reverse, io->triplet_start };
    n.rbf = wl_bessel_basis(g, "rbf", n.edges, io->distance, s->basis);
    n.radial = wl_spherical_basis(g, "sbf.radial", n.edges, io->distance, s->basis);
    n.angular = wl_angular_basis(g, "sbf.angular", (struct wl_rows) { io->counts, WL_TRIPLETS }, io->cosine, s->basis);
    struct wl_tensor *x = embedding(&n, io->number), *energy = output(&n, 0, x, NULL);
    for (int64_t i = 0; i < s->blocks; i++) {
        x = interaction(&n, i, x);
        energy = output(&n, i + 1, x, energy);
    }
    const struct wl_rows molecules = { io->counts, WL_MOLECULES };
    io->prediction = wl_segment_sum(g, "sum", molecules, energy, io->atom_start);
    wl_output(g, io->prediction);
    io->loss = wl_mean_square(g, "loss", io->prediction, io->target, (struct wl_loss) { .weight = 1 });
    return wl_graph_check(g, e);
}

static double cutoff(const char *size) { return shape_of(size)->basis.cutoff; }

const struct wl_molecule_model wl_dimenet = { .name = "dimenet", .cutoff = cutoff, .build = build };
