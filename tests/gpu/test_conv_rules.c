/* Back-end gpu, over the fakes: a network of convolutions against nn/ref; which engines and fused kernels its steps
 * get; answers of the table and plans kept in files. */
#include "nn/choices/choices.h"
#include "nn/graph/graph.h"
#include "nn/nn.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "backend_compare.h"
#include "temp_folder.h"

enum { IMAGES = 2, SEED = 7 };

/* Relus that are computed with the convolution and one that is not, since its input is read twice; channels that are no
 * multiple of 8; two passes of one shape. */
static struct wl_graph *network(struct wl_arena *a)
{
    const struct wl_conv three = { .channels = 16, .kernel = { 3, 3 }, .pad = { 1, 1 }, .bias = true };
    struct wl_graph *g = wl_graph_new(a);
    struct wl_tensor *x = wl_input(g, "images", WL_F32, WL_DIMS(IMAGES, 3, 10, 9));
    x = wl_relu(g, "relu1", wl_conv2d(g, "conv1", x, three));
    x = wl_relu(g, "relu2", wl_conv2d(g, "conv2", x, three));
    struct wl_tensor *y = wl_conv2d(g, "conv3", x, three);
    x = wl_add(g, "add", y, wl_relu(g, "relu3", y));
    x = wl_conv2d(g, "down", x, (struct wl_conv) { .channels = 20, .kernel = { 3, 3 }, .stride = { 2, 2 } });
    x = wl_relu(g, "relu4", wl_conv2d(g, "point", x, (struct wl_conv) { .channels = 16, .kernel = { 1, 1 } }));
    wl_mean_square(g, "loss", x, wl_input(g, "target", WL_F32, x->dims), (struct wl_loss) { 0 });
    return g;
}

static struct wl_arena *a;

static struct wl_plan *plan_of(struct wl_plan_opts o)
{
    struct wl_plan *p = NULL;
    struct wl_err e = { 0 };
    struct wl_graph *g = network(a);
    o.seed = SEED;
    o.slow_bf16 = true;
    if (wl_plan_new(&p, g, &o, NULL, a, &e)) fail_msg("%s", e.msg);
    fill_inputs(p, g, SEED, 2);
    return p;
}

/* Two micro-batches of the same images: the second adds to the gradients of the first. */
static struct floats gradients_of(struct wl_plan *p)
{
    struct wl_counts c = { 0 };
    struct wl_err e = { 0 };
    if (wl_plan_train(p, true, false, &c, &e) || wl_plan_train(p, false, true, &c, &e)) fail_msg("%s", e.msg);
    return all_gradients(p, a);
}

static struct floats gradients(const char *backend, enum wl_dtype precision, enum wl_conv_algorithm conv,
                               struct wl_choices *choices)
{
    return gradients_of(plan_of((struct wl_plan_opts) {
        .backend = backend, .precision = precision, .conv = conv, .choices = choices, .micro_batches = 2 }));
}

static bool equal(struct floats x, struct floats y) { return !memcmp(x.v, y.v, x.n * sizeof(float)); }

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

static const enum wl_dtype types[] = { WL_F32, WL_BF16 };
static const double near[] = { 1e-11, 5e-5 }; /* squared, relative to all gradients */

static void test_equals_ref(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        struct floats ref = gradients("ref", types[i], WL_CONV_DIRECT, NULL);
        struct floats gpu = gradients("gpu", types[i], WL_CONV_DIRECT, NULL);
        if (!(nmse(gpu, ref) < near[i]))
            fail_msg("%s: %.3g from the reference", wl_dtype_name(types[i]), nmse(gpu, ref));
        assert_true(equal(gpu, gradients("gpu", types[i], WL_CONV_DIRECT, NULL)));
    }
}

/* ---- what the steps are ---- */

static int count(const struct wl_plan *p, const char *operation, const char *pass, const char *implementation)
{
    int n = 0;
    for (size_t i = 0; i < wl_plan_step_count(p); i++) {
        const struct wl_plan_step s = wl_plan_step(p, i, a);
        n += wl_str_eq(s.operation, operation) && wl_str_eq(s.pass, pass) && strstr(s.implementation, implementation);
    }
    return n;
}

/* Bias and relu are in cuDNN's step in bf16; in f32 the fake has no engine for that without TF32, and a kernel adds
 * them. */
