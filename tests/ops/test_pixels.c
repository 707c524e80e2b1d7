/* pixels has the bits of its formula in every back-end, in f32 and rounded to bf16 and f16, and refuses what it cannot
 * read. `test_pixels BACKEND ...` */
#include "base/half.h"
#include "nn/graph/graph.h"
#include "nn/nn.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "backend_compare.h"

enum { IMAGES = 3, HEIGHT = 37, WIDTH = 67 }; /* more than a piece, a block, and a multiple of neither */

static const struct wl_pixels how = { .mean = { 0.485f, 0.456f, 0.406f, 0.5f },
                                      .deviation = { 0.229f, 0.224f, 0.225f, 0.25f } };

static char **backends;

static float rounded(float v, enum wl_dtype precision)
{
    if (precision == WL_BF16) return wl_bf16_to_f32(wl_f32_to_bf16(v));
    if (precision == WL_F16) return wl_f16_to_f32(wl_f32_to_f16(v));
    return v;
}

static float expected(uint8_t v, size_t c, enum wl_dtype precision)
{
    const float scale = 1 / (255 * how.deviation[c]), shift = -how.mean[c] / how.deviation[c];
    const float scaled = (float)v * scale;
    return rounded(scaled + shift, precision);
}

static int plan(struct wl_plan **p, struct wl_tensor **x, struct wl_tensor **y, int64_t channels,
                struct wl_plan_opts opts, struct wl_arena *a, struct wl_err *e)
{
    struct wl_graph *g = wl_graph_new(a);
    *x = wl_input(g, "images", WL_U8, WL_DIMS(IMAGES, channels, HEIGHT, WIDTH));
    *y = wl_pixels(g, "pixels", *x, how);
    wl_output(g, *y);
    opts.eval_only = opts.slow_bf16 = true;
    return wl_plan_new(p, g, &opts, NULL, a, e);
}

static void compare(const char *backend, int64_t channels, enum wl_dtype precision)
{
    struct wl_arena *a = wl_arena_new(NULL);
    struct wl_plan *p = NULL;
    struct wl_tensor *x, *y;
    struct wl_err e = { 0 };
    const size_t area = HEIGHT * WIDTH, n = IMAGES * (size_t)channels * area;
    const struct wl_plan_opts opts = { .backend = backend, .precision = precision, .threads = 2 };
    const int rc = plan(&p, &x, &y, channels, opts, a, &e);
    if (rc == WL_EUNAVAIL) {
        wl_arena_free(a);
        return;
    }
    if (rc) fail_msg("%s: %s", backend, e.msg);
    assert_int_equal(wl_plan_input_bytes(p, x), n);
    uint8_t *bytes = wl_plan_input(p, x);
    for (size_t i = 0; i < n; i++) bytes[i] = (uint8_t)wl_random_below(1, 2, i, 256);
    if (wl_plan_eval(p, NULL, &e)) fail_msg("%s: %s", backend, e.msg);
    const float *got = wl_plan_output(p, y);
    for (size_t i = 0; i < n; i++) {
        const float want = expected(bytes[i], i / area % (size_t)channels, precision);
        if (memcmp(&got[i], &want, sizeof want))
            fail_msg("%s %s: number %zu is %.9g, expected %.9g", backend, wl_dtype_name(precision), i, (double)got[i],
                     (double)want);
    }
    wl_arena_free(a);
}

static void test_bits_are_those_of_the_formula(void **state)
{
    (void)state;
    for (char **b = backends; *b; b++)
        for (int64_t channels = 1; channels <= WL_MAX_PIXEL_CHANNELS; channels++) {
            compare(*b, channels, WL_F32);
            compare(*b, channels, WL_BF16);
            if (strcmp(*b, "cpu") != 0) compare(*b, channels, WL_F16);
        }
}

static void refuse(enum wl_dtype type, struct wl_dims dims, struct wl_pixels pixels, const char *words)
{
    struct wl_arena *a = wl_arena_new(NULL);
    struct wl_graph *g = wl_graph_new(a);
    struct wl_err e = { 0 };
    wl_pixels(g, "pixels", wl_input(g, "images", type, dims), pixels);
    assert_int_equal(wl_graph_check(g, &e), WL_EINVAL);
    if (!strstr(e.msg, words)) fail_msg("'%s' lacks '%s'", e.msg, words);
    wl_arena_free(a);
}

static void test_what_it_cannot_read_is_refused(void **state)
{
    (void)state;
    struct wl_pixels flat = how;
    flat.deviation[1] = 0;
    refuse(WL_F32, WL_DIMS(1, 3, 2, 2), how, "reads u8 [N,C,H,W] of at most 4 channels, images is f32 [1,3,2,2]");
    refuse(WL_U8, WL_DIMS(1, 5, 2, 2), how, "images is u8 [1,5,2,2]");
    refuse(WL_U8, WL_DIMS(1, 3, 2), how, "images is u8 [1,3,2]");
    refuse(WL_U8, WL_DIMS(1, 3, 2, 2), flat, "deviation of channel 1 is 0");
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bits_are_those_of_the_formula),
        cmocka_unit_test(test_what_it_cannot_read_is_refused),
    };
    (void)argc;
    backends = argv + 1;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
