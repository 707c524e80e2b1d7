/* A small residual network, with everything that single operations do not show: buffers that share memory, values
 * overwritten in place, gradients of several readers, micro-batches, buckets, optimizer steps. */
#include "backend_compare.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

enum { BATCH = 4, CLASSES = 7, SEED = 3 };

static struct wl_tensor *block(struct wl_graph *g, struct wl_tensor *x, int64_t channels, int64_t stride)
{
    struct wl_tensor *y = wl_conv2d(g, "conv1", x, (struct wl_conv) { .channels = channels, .kernel = { 1, 1 } });
    y = wl_batch_norm(g, "bn1", y, (struct wl_batch_norm_opts) { .relu = true });
    y = wl_conv2d(g, "conv2", y,
                  (struct wl_conv) {
                      .channels = channels, .kernel = { 3, 3 }, .stride = { stride, stride }, .pad = { 1, 1 } });
    y = wl_batch_norm(g, "bn2", y, (struct wl_batch_norm_opts) { 0 });
    if (stride == 1 && wl_tensor_dims(x)->d[1] == channels) return wl_add_relu(g, "add", y, x);
    x = wl_conv2d(g, "down", x,
                  (struct wl_conv) { .channels = channels, .kernel = { 1, 1 }, .stride = { stride, stride } });
    return wl_add_relu(g, "add", y, wl_batch_norm(g, "down_bn", x, (struct wl_batch_norm_opts) { 0 }));
}

/* 3 -> 20 channels, which fill no block of 16, then 36; a relu and a plain add on their own; two heads. */
static struct wl_graph *network(struct wl_arena *a, int64_t batch)
{
    struct wl_graph *g = wl_graph_new(a);
    struct wl_tensor *images = wl_input(g, "images", WL_F32, WL_DIMS(batch, 3, 17, 15));
    struct wl_tensor *labels = wl_input(g, "labels", WL_I32, WL_DIMS(batch));
    struct wl_conv stem = { .channels = 20, .kernel = { 5, 5 }, .stride = { 2, 2 }, .pad = { 2, 2 }, .bias = true };
    struct wl_tensor *x = wl_relu(g, "relu", wl_conv2d(g, "stem", images, stem));
    x = wl_max_pool(g, "pool", x, (struct wl_pool) { .kernel = { 3, 3 }, .stride = { 1, 1 }, .pad = { 1, 1 } });
    for (int i = 0; i < 3; i++) {
        wl_scope_push(g, "layer%d", i);
        x = block(g, x, i < 2 ? 20 : 36, i < 2 ? 1 : 2);
        wl_scope_pop(g);
    }
    struct wl_tensor *side = wl_linear(g, "side", x, CLASSES);
    x = wl_add(g, "twice", x, x);
    x = wl_linear(g, "head", wl_avg_pool(g, "mean", x, (struct wl_pool) { 0 }), CLASSES);
    wl_cross_entropy(g, "loss", x, labels, (struct wl_loss) { 0 });
    wl_cross_entropy(g, "side_loss", side, labels, (struct wl_loss) { .weight = 0.4, .auxiliary = true });
    return g;
}

/* One layer of each kind. */
static struct wl_graph *shallow(struct wl_arena *a, int64_t batch)
{
    struct wl_graph *g = wl_graph_new(a);
    struct wl_tensor *images = wl_input(g, "images", WL_F32, WL_DIMS(batch, 3, 17, 15));
    struct wl_tensor *labels = wl_input(g, "labels", WL_I32, WL_DIMS(batch));
    struct wl_conv conv = { .channels = 20, .kernel = { 3, 3 }, .pad = { 1, 1 } };
    struct wl_tensor *x = wl_conv2d(g, "conv", images, conv);
    x = wl_batch_norm(g, "bn", x, (struct wl_batch_norm_opts) { .relu = true });
    x = wl_avg_pool(g, "mean", x, (struct wl_pool) { .kernel = { 4, 4 }, .stride = { 4, 4 } });
    wl_cross_entropy(g, "loss", wl_linear(g, "head", x, CLASSES), labels, (struct wl_loss) { 0 });
    return g;
}

struct net {
    struct wl_graph *graph;
    struct wl_plan *plan;
    struct wl_counts counts;
};

