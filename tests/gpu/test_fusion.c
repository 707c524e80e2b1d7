/* Back-end gpu, over the fakes: steps that cuDNN computes together, forced on and off, against nn/ref; which steps
 * there are; what the table of choices and kept plans make of them. */
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

#include <cmocka.h>

#include "backend_compare.h"
#include "temp_folder.h"

enum { IMAGES = 4, SEED = 5 };

static struct wl_tensor *norm(struct wl_graph *g, const char *name, struct wl_tensor *x, bool relu)
{
    return wl_batch_norm(g, name, x, (struct wl_batch_norm_opts) { .relu = relu });
}

/* Two norms that read a convolution alone, one of them with a bias, one whose channels are padded, one whose
 * convolution has another reader; a projection with gelu and one without. */
static struct wl_graph *network(struct wl_arena *a)
{
    const struct wl_conv three = { .channels = 16, .kernel = { 3, 3 }, .pad = { 1, 1 } };
    struct wl_conv other = three;
    struct wl_graph *g = wl_graph_new(a);
    struct wl_tensor *x = wl_input(g, "images", WL_F32, WL_DIMS(IMAGES, 3, 6, 5)), *y;
    other.bias = true;
    x = norm(g, "norm1", wl_conv2d(g, "conv1", x, other), true);
    y = norm(g, "norm2", wl_conv2d(g, "conv2", x, three), false);
    x = wl_add_relu(g, "sum", x, y);
    y = wl_conv2d(g, "conv3", x, three);
    x = wl_add(g, "twice", y, norm(g, "norm3", y, true));
    other.channels = 12;
    x = norm(g, "norm4", wl_conv2d(g, "conv4", x, other), true);
    x = wl_linear(g, "narrow", x, 16);
    x = wl_project(g, "expand", x, (struct wl_project) { 24, .gelu = true, .deviation = 0.3 });
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
    o.micro_batches = 2;
    if (!o.backend) o.backend = "gpu";
    if (wl_plan_new(&p, g, &o, NULL, a, &e)) fail_msg("%s", e.msg);
    fill_inputs(p, g, SEED, 2);
    return p;
}

static struct wl_plan *bf16(enum wl_fuse fuse)
{
    return plan_of((struct wl_plan_opts) { .precision = WL_BF16, .fuse = fuse });
}

/* What two micro-batches and their update leave, and an evaluation after them. */
struct results {
    struct floats gradients, statistics;
    double loss, evaluated;
};

