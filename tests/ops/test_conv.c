/* Algorithms of convolution: each is the reference's to rounding, and a choice between them, once made, gives the same
 * bits in every plan and on every rank that knows it. */
#include "backend_compare.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

enum { BATCH = 2, CLASSES = 5, SEED = 7 };

/* Of conv1 to conv3. */
static int64_t channels = 32;

/* Kernels that Winograd supports and others that it does not, with relus that are computed with them and one that is
 * not, since its input is read twice. */
static struct wl_graph *network(struct wl_arena *a)
{
    const struct wl_conv three = { .channels = channels, .kernel = { 3, 3 }, .pad = { 1, 1 }, .bias = true };
    struct wl_graph *g = wl_graph_new(a);
    struct wl_tensor *x = wl_input(g, "images", WL_F32, WL_DIMS(BATCH, 3, 14, 15));
    struct wl_tensor *labels = wl_input(g, "labels", WL_I32, WL_DIMS(BATCH));
    x = wl_relu(g, "relu1", wl_conv2d(g, "conv1", x, three));
    x = wl_relu(g, "relu2", wl_conv2d(g, "conv2", x, three));
    struct wl_tensor *y = wl_conv2d(g, "conv3", x, three);
    x = wl_add(g, "add", y, wl_relu(g, "relu3", y));
    x = wl_conv2d(g, "down", x, (struct wl_conv) { .channels = 48, .kernel = { 3, 3 }, .stride = { 2, 2 } });
    x = wl_relu(g, "relu4", wl_conv2d(g, "point", x, (struct wl_conv) { .channels = 32, .kernel = { 1, 1 } }));
    wl_cross_entropy(g, "loss", wl_linear(g, "head", x, CLASSES), labels, (struct wl_loss) { 0 });
    return g;
}

static struct wl_plan *plan_with(struct wl_arena *a, struct wl_plan_opts o, struct wl_comm *comm)
{
    struct wl_plan *p = NULL;
    struct wl_graph *g = network(a);
    struct wl_err e = { 0 };
    o.seed = SEED;
    if (wl_plan_new(&p, g, &o, comm, a, &e)) fail_msg("%s", e.msg);
    fill_inputs(p, g, SEED, CLASSES);
    return p;
}

static struct wl_plan *plan_of(struct wl_arena *a, const char *backend, enum wl_conv_algorithm conv,
                               struct wl_choices *choices, struct wl_comm *comm)
{
    return plan_with(a, (struct wl_plan_opts) { .backend = backend, .conv = conv, .choices = choices }, comm);
}

/* One micro-batch of a plan that runs by itself. */
static struct floats gradients_of(struct wl_plan *p, struct wl_arena *a)
{
    struct wl_counts c = { 0 };
    struct wl_err e = { 0 };
    if (wl_plan_train(p, true, false, &c, &e)) fail_msg("%s", e.msg);
    return all_gradients(p, a);
}

static struct floats gradients(struct wl_arena *a, const char *backend, enum wl_conv_algorithm conv,
                               struct wl_choices *choices)
{
    return gradients_of(plan_of(a, backend, conv, choices, NULL), a);
}

static bool equal(struct floats x, struct floats y) { return !memcmp(x.v, y.v, x.n * sizeof(float)); }

/* oneDNN has Winograd with AVX-512 alone. */
static bool has_winograd(struct wl_arena *a)
{
    if (wl_backend_precision("cpu", WL_F32, false, NULL)) return false;
    struct wl_plan *p = plan_of(a, "cpu", WL_CONV_WINOGRAD, NULL, NULL);
    for (size_t i = 0; i < wl_plan_step_count(p); i++)
        if (strstr(wl_plan_step(p, i, a).implementation, "wino")) return true;
    return false;
}

static struct wl_arena *arena;

static int set_up(void **state)
{
    (void)state;
    arena = wl_arena_new(NULL);
    channels = 32;
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    wl_arena_free(arena);
    return 0;
}

static void need_winograd(void)
{
    if (has_winograd(arena)) return;
    printf("SKIP: no Winograd convolutions here\n");
    skip();
}

static void test_winograd_equals_ref(void **state)
{
    (void)state;
    need_winograd();
    struct floats ref = gradients(arena, "ref", WL_CONV_DIRECT, NULL);
    struct floats direct = gradients(arena, "cpu", WL_CONV_DIRECT, NULL);
    struct floats winograd = gradients(arena, "cpu", WL_CONV_WINOGRAD, NULL);
    assert_true(nmse(direct, ref) < 1e-12);
    assert_true(nmse(winograd, ref) < 1e-10);
    assert_false(equal(winograd, direct));
    assert_true(equal(winograd, gradients(arena, "cpu", WL_CONV_WINOGRAD, NULL)));
}

