/* DimeNet's bases against 50 digits (tools/oracle/bases.py), on each back-end, cutoff and ends of the cosine included.
 */
#include "nn/graph/graph.h"
#include "nn/nn.h"
#include "nn/ref/ref.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static const struct wl_json *open_golden(struct wl_arena *a)
{
    char *text;
    struct wl_err e = { 0 };
    struct wl_json *golden = NULL;
    const char *path = WL_GOLDEN "/models/bases.json";
    if (wl_file_read(path, 1 << 20, &text, NULL, a, &e) || wl_json_parse(text, path, &golden, a, &e))
        fail_msg("%s", e.msg);
    return golden;
}

/* In f32 a value is rounded to 6e-8 of itself, and so are the numbers that it comes of. */
static void compare(const char *what, const float *got, const struct wl_json *want)
{
    for (size_t i = 0; i < wl_json_size(want); i++) {
        const double w = wl_json_real(wl_json_at(want, i));
        if (!(fabs((double)got[i] - w) <= 1e-6 * fmax(1, fabs(w))))
            fail_msg("%s %zu is %.9g, expected %.12g", what, i, (double)got[i], w);
    }
}

static void fill(float *to, const struct wl_json *from)
{
    for (size_t i = 0; i < wl_json_size(from); i++) to[i] = (float)wl_json_real(wl_json_at(from, i));
}

static void test_bases_equal_the_golden_values(void **state)
{
    struct wl_arena *a = wl_arena_new(NULL);
    const struct wl_json *golden = open_golden(a);
    const struct wl_json *distances = wl_json_get(golden, "distances"), *cosines = wl_json_get(golden, "cosines");
    const int64_t edges = (int64_t)wl_json_size(distances), triplets = (int64_t)wl_json_size(cosines);
    const struct wl_basis basis = { .radial = wl_json_int(wl_json_get(golden, "radial"), 0),
                                    .spherical = wl_json_int(wl_json_get(golden, "orders"), 0),
                                    .power = (int)wl_json_int(wl_json_get(golden, "power"), 0),
                                    .cutoff = wl_json_real(wl_json_get(golden, "cutoff")) };
    struct wl_graph *g = wl_graph_new(a);
    struct wl_tensor *counts = wl_input(g, "counts", WL_I32, WL_DIMS(WL_ROW_KINDS));
    struct wl_tensor *distance = wl_input(g, "distance", WL_F32, WL_DIMS(edges));
    struct wl_tensor *cosine = wl_input(g, "cosine", WL_F32, WL_DIMS(triplets));
    struct wl_tensor *y[] = {
        wl_bessel_basis(g, "rbf", (struct wl_rows) { counts, WL_EDGES }, distance, basis),
        wl_spherical_basis(g, "radial", (struct wl_rows) { counts, WL_EDGES }, distance, basis),
        wl_angular_basis(g, "angular", (struct wl_rows) { counts, WL_TRIPLETS }, cosine, basis),
    };
    static const char *const names[] = { "bessel", "spherical", "angular" };
    for (size_t i = 0; i < WL_COUNT(y); i++) wl_output(g, y[i]);
    struct wl_plan *p;
    struct wl_err e = { 0 };
    struct wl_counts seen = { 0 };
    const struct wl_plan_opts opts = { .backend = *state, .eval_only = true, .threads = 2 };
    if (wl_plan_new(&p, g, &opts, NULL, a, &e)) fail_msg("%s", e.msg);
    int32_t *n = wl_plan_input(p, counts);
    n[WL_EDGES] = (int32_t)edges;
    n[WL_TRIPLETS] = (int32_t)triplets;
    fill(wl_plan_input(p, distance), distances);
    fill(wl_plan_input(p, cosine), cosines);
    if (wl_plan_eval(p, &seen, &e)) fail_msg("%s", e.msg);
    for (size_t i = 0; i < WL_COUNT(y); i++) compare(names[i], wl_plan_output(p, y[i]), wl_json_get(golden, names[i]));
    wl_arena_free(a);
}

static void test_zeros_of_bessel_functions_are_zeros(void **state)
{
    (void)state;
    struct wl_arena *a = wl_arena_new(NULL);
    const struct wl_json *golden = open_golden(a), *want = wl_json_get(golden, "zeros");
    const struct wl_basis basis = { .radial = wl_json_int(wl_json_get(golden, "radial"), 0),
                                    .spherical = wl_json_int(wl_json_get(golden, "orders"), 0) };
    const struct wl_bessel_zeros z = wl_bessel_zeros(&basis, a);
    for (size_t i = 0; i < wl_json_size(want); i++)
        assert_true(fabs(z.zero[i] / wl_json_real(wl_json_at(want, i)) - 1) < 1e-14);
    wl_arena_free(a);
}

static int run_on(char *backend)
{
    const struct CMUnitTest one[] = { cmocka_unit_test_prestate(test_bases_equal_the_golden_values, backend) };
    return cmocka_run_group_tests(one, NULL, NULL);
}

/* test_bases [BACK-END]: that one alone. */
int main(int argc, char **argv)
{
    if (argc > 1) return run_on(argv[1]);
    static char ref[] = "ref";
    const struct CMUnitTest tests[] = { /* state: the back-end, NULL for the best */
                                        cmocka_unit_test(test_zeros_of_bessel_functions_are_zeros),
                                        cmocka_unit_test(test_bases_equal_the_golden_values),
                                        cmocka_unit_test_prestate(test_bases_equal_the_golden_values, ref)
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
