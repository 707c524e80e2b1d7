/* Back-end gpu, over the fakes: shapes that tests/ops does not draw, since they are those of full-size models. Rows of
 * several chunks, heads of 64 features with masks that begin with a group, a token that is in many chunks; and errors.
 */
#include "nn/graph/graph.h"
#include "nn/nn.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "backend_compare.h"

enum { SEED = 3, POSITIONS = 256, FEATURES = 768, HEADS = 4, LENGTH = 200, VOCABULARY = 3, PLACES = 40 };

static struct wl_tensor *norm(struct wl_graph *g, const char *name, struct wl_tensor *x, struct wl_tensor *branch)
{
    return wl_layer_norm(g, name, x, branch, (struct wl_layer_norm) { .eps = 1e-3, .drop = branch ? 0.1 : 0 });
}

/* Tables, a norm of 768 features with a branch, attention, a norm of 256, and some of the rows; gradients of all go
 * through attention. */
static struct wl_tensor *encoder(struct wl_graph *g)
{
    struct wl_tensor *tokens = wl_input(g, "tokens", WL_I32, WL_DIMS(1, POSITIONS));
    struct wl_tensor *lengths = wl_input(g, "lengths", WL_I32, WL_DIMS(1));
    struct wl_tensor *places = wl_input(g, "places", WL_I32, WL_DIMS(1, PLACES));
    struct wl_tensor *x =
        wl_embed_tokens(g, "tables", tokens, (struct wl_token_tables) { VOCABULARY, POSITIONS + 1, 2, FEATURES, 1 });
    x = norm(g, "norm1", x, norm(g, "norm0", x, NULL));
    x = wl_attention(g, "attention", x, lengths, (struct wl_attention) { .heads = HEADS, .drop = 0.1 });
    return wl_gather(g, "gather", norm(g, "norm2", x, x), places);
}

static void fill(struct wl_plan *p, const struct wl_graph *g)
{
    fill_inputs(p, g, SEED, VOCABULARY);
    for (size_t i = 0; i < g->n_tensors; i++) {
        int32_t *to = wl_str_eq(g->tensors[i]->name, "places") || wl_str_eq(g->tensors[i]->name, "lengths")
                          ? wl_plan_input(p, g->tensors[i])
                          : NULL;
        for (int64_t k = 0; to && k < wl_dims_count(&g->tensors[i]->dims); k++)
            to[k] = wl_str_eq(g->tensors[i]->name, "lengths") ? LENGTH : (int32_t)(k * k % POSITIONS);
    }
    fill_state(p, SEED);
}

static struct floats gradients(struct wl_plan_opts o, struct wl_arena *a)
{
    struct wl_graph *g = wl_graph_new(a);
    struct wl_tensor *y = encoder(g);
    struct wl_plan *p = NULL;
    struct wl_counts c = { 0 };
    struct wl_err e = { 0 };
    wl_mean_square(g, "loss", y, wl_input(g, "target", WL_F32, *wl_tensor_dims(y)), (struct wl_loss) { .weight = 10 });
    o.seed = SEED;
    o.slow_bf16 = true;
    if (wl_plan_new(&p, g, &o, NULL, a, &e)) fail_msg("%s", e.msg);
    fill(p, g);
    if (wl_plan_train(p, true, true, &c, &e)) fail_msg("%s", e.msg);
    return all_gradients(p, a);
}

static void compare(enum wl_dtype precision, double tolerance)
{
    struct wl_arena *a = wl_arena_new(NULL);
    const struct floats gpu = gradients((struct wl_plan_opts) { .backend = "gpu", .precision = precision }, a);
    const struct floats again =
        gradients((struct wl_plan_opts) { .backend = "gpu", .precision = precision, .recompute = true }, a);
    const struct floats ref = gradients((struct wl_plan_opts) { .backend = "ref", .precision = precision }, a);
    assert_memory_equal(gpu.v, again.v, gpu.n * sizeof(float));
    const double far = nmse(gpu, ref);
    if (!(far <= tolerance)) fail_msg("NMSE %g, at most %g", far, tolerance);
    wl_arena_free(a);
}

