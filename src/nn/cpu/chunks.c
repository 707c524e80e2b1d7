#include "nn/cpu/chunks.h"

void wl_chunk_segments(const int32_t *start, int64_t n, int c, int64_t *from, int64_t *to)
{
    int64_t rows[2], at[2];
    wl_chunk_rows(start[n], c, &rows[0], &rows[1]);
    for (int i = 0; i < 2; i++)
        for (at[i] = 0; at[i] < n && start[at[i]] < rows[i];) at[i]++;
    *from = c == 0 ? 0 : at[0];
    *to = c == WL_CHUNKS - 1 ? n : at[1];
}

void wl_chunk_sum(const float *parts, size_t apart, size_t n, float *sum)
{
    wl_chunk_sum_parts(parts, WL_CHUNKS, apart, n, sum);
}

void wl_chunk_sum_parts(const float *parts, int count, size_t apart, size_t n, float *sum)
{
#pragma omp parallel for simd schedule(static)
    for (size_t i = 0; i < n; i++) {
        float x = parts[i];
        for (size_t c = 1; c < (size_t)count; c++) x += parts[c * apart + i];
        sum[i] = x;
    }
}

void wl_chunk_transpose(const float *from, int64_t k, int64_t n, int64_t padded, float *to)
{
    for (int64_t i = 0; i < padded; i++)
        for (int64_t j = 0; j < k; j++) to[i * k + j] = i < n ? from[j * n + i] : 0;
}
