/* Operations on sequences, nn/cpu against nn/ref: on random shapes, rows that fill no vector and tiles that are not
 * whole, with padding and dropout; twice and with another number of threads for equal bits. Then a small encoder of all
 * of them, where products add to gradients and multiply by gelu's derivative. A failure prints the line that runs its
 * case alone: test_sequence OPERATION NUMBER [bf16]. */
#include "cases.h"

#include "nn/simd/simd.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { CASES = 12, SEED = 11 };

/* ---- graphs: the result that is compared, and the input whose gradient is ---- */

struct twin {
    struct wl_graph *g;
    struct wl_tensor *x, *y; /* x NULL: a graph of tokens alone */
    int64_t s, vocabulary;
    struct wl_plan *plan;
};

static struct wl_tensor *values(struct twin *t, const char *name, struct wl_dims dims)
{
    struct wl_tensor *x = wl_input(t->g, name, WL_F32, dims);
    wl_want_gradient(t->g, x);
    return x;
}

static int64_t drawn_length(struct draw *d)
{
    const int64_t v[] = { 1, 3, 16, 33, 64, 128, 130, 200 };
    return one_of(d, v, WL_COUNT(v));
}

static double drawn_drop(struct draw *d) { return below(d, 2) ? 0.3 : 0; }

static int64_t drawn_features(struct draw *d)
{
    const int64_t v[] = { 4, 17, 32, 48, 64, 100, 144, 192 };
    return one_of(d, v, WL_COUNT(v));
}

static void build_embedding(struct twin *t, struct draw *d)
{
    t->vocabulary = 1 + below(d, 50);
    t->s = drawn_length(d);
    struct wl_tensor *tokens = wl_input(t->g, "tokens", WL_I32, WL_DIMS(1 + below(d, 3), t->s));
    t->y = wl_embed_tokens(t->g, "op", tokens,
                           (struct wl_token_tables) { t->vocabulary, t->s + below(d, 9), 2, drawn_features(d), 1 });
}

static void build_norm(struct twin *t, struct draw *d)
{
    const struct wl_dims dims = WL_DIMS(1 + below(d, 3), 1 + below(d, 70), drawn_features(d));
    t->x = values(t, "x", dims);
    struct wl_tensor *branch = below(d, 3) ? values(t, "branch", dims) : NULL;
    t->y = wl_layer_norm(t->g, "op", t->x, branch, (struct wl_layer_norm) { .eps = 1e-3, .drop = drawn_drop(d) });
}

static void build_project(struct twin *t, struct draw *d)
{
    t->x = values(t, "x", WL_DIMS(1 + below(d, 3), 1 + below(d, 70), drawn_features(d)));
    struct wl_project how = { .features = drawn_features(d), .gelu = below(d, 2), .deviation = 0.1 };
    if (below(d, 3) == 0) how = (struct wl_project) { .features = 3 * how.features, .parts = { "a", "b", "c" } };
    t->y = wl_project(t->g, "op", t->x, how);
}

static void build_attention(struct twin *t, struct draw *d)
{
    const int64_t n = 1 + below(d, 3), heads = 1 + below(d, 3), f[] = { 4, 5, 16, 32 };
    t->s = drawn_length(d);
    t->x = values(t, "x", WL_DIMS(n, t->s, 3 * heads * one_of(d, f, 4)));
    struct wl_tensor *lengths = wl_input(t->g, "lengths", WL_I32, WL_DIMS(n));
    t->y = wl_attention(t->g, "op", t->x, lengths, (struct wl_attention) { .heads = heads, .drop = drawn_drop(d) });
}

static void build_gather(struct twin *t, struct draw *d)
{
    const int64_t n = 1 + below(d, 3);
    t->s = drawn_length(d);
    t->x = values(t, "x", WL_DIMS(n, t->s, drawn_features(d)));
    t->y = wl_gather(t->g, "op", t->x, wl_input(t->g, "positions", WL_I32, WL_DIMS(n, 1 + below(d, 9))));
}

static void build_decoder(struct twin *t, struct draw *d)
{
    const int64_t n = 1 + below(d, 3), f = drawn_features(d);
    t->s = drawn_length(d);
    t->vocabulary = 1 + below(d, 90);
    struct wl_tensor *tokens = wl_input(t->g, "tokens", WL_I32, WL_DIMS(n, t->s));
    struct wl_tensor *embedded =
        wl_embed_tokens(t->g, "table", tokens, (struct wl_token_tables) { t->vocabulary, t->s, 1, f, 1 });
    struct wl_tensor *places = wl_input(t->g, "positions", WL_I32, WL_DIMS(n, 1 + below(d, 9)));
    t->y = wl_decoder(t->g, "op", wl_gather(t->g, "gather", embedded, places), embedded);
}

