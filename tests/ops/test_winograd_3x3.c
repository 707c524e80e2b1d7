/* Winograd's F(4x4,3x3) in 16-bit integers, forward and backward by data, against sums in double: shapes that fill no
 * tile, panel or slice, paddings, extreme values; and the same bits for any number of threads. */
#include "nn/cpu/conv_custom.h"
#include "nn/nn.h"
#include "nn/threads.h"

#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { SEED = 5, ALIGN = 64, BLOCK = 16 };

static float widened(uint16_t x)
{
    const uint32_t bits = (uint32_t)x << 16;
    float f;
    memcpy(&f, &bits, sizeof f);
    return f;
}

static uint16_t rounded(float f)
{
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits);
    return f != f ? 0x7fc0 : (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

/* ---- a convolution, plain: in [n,c,h,w], weights [k,c,3,3], out [n,k,p,q] ---- */

struct conv {
    struct wl_window v;
    enum wl_pass pass;
    bool bias, relu;
    float *in, *w, *b;
    const struct wl_conv_custom *kernel;
};

static struct wl_window window(int64_t n, int64_t c, int64_t k, int64_t h, int64_t w, int64_t pad)
{
    return (struct wl_window) { .n = n,
                                .c = c,
                                .h = h,
                                .w = w,
                                .k = k,
                                .p = h + 2 * pad - 2,
                                .q = w + 2 * pad - 2,
                                .r = 3,
                                .s = 3,
                                .stride = { 1, 1 },
                                .pad = { pad, pad } };
}

static bool is_data(const struct conv *o) { return o->pass == WL_PASS_DATA; }
static int64_t in_count(const struct conv *o)
{
    return is_data(o) ? o->v.n * o->v.k * o->v.p * o->v.q : o->v.n * o->v.c * o->v.h * o->v.w;
}
static int64_t out_count(const struct conv *o)
{
    return is_data(o) ? o->v.n * o->v.c * o->v.h * o->v.w : o->v.n * o->v.k * o->v.p * o->v.q;
}

static struct conv conv_of(struct wl_arena *a, struct wl_window v, enum wl_pass pass, bool bias, bool relu)
{
    struct conv o = { .v = v, .pass = pass, .bias = bias, .relu = relu, .kernel = wl_conv_custom_of(&v, pass) };
    const int64_t in = in_count(&o), weights = v.k * v.c * 9;
    assert_non_null(o.kernel);
    o.in = wl_new_array(a, float, (size_t)in);
    o.w = wl_new_array(a, float, (size_t)weights);
    o.b = wl_new_array(a, float, (size_t)v.k);
    for (int64_t i = 0; i < in; i++) { /* like the results of a relu */
        const float x = (float)wl_random_normal(SEED, 1, (uint64_t)i);
        o.in[i] = pass == WL_PASS_DATA || x > 0 ? widened(rounded(x)) : 0;
    }
    for (int64_t i = 0; i < weights; i++)
        o.w[i] = (float)(wl_random_normal(SEED, 2, (uint64_t)i) / sqrt(9.0 * (double)v.c));
    for (int64_t i = 0; i < v.k; i++) o.b[i] = (float)wl_random_normal(SEED, 3, (uint64_t)i);
    return o;
}

/* The sum of element (n, channel, row, column) of the result, with these weights. */
static double sum_at(const struct conv *o, const float *w, int64_t i)
{
    const struct wl_window *v = &o->v;
    const int64_t channels = is_data(o) ? v->c : v->k, height = is_data(o) ? v->h : v->p,
                  width = is_data(o) ? v->w : v->q;
    const int64_t depth = is_data(o) ? v->k : v->c, h = is_data(o) ? v->p : v->h, wide = is_data(o) ? v->q : v->w;
    const int64_t column = i % width, row = i / width % height, channel = i / (width * height) % channels;
    const int64_t image = i / (width * height * channels), pad = is_data(o) ? 2 - v->pad[0] : v->pad[0];
    double sum = o->bias ? o->b[channel] : 0;
    for (int64_t d = 0; d < depth; d++)
        for (int64_t t = 0; t < 9; t++) {
            const int64_t r = row + t / 3 - pad, s = column + t % 3 - pad;
            if (r < 0 || r >= h || s < 0 || s >= wide) continue;
            const float g = is_data(o) ? w[(d * v->c + channel) * 9 + 8 - t] : w[(channel * v->c + d) * 9 + t];
            sum += (double)g * (double)o->in[((image * depth + d) * h + r) * wide + s];
        }
    return o->relu && sum < 0 ? 0 : sum;
}

/* ---- the kernel ---- */

static void *aligned(struct wl_arena *a, size_t bytes)
{
    char *v = wl_alloc(a, bytes + ALIGN);
    return v + (ALIGN - (uintptr_t)v % ALIGN) % ALIGN;
}

/* [N,C,area] to blocks of channels. */
static uint16_t *blocked(struct wl_arena *a, const float *v, int64_t n, int64_t c, int64_t area)
{
    uint16_t *to = aligned(a, (size_t)(n * c * area) * sizeof *to);
    for (int64_t i = 0; i < n * c * area; i++) {
        const int64_t image = i / (c * area), channel = i / area % c, at = i % area;
        to[((image * (c / BLOCK) + channel / BLOCK) * area + at) * BLOCK + channel % BLOCK] = rounded(v[i]);
    }
    return to;
}

static float *plain(struct wl_arena *a, const uint16_t *v, int64_t n, int64_t c, int64_t area)
{
    float *to = wl_new_array(a, float, (size_t)(n * c * area));
    for (int64_t i = 0; i < n * c * area; i++) {
        const int64_t image = i / (c * area), channel = i / area % c, at = i % area;
        to[i] = widened(v[((image * (c / BLOCK) + channel / BLOCK) * area + at) * BLOCK + channel % BLOCK]);
    }
    return to;
}

static float *blocked_weights(struct wl_arena *a, const struct conv *o)
{
    const int64_t k = o->v.k, c = o->v.c;
    float *to = aligned(a, (size_t)(k * c * 9) * sizeof *to);
    for (int64_t i = 0; i < k * c * 9; i++) {
        const int64_t filter = i / (c * 9), channel = i / 9 % c, t = i % 9;
        to[(((filter / BLOCK * (c / BLOCK) + channel / BLOCK) * 9 + t) * BLOCK + channel % BLOCK) * BLOCK +
           filter % BLOCK] = o->w[i];
    }
    return to;
}

static float *result(struct wl_arena *a, const struct conv *o)
{
    const struct wl_window *v = &o->v;
    const size_t scratch = o->kernel->scratch_bytes(v, o->pass);
    uint16_t *in = is_data(o) ? blocked(a, o->in, v->n, v->k, v->p * v->q) : blocked(a, o->in, v->n, v->c, v->h * v->w);
    uint16_t *out = aligned(a, (size_t)out_count(o) * sizeof *out);
    struct wl_conv_call c = { .v = *v, .pass = o->pass, .w = blocked_weights(a, o), .scratch = aligned(a, scratch) };
    memset(out, 0x7f, (size_t)out_count(o) * sizeof *out);
    memset(c.scratch, 0xff, scratch); /* NaN */
    if (is_data(o)) {
        c.dy = in;
        c.dx = out;
    } else {
        c.x = in;
        c.y = out;
        c.relu = o->relu;
        if (o->bias) c.bias = o->b;
    }
    o->kernel->run(&c);
    return is_data(o) ? plain(a, out, v->n, v->c, v->h * v->w) : plain(a, out, v->n, v->k, v->p * v->q);
}

static void need(void)
{
    const struct wl_window v = window(1, 16, 16, 8, 8, 1);
    if (wl_conv_custom_of(&v, WL_PASS_FORWARD)) return;
    printf("SKIP: the processor has no AVX512_VNNI\n");
    skip();
}

/* ---- tests ---- */

/* Distances from double, of the kernel and of direct convolution, which rounds weights and results to bf16: at every
 * `every`th element. */
struct distances {
    double own, direct;
};

static struct distances distances(struct wl_arena *a, const struct conv *o, int64_t every)
{
    const int64_t weights = o->v.k * o->v.c * 9;
    const float *got = result(a, o);
    float *w = wl_new_array(a, float, (size_t)weights);
    double own = 0, direct = 0, squares = 0;
    for (int64_t i = 0; i < weights; i++) w[i] = widened(rounded(o->w[i]));
    for (int64_t i = 0; i < out_count(o); i += every) {
        const double exact = sum_at(o, o->w, i), of_bf16 = widened(rounded((float)sum_at(o, w, i)));
        own += (got[i] - exact) * (got[i] - exact);
        direct += (of_bf16 - exact) * (of_bf16 - exact);
        squares += exact * exact;
    }
    return (struct distances) { sqrt(own / squares), sqrt(direct / squares) };
}

static void check(const struct conv *o, int64_t every)
{
    struct wl_arena *a = wl_arena_new(NULL);
    const struct distances d = distances(a, o, every);
    if (getenv("WL_SHOW"))
        printf("%s %lld -> %lld, %lldx%lld, pad %lld: %.2e, direct %.2e, ratio %.2f\n", is_data(o) ? "data" : "forward",
               (long long)o->v.c, (long long)o->v.k, (long long)o->v.h, (long long)o->v.w, (long long)o->v.pad[0],
               d.own, d.direct, d.own / d.direct);
    if (!(d.own <= 1.6 * d.direct))
        fail_msg("%s of %lld channels to %lld on %lld x %lld, padding %lld: %.2e from double, direct %.2e",
                 is_data(o) ? "backward by data" : "forward", (long long)o->v.c, (long long)o->v.k, (long long)o->v.h,
                 (long long)o->v.w, (long long)o->v.pad[0], d.own, d.direct);
    wl_arena_free(a);
}

static const struct shape {
    int64_t n, c, k, h, w, pad, every;
} shapes[] = {
    { 2, 16, 16, 8, 8, 1, 1 },   { 1, 32, 48, 9, 7, 0, 1 },   { 3, 48, 80, 5, 14, 1, 3 },  { 1, 80, 192, 11, 6, 0, 7 },
    { 2, 64, 64, 13, 13, 1, 5 }, { 1, 96, 96, 10, 17, 2, 7 }, { 2, 272, 16, 6, 6, 1, 1 },  { 1, 16, 112, 3, 3, 1, 1 },
    { 1, 512, 32, 7, 7, 1, 1 },  { 1, 448, 64, 8, 8, 1, 3 },  { 1, 32, 32, 30, 30, 0, 7 }, { 1, 16, 16, 1, 1, 1, 1 },
};

static void test_passes_equal_sums_in_double(void **state)
{
    (void)state;
    need();
    for (size_t i = 0; i < WL_COUNT(shapes); i++) {
        struct wl_arena *a = wl_arena_new(NULL);
        const struct shape *s = &shapes[i];
        const struct wl_window v = window(s->n, s->c, s->k, s->h, s->w, s->pad);
        const struct conv forward = conv_of(a, v, WL_PASS_FORWARD, i % 2, i % 3 == 0);
        const struct conv data = conv_of(a, v, WL_PASS_DATA, false, false);
        check(&forward, s->every);
        check(&data, s->every);
        wl_arena_free(a);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_passes_equal_sums_in_double) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
