#include "nn/graph/graph.h"
#include "nn/graph/op_table.h"
#include "nn/graph/shapes.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static struct wl_arena *a;

static int set_up(void **state)
{
    (void)state;
    a = wl_arena_new(NULL);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    wl_arena_free(a);
    return 0;
}

static void expect_error(const struct wl_graph *g, const char *text)
{
    struct wl_err e = { 0 };
    assert_int_equal(wl_graph_check(g, &e), WL_EINVAL);
    if (!strstr(e.msg, text)) fail_msg("'%s' does not say '%s'", e.msg, text);
}

static struct wl_tensor *image(struct wl_graph *g, int64_t c, int64_t size)
{
    return wl_input(g, "x", WL_F32, WL_DIMS(2, c, size, size));
}

static void test_names_and_shapes(void **state)
{
    (void)state;
    struct wl_graph *g = wl_graph_new(a);
    struct wl_tensor *x = image(g, 3, 224);
    wl_scope_push(g, "layer%d", 1);
    wl_scope_push(g, "%d", 0);
    struct wl_conv c = { .channels = 64, .kernel = { 7, 3 }, .stride = { 2, 1 }, .pad = { 3, 0 }, .bias = true };
    struct wl_tensor *y = wl_conv2d(g, "conv1", x, c);
    wl_scope_pop(g);
    wl_scope_pop(g);
    assert_string_equal(wl_tensor_name(y), "layer1.0.conv1");
    assert_string_equal(wl_dims_text(a, wl_tensor_dims(y)), "[2,64,112,222]");
    assert_string_equal(wl_dims_text(a, wl_tensor_dims(wl_max_pool(g, "pool", y, (struct wl_pool) { 0 }))),
                        "[2,64,1,1]");
    assert_string_equal(wl_dims_text(a, wl_tensor_dims(wl_linear(g, "fc", y, 10))), "[2,10]");
    struct wl_err e;
    assert_int_equal(wl_graph_check(g, &e), 0);
    assert_string_equal(g->tensors[1]->name, "layer1.0.conv1.weight");
    assert_string_equal(wl_dims_text(a, &g->tensors[1]->dims), "[64,3,7,3]");
    assert_string_equal(g->tensors[2]->name, "layer1.0.conv1.bias");
    assert_true(wl_node_flops(g, g->nodes[0]) == 2.0 * 2 * 64 * 112 * 222 * 3 * 7 * 3);
}

static void test_mismatched_shapes_are_refused(void **state)
{
    (void)state;
    struct wl_graph *g = wl_graph_new(a);
    wl_scope_push(g, "layer1");
    wl_add(g, "add", image(g, 3, 8), image(g, 4, 8));
    wl_scope_pop(g);
    expect_error(g, "layer1.add: add of x [2,3,8,8] and x [2,4,8,8]");

    g = wl_graph_new(a);
    wl_conv2d(g, "c", image(g, 3, 4), (struct wl_conv) { .channels = 8, .kernel = { 5, 5 } });
    expect_error(g, "c: conv2d of kernel [5,5], stride [1,1], pad [0,0] does not fit [2,3,4,4]");

    g = wl_graph_new(a);
    wl_batch_norm(g, "n", wl_linear(g, "fc", image(g, 3, 4), 5), (struct wl_batch_norm_opts) { 0 });
    expect_error(g, "n: batch_norm needs an input [N,C,H,W], fc is [2,5]");

    g = wl_graph_new(a);
    wl_cross_entropy(g, "loss", wl_linear(g, "fc", image(g, 3, 4), 5), wl_input(g, "labels", WL_I32, WL_DIMS(3)),
                     (struct wl_loss) { 0 });
    expect_error(g, "they are [2,5] and [3] of i32");

    g = wl_graph_new(a);
    wl_relu(g, "r", wl_input(g, "labels", WL_I32, WL_DIMS(3)));
    expect_error(g, "r: relu reads f32, labels is i32");

    g = wl_graph_new(a);
    wl_conv2d(g, "c", image(g, 3, 4), (struct wl_conv) { .channels = 0, .kernel = { 1, 1 } });
    expect_error(g, "c.weight: dimensions [0,3,1,1]: each must be at least 1");

    g = wl_graph_new(a);
    wl_mean_square(g, "loss", image(g, 1, 2), image(g, 1, 3), (struct wl_loss) { 0 });
    expect_error(g, "loss: mean_square of x [2,1,2,2] and x [2,1,3,3]");
}

