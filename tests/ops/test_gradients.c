/* The backward kernels of nn/ref against finite differences of the forward kernels, both built with double: the
 * derivative along a random direction, from central differences, to 1e-6. Whatever agrees with nn/ref after this
 * has the right gradients. */
#include "finite_diff.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* ---- the operations ---- */

static void conv(const struct problem *p, double *y)
{
    wl_ref_conv(&p->window, p->in[0], p->in[1], p->n_in > 2 ? p->in[2] : NULL, y);
}

static void conv_backward(struct problem *p)
{
    const struct wl_window *v = &p->window;
    wl_ref_conv_backward_data(v, p->cotangent, p->in[1], p->gradient[0]);
    wl_ref_conv_backward_weights(v, p->in[0], p->cotangent, p->gradient[1]);
    wl_ref_channel_sum((struct wl_channels) { v->n, v->k, v->p * v->q }, p->cotangent, p->gradient[2]);
}

static struct wl_window window(int64_t n, int64_t c, int64_t h, int64_t w, int64_t k, int64_t r, int64_t s,
                               int64_t stride0, int64_t stride1, int64_t pad0, int64_t pad1)
{
    return (struct wl_window) {
        .n = n,
        .c = c,
        .h = h,
        .w = w,
        .k = k,
        .r = r,
        .s = s,
        .p = (h + 2 * pad0 - r) / stride0 + 1,
        .q = (w + 2 * pad1 - s) / stride1 + 1,
        .stride = { stride0, stride1 },
        .pad = { pad0, pad1 },
    };
}

static const struct wl_window *windows(size_t *n)
{
    static struct wl_window v[5];
    v[0] = window(2, 3, 7, 6, 4, 3, 3, 1, 1, 1, 1);
    v[1] = window(1, 2, 8, 9, 3, 3, 2, 2, 3, 1, 0);
    v[2] = window(2, 4, 5, 5, 5, 1, 1, 2, 2, 0, 0); /* rows and columns that no window covers */
    v[3] = window(1, 3, 11, 10, 2, 7, 5, 2, 2, 3, 2);
    v[4] = window(3, 1, 4, 4, 1, 4, 4, 1, 1, 0, 0); /* one output */
    *n = WL_COUNT(v);
    return v;
}

static void test_conv(void **state)
{
    (void)state;
    static struct problem p;
    size_t n;
    const struct wl_window *v = windows(&n);
    for (size_t i = 0; i < n; i++) {
        p = (struct problem) { .n_in = 3, .forward = conv, .backward = conv_backward, .window = v[i] };
        p.n[0] = v[i].n * v[i].c * v[i].h * v[i].w;
        p.n[1] = v[i].k * v[i].c * v[i].r * v[i].s;
        p.n[2] = v[i].k;
        p.n_out = v[i].n * v[i].k * v[i].p * v[i].q;
        finite_check(&p, "conv2d");
    }
}

static struct wl_ref_batch_norm norm_of(const struct problem *p, double *y)
{
    static double mean[FINITE_MAX], var[FINITE_MAX];
    wl_ref_mean_var(p->channels, p->in[0], mean, var);
    return (struct wl_ref_batch_norm) { p->channels, 1e-5, p->flag, p->in[0], mean, var, p->in[1], p->in[2], y };
}

static void norm(const struct problem *p, double *y)
{
    const struct wl_ref_batch_norm b = norm_of(p, y);
    wl_ref_batch_norm(&b);
}

static void norm_backward(struct problem *p)
{
    wl_ref_batch_norm_backward(&(struct wl_ref_batch_norm_grad) { norm_of(p, p->out), p->cotangent, p->gradient[0],
                                                                  p->gradient[1], p->gradient[2] });
}

