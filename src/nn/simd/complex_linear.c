/* A layer of complex numbers by three products of real ones instead of four (Gauss):
 *     (a + ib)(c + id) = k1 - k3 + i (k1 + k2), k1 = (a + b) c, k2 = a (d - c), k3 = b (c + d).
 * Each part of the result is as exact as the larger one, not as itself (Higham 1992, "Stability of a method for
 * multiplying complex matrices with three real matrix multiplications"): in f32 that is 1e-7 of the number.
 *
 * Blocks of 96 numbers, as FourCastNet's, fill tiles of 48 columns. */
#define WL_GEMM_ROWS    8
#define WL_GEMM_VECTORS 3
#include "nn/simd/gemm.h"
#include "nn/simd/levels.h"

/* c, d - c and -(c + d) for re, im [in,out]; transposed with -im in the place of im, as g w' takes them. */
void WL_SIMD_NAME(wl_complex_pack)(const float *re, const float *im, int64_t in, int64_t out, bool transposed,
                                   float *scratch, float *packed)
{
    const float sign = transposed ? -1 : 1;
    const int64_t size = in * out, k = transposed ? out : in, n = transposed ? in : out;
    for (int which = 0; which < 3; which++, packed += k * WL_SIMD_COMPLEX_ROUND(n)) {
        for (int64_t i = 0; i < size; i++) {
            const float c = re[i], d = sign * im[i];
            scratch[i] = which == 0 ? c : which == 1 ? d - c : -(c + d);
        }
        pack(scratch, transposed ? 1 : out, transposed ? out : 1, k, n, packed);
    }
}

/* y [m,2 out] = x [m,2 in] times the packed matrices; scratch [m,in]. */
static void product(int64_t m, int64_t in, int64_t out, const float *packed, const float *x, int64_t x_step, float *y,
                    int64_t y_step, float *scratch)
{
    const int64_t next = in * WL_SIMD_COMPLEX_ROUND(out);
    for (int64_t i = 0; i < m; i++) {
        const float *row = x + i * x_step;
#pragma omp simd
        for (int64_t j = 0; j < in; j++) scratch[i * in + j] = row[j] + row[in + j];
    }
    rows_product(m, out, in, scratch, in, packed, false, y, y_step);
    for (int64_t i = 0; i < m; i++) memcpy(y + i * y_step + out, y + i * y_step, (size_t)out * sizeof *y);
    rows_product(m, out, in, x, x_step, packed + next, true, y + out, y_step);
    rows_product(m, out, in, x + in, x_step, packed + 2 * next, true, y, y_step);
}

static float activate(const struct wl_complex_layer *l, float v)
{
    if (l->relu) return v > 0 ? v : 0;
    return v > l->shrink ? v - l->shrink : v < -l->shrink ? v + l->shrink : 0;
}

void WL_SIMD_NAME(wl_complex_rows)(const struct wl_complex_layer *l, int64_t rows, const float *x, int64_t x_step,
                                   float *y, int64_t y_step, float *scratch)
{
    const int64_t out = 2 * l->out;
    for (int64_t at = 0; at < rows; at += BLOCK, x += BLOCK * x_step, y += BLOCK * y_step) {
        const int64_t m = rows - at < BLOCK ? rows - at : BLOCK;
        product(m, l->in, l->out, l->packed, x, x_step, y, y_step, scratch);
        for (int64_t i = 0; i < m; i++) {
            float *row = y + i * y_step;
#pragma omp simd
            for (int64_t j = 0; j < out; j++) row[j] = activate(l, row[j] + l->bias[j]);
        }
    }
}

void WL_SIMD_NAME(wl_complex_rows_back)(const struct wl_complex_layer *l, int64_t rows, const float *y, const float *dy,
                                        float *g, int64_t y_step, float *dx, int64_t x_step, float *scratch)
{
    const int64_t out = 2 * l->out;
    for (int64_t at = 0; at < rows; at += BLOCK) {
        const int64_t m = rows - at < BLOCK ? rows - at : BLOCK, from = at * y_step;
        for (int64_t i = 0; i < m; i++) {
            const int64_t row = from + i * y_step;
            /* past both activations a number is not 0 just where its slope is 1 */
#pragma omp simd
            for (int64_t j = 0; j < out; j++) g[row + j] = y[row + j] != 0 ? dy[row + j] : 0;
        }
        if (dx) product(m, l->out, l->in, l->packed, g + from, y_step, dx + at * x_step, x_step, scratch);
    }
}

/* x' conj: for x = a + ib and g = c + id the gradient is (a - ib)'(c + id), of a - b, a, b and c, d - c, c + d. These
 * are copied, since rows of x and g lie where they evict each other from the first cache. */
struct factors {
    float *x[3]; /* [m,in] */
    float *g[3]; /* panels [m,PANEL] */
};

static void copy_factors(const struct factors *f, int64_t m, int64_t in, int64_t out, const float *x, int64_t x_step,
                         const float *g, int64_t y_step)
{
    for (int64_t i = 0; i < m; i++, x += x_step, g += y_step) {
#pragma omp simd
        for (int64_t j = 0; j < in; j++) {
            const float a = x[j], b = x[in + j];
            f->x[0][i * in + j] = a - b;
            f->x[1][i * in + j] = a;
            f->x[2][i * in + j] = b;
        }
        for (int64_t panel = 0; panel < out; panel += PANEL) {
            const int64_t at = panel * m + i * PANEL, n = out - panel < PANEL ? out - panel : PANEL;
#pragma omp simd
            for (int64_t j = 0; j < n; j++) {
                const float c = g[panel + j], d = g[out + panel + j];
                f->g[0][at + j] = c;
                f->g[1][at + j] = d - c;
                f->g[2][at + j] = c + d;
            }
        }
    }
}

void WL_SIMD_NAME(wl_complex_weights)(const struct wl_complex_layer *l, int64_t rows, const float *x, int64_t x_step,
                                      const float *g, int64_t y_step, float *sums, float *scratch)
{
    const int64_t in = l->in, out = l->out, size = in * out;
    float *bias = sums + 3 * size;
    struct factors f;
    for (int k = 0; k < 3; k++) {
        f.x[k] = scratch + k * BLOCK * in;
        f.g[k] = scratch + 3 * BLOCK * in + k * BLOCK * WL_SIMD_COMPLEX_ROUND(out);
    }
    memset(sums, 0, (size_t)(3 * size + 2 * out) * sizeof *sums);
    for (int64_t at = 0; at < rows; at += BLOCK, x += BLOCK * x_step, g += BLOCK * y_step) {
        const int64_t m = rows - at < BLOCK ? rows - at : BLOCK;
        copy_factors(&f, m, in, out, x, x_step, g, y_step);
        for (int k = 0; k < 3; k++) panels_product(m, in, out, f.x[k], in, f.g[k], sums + k * size, out);
        for (int64_t i = 0; i < m; i++)
#pragma omp simd
            for (int64_t j = 0; j < 2 * out; j++) bias[j] += g[i * y_step + j];
    }
}

void WL_SIMD_NAME(wl_complex_fold)(const struct wl_complex_layer *l, const float *sums, float *re, float *im)
{
    const int64_t size = l->in * l->out;
    for (int64_t i = 0; i < size; i++) {
        re[i] = sums[i] + sums[2 * size + i];
        im[i] = sums[i] + sums[size + i];
    }
}
