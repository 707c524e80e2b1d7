/* Attention's softmax with its dropout, and the way back. */
#include "nn/simd/element.h"

#include <math.h>

/* The numbers that drop the probabilities of query i out; NULL: nothing is dropped. */
static const uint16_t *numbers_of(const struct wl_softmax_rows *o, int64_t i)
{
    if (!o->mask.drop) return NULL;
    return WL_SIMD_NAME(wl_dropout_mask_numbers)(&o->mask, o->sample, (o->head * o->s + o->from + i) * o->s, o->length,
                                                 o->numbers);
}

/* p = x times what dropout multiplies with; 0 after the keys that count. */
static void write_row(const struct wl_softmax_rows *o, const uint16_t *numbers, const float *x, float times,
                      wl_element *p)
{
    const uint32_t drop = o->mask.drop;
    if (!numbers) {
#pragma omp simd
        for (int64_t j = 0; j < o->length; j++) p[j] = wl_element_store(x[j] * times);
    } else {
        times *= o->mask.scale;
#pragma omp simd
        for (int64_t j = 0; j < o->length; j++) {
            float kept = x[j] * times;
            p[j] = wl_element_store(numbers[j] < drop ? 0 : kept);
        }
    }
    for (int64_t j = o->length; j < o->s; j++) p[j] = 0;
}

/* x = exp(scale (x - largest)); returns the logarithm of the sum of exp(scale x), and 1/sum of the new x. */
static float exponents(const struct wl_softmax_rows *o, float *x, float *inverse)
{
    const float scale = o->scale;
    float largest = -INFINITY, sum = 0;
#pragma omp simd reduction(max : largest)
    for (int64_t j = 0; j < o->length; j++) largest = x[j] > largest ? x[j] : largest;
#pragma omp simd reduction(+ : sum)
    for (int64_t j = 0; j < o->length; j++) sum += x[j] = wl_fast_exp(scale * (x[j] - largest));
    *inverse = 1 / sum;
    return scale * largest + logf(sum);
}

void WL_SIMD_LOOPS_NAME(wl_softmax)(const struct wl_softmax_rows *o, float *scores, void *p, float *log_sum)
{
    for (int64_t i = 0; i < o->n; i++) {
        float inverse = 0, *row = scores + i * o->s, sum = o->length ? exponents(o, row, &inverse) : 0;
        if (log_sum) log_sum[i] = sum;
        write_row(o, numbers_of(o, i), row, inverse, (wl_element *)p + i * o->s);
    }
}

/* x becomes the probabilities, d the gradient by them; returns their product, over the sum of the probabilities, which
 * is 1 but for rounding: where d is nearly the same everywhere, that rounding would be all that is left of d - product.
 */
static float probabilities(const struct wl_softmax_rows *o, const uint16_t *numbers, float log_sum, float *restrict x,
                           float *restrict d)
{
    const uint32_t drop = o->mask.drop;
    const float scale = o->scale, times = o->mask.scale;
    float along = 0, sum = 0;
    if (!numbers) {
#pragma omp simd reduction(+ : along, sum)
        for (int64_t j = 0; j < o->length; j++) {
            sum += x[j] = wl_fast_exp(scale * x[j] - log_sum);
            along += d[j] * x[j];
        }
        return along / sum;
    }
#pragma omp simd reduction(+ : along, sum)
    for (int64_t j = 0; j < o->length; j++) {
        float kept = d[j] * times;
        d[j] = numbers[j] < drop ? 0 : kept;
        sum += x[j] = wl_fast_exp(scale * x[j] - log_sum);
        along += d[j] * x[j];
    }
    return along / sum;
}

void WL_SIMD_LOOPS_NAME(wl_softmax_backward)(const struct wl_softmax_rows *o, float *scores, float *dp,
                                             const float *log_sum, void *p, void *ds)
{
    for (int64_t i = 0; i < o->n; i++) {
        const uint16_t *numbers = numbers_of(o, i);
        const float scale = o->scale;
        float *x = scores + i * o->s, *d = dp + i * o->s, along = probabilities(o, numbers, log_sum[i], x, d);
        wl_element *to = (wl_element *)ds + i * o->s;
#pragma omp simd
        for (int64_t j = 0; j < o->length; j++) to[j] = wl_element_store(x[j] * (d[j] - along) * scale);
        for (int64_t j = o->length; j < o->s; j++) to[j] = 0;
        write_row(o, numbers, x, 1, (wl_element *)p + i * o->s);
    }
}
