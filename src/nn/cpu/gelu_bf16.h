/* GELU of bf16 numbers, and its derivative, by pieces. */
#ifndef WL_NN_CPU_GELU_BF16_H
#define WL_NN_CPU_GELU_BF16_H

#include <stdint.h>

/* u: `rows` rows of n numbers, n a multiple of 16, side by side; y and slope (NULL: not wanted) `step` elements apart.
 * Needs AVX512_BF16. */
void wl_gelu_bf16(int64_t rows, int64_t n, const uint16_t *u, uint16_t *y, uint16_t *slope, int64_t step);

#endif