static void build_dropout(struct twin *t, struct draw *d)
{
    t->x = values(t, "x", WL_DIMS(1 + below(d, 3), 1 + below(d, 70), drawn_features(d)));
    t->y = wl_dropout(t->g, "op", t->x, 0.4);
}

/* As test_ops.c says of its tolerances. Attention rounds probabilities to bf16, which the reference does not. */
static const struct op {
    const char *name;
    void (*build)(struct twin *t, struct draw *d);
    double tolerance, tolerance_bf16; /* NMSE */
} ops[] = {
    { "embed_tokens", build_embedding, 1e-13, 1.5e-5 },
    { "layer_norm", build_norm, 1e-11, 2e-5 },
    { "project", build_project, 1e-11, 1.5e-5 },
    { "attention", build_attention, 1e-11, 3e-5 },
    { "gather", build_gather, 0, 0 },
    { "decoder", build_decoder, 1e-11, 1.5e-5 },
    { "dropout", build_dropout, 1e-13, 1.5e-5 },
};

/* ---- running them ---- */

static void fill_indices(struct twin *t, uint64_t seed)
{
    for (size_t i = 0; i < t->g->n_tensors; i++) {
        const struct wl_tensor *in = t->g->tensors[i];
        if (in->role != WL_ROLE_INPUT || in->dtype != WL_I32) continue;
        int32_t *to = wl_plan_input(t->plan, in);
        const bool lengths = !strcmp(in->name, "lengths"), places = !strcmp(in->name, "positions");
        const int64_t limit = lengths ? t->s + 1 : places ? t->s : t->vocabulary;
        for (int64_t k = 0; k < wl_dims_count(&in->dims); k++)
            to[k] = (int32_t)wl_random_below(seed, wl_hash_fnv1a(in->name), (uint64_t)k, (uint64_t)limit);
        if (lengths) to[0] = (int32_t)t->s;
    }
}

static void start(struct twin *t, const struct wl_plan_opts *how, uint64_t seed, struct wl_arena *a)
{
    struct wl_err e = { 0 };
    if (wl_plan_new(&t->plan, t->g, how, NULL, a, &e)) fail_msg("%s", e.msg);
    fill_inputs(t->plan, t->g, seed, 2);
    fill_indices(t, seed);
    fill_state(t->plan, seed);
}

static struct twin twin_of(const struct op *op, uint64_t number, struct wl_plan_opts how, struct wl_arena *a)
{
    struct draw d = { 3, number ^ wl_hash_fnv1a(op->name), 0 };
    struct twin t = { .g = wl_graph_new(a), .vocabulary = 2 };
    op->build(&t, &d);
    struct wl_tensor *target = wl_input(t.g, "target", WL_F32, *wl_tensor_dims(t.y));
    wl_mean_square(t.g, "loss", t.y, target, (struct wl_loss) { .weight = 100 });
    how.keep_values = true;
    how.slow_bf16 = true;
    start(&t, &how, number, a);
    return t;
}

/* With AVX-512 no sum of a product is cut between threads; oneDNN's other products cut long ones. */
static void same_on_one_thread(const char *what, struct floats two, struct floats one, const char *line)
{
    if (wl_str_eq(wl_simd()->name, "x86-64-v4"))
        same_bits(what, two, one, line);
    else
        compare(what, two, one, 1e-12, line);
}

static void run_case(const void *of, uint64_t number, enum wl_dtype precision)
{
    const struct op *op = of;
    struct wl_arena *a = wl_arena_new(NULL);
    struct twin cpu = twin_of(op, number, (struct wl_plan_opts) { .precision = precision, .threads = 2 }, a);
    struct twin one = twin_of(op, number, (struct wl_plan_opts) { .precision = precision, .threads = 1 }, a);
    struct twin ref = twin_of(op, number, (struct wl_plan_opts) { .precision = precision, .backend = "ref" }, a);
    const char *line = repeat_line(a, "test_sequence", op->name, number, precision, cpu.x, cpu.y);
    const bool bf16 = precision == WL_BF16;
    const double exact = bf16 ? op->tolerance_bf16 : op->tolerance, near = fmax(exact, bf16 ? 6e-5 : 1e-9);
    train(cpu.plan);
    train(one.plan);
    train(ref.plan);
    compare("result", read_tensor(wl_plan_value, cpu.plan, cpu.y, a), read_tensor(wl_plan_value, ref.plan, ref.y, a),
            exact, line);
    if (cpu.x)
        compare("gradient of x", read_tensor(wl_plan_value_gradient, cpu.plan, cpu.x, a),
                read_tensor(wl_plan_value_gradient, ref.plan, ref.x, a), near, line);
    struct floats once = all_gradients(cpu.plan, a);
    compare("gradients of parameters", once, all_gradients(ref.plan, a), near, line);
    same_on_one_thread("one thread", once, all_gradients(one.plan, a), line);
    same_on_one_thread("one thread, result", read_tensor(wl_plan_value, cpu.plan, cpu.y, a),
                       read_tensor(wl_plan_value, one.plan, one.y, a), line);
    train(cpu.plan);
    same_bits("again", once, all_gradients(cpu.plan, a), line);

    struct wl_counts c = { 0 };
    assert_int_equal(wl_plan_eval(cpu.plan, &c, NULL), 0);
    assert_int_equal(wl_plan_eval(ref.plan, &c, NULL), 0);
    compare("result in evaluation", read_tensor(wl_plan_value, cpu.plan, cpu.y, a),
            read_tensor(wl_plan_value, ref.plan, ref.y, a), near, line);
    wl_arena_free(a);
}

