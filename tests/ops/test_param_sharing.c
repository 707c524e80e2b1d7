/* Parts of networks that are built twice over the same parameters (wl_scope_reuse). Each is compared with the network
 * whose second part has parameters of its own with the same values: the gradient by a shared parameter is the sum of
 * the gradients by those two. And the loss rises along it as steeply as it is long. */
#include "backend_compare.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

enum { N = 3, CLASSES = 7, SEED = 5 };

/* A part that is built twice, each time from the result of the time before (first: the input) and inputs of its own. */
struct part {
    const char *name;
    struct wl_dims dims; /* of its input and its result */
    struct wl_tensor *(*build)(struct wl_graph *g, struct wl_tensor *x);
    double tolerance; /* of a sum of gradients, NMSE: 0 where only two steps write one */
};

/* An input that both times read. */
static struct wl_tensor *input(struct wl_graph *g, const char *name, enum wl_dtype type, struct wl_dims dims)
{
    for (size_t i = 0; i < g->n_tensors; i++)
        if (!strcmp(g->tensors[i]->name, name)) return g->tensors[i];
    return wl_input(g, name, type, dims);
}

/* The input is plain, what the first time leaves may be in blocks: its kernels may want other weights. */
static struct wl_tensor *images(struct wl_graph *g, struct wl_tensor *x)
{
    struct wl_conv first = { .channels = 20, .kernel = { 3, 3 }, .pad = { 1, 1 }, .bias = true };
    struct wl_conv line = { .channels = 3, .kernel = { 1, 7 }, .pad = { 0, 3 } };
    struct wl_tensor *y = wl_relu(g, "relu", wl_conv2d(g, "conv", x, first));
    y = wl_dropout(g, "drop", y, 0.2);
    return wl_add(g, "add", wl_conv2d(g, "line", y, line), x);
}

static struct wl_tensor *flat(struct wl_graph *g, struct wl_tensor *x)
{
    return wl_linear(g, "fc2", wl_relu(g, "relu", wl_linear(g, "fc1", x, 33)), 12);
}

static struct wl_tensor *sequence(struct wl_graph *g, struct wl_tensor *x)
{
    struct wl_tensor *tokens = input(g, "tokens", WL_I32, WL_DIMS(N, CLASSES));
    struct wl_tensor *lengths = input(g, "lengths", WL_I32, WL_DIMS(N));
    const struct wl_token_tables tables = {
        .vocabulary = CLASSES, .positions = CLASSES, .segments = 2, .features = 16, .deviation = 1
    };
    struct wl_tensor *words = wl_embed_tokens(g, "words", tokens, tables);
    struct wl_tensor *y = wl_layer_norm(g, "norm", words, x, (struct wl_layer_norm) { .drop = 0.1 });
    y = wl_project(g, "qkv", y,
                   (struct wl_project) { .features = 48, .deviation = 0.3, .parts = { "query", "key", "value" } });
    y = wl_attention(g, "attention", y, lengths, (struct wl_attention) { .heads = 2, .drop = 0.1 });
    y = wl_project(g, "fc1", y, (struct wl_project) { .features = 24, .deviation = 0.3, .gelu = true });
    y = wl_project(g, "fc2", y, (struct wl_project) { .features = 16, .deviation = 0.3, .no_bias = true });
    struct wl_tensor *rows = wl_gather(g, "rows", y, input(g, "positions", WL_I32, WL_DIMS(N, 1)));
    wl_cross_entropy(g, "entropy", wl_decoder(g, "decoder", rows, words), input(g, "labels", WL_I32, WL_DIMS(N)),
                     (struct wl_loss) { .weight = 0.5, .auxiliary = true });
    return y;
}

