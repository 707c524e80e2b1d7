/* Dropout draws its masks by position: the right share, no two alike, and the same ones for any number of threads,
 * micro-batches and steps before a resume. Ranks: tests/unit/models/test_parallel.c. */
#include "backend_compare.h"

#include "nn/ref/ref.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

enum { FEATURES = 3 * 1000, SEED = 4 };

struct net {
    struct wl_plan *plan;
    struct wl_tensor *y[2];
    struct wl_arena *a;
};

/* Two masks over ones, x [N,3,10,100], and a loss that trains nothing. */
static struct net net_new(struct wl_arena *a, struct wl_plan_opts opts, int64_t batch, double p)
{
    struct net n = { .a = a };
    struct wl_graph *g = wl_graph_new(a);
    struct wl_tensor *x = wl_input(g, "x", WL_F32, WL_DIMS(batch, 3, 10, 100));
    wl_want_gradient(g, x);
    struct wl_tensor *target = wl_input(g, "target", WL_F32, WL_DIMS(batch, 3, 10, 100));
    n.y[0] = wl_dropout(g, "one", x, p);
    n.y[1] = wl_dropout(g, "two", x, p);
    wl_mean_square(g, "loss", wl_add(g, "sum", n.y[0], n.y[1]), target, (struct wl_loss) { 0 });
    opts.keep_values = true;
    if (!opts.seed) opts.seed = SEED;
    struct wl_err e = { 0 };
    if (wl_plan_new(&n.plan, g, &opts, NULL, a, &e)) fail_msg("%s", e.msg);
    float *ones = wl_plan_input(n.plan, x);
    for (int64_t i = 0; i < batch * FEATURES; i++) ones[i] = 1;
    return n;
}

static struct floats mask(const struct net *n, int which)
{
    struct floats f = { .n = (size_t)wl_dims_count(wl_tensor_dims(n->y[which])) };
    f.v = wl_new_array(n->a, float, f.n);
    assert_int_equal(wl_plan_value(n->plan, n->y[which], f.v, NULL), 0);
    return f;
}

static void train(struct net *n, bool first, bool last)
{
    struct wl_counts c = { 0 };
    struct wl_err e = { 0 };
    if (wl_plan_train(n->plan, first, last, &c, &e)) fail_msg("%s", e.msg);
}

static struct floats trained(struct net *n)
{
    train(n, true, true);
    return mask(n, 0);
}

static void assert_same(struct floats x, struct floats y)
{
    assert_int_equal(x.n, y.n);
    assert_memory_equal(x.v, y.v, x.n * sizeof *x.v);
}

/* Elements in which two masks of kept share q agree are binomial with q^2 + (1 - q)^2; so is each one's kept share. */
static void assert_share(double share, double want, double n)
{
    double deviation = sqrt(want * (1 - want) / n);
    if (!(fabs(share - want) <= 5 * deviation)) fail_msg("share %.5f, want %.5f +- %.5f", share, want, deviation);
}

static void assert_independent(const float *x, const float *y, size_t n, double q)
{
    size_t same = 0;
    for (size_t i = 0; i < n; i++) same += (x[i] > 0) == (y[i] > 0);
    assert_share((double)same / (double)n, q * q + (1 - q) * (1 - q), (double)n);
}

static void test_dropped_share_is_the_probability(void **state)
{
    struct wl_arena *a = wl_arena_new(NULL);
    const double drops[] = { 0, 0.1, 0.5, 0.9 };
    for (size_t k = 0; k < WL_COUNT(drops); k++) {
        struct net n = net_new(a, (struct wl_plan_opts) { .backend = *state }, 20, drops[k]);
        struct floats y = trained(&n);
        size_t kept = 0;
        double q = 1 - (double)lround(drops[k] * WL_DROP_STEPS) / WL_DROP_STEPS;
        for (size_t i = 0; i < y.n; i++) {
            if (y.v[i] == 0) continue;
            kept++;
            assert_true(fabs((double)y.v[i] * q - 1) < 1e-6);
        }
        assert_share((double)kept / (double)y.n, q, (double)y.n);
    }
    wl_arena_free(a);
}

