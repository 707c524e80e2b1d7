#include "nn/simd/levels.h"

#ifdef __x86_64__
static int has_v3(void)
{
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi") &&
           __builtin_cpu_supports("bmi2");
}

static int has_v4(void)
{
    return has_v3() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
           __builtin_cpu_supports("avx512vl");
}

const struct wl_simd *wl_simd(void) { return has_v4() ? &wl_simd_v4 : has_v3() ? &wl_simd_v3 : &wl_simd_plain; }
#else
const struct wl_simd *wl_simd(void) { return &wl_simd_plain; }
#endif
