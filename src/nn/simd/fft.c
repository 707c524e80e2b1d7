/* Fourier transforms over vectors of channels: no shuffles, since a vector holds one point of many signals. A vector
 * of numbers that are real carries two channels a lane, one as real and one as imaginary part; what comes of it is
 * taken apart by the symmetry of their spectra. */
#include "nn/simd/levels.h"
#include "nn/simd/vector.h"

_Static_assert(2 * LANES == WL_FFT_CHANNELS, "a point is two vectors");

struct z {
    vec re, im;
};

INLINE struct z plus(struct z a, struct z b) { return (struct z) { a.re + b.re, a.im + b.im }; }

INLINE struct z minus(struct z a, struct z b) { return (struct z) { a.re - b.re, a.im - b.im }; }

INLINE struct z scaled(struct z a, float by) { return (struct z) { a.re * by, a.im * by }; }

/* a - i b, a + i b */
INLINE struct z minus_i(struct z a, struct z b) { return (struct z) { a.re + b.im, a.im - b.re }; }

INLINE struct z plus_i(struct z a, struct z b) { return (struct z) { a.re - b.im, a.im + b.re }; }

INLINE struct z times(struct z a, const float w[2])
{
    return (struct z) { a.re * w[0] - a.im * w[1], a.re * w[1] + a.im * w[0] };
}

/* real and imaginary part change places: a transform between two such swaps is its inverse */
INLINE struct z swapped(struct z a) { return (struct z) { a.im, a.re }; }

/* ---- one transform ---- */

/* b[v] = sum over u of a[u] exp(-2 pi i u v/radix) */
INLINE void butterfly(int radix, const struct z *a, struct z *b)
{
    if (radix == 2) {
        b[0] = plus(a[0], a[1]);
        b[1] = minus(a[0], a[1]);
    } else if (radix == 3) {
        struct z sum = plus(a[1], a[2]), turn = scaled(minus(a[1], a[2]), 0.866025403784438647f);
        struct z rest = plus(a[0], scaled(sum, -0.5f));
        b[0] = plus(a[0], sum);
        b[1] = minus_i(rest, turn);
        b[2] = plus_i(rest, turn);
    } else if (radix == 4) {
        struct z even = plus(a[0], a[2]), odd = plus(a[1], a[3]), low = minus(a[0], a[2]), high = minus(a[1], a[3]);
        b[0] = plus(even, odd);
        b[1] = minus_i(low, high);
        b[2] = minus(even, odd);
        b[3] = plus_i(low, high);
    } else {
        const float c1 = 0.309016994374947424f, c2 = -0.809016994374947424f; /* cos, sin of 2 pi/5 and 4 pi/5 */
        const float s1 = 0.951056516295153572f, s2 = 0.587785252292473129f;
        struct z p = plus(a[1], a[4]), q = plus(a[2], a[3]), d = minus(a[1], a[4]), f = minus(a[2], a[3]);
        struct z near = plus(a[0], plus(scaled(p, c1), scaled(q, c2)));
        struct z far = plus(a[0], plus(scaled(p, c2), scaled(q, c1)));
        struct z turn = plus(scaled(d, s1), scaled(f, s2)), turn2 = minus(scaled(d, s2), scaled(f, s1));
        b[0] = plus(a[0], plus(p, q));
        b[1] = minus_i(near, turn);
        b[2] = minus_i(far, turn2);
        b[3] = plus_i(far, turn2);
        b[4] = plus_i(near, turn);
    }
}

/* A stage of Stockham's algorithm: q butterflies of this radix on each of `runs` points that lie side by side. */
INLINE void stage(int radix, int q, int runs, const float *twiddle, const struct z *restrict x, struct z *restrict y)
{
    for (int j = 0; j < q; j++, twiddle += 2 * radix, y += radix * runs)
        for (int k = 0; k < runs; k++) {
            struct z a[5], b[5];
            for (int u = 0; u < radix; u++) a[u] = x[k + runs * (j + u * q)];
            butterfly(radix, a, b);
            y[k] = b[0];
            for (int u = 1; u < radix; u++) y[k + runs * u] = times(b[u], twiddle + 2 * u);
        }
}

