/* Filters by a table against those without one: values and gradients before and after training, smoothness across
 * nodes, refinement, and what must not change a bit. */
#include "backend_compare.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

enum { SEED = 5, ATOMS = 6, PAIRS = ATOMS * (ATOMS - 1) / 2, GAUSSIANS = 10 };
static const double CUTOFF = 5, NEAR = 1e-6;

/* Molecules of six atoms, each near all others, at random distances. 300 pairs fill any table of these Gaussians. */
struct net {
    struct wl_arena *a;
    struct wl_graph *g;
    struct wl_tensor *x, *y;
    struct wl_pairs pairs;
    struct wl_plan *plan;
};
struct shape {
    const char *backend;
    int64_t f, molecules;
    int threads;
    bool exact;
};

static void fill(struct net *n, int64_t molecules)
{
    int32_t *counts = wl_plan_input(n->plan, n->pairs.counts), *atom = wl_plan_input(n->plan, n->pairs.atom_start),
            *start = wl_plan_input(n->plan, n->pairs.pair_start), *pair = wl_plan_input(n->plan, n->pairs.pair);
    float *distance = wl_plan_input(n->plan, n->pairs.distance);
    fill_inputs(n->plan, n->g, SEED, 1);
    counts[WL_MOLECULES] = (int32_t)molecules;
    counts[WL_ATOMS] = (int32_t)(molecules * ATOMS);
    counts[WL_EDGES] = (int32_t)(molecules * PAIRS);
    for (int32_t m = 0; m <= molecules; m++) atom[m] = m * ATOMS, start[m] = m * PAIRS;
    for (int32_t m = 0; m < molecules; m++)
        for (int32_t i = 0; i < ATOMS; i++)
            for (int32_t j = 0; j < i; j++, pair += 2) pair[0] = m * ATOMS + i, pair[1] = m * ATOMS + j;
    for (int64_t p = 0; p < molecules * PAIRS; p++)
        distance[p] = (float)(.9 + (CUTOFF - .9) * wl_random_uniform(SEED, 3, (uint64_t)p));
}

static struct net net_of(struct wl_arena *a, struct shape s)
{
    struct net n = { .a = a, .g = wl_graph_new(a) };
    const int64_t atoms = s.molecules * ATOMS, pairs = s.molecules * PAIRS;
    n.pairs = (struct wl_pairs) { .counts = wl_input(n.g, "counts", WL_I32, WL_DIMS(WL_ROW_KINDS)),
                                  .atom_start = wl_input(n.g, "atom_start", WL_I32, WL_DIMS(s.molecules + 1)),
                                  .pair_start = wl_input(n.g, "pair_start", WL_I32, WL_DIMS(s.molecules + 1)),
                                  .pair = wl_input(n.g, "pair", WL_I32, WL_DIMS(pairs, 2)),
                                  .distance = wl_input(n.g, "distance", WL_F32, WL_DIMS(pairs)) };
    n.x = wl_input(n.g, "x", WL_F32, WL_DIMS(atoms, s.f));
    wl_want_gradient(n.g, n.x);
    n.y = wl_filter_conv(n.g, "op", n.pairs, n.x, (struct wl_filter) { GAUSSIANS, CUTOFF, s.exact });
    struct wl_tensor *target = wl_input(n.g, "target", WL_F32, WL_DIMS(atoms, s.f));
    wl_mean_square(n.g, "loss", n.y, target, (struct wl_loss) { .weight = 1 });
    const struct wl_plan_opts opts = {
        .backend = s.backend, .threads = s.threads, .seed = SEED, .keep_values = true, .optim = { .kind = "adam" }
    };
    struct wl_err e = { 0 };
    if (wl_plan_new(&n.plan, n.g, &opts, NULL, a, &e)) fail_msg("%s", e.msg);
    fill(&n, s.molecules);
    return n;
}

static void train(struct net *n)
{
    struct wl_err e = { 0 };
    if (wl_plan_train(n->plan, true, true, NULL, &e)) fail_msg("%s", e.msg);
}

static size_t state_of(struct net *n, const char *name)
{
    for (size_t i = 0; i < wl_plan_state_count(n->plan); i++)
        if (wl_str_eq(wl_plan_state(n->plan, i).name, name)) return i;
    fail_msg("no state %s", name);
    return 0;
}

/* Slopes of the softplus's inputs grow, and with them the filters' higher derivatives. */
static void make_rougher(struct net *n, float by)
{
    const size_t i = state_of(n, "op.0.weight"), count = wl_plan_state(n->plan, i).count;
    float *v = wl_new_array(n->a, float, count);
    assert_int_equal(wl_plan_state_read(n->plan, i, v, NULL), 0);
    for (size_t k = 0; k < count; k++) v[k] *= by;
    assert_int_equal(wl_plan_state_write(n->plan, i, v, NULL), 0);
}

