/* Gradients of weights by products of pairs of pixels against sums in double: strides, borders, any taps, maps with an
 * odd number of pixels, several groups of them; and the same bits for any number of threads. */
#include "nn/cpu/conv_custom.h"
#include "nn/cpu/conv_weights_bf16.h"
#include "nn/nn.h"
#include "nn/ref/ref.h"
#include "nn/threads.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

enum { SEED = 29, LANES = 16, ALIGN = 64 };

static const struct wl_conv_custom *const kernel = &wl_conv_weights_bf16;

struct shape {
    int64_t n, c, k, h, w, taps[2], stride[2], pad[2];
};

static struct wl_window window_of(const struct shape *s)
{
    return (struct wl_window) { .n = s->n,
                                .c = s->c,
                                .h = s->h,
                                .w = s->w,
                                .k = s->k,
                                .p = (s->h + 2 * s->pad[0] - s->taps[0]) / s->stride[0] + 1,
                                .q = (s->w + 2 * s->pad[1] - s->taps[1]) / s->stride[1] + 1,
                                .r = s->taps[0],
                                .s = s->taps[1],
                                .stride = { s->stride[0], s->stride[1] },
                                .pad = { s->pad[0], s->pad[1] } };
}

/* Numbers of 5 bits, which are bf16 too, so that only the order of sums differs. */
static float *values(struct wl_arena *a, int64_t n, uint64_t stream)
{
    float *v = wl_new_array(a, float, (size_t)n);
    for (int64_t i = 0; i < n; i++) v[i] = (float)((int)(wl_random_normal(SEED, stream, (uint64_t)i) * 8)) / 8;
    return v;
}

/* [N,C,area] to [N,C/16,area,16] of bf16. */
static uint16_t *blocked(struct wl_arena *a, const float *from, int64_t rows, int64_t area)
{
    uint16_t *to = wl_new_array(a, uint16_t, (size_t)(rows * area));
    for (int64_t i = 0; i < rows * area; i++) {
        uint32_t bits;
        memcpy(&bits, &from[i], sizeof bits);
        to[(i / area / LANES * area + i % area) * LANES + i / area % LANES] = (uint16_t)(bits >> 16);
    }
    return to;
}

static void *aligned(struct wl_arena *a, size_t bytes)
{
    char *at = wl_new_array(a, char, bytes + ALIGN);
    memset(at, 0xff, bytes + ALIGN); /* NaN: whatever was there */
    return at + ALIGN - (uintptr_t)at % ALIGN;
}

/* dw as the kernel holds it [K/16,C/16,R,S,16 c,16 k], then db [K]. */
static float *gradients(struct wl_arena *a, const struct wl_window *v, const float *x, const float *dy)
{
    const size_t weights = (size_t)(v->k * v->c * v->r * v->s);
    const size_t scratch = kernel->scratch_bytes(v, WL_PASS_WEIGHTS);
    float *dw = aligned(a, (weights + (size_t)v->k) * sizeof *dw);
    struct wl_conv_call call = { .v = *v, .pass = WL_PASS_WEIGHTS, .dw = dw, .db = dw + weights };
    call.x = blocked(a, x, v->n * v->c, v->h * v->w);
    call.dy = blocked(a, dy, v->n * v->k, v->p * v->q);
    call.scratch = aligned(a, scratch + 1);
    kernel->run(&call);
    if (((unsigned char *)call.scratch)[scratch] != 0xff) fail_msg("more scratch memory was written than asked for");
    return dw;
}

