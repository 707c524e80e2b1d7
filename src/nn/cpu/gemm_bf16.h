/* Products of bf16 matrices by AVX-512's dot products of pairs (vdpbf16ps), two multiplications per lane. docs/adr/107
 * says why oneDNN's are not enough.
 *
 * What follows the sum (bias, gelu, a factor, a sum, rounding) is applied to a tile while it is in registers. Each
 * element is summed in f32 in one order, whatever the number of threads.
 */
#ifndef WL_NN_CPU_GEMM_BF16_H
#define WL_NN_CPU_GEMM_BF16_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Columns are stored in panels: widths and depths are multiples of this. */
enum { WL_GEMM_BF16_PANEL = 64 };

/* y [m,width] = x [m,depth] w; then one of these epilogues. */
struct wl_gemm_bf16_rows {
    int64_t m, depth, width;
    const uint16_t *x;
    const uint32_t *w; /* packed */
    uint16_t *y;
    const float *bias;     /* [width] is added; NULL: none */
    bool add;              /* to y */
    const uint16_t *scale; /* [m,width] is multiplied with; NULL: none */
    bool gelu;             /* of the rounded sum; */
    uint16_t *slope;       /* [m,width] its derivative; NULL: not wanted */
};

/* dw [k,f] = dy' x for dy [m,k], x [m,f], any number of rows; db [k] = the sum of dy's rows. Both f32. */
struct wl_gemm_bf16_columns {
    int64_t m, k, f;
    const uint16_t *dy, *x;
    float *dw, *db; /* db NULL: not wanted */
    void *scratch;  /* on a cache line */
};

/* A matrix w [k,f] of f32 and its copies as `rows` reads them: rounded, in contiguous panels, each
 * [depth/2][WL_GEMM_BF16_PANEL] pairs of rows. */
struct wl_gemm_bf16_matrix {
    int64_t k, f;
    const float *w;
    uint32_t *forward, *back; /* of w' (depth f, width k) and of w (depth k, width f), on cache lines; NULL: none */
};

struct wl_gemm_bf16 {
    /* Writes both copies of the rows [i, i + WL_GEMM_BF16_PANEL) and columns [j, j + n) of w; i, j, n are multiples of
     * that. On the calling thread. */
    void (*pack)(const struct wl_gemm_bf16_matrix *m, int64_t i, int64_t j, int64_t n);
    void (*rows)(const struct wl_gemm_bf16_rows *c);
    size_t (*scratch_bytes)(int64_t m, int64_t f); /* bytes that `columns` needs */
    void (*columns)(const struct wl_gemm_bf16_columns *c);
};

/* NULL where the processor does not have the instruction, or has AMX, which oneDNN uses. */
const struct wl_gemm_bf16 *wl_gemm_bf16(void);

#endif
