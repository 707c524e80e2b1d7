#include "nn/ref/ref.h"

void wl_ref_segment_sum(int64_t segments, int64_t room, int64_t f, const int32_t *start, const wl_real *x, wl_real *y)
{
    for (int64_t s = 0; s < room; s++)
        for (int64_t j = 0; j < f; j++) {
            double sum = 0;
            for (int64_t r = s < segments ? start[s] : 0; s < segments && r < start[s + 1]; r++)
                sum += (double)x[r * f + j];
            y[s * f + j] = (wl_real)sum;
        }
}

void wl_ref_segment_sum_backward(int64_t segments, int64_t f, const int32_t *start, const wl_real *dy, wl_real *dx)
{
    for (int64_t s = 0; s < segments; s++)
        for (int64_t r = start[s]; r < start[s + 1]; r++)
            for (int64_t j = 0; j < f; j++) dx[r * f + j] = dy[s * f + j];
}
