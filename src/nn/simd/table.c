#include "nn/simd/levels.h"

#define TEXT_OF(level) #level
#define NAME_OF(level) TEXT_OF(level)

const struct wl_simd WL_SIMD_NAME(wl_simd) = {
    .name = NAME_OF(WL_SIMD_LEVEL),
    .pack = WL_SIMD_NAME(wl_pack),
    .dense = WL_SIMD_NAME(wl_dense),
    .dense_backward = WL_SIMD_NAME(wl_dense_backward),
    .filter_conv = WL_SIMD_NAME(wl_filter_conv),
    .filter_conv_backward = WL_SIMD_NAME(wl_filter_conv_backward),
    .filter_nodes = WL_SIMD_NAME(wl_filter_nodes),
    .filter_roughness = WL_SIMD_NAME(wl_filter_roughness),
    .filter_table_conv = WL_SIMD_NAME(wl_filter_table_conv),
    .filter_table_backward = WL_SIMD_NAME(wl_filter_table_backward),
    .filter_nodes_backward = WL_SIMD_NAME(wl_filter_nodes_backward),
    .gate = WL_SIMD_NAME(wl_gate),
    .gate_backward = WL_SIMD_NAME(wl_gate_backward),
    .spherical = WL_SIMD_NAME(wl_spherical),
    .triplet_conv = WL_SIMD_NAME(wl_triplet_conv),
    .triplet_conv_backward = WL_SIMD_NAME(wl_triplet_conv_backward),
    .multiply_add = WL_SIMD_NAME(wl_multiply_add),
    .adam = WL_SIMD_NAME(wl_adam),
    .of = { &WL_SIMD_NAME(wl_loops_f32), &WL_SIMD_NAME(wl_loops_bf16) },
    .fft2 = WL_SIMD_NAME(wl_fft2),
    .inverse_fft2 = WL_SIMD_NAME(wl_inverse_fft2),
    .complex_pack = WL_SIMD_NAME(wl_complex_pack),
    .complex_rows = WL_SIMD_NAME(wl_complex_rows),
    .complex_rows_back = WL_SIMD_NAME(wl_complex_rows_back),
    .complex_weights = WL_SIMD_NAME(wl_complex_weights),
    .complex_fold = WL_SIMD_NAME(wl_complex_fold),
};
