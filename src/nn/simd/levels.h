/* The builds of the loops, and their functions as they are called inside of one. */
#ifndef WL_NN_SIMD_LEVELS_H
#define WL_NN_SIMD_LEVELS_H

#include "nn/simd/simd.h"

extern const struct wl_simd wl_simd_plain, wl_simd_v3, wl_simd_v4; /* v3 and v4 on x86-64 only */

#ifdef WL_SIMD_LEVEL
void WL_SIMD_NAME(wl_pack)(const float *at, int64_t row, int64_t col, int64_t k, int64_t n, float *to);
void WL_SIMD_NAME(wl_dense)(const struct wl_dense_args *a, const float *packed, int64_t from, int64_t to);
void WL_SIMD_NAME(wl_dense_backward)(const struct wl_dense_grad *a, const float *packed, int64_t from, int64_t to,
                                     float *block, float *dw, float *db);
void WL_SIMD_NAME(wl_filter_conv)(const struct wl_filter_args *a, const struct wl_filter_packed *packed, int64_t from,
                                  int64_t to, float *block);
void WL_SIMD_NAME(wl_filter_conv_backward)(const struct wl_filter_grad *g, const struct wl_filter_packed *packed,
                                           int64_t from, int64_t to, float *block, const struct wl_filter_sums *sums);
void WL_SIMD_NAME(wl_filter_nodes)(const struct wl_filter_args *a, const struct wl_filter_packed *packed,
                                   const struct wl_filter_table *t, int64_t from, int64_t to,
                                   const struct wl_filter_rows *rows);
struct wl_filter_roughness WL_SIMD_NAME(wl_filter_roughness)(const float *rows, int64_t nodes, int64_t f, int64_t from,
                                                             int64_t to);
void WL_SIMD_NAME(wl_filter_table_conv)(const struct wl_filter_args *a, const struct wl_filter_table *t,
                                        const float *table, int64_t from, int64_t to);
void WL_SIMD_NAME(wl_filter_table_backward)(const struct wl_filter_grad *g, const struct wl_filter_table *t,
                                            const float *table, int64_t from, int64_t to, int64_t first, int64_t last,
                                            float *d_table);
void WL_SIMD_NAME(wl_filter_nodes_backward)(const struct wl_filter_args *a, const struct wl_filter_packed *packed,
                                            const struct wl_filter_table *t, int64_t from, int64_t to,
                                            const struct wl_filter_rows *rows, const float *d_table, float *block,
                                            const struct wl_filter_sums *sums);
void WL_SIMD_NAME(wl_gate)(const struct wl_gate_args *a, const float *wt, int64_t from, int64_t to);
void WL_SIMD_NAME(wl_gate_backward)(const struct wl_gate_grad *g, const float *wt, int64_t from, int64_t to,
                                    float *dwt);
void WL_SIMD_NAME(wl_spherical)(const struct wl_spherical_table *t, int64_t from, int64_t to, const float *distance,
                                float *y);
void WL_SIMD_NAME(wl_triplet_conv)(const struct wl_triplet_args *a, const struct wl_triplet_packed *packed,
                                   int64_t from, int64_t to, float *block);
void WL_SIMD_NAME(wl_triplet_conv_backward)(const struct wl_triplet_grad *g, const struct wl_triplet_packed *packed,
                                            int64_t from, int64_t to, float *block, float *dvt, float *dw);
void WL_SIMD_NAME(wl_adam)(const struct wl_adam *step, float *w, const float *g, float *m, float *v, size_t n);

/* The numbers of elements [from, from + n) of a sample; they begin at the result, which is somewhere in `numbers`. */
const uint16_t *WL_SIMD_NAME(wl_dropout_mask_numbers)(const struct wl_dropout_mask *m, int64_t sample, int64_t from,
                                                      int64_t n, uint16_t *numbers);

double WL_SIMD_NAME(wl_multiply_add)(int64_t rounds, float factor);

extern const struct wl_simd_loops WL_SIMD_NAME(wl_loops_f32), WL_SIMD_NAME(wl_loops_bf16);
void WL_SIMD_NAME(wl_fft2)(const struct wl_fft2 *f, bool doubled, const void *x, bool bf16, int64_t x_step, float *re,
                           float *im, int64_t s_step, int channels, void *scratch);
void WL_SIMD_NAME(wl_inverse_fft2)(const struct wl_fft2 *f, bool doubled, const float *re, const float *im,
                                   int64_t s_step, void *x, bool bf16, int64_t x_step, int channels, void *scratch);
void WL_SIMD_NAME(wl_complex_pack)(const float *re, const float *im, int64_t in, int64_t out, bool transposed,
                                   float *scratch, float *packed);
void WL_SIMD_NAME(wl_complex_rows)(const struct wl_complex_layer *l, int64_t rows, const float *x, int64_t x_step,
                                   float *y, int64_t y_step, float *scratch);
void WL_SIMD_NAME(wl_complex_rows_back)(const struct wl_complex_layer *l, int64_t rows, const float *y, const float *dy,
                                        float *g, int64_t y_step, float *dx, int64_t x_step, float *scratch);
void WL_SIMD_NAME(wl_complex_weights)(const struct wl_complex_layer *l, int64_t rows, const float *x, int64_t x_step,
                                      const float *g, int64_t y_step, float *sums, float *scratch);
void WL_SIMD_NAME(wl_complex_fold)(const struct wl_complex_layer *l, const float *sums, float *re, float *im);
#endif

#endif
