/* Cross entropy over a row of many classes. */
#include "nn/wide/number.h"

#include <math.h>

float WL_LOOPS_NAME(wl_entropy)(int64_t k, const void *x, int64_t label, float *log_sum)
{
    const wl_num *row = x;
    float largest = -INFINITY, sum = 0;
#pragma omp simd reduction(max : largest)
    for (int64_t j = 0; j < k; j++) largest = wl_get(row[j]) > largest ? wl_get(row[j]) : largest;
#pragma omp simd reduction(+ : sum)
    for (int64_t j = 0; j < k; j++) sum += wl_exp(wl_get(row[j]) - largest);
    *log_sum = largest + logf(sum);
    return *log_sum - wl_get(row[label]);
}

/* Written so that every class stands before a label whose logit is NAN. */
int64_t WL_LOOPS_NAME(wl_rank)(int64_t k, const void *x, int64_t label)
{
    const wl_num *row = x;
    const float own = wl_get(row[label]);
    int32_t behind = 0;
#pragma omp simd reduction(+ : behind)
    for (int32_t j = 0; j < (int32_t)k; j++) {
        float other = wl_get(row[j]);
        behind += (own > other) | ((own == other) & (label <= j));
    }
    return k - behind;
}

void WL_LOOPS_NAME(wl_entropy_backward)(int64_t k, const void *x, float log_sum, int64_t label, float scale, void *dx)
{
    const wl_num *row = x;
    wl_num *to = dx;
    const float own = wl_get(row[label]);
#pragma omp simd
    for (int64_t j = 0; j < k; j++) to[j] = wl_put(scale * wl_exp(wl_get(row[j]) - log_sum));
    to[label] = wl_put(scale * (wl_exp(own - log_sum) - 1));
}