static void test_concat_adds_channels(void **state)
{
    (void)state;
    struct wl_graph *g = wl_graph_new(a);
    struct wl_tensor *in[WL_MAX_INPUTS + 1], *x = image(g, 3, 8), *y = image(g, 5, 8);
    for (int i = 0; i <= WL_MAX_INPUTS; i++) in[i] = i % 2 ? y : x;
    assert_string_equal(wl_dims_text(a, wl_tensor_dims(wl_concat(g, "one", in, 1))), "[2,3,8,8]");
    assert_string_equal(wl_dims_text(a, wl_tensor_dims(wl_concat(g, "three", in, 3))), "[2,11,8,8]");
    assert_int_equal(wl_concat_offset(g->nodes[1], 2), 8);
    assert_int_equal(x->readers, 3);
    assert_int_equal(wl_graph_check(g, NULL), 0);
    wl_concat(g, "many", in, WL_MAX_INPUTS + 1);
    expect_error(g, wl_strf(a, "many: concat of %d inputs, expected at most %d", WL_MAX_INPUTS + 1, WL_MAX_INPUTS));

    g = wl_graph_new(a);
    in[0] = image(g, 3, 8);
    in[1] = image(g, 5, 7);
    wl_concat(g, "odd", in, 2);
    expect_error(g, "odd: concat of x [2,3,8,8] and x [2,5,7,7]");
}

static void test_initial_values_are_set_by_parameter(void **state)
{
    (void)state;
    struct wl_graph *g = wl_graph_new(a);
    struct wl_tensor *y = wl_linear(g, "fc", image(g, 3, 8), 4);
    wl_init_weight(g, y, (struct wl_init) { WL_INIT_NORMAL, 0.5 });
    wl_init_bias(g, y, (struct wl_init) { WL_INIT_CONSTANT, 2 });
    assert_int_equal(wl_graph_check(g, NULL), 0);
    assert_true(g->nodes[0]->par[0]->init.rule == WL_INIT_NORMAL && g->nodes[0]->par[0]->init.scale == 0.5);
    assert_true(g->nodes[0]->par[1]->init.rule == WL_INIT_CONSTANT && g->nodes[0]->par[1]->init.scale == 2);
    wl_init_bias(g, wl_relu(g, "relu", y), (struct wl_init) { 0 });
    expect_error(g, "relu has no bias");
}

/* The first error stays, whatever follows. */
static void test_first_error_stays(void **state)
{
    (void)state;
    struct wl_graph *g = wl_graph_new(a);
    struct wl_tensor *y = wl_conv2d(g, "first", image(g, 3, 4), (struct wl_conv) { .channels = 8, .kernel = { 9, 9 } });
    assert_non_null(y);
    y = wl_relu(g, "same", wl_relu(g, "same", y));
    wl_linear(g, "fc", y, -1);
    expect_error(g, "first: ");
}

static void test_duplicate_names_are_refused(void **state)
{
    (void)state;
    struct wl_graph *g = wl_graph_new(a);
    wl_relu(g, "relu", wl_relu(g, "relu", image(g, 1, 1)));
    expect_error(g, "relu: there is already an operation of this name");
}

static void test_open_scopes_and_late_gradients_are_refused(void **state)
{
    (void)state;
    struct wl_graph *g = wl_graph_new(a);
    wl_scope_push(g, "layer1");
    expect_error(g, "layer1.: the scope was not closed");

    g = wl_graph_new(a);
    struct wl_tensor *x = image(g, 1, 2);
    wl_relu(g, "r", x);
    wl_want_gradient(g, x);
    expect_error(g, "x: a gradient can be requested of an f32 input only, before an operation reads it");

    g = wl_graph_new(a);
    x = image(g, 1, 2);
    wl_want_gradient(g, x);
    wl_mean_square(g, "loss", image(g, 1, 2), wl_relu(g, "r", x), (struct wl_loss) { 0 });
    expect_error(g, "loss: mean_square has no gradient by r");
}

/* Operations of a reused scope read the parameters of the first one, also inside nested scopes. */
static void test_reused_scope_shares_parameters(void **state)
{
    (void)state;
    struct wl_graph *g = wl_graph_new(a);
    wl_scope_push(g, "net");
    for (int i = 0; i < 3; i++) {
        if (i) wl_scope_reuse(g, "reuse%d", i);
        wl_scope_push(g, "layer%d", 1);
        wl_linear(g, "fc", image(g, 3, 2), 12);
        wl_scope_pop(g);
        wl_position(g, "position", wl_linear(g, "rows", image(g, 3, 2), 2), 2);
        if (i) wl_scope_pop(g);
    }
    wl_scope_pop(g);
    assert_int_equal(wl_graph_check(g, NULL), 0);
    const struct wl_node *const *n = (const struct wl_node *const *)g->nodes;
    assert_string_equal(n[3]->name, "net.reuse1.layer1.fc");
    assert_string_equal(n[8]->out->name, "net.reuse2.position");
    assert_string_equal(n[0]->par[0]->name, "net.layer1.fc.weight");
    assert_string_equal(n[2]->par[0]->name, "net.position");
    for (int i = 3; i < 9; i++)
        for (int k = 0; k < 2; k++) assert_ptr_equal(n[i]->par[k], n[i % 3]->par[k]);
}

