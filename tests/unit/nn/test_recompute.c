/* Recomputation: what a plan says of it, what it refuses, and the bits of its gradients under many limits. The
 * workloads' own networks are in tests/unit/models/test_recompute.c. */
#include "nn/plan/internal.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
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

enum { BATCH = 2, SIDE = 10, CLASSES = 4, BLOCKS = 9 };

/* Blocks with what can go wrong in them: relus and sums over what they read, dropout, concatenation, running
 * statistics, an auxiliary loss in the middle, a value that later blocks read; at last parameters once more. */
static struct wl_graph *network(void)
{
    struct wl_graph *g = wl_graph_new(a);
    struct wl_tensor *images = wl_input(g, "images", WL_F32, WL_DIMS(BATCH, 3, SIDE, SIDE)), *x = images;
    struct wl_tensor *labels = wl_input(g, "labels", WL_I32, WL_DIMS(BATCH)), *early = NULL;
    const struct wl_conv conv = { .channels = 16, .kernel = { 3, 3 }, .pad = { 1, 1 } };
    for (int i = 0; i < BLOCKS; i++) {
        wl_scope_push(g, "block%d", i);
        struct wl_tensor *y = wl_relu(g, "relu", wl_conv2d(g, "conv", x, conv));
        y = wl_batch_norm(g, "bn", wl_conv2d(g, "conv2", y, conv), (struct wl_batch_norm_opts) { 0 });
        x = i ? wl_add_relu(g, "add", x, y) : y;
        if (i == 1) early = x;
        if (i % 3 == 1) x = wl_dropout(g, "drop", x, 0.3);
        if (i % 4 == 2) x = wl_conv2d(g, "mix", wl_concat(g, "cat", (struct wl_tensor *[]) { x, early }, 2), conv);
        if (i == 4)
            wl_cross_entropy(g, "side_loss", wl_linear(g, "side", x, CLASSES), labels,
                             (struct wl_loss) { .weight = 0.4, .auxiliary = true });
        wl_scope_pop(g);
    }
    wl_scope_reuse(g, "second");
    for (int i = 1; i < 4; i++) {
        char name[16];
        snprintf(name, sizeof name, "block%d.conv", i);
        x = wl_conv2d(g, name, x, conv);
    }
    wl_scope_pop(g);
    x = wl_max_pool(g, "pool", x, (struct wl_pool) { .kernel = { 2, 2 }, .stride = { 2, 2 } });
    wl_cross_entropy(g, "loss", wl_linear(g, "fc", x, CLASSES), labels, (struct wl_loss) { 0 });
    return g;
}

static struct wl_plan *plan(struct wl_plan_opts o)
{
    struct wl_plan *p = NULL;
    struct wl_err e = { 0 };
    struct wl_graph *g = network();
    o.slow_bf16 = true;
    if (wl_plan_new(&p, g, &o, NULL, a, &e)) {
        if (e.code == WL_EUNAVAIL) skip();
        fail_msg("%s", e.msg);
    }
    if (o.dry) return p;
    float *x = wl_plan_input(p, g->tensors[0]);
    int32_t *labels = wl_plan_input(p, g->tensors[1]);
    for (uint64_t i = 0; i < BATCH * 3 * SIDE * SIDE; i++) x[i] = (float)wl_random_normal(5, 5, i);
    for (int32_t i = 0; i < BATCH; i++) labels[i] = i;
    return p;
}

static void expect_error(struct wl_plan_opts o, int code, const char *says)
{
    struct wl_plan *p;
    struct wl_err e = { 0 };
    assert_int_equal(wl_plan_new(&p, network(), &o, NULL, a, &e), code);
    if (!strstr(e.msg, says)) fail_msg("'%s' does not say '%s'", e.msg, says);
}

static void test_impossible_limits_are_refused(void **state)
{
    (void)state;
    expect_error((struct wl_plan_opts) { .recompute = true, .eval_only = true }, WL_EINVAL,
                 "which this plan does not have");
    expect_error((struct wl_plan_opts) { .memory_bytes = 1 << 30, .keep_values = true }, WL_EINVAL,
                 "exclude each other");
    expect_error((struct wl_plan_opts) { .memory_bytes = 1000 }, WL_ENOMEM,
                 "the plan may take 1.00 kB at most: it takes ");
    expect_error((struct wl_plan_opts) { .memory_bytes = 1000, .recompute = true }, WL_ENOMEM,
                 "a smaller local batch takes");
}

