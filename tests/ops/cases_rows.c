/* Cases of operations on rows: molecules, which are copies of two small ones, with fewer rows than there is room for
 * where an operation takes any number. */
#include "cases.h"

#include <string.h>

/* Two molecules: a square and its diagonal's atom, each atom near two to four others; and an atom alone. */
enum { ATOMS = 6, PAIRS = 7, EDGES = 2 * PAIRS, TRIPLETS = 28, MOLECULES = 2 };
static const int32_t edge_start[ATOMS + 1] = { 0, 3, 6, 8, 12, 14, 14 };
static const int32_t source[EDGES] = { 1, 2, 3, 0, 3, 4, 0, 3, 0, 1, 2, 4, 1, 3 };
static const int32_t reverse[EDGES] = { 3, 6, 8, 0, 9, 12, 1, 10, 2, 4, 7, 13, 5, 11 };
static const int32_t triplet_start[ATOMS + 1] = { 0, 6, 12, 14, 26, 28, 28 };
static const int32_t pair[2 * PAIRS] = { 1, 0, 2, 0, 3, 0, 3, 1, 3, 2, 4, 1, 4, 3 };
static const int32_t atom_start[MOLECULES + 1] = { 0, 5, 6 }, pair_start[MOLECULES + 1] = { 0, 7, 7 };
static const double CUTOFF = 5;

/* An index of the molecules, [n] with an end or without: each copy adds `step` to the one before. */
struct index {
    const char *name;
    const int32_t *of;
    int64_t n;
    bool end;
    int32_t step;
};
static const struct index indices[] = {
    { "edge_start", edge_start, ATOMS, true, EDGES },
    { "source", source, EDGES, false, ATOMS },
    { "reverse", reverse, EDGES, false, EDGES },
    { "triplet_start", triplet_start, ATOMS, true, TRIPLETS },
    { "pair", pair, 2 * PAIRS, false, ATOMS },
    { "atom_start", atom_start, MOLECULES, true, ATOMS },
    { "pair_start", pair_start, MOLECULES, true, PAIRS },
};

static struct wl_tensor *index_input(struct twin *t, const char *name)
{
    for (size_t i = 0; i < WL_COUNT(indices); i++) {
        const struct index *of = &indices[i];
        if (strcmp(of->name, name)) continue;
        const int64_t n = t->s * of->n + of->end;
        return wl_input(t->g, name, WL_I32, of->of == pair ? WL_DIMS(n / 2, 2) : WL_DIMS(n));
    }
    WL_CHECK(false);
}

static void fill_index(const struct index *of, int32_t *to, int64_t n)
{
    for (int64_t i = 0; i < n; i++) to[i] = of->of[i % of->n] + (int32_t)(i / of->n) * of->step;
}

/* t->s copies; "index" and "starts" are of t->vocabulary rows. A graph of pairs has each edge once. */
static void fill_input(const struct twin *t, const struct wl_tensor *in, uint64_t seed)
{
    const int64_t counts[WL_ROW_KINDS] = { [WL_MOLECULES] = MOLECULES * t->s,
                                           [WL_ATOMS] = ATOMS * t->s,
                                           [WL_EDGES] = EDGES * t->s,
                                           [WL_TRIPLETS] = TRIPLETS * t->s };
    const int64_t n = wl_dims_count(&in->dims);
    int32_t *to = wl_plan_input(t->plan, in);
    for (size_t k = 0; k < WL_COUNT(indices); k++)
        if (!strcmp(in->name, indices[k].name)) fill_index(&indices[k], to, n);
    for (int64_t k = 0; k < n; k++) {
        if (!strcmp(in->name, "counts")) to[k] = (int32_t)counts[k];
        if (!strcmp(in->name, "pair_counts")) to[k] = (int32_t)(k == WL_EDGES ? PAIRS * t->s : counts[k]);
        if (!strcmp(in->name, "index")) to[k] = (int32_t)wl_random_below(seed, 4, (uint64_t)k, (uint64_t)t->vocabulary);
        if (!strcmp(in->name, "starts")) to[k] = (int32_t)(k * t->vocabulary / (n - 1));
        if (!strcmp(in->name, "distance"))
            ((float *)to)[k] = (float)(0.5 + (CUTOFF - 0.5) * wl_random_uniform(seed, 5, (uint64_t)k));
    }
}

static void fill(struct twin *t, uint64_t seed)
{
    for (size_t i = 0; i < t->g->n_tensors; i++)
        if (t->g->tensors[i]->role == WL_ROLE_INPUT) fill_input(t, t->g->tensors[i], seed);
}

/* ---- operations on any rows ---- */

static int64_t drawn_features(struct draw *d)
{
    const int64_t v[] = { 1, 3, 4, 16, 17, 32, 64 };
    return one_of(d, v, WL_COUNT(v));
}

static struct wl_tensor *counts(struct twin *t, struct draw *d, const char *name)
{
    t->s = 1 + below(d, 3);
    return wl_input(t->g, name, WL_I32, WL_DIMS(WL_ROW_KINDS));
}

static struct wl_rows atoms(struct twin *t, struct draw *d)
{
    return (struct wl_rows) { counts(t, d, "counts"), WL_ATOMS };
}

/* Of some copies, with room for a few rows more. */
static int64_t room(struct twin *t, struct draw *d)
{
    t->rows = ATOMS * t->s;
    return t->rows + below(d, 3);
}

