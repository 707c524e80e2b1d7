/* DimeNet's bilinear layer. The sum over the triplets of an edge is taken in front of the matrix (nn/simd/triplets.c),
 *     y[j->i] = W . z[j->i],  z[q] = the sum over k of s(k,q) (outer) x[k],
 * so that the matrix is multiplied once an edge. Around an atom with d edges z is a product of s [bilinear d,d] and the
 * rows of x that lead to it.
 *
 * An edge takes, with b = bilinear, and d neighbours,
 *     forward   2 b f (f + d) flop; 4 b f bytes of z written and read, 12 f of x, residual, y
 *     backward  2 b f (2 f + 3 d) flop; 4 b f bytes of z and of dz, each written and read (dz d times, from the cache)
 * f = 128, b = 8, d = 15: 0.29 Mflop and 9.7 kB forward, 0.62 Mflop and 17 kB backward; about 35 flop a byte: the
 * products are bound by FMA where there is no TF32, and by the memory of z on tensor cores. */
#include "nn/gpu/kernels/triplets.h"

#include "nn/gpu/kernels/tile_product.h"

enum { EIGHT = WL_GPU_BILINEAR, WARPS = WL_GPU_TRIPLET_WARPS };

/* Number l of a lane's orders: lanes 4 b to 4 b + 3 share those of bilinear function b. */
enum { LANE_ORDERS = WL_GPU_TRIPLET_ORDERS / 4 };

WL_DEVICE int edges_of(const struct wl_gpu_triplets &t) { return t.edge_start[*t.atoms]; }

/* The edges of the block's atom: [first, first + d). */
struct star {
    int first, d, triplet;
};

WL_DEVICE struct star star_of(const struct wl_gpu_triplets &t)
{
    const int atom = (int)blockIdx.x;
    const struct star s = { t.edge_start[atom], t.edge_start[atom + 1] - t.edge_start[atom], t.triplet_start[atom] };
    return s;
}

/* The cosines' basis of the triplet of edges k and q, k not q. */
WL_DEVICE const float *angular_of(const struct wl_gpu_triplets &t, const struct star &s, int k, int q)
{
    return t.angular + ((int64_t)s.triplet + q * (s.d - 1) + (k < q ? k : k - 1)) * t.orders;
}

/* v multiplied onto the radial basis of an edge, for order l and function b; 0 beyond bilinear. */
WL_DEVICE float edge_part(const struct wl_gpu_triplets &t, int edge, int l, int b)
{
    if (b >= t.bilinear) return 0;
    const float *radial = t.radial + ((int64_t)edge * t.orders + l) * t.radials;
    const float *v = t.v + ((int64_t)b * t.orders + l) * t.radials;
    float sum = 0;
    for (int i = 0; i < t.radials; i++) sum = fmaf(v[i], radial[i], sum);
    return sum;
}

/* r [d,orders,8] of functions [b, b + 8), by the block. */
WL_DEVICE void edge_parts(const struct wl_gpu_triplets &t, const struct star &s, int b, float *r)
{
    for (int i = (int)threadIdx.x; i < s.d * t.orders * EIGHT; i += 32 * WARPS) {
        const int at = i / EIGHT, k = at / t.orders;
        r[i] = edge_part(t, s.first + k, at - k * t.orders, b + i % EIGHT);
    }
}

/* s [d,8] of the triplets that edge q is in, 0 for q itself, by a warp. */
WL_DEVICE void weights_of(const struct wl_gpu_triplets &t, const struct star &s, const float *r, int q, float *to)
{
    for (int i = (int)threadIdx.x % 32; i < s.d * EIGHT; i += 32) {
        const int k = i / EIGHT;
        float sum = 0;
        if (k != q) {
            const float *angular = angular_of(t, s, k, q), *part = r + (int64_t)k * t.orders * EIGHT + i % EIGHT;
            for (int l = 0; l < t.orders; l++) sum = fmaf(angular[l], part[l * EIGHT], sum);
        }
        to[i] = sum;
    }
}