static void need(enum wl_dtype precision)
{
    struct wl_err e = { 0 };
    if (!wl_backend_precision("cpu", precision, true, &e)) return;
    printf("SKIP: %s\n", e.msg);
    skip();
}

/* ---- all together ---- */

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

static struct twin encoder(struct wl_arena *a, double drop, struct wl_plan_opts how, uint64_t seed)
{
    struct twin t = { .g = wl_graph_new(a), .s = S, .vocabulary = VOCABULARY };
    struct wl_tensor *tokens = wl_input(t.g, "tokens", WL_I32, WL_DIMS(BATCH, S));
    struct wl_tensor *lengths = wl_input(t.g, "lengths", WL_I32, WL_DIMS(BATCH));
    struct wl_tensor *places = wl_input(t.g, "positions", WL_I32, WL_DIMS(BATCH, PLACES));
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
    x = project(t.g, "transform", wl_gather(t.g, "gather", x, places), FEATURES, true);
    t.y = wl_decoder(t.g, "decoder", wl_layer_norm(t.g, "last", x, NULL, (struct wl_layer_norm) { 0 }), embedded);
    wl_cross_entropy(t.g, "loss", t.y, labels, (struct wl_loss) { 0 });
    how.seed = SEED;
    how.slow_bf16 = true;
    how.optim = (struct wl_optim) { .kind = "adamw", .weight_decay = 0.01, .decay_weights_only = true };
    struct wl_err e = { 0 };
    if (wl_plan_new(&t.plan, t.g, &how, NULL, a, &e)) fail_msg("%s", e.msg);
    fill_indices(&t, seed);
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
        same_on_one_thread("one thread", got, gradients(encoder(a, 0.2 * drop, cpu, 1), a), "an encoder");
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
    struct wl_plan_opts how = { .backend = backend, .micro_batches = 2 };
    struct twin both = encoder(a, 0, how, 1);
    struct floats one = gradients(encoder(a, 0, how, 1), a), two = gradients(encoder(a, 0, how, 2), a);
    struct wl_counts c = { 0 };
    const int32_t *labels = NULL;
    assert_int_equal(wl_plan_train(both.plan, true, false, &c, NULL), 0);
    for (size_t i = 0; i < both.g->n_tensors; i++)
        if (!strcmp(both.g->tensors[i]->name, "labels")) labels = wl_plan_input(both.plan, both.g->tensors[i]);
    fill_indices(&both, 2);
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
            const int64_t each = in->dims.n > 1 ? in->dims.d[1] : 5;
            ((int32_t *)wl_plan_input(t.plan, in))[each] = cases[i].value;
        }
        assert_int_equal(wl_plan_train(t.plan, true, true, &c, &e), WL_EINVAL);
        assert_string_equal(e.msg, cases[i].message);
    }
    wl_arena_free(a);
}

int main(int argc, char **argv)
{
    static char ref[] = "ref";
    const struct CMUnitTest others[] = {
        cmocka_unit_test(test_encoder_equals_ref),
        cmocka_unit_test(test_encoder_equals_ref_in_bf16),
        cmocka_unit_test(test_micro_batches_equal_one_batch),
        cmocka_unit_test(test_encoder_learns),
        cmocka_unit_test(test_bad_inputs_are_refused),
        cmocka_unit_test_prestate(test_bad_inputs_are_refused, ref),
    };
    const struct cases cases = { ops, WL_COUNT(ops), sizeof *ops, CASES, run_case, others, WL_COUNT(others) };
    return cases_main(&cases, argc, argv);
}
