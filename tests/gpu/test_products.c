/* Back-end gpu, over the fakes: products and Fourier transforms in graphs without kept values, where gradients are
 * added and overwritten in place; over micro-batches; which algorithm is taken, and what is missing. */
#include "nn/gpu/blas/blas.h"
#include "nn/graph/graph.h"
#include "nn/nn.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "backend_compare.h"

enum { SEED = 11, MICRO_BATCHES = 2 };

static struct wl_tensor *project(struct wl_graph *g, const char *name, struct wl_tensor *x, int64_t features, bool gelu)
{
    return wl_project(g, name, x, (struct wl_project) { .features = features, .gelu = gelu, .deviation = .1 });
}

/* Two products of one value, whose second gradient is added to the first. Rows and features that fill nothing. */
static struct wl_tensor *branches(struct wl_graph *g)
{
    struct wl_tensor *x = project(g, "front", wl_input(g, "x", WL_F32, WL_DIMS(13, 37)), 24, true);
    return wl_add(g, "sum", project(g, "a", x, 19, false), project(g, "b", x, 19, true));
}

/* Many rows, so that sums by column have parts. */
static struct wl_tensor *rows(struct wl_graph *g)
{
    struct wl_tensor *x = project(g, "front", wl_input(g, "x", WL_F32, WL_DIMS(4200, 8)), 16, true);
    return project(g, "back", x, 8, false);
}

/* What FourCastNet does to a field. */
static struct wl_tensor *field(struct wl_graph *g)
{
    const struct wl_fourier f = { .height = 6, .width = 4, .modes = 3, .blocks = 2 };
    struct wl_tensor *x = project(g, "front", wl_input(g, "x", WL_F32, WL_DIMS(2 * 6 * 4, 12)), 40, false);
    struct wl_tensor *s = wl_fft2(g, "fft", x, f);
    s = wl_complex_linear(g, "1", s, (struct wl_complex) { .features = 48, .blocks = 2, .relu = true });
    s = wl_complex_linear(g, "2", s, (struct wl_complex) { .features = 40, .blocks = 2, .shrink = .01 });
    return wl_add(g, "sum", wl_inverse_fft2(g, "inverse", s, f), x);
}

typedef struct wl_tensor *build_fn(struct wl_graph *g);
static build_fn *const builds[] = { branches, rows, field };

static int new_plan(struct wl_plan **plan, build_fn *build, struct wl_plan_opts o, struct wl_arena *a, struct wl_err *e)
{
    struct wl_graph *g = wl_graph_new(a);
    struct wl_tensor *y = build(g), *target = wl_input(g, "target", WL_F32, *wl_tensor_dims(y));
    wl_mean_square(g, "loss", y, target, (struct wl_loss) { .weight = 10 });
    o.seed = SEED;
    o.slow_bf16 = true;
    int rc = wl_plan_new(plan, g, &o, NULL, a, e);
    if (rc) return rc;
    fill_inputs(*plan, g, SEED, 2);
    fill_state(*plan, SEED);
    return 0;
}

static struct floats gradients(build_fn *build, struct wl_plan_opts o, struct wl_arena *a)
{
    struct wl_plan *plan;
    struct wl_counts c = { 0 };
    struct wl_err e = { 0 };
    if (new_plan(&plan, build, o, a, &e)) fail_msg("%s", e.msg);
    for (int i = 0; i < MICRO_BATCHES; i++)
        if (wl_plan_train(plan, i == 0, i == MICRO_BATCHES - 1, &c, &e)) fail_msg("%s", e.msg);
    return all_gradients(plan, a);
}

