/* Operations on rows of back-end gpu against nn/ref where tests/ops does not come: room for so many rows that products
 * take large tiles, of which some are used, two of them in the direction of the rows; more features than a warp takes
 * at once, more bilinear functions than eight; gradients that are added in place. */
#include "cases.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOLECULES = 7, NEAR = 4 /* neighbours of each atom */ };
enum { ATOMS = MOLECULES * (NEAR + 1), EDGES = ATOMS * NEAR, PAIRS = EDGES / 2, TRIPLETS = EDGES * (NEAR - 1) };
enum { ROOM = 16384 /* 128 large tiles */, FEW = 200, ATOM_ROOM = 2 * ATOMS, TRIPLET_ROOM = 2 * TRIPLETS };
enum { NARROW = 68 /* as wide as needs large tiles */, WIDE = 132 /* more than a warp takes at once */ };
static const double CUTOFF = 5;

/* ---- molecules whose atoms are all near each other --------------------------------------------------------------- */

/* The edge to atom i from atom j of the same molecule. */
static int edge(int i, int j)
{
    const int first = i - i % (NEAR + 1);
    return i * NEAR + (j - first) - (j > i);
}

/* The atom that edge e comes from. */
static int source(int e)
{
    const int i = e / NEAR, first = i - i % (NEAR + 1), j = first + e % NEAR;
    return j + (j >= i);
}

static int value_of(const char *name, int i)
{
    static const int pair[10][2] = { { 1, 0 }, { 2, 0 }, { 2, 1 }, { 3, 0 }, { 3, 1 },
                                     { 3, 2 }, { 4, 0 }, { 4, 1 }, { 4, 2 }, { 4, 3 } };
    const int atom = i < ATOMS ? i : ATOMS, molecule = i < MOLECULES ? i : MOLECULES;
    if (!strcmp(name, "edge_start")) return atom * NEAR;
    if (!strcmp(name, "triplet_start")) return atom * NEAR * (NEAR - 1);
    if (!strcmp(name, "atom_start")) return molecule * (NEAR + 1);
    if (!strcmp(name, "pair_start")) return molecule * 10;
    if (!strcmp(name, "source")) return i < EDGES ? source(i) : 0;
    if (!strcmp(name, "reverse")) return i < EDGES ? edge(source(i), i / NEAR) : 0;
    if (!strcmp(name, "pair")) return i < 2 * PAIRS ? i / 20 * (NEAR + 1) + pair[i / 2 % 10][i % 2] : 0;
    return i % 7; /* index */
}

static void fill(struct wl_plan *p, const struct wl_graph *g)
{
    const int32_t counts[WL_ROW_KINDS] = {
        [WL_MOLECULES] = MOLECULES, [WL_ATOMS] = ATOMS, [WL_EDGES] = EDGES, [WL_TRIPLETS] = TRIPLETS
    };
    for (size_t k = 0; k < g->n_tensors; k++) {
        const struct wl_tensor *t = g->tensors[k];
        if (t->role != WL_ROLE_INPUT) continue;
        void *to = wl_plan_input(p, t);
        for (int i = 0; i < wl_dims_count(&t->dims); i++) {
            if (t->dtype == WL_I32)
                ((int32_t *)to)[i] = strcmp(t->name, "counts") ? value_of(t->name, i) : counts[i];
            else if (!strcmp(t->name, "distance"))
                ((float *)to)[i] = (float)(0.5 + (CUTOFF - 0.5) * wl_random_uniform(1, 5, (uint64_t)i));
        }
    }
}

static struct wl_tensor *index_of(struct wl_graph *g, const char *name, int64_t n)
{
    return wl_input(g, name, WL_I32, WL_DIMS(n));
}

static struct wl_tensor *counts(struct wl_graph *g) { return index_of(g, "counts", WL_ROW_KINDS); }

static struct wl_rows rows_of(struct wl_graph *g, enum wl_row_kind kind)
{
    return (struct wl_rows) { counts(g), kind };
}

/* ---- the cases ---- */

/* Of t->s rows and t->vocabulary features. */
static struct wl_tensor *matrix(struct twin *t, const char *name)
{
    return case_input(t, name, WL_DIMS(t->s, t->vocabulary));
}

static struct wl_tensor *dense(struct wl_graph *g, struct wl_rows rows, const char *name, struct wl_tensor *x,
                               struct wl_tensor *residual)
{
    return wl_dense(g, name, rows, x,
                    (struct wl_dense) { .features = x->dims.d[1], .activation = WL_ACT_SWISH, .residual = residual });
}

static void build_dense(struct twin *t)
{
    t->x = matrix(t, "x");
    t->y = dense(t->g, rows_of(t->g, WL_EDGES), "op", t->x, matrix(t, "residual"));
}

