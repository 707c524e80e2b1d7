#include "nn/host/host.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static const struct wl_optim_ops *ops_of(struct wl_optim *o)
{
    const struct wl_optim_ops *ops = NULL;
    struct wl_err e = { 0 };
    if (wl_optim_init(o, &ops, &e)) fail_msg("%s", e.msg);
    return ops;
}

/* Two steps of SGD written out in double, as PyTorch's documentation has it. */
static void test_sgd_equals_its_definition(void **state)
{
    (void)state;
    enum { N = 37 };
    for (int nesterov = 0; nesterov < 2; nesterov++) {
        struct wl_optim o = { .momentum = 0.9, .nesterov = nesterov };
        float w[N], g[N], v[N] = { 0 };
        double w_want[N], v_want[N] = { 0 };
        for (int i = 0; i < N; i++) w_want[i] = w[i] = (float)wl_random_normal(1, 1, (uint64_t)i);
        for (int step = 0; step < 2; step++) {
            for (int i = 0; i < N; i++) g[i] = (float)wl_random_normal(1, (uint64_t)(2 + step), (uint64_t)i);
            struct wl_optim_span s = { .w = w, .g = g, .slot = { v }, .n = N, .scale = 0.25f, .decay = 0.01f };
            wl_host_update(&(struct wl_host) { 0 }, ops_of(&o), &o, &s, 0.1);
            for (int i = 0; i < N; i++) {
                double d = 0.25 * (double)g[i] + 0.01 * w_want[i];
                v_want[i] = 0.9 * v_want[i] + d;
                w_want[i] -= 0.1 * (nesterov ? d + 0.9 * v_want[i] : v_want[i]);
            }
        }
        for (int i = 0; i < N; i++) {
            assert_true(fabs((double)w[i] - w_want[i]) < 1e-6);
            assert_true(fabs((double)v[i] - v_want[i]) < 1e-6);
        }
    }
}

/* PyTorch in double (tools/oracle/optimizers.py). */
static const struct wl_json *open_golden(struct wl_arena *a)
{
    const char *path = WL_GOLDEN "/optimizers.json";
    char *text;
    struct wl_err e = { 0 };
    struct wl_json *golden = NULL;
    if (wl_file_read(path, 1 << 20, &text, NULL, a, &e) || wl_json_parse(text, path, &golden, a, &e))
        fail_msg("%s", e.msg);
    return golden;
}

static double real_of(const struct wl_json *object, const char *key) { return wl_json_real(wl_json_get(object, key)); }

static void close_to(const char *what, const float *got, const struct wl_json *row)
{
    const struct wl_json *want = wl_json_get(row, what);
    double largest = 0;
    for (size_t i = 0; i < wl_json_size(want); i++) largest = fmax(largest, fabs(wl_json_real(wl_json_at(want, i))));
    for (size_t i = 0; i < wl_json_size(want); i++) {
        double x = wl_json_real(wl_json_at(want, i));
        if (!(fabs((double)got[i] - x) <= 1e-6 * largest))
            fail_msg("%s, %s[%zu]: %.9g, PyTorch %.9g", wl_json_str(wl_json_get(row, "kind")), what, i, (double)got[i],
                     x);
    }
}

static void run_adam(const struct wl_json *golden, const struct wl_json *row, struct wl_arena *a)
{
    const size_t n = (size_t)real_of(golden, "n");
    const uint64_t seed = (uint64_t)real_of(golden, "seed");
    struct wl_optim o = { .kind = wl_json_str(wl_json_get(row, "kind")),
                          .beta1 = real_of(row, "beta1"),
                          .beta2 = real_of(row, "beta2"),
                          .eps = real_of(row, "eps") };
    struct wl_optim_span s = { .w = wl_new_array(a, float, n),
                               .slot = { wl_new_array(a, float, n), wl_new_array(a, float, n) },
                               .n = n,
                               .scale = (float)real_of(golden, "scale"),
                               .decay = (float)real_of(row, "weight_decay") };
    float *g = wl_new_array(a, float, n);
    const struct wl_optim_ops *ops = ops_of(&o);
    s.g = g;
    for (size_t i = 0; i < n; i++) s.w[i] = (float)wl_random_normal(seed, 1, i);
    for (s.step = 1; s.step <= (int64_t)real_of(golden, "steps"); s.step++) {
        for (size_t i = 0; i < n; i++) g[i] = (float)wl_random_normal(seed, (uint64_t)(1 + s.step), i);
        wl_host_update(&(struct wl_host) { 0 }, ops, &o, &s, real_of(row, "lr"));
    }
    close_to("w", s.w, row);
    for (int k = 0; k < ops->slots; k++) close_to(ops->slot_name[k], s.slot[k], row);
}