/* The transform of x, in x or in `other`: returns which. */
static struct z *transform(const struct wl_fft *f, struct z *x, struct z *other)
{
    int left = f->n, runs = 1;
    for (int i = 0; i < f->stages; i++) {
        const int radix = f->radix[i], q = left / radix;
        switch (radix) {
        case 2: stage(2, q, runs, f->twiddle[i], x, other); break;
        case 3: stage(3, q, runs, f->twiddle[i], x, other); break;
        case 4: stage(4, q, runs, f->twiddle[i], x, other); break;
        default: stage(5, q, runs, f->twiddle[i], x, other); break;
        }
        struct z *done = other;
        other = x;
        x = done;
        runs *= radix;
        left = q;
    }
    return x;
}

/* ---- channels in memory ---- */

typedef uint16_t vec_16 __attribute__((vector_size(32)));
typedef uint32_t vec_32 __attribute__((vector_size(64)));

/* LANES numbers of bf16, and to the nearest of them, of two as near the even one; a NAN stays one. */
INLINE vec load_bf16(const uint16_t *x)
{
    vec_16 v;
    memcpy(&v, x, sizeof v);
    return (vec)(__builtin_convertvector(v, vec_32) << 16);
}

INLINE void store_bf16(uint16_t *x, vec v)
{
    const vec_32 bits = (vec_32)v, rounded = (bits + 0x7fff + (bits >> 16 & 1)) >> 16, nan = (vec_32)(v != v);
    const vec_16 to = __builtin_convertvector((nan & 0x7fc0) | (~nan & rounded), vec_16);
    memcpy(x, &to, sizeof to);
}

/* Up to WL_FFT_CHANNELS channels of a point, in f32 or bf16, as two vectors; what is not there is 0. */
INLINE struct z load(const void *x, int64_t at, int channels, bool bf16)
{
    const size_t size = bf16 ? sizeof(uint16_t) : sizeof(float);
    char part[WL_FFT_CHANNELS * sizeof(float)] = { 0 };
    const char *from = (const char *)x + (size_t)at * size;
    if (channels < WL_FFT_CHANNELS) from = memcpy(part, from, (size_t)channels * size);
    const char *other = from + LANES * size;
    if (bf16) return (struct z) { load_bf16((const void *)from), load_bf16((const void *)other) };
    return (struct z) { vec_load((const void *)from), vec_load((const void *)other) };
}

INLINE void store(void *x, int64_t at, int channels, bool bf16, struct z v)
{
    const size_t size = bf16 ? sizeof(uint16_t) : sizeof(float);
    char part[WL_FFT_CHANNELS * sizeof(float)];
    char *whole = (char *)x + (size_t)at * size, *to = channels < WL_FFT_CHANNELS ? part : whole;
    char *other = to + LANES * size;
    if (bf16) {
        store_bf16((void *)to, v.re);
        store_bf16((void *)other, v.im);
    } else {
        vec_store((void *)to, v.re);
        vec_store((void *)other, v.im);
    }
    if (to == part) memcpy(whole, part, (size_t)channels * size);
}

/* Half of the channels of one mode: 0 the lower LANES of them, 1 the rest. */
INLINE int half_of(int channels, int half)
{
    int rest = channels - half * LANES;
    return rest < 0 ? 0 : rest < LANES ? rest : LANES;
}

INLINE vec load_half(const float *x, int channels)
{
    vec v = { 0 };
    if (channels == LANES) return vec_load(x);
    memcpy(&v, x, (size_t)channels * sizeof(float));
    return v;
}

INLINE void store_half(float *x, int channels, vec v)
{
    if (channels == LANES)
        vec_store(x, v);
    else
        memcpy(x, &v, (size_t)channels * sizeof(float));
}

/* ---- two dimensions ---- */

/* The memory of a transform: columns [modes][2 halves][h] of the spectra of rows, and two rows or columns. */
struct work {
    struct z *columns, *a, *b;
};

static struct work work_at(const struct wl_fft2 *f, void *scratch)
{
    struct z *at = scratch;
    const int64_t most = f->across.n > f->down.n ? f->across.n : f->down.n;
    return (struct work) { at, at + 2 * f->modes * f->down.n, at + 2 * f->modes * f->down.n + most };
}

/* Of the spectrum of a row with channels packed as a + i b: those of both at mode k. */
static void take_apart(const struct wl_fft2 *f, const struct z *row, struct z *columns, int64_t r)
{
    const int64_t w = f->across.n, h = f->down.n;
    for (int64_t k = 0; k < f->modes; k++) {
        struct z p = row[k], q = row[k ? w - k : 0];
        columns[(2 * k) * h + r] = (struct z) { (p.re + q.re) * 0.5f, (p.im - q.im) * 0.5f };
        columns[(2 * k + 1) * h + r] = (struct z) { (p.im + q.im) * 0.5f, (q.re - p.re) * 0.5f };
    }
}

