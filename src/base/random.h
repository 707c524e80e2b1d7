/* Random numbers by position: a pure function of (key, stream, index), so the same on any machine, in any order and
 * for any number of threads or ranks. Philox4x32-10, Salmon et al., "Parallel random numbers: as easy as 1, 2, 3",
 * SC11, doi:10.1145/2063384.2063405. */
#ifndef WL_BASE_RANDOM_H
#define WL_BASE_RANDOM_H

#include <stddef.h>
#include <stdint.h>

/* Block `index` of four 32-bit words of a stream. */
void wl_philox(uint64_t key, uint64_t stream, uint64_t index, uint32_t out[4]);

/* Element i of a stream: uniform in [0, 1), and normal with mean 0 and deviation 1. */
double wl_random_uniform(uint64_t key, uint64_t stream, uint64_t i);
double wl_random_normal(uint64_t key, uint64_t stream, uint64_t i);

/* Element i of a stream: an integer in [0, n), n >= 1. */
uint64_t wl_random_below(uint64_t key, uint64_t stream, uint64_t i, uint64_t n);

/* The first `count` draws of a stream from 0 .. n - 1, 1 <= n <= 2^32, four of a block: for very many of them. */
void wl_random_indices(uint64_t key, uint64_t stream, uint64_t n, size_t count, size_t *out);

/* Normal elements [first, first + count) of a stream, the bits of wl_random_normal at half its cost; `first` is even.
 */
void wl_random_normals(uint64_t key, uint64_t stream, uint64_t first, size_t count, double *out);

/* A stream for a name: FNV-1a, 64 bits. */
uint64_t wl_hash_fnv1a(const char *s);

#endif
