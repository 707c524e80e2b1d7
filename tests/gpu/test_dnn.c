/* cuDNN's binding against the fake cuDNN, on host memory: argv[1] is a libcuda that runs work at once, argv[2] the
 * folder of the fake. Passes are those of nn/ref, plans come back from names and files, and what the library refuses
 * has its text. */
#include "base/base.h"
#include "nn/gpu/dnn/dnn.h"
#include "nn/ref/ref.h"

#include <dlfcn.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "temp_folder.h"

static const char *folder; /* of the fake */
static struct wl_arena *a;
static struct wl_gpu gpu;
static struct wl_err e;

static int set_up(void **state)
{
    (void)state;
    a = wl_arena_new(NULL);
    gpu = (struct wl_gpu) { .arena = a };
    setenv("WATTLAW_CUDA_PATH", folder, 1);
    unsetenv("WATTLAW_FAKE_CUDNN_VERSION");
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    wl_arena_free(a);
    return 0;
}

static const struct wl_gpu_dnn *library(void)
{
    if (wl_gpu_dnn_open(&gpu, &e)) fail_msg("%s", e.msg);
    return gpu.dnn;
}

/* ---- images and weights, plain and channels last ---- */

/* [a,b,h,w] or, channels last, [a,h,w,b]. */
struct image {
    int64_t a, b, h, w;
    float *plain;
    void *last; /* of `type`, 256-byte aligned */
    enum wl_dtype type;
};

static int64_t count(const struct image *x) { return x->a * x->b * x->h * x->w; }

static int64_t last_index(const struct image *x, int64_t i)
{
    const int64_t area = x->h * x->w, of_a = i / (x->b * area), of_b = i / area % x->b, pixel = i % area;
    return (of_a * area + pixel) * x->b + of_b;
}

/* Numbers that bf16 holds. */
static float number(int64_t i, int seed) { return (float)((i * 7 + seed * 13) % 17 - 8) / 8; }

static void *aligned(size_t bytes)
{
    void *at = wl_try_alloc(a, bytes, 256, "a tensor", &e);
    assert_non_null(at);
    return at;
}

static void put(struct image *x, int64_t i, float v)
{
    uint32_t bits;
    memcpy(&bits, &v, sizeof bits);
    if (x->type == WL_F32)
        ((float *)x->last)[last_index(x, i)] = v;
    else
        ((uint16_t *)x->last)[last_index(x, i)] = (uint16_t)(bits >> 16);
}

static float get(const struct image *x, int64_t i)
{
    if (x->type == WL_F32) return ((const float *)x->last)[last_index(x, i)];
    const uint32_t bits = (uint32_t)((const uint16_t *)x->last)[last_index(x, i)] << 16;
    float f;
    memcpy(&f, &bits, sizeof f);
    return f;
}

static struct image image(enum wl_dtype type, int64_t n, int64_t c, int64_t h, int64_t w, int seed)
{
    struct image x = { .a = n, .b = c, .h = h, .w = w, .type = type };
    x.plain = wl_new_array(a, float, (size_t)count(&x));
    x.last = aligned((size_t)count(&x) * wl_dtype_bytes(type));
    for (int64_t i = 0; i < count(&x); i++) put(&x, i, x.plain[i] = number(i, seed));
    return x;
}

static void assert_same(const struct image *x, float relative)
{
    for (int64_t i = 0; i < count(x); i++)
        if (fabsf(get(x, i) - x->plain[i]) > relative * (1 + fabsf(x->plain[i])))
            fail_msg("element %d is %g instead of %g", (int)i, (double)get(x, i), (double)x->plain[i]);
}

/* ---- passes ---- */

struct problem {
    struct wl_gpu_conv conv;
    struct image x, w, y, u;
    float *bias, *sum, *squares;
};

static struct problem problem(enum wl_gpu_conv_pass pass, enum wl_dtype type, enum wl_dtype dw, int64_t kernel)
{
    struct problem t = { .conv = { .pass = pass, .type = type, .dw = dw } };
    struct wl_window *v = &t.conv.window;
    *v = (struct wl_window) { .n = 2, .c = 8, .h = 9, .w = 7, .k = 16, .r = kernel, .s = kernel };
    v->stride[0] = 2;
    v->stride[1] = v->pad[0] = 1;
    v->p = (v->h + 2 - kernel) / 2 + 1;
    v->q = v->w - kernel + 1;
    t.x = image(type, v->n, v->c, v->h, v->w, 1);
    t.w = image(pass == WL_GPU_CONV_WEIGHTS ? dw : type, v->k, v->c, v->r, v->s, 2);
    t.y = image(type, v->n, v->k, v->p, v->q, 3);
    t.bias = aligned((size_t)v->k * sizeof(float));
    t.sum = aligned((size_t)v->k * sizeof(float));
    t.squares = aligned((size_t)v->k * sizeof(float));
    for (int64_t i = 0; i < v->k; i++) t.bias[i] = number(i, 4);
    return t;
}

