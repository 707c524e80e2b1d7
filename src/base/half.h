/* Numbers of 16 bits from and to f32: to the nearest, of two as near the even one; a NAN stays one.
 *
 *     f16   1 bit of sign, 5 of exponent, 10 of fraction: 2^-24 (subnormal, below 2^-14) to 65504, IEEE 754
 *     bf16  1, 8, 7: the upper half of an f32
 *
 * TF32 is 1, 8, 10 in the 32 bits of an f32: what tensor cores read of it. */
#ifndef WL_BASE_HALF_H
#define WL_BASE_HALF_H

#include <stdint.h>
#include <string.h>

static inline uint32_t wl_float_bits(float f)
{
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits);
    return bits;
}

static inline float wl_bits_float(uint32_t bits)
{
    float f;
    memcpy(&f, &bits, sizeof f);
    return f;
}

static inline float wl_bf16_to_f32(uint16_t h) { return wl_bits_float((uint32_t)h << 16); }

static inline uint16_t wl_f32_to_bf16(float f)
{
    const uint32_t bits = wl_float_bits(f);
    return (uint16_t)(f != f ? bits >> 16 | 0x40 : (bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

/* The exponents' biases differ by 112; subnormal numbers become normal by the product, which is exact. */
static inline float wl_f16_to_f32(uint16_t h)
{
    const uint32_t sign = (uint32_t)(h & 0x8000) << 16, size = (uint32_t)(h & 0x7fff) << 13;
    const float scaled = wl_bits_float(size) * 0x1p112f;
    return wl_bits_float(sign | (size < 0x0f800000 ? wl_float_bits(scaled) : 0x7f800000 | size));
}

static inline uint16_t wl_f32_to_f16(float f)
{
    const uint32_t bits = wl_float_bits(f), sign = bits >> 16 & 0x8000, size = bits & 0x7fffffff;
    if (size > 0x7f800000) return (uint16_t)(sign | 0x7e00 | (size >> 13 & 0x3ff)); /* NAN */
    if (size >= 0x477ff000) return (uint16_t)(sign | 0x7c00);                       /* rounds above 65504 */
    if (size < 0x38800000) /* below 2^-14: a multiple of 2^-24, which the sum with 0.5 rounds to */
        return (uint16_t)(sign | (wl_float_bits(wl_bits_float(size) + 0.5f) - 0x3f000000));
    return (uint16_t)(sign | (size - 0x38000000 + 0xfff + (size >> 13 & 1)) >> 13);
}

static inline float wl_f32_to_tf32(float f)
{
    const uint32_t bits = wl_float_bits(f);
    return f != f ? f : wl_bits_float((bits + 0xfff + (bits >> 13 & 1)) & ~0x1fffu);
}

#endif
