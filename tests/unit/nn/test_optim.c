#include "nn/program.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

/* Two steps of SGD written out in double, as PyTorch's documentation has it. */
static void test_sgd(void **state)
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
            wl_optim_find(NULL, NULL)->step(&o, &s, 0.1);
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

static void test_unknown(void **state)
{
    (void)state;
    struct wl_err e = { 0 };
    assert_null(wl_optim_find("sgdd", &e));
    assert_int_equal(e.code, WL_EINVAL);
    assert_string_equal(e.msg, "optimiser 'sgdd' is not known; did you mean 'sgd'?");
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_sgd), cmocka_unit_test(test_unknown) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