/* The middle value has three readers; the gradients by it of two are added to that of the third. */
static void build_shared(struct twin *t)
{
    const struct wl_rows rows = rows_of(t->g, WL_EDGES);
    struct wl_tensor *basis = wl_bessel_basis(t->g, "rbf", rows, wl_input(t->g, "distance", WL_F32, WL_DIMS(t->s)),
                                              (struct wl_basis) { 10, 3, 6, CUTOFF });
    struct wl_tensor *m = dense(t->g, rows, "m", wl_input(t->g, "x", WL_F32, WL_DIMS(t->s, t->vocabulary)), NULL);
    struct wl_tensor *a = wl_gate(t->g, "gate a", rows, dense(t->g, rows, "a", m, NULL), basis);
    struct wl_tensor *b = wl_gate(t->g, "gate b", rows, dense(t->g, rows, "b", m, a), basis);
    t->y = dense(t->g, rows, "c", m, b);
}

static void build_gate(struct twin *t)
{
    t->x = matrix(t, "x");
    t->y = wl_gate(t->g, "op", rows_of(t->g, WL_EDGES), t->x, case_input(t, "basis", WL_DIMS(t->s, 11)));
}

static void build_embed(struct twin *t)
{
    t->y = wl_embed(t->g, "op", rows_of(t->g, WL_TRIPLETS), index_of(t->g, "index", t->s), 7, t->vocabulary);
}

static void build_filter(struct twin *t)
{
    struct wl_pairs pairs = { .counts = counts(t->g) };
    pairs.atom_start = index_of(t->g, "atom_start", MOLECULES + 3);
    pairs.pair_start = index_of(t->g, "pair_start", MOLECULES + 3);
    pairs.pair = wl_input(t->g, "pair", WL_I32, WL_DIMS(t->s, 2));
    pairs.distance = wl_input(t->g, "distance", WL_F32, WL_DIMS(t->s));
    t->x = case_input(t, "x", WL_DIMS(ATOM_ROOM, t->vocabulary));
    t->y = wl_filter_conv(t->g, "op", pairs, t->x, (struct wl_filter) { 20, CUTOFF });
}

static struct wl_edges edges(struct twin *t)
{
    return (struct wl_edges) { .counts = counts(t->g),
                               .edge_start = index_of(t->g, "edge_start", ATOM_ROOM + 1),
                               .source = index_of(t->g, "source", t->s),
                               .reverse = index_of(t->g, "reverse", t->s),
                               .triplet_start = index_of(t->g, "triplet_start", ATOM_ROOM + 1) };
}

static void build_concat(struct twin *t)
{
    t->x = case_input(t, "x", WL_DIMS(ATOM_ROOM, t->vocabulary));
    t->y = wl_edge_concat(t->g, "op", edges(t), t->x, matrix(t, "z"));
}

static void build_triplet(struct twin *t)
{
    const struct wl_triplet_conv conv = { .bilinear = t->s == ROOM ? 3 : 9,
                                          .radial = wl_input(t->g, "radial", WL_F32, WL_DIMS(t->s, 10 * 3)),
                                          .angular = wl_input(t->g, "angular", WL_F32, WL_DIMS(TRIPLET_ROOM, 10)),
                                          .residual = matrix(t, "residual") };
    t->x = matrix(t, "x");
    t->y = wl_triplet_conv(t->g, "op", edges(t), t->x, conv);
}

static const struct rows_case {
    const char *name;
    void (*build)(struct twin *t);
    int64_t room, features;
    int64_t rows, x_rows; /* that count, of y and of x */
    bool keep_values, twice;
    const char *gpu; /* settings of the fake; NULL: one with TF32, whose large tiles are three products of it */
} cases[] = {
    { "dense", build_dense, ROOM, NARROW, EDGES, EDGES, true, true },
    { "dense, 7.5", build_dense, ROOM, NARROW, EDGES, EDGES, true, false, "capability=75" },
    { "shared", build_shared, ROOM, NARROW, EDGES, 0, false, false },
    { "gate", build_gate, 3000, WIDE, EDGES, EDGES, true, true },
    { "embed", build_embed, 1000, WIDE, TRIPLETS, 0, true, true },
    { "filter_conv", build_filter, ROOM, NARROW, ATOMS, ATOMS, true, true },
    { "filter_conv, wide", build_filter, FEW, WIDE, ATOMS, ATOMS, true, false },
    { "edge_concat", build_concat, FEW, WIDE, EDGES, ATOMS, true, false },
    { "triplet_conv", build_triplet, ROOM, NARROW, EDGES, EDGES, true, false },
    { "triplet_conv, wide", build_triplet, FEW, WIDE, EDGES, EDGES, true, false },
};