static void answer_all(struct wl_choices *c, enum wl_conv_algorithm answer)
{
    for (size_t i = 0; i < c->n; i++) c->v[i].answer = wl_conv_algorithm_name(answer);
}

/* What is open is measured, once; what is known is done, whatever another measurement would say. */
static void test_choices_decide_the_kernel(void **state)
{
    (void)state;
    need_winograd();
    struct wl_choices *c = wl_choices_new(arena);
    struct floats measured = gradients(arena, "cpu", WL_CONV_AUTO, c);
    size_t n = c->added;
    assert_int_equal(n, 3); /* conv2 and conv3 are of one shape; the images of conv1 are not in a blocked layout */
    assert_true(equal(measured, gradients(arena, "cpu", WL_CONV_AUTO, c)));
    assert_int_equal(c->added, n);
    struct floats direct = gradients(arena, "cpu", WL_CONV_DIRECT, NULL);
    answer_all(c, WL_CONV_DIRECT);
    assert_true(equal(gradients(arena, "cpu", WL_CONV_AUTO, c), direct));
    answer_all(c, WL_CONV_WINOGRAD);
    struct floats winograd = gradients(arena, "cpu", WL_CONV_AUTO, c);
    assert_false(equal(winograd, direct));
    assert_true(nmse(winograd, direct) < 1e-10);

    /* An answer that does not name an algorithm is measured again. */
    c->v[0].answer = "guessed";
    plan_of(arena, "cpu", WL_CONV_AUTO, c, NULL);
    assert_int_equal(c->added, n + 1);
    assert_string_not_equal(c->v[0].answer, "guessed");
}

/* ---- bf16 ---- */

/* Gives parameters the nearest numbers towards 0 that bf16 has, so that kernels that read them in f32 read the same. */
static void cut_to_bf16(struct wl_plan *p)
{
    for (size_t i = 0; i < wl_plan_state_count(p); i++) {
        struct wl_state s = wl_plan_state(p, i);
        if (s.kind != WL_STATE_PARAM) continue;
        float *v = wl_new_array(arena, float, s.count);
        assert_int_equal(wl_plan_state_read(p, i, v, NULL), 0);
        for (size_t k = 0; k < s.count; k++) {
            uint32_t bits;
            memcpy(&bits, &v[k], sizeof bits);
            bits &= 0xffff0000;
            memcpy(&v[k], &bits, sizeof bits);
        }
        assert_int_equal(wl_plan_state_write(p, i, v, NULL), 0);
    }
}

static struct floats cut_gradients(struct wl_plan_opts o)
{
    struct wl_plan *p = plan_with(arena, o, NULL);
    cut_to_bf16(p);
    return gradients_of(p, arena);
}

static struct floats bf16_gradients(const char *backend, enum wl_conv_algorithm conv, struct wl_choices *choices,
                                    bool keep_values)
{
    return cut_gradients((struct wl_plan_opts) { .backend = backend,
                                                 .conv = conv,
                                                 .choices = choices,
                                                 .precision = WL_BF16,
                                                 .slow_bf16 = true,
                                                 .keep_values = keep_values });
}

/* Kernels named so that work on f32 buffers. */
static int f32_kernels(const struct wl_plan *p, const char *name)
{
    int n = 0;
    for (size_t i = 0; i < wl_plan_step_count(p); i++) {
        struct wl_plan_step s = wl_plan_step(p, i, arena);
        bool f32 = true;
        for (size_t k = 0; k < s.n_buffers; k++)
            f32 = f32 && (s.buffers[k].dims.n == 1 || s.buffers[k].dtype == WL_F32); /* scratch and bias aside */
        n += f32 && strstr(s.implementation, name);
    }
    return n;
}

static void need_bf16(void)
{
    need_winograd();
    if (wl_backend_precision("cpu", WL_BF16, true, NULL) == 0) return;
    printf("SKIP: no bf16 here\n");
    skip();
}

/* Of the passes of conv2 and conv3, which are of one shape, in the order of the questions. What is asked after them,
 * where there is a custom kernel by weights for other shapes, is answered otherwise. */
static void answer_passes(struct wl_choices *c, const char *const answers[3], const char *others)
{
    assert_true(c->n == 3 || c->n == 5);
    for (size_t i = 0; i < c->n; i++) c->v[i].answer = i < 3 ? answers[i] : others;
}