/* Features [j, j + 4) of z[q], functions [b, b + 8). */
WL_DEVICE void join(const struct wl_gpu_triplet_join &a, const struct star &s, const float *weights, int q, int b,
                    int j)
{
    const int f = a.of.f;
    float4 sum[EIGHT];
#pragma unroll
    for (int n = 0; n < EIGHT; n++) sum[n] = wl_zero4();
#pragma unroll 1 /* ptxas spills otherwise (sm_100) */
    for (int k = 0; k < s.d; k++) {
        const float4 x = wl_load4(a.x + (int64_t)(s.first + k) * f, j, f);
        const float4 low = *(const float4 *)(weights + k * EIGHT), high = *(const float4 *)(weights + k * EIGHT + 4);
        const float w[EIGHT] = { low.x, low.y, low.z, low.w, high.x, high.y, high.z, high.w };
#pragma unroll
        for (int n = 0; n < EIGHT; n++) sum[n] = wl_fma4(w[n], x, sum[n]);
    }
#pragma unroll
    for (int n = 0; n < EIGHT; n++)
        if (b + n < a.of.bilinear) wl_store4(a.z + ((int64_t)(s.first + q) * a.of.bilinear + b + n) * f, j, f, sum[n]);
}

WL_KERNEL(triplet_join, 128, struct wl_gpu_triplet_join)
{
    WL_DYNAMIC_SHARED(float, r);
    if ((int)blockIdx.x >= *a.of.atoms) return;
    const struct star s = star_of(a.of);
    const int lane = (int)threadIdx.x % 32, warp = (int)threadIdx.x / 32;
    float *const weights = r + (WL_GPU_NEIGHBOURS * a.of.orders + WL_GPU_NEIGHBOURS * warp) * EIGHT;
    for (int b = 0; b < a.of.bilinear; b += EIGHT) {
        __syncthreads(); /* the parts before these are read */
        edge_parts(a.of, s, b, r);
        __syncthreads();
        for (int q = warp; q < s.d; q += WARPS) {
            weights_of(a.of, s, r, q, weights);
            __syncwarp();
            for (int j = lane * 4; j < a.of.f; j += 128) join(a, s, weights, q, b, j);
            __syncwarp();
        }
    }
}

template <class T> WL_DEVICE void out(const struct wl_gpu_triplet_out &a, typename T::memory &m)
{
    const int rows = edges_of(a.of), f = a.of.f, depth = a.of.bilinear * f;
    const struct wl_matrix_operand z = { a.z, rows, depth }, w = { a.w, f, depth };
    wl_rows_product<T, WL_DEPTH_COLUMNS>(z, w, rows, depth, m, [&](int row, int column, float4 v) {
        if (row >= rows) return;
        const int64_t at = (int64_t)a.of.reverse[row] * f;
        wl_store4(a.y + at, column, f, wl_add4(wl_load4(a.residual + at, column, f), v));
    });
}

WL_TILE_KERNELS(triplet_out, 80, struct wl_gpu_triplet_out, out)

template <class T> WL_DEVICE void data(const struct wl_gpu_triplet_data &a, typename T::memory &m)
{
    const int rows = edges_of(a.of), f = a.of.f, width = a.of.bilinear * f;
    const struct wl_gathered_operand dy = { a.dy, a.of.reverse, rows, f };
    const struct wl_matrix_operand w = { a.w, f, width };
    wl_rows_product<T, WL_DEPTH_ROWS>(dy, w, rows, f, m, [&](int row, int column, float4 v) {
        if (row < rows) wl_store4(a.dz + (int64_t)row * width, column, width, v);
    });
}

WL_TILE_KERNELS(triplet_data, 80, struct wl_gpu_triplet_data, data)

template <class T> WL_DEVICE void weights(const struct wl_gpu_triplet_weights &a, typename T::memory &m)
{
    const int f = a.of.f, width = a.of.bilinear * f;
    const struct wl_weights_part part = wl_weights_part_of(a.parts, edges_of(a.of), f, width);
    const struct wl_gathered_operand dy = { a.dy, a.of.reverse, part.to, f };
    const struct wl_matrix_operand z = { a.z, part.to, width };
    wl_weights_product<T>(dy, z, part, m);
}

WL_TILE_KERNELS(triplet_weights, 80, struct wl_gpu_triplet_weights, weights)

/* A warp's edge k: its part r and the gradient of that, of this lane's function and orders. */
struct lane_parts {
    float r[LANE_ORDERS], dr[LANE_ORDERS];
};

