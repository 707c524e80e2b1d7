/* A small encoder of all operations on sequences, nn/cpu against nn/ref, where products add to gradients and multiply
 * by gelu's derivative. */
#include "cases.h"

#include <stdio.h>
#include <string.h>

enum { SEED = 11 };

static void need(enum wl_dtype precision)
{
    struct wl_err e = { 0 };
    if (!wl_backend_precision("cpu", precision, true, &e)) return;
    printf("SKIP: %s\n", e.msg);
    skip();
}

enum { BATCH = 3, S = 13, PLACES = 4, FEATURES = 64, VOCABULARY = 37 };

static struct wl_tensor *project(struct wl_graph *g, const char *name, struct wl_tensor *x, int64_t features, bool gelu)
{
    return wl_project(g, name, x, (struct wl_project) { .features = features, .gelu = gelu, .deviation = 0.1 });
}

static struct wl_tensor *layer(struct wl_graph *g, struct wl_tensor *x, struct wl_tensor *lengths, double drop)
{
    const struct wl_project qkv = { .features = 3 * FEATURES, .deviation = 0.1, .parts = { "q", "k", "v" } };
    const struct wl_layer_norm norm = { .drop = drop };
    struct wl_tensor *y = wl_attention(g, "attention", wl_project(g, "self", x, qkv), lengths,
                                       (struct wl_attention) { .heads = 2, .drop = drop });
    x = wl_layer_norm(g, "norm1", x, project(g, "project", y, FEATURES, false), norm);
    y = project(g, "out", project(g, "in", x, 2 * FEATURES, true), FEATURES, false);
    return wl_layer_norm(g, "norm2", x, y, norm);
}

static struct twin encoder(struct wl_arena *a, double drop, struct wl_plan_opts opts, uint64_t seed)
{
    struct twin t = { .g = wl_graph_new(a), .s = S, .vocabulary = VOCABULARY };
    struct wl_tensor *tokens = wl_input(t.g, "tokens", WL_I32, WL_DIMS(BATCH, S));
    struct wl_tensor *lengths = wl_input(t.g, "lengths", WL_I32, WL_DIMS(BATCH));
    struct wl_tensor *positions = wl_input(t.g, "positions", WL_I32, WL_DIMS(BATCH, PLACES));
    struct wl_tensor *labels = wl_input(t.g, "labels", WL_I32, WL_DIMS(BATCH * PLACES));
    struct wl_tensor *embedded =
        wl_embed_tokens(t.g, "tables", tokens, (struct wl_token_tables) { VOCABULARY, S, 2, FEATURES, 0.5 });
    struct wl_tensor *x = wl_layer_norm(t.g, "norm", embedded, NULL, (struct wl_layer_norm) { 0 });
    x = wl_dropout(t.g, "dropout", x, drop);
    for (int i = 0; i < 2; i++) {
        wl_scope_push(t.g, "layer%d", i);
        x = layer(t.g, x, lengths, drop);
        wl_scope_pop(t.g);
    }
    x = project(t.g, "transform", wl_gather(t.g, "gather", x, positions), FEATURES, true);
    t.y = wl_decoder(t.g, "decoder", wl_layer_norm(t.g, "last", x, NULL, (struct wl_layer_norm) { 0 }), embedded);
    wl_cross_entropy(t.g, "loss", t.y, labels, (struct wl_loss) { 0 });
    opts.seed = SEED;
    opts.slow_bf16 = true;
    opts.optim = (struct wl_optim) { .kind = "adamw", .weight_decay = 0.01, .decay_weights_only = true };
    struct wl_err e = { 0 };
    if (wl_plan_new(&t.plan, t.g, &opts, NULL, a, &e)) fail_msg("%s", e.msg);
    fill_tokens(&t, seed);
    int32_t *last = wl_plan_input(t.plan, labels);
    last[2] = last[7] = -1;
    return t;
}

static struct floats gradients(struct twin t, struct wl_arena *a)
{
    train(t.plan);
    return all_gradients(t.plan, a);
}

static void test_encoder_equals_ref(void **state)
{
    (void)state;
    need(WL_F32);
    struct wl_arena *a = wl_arena_new(NULL);
    for (int drop = 0; drop < 2; drop++) {
        struct wl_plan_opts cpu = { .threads = 2 }, kept = { .keep_values = true }, ref = { .backend = "ref" };
        struct floats got = gradients(encoder(a, 0.2 * drop, cpu, 1), a);
        compare("gradients", got, gradients(encoder(a, 0.2 * drop, ref, 1), a), 1e-10, "an encoder");
        compare("gradients with values kept", got, gradients(encoder(a, 0.2 * drop, kept, 1), a), 1e-11, "an encoder");
        cpu.threads = 1;
        products_on_one_thread("one thread", got, gradients(encoder(a, 0.2 * drop, cpu, 1), a), "an encoder");
    }
    wl_arena_free(a);
}