static void test_full_size_rows_and_heads(void **state)
{
    (void)state;
    compare(WL_F32, 1e-11);
    compare(WL_BF16, 1e-4);
}

static void test_heads_are_of_64_features_at_most(void **state)
{
    (void)state;
    struct wl_arena *a = wl_arena_new(NULL);
    struct wl_graph *g = wl_graph_new(a);
    struct wl_tensor *x = wl_input(g, "x", WL_F32, WL_DIMS(1, 2, 3 * 65));
    struct wl_tensor *lengths = wl_input(g, "lengths", WL_I32, WL_DIMS(1));
    struct wl_tensor *y = wl_attention(g, "op", x, lengths, (struct wl_attention) { .heads = 1 });
    struct wl_plan *p = NULL;
    struct wl_err e = { 0 };
    wl_mean_square(g, "loss", y, wl_input(g, "target", WL_F32, *wl_tensor_dims(y)), (struct wl_loss) { .weight = 1 });
    assert_int_equal(wl_plan_new(&p, g, &(struct wl_plan_opts) { .backend = "gpu" }, NULL, a, &e), WL_EINVAL);
    assert_string_equal(e.msg, "op (attention): heads of 65 features; back-end gpu takes heads of at most 64");
    wl_arena_free(a);
}

static void test_rows_of_a_norm_are_of_8192_features_at_most(void **state)
{
    (void)state;
    struct wl_arena *a = wl_arena_new(NULL);
    struct wl_graph *g = wl_graph_new(a);
    struct wl_tensor *y = norm(g, "op", wl_input(g, "x", WL_F32, WL_DIMS(2, 8193)), NULL);
    struct wl_plan *p = NULL;
    struct wl_err e = { 0 };
    wl_mean_square(g, "loss", y, wl_input(g, "target", WL_F32, *wl_tensor_dims(y)), (struct wl_loss) { .weight = 1 });
    assert_int_equal(wl_plan_new(&p, g, &(struct wl_plan_opts) { .backend = "gpu" }, NULL, a, &e), WL_EINVAL);
    assert_string_equal(e.msg, "op (layer_norm): rows of 8193 features; back-end gpu normalises rows of at most 8192");
    wl_arena_free(a);
}

/* The error is found on the device and named when the run ends; the next run is fine. */
static void test_a_target_of_zeros_is_an_error(void **state)
{
    (void)state;
    enum { N = 2, F = 9000 }; /* more than a part of a sample */
    struct wl_arena *a = wl_arena_new(NULL);
    struct wl_graph *g = wl_graph_new(a);
    struct wl_tensor *x = wl_input(g, "x", WL_F32, WL_DIMS(N, F)), *t = wl_input(g, "t", WL_F32, WL_DIMS(N, F));
    struct wl_plan *p = NULL;
    struct wl_counts c = { 0 };
    struct wl_err e = { 0 };
    wl_want_gradient(g, x);
    wl_relative_l2(g, "loss", x, t, (struct wl_loss) { .weight = 1 });
    assert_int_equal(wl_plan_new(&p, g, &(struct wl_plan_opts) { .backend = "gpu" }, NULL, a, &e), 0);
    fill_inputs(p, g, SEED, 2);
    float *target = wl_plan_input(p, t);
    memset(target + F, 0, F * sizeof(float));
    assert_int_equal(wl_plan_train(p, true, true, &c, &e), WL_EINVAL);
    assert_non_null(strstr(e.msg, "a target is 0 everywhere"));
    target[F] = NAN; /* padding */
    memset(&c, 0, sizeof c);
    assert_int_equal(wl_plan_train(p, true, true, &c, &e), 0);
    assert_int_equal(c.samples, 1);
    assert_true(c.loss_sum > 1 && c.loss_sum < 2); /* about sqrt 2 */
    wl_arena_free(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_full_size_rows_and_heads),
        cmocka_unit_test(test_heads_are_of_64_features_at_most),
        cmocka_unit_test(test_rows_of_a_norm_are_of_8192_features_at_most),
        cmocka_unit_test(test_a_target_of_zeros_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