/* Steps, segments and totals say the same. */
static void test_steps_segments_and_totals_agree(void **state)
{
    (void)state;
    const struct wl_plan_info keeps = wl_plan_info(plan((struct wl_plan_opts) { .dry = true }));
    struct wl_plan *p = plan((struct wl_plan_opts) { .dry = true, .recompute = true });
    const struct wl_plan_info f = wl_plan_info(p);
    assert_true(keeps.segments == 0 && keeps.recompute_flops == 0 && keeps.keeping_bytes == keeps.total_bytes);
    assert_true(f.segments > 1 && f.keeping_bytes == keeps.total_bytes && f.train_flops == keeps.train_flops);
    assert_int_equal(f.total_bytes, f.keeping_bytes - keeps.value_bytes + f.value_bytes);
    assert_true(f.value_bytes < keeps.value_bytes * 2 / 3);
    assert_true(f.recompute_flops > 0 && f.recompute_flops <= f.forward_flops);
    double train = 0, recomputed = 0, of_segments = 0;
    size_t recomputed_steps = 0, steps_of_segments = 0;
    for (size_t i = 0; i < wl_plan_step_count(p); i++) {
        const struct wl_plan_step s = wl_plan_step(p, i, a);
        if (s.training) train += s.flops;
        if (!s.recompute) continue;
        assert_true(s.training && !s.evaluation);
        assert_string_not_equal(s.operation, "cross_entropy");
        assert_string_not_equal(s.pass, "moments");
        recomputed += s.flops;
        recomputed_steps++;
    }
    for (int i = 0; i < f.segments; i++) {
        const struct wl_plan_segment s = wl_plan_segment(p, (size_t)i);
        assert_true(s.first && s.last && s.bytes > 0);
        of_segments += s.flops;
        steps_of_segments += s.steps;
    }
    assert_int_equal(recomputed_steps, steps_of_segments);
    assert_int_equal(f.steps, keeps.steps + (int)recomputed_steps);
    assert_true(fabs(recomputed - f.recompute_flops) < 1 && fabs(of_segments - f.recompute_flops) < 1);
    assert_true(fabs(train - f.train_flops - f.recompute_flops) < 1);
}

/* What fits is kept. */
static void test_enough_memory_recomputes_nothing(void **state)
{
    (void)state;
    const size_t bytes = wl_plan_info(plan((struct wl_plan_opts) { .dry = true })).total_bytes;
    const struct wl_plan_info f = wl_plan_info(plan((struct wl_plan_opts) { .dry = true, .memory_bytes = bytes }));
    assert_true(f.segments == 0 && f.total_bytes == bytes);
}

/* The gradients of two micro-batches, and what was counted. */
static float *gradients(struct wl_plan *p, size_t *n, struct wl_counts *c)
{
    float *to = wl_new_array(a, float, (size_t)wl_plan_info(p).parameters);
    struct wl_err e = { 0 };
    *c = (struct wl_counts) { 0 };
    for (int m = 0; m < 2; m++)
        if (wl_plan_train(p, m == 0, m == 1, c, &e)) fail_msg("%s", e.msg);
    *n = 0;
    for (size_t i = 0; i < wl_plan_state_count(p); i++) {
        if (wl_plan_state(p, i).kind != WL_STATE_PARAM) continue;
        assert_int_equal(wl_plan_gradient_read(p, i, to + *n, NULL), 0);
        *n += wl_plan_state(p, i).count;
    }
    return to;
}

/* Every limit is another choice of segments, with more work the lower it is. */
static void check_limits(struct wl_plan_opts o)
{
    enum { LIMITS = 12 };
    o.micro_batches = 2;
    struct wl_plan *keeps = plan(o);
    struct wl_counts want_counts, counts;
    size_t n, got_n, levels = 0;
    const float *want = gradients(keeps, &n, &want_counts);
    o.recompute = true;
    const size_t min_bytes = wl_plan_info(plan(o)).total_bytes, max_bytes = wl_plan_info(keeps).total_bytes;
    o.recompute = false;
    double work = INFINITY;
    for (size_t i = 0; i <= LIMITS; i++) {
        o.memory_bytes = min_bytes + (max_bytes - min_bytes) * i / LIMITS;
        struct wl_plan *p = plan(o);
        const struct wl_plan_info f = wl_plan_info(p);
        assert_true(f.total_bytes <= o.memory_bytes);
        levels += f.recompute_flops < work;
        work = f.recompute_flops;
        const float *got = gradients(p, &got_n, &counts);
        assert_int_equal(got_n, n);
        assert_memory_equal(got, want, n * sizeof *got);
        assert_memory_equal(&counts, &want_counts, sizeof counts);
    }
    assert_true(work == 0 && levels > 3);
}

static void test_limits_keep_the_bits_f32(void **state)
{
    (void)state;
    check_limits((struct wl_plan_opts) { .threads = 1 });
}

static void test_limits_keep_the_bits_bf16(void **state)
{
    (void)state;
    check_limits((struct wl_plan_opts) { .threads = 1, .precision = WL_BF16 });
}

static void test_limits_keep_the_bits_ref(void **state)
{
    (void)state;
    check_limits((struct wl_plan_opts) { .backend = "ref" });
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_impossible_limits_are_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_steps_segments_and_totals_agree, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_enough_memory_recomputes_nothing, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_limits_keep_the_bits_f32, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_limits_keep_the_bits_bf16, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_limits_keep_the_bits_ref, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