/* The triplet of edges k and q, features [j, j + 4): adds to dx and to the lane's gradients. */
WL_DEVICE void add_triplet(const struct wl_gpu_triplet_part &a, const struct star &s, int k, int q, int b, int j,
                           float4 x, struct lane_parts &p, float4 &dx)
{
    const int f = a.of.f, lane = (int)threadIdx.x % 32;
    const float *angular = angular_of(a.of, s, k, q);
    float weight = 0, cosine[LANE_ORDERS], d[EIGHT];
#pragma unroll
    for (int m = 0; m < LANE_ORDERS; m++) {
        const int l = lane % 4 + 4 * m;
        cosine[m] = l < a.of.orders ? angular[l] : 0;
        weight = fmaf(cosine[m], p.r[m], weight);
    }
    weight += __shfl_xor_sync(0xffffffffu, weight, 1);
    weight += __shfl_xor_sync(0xffffffffu, weight, 2);
#pragma unroll
    for (int n = 0; n < EIGHT; n++) {
        const float *from = a.dz + ((int64_t)(s.first + q) * a.of.bilinear + b + n) * f;
        const float4 dz = b + n < a.of.bilinear ? wl_load4(from, j, f) : wl_zero4();
        dx = wl_fma4(__shfl_sync(0xffffffffu, weight, 4 * n), dz, dx);
        d[n] = x.x * dz.x + x.y * dz.y + x.z * dz.z + x.w * dz.w;
    }
    const float ds = wl_warp_sum8(d, lane);
#pragma unroll
    for (int m = 0; m < LANE_ORDERS; m++) p.dr[m] = fmaf(cosine[m], ds, p.dr[m]);
}

/* Functions [b, b + 8) of edge k; dx gets what the functions before these have left out. */
WL_DEVICE void part(const struct wl_gpu_triplet_part &a, const struct star &s, int k, int b)
{
    const int f = a.of.f, lane = (int)threadIdx.x % 32, edge = s.first + k, orders = a.of.orders;
    struct lane_parts p;
#pragma unroll
    for (int m = 0; m < LANE_ORDERS; m++) {
        const int l = lane % 4 + 4 * m;
        p.r[m] = l < orders ? edge_part(a.of, edge, l, b + lane / 4) : 0;
        p.dr[m] = 0;
    }
    for (int first = 0; first < f; first += 128) {
        const int j = first + lane * 4;
        const float4 x = wl_load4(a.x + (int64_t)edge * f, j, f);
        float *const to = a.dx + (int64_t)edge * f;
        float4 dx = b ? wl_load4(to, j, f) : wl_zero4();
        for (int q = 0; q < s.d; q++)
            if (q != k) add_triplet(a, s, k, q, b, j, x, p, dx);
        wl_store4(to, j, f, dx);
    }
#pragma unroll
    for (int m = 0; m < LANE_ORDERS; m++) {
        const int l = lane % 4 + 4 * m, n = b + lane / 4;
        if (l < orders && n < a.of.bilinear) a.dr[((int64_t)edge * orders + l) * a.of.bilinear + n] = p.dr[m];
    }
}

WL_KERNEL(triplet_part, 128, struct wl_gpu_triplet_part)
{
    if ((int)blockIdx.x >= *a.of.atoms) return;
    const struct star s = star_of(a.of);
    for (int b = 0; b < a.of.bilinear; b += EIGHT)
        for (int k = (int)threadIdx.x / 32; k < s.d; k += WARPS) part(a, s, k, b);
}

WL_KERNEL(triplet_basis, 128, struct wl_gpu_triplet_basis)
{
    __shared__ wl_small_tile::memory memory;
    const int m = a.of.orders * a.of.bilinear, n = a.of.orders * a.of.radials;
    const struct wl_weights_part part = wl_weights_part_of(a.parts, edges_of(a.of), m, n);
    const struct wl_matrix_operand dr = { a.dr, part.to, m }, radial = { a.of.radial, part.to, n };
    wl_weights_product<wl_small_tile>(dr, radial, part, memory);
}

WL_KERNEL(triplet_sum_basis, 256, struct wl_gpu_triplet_basis)
{
    const int n = a.of.orders * a.of.radials;
    for (int i = (int)wl_thread(); i < a.of.bilinear * n; i += (int)wl_threads()) {
        const int b = i / n, column = i - b * n, l = column / a.of.radials;
        const float *from = a.parts.at + (int64_t)(l * a.of.bilinear + b) * n + column;
        float sum = 0;
#pragma unroll 8
        for (int p = 0; p < a.parts.n; p++) sum += from[p * a.parts.apart];
        a.dv[i] = sum;
    }
}