static struct wl_gpu_dnn_plan plan_of(const struct problem *t)
{
    const struct wl_gpu_dnn_limits limits = { .workspace_bytes = 1 << 20 };
    struct wl_gpu_dnn_plan p;
    size_t n;
    if (wl_gpu_dnn_plans(library(), &t->conv, &limits, 1, &p, &n, a, &e)) fail_msg("%s", e.msg);
    assert_int_equal(n, 1);
    return p;
}

static int run(const struct problem *t, const struct wl_gpu_dnn_plan *p, void *workspace)
{
    struct wl_gpu_dnn_arg args[7] = { { WL_GPU_DNN_X, t->x.last },
                                      { WL_GPU_DNN_W, t->w.last },
                                      { WL_GPU_DNN_Y, t->y.last } };
    size_t n = 3;
    cudnnBackendDescriptor_t pack;
    if (t->conv.bias) args[n++] = (struct wl_gpu_dnn_arg) { WL_GPU_DNN_BIAS, t->bias };
    if (t->conv.gelu) args[n++] = (struct wl_gpu_dnn_arg) { WL_GPU_DNN_U, t->u.last };
    if (t->conv.sums) {
        args[n++] = (struct wl_gpu_dnn_arg) { WL_GPU_DNN_SUM, t->sum };
        args[n++] = (struct wl_gpu_dnn_arg) { WL_GPU_DNN_SQUARES, t->squares };
    }
    int rc = wl_gpu_dnn_pack(library(), args, n, workspace, &pack, a, &e);
    return rc ? rc : wl_gpu_dnn_run(p, pack, &e);
}

static void must_run(const struct problem *t, const struct wl_gpu_dnn_plan *p)
{
    if (run(t, p, aligned((size_t)p->workspace_bytes + 1))) fail_msg("%s", e.msg);
}

static void relu(struct image *y)
{
    for (int64_t i = 0; i < count(y); i++)
        if (y->plain[i] < 0) y->plain[i] = 0;
}

static const enum wl_dtype types[] = { WL_F32, WL_BF16 };
static const float tolerance[] = { 1e-6f, 4e-3f }; /* of one rounding */

static void test_forward(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        struct problem t = problem(WL_GPU_CONV_FORWARD, types[i], types[i], 3);
        const struct wl_gpu_dnn_plan p = plan_of(&t);
        wl_ref_conv(&t.conv.window, t.x.plain, t.w.plain, NULL, t.y.plain);
        must_run(&t, &p);
        assert_same(&t.y, tolerance[i]);
    }
}

static void test_fused(void **state)
{
    (void)state;
    struct problem t = problem(WL_GPU_CONV_FORWARD, WL_BF16, WL_BF16, 3);
    t.conv.bias = t.conv.relu = t.conv.sums = true;
    const struct wl_gpu_dnn_plan p = plan_of(&t);
    wl_ref_conv(&t.conv.window, t.x.plain, t.w.plain, t.bias, t.y.plain);
    relu(&t.y);
    must_run(&t, &p);
    assert_same(&t.y, tolerance[1]);
    for (int64_t k = 0, area = t.y.h * t.y.w; k < t.y.b; k++) {
        double sum = 0, squares = 0;
        for (int64_t i = 0; i < count(&t.y); i++) {
            const double v = i / area % t.y.b == k ? t.y.plain[i] : 0;
            sum += v;
            squares += v * v;
        }
        assert_float_equal(t.sum[k], sum, 1e-5 * (1 + fabs(sum)));
        assert_float_equal(t.squares[k], squares, 1e-5 * (1 + squares));
    }
}

/* A projection as a convolution of one image, u kept. */
static void test_gelu(void **state)
{
    (void)state;
    struct problem t = problem(WL_GPU_CONV_FORWARD, WL_BF16, WL_BF16, 1);
    t.conv.bias = t.conv.gelu = true;
    t.u = image(WL_BF16, t.y.a, t.y.b, t.y.h, t.y.w, 5);
    const struct wl_gpu_dnn_plan p = plan_of(&t);
    wl_ref_conv(&t.conv.window, t.x.plain, t.w.plain, t.bias, t.u.plain);
    for (int64_t i = 0; i < count(&t.u); i++) {
        const double u = (double)t.u.plain[i];
        t.y.plain[i] = (float)(u / 2 * (1 + erf(u * sqrt(0.5))));
    }
    must_run(&t, &p);
    assert_same(&t.u, tolerance[1]);
    assert_same(&t.y, tolerance[1]);
}

