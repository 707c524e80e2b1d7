/* Winograd's F(4x4,3x3) in 16-bit integers, forward and backward by data, against sums in double: shapes that fill no
 * tile, panel or slice, paddings, extreme values; and the same bits for any number of threads. */
#include "nn/cpu/conv_custom.h"
#include "nn/cpu/winograd_3x3.h"
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
    const int64_t image = i / (width * height * channels);
    const int64_t above = is_data(o) ? 2 - v->pad[0] : v->pad[0], left = is_data(o) ? 2 - v->pad[1] : v->pad[1];
    double sum = o->bias ? o->b[channel] : 0;
    for (int64_t d = 0; d < depth; d++)
        for (int64_t t = 0; t < 9; t++) {
            const int64_t r = row + t / 3 - above, s = column + t % 3 - left;
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
    struct wl_conv_call c = { .v = *v, .pass = o->pass, .w = blocked_weights(a, o) };
    unsigned char *const memory = c.scratch = aligned(a, scratch + 1);
    memset(out, 0x7f, (size_t)out_count(o) * sizeof *out);
    memset(memory, 0xff, scratch + 1); /* NaN */
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
    if (memory[scratch] != 0xff) fail_msg("more scratch memory was written than asked for");
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

enum { PIXEL_ROW = 5, PIXEL_COLUMN = 5 }; /* of a value that is unlike the others */

static bool reads_pixel(const struct conv *o, int64_t i)
{
    const int64_t height = is_data(o) ? o->v.h : o->v.p, width = is_data(o) ? o->v.w : o->v.q;
    return llabs(i / width % height - PIXEL_ROW) <= 1 && llabs(i % width - PIXEL_COLUMN) <= 1;
}

/* Distances from double, of the kernel and of direct convolution, which rounds weights and results to bf16: at every
 * `every`th element, or those of them that do not read the pixel. */
struct distances {
    double own, direct;
};

static struct distances distances(struct wl_arena *a, const struct conv *o, int64_t every, bool beside_pixel)
{
    const int64_t weights = o->v.k * o->v.c * 9;
    const float *got = result(a, o);
    float *w = wl_new_array(a, float, (size_t)weights);
    double own = 0, direct = 0, squares = 0;
    for (int64_t i = 0; i < weights; i++) w[i] = widened(rounded(o->w[i]));
    for (int64_t i = 0; i < out_count(o); i += every) {
        if (beside_pixel && reads_pixel(o, i)) continue;
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
    const struct distances d = distances(a, o, every, false);
    if (getenv("WL_SHOW"))
        printf("%s %lld -> %lld, %lldx%lld, pad %lld: %.2e, direct %.2e, ratio %.2f\n", is_data(o) ? "data" : "forward",
               (long long)o->v.c, (long long)o->v.k, (long long)o->v.h, (long long)o->v.w, (long long)o->v.pad[0],
               d.own, d.direct, d.own / d.direct);
    if (!(d.own <= 1.4 * d.direct))
        fail_msg("%s of %lld channels to %lld on %lld x %lld, padding %lld: %.2e from double, direct %.2e",
                 is_data(o) ? "backward by data" : "forward", (long long)o->v.c, (long long)o->v.k, (long long)o->v.h,
                 (long long)o->v.w, (long long)o->v.pad[0], d.own, d.direct);
    wl_arena_free(a);
}

static const struct shape {
    int64_t n, c, k, h, w, pad, every;
} shapes[] = {
    { 2, 16, 16, 8, 8, 1, 1 },    { 1, 32, 48, 9, 7, 0, 1 },   { 3, 48, 80, 5, 14, 1, 3 },  { 1, 80, 192, 11, 6, 0, 7 },
    { 2, 64, 64, 13, 13, 1, 5 },  { 1, 96, 96, 10, 17, 2, 7 }, { 2, 272, 16, 6, 6, 1, 1 },  { 1, 16, 112, 3, 3, 1, 1 },
    { 1, 512, 32, 7, 7, 1, 1 },   { 1, 448, 64, 8, 8, 1, 3 },  { 1, 32, 32, 30, 30, 0, 7 }, { 1, 16, 16, 1, 1, 1, 1 },
    { 1, 256, 240, 5, 6, 1, 31 }, /* filters of more than 2 MB */
    { 1, 2304, 16, 5, 5, 1, 1 },  /* nine slices */
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

/* The error is relative to the largest values of a tile and to the largest weights of a filter. Values or weights that
 * are small beside them are less exact than by direct convolution; docs/reference/training.md says how much. */
static void test_uneven_values_err_as_documented(void **state)
{
    (void)state;
    need();
    enum uneven { PIXEL, CHANNELS, AGAINST_WEIGHTS };
    static const struct {
        enum uneven kind;
        int power;   /* of 2 that they differ by */
        double most; /* error by direct convolution's */
    } cases[] = { { PIXEL, 5, 1.6 },      { PIXEL, 8, 4 },           { PIXEL, 11, 35 },         { CHANNELS, 20, 1.6 },
                  { CHANNELS, -20, 1.6 }, { AGAINST_WEIGHTS, 5, 3 }, { AGAINST_WEIGHTS, 8, 12 } };
    for (size_t i = 0; i < WL_COUNT(cases); i++)
        for (int pass = WL_PASS_FORWARD; pass <= WL_PASS_DATA; pass++) {
            struct wl_arena *a = wl_arena_new(NULL);
            struct conv o = conv_of(a, window(1, 64, 64, 12, 12, 1), (enum wl_pass)pass, false, false);
            const enum uneven kind = cases[i].kind;
            for (int64_t k = 0; k < in_count(&o); k++) {
                const int64_t at = k % 144;
                if (kind != PIXEL)
                    o.in[k] *= exp2f((float)(cases[i].power * (k / 144)) / 64);
                else if (at == PIXEL_ROW * 12 + PIXEL_COLUMN)
                    o.in[k] = ldexpf(o.in[k] == 0 ? 1 : o.in[k], cases[i].power);
                o.in[k] = widened(rounded(o.in[k]));
            }
            for (int64_t k = 0; k < 64 * 64 * 9; k++)
                if (kind == AGAINST_WEIGHTS)
                    o.w[k] *= exp2f((float)(-cases[i].power * (is_data(&o) ? k / 9 / 64 : k / 9 % 64)) / 64);
            const struct distances d = distances(a, &o, 3, kind == PIXEL);
            if (!(d.own <= cases[i].most * d.direct))
                fail_msg("%s, case %zu: %.2e from double, direct %.2e", is_data(&o) ? "data" : "forward", i, d.own,
                         d.direct);
            wl_arena_free(a);
        }
}

/* Rows and columns beyond the border differ in number. */
static void test_paddings_that_differ(void **state)
{
    (void)state;
    need();
    for (int64_t above = 0; above <= 2; above++)
        for (int64_t left = 0; left <= 2; left++)
            for (int pass = WL_PASS_FORWARD; pass <= WL_PASS_DATA; pass++) {
                struct wl_arena *a = wl_arena_new(NULL);
                struct wl_window v = window(1, 48, 48, 7, 6, above);
                v.pad[1] = left;
                v.q = 6 + 2 * left - 2;
                const struct conv o = conv_of(a, v, (enum wl_pass)pass, false, false);
                check(&o, 1);
                wl_arena_free(a);
            }
}

/* Values whose squares, sums or products would leave f32 or 32 bits by themselves: results are as far from double as
 * direct convolution's. */
enum extreme {
    LARGEST,
    ONE_HUGE_CHANNEL,
    HUGE_IN_LAST_SLICE,
    ONE_HUGE_PIXEL,
    ZEROS,
    SMALL,
    DENORMAL,
    CONSTANT,
    ALTERNATING,
    FILTERS,
    EXTREMES
};

static void fill_extreme(struct conv *o, enum extreme kind)
{
    const int64_t in = in_count(o), weights = o->v.k * o->v.c * 9;
    const int64_t area = is_data(o) ? o->v.p * o->v.q : o->v.h * o->v.w, depth = is_data(o) ? o->v.k : o->v.c;
    const float largest = widened(0x7f7f);
    for (int64_t i = 0; i < in; i++) {
        const int64_t channel = i / area % depth, at = i % area;
        float x = o->in[i];
        if (kind == LARGEST) x = i % 3 ? largest : -largest;
        if (kind == ONE_HUGE_CHANNEL && channel == 5) x *= 0x1p100F;
        if (kind == HUGE_IN_LAST_SLICE && channel == depth - 2) x *= 0x1p124F;
        if (kind == ONE_HUGE_PIXEL && at == 10) x *= 0x1p90F;
        if (kind == ZEROS) x = 0;
        if (kind == SMALL) x *= 0x1p-100F;
        if (kind == DENORMAL) x = i % 2 ? 0x1p-130F : -0x1p-128F;
        if (kind == CONSTANT) x = 1;
        if (kind == ALTERNATING) x = at % 2 ? 100 : -100;
        o->in[i] = widened(rounded(x));
    }
    for (int64_t i = 0; i < weights; i++) {
        const int64_t filter = is_data(o) ? i / 9 % o->v.c : i / (9 * o->v.c);
        if (kind == LARGEST) o->w[i] *= 0x1p-10F;
        if (kind == CONSTANT) o->w[i] = 1;
        if (kind == ALTERNATING) o->w[i] = i % 9 % 2 ? 3 : -3;
        if (kind == FILTERS)
            o->w[i] = filter % 4 == 0   ? 0
                      : filter % 4 == 1 ? o->w[i] * 0x1p80F
                      : filter % 4 == 2 ? o->w[i] * 0x1p-80F
                      : i % 7           ? 0
                                        : FLT_MAX / 1e4F;
    }
}

/* Norm over `n` values, `step` apart. */
static double norm(const float *v, int64_t n, int64_t step)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++) sum += (double)v[i * step] * (double)v[i * step];
    return sqrt(sum);
}

/* The sum of the norms of the pixels of result i's tile, times that of the norms of its filter's taps. */
static double tile_bound(const struct conv *o, int64_t i)
{
    const struct wl_window *v = &o->v;
    const int64_t channels = is_data(o) ? v->c : v->k, height = is_data(o) ? v->h : v->p,
                  width = is_data(o) ? v->w : v->q;
    const int64_t depth = is_data(o) ? v->k : v->c, h = is_data(o) ? v->p : v->h, wide = is_data(o) ? v->q : v->w;
    const int64_t column = i % width / 4 * 4, row = i / width % height / 4 * 4,
                  channel = i / (width * height) % channels;
    const int64_t image = i / (width * height * channels), pad = is_data(o) ? 2 - v->pad[0] : v->pad[0];
    double pixels = 0, taps = 0;
    for (int64_t r = row - pad; r < row - pad + 6; r++)
        for (int64_t s = column - pad; s < column - pad + 6; s++)
            if (r >= 0 && r < h && s >= 0 && s < wide)
                pixels += norm(o->in + image * depth * h * wide + r * wide + s, depth, h * wide);
    for (int64_t t = 0; t < 9; t++)
        taps +=
            is_data(o) ? norm(o->w + channel * 9 + t, v->k, v->c * 9) : norm(o->w + channel * v->c * 9 + t, v->c, 9);
    return pixels * taps;
}

/* Each result lies within an error that is relative to the norms of its tile and of its filter: twice of what was
 * measured, of which a sum of 32 bits that overflowed would be off by a thousandfold. */
static void test_extreme_values(void **state)
{
    (void)state;
    need();
    for (int kind = 0; kind < EXTREMES; kind++)
        for (int pass = WL_PASS_FORWARD; pass <= WL_PASS_DATA; pass++) {
            struct wl_arena *a = wl_arena_new(NULL);
            const int64_t c = pass == WL_PASS_DATA ? 16 : 288; /* 288 are summed */
            struct conv o = conv_of(a, window(1, c, 304 - c, 9, 10, 1), (enum wl_pass)pass, false, false);
            fill_extreme(&o, (enum extreme)kind);
            const float *got = result(a, &o);
            for (int64_t i = 0; i < out_count(&o); i++) {
                const double exact = sum_at(&o, o.w, i), most = tile_bound(&o, i);
                if (!(fabs(got[i] - exact) <= 0x1p-8 * fabs(exact) + 2.5e-4 * most + 0x1p-110))
                    fail_msg("%s, extreme %d: result %lld is %g instead of %g", is_data(&o) ? "data" : "forward", kind,
                             (long long)i, got[i], exact);
            }
            wl_arena_free(a);
        }
}

/* Where all numbers of a point have the signs that make their sums largest, sums of products come as close to 2^31 as
 * they can. */
static void test_sums_reach_their_bound(void **state)
{
    (void)state;
    need();
    for (int point = 0; point < 36; point++) {
        struct wl_arena *a = wl_arena_new(NULL);
        struct conv o = conv_of(a, window(1, 256, 16, 6, 6, 0), WL_PASS_FORWARD, false, false);
        const float *rows = wl_winograd_into[point / 6], *columns = wl_winograd_into[point % 6];
        const float *down = wl_winograd_filter[point / 6], *across = wl_winograd_filter[point % 6];
        for (int64_t i = 0; i < in_count(&o); i++) o.in[i] = rows[i / 6 % 6] * columns[i % 6] < 0 ? -1 : 1;
        for (int64_t i = 0; i < 16 * 256 * 9; i++) o.w[i] = down[i % 9 / 3] * across[i % 3] < 0 ? -1 : 1;
        const float *got = result(a, &o);
        for (int64_t i = 0; i < out_count(&o); i++) {
            const double exact = sum_at(&o, o.w, i);
            if (!(fabs(got[i] - exact) <= 0x1p-7 * fabs(exact) + 20))
                fail_msg("point %d: %g, not %g", point, got[i], exact);
        }
        wl_arena_free(a);
    }
}

/* A value that is not finite makes NaN of all results of the tiles that read it, through a relu too, and leaves other
 * tiles, other images and filters that do not have it alone. */
static void check_not_finite(enum wl_pass pass, float x)
{
    struct wl_arena *a = wl_arena_new(NULL);
    struct conv o = conv_of(a, window(2, 32, 32, 14, 14, 1), pass, false, pass == WL_PASS_FORWARD);
    const int64_t value = 3 * 196 + 6 * 14 + 7; /* of tiles of rows 4 to 7 and columns 4 to 11 */
    const int64_t weight = pass == WL_PASS_FORWARD ? (7 * 32 + 9) * 9 + 4 : (9 * 32 + 7) * 9 + 4;
    const float *before = result(a, &o), usual = o.in[value];
    o.in[value] = x;
    const float *got = result(a, &o);
    for (int64_t i = 0; i < out_count(&o); i++) {
        const int64_t row = i / 14 % 14, column = i % 14;
        const bool reads = i < 196 * 32 && row >= 4 && row <= 7 && column >= 4 && column <= 11;
        if (reads ? !isnan(got[i]) : !(got[i] == before[i]))
            fail_msg("(%d,%d) is %g, before %g", (int)row, (int)column, got[i], before[i]);
    }
    o.in[value] = usual;
    o.w[weight] = x;
    got = result(a, &o);
    for (int64_t i = 0; i < out_count(&o); i++)
        if (i / 196 % 32 == 7 ? !isnan(got[i]) : !(got[i] == before[i]))
            fail_msg("filter %d: %g", (int)(i / 196 % 32), got[i]);
    wl_arena_free(a);
}

static void test_nan_and_infinity_come_out(void **state)
{
    (void)state;
    need();
    static const float kinds[] = { NAN, INFINITY, -INFINITY };
    for (size_t kind = 0; kind < WL_COUNT(kinds); kind++)
        for (int pass = WL_PASS_FORWARD; pass <= WL_PASS_DATA; pass++)
            check_not_finite((enum wl_pass)pass, kinds[kind]);
}

static void test_same_bits_for_any_number_of_threads(void **state)
{
    (void)state;
    need();
    const int threads = omp_get_max_threads();
    struct wl_arena *a = wl_arena_new(NULL);
    for (int pass = WL_PASS_FORWARD; pass <= WL_PASS_DATA; pass++) {
        const struct conv o = conv_of(a, window(3, 48, 80, 29, 22, 1), (enum wl_pass)pass, false, false);
        const float *first = NULL;
        for (int n = 1; n <= 4; n *= 2) {
            omp_set_num_threads(n);
            const float *got = result(a, &o);
            if (first) assert_memory_equal(got, first, (size_t)out_count(&o) * sizeof *got);
            first = got;
        }
    }
    omp_set_num_threads(threads);
    wl_arena_free(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_passes_equal_sums_in_double),
                                        cmocka_unit_test(test_paddings_that_differ),
                                        cmocka_unit_test(test_uneven_values_err_as_documented),
                                        cmocka_unit_test(test_extreme_values),
                                        cmocka_unit_test(test_sums_reach_their_bound),
                                        cmocka_unit_test(test_nan_and_infinity_come_out),
                                        cmocka_unit_test(test_same_bits_for_any_number_of_threads) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