INLINE void forward(const struct wl_fft2 *f, bool doubled, const void *x, bool bf16, int64_t x_step, float *re,
                    float *im, int64_t s_step, int channels, void *scratch)
{
    const int64_t w = f->across.n, h = f->down.n;
    struct work m = work_at(f, scratch);
    for (int64_t r = 0; r < h; r++) {
        for (int64_t c = 0; c < w; c++) m.a[c] = load(x, (r * w + c) * x_step, channels, bf16);
        take_apart(f, transform(&f->across, m.a, m.b), m.columns, r);
    }
    for (int64_t k = 0; k < f->modes; k++) {
        const float scale = f->scale * (doubled && k && 2 * k != w ? 2 : 1);
        for (int half = 0; half < 2; half++) {
            const int n = half_of(channels, half);
            if (!n) continue;
            const struct z *done = transform(&f->down, m.columns + (2 * k + half) * h, m.a);
            for (int64_t u = 0; u < h; u++) {
                const int64_t at = (u * f->modes + k) * s_step + half * LANES;
                struct z v = scaled(done[u], scale);
                store_half(re + at, n, v.re);
                store_half(im + at, n, v.im);
            }
        }
    }
}

void WL_SIMD_NAME(wl_fft2)(const struct wl_fft2 *f, bool doubled, const void *x, bool bf16, int64_t x_step, float *re,
                           float *im, int64_t s_step, int channels, void *scratch)
{
    if (bf16)
        forward(f, doubled, x, true, x_step, re, im, s_step, channels, scratch);
    else
        forward(f, doubled, x, false, x_step, re, im, s_step, channels, scratch);
}

/* The spectrum of a row with both channels packed, swapped for the way back. */
static void put_together(const struct wl_fft2 *f, bool doubled, const struct z *columns, int64_t r, struct z *row)
{
    const int64_t w = f->across.n, h = f->down.n;
    const float scale = f->scale * (doubled ? 1 : 0.5f);
    for (int64_t k = f->modes; k <= w - f->modes; k++) row[k] = (struct z) { 0 };
    for (int64_t k = 0; k < f->modes; k++) {
        struct z a = columns[(2 * k) * h + r], b = columns[(2 * k + 1) * h + r];
        if (k == 0 || 2 * k == w) { /* their own mirror images: the imaginary parts have nothing to add to */
            row[k] = scaled((struct z) { b.re, a.re }, f->scale);
        } else {
            row[k] = scaled(swapped(plus_i(a, b)), scale);
            row[w - k] = scaled((struct z) { b.re - a.im, a.re + b.im }, scale);
        }
    }
}

INLINE void inverse(const struct wl_fft2 *f, bool doubled, const float *re, const float *im, int64_t s_step, void *x,
                    bool bf16, int64_t x_step, int channels, void *scratch)
{
    const int64_t w = f->across.n, h = f->down.n;
    struct work m = work_at(f, scratch);
    for (int64_t k = 0; k < f->modes; k++)
        for (int half = 0; half < 2; half++) {
            const int n = half_of(channels, half);
            struct z *column = m.columns + (2 * k + half) * h;
            for (int64_t u = 0; u < h; u++) {
                const int64_t at = (u * f->modes + k) * s_step + half * LANES;
                m.a[u] = (struct z) { load_half(im + at, n), load_half(re + at, n) };
            }
            const struct z *done = transform(&f->down, m.a, m.b);
            for (int64_t r = 0; r < h; r++) column[r] = swapped(done[r]);
        }
    for (int64_t r = 0; r < h; r++) {
        put_together(f, doubled, m.columns, r, m.a);
        const struct z *done = transform(&f->across, m.a, m.b);
        for (int64_t c = 0; c < w; c++) store(x, (r * w + c) * x_step, channels, bf16, swapped(done[c]));
    }
}

void WL_SIMD_NAME(wl_inverse_fft2)(const struct wl_fft2 *f, bool doubled, const float *re, const float *im,
                                   int64_t s_step, void *x, bool bf16, int64_t x_step, int channels, void *scratch)
{
    if (bf16)
        inverse(f, doubled, re, im, s_step, x, true, x_step, channels, scratch);
    else
        inverse(f, doubled, re, im, s_step, x, false, x_step, channels, scratch);
}