static void test_data(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        struct problem t = problem(WL_GPU_CONV_DATA, types[i], types[i], 3);
        const struct wl_gpu_dnn_plan p = plan_of(&t);
        wl_ref_conv_backward_data(&t.conv.window, t.y.plain, t.w.plain, t.x.plain);
        must_run(&t, &p);
        assert_same(&t.x, tolerance[i]);
    }
}

static void test_weights(void **state)
{
    (void)state;
    const enum wl_dtype dw[] = { WL_F32, WL_BF16, WL_F32 };
    for (int i = 0; i < 3; i++)
        for (int kernel = 1; kernel <= 3; kernel += 2) {
            struct problem t = problem(WL_GPU_CONV_WEIGHTS, i ? WL_BF16 : WL_F32, dw[i], kernel);
            const struct wl_gpu_dnn_plan p = plan_of(&t);
            assert_int_equal(p.fallback, i == 2 && kernel == 3);
            wl_ref_conv_backward_weights(&t.conv.window, t.x.plain, t.y.plain, t.w.plain);
            must_run(&t, &p);
            assert_same(&t.w, dw[i] == WL_F32 ? 1e-6f : 4e-3f);
        }
}

/* ---- which plans there are ---- */

/* f32 is not computed by tensor cores, unless TF32 is allowed; no plan is one whose bits vary. */
static void test_limits(void **state)
{
    (void)state;
    enum { MOST = 8 };
    struct wl_gpu_dnn_plan p[MOST];
    size_t n;
    struct problem t = problem(WL_GPU_CONV_FORWARD, WL_F32, WL_F32, 3);
    struct wl_gpu_dnn_limits limits = { .workspace_bytes = 1 << 20 };
    assert_int_equal(wl_gpu_dnn_plans(library(), &t.conv, &limits, MOST, p, &n, a, &e), 0);
    assert_int_equal(n, 1);
    assert_string_equal(p->engine, "eng3");
    t.conv.tf32 = true;
    assert_int_equal(wl_gpu_dnn_plans(library(), &t.conv, &limits, MOST, p, &n, a, &e), 0);
    assert_int_equal(n, 2);
    assert_string_equal(p->engine, "eng2_k2=1");
    t.conv.tf32 = false;
    t.conv.bias = true;
    assert_int_equal(wl_gpu_dnn_plans(library(), &t.conv, &limits, MOST, p, &n, a, &e), 0);
    assert_int_equal(n, 0);
    limits.workspace_bytes = 1;
    t.conv.type = WL_BF16;
    assert_int_equal(wl_gpu_dnn_plans(library(), &t.conv, &limits, MOST, p, &n, a, &e), 0);
    assert_int_equal(n, 0);
}

static void test_named(void **state)
{
    (void)state;
    struct problem t = problem(WL_GPU_CONV_FORWARD, WL_BF16, WL_BF16, 3);
    struct wl_gpu_dnn_plan p;
    if (wl_gpu_dnn_plan_of(library(), &t.conv, "eng2_k2=1", &p, a, &e)) fail_msg("%s", e.msg);
    wl_ref_conv(&t.conv.window, t.x.plain, t.w.plain, NULL, t.y.plain);
    must_run(&t, &p);
    assert_same(&t.y, tolerance[1]);
    static const char *const bad[] = { "", "eng", "eng2_", "eng2_k", "eng2_k2", "eng2_k2=", "eng2 ", "winograd" };
    for (size_t i = 0; i < WL_COUNT(bad); i++)
        assert_int_equal(wl_gpu_dnn_plan_of(library(), &t.conv, bad[i], &p, a, &e), WL_EINVAL);
    assert_int_equal(wl_gpu_dnn_plan_of(library(), &t.conv, "eng2_k2=9", &p, a, &e), WL_ELIB);
    assert_non_null(strstr(e.msg, "no such setting"));
}