static void test_adam_equals_pytorch(void **state)
{
    (void)state;
    struct wl_arena *a = wl_arena_new(NULL);
    const struct wl_json *golden = open_golden(a), *cases = wl_json_get(golden, "cases");
    assert_true(wl_json_size(cases) >= 3);
    for (size_t i = 0; i < wl_json_size(cases); i++) run_adam(golden, wl_json_at(cases, i), a);
    wl_arena_free(a);
}

/* Chunks that threads take, the tail after the last whole one included, give what one element at a time gives. */
static void test_adam_does_not_depend_on_chunks(void **state)
{
    (void)state;
    enum { N = 100001 };
    struct wl_arena *a = wl_arena_new(NULL);
    float *v[4], x[4];
    struct wl_optim o = { .kind = "adamw" };
    const struct wl_optim_ops *ops = ops_of(&o);
    for (int k = 0; k < 4; k++) {
        v[k] = wl_new_array(a, float, N);
        for (size_t i = 0; i < N; i++) v[k][i] = (float)(0.1 + wl_random_uniform(3, (uint64_t)k, i));
    }
    const size_t samples[] = { 0, 16383, 16384, 50000, N - 1 };
    for (size_t j = 0; j < WL_COUNT(samples); j++) {
        for (int k = 0; k < 4; k++) x[k] = v[k][samples[j]];
        struct wl_optim_span one = {
            .w = &x[0], .g = &x[1], .slot = { &x[2], &x[3] }, .n = 1, .scale = 1, .decay = 0.1f, .step = 7
        };
        struct wl_optim_span all = one;
        all.w = v[0], all.g = v[1], all.slot[0] = v[2], all.slot[1] = v[3], all.n = N;
        wl_host_update(&(struct wl_host) { 0 }, ops, &o, &one, 0.01);
        wl_host_update(&(struct wl_host) { 0 }, ops, &o, &all, 0.01);
        for (int k = 0; k < 4; k++) assert_true(fabs((double)v[k][samples[j]] - (double)x[k]) < 1e-6);
    }
    wl_arena_free(a);
}

static void expect_error(struct wl_optim o, const char *message)
{
    const struct wl_optim_ops *ops;
    struct wl_err e = { 0 };
    assert_int_equal(wl_optim_init(&o, &ops, &e), WL_EINVAL);
    assert_string_equal(e.msg, message);
}

static void test_bad_settings_are_refused(void **state)
{
    (void)state;
    expect_error((struct wl_optim) { .kind = "sgdd" }, "optimizer 'sgdd' is not known; did you mean 'sgd'?");
    expect_error((struct wl_optim) { .kind = "adamv" }, "optimizer 'adamv' is not known; did you mean 'adam'?");
    expect_error((struct wl_optim) { .beta2 = 1 }, "beta2 is 1, expected 0 <= beta2 < 1");
    expect_error((struct wl_optim) { .eps = -1 }, "eps is -1, expected more than 0");
    expect_error((struct wl_optim) { .weight_decay = -1 }, "weight decay is -1, expected at least 0");
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_sgd_equals_its_definition),
                                        cmocka_unit_test(test_adam_equals_pytorch),
                                        cmocka_unit_test(test_adam_does_not_depend_on_chunks),
                                        cmocka_unit_test(test_bad_settings_are_refused) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
