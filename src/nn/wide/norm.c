/* Layer norm with the sum and the dropout in front of it. */
#include "nn/wide/number.h"

#include <math.h>

/* The numbers that drop row i's elements out; NULL: nothing is dropped. */
static const uint16_t *numbers_of(const struct wl_norm_rows *o, int64_t i)
{
    if (!o->mask.drop) return NULL;
    return WL_WIDE_NAME(wl_mask_numbers)(&o->mask, o->first + i / o->s, i % o->s * o->f, o->f, o->numbers);
}

/* z = x of a row that is f32; returns its sum. */
static float take_f32(const struct wl_norm_rows *o, const float *restrict x)
{
    float *restrict z = o->row, sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int64_t j = 0; j < o->f; j++) sum += z[j] = x[j];
    return sum;
}

/* z = x + dropout(branch) of a row, in f32; returns its sum. */
static float add_branch(const struct wl_norm_rows *o, int64_t i, const wl_num *x, const wl_num *branch)
{
    const uint16_t *numbers = branch ? numbers_of(o, i) : NULL;
    float *restrict z = o->row, sum = 0;
    if (!branch) {
#pragma omp simd reduction(+ : sum)
        for (int64_t j = 0; j < o->f; j++) sum += z[j] = wl_get(x[j]);
    } else if (!numbers) {
#pragma omp simd reduction(+ : sum)
        for (int64_t j = 0; j < o->f; j++) sum += z[j] = wl_get(x[j]) + wl_get(branch[j]);
    } else {
        const uint32_t drop = o->mask.drop;
        const float scale = o->mask.scale;
#pragma omp simd reduction(+ : sum)
        for (int64_t j = 0; j < o->f; j++) {
            float kept = wl_get(branch[j]) * scale;
            sum += z[j] = wl_get(x[j]) + (numbers[j] < drop ? 0 : kept);
        }
    }
    return sum;
}

static void norm_row(const struct wl_norm_rows *o, int64_t i, float sum, wl_num *restrict y)
{
    float *restrict z = o->row, mean = sum / (float)o->f, squares = 0;
    const float *restrict gamma = o->gamma, *restrict beta = o->beta;
#pragma omp simd reduction(+ : squares)
    for (int64_t j = 0; j < o->f; j++) {
        z[j] -= mean;
        squares += z[j] * z[j];
    }
    const float inverse = 1 / sqrtf(squares / (float)o->f + o->eps);
    if (!o->hat) {
#pragma omp simd
        for (int64_t j = 0; j < o->f; j++) y[j] = wl_put(z[j] * inverse * gamma[j] + beta[j]);
        return;
    }
    wl_num *restrict hat = (wl_num *)o->hat + i * o->f;
    o->inverse[i] = inverse;
#pragma omp simd
    for (int64_t j = 0; j < o->f; j++) {
        float h = z[j] * inverse;
        hat[j] = wl_put(h);
        y[j] = wl_put(h * gamma[j] + beta[j]);
    }
}

void WL_LOOPS_NAME(wl_layer_norm)(const struct wl_norm_rows *o, int64_t from, int64_t to, const void *x,
                                  const void *branch, void *y)
{
    const wl_num *b = branch;
    for (int64_t i = from; i < to; i++) {
        float sum = o->x_f32 ? take_f32(o, (const float *)x + i * o->f)
                             : add_branch(o, i, (const wl_num *)x + i * o->f, b ? b + i * o->f : NULL);
        norm_row(o, i, sum, (wl_num *)y + i * o->f);
    }
}

/* With g = gamma dy: dz = inverse (g - mean(g) - hat mean(g hat)), which is left in the scratch row too. */
static void row_backward(const struct wl_norm_rows *o, int64_t i, const wl_num *dy, wl_num *dz, float *restrict dgamma,
                         float *restrict dbeta)
{
    const wl_num *restrict hat = (const wl_num *)o->hat + i * o->f;
    const float *restrict gamma = o->gamma;
    float *restrict z = o->row, sum = 0, along = 0;
#pragma omp simd reduction(+ : sum, along)
    for (int64_t j = 0; j < o->f; j++) {
        float d = wl_get(dy[j]), h = wl_get(hat[j]);
        dgamma[j] += d * h;
        dbeta[j] += d;
        d *= gamma[j];
        z[j] = d;
        sum += d;
        along += d * h;
    }
    sum /= (float)o->f;
    along /= (float)o->f;
    const float inverse = o->inverse[i];
#pragma omp simd
    for (int64_t j = 0; j < o->f; j++) {
        z[j] = (z[j] - sum - wl_get(hat[j]) * along) * inverse;
        dz[j] = wl_put(z[j]);
    }
}

static void drop_row(const struct wl_norm_rows *o, int64_t i, wl_num *restrict to)
{
    const uint16_t *numbers = numbers_of(o, i);
    const float *restrict z = o->row, scale = o->mask.scale;
    const uint32_t drop = o->mask.drop;
    if (!numbers) {
#pragma omp simd
        for (int64_t j = 0; j < o->f; j++) to[j] = wl_put(z[j]);
        return;
    }
#pragma omp simd
    for (int64_t j = 0; j < o->f; j++) {
        float kept = z[j] * scale;
        to[j] = wl_put(numbers[j] < drop ? 0 : kept);
    }
}

void WL_LOOPS_NAME(wl_layer_norm_backward)(const struct wl_norm_rows *o, int64_t from, int64_t to, const void *dy,
                                           void *dz, void *dbranch, float *dgamma, float *dbeta)
{
    for (int64_t j = 0; j < o->f; j++) dgamma[j] = dbeta[j] = 0;
    for (int64_t i = from; i < to; i++) {
        row_backward(o, i, (const wl_num *)dy + i * o->f, (wl_num *)dz + i * o->f, dgamma, dbeta);
        if (dbranch) drop_row(o, i, (wl_num *)dbranch + i * o->f);
    }
}