static struct net net_of(struct wl_arena *a, struct wl_graph *g, const char *backend, enum wl_dtype precision,
                         int micro_batches)
{
    struct net n = { .graph = g };
    struct wl_plan_opts o = { .backend = backend,
                              .seed = SEED,
                              .precision = precision,
                              .slow_bf16 = true,
                              .micro_batches = micro_batches,
                              .bucket_bytes = 8 << 10,
                              .optim = { .momentum = 0.9, .weight_decay = 1e-3 } };
    struct wl_err e = { 0 };
    if (wl_plan_new(&n.plan, n.graph, &o, NULL, a, &e)) fail_msg("%s", e.msg);
    fill_inputs(n.plan, n.graph, SEED, CLASSES);
    return n;
}

static struct net net_new_of(struct wl_arena *a, const char *backend, enum wl_dtype precision, int64_t batch,
                             int micro_batches)
{
    return net_of(a, network(a, batch), backend, precision, micro_batches);
}

static struct net net_new(struct wl_arena *a, const char *backend, int64_t batch, int micro_batches)
{
    return net_new_of(a, backend, WL_F32, batch, micro_batches);
}

static void train(struct net *n, bool first, bool last)
{
    struct wl_err e = { 0 };
    if (wl_plan_train(n->plan, first, last, &n->counts, &e)) fail_msg("%s", e.msg);
}

static void close_to(const char *what, struct floats got, struct floats want, double tolerance)
{
    double d = nmse(got, want);
    if (!(d <= tolerance)) fail_msg("%s: NMSE %.3g > %.3g", what, d, tolerance);
}

static bool has_cpu(void) { return !wl_backend_precision("cpu", WL_F32, false, NULL); }

static bool has_bf16(void) { return !wl_backend_precision("cpu", WL_BF16, true, NULL); }

/* Parameters start alike, then losses, gradients and, after three steps, parameters agree. */
static void test_cpu_equals_ref(void **state)
{
    (void)state;
    if (!has_cpu()) skip();
    struct wl_arena *a = wl_arena_new(NULL);
    struct net cpu = net_new(a, "cpu", BATCH, 1), ref = net_new(a, "ref", BATCH, 1);
    assert_true(nmse(all_states(cpu.plan, WL_STATE_PARAM, a), all_states(ref.plan, WL_STATE_PARAM, a)) == 0);
    train(&cpu, true, true);
    train(&ref, true, true);
    assert_true(fabs(cpu.counts.loss_sum - ref.counts.loss_sum) < 1e-5 * ref.counts.loss_sum);
    assert_int_equal(cpu.counts.samples, BATCH);
    close_to("gradients", all_gradients(cpu.plan, a), all_gradients(ref.plan, a), 1e-10);
    for (int i = 0; i < 3; i++) {
        if (i > 0) train(&cpu, true, true);
        if (i > 0) train(&ref, true, true);
        assert_int_equal(wl_plan_update(cpu.plan, 0.05, NULL), 0);
        assert_int_equal(wl_plan_update(ref.plan, 0.05, NULL), 0);
    }
    close_to("parameters", all_states(cpu.plan, WL_STATE_PARAM, a), all_states(ref.plan, WL_STATE_PARAM, a), 1e-9);
    close_to("momentum", all_states(cpu.plan, WL_STATE_OPTIM, a), all_states(ref.plan, WL_STATE_OPTIM, a), 1e-7);
    close_to("statistics", all_states(cpu.plan, WL_STATE_STATISTIC, a), all_states(ref.plan, WL_STATE_STATISTIC, a),
             1e-9);
    struct wl_counts c = { 0 }, r = { 0 };
    assert_int_equal(wl_plan_eval(cpu.plan, &c, NULL), 0);
    assert_int_equal(wl_plan_eval(ref.plan, &r, NULL), 0);
    assert_true(fabs(c.loss_sum - r.loss_sum) < 1e-4 * r.loss_sum);
    wl_arena_free(a);
}

static void half_inputs(struct net *half, struct net *whole, int part)
{
    for (size_t i = 0; i < half->graph->n_tensors; i++) {
        const struct wl_tensor *t = half->graph->tensors[i];
        if (t->role != WL_ROLE_INPUT) continue;
        size_t bytes = (size_t)wl_dims_count(&t->dims) * wl_dtype_bytes(t->dtype);
        memcpy(wl_plan_input(half->plan, t),
               (char *)wl_plan_input(whole->plan, whole->graph->tensors[i]) + part * bytes, bytes);
    }
}