static void test_encoder_equals_ref_in_bf16(void **state)
{
    (void)state;
    need(WL_BF16);
    struct wl_arena *a = wl_arena_new(NULL);
    struct wl_plan_opts cpu = { .precision = WL_BF16 }, ref = { .backend = "ref", .precision = WL_BF16 }, f32 = { 0 };
    struct floats got = gradients(encoder(a, 0.2, cpu, 1), a);
    compare("gradients", got, gradients(encoder(a, 0.2, ref, 1), a), 1e-4, "an encoder");
    compare("gradients of f32", got, gradients(encoder(a, 0.2, f32, 1), a), 4e-4, "an encoder");
    wl_arena_free(a);
}

/* Micro-batches add up, in the table that two operations share too, and adam starts where a checkpoint says. */
static void micro_batches(const char *backend)
{
    struct wl_arena *a = wl_arena_new(NULL);
    struct wl_plan_opts opts = { .backend = backend, .micro_batches = 2 };
    struct twin both = encoder(a, 0, opts, 1);
    struct floats one = gradients(encoder(a, 0, opts, 1), a), two = gradients(encoder(a, 0, opts, 2), a);
    struct wl_counts c = { 0 };
    const int32_t *labels = NULL;
    assert_int_equal(wl_plan_train(both.plan, true, false, &c, NULL), 0);
    for (size_t i = 0; i < both.g->n_tensors; i++)
        if (!strcmp(both.g->tensors[i]->name, "labels")) labels = wl_plan_input(both.plan, both.g->tensors[i]);
    fill_tokens(&both, 2);
    ((int32_t *)labels)[2] = ((int32_t *)labels)[7] = -1;
    assert_int_equal(wl_plan_train(both.plan, false, true, &c, NULL), 0);
    for (size_t i = 0; i < one.n; i++) one.v[i] += two.v[i];
    compare("sum of the micro-batches' gradients", all_gradients(both.plan, a), one, 1e-12, "an encoder");
    assert_int_equal(c.samples, 2 * (BATCH * PLACES - 2));
    wl_arena_free(a);
}

static void test_micro_batches_equal_one_batch(void **state)
{
    (void)state;
    need(WL_F32);
    micro_batches("cpu");
    micro_batches("ref");
}

static void test_encoder_learns(void **state)
{
    (void)state;
    need(WL_F32);
    struct wl_arena *a = wl_arena_new(NULL);
    struct twin t = encoder(a, 0, (struct wl_plan_opts) { 0 }, 1);
    for (int i = 0; i < 60; i++) {
        train(t.plan);
        assert_int_equal(wl_plan_update(t.plan, 0.01, NULL), 0);
    }
    struct wl_counts c = { 0 };
    assert_int_equal(wl_plan_eval(t.plan, &c, NULL), 0);
    assert_int_equal(c.top1, c.samples);
    assert_true(c.loss_sum < 0.1 * (double)c.samples);
    wl_arena_free(a);
}

/* The values of the inputs are checked. */
static void test_bad_inputs_are_refused(void **state)
{
    static const struct {
        const char *input, *message;
        int32_t value;
    } cases[] = {
        { "tokens", "tables (forward): token 37 of sample 1 is not among the 37 rows of the table", VOCABULARY },
        { "tokens", "tables (forward): token -1 of sample 1 is not among the 37 rows of the table", -1 },
        { "positions", "gather (forward): position 13 of sample 1 is not among the 13 of its sequence", S },
        { "labels", "loss (forward): label 37 of sample 5 is beyond the 37 classes", VOCABULARY },
    };
    if (!*state) need(WL_F32);
    struct wl_arena *a = wl_arena_new(NULL);
    for (size_t i = 0; i < WL_COUNT(cases); i++) {
        struct twin t = encoder(a, 0, (struct wl_plan_opts) { .backend = *state }, 1);
        struct wl_counts c = { 0 };
        struct wl_err e = { 0 };
        for (size_t k = 0; k < t.g->n_tensors; k++) {
            const struct wl_tensor *in = t.g->tensors[k];
            if (strcmp(in->name, cases[i].input)) continue;
            const int64_t width = in->dims.n > 1 ? in->dims.d[1] : 5;
            ((int32_t *)wl_plan_input(t.plan, in))[width] = cases[i].value;
        }
        assert_int_equal(wl_plan_train(t.plan, true, true, &c, &e), WL_EINVAL);
        assert_string_equal(e.msg, cases[i].message);
    }
    wl_arena_free(a);
}

int main(void)
{
    static char ref[] = "ref";
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_encoder_equals_ref),
        cmocka_unit_test(test_encoder_equals_ref_in_bf16),
        cmocka_unit_test(test_micro_batches_equal_one_batch),
        cmocka_unit_test(test_encoder_learns),
        cmocka_unit_test(test_bad_inputs_are_refused),
        cmocka_unit_test_prestate(test_bad_inputs_are_refused, ref),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