static void check(size_t shape, const struct wl_window *v, const float *got, const float *x, const float *dy,
                  struct wl_arena *a)
{
    const int64_t taps = v->r * v->s, weights = v->k * v->c * taps;
    float *want = wl_new_array(a, float, (size_t)weights), *db = wl_new_array(a, float, (size_t)v->k);
    wl_ref_conv_backward_weights(v, x, dy, want);
    wl_ref_channel_sum((struct wl_channels) { v->n, v->k, v->p * v->q }, dy, db);
    double differences = 0, squares = 0;
    for (int64_t i = 0; i < weights; i++) {
        const int64_t k = i / taps / v->c, c = i / taps % v->c, at = k / LANES * (v->c / LANES) + c / LANES;
        const double d = (double)got[((at * taps + i % taps) * LANES + c % LANES) * LANES + k % LANES] - want[i];
        differences += d * d;
        squares += (double)want[i] * want[i];
    }
    if (!(differences <= 1e-12 * squares)) fail_msg("shape %zu is %.1e off", shape, sqrt(differences / squares));
    for (int64_t k = 0; k < v->k; k++) assert_true(fabsf(got[weights + k] - db[k]) <= 1e-5F * (1 + fabsf(db[k])));
}

static void test_gradients_equal_sums_in_double(void **state)
{
    (void)state;
    static const struct shape shapes[] = {
        { 3, 32, 48, 7, 7, { 1, 1 }, { 1, 1 }, { 0, 0 } },    /* an odd number of pixels */
        { 2, 48, 80, 14, 13, { 3, 3 }, { 2, 2 }, { 1, 1 } },  /* strides over borders; panels of 3 and 2 vectors */
        { 5, 64, 16, 9, 9, { 3, 3 }, { 2, 2 }, { 0, 0 } },    /* ... without padding; rows that fill no tile */
        { 4, 16, 64, 8, 8, { 1, 7 }, { 1, 1 }, { 0, 3 } },    /* a line across */
        { 4, 16, 32, 8, 8, { 7, 1 }, { 1, 1 }, { 3, 0 } },    /* ... and down */
        { 2, 96, 32, 11, 10, { 1, 1 }, { 2, 2 }, { 0, 0 } },  /* two parts of the channels */
        { 11, 112, 128, 5, 6, { 3, 3 }, { 1, 1 }, { 1, 1 } }, /* several pieces */
        { 700, 16, 16, 2, 2, { 7, 7 }, { 1, 1 }, { 3, 3 } },  /* ... and groups */
        { 2, 32, 16, 13, 14, { 3, 3 }, { 1, 2 }, { 1, 0 } },  /* strides that differ */
        { 1, 16, 16, 1, 1, { 1, 1 }, { 1, 1 }, { 0, 0 } },    /* one pixel */
    };
    const int threads = omp_get_max_threads();
    for (size_t i = 0; i < WL_COUNT(shapes); i++) {
        struct wl_arena *a = wl_arena_new(NULL);
        const struct wl_window v = window_of(&shapes[i]);
        if (!kernel->applies(&v, WL_PASS_WEIGHTS)) {
            wl_arena_free(a);
            printf("SKIP: the processor has no AVX512_BF16, or AMX beside it\n");
            skip();
        }
        const float *x = values(a, v.n * v.c * v.h * v.w, 1), *dy = values(a, v.n * v.k * v.p * v.q, 2);
        const float *some = gradients(a, &v, x, dy);
        check(i, &v, some, x, dy, a);
        for (int n = 1; n <= 4; n++) {
            omp_set_num_threads(n);
            const size_t bytes = (size_t)(v.k * v.c * v.r * v.s + v.k) * sizeof(float);
            if (memcmp(some, gradients(a, &v, x, dy), bytes)) fail_msg("shape %zu differs with %d threads", i, n);
        }
        omp_set_num_threads(threads);
        wl_arena_free(a);
    }
}

static void test_large_maps_and_other_passes_are_for_others(void **state)
{
    (void)state;
    struct wl_window v = window_of(&(struct shape) { 1, 16, 16, 28, 28, { 1, 1 }, { 1, 1 }, { 0, 0 } });
    assert_false(kernel->applies(&v, WL_PASS_WEIGHTS));
    v = window_of(&(struct shape) { 1, 16, 16, 7, 7, { 1, 1 }, { 1, 1 }, { 0, 0 } });
    assert_false(kernel->applies(&v, WL_PASS_FORWARD));
    v.c = 24;
    assert_false(kernel->applies(&v, WL_PASS_WEIGHTS));
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_gradients_equal_sums_in_double),
                                        cmocka_unit_test(test_large_maps_and_other_passes_are_for_others) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