static void test_micro_batches(const char *backend, enum wl_dtype precision)
{
    struct wl_arena *a = wl_arena_new(NULL);
    struct net source = net_new(a, backend, 2 * BATCH, 1), both = net_new_of(a, backend, precision, BATCH, 2);
    struct net one = net_new_of(a, backend, precision, BATCH, 1);
    struct floats sum = { 0 };
    for (int part = 0; part < 2; part++) {
        half_inputs(&one, &source, part);
        half_inputs(&both, &source, part);
        train(&one, true, true);
        train(&both, part == 0, part == 1);
        struct floats g = all_gradients(one.plan, a);
        for (size_t i = 0; part && i < g.n; i++) g.v[i] += sum.v[i];
        sum = g;
    }
    close_to("sum of the micro-batches' gradients", all_gradients(both.plan, a), sum, 1e-14);
    assert_true(both.counts.loss_sum == one.counts.loss_sum);
    assert_int_equal(both.counts.samples, 2 * BATCH);

    /* The update works with their mean. */
    struct floats before = all_states(both.plan, WL_STATE_PARAM, a);
    assert_int_equal(wl_plan_update(both.plan, 1, NULL), 0);
    struct floats after = all_states(both.plan, WL_STATE_PARAM, a);
    for (size_t i = 0; i < sum.n; i++) before.v[i] -= 0.5f * sum.v[i] + 1e-3f * before.v[i];
    close_to("parameters after the step", after, before, 1e-12);
    wl_arena_free(a);
}

static void test_micro_batches_equal_one_batch_cpu(void **state)
{
    (void)state;
    if (!has_cpu()) skip();
    test_micro_batches("cpu", WL_F32);
}

static void test_micro_batches_equal_one_batch_bf16(void **state)
{
    (void)state;
    if (!has_bf16()) skip();
    test_micro_batches("cpu", WL_BF16);
}

static void test_micro_batches_equal_one_batch_ref(void **state)
{
    (void)state;
    test_micro_batches("ref", WL_F32);
}

/* The loss of a batch that is shown again and again falls to nearly nothing, in training and in evaluation. */
static void learns(enum wl_dtype precision)
{
    struct wl_arena *a = wl_arena_new(NULL);
    struct net n = net_new_of(a, "cpu", precision, 8, 1);
    for (int i = 0; i < 80; i++) {
        train(&n, true, true);
        assert_int_equal(wl_plan_update(n.plan, 0.02, NULL), 0);
    }
    struct wl_counts c = { 0 };
    assert_int_equal(wl_plan_eval(n.plan, &c, NULL), 0);
    assert_int_equal(c.samples, 8);
    assert_int_equal(c.top1, 8);
    assert_true(c.loss_sum / 8 < 0.2);
    wl_arena_free(a);
}

static void test_network_learns(void **state)
{
    (void)state;
    if (!has_cpu()) skip();
    learns(WL_F32);
}

static void test_network_learns_in_bf16(void **state)
{
    (void)state;
    if (!has_bf16()) skip();
    learns(WL_BF16);
}

/* Logits that fall from class to class, so that label k comes k-th: of labels 0 to 9, one is first and five are among
 * the first five. A row without a label counts nowhere. */
static void count_ranks(const char *backend, enum wl_dtype precision)
{
    enum { ROWS = 11, KINDS = 12 };
    struct wl_arena *a = wl_arena_new(NULL);
    struct wl_graph *g = wl_graph_new(a);
    struct wl_tensor *x = wl_input(g, "x", WL_F32, WL_DIMS(ROWS, KINDS));
    struct wl_tensor *labels = wl_input(g, "labels", WL_I32, WL_DIMS(ROWS));
    struct wl_plan_opts opts = { .backend = backend, .precision = precision, .eval_only = true, .slow_bf16 = true };
    struct wl_plan *p;
    struct wl_counts c = { 0 };
    struct wl_err e = { 0 };
    wl_cross_entropy(g, "loss", x, labels, (struct wl_loss) { .weight = 1 });
    if (wl_plan_new(&p, g, &opts, NULL, a, &e)) fail_msg("%s", e.msg);
    for (int i = 0; i < ROWS; i++) {
        ((int32_t *)wl_plan_input(p, labels))[i] = i == ROWS - 1 ? -1 : i;
        for (int k = 0; k < KINDS; k++) ((float *)wl_plan_input(p, x))[i * KINDS + k] = (float)(KINDS - k);
    }
    if (wl_plan_eval(p, &c, &e)) fail_msg("%s", e.msg);
    assert_true(c.samples == 10 && c.top1 == 1 && c.top5 == 5);
    wl_arena_free(a);
}

