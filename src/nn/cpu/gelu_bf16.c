#include "nn/cpu/gelu_bf16.h"

#ifdef __x86_64__
#include <immintrin.h>
#include <stddef.h>

#define TARGET __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx512bf16")))
#define INLINE TARGET static inline __attribute__((always_inline))

enum { LANES = 16, PIECES = 32, DEGREE = 3 };

/* Phi(-z), Phi the distribution function of the normal distribution, on pieces of 1/6 with centres n/6: c[0][n] +
 * c[1][n] t
 * + ... of t = 6 z - n, |t| <= 1/2, by interpolation in Chebyshev's points; 1.5e-7 off at most, its derivative 2.7e-5,
 * where a number rounded to bf16 is up to 4e-3 off. A table of 32 numbers is two registers, which one instruction looks
 * up 16 times. Beyond the last piece, from 5.25 on, it is taken as 0, where it is 8e-8. */
static const float per_unit = 6, end = 31.5f;
static const float coefficients[DEGREE + 1][PIECES] = {
    { 0.5f,
      0.433816224f,
      0.36944142f,
      0.308537662f,
      0.252492666f,
      0.202328518f,
      0.158655375f,
      0.121672601f,
      0.0912112892f,
      0.0668072402f,
      0.0477903634f,
      0.0333764963f,
      0.0227501057f,
      0.0151301045f,
      0.0098152915f,
      0.00620962959f,
      0.00383034931f,
      0.00230324036f,
      0.00134987803f,
      0.000770969957f,
      0.000429049862f,
      0.000232621969f,
      0.000122861762f,
      6.32063311e-05f,
      3.16694895e-05f,
      1.54532754e-05f,
      7.34284913e-06f,
      3.39736062e-06f,
      1.53046233e-06f,
      6.71244777e-07f,
      2.86610316e-07f,
      1.19133169e-07f },
    { -0.0664903671f,   -0.0655732751f,   -0.0628971979f,   -0.0586775504f,   -0.0532413311f,   -0.0469853133f,
      -0.040328458f,    -0.0336664543f,   -0.0273350179f,   -0.021586271f,    -0.0165795274f,   -0.0123851979f,
      -0.00899849646f,  -0.00635877158f,  -0.004370315f,    -0.00292138266f,  -0.00189932995f,  -0.00120101543f,
      -0.000738640316f, -0.000441828364f, -0.000257045729f, -0.000145446538f, -8.00446942e-05f, -4.28447784e-05f,
      -2.23048555e-05f, -1.12937214e-05f, -5.56174246e-06f, -2.66391771e-06f, -1.24098597e-06f, -5.62275375e-07f,
      -2.47780633e-07f, -1.06199309e-07f },
    { 0.0f,
      0.000909175142f,
      0.00174422655f,
      0.0024410109f,
      0.00295348116f,
      0.00325851887f,
      0.00335681718f,
      0.00327002374f,
      0.0030350755f,
      0.00269711134f,
      0.00230241404f,
      0.00189257623f,
      0.00150061538f,
      0.00114923588f,
      0.000850984594f,
      0.000609765644f,
      0.000423077436f,
      0.000284398411f,
      0.000185301658f,
      0.000117068244f,
      7.17371877e-05f,
      4.26493716e-05f,
      2.46062355e-05f,
      1.37793768e-05f,
      7.49104402e-06f,
      3.9541269e-06f,
      2.02681213e-06f,
      1.00898239e-06f,
      4.87873933e-07f,
      2.29153969e-07f,
      1.0456359e-07f,
      4.63554528e-08f },
    { 0.000307505426f,  0.000294848724f,  0.000258599204f,  0.000203594187f,  0.000136892122f,  6.65174375e-05f,
      1.29506844e-07f,  -5.61047382e-05f, -9.8230681e-05f,  -0.000124731945f, -0.000136298448f, -0.000135266571f,
      -0.000124906743f, -0.000108727807f, -8.99239458e-05f, -7.10272216e-05f, -5.37694577e-05f, -3.91134781e-05f,
      -2.73926944e-05f, -1.8497185e-05f,  -1.20572322e-05f, -7.59397699e-06f, -4.62492244e-06f, -2.72539728e-06f,
      -1.55481041e-06f, -8.59100794e-07f, -4.59937013e-07f, -2.3866329e-07f,  -1.2006943e-07f,  -5.85800386e-08f,
      -2.77226633e-08f, -1.27284316e-08f },
};

struct table {
    __m512 low[DEGREE + 1], high[DEGREE + 1];
};

INLINE __m512 look_up(const struct table *t, int k, __m512i at)
{
    return _mm512_permutex2var_ps(t->low[k], at, t->high[k]);
}

/* Phi(u), and its derivative. */
INLINE __m512 phi(const struct table *table, __m512 u, __m512 *density)
{
    const __m512 magic =
        _mm512_set1_ps(0x1.8p23f); /* adding it rounds to integers, which are then in the lowest bits */
    const __m512 z = _mm512_mul_ps(_mm512_abs_ps(u), _mm512_set1_ps(per_unit));
    const __mmask16 inside = _mm512_cmp_ps_mask(z, _mm512_set1_ps(end), _CMP_LT_OQ); /* not a NAN */
    const __m512 shifted = _mm512_add_ps(_mm512_maskz_mov_ps(inside, z), magic);
    const __m512i at = _mm512_castps_si512(shifted); /* of which the lookup reads five bits */
    const __m512 t = _mm512_sub_ps(z, _mm512_sub_ps(shifted, magic));
    const __m512 c1 = look_up(table, 1, at), c2 = look_up(table, 2, at), c3 = look_up(table, 3, at);
    const __m512 tail = _mm512_maskz_mov_ps(inside, _mm512_fmadd_ps(_mm512_fmadd_ps(_mm512_fmadd_ps(c3, t, c2), t, c1),
                                                                    t, look_up(table, 0, at)));
    const __m512 half = _mm512_fmadd_ps(_mm512_mul_ps(c3, _mm512_set1_ps(1.5f)), t, c2);
    *density =
        _mm512_maskz_mul_ps(inside, _mm512_set1_ps(-per_unit), _mm512_fmadd_ps(_mm512_add_ps(half, half), t, c1));
    const __mmask16 negative = _mm512_movepi32_mask(_mm512_castps_si512(u));
    return _mm512_mask_mov_ps(_mm512_sub_ps(_mm512_set1_ps(1), tail), negative, tail);
}

TARGET void wl_gelu_bf16(int64_t rows, int64_t n, const uint16_t *u, uint16_t *y, uint16_t *slope, int64_t step)
{
    struct table table;
    for (int k = 0; k <= DEGREE; k++) {
        table.low[k] = _mm512_loadu_ps(coefficients[k]);
        table.high[k] = _mm512_loadu_ps(coefficients[k] + LANES);
    }
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < n; j += LANES) {
            const __m256i bits = _mm256_loadu_si256((const void *)(u + i * n + j));
            const __m512 x = _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(bits), 16));
            __m512 density;
            const __m512 share = phi(&table, x, &density);
            _mm256_storeu_si256((void *)(y + i * step + j), (__m256i)_mm512_cvtneps_pbh(_mm512_mul_ps(x, share)));
            if (!slope) continue;
            _mm256_storeu_si256((void *)(slope + i * step + j),
                                (__m256i)_mm512_cvtneps_pbh(_mm512_fmadd_ps(x, density, share)));
        }
}
#endif