/* oneDNN's Winograd computes in f32 between bf16 values: it rounds where direct convolution does, not in between. The
 * copies live no longer than they are read. */
static void test_winograd_in_f32_between_bf16(void **state)
{
    (void)state;
    need_bf16();
    struct wl_choices *c = wl_choices_new(arena);
    bf16_gradients("cpu", WL_CONV_AUTO, c, false);
    answer_passes(c, (const char *const[]) { "winograd in f32", "winograd in f32", "winograd in f32" }, "direct");
    const double to_ref = 2.5e-5; /* half a percent */
    struct floats ref = bf16_gradients("ref", WL_CONV_DIRECT, NULL, false);
    struct floats direct = bf16_gradients("cpu", WL_CONV_DIRECT, NULL, false);
    struct floats winograd = bf16_gradients("cpu", WL_CONV_AUTO, c, false);
    assert_true(nmse(direct, ref) < to_ref);
    assert_true(nmse(winograd, ref) < to_ref);
    assert_false(equal(winograd, direct));
    assert_true(equal(winograd, bf16_gradients("cpu", WL_CONV_AUTO, c, true)));
    const struct wl_plan_opts o = {
        .backend = "cpu", .conv = WL_CONV_AUTO, .choices = c, .precision = WL_BF16, .slow_bf16 = true
    };
    assert_int_equal(f32_kernels(plan_with(arena, o, NULL), "wino"), 6); /* conv1 is not asked */
}

/* Steps by the kernel of this name. */
static int steps_by(const struct wl_plan *p, const char *implementation)
{
    int n = 0;
    for (size_t i = 0; i < wl_plan_step_count(p); i++)
        n += wl_str_eq(wl_plan_step(p, i, arena).implementation, implementation);
    return n;
}

/* --conv winograd takes the custom kernels wherever there are some; a pass may take one beside any of the others. They
 * round otherwise than direct convolution, as far from f32. */
static void test_custom_kernels_between_bf16(void **state)
{
    (void)state;
    need_bf16();
    const struct wl_plan_opts o = {
        .backend = "cpu", .conv = WL_CONV_WINOGRAD, .precision = WL_BF16, .slow_bf16 = true
    };
    const int of_few_channels = steps_by(plan_with(arena, o, NULL), "winograd_3x3_int16");
    channels = 48; /* for this test */
    const int custom = steps_by(plan_with(arena, o, NULL), "winograd_3x3_int16");
    if (!custom) {
        printf("SKIP: the processor has no AVX512_VNNI\n");
        skip();
    }
    assert_int_equal(custom, 4);          /* of conv2 and conv3 */
    assert_int_equal(of_few_channels, 2); /* backward by data alone */
    struct floats exact = cut_gradients((struct wl_plan_opts) { .backend = "ref" });
    const double direct = nmse(bf16_gradients("cpu", WL_CONV_DIRECT, NULL, false), exact);
    struct floats winograd = bf16_gradients("cpu", WL_CONV_WINOGRAD, NULL, false);
    if (!(nmse(winograd, exact) < 2 * direct)) fail_msg("%.3g from f32, direct %.3g", nmse(winograd, exact), direct);
    assert_true(equal(winograd, bf16_gradients("cpu", WL_CONV_WINOGRAD, NULL, true)));
    struct wl_plan_opts again = o;
    again.recompute = true;
    assert_true(equal(winograd, cut_gradients(again)));
    struct wl_choices *c = wl_choices_new(arena);
    bf16_gradients("cpu", WL_CONV_AUTO, c, false);
    const size_t n = c->added;
    static const char *const mixes[][3] = {
        { "winograd in int16", "direct", "direct" },
        { "direct", "winograd in int16", "winograd in f32" },
        { "winograd in int16", "winograd in f32", "winograd in f32" },
    };
    for (size_t i = 0; i < WL_COUNT(mixes); i++) {
        answer_passes(c, mixes[i], i % 2 ? "custom direct" : "direct");
        struct floats got = bf16_gradients("cpu", WL_CONV_AUTO, c, false);
        if (!(nmse(got, exact) < 2 * direct))
            fail_msg("mix %zu is %.3g from f32, direct %.3g", i, nmse(got, exact), direct);
    }
    assert_int_equal(c->added, n);
}