static struct wl_tensor *fields(struct wl_graph *g, struct wl_tensor *x)
{
    const struct wl_fourier grid = { .height = 4, .width = 6, .modes = 3, .blocks = 2 };
    const struct wl_patch patch = { .side = 2, .channels = 3, .height = 8, .width = 12 };
    struct wl_tensor *y = wl_patches(g, "patches", x, 2);
    y = wl_position(g, "position", wl_project(g, "embed", y, (struct wl_project) { .features = 16, .deviation = 0.3 }),
                    24);
    struct wl_tensor *s = wl_fft2(g, "fft", wl_layer_norm(g, "norm", y, NULL, (struct wl_layer_norm) { 0 }), grid);
    s = wl_complex_linear(g, "1", s, (struct wl_complex) { .features = 16, .blocks = 2, .relu = true });
    s = wl_complex_linear(g, "2", s, (struct wl_complex) { .features = 16, .blocks = 2, .shrink = 0.01 });
    y = wl_add(g, "skip", wl_inverse_fft2(g, "inverse", s, grid), y);
    return wl_from_patches(g, "fields",
                           wl_project(g, "head", y, (struct wl_project) { .features = 12, .deviation = 0.3 }), patch);
}

static struct wl_tensor *rows(struct wl_graph *g, struct wl_tensor *x)
{
    const struct wl_rows atoms = { input(g, "counts", WL_I32, WL_DIMS(WL_ROW_KINDS)), WL_ATOMS };
    struct wl_tensor *kinds = wl_embed(g, "kinds", atoms, input(g, "atoms", WL_I32, WL_DIMS(CLASSES)), CLASSES, 9);
    struct wl_tensor *y = wl_dense(g, "dense", atoms, x, (struct wl_dense) { .features = 9, .residual = kinds });
    return wl_gate(g, "gate", atoms, y, kinds);
}

static const struct part parts[] = {
    { "images", { 4, { N, 3, 9, 8 } }, images, 0 },
    { "flat", { 2, { N, 12 } }, flat, 0 },
    { "sequence", { 3, { N, CLASSES, 16 } }, sequence, 1e-12 },
    { "fields", { 4, { N, 3, 8, 12 } }, fields, 0 },
    { "rows", { 2, { CLASSES, 9 } }, rows, 0 },
};

/* A loss on what each time leaves. */
static struct wl_graph *network(struct wl_arena *a, const struct part *part, bool shared)
{
    struct wl_graph *g = wl_graph_new(a);
    struct wl_tensor *x = wl_input(g, "x", WL_F32, part->dims), *target = wl_input(g, "target", WL_F32, part->dims);
    x = part->build(g, x);
    wl_mean_square(g, "loss", x, target, (struct wl_loss) { 0 });
    if (shared)
        wl_scope_reuse(g, "again");
    else
        wl_scope_push(g, "again");
    x = part->build(g, x);
    wl_mean_square(g, "loss", x, target, (struct wl_loss) { .weight = 0.7 });
    wl_scope_pop(g);
    return g;
}

/* The parameter's name where it is shared. */
static const char *shared_name(const char *name)
{
    const size_t n = strlen("again.");
    return strncmp(name, "again.", n) ? name : name + n;
}

static void fill_params(struct wl_plan *p)
{
    struct wl_arena *a = wl_arena_new(NULL);
    for (size_t i = 0; i < wl_plan_state_count(p); i++) {
        const struct wl_state s = wl_plan_state(p, i);
        float *v = wl_new_array(a, float, s.count);
        for (size_t j = 0; j < s.count; j++)
            v[j] = (float)(0.4 * wl_random_normal(SEED, wl_hash_fnv1a(shared_name(s.name)), j));
        if (s.kind == WL_STATE_PARAM) assert_int_equal(wl_plan_state_write(p, i, v, NULL), 0);
    }
    wl_arena_free(a);
}

static struct wl_plan *plan_of(struct wl_arena *a, struct wl_graph *g, struct wl_plan_opts opts)
{
    struct wl_plan *p;
    struct wl_err e = { 0 };
    opts.seed = SEED;
    opts.slow_bf16 = true;
    if (wl_plan_new(&p, g, &opts, NULL, a, &e)) fail_msg("%s", e.msg);
    fill_params(p);
    return p;
}