/* Other operations, samples, steps, seeds and neighbouring elements have masks of their own. */
static void test_masks_are_independent(void **state)
{
    struct wl_arena *a = wl_arena_new(NULL);
    struct net n = net_new(a, (struct wl_plan_opts) { .backend = *state }, 20, 0.5);
    struct net other = net_new(a, (struct wl_plan_opts) { .backend = *state, .seed = SEED + 1 }, 20, 0.5);
    struct floats one = trained(&n), two = mask(&n, 1);
    assert_independent(one.v, two.v, one.n, 0.5);
    assert_independent(one.v, one.v + FEATURES, one.n - FEATURES, 0.5);
    for (size_t by = 1; by <= 2 * WL_DROP_GROUP; by *= 2) assert_independent(one.v, one.v + by, one.n - by, 0.5);
    assert_independent(one.v, trained(&other).v, one.n, 0.5);
    assert_int_equal(wl_plan_update(n.plan, 0, NULL), 0);
    assert_independent(one.v, trained(&n).v, one.n, 0.5);
    wl_arena_free(a);
}

static void test_masks_are_the_same_for_threads_and_backends(void **state)
{
    (void)state;
    struct wl_arena *a = wl_arena_new(NULL);
    struct net one = net_new(a, (struct wl_plan_opts) { .threads = 1 }, 6, 0.3);
    struct net three = net_new(a, (struct wl_plan_opts) { .threads = 3 }, 6, 0.3);
    struct net ref = net_new(a, (struct wl_plan_opts) { .backend = "ref" }, 6, 0.3);
    struct floats y = trained(&one);
    assert_same(trained(&three), y);
    assert_same(trained(&ref), y);
    wl_arena_free(a);
}

/* Micro-batches of 2 draw the rows that one batch of 6 draws. */
static void test_micro_batches_draw_the_masks_of_one_batch(void **state)
{
    struct wl_arena *a = wl_arena_new(NULL);
    struct net whole = net_new(a, (struct wl_plan_opts) { .backend = *state }, 6, 0.5);
    struct net parts = net_new(a, (struct wl_plan_opts) { .backend = *state, .micro_batches = 3 }, 2, 0.5);
    struct floats all = trained(&whole);
    for (int m = 0; m < 3; m++) {
        train(&parts, m == 0, m == 2);
        assert_same(mask(&parts, 0), (struct floats) { all.v + m * 2 * FEATURES, 2 * FEATURES });
    }
    wl_arena_free(a);
}

static void test_masks_resume(void **state)
{
    struct wl_arena *a = wl_arena_new(NULL);
    struct net went = net_new(a, (struct wl_plan_opts) { .backend = *state }, 2, 0.5);
    struct net resumed = net_new(a, (struct wl_plan_opts) { .backend = *state }, 2, 0.5);
    for (int i = 0; i < 3; i++) {
        train(&went, true, true);
        assert_int_equal(wl_plan_update(went.plan, 0, NULL), 0);
    }
    wl_plan_set_updates(resumed.plan, 3);
    assert_same(trained(&resumed), trained(&went));
    wl_arena_free(a);
}

static void test_evaluation_drops_nothing(void **state)
{
    struct wl_arena *a = wl_arena_new(NULL);
    struct wl_counts c = { 0 };
    for (int eval_only = 0; eval_only < 2; eval_only++) {
        struct net n = net_new(a, (struct wl_plan_opts) { .backend = *state, .eval_only = eval_only }, 2, 0.5);
        assert_int_equal(wl_plan_eval(n.plan, &c, NULL), 0);
        struct floats y = mask(&n, 0);
        for (size_t i = 0; i < y.n; i++) assert_true(y.v[i] == 1);
    }
    wl_arena_free(a);
}

/* ---- attention ---- */

enum { ROWS = 24, HEADS = 2, WIDTH = 16 };

/* Rows of queries, keys and values, x [N,S,3*H*F], the same for each sample, through attention that drops half of its
 * probabilities and a layer norm that drops half of what it adds: what samples differ by is their masks. */
