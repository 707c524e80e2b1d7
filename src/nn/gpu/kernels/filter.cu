/* Continuous-filter convolution: filters of pairs are rows through two layers, then each atom takes what its pairs
 * bring. Gaussians of a distance are made where a product reads them; filters are kept for the backward pass.
 *
 * A pair takes, with f features and g Gaussians,
 *     forward   2 f (g + f) flop for its filter, 4 f flop; 4 f bytes written of `hidden` and of its filter, 4 f and 8 f
 *               read of them
 *     backward  2 f (3 f + 2 g) flop; 4 f bytes written and about 4 times read of `hidden` and of d_filters, its filter
 *               8 f read
 * f = 128, g = 50: 45,600 flop and 2.5 kB forward, 124,000 flop and 6 kB backward. At 20,000 pairs (a batch of 128 of
 * QM9) all of it stays in the cache of an H100, and the products bound them. */
#include "nn/gpu/kernels/filter.h"

#include "nn/gpu/kernels/rows_activation.h"

WL_DEVICE int pairs_of(const struct wl_gpu_pairs &p) { return p.pair_start[*p.molecules]; }

/* exp(-(d/apart - k)^2/2) [pairs,gaussians]; the difference is taken in double, it is small where the number counts. */
struct gaussians {
    const float *distance;
    double per_apart;
    int rows, columns;
    __device__ __forceinline__ float one(double at, int k) const
    {
        const float off = (float)(at - k);
        return k < columns ? expf(-0.5f * off * off) : 0;
    }
    __device__ __forceinline__ float4 load4(int row, int column) const
    {
        if (row >= rows) return wl_zero4();
        const double at = (double)distance[row] * per_apart;
        return make_float4(one(at, column), one(at, column + 1), one(at, column + 2), one(at, column + 3));
    }
};

WL_DEVICE struct gaussians gaussians_of(const struct wl_gpu_pairs &p, int rows, int n)
{
    const struct gaussians g = { p.distance, (n - 1) / p.cutoff, rows, n };
    return g;
}

/* sin^2(pi/2 (1 - d/cutoff)), which is cos^2 of the rest and exact where it vanishes. */
WL_DEVICE float cut_of(const struct wl_gpu_pairs &p, int pair)
{
    const float cutoff = (float)p.cutoff, s = sinpif((cutoff - p.distance[pair]) * (0.5f / cutoff));
    return s * s;
}

template <class T> WL_DEVICE void hidden(const struct wl_gpu_filter_hidden &a, typename T::memory &m)
{
    const int rows = pairs_of(a.pairs);
    const struct gaussians g = gaussians_of(a.pairs, rows, a.gaussians);
    const struct wl_matrix_operand w0 = { a.w0, a.f, a.gaussians };
    wl_rows_product<T, WL_DEPTH_COLUMNS>(g, w0, rows, a.gaussians, m, [&](int row, int column, float4 u) {
        if (row >= rows) return;
        u = wl_add4(u, wl_load4(a.b0, column, a.f));
        wl_store4(a.hidden + (int64_t)row * a.f, column, a.f, wl_activate4(WL_GPU_SOFTPLUS, u));
    });
}

WL_TILE_KERNELS(filter_hidden, 80, struct wl_gpu_filter_hidden, hidden)

template <class T> WL_DEVICE void filters(const struct wl_gpu_filter_filters &a, typename T::memory &m)
{
    const int rows = pairs_of(a.pairs);
    const struct wl_matrix_operand h = { a.hidden, rows, a.f }, w2 = { a.w2, a.f, a.f };
    wl_rows_product<T, WL_DEPTH_COLUMNS>(h, w2, rows, a.f, m, [&](int row, int column, float4 v) {
        if (row >= rows) return;
        v = wl_scale4(cut_of(a.pairs, row), wl_add4(v, wl_load4(a.b2, column, a.f)));
        wl_store4(a.filters + (int64_t)row * a.f, column, a.f, v);
    });
}

WL_TILE_KERNELS(filter_filters, 80, struct wl_gpu_filter_filters, filters)