static void test_batch_norm(void **state)
{
    (void)state;
    static struct problem p;
    for (int relu = 0; relu < 2; relu++) {
        p = (struct problem) { .n_in = 3, .forward = norm, .backward = norm_backward, .flag = relu };
        p.channels = (struct wl_channels) { 3, 5, 14 };
        p.n[0] = p.n_out = 3 * 5 * 14;
        p.n[1] = p.n[2] = 5;
        finite_check(&p, relu ? "batch_norm with relu" : "batch_norm");
    }
}

static void relu(const struct problem *p, double *y) { wl_ref_relu(p->n_out, p->in[0], y); }

static void relu_backward(struct problem *p) { wl_ref_relu_backward(p->n_out, p->out, p->cotangent, p->gradient[0]); }

static void test_relu(void **state)
{
    (void)state;
    static struct problem p;
    p = (struct problem) { .n_in = 1, .n = { 501 }, .n_out = 501, .forward = relu, .backward = relu_backward };
    finite_check(&p, "relu");
}

static void max_pool(const struct problem *p, double *y) { wl_ref_max_pool(&p->window, p->in[0], y); }

static void max_pool_backward(struct problem *p)
{
    wl_ref_max_pool_backward(&p->window, p->in[0], p->cotangent, p->gradient[0]);
}

static void avg_pool(const struct problem *p, double *y) { wl_ref_avg_pool(&p->window, p->flag, p->in[0], y); }

static void avg_pool_backward(struct problem *p)
{
    wl_ref_avg_pool_backward(&p->window, p->flag, p->cotangent, p->gradient[0]);
}

static void test_pools(void **state)
{
    (void)state;
    static struct problem p;
    size_t n;
    const struct wl_window *v = windows(&n);
    for (size_t i = 0; i < 3 * n; i++) {
        p = (struct problem) { .n_in = 1, .window = v[i / 3], .flag = i % 3 == 2 };
        p.window.k = p.window.c;
        p.forward = i % 3 == 0 ? max_pool : avg_pool;
        p.backward = i % 3 == 0 ? max_pool_backward : avg_pool_backward;
        p.n[0] = p.window.n * p.window.c * p.window.h * p.window.w;
        p.n_out = p.window.n * p.window.c * p.window.p * p.window.q;
        finite_check(&p, i % 3 == 0 ? "max_pool" : "avg_pool");
    }
}

enum { CONCAT_AT = 2, CONCAT_CHANNELS = 9 };

/* One input of a concatenation; the other channels stay 0. */
static void concat(const struct problem *p, double *y)
{
    for (int64_t i = 0; i < p->n_out; i++) y[i] = 0;
    wl_ref_put_channels(p->channels, CONCAT_CHANNELS, CONCAT_AT, p->in[0], y);
}

static void concat_backward(struct problem *p)
{
    wl_ref_get_channels(p->channels, CONCAT_CHANNELS, CONCAT_AT, p->cotangent, p->gradient[0]);
}

static void test_concat(void **state)
{
    (void)state;
    static struct problem p;
    p = (struct problem) {
        .n_in = 1, .n = { 3 * 4 * 14 }, .n_out = 3 * CONCAT_CHANNELS * 14, .channels = { 3, 4, 14 }
    };
    p.forward = concat;
    p.backward = concat_backward;
    finite_check(&p, "concat");
}

static struct wl_dropout dropout_of(const struct problem *p)
{
    return (
        struct wl_dropout) { .key = FINITE_SEED, .drop = 20000, .update = 3, .sample = 5, .n = 3, .f = p->n_out / 3 };
}

static void dropout(const struct problem *p, double *y)
{
    struct wl_dropout d = dropout_of(p);
    wl_ref_dropout(&d, p->in[0], y);
}

static void dropout_backward(struct problem *p)
{
    struct wl_dropout d = dropout_of(p);
    wl_ref_dropout(&d, p->cotangent, p->gradient[0]);
}

static void test_dropout(void **state)
{
    (void)state;
    static struct problem p;
    p = (struct problem) { .n_in = 1, .n = { 501 }, .n_out = 501, .forward = dropout, .backward = dropout_backward };
    finite_check(&p, "dropout");
}