static struct net attention_new(struct wl_arena *a, struct wl_plan_opts opts, int64_t batch)
{
    struct net n = { .a = a };
    struct wl_graph *g = wl_graph_new(a);
    struct wl_tensor *x = wl_input(g, "x", WL_F32, WL_DIMS(batch, ROWS, 3 * HEADS * WIDTH));
    struct wl_tensor *from = wl_input(g, "from", WL_F32, WL_DIMS(batch, ROWS, HEADS * WIDTH));
    struct wl_tensor *lengths = wl_input(g, "lengths", WL_I32, WL_DIMS(batch));
    struct wl_tensor *target = wl_input(g, "target", WL_F32, WL_DIMS(batch, ROWS, HEADS * WIDTH));
    wl_want_gradient(g, x);
    n.y[0] = wl_attention(g, "attention", x, lengths, (struct wl_attention) { .heads = HEADS, .drop = 0.5 });
    n.y[1] = wl_layer_norm(g, "norm", from, n.y[0], (struct wl_layer_norm) { .drop = 0.5 });
    wl_mean_square(g, "loss", n.y[1], target, (struct wl_loss) { 0 });
    opts.keep_values = true;
    opts.seed = SEED;
    struct wl_err e = { 0 };
    if (wl_plan_new(&n.plan, g, &opts, NULL, a, &e)) fail_msg("%s", e.msg);
    float *v = wl_plan_input(n.plan, x), *w = wl_plan_input(n.plan, from);
    const int64_t sample = ROWS * 3 * HEADS * WIDTH, mask_sample = ROWS * HEADS * WIDTH;
    for (int64_t i = 0; i < batch * sample; i++) v[i] = (float)wl_random_normal(1, 2, (uint64_t)(i % sample));
    for (int64_t i = 0; i < batch * mask_sample; i++) w[i] = (float)wl_random_normal(1, 3, (uint64_t)(i % mask_sample));
    for (int64_t i = 0; i < batch; i++) ((int32_t *)wl_plan_input(n.plan, lengths))[i] = ROWS;
    return n;
}

/* Of the same input no two samples come out alike, or nearly: their masks differ. */
static void assert_all_differ(const float *y, int64_t samples)
{
    const int64_t sample = ROWS * HEADS * WIDTH;
    for (int64_t i = 0; i < samples; i++)
        for (int64_t k = 0; k < i; k++) {
            int64_t same = 0;
            for (int64_t j = 0; j < sample; j++) same += y[i * sample + j] == y[k * sample + j];
            if (same > sample / 20)
                fail_msg("%lld of %lld numbers of samples %lld and %lld are the same", (long long)same,
                         (long long)sample, (long long)k, (long long)i);
        }
}

/* Micro-batches of 2 draw the masks that one batch of 6 draws: each its own, and the same ones the next time. */
static void test_attention_draws_the_masks_of_one_batch(void **state)
{
    struct wl_arena *a = wl_arena_new(NULL);
    struct net whole = attention_new(a, (struct wl_plan_opts) { .backend = *state }, 6);
    struct net parts = attention_new(a, (struct wl_plan_opts) { .backend = *state, .micro_batches = 3 }, 2);
    train(&whole, true, true);
    for (int which = 0; which < 2; which++) {
        struct floats all = mask(&whole, which);
        assert_all_differ(all.v, 6);
        for (int repeat = 0; repeat < 2; repeat++)
            for (int m = 0; m < 3; m++) {
                train(&parts, m == 0, m == 2);
                assert_same(mask(&parts, which),
                            (struct floats) { all.v + m * 2 * ROWS * HEADS * WIDTH, 2 * ROWS * HEADS * WIDTH });
            }
    }
    wl_arena_free(a);
}

static void test_bad_probabilities_are_refused(void **state)
{
    (void)state;
    struct wl_arena *a = wl_arena_new(NULL);
    const double bad[] = { -0.1, 1, 0.999999, NAN };
    for (size_t i = 0; i < WL_COUNT(bad); i++) {
        struct wl_graph *g = wl_graph_new(a);
        struct wl_err e = { 0 };
        wl_dropout(g, "drop", wl_input(g, "x", WL_F32, WL_DIMS(2, 3)), bad[i]);
        assert_int_equal(wl_graph_check(g, &e), WL_EINVAL);
        assert_non_null(strstr(e.msg, "drop: dropout with probability"));
    }
    wl_arena_free(a);
}

int main(void)
{
    static char ref[] = "ref";
    const struct CMUnitTest tests[] = { /* state: the back-end, NULL for the best */
                                        cmocka_unit_test(test_dropped_share_is_the_probability),
                                        cmocka_unit_test_prestate(test_dropped_share_is_the_probability, ref),
                                        cmocka_unit_test(test_masks_are_independent),
                                        cmocka_unit_test(test_masks_are_the_same_for_threads_and_backends),
                                        cmocka_unit_test(test_micro_batches_draw_the_masks_of_one_batch),
                                        cmocka_unit_test_prestate(test_micro_batches_draw_the_masks_of_one_batch, ref),
                                        cmocka_unit_test(test_attention_draws_the_masks_of_one_batch),
                                        cmocka_unit_test_prestate(test_attention_draws_the_masks_of_one_batch, ref),
                                        cmocka_unit_test(test_masks_resume),
                                        cmocka_unit_test(test_evaluation_drops_nothing),
                                        cmocka_unit_test_prestate(test_evaluation_drops_nothing, ref),
                                        cmocka_unit_test(test_bad_probabilities_are_refused)
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
