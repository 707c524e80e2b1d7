/* Back-end gpu, over the fakes: products and Fourier transforms in graphs without kept values, where gradients are
 * added and overwritten in place; over micro-batches; which algorithm is taken, and what is missing. */
#include "nn/gpu/blas/blas.h"
#include "nn/graph/graph.h"
#include "nn/nn.h"

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
        cmocka_unit_test(a_missing_library_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