static void compare(build_fn *build, enum wl_dtype precision)
{
    const double limit = precision == WL_BF16 ? 1e-4 : 1e-9;
    struct wl_arena *a = wl_arena_new(NULL);
    struct wl_plan_opts o = { .backend = "gpu", .precision = precision, .micro_batches = MICRO_BATCHES };
    const struct floats in_place = gradients(build, o, a);
    o.recompute = true;
    const struct floats recomputed = gradients(build, o, a);
    o.recompute = false;
    o.backend = "ref";
    const struct floats ref = gradients(build, o, a);
    const double distance = nmse(in_place, ref);
    if (!(distance <= limit)) fail_msg("%s: NMSE %g > %g", wl_dtype_name(precision), distance, limit);
    assert_memory_equal(in_place.v, recomputed.v, in_place.n * sizeof(float));
    wl_arena_free(a);
}

static void gradients_in_place_are_those_of_ref(void **state)
{
    (void)state;
    for (size_t i = 0; i < WL_COUNT(builds); i++) {
        compare(builds[i], WL_F32);
        compare(builds[i], WL_BF16);
    }
}

/* A product of TF32 lies near f32's, and is not f32. */
static void products_in_tf32(void **state)
{
    (void)state;
    for (size_t i = 0; i < WL_COUNT(builds); i++) {
        struct wl_arena *a = wl_arena_new(NULL);
        struct wl_plan_opts o = { .backend = "gpu", .tf32 = true, .micro_batches = MICRO_BATCHES };
        const struct floats tf32 = gradients(builds[i], o, a);
        o.tf32 = false;
        const double distance = sqrt(nmse(tf32, gradients(builds[i], o, a)));
        if (!(distance > 1e-5 && distance < 1e-3)) fail_msg("graph %zu: %.3g from f32", i, distance);
        wl_arena_free(a);
    }
}

static void every_product_names_its_algorithm(void **state)
{
    (void)state;
    struct wl_arena *a = wl_arena_new(NULL);
    struct wl_plan *plan;
    struct wl_err e = { 0 };
    int products = 0;
    if (new_plan(&plan, branches, (struct wl_plan_opts) { .backend = "gpu" }, a, &e)) fail_msg("%s", e.msg);
    for (size_t i = 0; i < wl_plan_step_count(plan); i++) {
        const struct wl_plan_step s = wl_plan_step(plan, i, a);
        assert_string_not_equal(s.implementation, "plain C");
        products += !strcmp(s.implementation, "cublasLt 66, tile 20");
    }
    assert_int_equal(products, 8); /* three forward, three by weights, two by data */
    wl_arena_free(a);
}

/* ---- measured algorithms ---- */

static void set_slow(const char *microseconds)
{
    if (microseconds)
        setenv("WATTLAW_FAKE_CUBLASLT_SLOW_US", microseconds, 1);
    else
        unsetenv("WATTLAW_FAKE_CUBLASLT_SLOW_US");
}

/* A plan's products: all have this kernel; how many were chosen by measurement. */
static int chosen_products(struct wl_plan *plan, const char *kernel, struct wl_arena *a)
{
    int chosen = 0;
    for (size_t i = 0; i < wl_plan_step_count(plan); i++) {
        const struct wl_plan_step s = wl_plan_step(plan, i, a);
        if (!wl_str_starts(s.implementation, "cublasLt")) continue;
        assert_string_equal(s.implementation, kernel);
        chosen += s.choice != NULL;
        if (s.choice && !(s.choice->answer_s < s.choice->runner_up_s))
            fail_msg("%s took %g s, %s %g", s.choice->answer, s.choice->answer_s, s.choice->runner_up,
                     s.choice->runner_up_s);
    }
    return chosen;
}