static struct floats values(struct net *n, const struct wl_tensor *t, bool gradient)
{
    struct floats to = { .n = (size_t)wl_dims_count(wl_tensor_dims(t)) };
    to.v = wl_new_array(n->a, float, to.n);
    assert_int_equal((gradient ? wl_plan_value_gradient : wl_plan_value)(n->plan, t, to.v, NULL), 0);
    return to;
}

static struct floats gradient_of(struct net *n, const char *name)
{
    const size_t i = state_of(n, name);
    struct floats to = { .n = wl_plan_state(n->plan, i).count };
    to.v = wl_new_array(n->a, float, to.n);
    assert_int_equal(wl_plan_gradient_read(n->plan, i, to.v, NULL), 0);
    return to;
}

static void check_near(const char *what, struct floats got, struct floats want, double limit)
{
    const double off = sqrt(nmse(got, want));
    if (!(off <= limit)) fail_msg("%s: %.2e off, allowed %.1e", what, off, limit);
}

static const char *const parameters[] = { "op.0.weight", "op.0.bias", "op.2.weight", "op.2.bias" };

/* Both have the same parameters, and have run. */
static void compare_nets(const char *what, struct net *table, struct net *exact)
{
    check_near(wl_strf(table->a, "%s, y", what), values(table, table->y, false), values(exact, exact->y, false), NEAR);
    check_near(wl_strf(table->a, "%s, dx", what), values(table, table->x, true), values(exact, exact->x, true), NEAR);
    for (size_t i = 0; i < WL_COUNT(parameters); i++)
        check_near(wl_strf(table->a, "%s, gradient of %s", what, parameters[i]), gradient_of(table, parameters[i]),
                   gradient_of(exact, parameters[i]), NEAR);
}

static bool same_values(struct net *n, struct net *m)
{
    return memcmp(values(n, n->y, false).v, values(m, m->y, false).v, values(n, n->y, false).n * sizeof(float)) == 0;
}

static const struct shape shapes[] = { { "cpu", 32, 40, 1, false },
                                       { "cpu", 144, 40, 2, false },
                                       { "ref", 17, 20, 1, false } };

static struct net without_table(struct wl_arena *a, struct shape s)
{
    s.exact = true;
    return net_of(a, s);
}

/* 1: the coarsest table; 3 and 6: finer ones; 1000: none is fine enough. */
static void test_near_exact_filters(void **state)
{
    (void)state;
    static const float rougher[] = { 1, 3, 6, 1000 };
    for (size_t i = 0; i < WL_COUNT(shapes); i++)
        for (size_t k = 0; k < WL_COUNT(rougher); k++) {
            struct wl_arena *a = wl_arena_new(NULL);
            struct net table = net_of(a, shapes[i]), exact = without_table(a, shapes[i]);
            make_rougher(&table, rougher[k]);
            make_rougher(&exact, rougher[k]);
            train(&table);
            train(&exact);
            compare_nets(wl_strf(a, "%s, f %d, rougher by %g", shapes[i].backend, (int)shapes[i].f, (double)rougher[k]),
                         &table, &exact);
            assert_int_equal(same_values(&table, &exact), rougher[k] > 100);
            wl_arena_free(a);
        }
}

static void test_near_exact_filters_after_training(void **state)
{
    (void)state;
    enum { UPDATES = 2000 };
    struct wl_arena *a = wl_arena_new(NULL);
    const struct shape s = { "cpu", 16, 8, 1, false };
    struct net table = net_of(a, s), exact = without_table(a, s);
    for (int i = 0; i < UPDATES; i++) {
        train(&table);
        assert_int_equal(wl_plan_update(table.plan, 1e-2, NULL), 0);
    }
    for (size_t i = 0; i < wl_plan_state_count(table.plan); i++) {
        float *v = wl_new_array(a, float, wl_plan_state(table.plan, i).count);
        assert_int_equal(wl_plan_state_read(table.plan, i, v, NULL), 0);
        assert_int_equal(wl_plan_state_write(exact.plan, i, v, NULL), 0);
    }
    train(&table);
    train(&exact);
    compare_nets("after 2000 updates", &table, &exact);
    wl_arena_free(a);
}

/* At the ends of the table the polynomial has nodes before 0 and beyond the cutoff. */
static void test_ends_of_the_table(void **state)
{
    (void)state;
    for (size_t i = 0; i < WL_COUNT(shapes); i++) {
        struct wl_arena *a = wl_arena_new(NULL);
        struct net of[] = { net_of(a, shapes[i]), without_table(a, shapes[i]) };
        for (int k = 0; k < 2; k++) {
            float *distance = wl_plan_input(of[k].plan, of[k].pairs.distance);
            for (int64_t p = 0; p < shapes[i].molecules * PAIRS; p++) /* near 0, 0 itself, near the cutoff, there */
                distance[p] = (float)(p % 4 == 0   ? .15 * wl_random_uniform(SEED, 4, (uint64_t)p)
                                      : p % 4 == 1 ? 0
                                      : p % 4 == 2 ? CUTOFF - .6 * wl_random_uniform(SEED, 5, (uint64_t)p)
                                                   : CUTOFF);
            train(&of[k]);
        }
        assert_false(same_values(&of[0], &of[1]));
        compare_nets(wl_strf(a, "%s, ends", shapes[i].backend), &of[0], &of[1]);
        wl_arena_free(a);
    }
}

