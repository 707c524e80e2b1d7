#include "nn/gpu/kernels/fourier.h"

#include "nn/gpu/kernels/device.h"

constexpr int TILE = WL_GPU_FOURIER_TILE, WARPS = 8;

/* from [n,rows,columns] to [n,columns,rows]: a tile in shared memory is read by rows and written by columns. */
template <typename FROM, typename TO>
WL_DEVICE void transpose(const FROM *from, TO *to, int32_t rows, int32_t columns, int32_t row0, int32_t column0)
{
    __shared__ float tile[TILE][TILE + 1];
    const int lane = (int)threadIdx.x % TILE, warp = (int)threadIdx.x / TILE;
#pragma unroll
    for (int i = warp; i < TILE; i += WARPS)
        if (row0 + i < rows && column0 + lane < columns)
            tile[i][lane] = wl_load(from[(int64_t)(row0 + i) * columns + column0 + lane]);
    __syncthreads();
#pragma unroll
    for (int i = warp; i < TILE; i += WARPS)
        if (row0 + lane < rows && column0 + i < columns)
            to[(int64_t)(column0 + i) * rows + row0 + lane] = wl_narrow<TO>(tile[lane][i]);
}

template <typename T> WL_DEVICE void field_to_planes(const struct wl_gpu_planes &a)
{
    const int64_t image = (int64_t)blockIdx.z * a.points * a.f;
    transpose((const T *)a.field + image, a.planes + image, a.points, a.f, (int32_t)blockIdx.x * TILE,
              (int32_t)blockIdx.y * TILE);
}

template <typename T> WL_DEVICE void planes_to_field(const struct wl_gpu_planes &a)
{
    const int64_t image = (int64_t)blockIdx.z * a.points * a.f;
    transpose((const float *)a.planes + image, (T *)a.field + image, a.f, a.points, (int32_t)blockIdx.y * TILE,
              (int32_t)blockIdx.x * TILE);
}

WL_KERNEL(field_to_planes_f32, 256, struct wl_gpu_planes) { field_to_planes<float>(a); }
WL_KERNEL(field_to_planes_bf16, 256, struct wl_gpu_planes) { field_to_planes<wl_bf16>(a); }
WL_KERNEL(field_to_planes_f16, 256, struct wl_gpu_planes) { field_to_planes<wl_f16>(a); }
WL_KERNEL(planes_to_field_f32, 256, struct wl_gpu_planes) { planes_to_field<float>(a); }
WL_KERNEL(planes_to_field_bf16, 256, struct wl_gpu_planes) { planes_to_field<wl_bf16>(a); }
WL_KERNEL(planes_to_field_f16, 256, struct wl_gpu_planes) { planes_to_field<wl_f16>(a); }

/* ---- spectra ---- */

struct alignas(8) complex {
    float re, im;
};

WL_DEVICE bool is_mirror(const struct wl_gpu_spectrum &a, int32_t k) { return k == 0 || 2 * k == a.w; }

/* Where the complex numbers of channel c, line u of field n are. */
WL_DEVICE struct complex *line_of(const struct wl_gpu_spectrum &a, int32_t n, int32_t u, int32_t c)
{
    return (struct complex *)a.coefficients + (((int64_t)n * a.f + c) * a.h + u) * (a.w / 2 + 1);
}

/* The real part of channel c in mode (u,k); the imaginary one is `size` further. */
WL_DEVICE float *mode_of(const struct wl_gpu_spectrum &a, int32_t n, int32_t u, int32_t k, int32_t c)
{
    return a.s + (((int64_t)n * a.h + u) * a.modes + k) * 2 * a.f + c / a.size * 2 * a.size + c % a.size;
}

WL_KERNEL(spectrum_take, 256, struct wl_gpu_spectrum)
{
    __shared__ struct complex tile[TILE][TILE + 1];
    const int lane = (int)threadIdx.x % TILE, warp = (int)threadIdx.x / TILE;
    const int32_t n = (int32_t)blockIdx.x / a.h, u = (int32_t)blockIdx.x % a.h;
    const int32_t c0 = (int32_t)blockIdx.y * TILE, k0 = (int32_t)blockIdx.z * TILE;
#pragma unroll
    for (int i = warp; i < TILE; i += WARPS)
        if (c0 + i < a.f && k0 + lane < a.modes) tile[i][lane] = line_of(a, n, u, c0 + i)[k0 + lane];
    __syncthreads();
    if (c0 + lane >= a.f) return;
    float *to = mode_of(a, n, u, 0, c0 + lane);
#pragma unroll
    for (int i = warp; i < TILE; i += WARPS) {
        const int32_t k = k0 + i;
        const float by = is_mirror(a, k) ? a.edge : a.inner;
        if (k >= a.modes) break;
        to[(int64_t)k * 2 * a.f] = tile[lane][i].re * by;
        to[(int64_t)k * 2 * a.f + a.size] = tile[lane][i].im * by;
    }
}

/* Half of a number and of the conjugate of its mirror image, line -u, in a column that is its own mirror image. */
WL_DEVICE struct complex symmetric(const float *at, const float *mirror, int32_t size)
{
    struct complex v = { 0.5f * (at[0] + mirror[0]), 0.5f * (at[size] - mirror[size]) };
    return v;
}

WL_DEVICE struct complex put_number(const struct wl_gpu_spectrum &a, int32_t n, int32_t u, int32_t k, int32_t c)
{
    struct complex v = { 0, 0 };
    if (k >= a.modes) return v;
    const float *at = mode_of(a, n, u, k, c);
    if (is_mirror(a, k)) {
        v = symmetric(at, mode_of(a, n, u ? a.h - u : 0, k, c), a.size);
        v.re *= a.edge;
        v.im *= a.edge;
    } else {
        v.re = at[0] * a.inner;
        v.im = at[a.size] * a.inner;
    }
    return v;
}

WL_KERNEL(spectrum_put, 256, struct wl_gpu_spectrum)
{
    __shared__ struct complex tile[TILE][TILE + 1];
    const int lane = (int)threadIdx.x % TILE, warp = (int)threadIdx.x / TILE;
    const int32_t n = (int32_t)blockIdx.x / a.h, u = (int32_t)blockIdx.x % a.h, columns = a.w / 2 + 1;
    const int32_t c0 = (int32_t)blockIdx.y * TILE, k0 = (int32_t)blockIdx.z * TILE;
#pragma unroll
    for (int i = warp; i < TILE; i += WARPS)
        if (c0 + lane < a.f) tile[i][lane] = put_number(a, n, u, k0 + i, c0 + lane);
    __syncthreads();
#pragma unroll
    for (int i = warp; i < TILE; i += WARPS)
        if (c0 + i < a.f && k0 + lane < columns) line_of(a, n, u, c0 + i)[k0 + lane] = tile[lane][i];
}
