/* dense: a product, and bias, activation and residual while its sums are in registers.
 *
 * A row of f inputs and k outputs takes, with an activation and a residual,
 *     forward             2 f k flop    4 f + 12 k bytes
 *     backward by x       2 f k flop    4 f (8 f with `add`) + 8 k bytes
 *     backward by w, b    2 f k flop    4 f + 8 k bytes, and the parts: at most 128 times 4 f k in all
 * of device memory: dy and u are read by both backward kernels, act'(u) is made where they are read. f = k = 128:
 * 32,768 flop and 2,048 bytes forward. 2,000 rows on an H100: 1.2 us of FMA or .5 us of three TF32, and 1.4 us of
 * memory, less from its cache. */
#include "nn/gpu/kernels/rows_activation.h"

/* dy act'(u) [rows,columns]; u NULL: dy. */
struct before_activation {
    const float *dy, *u;
    int rows, columns, activation;
    __device__ __forceinline__ float4 load4(int row, int column) const
    {
        if (row >= rows) return wl_zero4();
        const int64_t at = (int64_t)row * columns;
        const float4 d = wl_load4(dy + at, column, columns);
        return u ? wl_mul4(d, wl_slope4(activation, wl_load4(u + at, column, columns))) : d;
    }
};

template <class T> WL_DEVICE void dense(const struct wl_gpu_dense &a, typename T::memory &m)
{
    const int rows = *a.rows;
    const struct wl_matrix_operand x = { a.x, rows, a.f }, w = { a.w, a.k, a.f };
    wl_rows_product<T, WL_DEPTH_COLUMNS>(x, w, rows, a.f, m, [&](int row, int column, float4 u) {
        if (row >= rows) return;
        const int64_t at = (int64_t)row * a.k;
        if (a.b) u = wl_add4(u, wl_load4(a.b, column, a.k));
        if (a.u) wl_store4(a.u + at, column, a.k, u);
        float4 y = wl_activate4(a.activation, u);
        if (a.residual) y = wl_add4(y, wl_load4(a.residual + at, column, a.k));
        wl_store4(a.y + at, column, a.k, y);
    });
}

WL_TILE_KERNELS(dense, 80, struct wl_gpu_dense, dense)

template <class T> WL_DEVICE void data(const struct wl_gpu_dense_data &a, typename T::memory &m)
{
    const int rows = *a.rows;
    const struct before_activation du = { a.dy, a.u, rows, a.k, a.activation };
    const struct wl_matrix_operand w = { a.w, a.k, a.f };
    wl_rows_product<T, WL_DEPTH_ROWS>(du, w, rows, a.k, m, [&](int row, int column, float4 v) {
        if (row >= rows) return;
        float *const to = a.dx + (int64_t)row * a.f;
        wl_store4(to, column, a.f, a.add ? wl_add4(wl_load4(to, column, a.f), v) : v);
    });
}

WL_TILE_KERNELS(dense_data, 80, struct wl_gpu_dense_data, data)

template <class T> WL_DEVICE void weights(const struct wl_gpu_dense_weights &a, typename T::memory &m)
{
    const struct wl_weights_part part = wl_weights_part_of(a.parts, *a.rows, a.k, a.f);
    const struct before_activation du = { a.dy, a.u, part.to, a.k, a.activation };
    const struct wl_matrix_operand x = { a.x, part.to, a.f };
    wl_weights_product<T>(du, x, part, m);
}

WL_TILE_KERNELS(dense_weights, 90, struct wl_gpu_dense_weights, weights)