/* The molecule of an atom: the last one that begins at it or before. */
WL_DEVICE int molecule_of(const struct wl_gpu_pairs &p, int atom)
{
    int low = 0, high = *p.molecules;
    while (high - low > 1) {
        const int middle = (low + high) / 2;
        if (p.atom_start[middle] <= atom)
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* What those of 32 pairs from `first` on bring that atom i is in, in their order; features [j, j + 4). */
WL_DEVICE float4 add_pairs(const struct wl_gpu_filter_spread &a, int first, int end, int i, int j, float4 sum)
{
    const int p = first + (int)threadIdx.x % 32;
    const int one = p < end ? a.pairs.pair[2 * (int64_t)p] : -1, two = p < end ? a.pairs.pair[2 * (int64_t)p + 1] : -1;
    unsigned found = __ballot_sync(0xffffffffu, one == i || two == i);
    for (int at = 0; found; found >>= 1, at++) {
        if (!(found & 1)) continue;
        const int from = __shfl_sync(0xffffffffu, one, at), to = __shfl_sync(0xffffffffu, two, at);
        const float4 w = wl_load4(a.filters + (int64_t)(first + at) * a.f, j, a.f);
        if (from == i) sum = wl_add4(sum, wl_mul4(w, wl_load4(a.x + (int64_t)to * a.f, j, a.f)));
        if (to == i) sum = wl_add4(sum, wl_mul4(w, wl_load4(a.x + (int64_t)from * a.f, j, a.f)));
    }
    return sum;
}

WL_KERNEL(filter_spread, 256, struct wl_gpu_filter_spread)
{
    const int i = (int)(wl_thread() / 32), lane = (int)threadIdx.x % 32;
    if (i >= a.pairs.atom_start[*a.pairs.molecules]) return;
    const int molecule = molecule_of(a.pairs, i), end = a.pairs.pair_start[molecule + 1];
    for (int first_j = 0; first_j < a.f; first_j += 128) {
        const int j = first_j + lane * 4;
        float4 sum = wl_zero4();
        for (int p = a.pairs.pair_start[molecule]; p < end; p += 32) sum = add_pairs(a, p, end, i, j, sum);
        wl_store4(a.y + (int64_t)i * a.f, j, a.f, sum);
    }
}

WL_KERNEL(filter_gather, 256, struct wl_gpu_filter_gather)
{
    const int pairs = pairs_of(a.pairs), step = (int)(wl_threads() / 32), f = a.f;
    for (int p = (int)(wl_thread() / 32); p < pairs; p += step) {
        const int64_t one = (int64_t)a.pairs.pair[2 * (int64_t)p] * f,
                      two = (int64_t)a.pairs.pair[2 * (int64_t)p + 1] * f;
        const float cut = cut_of(a.pairs, p);
        for (int j = (int)threadIdx.x % 32 * 4; j < f; j += 128) {
            const float4 to_one = wl_mul4(wl_load4(a.dy + one, j, f), wl_load4(a.x + two, j, f)),
                         to_two = wl_mul4(wl_load4(a.dy + two, j, f), wl_load4(a.x + one, j, f));
            wl_store4(a.d_filters + (int64_t)p * f, j, f, wl_scale4(cut, wl_add4(to_one, to_two)));
        }
    }
}

/* The slope of the softplus from its value: 1 - e^-(h + log 2). */
WL_DEVICE float slope_at(float h) { return -expm1f(-(h + 0.693147180559945f)); }

template <class T> WL_DEVICE void before(const struct wl_gpu_filter_before &a, typename T::memory &m)
{
    const int rows = pairs_of(a.pairs);
    const struct wl_matrix_operand d = { a.d_filters, rows, a.f }, w2 = { a.w2, a.f, a.f };
    wl_rows_product<T, WL_DEPTH_ROWS>(d, w2, rows, a.f, m, [&](int row, int column, float4 v) {
        if (row >= rows) return;
        float *const at = a.hidden + (int64_t)row * a.f;
        const float4 h = wl_load4(at, column, a.f);
        const float4 slope = make_float4(slope_at(h.x), slope_at(h.y), slope_at(h.z), slope_at(h.w));
        wl_store4(at, column, a.f, wl_mul4(v, slope));
    });
}

WL_TILE_KERNELS(filter_before, 80, struct wl_gpu_filter_before, before)

template <class T> WL_DEVICE void weights2(const struct wl_gpu_filter_weights &a, typename T::memory &m)
{
    const struct wl_weights_part part = wl_weights_part_of(a.parts, pairs_of(a.pairs), a.f, a.f);
    const struct wl_matrix_operand d = { a.d_filters, part.to, a.f }, h = { a.hidden, part.to, a.f };
    wl_weights_product<T>(d, h, part, m);
}

WL_TILE_KERNELS(filter_weights2, 80, struct wl_gpu_filter_weights, weights2)

WL_KERNEL(filter_weights0, 128, struct wl_gpu_filter_weights)
{
    __shared__ wl_small_tile::memory m;
    const struct wl_weights_part part = wl_weights_part_of(a.parts, pairs_of(a.pairs), a.f, a.gaussians);
    const struct wl_matrix_operand du = { a.hidden, part.to, a.f };
    wl_weights_product<wl_small_tile>(du, gaussians_of(a.pairs, part.to, a.gaussians), part, m);
}
