/* Vectors of 16 floats, and the functions of networks over them: one register of AVX-512, two of AVX2 or four of SSE.
 */
#ifndef WL_NN_SIMD_VECTOR_H
#define WL_NN_SIMD_VECTOR_H

#include <stdint.h>
#include <string.h>

enum { LANES = 16 };
typedef float vec __attribute__((vector_size(64)));
typedef int32_t vec_int __attribute__((vector_size(64)));

/* Vectors are passed by value between functions that all become one. */
#pragma GCC diagnostic ignored "-Wpsabi"
#define INLINE static inline __attribute__((always_inline, unused))

INLINE vec vec_load(const float *p)
{
    vec v;
    memcpy(&v, p, sizeof v);
    return v;
}

INLINE void vec_store(float *p, vec v) { memcpy(p, &v, sizeof v); }

INLINE vec vec_splat(float x) { return x - (vec) { 0 }; }

/* a where the mask's bits are set, else b. */
INLINE vec vec_select(vec_int mask, vec a, vec b) { return (vec)((mask & (vec_int)a) | (~mask & (vec_int)b)); }

INLINE float vec_sum(vec v)
{
    float sum = 0;
    for (int i = 0; i < LANES; i++) sum += v[i];
    return sum;
}

/* e^x for x <= 0, to 1 unit in the last place or two; below -80 it is e^-80. 2^n times a polynomial on [-ln 2/2,
 * ln 2/2], whose coefficients are those of Cephes' expf (Moshier). */
INLINE vec vec_exp_negative(vec x)
{
    const float shift = 0x1.8p23f;              /* adding it rounds to integers, which are then in the lowest bits */
    x = vec_select(x < -80, vec_splat(-80), x); /* a NAN stays one */
    vec shifted = x * 1.44269504f + shift, n = shifted - shift;
    vec r = x - n * 0.693359375f + n * 2.12194440e-4f;
    vec p = vec_splat(1.9875691500e-4f);
    p = p * r + 1.3981999507e-3f;
    p = p * r + 8.3334519073e-3f;
    p = p * r + 4.1665795894e-2f;
    p = p * r + 1.6666665459e-1f;
    p = p * r + 5.0000001201e-1f;
    p = p * (r * r) + r + 1;
    return (vec)((vec_int)p + ((vec_int)shifted << 23)); /* the shift's own bits leave at the top */
}

/* log(1 + t) for 0 <= t <= 1, 3e-8 off at most, relative: t times a Chebyshev fit. */
INLINE vec vec_log1p(vec t)
{
    vec p = vec_splat(5.2534578e-3f);
    p = p * t - 2.95885074e-2f;
    p = p * t + 7.8361668e-2f;
    p = p * t - 1.36747697e-1f;
    p = p * t + 1.91114311e-1f;
    p = p * t - 2.48443699e-1f;
    p = p * t + 3.33192713e-1f;
    p = p * t - 4.99995015e-1f;
    p = p * t + 9.99999971e-1f;
    return p * t;
}

/* log(1 + e^x) - log 2 */
INLINE vec vec_softplus(vec x)
{
    const vec t = vec_exp_negative((vec)((vec_int)x | INT32_MIN));
    return vec_select(x < 0, vec_splat(0), x) + (vec_log1p(t) - 0.693147181f);
}

/* The same and its derivative 1/(1 + e^-x). */
struct softplus {
    vec value, slope;
};
INLINE struct softplus vec_softplus_slope(vec x)
{
    const vec t = vec_exp_negative((vec)((vec_int)x | INT32_MIN)), upper = 1 / (1 + t);
    return (struct softplus) { .value = vec_select(x < 0, vec_splat(0), x) + (vec_log1p(t) - 0.693147181f),
                               .slope = vec_select(x > 0, upper, t * upper) };
}

/* 1/(1 + e^-x) */
INLINE vec vec_sigmoid(vec x)
{
    const vec t = vec_exp_negative((vec)((vec_int)x | INT32_MIN)), upper = 1 / (1 + t);
    return vec_select(x > 0, upper, t * upper);
}

/* sin(x) for 0 <= x <= pi/2: Taylor's polynomial of degree 13, 7e-10 off at most. */
INLINE vec vec_sin_quarter(vec x)
{
    const vec x2 = x * x;
    vec p = vec_splat(1.6059043e-10f);
    p = p * x2 - 2.5052108e-8f;
    p = p * x2 + 2.7557319e-6f;
    p = p * x2 - 1.9841270e-4f;
    p = p * x2 + 8.3333333e-3f;
    p = p * x2 - 1.6666667e-1f;
    return p * x2 * x + x;
}

/* ---- vectors of eight ---- */

typedef float vec8 __attribute__((vector_size(32)));
enum { EIGHT = 8 };

INLINE vec8 eight_load(const float *p)
{
    vec8 v;
    memcpy(&v, p, sizeof v);
    return v;
}

INLINE void eight_store(float *p, vec8 v) { memcpy(p, &v, sizeof v); }

/* The sums of eight vectors, in order. Each level halves what is left of a vector and joins two. */
INLINE vec8 sums_of(const vec v[EIGHT])
{
    vec two[4], four[2];
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++) {
        const vec a = v[i], b = v[i + 4];
        two[i] = __builtin_shufflevector(a, b, 0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23) +
                 __builtin_shufflevector(a, b, 8, 9, 10, 11, 12, 13, 14, 15, 24, 25, 26, 27, 28, 29, 30, 31);
    }
#pragma GCC unroll 2
    for (int i = 0; i < 2; i++) {
        const vec a = two[i], b = two[i + 2];
        four[i] = __builtin_shufflevector(a, b, 0, 1, 2, 3, 16, 17, 18, 19, 8, 9, 10, 11, 24, 25, 26, 27) +
                  __builtin_shufflevector(a, b, 4, 5, 6, 7, 20, 21, 22, 23, 12, 13, 14, 15, 28, 29, 30, 31);
    }
    const vec a = four[0], b = four[1];
    const vec last = __builtin_shufflevector(a, b, 0, 1, 16, 17, 4, 5, 20, 21, 8, 9, 24, 25, 12, 13, 28, 29) +
                     __builtin_shufflevector(a, b, 2, 3, 18, 19, 6, 7, 22, 23, 10, 11, 26, 27, 14, 15, 30, 31);
    return __builtin_shufflevector(last, last, 0, 2, 4, 6, 8, 10, 12, 14) +
           __builtin_shufflevector(last, last, 1, 3, 5, 7, 9, 11, 13, 15);
}

#endif
