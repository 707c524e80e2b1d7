/* Cholesky factors of small matrices, and Gauss-Hermite quadrature by the moments of a normal distribution. */
#include "check.h"

static void factors(void **state)
{
    enum { N = 6 };
    double b[N * N], a[N * N], l[N * N], x[N], y[N];
    (void)state;
    for (size_t i = 0; i < N * N; i++) b[i] = wl_random_normal(1, 2, i);
    for (size_t i = 0; i < N; i++)
        for (size_t j = 0; j < N; j++) {
            a[i + j * N] = i == j ? 0.1 : 0;
            for (size_t k = 0; k < N; k++) a[i + j * N] += b[i + k * N] * b[j + k * N];
        }
    memcpy(l, a, sizeof l);
    assert_true(wl_cholesky(l, N));
    for (size_t i = 0; i < N; i++)
        for (size_t j = 0; j <= i; j++) {
            double sum = 0;
            for (size_t k = 0; k <= j; k++) sum += l[i * N + k] * l[j * N + k];
            agree("L L'", sum, a[i + j * N], 12);
        }
    for (size_t i = 0; i < N; i++) y[i] = x[i] = wl_random_normal(1, 3, i);
    wl_cholesky_forward(l, N, x);
    wl_cholesky_backward(l, N, x);
    for (size_t i = 0; i < N; i++) {
        double sum = 0;
        for (size_t j = 0; j < N; j++) sum += a[i + j * N] * x[j];
        agree("A A^-1 y", sum, y[i], 9);
    }
    double two[] = { 4, 1, 1, 9 };
    assert_true(wl_cholesky(two, 2));
    agree("ln det", wl_cholesky_ln_det(two, 2), log(35), 14);
}

static void refuses(void **state)
{
    double indefinite[] = { 1, 2, 2, 1 }, missing[] = { 1, NAN, NAN, 1 };
    (void)state;
    assert_false(wl_cholesky(indefinite, 2));
    assert_false(wl_cholesky(missing, 2));
}

/* E Z^k = (k - 1)!! for even k, exact up to 2n - 1. */
static void moments_of(const struct wl_quadrature *q)
{
    double truth = 1;
    for (size_t k = 0; k < 2 * q->n; k++) {
        double sum = 0;
        for (size_t i = 0; i < q->n; i++) sum += q->weight[i] * pow(q->node[i], (double)k);
        if (k % 2) {
            assert_true(fabs(sum) < 1e-9 * truth);
            truth *= (double)k;
        } else {
            agree("moment", sum, truth, 12);
        }
    }
}

static void quadrature(void **state)
{
    (void)state;
    moments_of(&wl_hermite_5);
    moments_of(&wl_hermite_9);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(factors), cmocka_unit_test(refuses),
                                        cmocka_unit_test(quadrature) };
    return cmocka_run_group_tests_name("stats-cholesky", tests, NULL, NULL);
}
