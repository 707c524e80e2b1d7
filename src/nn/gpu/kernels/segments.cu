/* Rows that are copied and summed: embed, segment_sum, edge_concat. All are bound by device memory; bytes of a row:
 *     embed                  4 f written, its entry from the cache; backward 4 f read, and 4 bytes of its index for
 * each entry, from the cache segment_sum            4 f read, 4 f written of a segment; backward the other way
 *     edge_concat            4 g read, 4 (2 f + g) written, the atoms' from the cache; backward the other way
 * Backward passes take the rows of an entry, a segment or an atom in their order: no atomics. */
#include "nn/gpu/kernels/segments.h"

#include "nn/gpu/kernels/four.h"

/* Number of this warp among those of the grid, and of all. */
WL_DEVICE int warp_index(void) { return (int)(wl_thread() / 32); }
WL_DEVICE int warps(void) { return (int)(wl_threads() / 32); }

/* to[0 .. n) = from, by a warp. */
WL_DEVICE void copy_row(const float *from, int n, float *to)
{
    for (int j = (int)threadIdx.x % 32; j < n; j += 32) to[j] = from[j];
}

WL_KERNEL(embed, 256, struct wl_gpu_embed)
{
    const int rows = *a.rows;
    for (int r = warp_index(); r < rows; r += warps())
        copy_row(a.w + (int64_t)a.index[r] * a.f, a.f, a.y + (int64_t)r * a.f);
}

enum { SUM_WARPS = 16 };

/* The sum of dy[r], r of those 32 rows from `first` on whose index is `entry`, for features [j, j + 4). */
WL_DEVICE float4 add_entry(const struct wl_gpu_embed_backward &a, int first, int rows, int entry, int j, float4 sum)
{
    const int r = first + (int)threadIdx.x % 32;
    unsigned found = __ballot_sync(0xffffffffu, r < rows && a.index[r] == entry);
    for (int at = first; found; found >>= 1, at++)
        if (found & 1) sum = wl_add4(sum, wl_load4(a.dy + (int64_t)at * a.f, j, a.f));
    return sum;
}

WL_KERNEL(embed_backward, 512, struct wl_gpu_embed_backward)
{
    __shared__ float4 shared[SUM_WARPS][32];
    const int rows = *a.rows, lane = (int)threadIdx.x % 32, warp = (int)threadIdx.x / 32, entry = (int)blockIdx.x;
    const int j = (int)blockIdx.y * 128 + lane * 4;
    float4 sum = wl_zero4();
    for (int first = warp * 32; first < rows; first += SUM_WARPS * 32) sum = add_entry(a, first, rows, entry, j, sum);
    shared[warp][lane] = sum;
    __syncthreads();
    if (warp) return;
    for (int w = 1; w < SUM_WARPS; w++) sum = wl_add4(sum, shared[w][lane]);
    wl_store4(a.dw + (int64_t)entry * a.f, j, a.f, sum);
}

/* Rows [from, to) of segment s. */
WL_DEVICE void rows_of(const struct wl_gpu_segment_sum &a, int s, int *from, int *to)
{
    const bool known = s < *a.segments;
    *from = known ? a.start[s] : 0;
    *to = known ? a.start[s + 1] : 0;
}

WL_KERNEL(segment_sum, 256, struct wl_gpu_segment_sum)
{
    const int64_t n = (int64_t)a.room * a.f;
    for (int64_t i = wl_thread(); i < n; i += wl_threads()) {
        const int s = (int)(i / a.f), j = (int)(i - (int64_t)s * a.f);
        int from, to;
        rows_of(a, s, &from, &to);
        float sum = 0;
#pragma unroll 4
        for (int r = from; r < to; r++) sum += a.x[(int64_t)r * a.f + j];
        a.y[i] = sum;
    }
}

WL_KERNEL(segment_sum_backward, 256, struct wl_gpu_segment_sum)
{
    const int64_t n = (int64_t)*a.segments * a.f;
    for (int64_t i = wl_thread(); i < n; i += wl_threads()) {
        const int s = (int)(i / a.f), j = (int)(i - (int64_t)s * a.f);
        int from, to;
        rows_of(a, s, &from, &to);
        const float dy = a.x[i];
        for (int r = from; r < to; r++) a.y[(int64_t)r * a.f + j] = dy;
    }
}

/* An edge leads to the source of its way back. */
WL_KERNEL(edge_concat, 256, struct wl_gpu_edge_concat)
{
    const int edges = a.edge_start[*a.atoms];
    for (int e = warp_index(); e < edges; e += warps()) {
        float *const y = a.y + (int64_t)e * (2 * a.f + a.g);
        copy_row(a.x + (int64_t)a.source[a.reverse[e]] * a.f, a.f, y);
        copy_row(a.x + (int64_t)a.source[e] * a.f, a.f, y + a.f);
        copy_row(a.z + (int64_t)e * a.g, a.g, y + 2 * a.f);
    }
}

WL_KERNEL(edge_concat_backward, 128, struct wl_gpu_edge_concat_backward)
{
    const int atom = (int)blockIdx.x;
    if (atom >= *a.atoms) return;
    const int from = a.edge_start[atom], to = a.edge_start[atom + 1];
    const int64_t width = 2 * a.f + a.g;
    for (int j = (int)threadIdx.x; j < a.f; j += 128) {
        float sum = 0;
        for (int e = from; e < to; e++) sum += a.dy[e * width + j] + a.dy[a.reverse[e] * width + a.f + j];
        a.dx[(int64_t)atom * a.f + j] = sum;
    }
    for (int e = from + (int)threadIdx.x / 32; e < to; e += 4)
        copy_row(a.dy + e * width + 2 * a.f, a.g, a.dz + (int64_t)e * a.g);
}