/* All rows are there. */
static void fill(struct wl_plan *p, struct wl_graph *g, uint64_t seed)
{
    fill_inputs(p, g, seed, CLASSES);
    for (size_t i = 0; i < g->n_tensors; i++)
        for (int k = 0; k < WL_ROW_KINDS && !strcmp(g->tensors[i]->name, "counts"); k++)
            ((int32_t *)wl_plan_input(p, g->tensors[i]))[k] = CLASSES;
}

/* What all micro-batches of a step leave; those of part k are drawn from k. */
static struct wl_counts train(struct wl_plan *p, struct wl_graph *g, int micro_batches)
{
    struct wl_counts c = { 0 };
    struct wl_err e = { 0 };
    for (int k = 0; k < micro_batches; k++) {
        fill(p, g, (uint64_t)k);
        if (wl_plan_train(p, k == 0, k == micro_batches - 1, &c, &e)) fail_msg("%s", e.msg);
    }
    return c;
}

/* The masks of dropout are the operations' own in both, and of the same names. */
static struct floats gradient_of(struct wl_plan *p, const char *name, struct wl_arena *a)
{
    for (size_t i = 0; i < wl_plan_state_count(p); i++) {
        const struct wl_state s = wl_plan_state(p, i);
        if (s.kind != WL_STATE_PARAM || strcmp(s.name, name)) continue;
        struct floats f = { wl_new_array(a, float, s.count), s.count };
        assert_int_equal(wl_plan_gradient_read(p, i, f.v, NULL), 0);
        return f;
    }
    return (struct floats) { 0 };
}

/* Each gradient by a shared parameter is the sum of those by the two that it stands for. */
static void compare_gradients(struct wl_plan *shared, struct wl_plan *apart, double tolerance, const char *what)
{
    struct wl_arena *a = wl_arena_new(NULL);
    size_t params = 0;
    for (size_t i = 0; i < wl_plan_state_count(shared); i++) {
        const struct wl_state s = wl_plan_state(shared, i);
        if (s.kind != WL_STATE_PARAM) continue;
        assert_int_not_equal(strncmp(s.name, "again.", strlen("again.")), 0);
        struct floats sum = gradient_of(apart, s.name, a);
        const struct floats again = gradient_of(apart, wl_strf(a, "again.%s", s.name), a);
        assert_true(sum.n == s.count && again.n == s.count);
        for (size_t k = 0; k < s.count; k++) sum.v[k] += again.v[k];
        const double d = nmse(gradient_of(shared, s.name, a), sum);
        if (!(d <= tolerance)) fail_msg("%s: gradient by %s: NMSE %.3g > %.3g", what, s.name, d, tolerance);
        params++;
    }
    assert_true(params > 0);
    wl_arena_free(a);
}

static void check(const struct part *part, struct wl_plan_opts opts, double tolerance)
{
    struct wl_arena *a = wl_arena_new(NULL);
    const int micro_batches = opts.micro_batches ? opts.micro_batches : 1;
    struct wl_graph *g[2] = { network(a, part, true), network(a, part, false) };
    struct wl_plan *p[2];
    struct wl_counts c[2];
    for (int i = 0; i < 2; i++) {
        p[i] = plan_of(a, g[i], opts);
        train(p[i], g[i], micro_batches);
        c[i] = train(p[i], g[i], micro_batches); /* once more, over what the first has left */
    }
    const char *what = wl_strf(a, "%s, %s, %s, %d micro-batches%s", part->name, opts.backend,
                               wl_dtype_name(opts.precision), micro_batches, opts.keep_values ? ", values kept" : "");
    if (c[0].loss_sum != c[1].loss_sum || c[0].samples != c[1].samples)
        fail_msg("%s: loss %.9g, %.9g with parameters apart", what, c[0].loss_sum, c[1].loss_sum);
    compare_gradients(p[0], p[1], tolerance, what);
    const struct wl_plan_info one = wl_plan_info(p[0]), two = wl_plan_info(p[1]);
    assert_int_equal(2 * one.parameters, two.parameters);
    assert_true(one.train_flops == two.train_flops || (isnan(one.train_flops) && isnan(two.train_flops))); /* of rows */
    wl_arena_free(a);
}

