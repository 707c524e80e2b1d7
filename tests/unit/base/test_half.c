/* f16, bf16 and TF32 against the compiler's _Float16, and against what rounding to the nearest means. */
#include "base/half.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

/* All f16, and the middle between each and the next. */
static void test_every_f16(void **state)
{
    (void)state;
    for (uint32_t h = 0; h < 0x10000; h++) {
        const float f = wl_f16_to_f32((uint16_t)h);
        const uint32_t size = h & 0x7fff;
        const uint32_t back = wl_f32_to_f16(f);
        if (size > 0x7c00) {
            assert_true(isnan(f));
            assert_true((back & 0x7fff) > 0x7c00);
            continue;
        }
        assert_int_equal(back, h);
        const double exact = size == 0x7c00 ? (double)INFINITY
                             : size < 0x400 ? ldexp(size, -24)
                                            : ldexp(0x400 + (size & 0x3ff), (int)(size >> 10) - 25);
        assert_true((double)f == (h & 0x8000 ? -exact : exact));
    }
}

static void test_ties_of_f16(void **state)
{
    (void)state;
    for (uint32_t h = 0; h < 0x7bff; h++) {
        const float low = wl_f16_to_f32((uint16_t)h), high = wl_f16_to_f32((uint16_t)(h + 1));
        const float middle = (low + high) / 2;
        assert_int_equal(wl_f32_to_f16(middle), h % 2 ? h + 1 : h);
        assert_int_equal(wl_f32_to_f16(nextafterf(middle, 0)), h);
        assert_int_equal(wl_f32_to_f16(nextafterf(middle, high)), h + 1);
        assert_int_equal(wl_f32_to_f16(-middle), 0x8000 | (h % 2 ? h + 1 : h));
    }
    assert_int_equal(wl_f32_to_f16(nextafterf(65520, 0)), 0x7bff);
    assert_int_equal(wl_f32_to_f16(65520), 0x7c00);
    assert_int_equal(wl_f32_to_f16(-INFINITY), 0xfc00);
    assert_int_equal(wl_f32_to_f16(1e-40f), 0);
}

#ifdef __FLT16_MAX__
static void test_f16_is_the_compilers(void **state)
{
    (void)state;
    for (uint64_t bits = 0; bits <= 0xffffffff; bits += 4093) {
        const float f = wl_bits_float((uint32_t)bits);
        if (isnan(f)) continue;
        const _Float16 theirs = (_Float16)f;
        uint16_t h;
        memcpy(&h, &theirs, sizeof h);
        assert_int_equal(wl_f32_to_f16(f), h);
    }
}
#endif

static void test_bf16(void **state)
{
    (void)state;
    for (uint32_t h = 0; h < 0x7f7f; h++) {
        const float low = wl_bf16_to_f32((uint16_t)h);
        const float middle = wl_bits_float(wl_float_bits(low) | 0x8000);
        assert_int_equal(wl_f32_to_bf16(low), h);
        assert_int_equal(wl_f32_to_bf16(middle), h % 2 ? h + 1 : h);
        assert_int_equal(wl_f32_to_bf16(nextafterf(middle, 0)), h);
    }
    assert_int_equal(wl_f32_to_bf16(INFINITY), 0x7f80);
    assert_true(isnan(wl_bf16_to_f32(wl_f32_to_bf16(wl_bits_float(0x7f800001)))));
}

static void test_tf32(void **state)
{
    (void)state;
    for (uint32_t h = 0; h < 0x3fbff; h += 127) { /* all bits of a TF32 but the sign */
        const float low = wl_bits_float(h << 13), high = wl_bits_float((h + 1) << 13);
        const float middle = wl_bits_float(h << 13 | 0x1000);
        assert_true(wl_f32_to_tf32(low) == low);
        assert_true(wl_f32_to_tf32(middle) == (h % 2 ? high : low));
        assert_true(wl_f32_to_tf32(-nextafterf(middle, high)) == -high);
    }
    assert_true(isinf(wl_f32_to_tf32(INFINITY)));
    assert_true(isnan(wl_f32_to_tf32(wl_bits_float(0x7fffffff))));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_f16),
        cmocka_unit_test(test_ties_of_f16),
        cmocka_unit_test(test_bf16),
        cmocka_unit_test(test_tf32),
#ifdef __FLT16_MAX__
        cmocka_unit_test(test_f16_is_the_compilers),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