static struct results results_of(struct wl_plan *p)
{
    struct wl_counts c = { 0 }, seen = { 0 };
    struct wl_err e = { 0 };
    struct results r;
    if (wl_plan_train(p, true, false, &c, &e) || wl_plan_train(p, false, true, &c, &e)) fail_msg("%s", e.msg);
    r.gradients = all_gradients(p, a);
    if (wl_plan_update(p, 0.01, &e) || wl_plan_eval(p, &seen, &e)) fail_msg("%s", e.msg);
    r.statistics = all_states(p, WL_STATE_STATISTIC, a);
    r.loss = c.loss_sum;
    r.evaluated = seen.loss_sum;
    return r;
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

/* Fused or not, gradients are as near to those of f32 as the reference in bf16 is. Means and variances are of numbers
 * before they are rounded: of 120 that differ by 2^-9 each, or 2e-4 of their sum's deviation. */
static void check_way(enum wl_dtype type, enum wl_fuse fuse, const struct results *ref, const struct results *exact)
{
    const struct results r = results_of(plan_of((struct wl_plan_opts) { .precision = type, .fuse = fuse }));
    const char *way = wl_strf(a, "%s%s", wl_dtype_name(type), fuse == WL_FUSE_ALWAYS ? ", fused" : "");
    const double found = sqrt(nmse(r.gradients, exact->gradients)),
                 other = sqrt(nmse(ref->gradients, exact->gradients));
    if (!(found < 1.5 * other)) fail_msg("%s: gradients are %.3g from those of f32, ref's %.3g", way, found, other);
    if (!(nmse(r.statistics, ref->statistics) < 1e-6))
        fail_msg("%s: statistics are %.3g from ref's", way, nmse(r.statistics, ref->statistics));
    assert_float_equal(r.loss, exact->loss, 1e-2 * exact->loss);
    assert_float_equal(r.evaluated, exact->evaluated, 1e-2 * exact->evaluated);
}

static void test_equals_ref(void **state)
{
    (void)state;
    const enum wl_dtype types[] = { WL_BF16, WL_F16 };
    const struct results exact = results_of(plan_of((struct wl_plan_opts) { .backend = "ref" }));
    for (int i = 0; i < 2; i++) {
        const struct results ref =
            results_of(plan_of((struct wl_plan_opts) { .backend = "ref", .precision = types[i] }));
        check_way(types[i], WL_FUSE_NEVER, &ref, &exact);
        check_way(types[i], WL_FUSE_ALWAYS, &ref, &exact);
    }
}

static void test_same_bits(void **state)
{
    (void)state;
    const struct results first = results_of(bf16(WL_FUSE_ALWAYS));
    assert_true(equal(first.gradients, results_of(bf16(WL_FUSE_ALWAYS)).gradients));
    assert_false(equal(first.gradients, results_of(bf16(WL_FUSE_NEVER)).gradients));
    const struct wl_plan_opts recomputes = { .precision = WL_BF16, .fuse = WL_FUSE_ALWAYS, .recompute = true };
    assert_true(equal(first.gradients, results_of(plan_of(recomputes)).gradients));
}

/* ---- which steps there are ---- */

static int count(const struct wl_plan *p, const char *pass, bool training)
{
    int n = 0;
    for (size_t i = 0; i < wl_plan_step_count(p); i++) {
        const struct wl_plan_step s = wl_plan_step(p, i, a);
        n += wl_str_eq(s.pass, pass) && strstr(s.implementation, "cuDNN") && (training ? s.training : s.evaluation);
    }
    return n;
}

enum { CONVOLUTIONS = 4, SUMS = 2 };

static void assert_steps(const struct wl_plan *p, int sums, int gelu)
{
    assert_int_equal(count(p, "forward, sums", true), sums);
    assert_int_equal(count(p, "forward, sums", false), 0);
    assert_int_equal(count(p, "forward", true), CONVOLUTIONS - sums);
    assert_int_equal(count(p, "forward", false), CONVOLUTIONS);
    assert_int_equal(count(p, "forward, gelu", true), gelu);
    assert_int_equal(count(p, "forward, gelu", false), gelu);
}

static void test_steps(void **state)
{
    (void)state;
    assert_steps(bf16(WL_FUSE_ALWAYS), SUMS, 1);
    assert_steps(bf16(WL_FUSE_NEVER), 0, 0);
    assert_steps(bf16(WL_FUSE_MEASURED), 0, 0);                                    /* nothing was */
    assert_steps(plan_of((struct wl_plan_opts) { .fuse = WL_FUSE_ALWAYS }), 0, 0); /* f32 */
}

/* ---- the table of choices, and kept plans ---- */

static struct wl_choices *choices;

static struct wl_plan *measured(void)
{
    return plan_of((struct wl_plan_opts) { .precision = WL_BF16, .conv = WL_CONV_AUTO, .choices = choices });
}

static bool is_fusion(const struct wl_choice *c)
{
    return strstr(c->question, " sums ") || strstr(c->question, " gelu ");
}

static int answer_fusions(const char *answer)
{
    int n = 0;
    for (size_t i = 0; i < choices->n; i++) {
        if (!is_fusion(&choices->v[i])) continue;
        choices->v[i].answer = answer;
        n++;
    }
    return n;
}

/* Answers of fusions that were measured. */
static int fusions(void)
{
    int n = 0;
    for (size_t i = 0; i < choices->n; i++) n += is_fusion(&choices->v[i]);
    return n;
}

/* Without a fused step there is one product more, whose algorithm is measured. */
static void test_measured(void **state)
{
    (void)state;
    choices = wl_choices_new(a);
    const struct results first = results_of(measured());
    const size_t n = choices->added;
    for (size_t i = 0; i < choices->n; i++) {
        const struct wl_choice *c = &choices->v[i];
        if (is_fusion(c)) assert_true(wl_str_eq(c->answer, "separate") != wl_str_eq(c->runner_up, "separate"));
    }
    assert_true(equal(first.gradients, results_of(measured()).gradients));
    assert_int_equal(choices->added, n);
    assert_int_equal(answer_fusions("eng2_k2=1"), SUMS + 1);
    assert_steps(measured(), SUMS, 1);
    answer_fusions("separate");
    assert_steps(measured(), 0, 0);
    assert_int_equal(fusions(), SUMS + 1);
}

/* The files of kept plans, in order. */
static struct wl_strs kept(const char *folder)
{
    struct wl_strs names = { 0 };
    struct wl_err e = { 0 };
    if (wl_dir_list(folder, &names, a, &e)) fail_msg("%s", e.msg);
    for (size_t i = 0; i < names.n; i++) names.v[i] = wl_path_join(a, folder, names.v[i]);
    return names;
}

static const char *text_of(const char *path)
{
    char *text;
    size_t n;
    struct wl_err e = { 0 };
    if (wl_file_read(path, 1 << 20, &text, &n, a, &e)) fail_msg("%s", e.msg);
    return text;
}

static int fused_files(const struct wl_strs *files)
{
    int n = 0;
    for (size_t i = 0; i < files->n; i++) {
        const char *text = text_of(files->v[i]);
        n += strstr(text, ": eng") && (strstr(text, " sums ") || strstr(text, " gelu "));
    }
    return n;
}

/* Fused plans are kept. A file that holds the plan of another shape, under the name of this one, is written anew. */
static void test_kept(void **state)
{
    (void)state;
    struct wl_err e = { 0 };
    choices = wl_choices_new(a);
    choices->folder = temp_folder(a);
    measured();
    answer_fusions("eng2_k2=1");
    const struct results first = results_of(measured());
    const struct wl_strs files = kept(wl_path_join(a, choices->folder, "cudnn-plans"));
    assert_int_equal(fused_files(&files), SUMS + 1);
    const char *texts[64];
    assert_true(files.n <= WL_COUNT(texts));
    for (size_t i = 0; i < files.n; i++) texts[i] = text_of(files.v[i]);
    for (size_t i = 0; i < files.n; i++) {
        const char *other = texts[(i + 1) % files.n];
        if (wl_file_write(files.v[i], other, strlen(other), &e)) fail_msg("%s", e.msg);
    }
    const struct results again = results_of(measured());
    assert_true(equal(first.gradients, again.gradients));
    for (size_t i = 0; i < files.n; i++) {
        const char *text = text_of(files.v[i]);
        if (strstr(texts[i], " sums ") && strstr(texts[i], ": eng")) assert_string_equal(text, texts[i]);
    }
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(test_equals_ref), TEST(test_same_bits), TEST(test_steps), TEST(test_measured), TEST(test_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