static void linear(const struct problem *p, double *y) { wl_ref_linear(p->matrix, p->in[0], p->in[1], p->in[2], y); }

static void linear_backward(struct problem *p)
{
    wl_ref_linear_backward_data(p->matrix, p->cotangent, p->in[1], p->gradient[0]);
    wl_ref_linear_backward_weights(p->matrix, p->in[0], p->cotangent, p->gradient[1], p->gradient[2]);
}

static void test_linear(void **state)
{
    (void)state;
    static struct problem p;
    p = (struct problem) { .n_in = 3, .n = { 5 * 17, 11 * 17, 11 }, .n_out = 5 * 11, .matrix = { 5, 17, 11 } };
    p.forward = linear;
    p.backward = linear_backward;
    finite_check(&p, "linear");
}

/* Losses: the output is one number, and the weight of the loss takes the cotangent's place. */
static void cross_entropy(const struct problem *p, double *y)
{
    *y = wl_ref_cross_entropy(p->matrix.n, p->matrix.k, p->in[0], p->labels, NULL);
}

static void cross_entropy_backward(struct problem *p)
{
    wl_ref_cross_entropy_backward(p->matrix.n, p->matrix.k, p->cotangent[0], p->in[0], p->labels, p->gradient[0]);
}

static void test_cross_entropy(void **state)
{
    (void)state;
    static struct problem p;
    p = (struct problem) { .n_in = 1, .n = { 6 * 9 }, .n_out = 1, .matrix = { 6, 0, 9 } };
    p.forward = cross_entropy;
    p.backward = cross_entropy_backward;
    const int32_t labels[6] = { 0, 8, -1, 3, 3, -5 };
    memcpy(p.labels, labels, sizeof labels);
    finite_check(&p, "cross_entropy");
}

static void mean_square(const struct problem *p, double *y)
{
    int64_t rows;
    *y = wl_ref_mean_square(11, 7, p->in[0], p->cotangent + 1, &rows);
    assert_int_equal(rows, 10);
}

static void mean_square_backward(struct problem *p)
{
    wl_ref_mean_square_backward(11, 7, p->cotangent[0], p->in[0], p->cotangent + 1, p->gradient[0]);
}

static void test_mean_square(void **state)
{
    (void)state;
    static struct problem p;
    p = (struct problem) { .n_in = 1, .n = { 77 }, .n_out = 1 };
    p.forward = mean_square;
    p.backward = mean_square_backward;
    finite_fill(p.cotangent, 78, 11); /* [0] is drawn again by check; the targets after it stay */
    p.cotangent[1 + 3 * 7] = NAN;     /* row 3 is padding */
    finite_check(&p, "mean_square");
}

/* The counts: padding rows count nowhere, ties go to the lower index, a NAN logit is not a hit. */
static void test_counts(void **state)
{
    (void)state;
    const double x[] = { 1, 2, 3, 4,      5, 6, /**/ 6, 5, 4, 3,   2, 1, /**/ 1, 1, 1,
                         1, 1, 1, /**/ 0, 0, 0, 0,      0, 0, NAN, 1, 2, 3,      4, 5 };
    const int32_t labels[] = { 5, 5, 5, -1, 0 };
    struct wl_counts c = { 0 };
    wl_ref_cross_entropy(5, 6, x, labels, &c);
    assert_int_equal(c.samples, 4);
    assert_int_equal(c.top1, 1);
    assert_int_equal(c.top5, 1);
    const int32_t none[] = { -1 };
    assert_true(wl_ref_cross_entropy(1, 6, x, none, &c) == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_conv),        cmocka_unit_test(test_batch_norm),    cmocka_unit_test(test_relu),
        cmocka_unit_test(test_pools),       cmocka_unit_test(test_linear),        cmocka_unit_test(test_dropout),
        cmocka_unit_test(test_concat),      cmocka_unit_test(test_cross_entropy), cmocka_unit_test(test_counts),
        cmocka_unit_test(test_mean_square),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
