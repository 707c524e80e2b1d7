#include "nn/wide/levels.h"

#define TEXT_OF(level) #level
#define NAME_OF(level) TEXT_OF(level)

const struct wl_wide WL_WIDE_NAME(wl_wide) = {
    .name = NAME_OF(WL_WIDE_LEVEL),
    .pack = WL_WIDE_NAME(wl_pack),
    .dense = WL_WIDE_NAME(wl_dense),
    .dense_backward = WL_WIDE_NAME(wl_dense_backward),
    .filter_conv = WL_WIDE_NAME(wl_filter_conv),
    .filter_conv_backward = WL_WIDE_NAME(wl_filter_conv_backward),
    .gate = WL_WIDE_NAME(wl_gate),
    .gate_backward = WL_WIDE_NAME(wl_gate_backward),
    .spherical = WL_WIDE_NAME(wl_spherical),
    .triplet_conv = WL_WIDE_NAME(wl_triplet_conv),
    .triplet_conv_backward = WL_WIDE_NAME(wl_triplet_conv_backward),
    .adam = WL_WIDE_NAME(wl_adam),
    .of = { &WL_WIDE_NAME(wl_loops_f32), &WL_WIDE_NAME(wl_loops_bf16) },
    .fft2 = WL_WIDE_NAME(wl_fft2),
    .inverse_fft2 = WL_WIDE_NAME(wl_inverse_fft2),
    .complex_pack = WL_WIDE_NAME(wl_complex_pack),
    .complex_rows = WL_WIDE_NAME(wl_complex_rows),
    .complex_rows_back = WL_WIDE_NAME(wl_complex_rows_back),
    .complex_weights = WL_WIDE_NAME(wl_complex_weights),
    .complex_fold = WL_WIDE_NAME(wl_complex_fold),
};
