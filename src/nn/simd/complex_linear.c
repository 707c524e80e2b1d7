/* A layer of complex numbers as one of real numbers twice as wide: (a + ib)(c + id) is the row (a, b) by the matrix
 * ((c, d), (-d, c)). So the products are those of gemm.h. */
#include "nn/simd/gemm.h"
#include "nn/simd/levels.h"

/* The real matrix [2 in, 2 out] of re, im [in,out], or transposed. */
static void unfold(const float *re, const float *im, int64_t in, int64_t out, float *to)
{
    for (int64_t i = 0; i < in; i++)
        for (int64_t j = 0; j < out; j++) {
            const float c = re[i * out + j], d = im[i * out + j];
            to[i * 2 * out + j] = to[(in + i) * 2 * out + out + j] = c;
            to[i * 2 * out + out + j] = d;
            to[(in + i) * 2 * out + j] = -d;
        }
}

void WL_SIMD_NAME(wl_complex_pack)(const float *re, const float *im, int64_t in, int64_t out, bool transposed,
                                   float *scratch, float *packed)
{
    unfold(re, im, in, out, scratch);
    if (transposed)
        pack(scratch, 1, 2 * out, 2 * out, 2 * in, packed);
    else
        pack(scratch, 2 * out, 1, 2 * in, 2 * out, packed);
}

static float activate(const struct wl_complex_layer *l, float v)
{
    if (l->relu) return v > 0 ? v : 0;
    return v > l->shrink ? v - l->shrink : v < -l->shrink ? v + l->shrink : 0;
}

void WL_SIMD_NAME(wl_complex_rows)(const struct wl_complex_layer *l, int64_t rows, const float *x, int64_t x_step,
                                   float *y, int64_t y_step)
{
    const int64_t in = 2 * l->in, out = 2 * l->out;
    for (int64_t at = 0; at < rows; at += BLOCK, x += BLOCK * x_step, y += BLOCK * y_step) {
        const int64_t m = rows - at < BLOCK ? rows - at : BLOCK;
        rows_product(m, out, in, x, x_step, l->packed, false, y, y_step);
        for (int64_t i = 0; i < m; i++) {
            float *row = y + i * y_step;
#pragma omp simd
            for (int64_t j = 0; j < out; j++) row[j] = activate(l, row[j] + l->bias[j]);
        }
    }
}

void WL_SIMD_NAME(wl_complex_rows_back)(const struct wl_complex_layer *l, int64_t rows, const float *y, const float *dy,
                                        float *g, int64_t y_step, float *dx, int64_t x_step)
{
    const int64_t in = 2 * l->in, out = 2 * l->out;
    for (int64_t at = 0; at < rows; at += BLOCK) {
        const int64_t m = rows - at < BLOCK ? rows - at : BLOCK, from = at * y_step;
        for (int64_t i = 0; i < m; i++) {
            const int64_t row = from + i * y_step;
            /* past both activations a number is not 0 just where its slope is 1 */
#pragma omp simd
            for (int64_t j = 0; j < out; j++) g[row + j] = y[row + j] != 0 ? dy[row + j] : 0;
        }
        if (dx) rows_product(m, in, out, g + from, y_step, l->packed, false, dx + at * x_step, x_step);
    }
}

void WL_SIMD_NAME(wl_complex_weights)(const struct wl_complex_layer *l, int64_t rows, const float *x, int64_t x_step,
                                      const float *g, int64_t y_step, float *sums)
{
    const int64_t in = 2 * l->in, out = 2 * l->out;
    float *bias = sums + in * out;
    memset(sums, 0, (size_t)(in * out + out) * sizeof *sums);
    for (int64_t at = 0; at < rows; at += BLOCK, x += BLOCK * x_step, g += BLOCK * y_step) {
        const int64_t m = rows - at < BLOCK ? rows - at : BLOCK;
        columns_product(m, in, out, x, x_step, g, y_step, sums, out);
        for (int64_t i = 0; i < m; i++)
#pragma omp simd
            for (int64_t j = 0; j < out; j++) bias[j] += g[i * y_step + j];
    }
}

void WL_SIMD_NAME(wl_complex_fold)(const struct wl_complex_layer *l, const float *sums, float *re, float *im)
{
    const int64_t in = l->in, out = l->out, row = 2 * out;
    for (int64_t i = 0; i < in; i++)
        for (int64_t j = 0; j < out; j++) {
            const float *upper = sums + i * row + j, *lower = sums + (in + i) * row + j;
            re[i * out + j] = upper[0] + lower[out];
            im[i * out + j] = upper[out] - lower[0];
        }
}