/* Of the same length, with another character in the JSON: a plan of another shape, for all that cuDNN can tell. */
static void expect_checksum(const char *plans, const char *key)
{
    const char *path = wl_strf(a, "%s/%08x.json", plans, (unsigned)wl_crc32c(0, key, strlen(key)));
    char *text;
    size_t n;
    assert_int_equal(wl_file_read(path, 1 << 20, &text, &n, a, &e), 0);
    assert_string_equal(wl_gpu_dnn_kept(plans, key, a).json, strchr(text, '{'));
    text[n - 3]++;
    assert_int_equal(wl_file_write(path, text, n, &e), 0);
    assert_null(wl_gpu_dnn_kept(plans, key, a).json);
}

static void test_kept(void **state)
{
    (void)state;
    struct problem t = problem(WL_GPU_CONV_FORWARD, WL_BF16, WL_BF16, 3);
    char *json;
    const char *plans = wl_strf(a, "%s/of/cudnn", temp_folder(a));
    struct wl_gpu_dnn_plan p = plan_of(&t), again;
    assert_int_equal(wl_gpu_dnn_plan_json(&p, &json, a, &e), 0);
    const struct wl_gpu_kept_plan kept = { p.engine, json };
    assert_null(wl_gpu_dnn_kept(plans, "one", a).json);
    assert_int_equal(wl_gpu_dnn_keep(plans, "one", &kept, &e), 0);
    assert_null(wl_gpu_dnn_kept(plans, "another", a).json);
    assert_string_equal(wl_gpu_dnn_kept(plans, "one", a).json, json);
    assert_string_equal(wl_gpu_dnn_kept(plans, "one", a).engine, p.engine);
    if (wl_gpu_dnn_plan_restore(library(), json, p.engine, &again, a, &e)) fail_msg("%s", e.msg);
    wl_ref_conv(&t.conv.window, t.x.plain, t.w.plain, NULL, t.y.plain);
    must_run(&t, &again);
    assert_same(&t.y, tolerance[1]);
    assert_int_equal(wl_gpu_dnn_plan_restore(library(), "{}", p.engine, &again, a, &e), WL_ELIB);
    expect_checksum(plans, "one");
}

/* ---- what is refused ---- */

static void test_refused(void **state)
{
    (void)state;
    struct problem t = problem(WL_GPU_CONV_FORWARD, WL_BF16, WL_BF16, 3);
    const struct wl_gpu_dnn_plan p = plan_of(&t);
    assert_true(p.workspace_bytes > 0);
    assert_int_equal(run(&t, &p, NULL), WL_ELIB);
    assert_non_null(strstr(e.msg, "eng2_k2=1: CUDNN_STATUS_BAD_PARAM_MISALIGNED_POINTER: the workspace is at"));
    assert_int_equal(run(&t, &p, t.x.last), WL_ELIB);
    assert_non_null(strstr(e.msg, "tensor 1 is in the workspace"));
    t.x.last = (char *)t.x.last + 2;
    assert_int_equal(run(&t, &p, aligned((size_t)p.workspace_bytes)), WL_ELIB);
    assert_non_null(strstr(e.msg, "tensor 1 is at"));
    t.conv.window.q++;
    size_t n;
    struct wl_gpu_dnn_plan none;
    const struct wl_gpu_dnn_limits limits = { 0 };
    assert_int_equal(wl_gpu_dnn_plans(library(), &t.conv, &limits, 1, &none, &n, a, &e), WL_ELIB);
    assert_non_null(strstr(e.msg, "a convolution's tensors do not fit"));
}

static void test_versions(void **state)
{
    (void)state;
    setenv("WATTLAW_FAKE_CUDNN_VERSION", "90000", 1);
    assert_int_equal(wl_gpu_dnn_open(&gpu, &e), WL_ELIB);
    assert_non_null(strstr(e.msg, "version 9.0.0; 9.1 or a later 9.x is needed: pip install nvidia-cudnn-cu13"));
    setenv("WATTLAW_FAKE_CUDNN_VERSION", "8907", 1);
    assert_int_equal(wl_gpu_dnn_open(&gpu, &e), WL_ELIB);
    assert_non_null(strstr(e.msg, "version 8.9.7"));
}

int main(int argc, char **argv)
{
    WL_CHECK(argc == 3);
    setenv("CUDA_DRIVER_LIBRARY", argv[1], 1);
    if (!dlopen(argv[1], RTLD_NOW)) fprintf(stderr, "%s\n", dlerror());
    folder = argv[2];
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(test_versions), TEST(test_forward), TEST(test_fused), TEST(test_gelu), TEST(test_data),
        TEST(test_weights),  TEST(test_limits),  TEST(test_named), TEST(test_kept), TEST(test_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