static void test_fusion(void **state)
{
    (void)state;
    const struct wl_plan *bf16 = plan_of((struct wl_plan_opts) { .backend = "gpu", .precision = WL_BF16 });
    assert_int_equal(count(bf16, "conv2d", "forward, relu", "cuDNN eng2_k2=1, workspace "), 3);
    assert_int_equal(count(bf16, "conv2d", "forward", "cuDNN eng2_k2=1"), 2);
    assert_int_equal(count(bf16, "relu", "forward", "relu"), 1);
    assert_int_equal(count(bf16, "conv2d", "backward weights", "cuDNN eng2_k2=1"), 4);
    assert_int_equal(count(bf16, "conv2d", "backward weights", "cuDNN eng3"), 1); /* 1x1, in f32 */
    assert_int_equal(count(bf16, "conv2d", "backward data", "cuDNN"), 4);
    const struct wl_plan *f32 = plan_of((struct wl_plan_opts) { .backend = "gpu" });
    assert_int_equal(count(f32, "conv2d", "forward", "cuDNN eng3"), 5);
    assert_int_equal(count(f32, "conv2d", "forward, bias, relu", "bias_f32"), 2);
    assert_int_equal(count(f32, "conv2d", "forward, bias", "bias_f32"), 1);
    assert_int_equal(count(f32, "conv2d", "forward, relu", "bias_f32"), 1);
    assert_int_equal(count(f32, "relu", "forward", "relu"), 1);
}

/* TF32 rounds what is multiplied to 11 bits: near f32, and not f32. */
static void test_tf32(void **state)
{
    (void)state;
    const struct wl_plan_opts o = { .backend = "gpu", .tf32 = true, .micro_batches = 2 };
    struct wl_plan *p = plan_of(o);
    const struct floats exact = gradients("ref", WL_F32, WL_CONV_DIRECT, NULL), tf32 = gradients_of(p);
    const double distance = sqrt(nmse(tf32, exact));
    if (!(distance > 1e-5 && distance < 1e-3)) fail_msg("%.3g from the reference", distance);
    assert_int_equal(count(p, "conv2d", "backward data", "cuDNN eng2_k2=1"), 4);
    assert_true(equal(tf32, gradients_of(plan_of(o))));
}

/* ---- the table of choices, and plans in files ---- */

static size_t files_in(const char *folder)
{
    struct wl_strs names = { 0 };
    if (wl_dir_list(folder, &names, a, NULL)) return 0;
    return names.n;
}

/* The fake recommends two engines for each pass in bf16: tensor cores, and a plain one. */
static void test_measured_once(void **state)
{
    (void)state;
    struct wl_choices *c = wl_choices_new(a);
    c->folder = temp_folder(a);
    const char *plans = wl_path_join(a, c->folder, "cudnn-plans");
    struct floats first = gradients("gpu", WL_BF16, WL_CONV_AUTO, c);
    const size_t n = c->added, files = files_in(plans);
    assert_true(n > 5);
    assert_true(files > n); /* and those that had one engine */
    assert_true(equal(first, gradients("gpu", WL_BF16, WL_CONV_AUTO, c)));
    assert_int_equal(c->added, n);
    assert_int_equal(files_in(plans), files);
    for (size_t i = 0; i < c->n; i++) {
        assert_non_null(strstr(c->v[i].question, "cuDNN 9.28.1"));
        c->v[i].answer = "eng3";
    }
    struct floats plain = gradients("gpu", WL_BF16, WL_CONV_AUTO, c);
    assert_int_equal(c->added, n);
    const struct wl_plan *p =
        plan_of((struct wl_plan_opts) { .backend = "gpu", .precision = WL_BF16, .conv = WL_CONV_AUTO, .choices = c });
    assert_int_equal(count(p, "conv2d", "backward data", "cuDNN eng3"), 4);
    assert_true(nmse(plain, first) < near[1]);
    c->v[0].answer = "eng9"; /* of another version, say: measured again */
    gradients("gpu", WL_BF16, WL_CONV_AUTO, c);
    assert_int_equal(c->added, n + 1);
    assert_string_not_equal(c->v[0].answer, "eng9");
}

/* A file that is damaged, or that holds another plan, is written anew. */
static void test_damaged_files(void **state)
{
    (void)state;
    struct wl_choices *c = wl_choices_new(a);
    struct wl_strs names = { 0 };
    struct wl_err e = { 0 };
    c->folder = temp_folder(a);
    const char *plans = wl_path_join(a, c->folder, "cudnn-plans");
    struct floats first = gradients("gpu", WL_BF16, WL_CONV_AUTO, c);
    if (wl_dir_list(plans, &names, a, &e)) fail_msg("%s", e.msg);
    for (size_t i = 0; i < names.n; i++) {
        char *text;
        size_t bytes;
        const char *path = wl_path_join(a, plans, names.v[i]);
        if (wl_file_read(path, 1 << 20, &text, &bytes, a, &e) || wl_file_write(path, text, bytes / (i % 3 + 2), &e))
            fail_msg("%s", e.msg);
    }
    assert_true(equal(first, gradients("gpu", WL_BF16, WL_CONV_AUTO, c)));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(test_equals_ref), TEST(test_tf32), TEST(test_fusion), TEST(test_measured_once), TEST(test_damaged_files),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