static bool can(const char *backend, enum wl_dtype precision)
{
    return !wl_backend_precision(backend, precision, true, NULL);
}

static void test_gradient_is_the_sum_over_uses(void **state)
{
    (void)state;
    const char *const backends[] = { "ref", "cpu" };
    const enum wl_dtype precisions[] = { WL_F32, WL_BF16 };
    for (size_t i = 0; i < WL_COUNT(parts); i++)
        for (size_t b = 0; b < WL_COUNT(backends); b++)
            for (size_t k = 0; k < WL_COUNT(precisions); k++) {
                struct wl_plan_opts opts = { .backend = backends[b], .precision = precisions[k] };
                if (!can(opts.backend, opts.precision)) continue;
                check(&parts[i], opts, parts[i].tolerance);
                opts.keep_values = true;
                check(&parts[i], opts, parts[i].tolerance);
                opts.keep_values = false;
                opts.micro_batches = 3; /* whose sums are taken in another order */
                check(&parts[i], opts, 1e-12);
            }
}

static void test_gradients_equal_finite_differences(void **state)
{
    (void)state;
    for (size_t i = 0; i < WL_COUNT(parts); i++) {
        struct wl_arena *a = wl_arena_new(NULL);
        struct wl_graph *g = network(a, &parts[i], true);
        struct wl_plan *p = plan_of(a, g, (struct wl_plan_opts) { .backend = "ref" });
        fill(p, g, SEED);
        const struct slope s = slope_along_gradient(p, a);
        if (!(fabs(s.rise - s.length) <= 0.02 * s.length))
            fail_msg("%s: the loss rises by %.6g a length, the gradient is %.6g long", parts[i].name, s.rise, s.length);
        wl_arena_free(a);
    }
}

/* A step of the optimizer moves a shared parameter once, by its whole gradient. */
static void test_shared_parameter_moves_once(void **state)
{
    (void)state;
    struct wl_arena *a = wl_arena_new(NULL);
    struct wl_graph *g = network(a, &parts[1], true);
    struct wl_plan *p = plan_of(a, g, (struct wl_plan_opts) { 0 });
    struct floats before = all_states(p, WL_STATE_PARAM, a);
    train(p, g, 1);
    const struct floats gradient = all_gradients(p, a);
    assert_int_equal(wl_plan_update(p, 0.5, NULL), 0);
    for (size_t i = 0; i < before.n; i++) before.v[i] -= 0.5f * gradient.v[i];
    assert_true(nmse(all_states(p, WL_STATE_PARAM, a), before) < 1e-13);
    wl_arena_free(a);
}

/* oneDNN's weights have the dimensions of the input: one buffer cannot be both. */
static void test_inputs_of_other_dimensions_are_refused(void **state)
{
    (void)state;
    if (!can("cpu", WL_F32)) skip();
    struct wl_arena *a = wl_arena_new(NULL);
    struct wl_graph *g = wl_graph_new(a);
    struct wl_tensor *x = wl_input(g, "x", WL_F32, WL_DIMS(N, 12)),
                     *image = wl_input(g, "y", WL_F32, WL_DIMS(N, 3, 2, 2));
    wl_linear(g, "fc", x, 4);
    wl_scope_reuse(g, "again");
    wl_linear(g, "fc", image, 4);
    wl_scope_pop(g);
    struct wl_plan *p;
    struct wl_err e = { 0 };
    assert_int_equal(wl_plan_new(&p, g, &(struct wl_plan_opts) { .backend = "cpu", .eval_only = true }, NULL, a, &e),
                     WL_EINVAL);
    assert_string_equal(e.msg, "again.fc (linear): fc.weight is read as [4,3,2,2] here, but as [4,12] before");
    wl_arena_free(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gradient_is_the_sum_over_uses),
        cmocka_unit_test(test_gradients_equal_finite_differences),
        cmocka_unit_test(test_shared_parameter_moves_once),
        cmocka_unit_test(test_inputs_of_other_dimensions_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
