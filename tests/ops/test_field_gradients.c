/* The gradients of operations on fields and of the relative distance against finite differences, in double. */
#include "finite_diff.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void relative_l2(const struct problem *p, double *y)
{
    int64_t samples;
    *y = wl_ref_relative_l2(3, 21, p->in[0], p->cotangent + 1, &samples) / 2;
}

static void relative_l2_backward(struct problem *p)
{
    wl_ref_relative_l2_backward(3, 21, p->cotangent[0], p->in[0], p->cotangent + 1, p->gradient[0]);
}

static void test_relative_l2(void **state)
{
    (void)state;
    static struct problem p;
    p = (struct problem) { .n_in = 1, .n = { 63 }, .n_out = 1 };
    p.forward = relative_l2;
    p.backward = relative_l2_backward;
    finite_fill(p.cotangent, 64, 11); /* [0] is drawn again by check; the targets after it stay */
    p.cotangent[1 + 21] = NAN;        /* the second sample is padding */
    finite_check(&p, "relative_l2");
}

/* ---- fields ---- */

static void fft2(const struct problem *p, double *s) { wl_ref_fft2(&p->fourier, p->flag, p->in[0], s); }

static void fft2_backward(struct problem *p)
{
    wl_ref_inverse_fft2(&p->fourier, p->flag, p->cotangent, p->gradient[0]);
}

static void inverse_fft2(const struct problem *p, double *x) { wl_ref_inverse_fft2(&p->fourier, p->flag, p->in[0], x); }

static void inverse_fft2_backward(struct problem *p)
{
    wl_ref_fft2(&p->fourier, p->flag, p->cotangent, p->gradient[0]);
}

/* Each is the other's adjoint where columns count alike in both. */
static void test_fft2(void **state)
{
    (void)state;
    static struct problem p;
    const struct wl_fourier_size sizes[] = { { 2, 6, 8, 5, 2, 3 }, { 1, 5, 9, 3, 1, 2 }, { 1, 1, 4, 1, 1, 1 } };
    for (size_t i = 0; i < WL_COUNT(sizes); i++)
        for (int doubled = 0; doubled < 2; doubled++) {
            const struct wl_fourier_size *v = &sizes[i];
            const int64_t channels = v->n * v->blocks * v->size, points = v->h * v->w * channels,
                          modes = 2 * v->h * v->modes * channels;
            p = (struct problem) { .n_in = 1, .n = { points }, .n_out = modes, .fourier = *v, .flag = doubled };
            p.forward = fft2;
            p.backward = fft2_backward;
            finite_check(&p, "fft2");
            p = (struct problem) { .n_in = 1, .n = { modes }, .n_out = points, .fourier = *v, .flag = doubled };
            p.forward = inverse_fft2;
            p.backward = inverse_fft2_backward;
            finite_check(&p, "inverse_fft2");
        }
}

static void complex_linear(const struct problem *p, double *y)
{
    wl_ref_complex_linear(&p->complex, p->shrink, p->in[0], p->in[1], p->in[2], y);
}

static void complex_linear_backward(struct problem *p)
{
    wl_ref_complex_linear_backward_data(&p->complex, p->out, p->cotangent, p->in[1], p->gradient[0]);
    wl_ref_complex_linear_backward_weights(&p->complex, p->in[0], p->out, p->cotangent, p->gradient[1], p->gradient[2]);
}

static void test_complex_linear(void **state)
{
    (void)state;
    static struct problem p;
    for (int i = 0; i < 2; i++) {
        const struct wl_complex_size v = { .rows = 7, .blocks = 3, .in = 4, .out = 5 };
        p = (struct problem) { .n_in = 3, .n_out = 7 * 3 * 2 * 5, .complex = v, .shrink = 0.5 * i };
        p.n[0] = 7 * 3 * 2 * 4;
        p.n[1] = 2 * 3 * 4 * 5;
        p.n[2] = 2 * 3 * 5;
        p.forward = complex_linear;
        p.backward = complex_linear_backward;
        finite_check(&p, i ? "complex_linear with shrink" : "complex_linear with relu");
    }
}

static void position(const struct problem *p, double *y) { wl_ref_position(3, 20, p->in[0], p->in[1], y); }

static void position_backward(struct problem *p)
{
    memcpy(p->gradient[0], p->cotangent, 60 * sizeof(double));
    wl_ref_position_backward(3, 20, p->cotangent, p->gradient[1]);
}

static void test_position(void **state)
{
    (void)state;
    static struct problem p;
    p = (struct problem) { .n_in = 2, .n = { 60, 20 }, .n_out = 60 };
    p.forward = position;
    p.backward = position_backward;
    finite_check(&p, "position");
}

/* Patches move numbers: back again gives the same ones, and [C,s,s] is what its name says. */
static void test_patches(void **state)
{
    (void)state;
    const struct wl_patch_size v = { .n = 2, .c = 3, .h = 4, .w = 6, .side = 2 };
    double image[144], rows[144], restored[144];
    for (int i = 0; i < 144; i++) image[i] = i;
    for (int last = 0; last < 2; last++) {
        wl_ref_to_patches(&v, last, image, rows);
        wl_ref_from_patches(&v, last, rows, restored);
        assert_memory_equal(image, restored, sizeof image);
        /* image 1, square (1,2), channel 2, point (1,0) */
        const int row = (1 * 2 + 1) * 3 + 2, at = last ? (1 * 2 + 0) * 3 + 2 : 2 * 4 + 1 * 2 + 0;
        assert_true(rows[row * 12 + at] == image[((1 * 3 + 2) * 4 + 3) * 6 + 4]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_relative_l2), cmocka_unit_test(test_fft2),    cmocka_unit_test(test_complex_linear),
        cmocka_unit_test(test_position),    cmocka_unit_test(test_patches),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
