/* Cross entropy over a row of many classes. */
#include "nn/simd/element.h"

#include <math.h>

float WL_SIMD_LOOPS_NAME(wl_cross_entropy_row)(int64_t k, const void *x, int64_t label, float *log_sum)
{
    const wl_element *row = x;
    float largest = -INFINITY, sum = 0;
#pragma omp simd reduction(max : largest)
    for (int64_t j = 0; j < k; j++) largest = wl_element_load(row[j]) > largest ? wl_element_load(row[j]) : largest;
#pragma omp simd reduction(+ : sum)
    for (int64_t j = 0; j < k; j++) sum += wl_fast_exp(wl_element_load(row[j]) - largest);
    *log_sum = largest + logf(sum);
    return *log_sum - wl_element_load(row[label]);
}

/* Written so that every class ranks before a label whose logit is NAN. */
int64_t WL_SIMD_LOOPS_NAME(wl_label_rank)(int64_t k, const void *x, int64_t label)
{
    const wl_element *row = x;
    const float own = wl_element_load(row[label]);
    int32_t after = 0;
#pragma omp simd reduction(+ : after)
    for (int32_t j = 0; j < (int32_t)k; j++) {
        float other = wl_element_load(row[j]);
        after += (own > other) | ((own == other) & (label <= j));
    }
    return k - after;
}

void WL_SIMD_LOOPS_NAME(wl_cross_entropy_row_backward)(int64_t k, const void *x, float log_sum, int64_t label,
                                                       float scale, void *dx)
{
    const wl_element *row = x;
    wl_element *to = dx;
    const float own = wl_element_load(row[label]);
#pragma omp simd
    for (int64_t j = 0; j < k; j++) to[j] = wl_element_store(scale * wl_fast_exp(wl_element_load(row[j]) - log_sum));
    to[label] = wl_element_store(scale * (wl_fast_exp(own - log_sum) - 1));
}
