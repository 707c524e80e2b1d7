/* Rows divided among threads. Gradients of weights are summed in WL_CHUNKS parts of fixed bounds, then the parts in
 * their order, so the number of threads does not change a bit. */
#ifndef WL_NN_CPU_CHUNKS_H
#define WL_NN_CPU_CHUNKS_H

#include "nn/threads.h"

#include <stddef.h>
#include <stdint.h>

enum { WL_CHUNKS = 16 };

static inline size_t wl_chunk_threads(void) { return (size_t)omp_get_max_threads(); }

static inline int wl_chunk_thread(void)
{
#ifdef _OPENMP
    return omp_get_thread_num();
#else
    return 0;
#endif
}

/* Rows [*from, *to) of chunk c. */
static inline void wl_chunk_rows(int64_t rows, int c, int64_t *from, int64_t *to)
{
    *from = rows * c / WL_CHUNKS;
    *to = rows * (c + 1) / WL_CHUNKS;
}

/* The segments of chunk c, about a sixteenth of the rows in start [n + 1]: a segment goes where its first row does, and
 * those without rows too. */
void wl_chunk_segments(const int32_t *start, int64_t n, int c, int64_t *from, int64_t *to);

/* sum [n] = the parts of all chunks, or so many parts, which lie `apart` floats from each other. */
void wl_chunk_sum(const float *parts, size_t apart, size_t n, float *sum);
void wl_chunk_sum_parts(const float *parts, int count, size_t apart, size_t n, float *sum);

/* to [n,k] = from [k,n] transposed; rows of `to` from n to `padded` become 0. */
void wl_chunk_transpose(const float *from, int64_t k, int64_t n, int64_t padded, float *to);

#endif