/* ---- running them ---- */

static struct twin twin_of(const struct rows_case *c, const char *backend, struct wl_arena *a)
{
    struct twin t = { .g = wl_graph_new(a), .s = c->room, .vocabulary = c->features };
    const struct wl_plan_opts opts = { .backend = backend, .keep_values = c->keep_values };
    struct wl_err e = { 0 };
    c->build(&t);
    t.target = wl_input(t.g, "target", WL_F32, *wl_tensor_dims(t.y));
    wl_mean_square(t.g, "loss", t.y, t.target, (struct wl_loss) { .weight = 100 });
    if (wl_plan_new(&t.plan, t.g, &opts, NULL, a, &e)) fail_msg("%s", e.msg);
    fill_inputs(t.plan, t.g, 1, 2);
    fill_state(t.plan, 1);
    fill(t.plan, t.g);
    const struct wl_dims *size = wl_tensor_dims(t.y);
    float *target = wl_plan_input(t.plan, t.target);
    for (int64_t i = c->rows * size->d[1]; i < size->d[0] * size->d[1]; i++) target[i] = NAN;
    train(t.plan);
    return t;
}

static struct floats first_rows(struct floats f, const struct wl_tensor *t, int64_t rows)
{
    return (struct floats) { f.v, (size_t)(rows * wl_tensor_dims(t)->d[1]) };
}

static void compare_rows(const struct rows_case *c, const struct twin *gpu, const struct twin *ref, struct wl_arena *a)
{
    compare("result", first_rows(read_tensor(wl_plan_value, gpu->plan, gpu->y, a), gpu->y, c->rows),
            first_rows(read_tensor(wl_plan_value, ref->plan, ref->y, a), ref->y, c->rows), 1e-12, c->name);
    if (!c->x_rows) return;
    compare("gradient of x", first_rows(read_tensor(wl_plan_value_gradient, gpu->plan, gpu->x, a), gpu->x, c->x_rows),
            first_rows(read_tensor(wl_plan_value_gradient, ref->plan, ref->x, a), ref->x, c->x_rows), 1e-9, c->name);
}

static void test_case(void **state)
{
    const struct rows_case *c = *state;
    struct wl_arena *a = wl_arena_new(NULL);
    setenv("WATTLAW_FAKE_GPU", c->gpu ? c->gpu : "", 1);
    const struct twin gpu = twin_of(c, "gpu", a), ref = twin_of(c, "ref", a);
    const struct floats got = all_gradients(gpu.plan, a);
    if (c->keep_values) compare_rows(c, &gpu, &ref, a);
    compare("gradients of parameters", got, all_gradients(ref.plan, a), 1e-9, c->name);
    if (c->twice) train(gpu.plan);
    same_bits("a second run", got, all_gradients(gpu.plan, a), c->name);
    wl_arena_free(a);
}

static void test_triplets_have_16_orders_at_most(void **state)
{
    (void)state;
    struct wl_arena *a = wl_arena_new(NULL);
    struct twin t = { .g = wl_graph_new(a), .s = ROOM, .vocabulary = NARROW };
    const struct wl_triplet_conv conv = { .bilinear = 3,
                                          .radial = wl_input(t.g, "radial", WL_F32, WL_DIMS(ROOM, 17 * 2)),
                                          .angular = wl_input(t.g, "angular", WL_F32, WL_DIMS(TRIPLET_ROOM, 17)),
                                          .residual = matrix(&t, "residual") };
    struct wl_tensor *y = wl_triplet_conv(t.g, "op", edges(&t), matrix(&t, "x"), conv);
    struct wl_plan *p = NULL;
    struct wl_err e = { 0 };
    wl_mean_square(t.g, "loss", y, wl_input(t.g, "target", WL_F32, *wl_tensor_dims(y)),
                   (struct wl_loss) { .weight = 1 });
    assert_int_equal(wl_plan_new(&p, t.g, &(struct wl_plan_opts) { .backend = "gpu" }, NULL, a, &e), WL_EINVAL);
    if (!strstr(e.msg, "17 orders of the angular basis, back-end gpu has at most 16")) fail_msg("%s", e.msg);
    wl_arena_free(a);
}

int main(void)
{
    struct CMUnitTest tests[WL_COUNT(cases) + 1] = { cmocka_unit_test(test_triplets_have_16_orders_at_most) };
    for (size_t i = 0; i < WL_COUNT(cases); i++)
        tests[i + 1] = (struct CMUnitTest) { cases[i].name, test_case, NULL, NULL, (void *)&cases[i] };
    return _cmocka_run_group_tests("gpu-rows", tests, WL_COUNT(tests), NULL, NULL);
}