/* Each pass chooses for itself, so weights and gradients pass between kernels of both types. */
static void test_passes_choose_separately_in_bf16(void **state)
{
    (void)state;
    need_bf16();
    struct wl_choices *c = wl_choices_new(arena);
    struct floats measured = bf16_gradients("cpu", WL_CONV_AUTO, c, false);
    struct floats ref = bf16_gradients("ref", WL_CONV_DIRECT, NULL, false);
    const size_t n = c->added;
    assert_true(equal(measured, bf16_gradients("cpu", WL_CONV_AUTO, c, false)));
    for (unsigned mix = 0; mix < 8; mix++) {
        const char *answers[3];
        for (unsigned i = 0; i < 3; i++) answers[i] = mix >> i & 1 ? "winograd in f32" : "direct";
        answer_passes(c, answers, mix == 7 ? "custom direct" : "direct");
        struct floats got = bf16_gradients("cpu", WL_CONV_AUTO, c, false);
        if (!(nmse(got, ref) < 2.5e-5)) fail_msg("mix %u is %.3g from the reference", mix, nmse(got, ref));
        if (mix == 0) assert_true(equal(got, bf16_gradients("cpu", WL_CONV_DIRECT, NULL, false)));
    }
    assert_int_equal(c->added, n);

    /* An answer of the other precision is none. */
    c->v[0].answer = "winograd";
    bf16_gradients("cpu", WL_CONV_AUTO, c, false);
    assert_int_equal(c->added, n + 1);
}

static void test_auto_needs_a_table(void **state)
{
    (void)state;
    struct wl_plan *p = NULL;
    struct wl_err e = { 0 };
    assert_int_equal(wl_plan_new(&p, network(arena), &(struct wl_plan_opts) { .conv = WL_CONV_AUTO }, NULL, arena, &e),
                     WL_EINVAL);
    assert_non_null(strstr(e.msg, "table of choices"));
}

/* ---- two ranks, one after the other: what rank 0 sends is kept for rank 1 ---- */

static struct sent {
    void *bytes;
    size_t n;
} wire[16];
static size_t wire_written, wire_read;

static int broadcast(struct wl_comm *c, void *buf, size_t bytes, int root, struct wl_err *e)
{
    (void)root;
    (void)e;
    if (c->rank == 0) {
        assert_true(wire_written < WL_COUNT(wire));
        wire[wire_written] = (struct sent) { wl_alloc(arena, bytes), bytes };
        memcpy(wire[wire_written++].bytes, buf, bytes);
        return 0;
    }
    assert_true(wire_read < wire_written && wire[wire_read].n == bytes);
    memcpy(buf, wire[wire_read++].bytes, bytes);
    return 0;
}

static int nothing_failed(struct wl_comm *c, double *buf, size_t n, struct wl_err *e)
{
    (void)c;
    (void)buf;
    (void)n;
    (void)e;
    return 0;
}

static void test_ranks_use_the_same_choices(void **state)
{
    (void)state;
    need_winograd();
    const struct wl_comm_ops ops = { .broadcast = broadcast, .all_reduce_sum_f64 = nothing_failed };
    struct wl_choices *of[2];
    struct floats got[2];
    for (int rank = 0; rank < 2; rank++) {
        struct wl_comm comm = { .ops = &ops, .rank = rank, .size = 2, .arena = arena };
        of[rank] = wl_choices_new(arena);
        if (rank == 0) { /* choices that no measurement would make */
            plan_of(arena, "cpu", WL_CONV_AUTO, of[0], NULL);
            for (size_t i = 0; i < of[0]->n; i++)
                of[0]->v[i].answer = wl_conv_algorithm_name(i % 2 ? WL_CONV_DIRECT : WL_CONV_WINOGRAD);
        }
        got[rank] = gradients_of(plan_of(arena, "cpu", WL_CONV_AUTO, of[rank], &comm), arena);
    }
    assert_int_equal(wire_read, wire_written);
    assert_int_equal(of[1]->added, 0);
    assert_string_equal(of[1]->machine, of[0]->machine);
    assert_int_equal(of[1]->n, of[0]->n);
    assert_true(equal(got[0], got[1]));
    assert_false(equal(got[0], gradients(arena, "cpu", WL_CONV_DIRECT, NULL)));
    assert_false(equal(got[0], gradients(arena, "cpu", WL_CONV_WINOGRAD, NULL)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_winograd_equals_ref, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_choices_decide_the_kernel, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_winograd_in_f32_between_bf16, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_custom_kernels_between_bf16, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_passes_choose_separately_in_bf16, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_auto_needs_a_table, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_ranks_use_the_same_choices, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