static void build_embed(struct twin *t, struct draw *d)
{
    const struct wl_rows rows = atoms(t, d);
    t->vocabulary = 1 + below(d, 9);
    struct wl_tensor *index = wl_input(t->g, "index", WL_I32, WL_DIMS(room(t, d)));
    t->y = wl_embed(t->g, "op", rows, index, t->vocabulary, drawn_features(d));
}

static void build_dense(struct twin *t, struct draw *d)
{
    const struct wl_rows rows = atoms(t, d);
    const int64_t r = room(t, d);
    struct wl_dense dense = { .features = drawn_features(d),
                              .no_bias = below(d, 2),
                              .activation = (enum wl_activation)below(d, WL_ACT_SWISH + 1) };
    t->x = case_input(t, "x", WL_DIMS(r, drawn_features(d)));
    if (below(d, 2)) dense.residual = case_input(t, "residual", WL_DIMS(r, dense.features));
    t->y = wl_dense(t->g, "op", rows, t->x, dense);
}

static void build_gate(struct twin *t, struct draw *d)
{
    const struct wl_rows rows = atoms(t, d);
    const int64_t r = room(t, d);
    t->x = case_input(t, "x", WL_DIMS(r, drawn_features(d)));
    t->y = wl_gate(t->g, "op", rows, t->x, case_input(t, "basis", WL_DIMS(r, 1 + below(d, 10))));
}

static void build_segment_sum(struct twin *t, struct draw *d)
{
    const struct wl_rows rows = atoms(t, d);
    t->vocabulary = 1 + below(d, 40);
    t->x = case_input(t, "x", WL_DIMS(t->vocabulary, drawn_features(d)));
    t->y = wl_segment_sum(t->g, "op", rows, t->x, wl_input(t->g, "starts", WL_I32, WL_DIMS(ATOMS * t->s + 1)));
}

static void build_bessel(struct twin *t, struct draw *d)
{
    const struct wl_rows rows = { counts(t, d, "counts"), WL_EDGES };
    const struct wl_basis basis = { .radial = 1 + below(d, 8), .spherical = 3, .power = 6, .cutoff = CUTOFF };
    t->y = wl_bessel_basis(t->g, "op", rows, wl_input(t->g, "distance", WL_F32, WL_DIMS(EDGES * t->s)), basis);
}

/* ---- operations on molecules ---- */

static void build_filter(struct twin *t, struct draw *d)
{
    struct wl_pairs pairs = { .counts = counts(t, d, "pair_counts") };
    pairs.atom_start = index_input(t, "atom_start");
    pairs.pair_start = index_input(t, "pair_start");
    pairs.pair = index_input(t, "pair");
    pairs.distance = wl_input(t->g, "distance", WL_F32, WL_DIMS(PAIRS * t->s));
    t->x = case_input(t, "x", WL_DIMS(ATOMS * t->s, drawn_features(d)));
    t->y =
        wl_filter_conv(t->g, "op", pairs, t->x, (struct wl_filter) { .gaussians = 2 + below(d, 20), .cutoff = CUTOFF });
}

static struct wl_edges edges(struct twin *t, struct draw *d)
{
    struct wl_edges e = { .counts = counts(t, d, "counts") };
    e.edge_start = index_input(t, "edge_start");
    e.source = index_input(t, "source");
    e.reverse = index_input(t, "reverse");
    e.triplet_start = index_input(t, "triplet_start");
    return e;
}

static void build_edge_concat(struct twin *t, struct draw *d)
{
    const struct wl_edges e = edges(t, d);
    t->x = case_input(t, "x", WL_DIMS(ATOMS * t->s, drawn_features(d)));
    t->y = wl_edge_concat(t->g, "op", e, t->x, case_input(t, "z", WL_DIMS(EDGES * t->s, drawn_features(d))));
}

static void build_triplet(struct twin *t, struct draw *d)
{
    const struct wl_edges e = edges(t, d);
    const int64_t f = drawn_features(d), orders = 1 + below(d, 7), radials = 1 + below(d, 6), bilinear[] = { 1, 3, 8 };
    const struct wl_triplet_conv conv = {
        .bilinear = one_of(d, bilinear, WL_COUNT(bilinear)),
        .radial = wl_input(t->g, "radial", WL_F32, WL_DIMS(EDGES * t->s, orders * radials)),
        .angular = wl_input(t->g, "angular", WL_F32, WL_DIMS(TRIPLETS * t->s, orders)),
        .residual = case_input(t, "residual", WL_DIMS(EDGES * t->s, f)),
    };
    t->x = case_input(t, "x", WL_DIMS(EDGES * t->s, f));
    t->y = wl_triplet_conv(t->g, "op", e, t->x, conv);
}

/* As cases_image.c says of its tolerances. */
static const struct op_case ops[] = {
    { "embed", build_embed, 0, 1.5e-5 },
    { "dense", build_dense, 1e-11, 1.5e-5 },
    { "segment_sum", build_segment_sum, 1e-12, 1.5e-5 },
    { "filter_conv", build_filter, 1e-11, 1.5e-5 },
    { "bessel_basis", build_bessel, 1e-11, 1.5e-5 },
    { "gate", build_gate, 1e-11, 1.5e-5 },
    { "edge_concat", build_edge_concat, 0, 1.5e-5 },
    { "triplet_conv", build_triplet, 1e-11, 1.5e-5 },
};

const struct op_family row_ops = { ops, WL_COUNT(ops), .cases = 16, .fill = fill, .same_on_one_thread = same_bits };