static struct wl_graph *graph_reusing_a_layer(void)
{
    struct wl_graph *g = wl_graph_new(a);
    wl_linear(g, "fc", image(g, 3, 2), 4);
    wl_scope_reuse(g, "reuse");
    return g;
}

static void test_impossible_sharing_is_refused(void **state)
{
    (void)state;
    struct wl_graph *g = graph_reusing_a_layer();
    wl_linear(g, "fc", image(g, 2, 2), 4);
    wl_scope_pop(g);
    expect_error(g, "reuse.fc: reads fc.weight as [4,8], but it is [4,12]");

    g = graph_reusing_a_layer();
    wl_linear(g, "fc2", image(g, 3, 2), 4);
    wl_scope_pop(g);
    expect_error(g, "reuse.fc2: no operation fc2 has a parameter fc2.weight that could be shared");

    g = graph_reusing_a_layer();
    wl_project(g, "fc", wl_input(g, "rows", WL_F32, WL_DIMS(2, 12)), (struct wl_project) { .features = 4 });
    wl_scope_pop(g);
    expect_error(g, "reuse.fc: project cannot read the parameters of fc, which is a linear");

    g = graph_reusing_a_layer();
    wl_batch_norm(g, "bn", image(g, 3, 2), (struct wl_batch_norm_opts) { 0 });
    wl_scope_pop(g);
    expect_error(g, "reuse.bn: batch_norm keeps statistics, which two operations cannot share");

    g = graph_reusing_a_layer();
    expect_error(g, "reuse.: the scope was not closed");
}

/* Of several losses the first that is evaluated counts the samples. */
static void test_first_evaluated_loss_counts_samples(void **state)
{
    (void)state;
    struct wl_graph *g = wl_graph_new(a);
    for (int i = 0; i < 3; i++)
        wl_mean_square(g, wl_strf(a, "loss%d", i), image(g, 1, 2), image(g, 1, 2),
                       (struct wl_loss) { .auxiliary = i == 0 });
    assert_true(!g->nodes[0]->counts && g->nodes[1]->counts && !g->nodes[2]->counts);
}

/* The products of the bases with their weights and of the edges' features are by edge, the sums over orders and
 * features by triplet. */
static void flops_of_a_triplet_convolution_are_those_counted_by_hand(void **state)
{
    (void)state;
    enum { E = 20, T = 60, F = 8, BILINEAR = 4, ORDERS = 3, RADIALS = 2, BOTH = ORDERS * RADIALS };
    static const double rows[WL_ROW_KINDS] = { [WL_EDGES] = 10, [WL_TRIPLETS] = 30 };
    struct wl_arena *arena = wl_arena_new(NULL);
    struct wl_graph *g = wl_graph_new(arena);
    struct wl_err e = { 0 };
    const struct wl_edges edges = {
        .counts = wl_input(g, "counts", WL_I32, WL_DIMS(WL_ROW_KINDS)),
        .edge_start = wl_input(g, "edge_start", WL_I32, WL_DIMS(7)),
        .source = wl_input(g, "source", WL_I32, WL_DIMS(E)),
        .reverse = wl_input(g, "reverse", WL_I32, WL_DIMS(E)),
        .triplet_start = wl_input(g, "triplet_start", WL_I32, WL_DIMS(7)),
    };
    const struct wl_triplet_conv conv = {
        .bilinear = BILINEAR,
        .radial = wl_input(g, "radial", WL_F32, WL_DIMS(E, BOTH)),
        .angular = wl_input(g, "angular", WL_F32, WL_DIMS(T, ORDERS)),
        .residual = wl_input(g, "residual", WL_F32, WL_DIMS(E, F)),
    };
    wl_mean_rows(g, rows);
    wl_triplet_conv(g, "conv", edges, wl_input(g, "x", WL_F32, WL_DIMS(E, F)), conv);
    if (wl_graph_check(g, &e)) fail_msg("%s", e.msg);
    const double by_edge = 2.0 * 10 * (BILINEAR * BOTH + BILINEAR * F * F);
    const double by_triplet = 2.0 * 30 * (BILINEAR * ORDERS + BILINEAR * F);
    assert_true(wl_node_flops(g, g->nodes[g->n_nodes - 1]) == by_edge + by_triplet);
    wl_arena_free(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names_and_shapes),
        cmocka_unit_test(test_mismatched_shapes_are_refused),
        cmocka_unit_test(test_concat_adds_channels),
        cmocka_unit_test(test_initial_values_are_set_by_parameter),
        cmocka_unit_test(test_first_error_stays),
        cmocka_unit_test(test_duplicate_names_are_refused),
        cmocka_unit_test(test_open_scopes_and_late_gradients_are_refused),
        cmocka_unit_test(test_reused_scope_shares_parameters),
        cmocka_unit_test(test_impossible_sharing_is_refused),
        cmocka_unit_test(test_first_evaluated_loss_counts_samples),
        cmocka_unit_test(flops_of_a_triplet_convolution_are_those_counted_by_hand),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
