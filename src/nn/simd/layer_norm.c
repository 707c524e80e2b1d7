/* Layer norm with the sum and the dropout in front of it. */
#include "nn/simd/element.h"

#include <math.h>

/* The numbers that drop row i's elements out; NULL: nothing is dropped. */
static const uint16_t *numbers_of(const struct wl_layer_norm_rows *o, int64_t i)
{
    if (!o->mask.drop) return NULL;
    return WL_SIMD_NAME(wl_dropout_mask_numbers)(&o->mask, o->first + i / o->s, i % o->s * o->f, o->f, o->numbers);
}

/* z = x of a row that is f32; returns its sum. */
static float take_f32(const struct wl_layer_norm_rows *o, const float *restrict x)
{
    float *restrict z = o->row, sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int64_t j = 0; j < o->f; j++) sum += z[j] = x[j];
    return sum;
}

/* z = x + dropout(branch) of a row, in f32; returns its sum. */
static float add_branch(const struct wl_layer_norm_rows *o, int64_t i, const wl_element *x, const wl_element *branch)
{
    const uint16_t *numbers = branch ? numbers_of(o, i) : NULL;
    float *restrict z = o->row, sum = 0;
    if (!branch) {
#pragma omp simd reduction(+ : sum)
        for (int64_t j = 0; j < o->f; j++) sum += z[j] = wl_element_load(x[j]);
    } else if (!numbers) {
#pragma omp simd reduction(+ : sum)
        for (int64_t j = 0; j < o->f; j++) sum += z[j] = wl_element_load(x[j]) + wl_element_load(branch[j]);
    } else {
        const uint32_t drop = o->mask.drop;
        const float scale = o->mask.scale;
#pragma omp simd reduction(+ : sum)
        for (int64_t j = 0; j < o->f; j++) {
            float kept = wl_element_load(branch[j]) * scale;
            sum += z[j] = wl_element_load(x[j]) + (numbers[j] < drop ? 0 : kept);
        }
    }
    return sum;
}

static void norm_row(const struct wl_layer_norm_rows *o, int64_t i, float sum, wl_element *restrict y)
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
        for (int64_t j = 0; j < o->f; j++) y[j] = wl_element_store(z[j] * inverse * gamma[j] + beta[j]);
        return;
    }
    wl_element *restrict hat = (wl_element *)o->hat + i * o->f;
    o->inverse[i] = inverse;
#pragma omp simd
    for (int64_t j = 0; j < o->f; j++) {
        float h = z[j] * inverse;
        hat[j] = wl_element_store(h);
        y[j] = wl_element_store(h * gamma[j] + beta[j]);
    }
}

void WL_SIMD_LOOPS_NAME(wl_layer_norm)(const struct wl_layer_norm_rows *o, int64_t from, int64_t to, const void *x,
                                       const void *branch, void *y)
{
    const wl_element *b = branch;
    for (int64_t i = from; i < to; i++) {
        float sum = o->x_f32 ? take_f32(o, (const float *)x + i * o->f)
                             : add_branch(o, i, (const wl_element *)x + i * o->f, b ? b + i * o->f : NULL);
        norm_row(o, i, sum, (wl_element *)y + i * o->f);
    }
}

/* With g = gamma dy: dz = inverse (g - mean(g) - hat mean(g hat)), which is left in the scratch row too. */
static void row_backward(const struct wl_layer_norm_rows *o, int64_t i, const wl_element *dy, wl_element *dz,
                         float *restrict dgamma, float *restrict dbeta)
{
    const wl_element *restrict hat = (const wl_element *)o->hat + i * o->f;
    const float *restrict gamma = o->gamma;
    float *restrict z = o->row, sum = 0, along = 0;
#pragma omp simd reduction(+ : sum, along)
    for (int64_t j = 0; j < o->f; j++) {
        float d = wl_element_load(dy[j]), h = wl_element_load(hat[j]);
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
        z[j] = (z[j] - sum - wl_element_load(hat[j]) * along) * inverse;
        dz[j] = wl_element_store(z[j]);
    }
}

static void drop_row(const struct wl_layer_norm_rows *o, int64_t i, wl_element *restrict to)
{
    const uint16_t *numbers = numbers_of(o, i);
    const float *restrict z = o->row, scale = o->mask.scale;
    const uint32_t drop = o->mask.drop;
    if (!numbers) {
#pragma omp simd
        for (int64_t j = 0; j < o->f; j++) to[j] = wl_element_store(z[j]);
        return;
    }
#pragma omp simd
    for (int64_t j = 0; j < o->f; j++) {
        float kept = z[j] * scale;
        to[j] = wl_element_store(numbers[j] < drop ? 0 : kept);
    }
}

void WL_SIMD_LOOPS_NAME(wl_layer_norm_backward)(const struct wl_layer_norm_rows *o, int64_t from, int64_t to,
                                                const void *dy, void *dz, void *dbranch, float *dgamma, float *dbeta)
{
    for (int64_t j = 0; j < o->f; j++) dgamma[j] = dbeta[j] = 0;
    for (int64_t i = from; i < to; i++) {
        row_backward(o, i, (const wl_element *)dy + i * o->f, (wl_element *)dz + i * o->f, dgamma, dbeta);
        if (dbranch) drop_row(o, i, (wl_element *)dbranch + i * o->f);
    }
}
