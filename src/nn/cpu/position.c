#include "nn/cpu/cpu.h"
#include "nn/threads.h"

static void add_position(int64_t n, int64_t size, const float *restrict x, const float *restrict p, float *restrict y)
{
    for (int64_t k = 0; k < n; k++)
#pragma omp parallel for simd schedule(static)
        for (int64_t i = 0; i < size; i++) y[k * size + i] = x[k * size + i] + p[i];
}

static void sum_positions(int64_t n, int64_t size, const float *restrict dy, float *restrict dp)
{
#pragma omp parallel for simd schedule(static)
    for (int64_t i = 0; i < size; i++) {
        float sum = dy[i];
        for (int64_t k = 1; k < n; k++) sum += dy[k * size + i];
        dp[i] = sum;
    }
}

static const struct wl_position_kernels kernels = { add_position, sum_positions };

const struct wl_op_rules wl_cpu_op_position = { wl_lower_position, wl_lower_position_backward, .kernels = &kernels };
