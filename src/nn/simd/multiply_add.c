/* What a core multiplies and adds at most, in f32. */
#include "nn/simd/levels.h"

/* One register of this build; 12 sums hide the latency of two multiply-adds a cycle (4 cycles each). */
#ifdef __AVX512F__
typedef float reg __attribute__((vector_size(64)));
#elif defined(__AVX__)
typedef float reg __attribute__((vector_size(32)));
#else
typedef float reg __attribute__((vector_size(16)));
#endif
enum { SUMS = 12 };

double WL_SIMD_NAME(wl_multiply_add)(int64_t rounds, float factor)
{
    reg sum[SUMS], x = factor - (reg) { 0 };
    for (int i = 0; i < SUMS; i++) sum[i] = x;
    for (int64_t n = 0; n < rounds; n++) {
#pragma GCC unroll 12
        for (int i = 0; i < SUMS; i++) sum[i] = sum[i] * x + x;
    }
    float total = 0;
    for (int i = 0; i < SUMS; i++) total += sum[i][0];
    volatile float sink = total; /* so that it is computed */
    (void)sink;
    return 2. * (double)rounds * SUMS * (double)(sizeof(reg) / sizeof(float));
}
