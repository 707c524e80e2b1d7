#include "nn/cpu/ref_kernels.h"

#include <stddef.h>

const struct wl_cpu_ref_kernel wl_cpu_ref_kernels[] = {
    { "wl_ref_angular_basis", NULL },
    { "wl_ref_bessel_basis", NULL },
    { "wl_ref_edge_concat", NULL },
    { "wl_ref_embed", NULL },
    { "wl_ref_filter_conv", "the number of features is not a multiple of 16" },
    { "wl_ref_filter_scratch", "the number of features is not a multiple of 16" },
    { "wl_ref_gate", "the basis has more than 8 functions, or the number of features is not a multiple of 16" },
    { "wl_ref_get_channels", "concat, backward: an input begins or ends inside a block of channels" },
    { "wl_ref_mean_square", NULL },
    { "wl_ref_segment_sum", NULL },
    { "wl_ref_triplet_conv", "the bilinear layer is not of 8, or the number of features is not a multiple of 64" },
    { NULL, NULL },
};