static void the_fastest_algorithm_is_taken(void **state)
{
    (void)state;
    static const char heuristic[] = "cublasLt 66, tile 20", fast[] = "cublasLt 66, tile 20, stages 4",
                      middling[] = "cublasLt 66, tile 20, stages 5";
    struct wl_arena *a = wl_arena_new(NULL);
    struct wl_choices *choices = wl_choices_new(a);
    struct wl_plan_opts o = { .backend = "gpu", .conv = WL_CONV_AUTO, .choices = choices, .micro_batches = 2 };
    struct wl_plan *plan;
    struct wl_err e = { 0 };
    set_slow("2000");
    if (new_plan(&plan, branches, o, a, &e)) fail_msg("%s", e.msg);
    set_slow(NULL);
    assert_int_equal(chosen_products(plan, fast, a), 8);
    assert_int_equal(choices->n, 6); /* a and b have two passes alike */
    assert_int_equal(choices->added, choices->n);
    for (size_t i = 0; i < choices->n; i++) assert_string_equal(choices->v[i].runner_up, middling);
    assert_non_null(
        strstr(choices->v[0].question, "product f32 [13,37] by f32 [24,37]' to f32 [13,24] bias, cublasLt"));

    /* What is known is not measured; without measurement the heuristic's first one is taken. */
    if (new_plan(&plan, branches, o, a, &e)) fail_msg("%s", e.msg);
    assert_int_equal(chosen_products(plan, fast, a), 8);
    assert_int_equal(choices->added, choices->n);
    o.conv = WL_CONV_DIRECT;
    if (new_plan(&plan, branches, o, a, &e)) fail_msg("%s", e.msg);
    assert_int_equal(chosen_products(plan, heuristic, a), 0);

    /* An answer that the library does not give any more is measured again. */
    o.conv = WL_CONV_AUTO;
    for (size_t i = 0; i < choices->n; i++) choices->v[i].answer = "cublasLt 99";
    set_slow("2000");
    if (new_plan(&plan, branches, o, a, &e)) fail_msg("%s", e.msg);
    set_slow(NULL);
    assert_int_equal(chosen_products(plan, fast, a), 8);
    assert_int_equal(choices->n, 6);
    wl_arena_free(a);
}

/* All of them give the same numbers here. The lowering that lists the products leaves nothing. */
static void measured_plans_compute_the_same(void **state)
{
    (void)state;
    static const enum wl_dtype precisions[] = { WL_F32, WL_BF16 };
    struct wl_arena *a = wl_arena_new(NULL);
    for (size_t i = 0; i < WL_COUNT(precisions); i++) {
        struct wl_plan_opts o = { .backend = "gpu", .precision = precisions[i], .micro_batches = MICRO_BATCHES };
        const struct floats first = gradients(branches, o, a);
        o.conv = WL_CONV_AUTO;
        o.choices = wl_choices_new(a);
        const struct floats measured = gradients(branches, o, a);
        assert_true(o.choices->n > 4);
        assert_memory_equal(first.v, measured.v, first.n * sizeof(float));
    }
    wl_arena_free(a);
}

/* Where the loader finds none. */
static void a_missing_library_is_named(void **state)
{
    (void)state;
    struct wl_arena *a = wl_arena_new(NULL);
    struct wl_gpu_library_facts facts;
    struct wl_plan *plan;
    struct wl_err e = { 0 };
    char *path = wl_strdup(a, getenv("WATTLAW_CUDA_PATH"));
    setenv("WATTLAW_CUDA_PATH", "/proc/nowhere", 1);
    if (wl_gpu_blas_find(0, &facts, a, &e) == 0) skip();
    assert_int_equal(new_plan(&plan, branches, (struct wl_plan_opts) { .backend = "gpu" }, a, &e), WL_EUNAVAIL);
    setenv("WATTLAW_CUDA_PATH", path, 1);
    if (!strstr(e.msg, "front (project): cublasLt (libcublasLt.so.13): ") ||
        !strstr(e.msg, "pip install nvidia-cublas, and name its virtual environment in WATTLAW_CUDA_PATH"))
        fail_msg("%s", e.msg);
    wl_arena_free(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gradients_in_place_are_those_of_ref),
        cmocka_unit_test(every_product_names_its_algorithm),
        cmocka_unit_test(the_fastest_algorithm_is_taken),
        cmocka_unit_test(measured_plans_compute_the_same),
        cmocka_unit_test(products_in_tf32),
        cmocka_unit_test(a_missing_library_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
