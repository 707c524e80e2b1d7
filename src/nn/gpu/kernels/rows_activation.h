/* The activations of dense and filter_conv. */
#ifndef WL_NN_GPU_KERNELS_ROWS_ACTIVATION_H
#define WL_NN_GPU_KERNELS_ROWS_ACTIVATION_H

#include "nn/gpu/kernels/dense.h"
#include "nn/gpu/kernels/tile_product.h"

WL_DEVICE float wl_sigmoid(float u) { return 1 / (1 + expf(-u)); }

/* log(1 + e^u) - log 2; a NAN stays one. */
WL_DEVICE float wl_softplus(float u) { return fmaxf(u, 0) + (log1pf(expf(-fabsf(u))) - 0.693147180559945f); }

WL_DEVICE float wl_activate(int activation, float u)
{
    if (activation == WL_GPU_SOFTPLUS) return wl_softplus(u);
    return activation == WL_GPU_SWISH ? u * wl_sigmoid(u) : u;
}

/* The derivative, for what has one. */
WL_DEVICE float wl_slope(int activation, float u)
{
    const float s = wl_sigmoid(u);
    return activation == WL_GPU_SOFTPLUS ? s : s + u * s * (1 - s);
}

WL_DEVICE float4 wl_activate4(int activation, float4 u)
{
    return make_float4(wl_activate(activation, u.x), wl_activate(activation, u.y), wl_activate(activation, u.z),
                       wl_activate(activation, u.w));
}

WL_DEVICE float4 wl_slope4(int activation, float4 u)
{
    return make_float4(wl_slope(activation, u.x), wl_slope(activation, u.y), wl_slope(activation, u.z),
                       wl_slope(activation, u.w));
}

#endif