static void test_counts_follow_the_ranks_of_labels(void **state)
{
    (void)state;
    count_ranks("ref", WL_F32);
    if (has_cpu()) count_ranks("cpu", WL_F32);
    if (has_bf16()) count_ranks("cpu", WL_BF16);
}

/* Relative distance of vectors. */
static double apart(struct floats x, struct floats y) { return sqrt(nmse(x, y)); }

/* In bf16 the parameters start with the same bits as in f32 and the loss is near. The back-ends round at the same
 * places, so what is left between them are sums that fall to either side. Between bf16 and f32 the signs of values
 * near 0 differ, so gradients go other ways through relu and maxima: the more, the more layers they pass. */
static void compare_bf16(struct wl_arena *a, struct wl_graph *g, double to_f32, double to_ref)
{
    struct net exact = net_of(a, g, "cpu", WL_F32, 1), cpu = net_of(a, g, "cpu", WL_BF16, 1);
    struct net ref = net_of(a, g, "ref", WL_BF16, 1);
    struct floats start = all_states(exact.plan, WL_STATE_PARAM, a);
    assert_memory_equal(start.v, all_states(cpu.plan, WL_STATE_PARAM, a).v, start.n * sizeof(float));
    train(&exact, true, true);
    train(&cpu, true, true);
    train(&ref, true, true);
    assert_true(cpu.counts.loss_sum != exact.counts.loss_sum);
    assert_true(fabs(cpu.counts.loss_sum - exact.counts.loss_sum) < 1e-2 * exact.counts.loss_sum);
    assert_true(fabs(cpu.counts.loss_sum - ref.counts.loss_sum) < 5e-3 * exact.counts.loss_sum);
    struct floats got = all_gradients(cpu.plan, a);
    double from_f32 = apart(got, all_gradients(exact.plan, a)), from_ref = apart(got, all_gradients(ref.plan, a));
    if (!(from_f32 < to_f32 && from_ref < to_ref))
        fail_msg("gradients are %.3g from f32, %.3g from the reference in bf16", from_f32, from_ref);
    struct wl_counts c = { 0 }, d = { 0 };
    assert_int_equal(wl_plan_eval(cpu.plan, &c, NULL), 0);
    assert_int_equal(wl_plan_eval(ref.plan, &d, NULL), 0);
    assert_true(fabs(c.loss_sum - d.loss_sum) < 5e-3 * d.loss_sum);
}

static void test_bf16_is_near_f32(void **state)
{
    (void)state;
    if (!has_bf16()) skip();
    struct wl_arena *a = wl_arena_new(NULL);
    compare_bf16(a, shallow(a, 32), 1.5e-2, 5e-3);
    compare_bf16(a, network(a, BATCH), 0.25, 3e-2);
    wl_arena_free(a);
}

/* A step forgets the one before: the same inputs give the same bits, whatever was in the shared memory. */
static void test_repeated_steps_give_the_same_bits(void **state)
{
    (void)state;
    if (!has_cpu()) skip();
    struct wl_arena *a = wl_arena_new(NULL);
    struct net n = net_new(a, "cpu", BATCH, 1);
    train(&n, true, true);
    struct floats once = all_gradients(n.plan, a);
    assert_int_equal(wl_plan_eval(n.plan, &n.counts, NULL), 0);
    fill_inputs(n.plan, n.graph, SEED + 1, CLASSES);
    train(&n, true, true);
    fill_inputs(n.plan, n.graph, SEED, CLASSES);
    train(&n, true, true);
    assert_memory_equal(once.v, all_gradients(n.plan, a).v, once.n * sizeof(float));
    wl_arena_free(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_counts_follow_the_ranks_of_labels),
        cmocka_unit_test(test_cpu_equals_ref),
        cmocka_unit_test(test_micro_batches_equal_one_batch_cpu),
        cmocka_unit_test(test_micro_batches_equal_one_batch_ref),
        cmocka_unit_test(test_network_learns),
        cmocka_unit_test(test_repeated_steps_give_the_same_bits),
        cmocka_unit_test(test_bf16_is_near_f32),
        cmocka_unit_test(test_network_learns_in_bf16),
        cmocka_unit_test(test_micro_batches_equal_one_batch_bf16),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