/* y as the first pair's distance moves, against what it does without a table: at a node the polynomial is another one.
 */
static void test_continuous_across_nodes(void **state)
{
    (void)state;
    enum { NODES = 40 };
    static const float STEP = 1e-3f;
    struct wl_arena *a = wl_arena_new(NULL);
    struct net of[] = { net_of(a, shapes[0]), without_table(a, shapes[0]) };
    for (int k = 10; k < NODES; k++) {
        struct floats moved[2];
        for (int i = 0; i < 2; i++) {
            float *distance = wl_plan_input(of[i].plan, of[i].pairs.distance);
            struct floats y[2];
            for (int side = 0; side < 2; side++) {
                distance[0] = (float)(k * CUTOFF / (8 * (GAUSSIANS - 1))) + (side ? STEP : -STEP);
                train(&of[i]);
                y[side] = values(&of[i], of[i].y, false);
            }
            /* of its two atoms */
            moved[i] = (struct floats) { y[1].v, 2 * (size_t)shapes[0].f };
            for (size_t j = 0; j < moved[i].n; j++) moved[i].v[j] -= y[0].v[j];
        }
        check_near(wl_strf(a, "slope at node %d", k), moved[0], moved[1], 5e-3);
    }
    wl_arena_free(a);
}

static void test_same_bits(void **state)
{
    (void)state;
    struct wl_arena *a = wl_arena_new(NULL);
    static const int threads[] = { 1, 2, 4, 12, 1 }; /* the last net runs twice */
    struct net of[WL_COUNT(threads)];
    for (size_t i = 0; i < WL_COUNT(threads); i++) {
        of[i] = net_of(a, (struct shape) { "cpu", 64, 40, threads[i], false });
        make_rougher(&of[i], 3);
        train(&of[i]);
        if (i + 1 == WL_COUNT(threads)) train(&of[i]);
        const struct floats x = all_gradients(of[0].plan, a), y = all_gradients(of[i].plan, a);
        assert_memory_equal(x.v, y.v, x.n * sizeof(float));
        assert_memory_equal(values(&of[0], of[0].x, true).v, values(&of[i], of[i].x, true).v,
                            values(&of[0], of[0].x, true).n * sizeof(float));
    }
    wl_arena_free(a);
}

/* A batch of few pairs runs the layers on them. */
static void test_no_table_for_few_pairs(void **state)
{
    (void)state;
    struct wl_arena *a = wl_arena_new(NULL);
    const struct shape s = { "cpu", 32, 2, 1, false };
    struct net table = net_of(a, s), exact = without_table(a, s);
    train(&table);
    train(&exact);
    assert_true(same_values(&table, &exact));
    compare_nets("30 pairs", &table, &exact);
    wl_arena_free(a);
}

/* Parameters that are not finite give what they give without a table. */
static void test_parameters_that_are_not_finite(void **state)
{
    (void)state;
    struct wl_arena *a = wl_arena_new(NULL);
    const float values_of[] = { NAN, INFINITY };
    for (size_t i = 0; i < WL_COUNT(values_of); i++) {
        struct net table = net_of(a, shapes[0]);
        make_rougher(&table, values_of[i]);
        train(&table);
        const struct floats y = values(&table, table.y, false);
        assert_false(isfinite(y.v[0]));
    }
    wl_arena_free(a);
}

/* The report names what a step runs. */
static void test_named_in_reports(void **state)
{
    (void)state;
    struct wl_arena *a = wl_arena_new(NULL);
    for (int exact = 0; exact < 2; exact++) {
        struct net n = exact ? without_table(a, shapes[0]) : net_of(a, shapes[0]);
        int found = 0;
        for (size_t i = 0; i < wl_plan_step_count(n.plan); i++) {
            const struct wl_plan_step s = wl_plan_step(n.plan, i, a);
            if (!wl_str_eq(s.operation, "filter_conv")) continue;
            assert_string_equal(s.implementation, exact ? "exact filters" : "table of filters");
            found++;
        }
        assert_in_range(found, 2, 3);
    }
    wl_arena_free(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_near_exact_filters),
        cmocka_unit_test(test_near_exact_filters_after_training),
        cmocka_unit_test(test_ends_of_the_table),
        cmocka_unit_test(test_continuous_across_nodes),
        cmocka_unit_test(test_same_bits),
        cmocka_unit_test(test_no_table_for_few_pairs),
        cmocka_unit_test(test_parameters_that_are_not_finite),
        cmocka_unit_test(test_named_in_reports),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
