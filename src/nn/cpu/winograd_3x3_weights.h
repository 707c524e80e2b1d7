/* The gradient by weights of a 3x3 convolution by Winograd's algorithm (winograd_3x3.h) in 16-bit integers:
 *
 *     dg = G' [ sum over tiles of V_p Z_p ] G        V = B'xB, Z = A dy A', 36 points p, for each channel c and filter
 * k
 *
 * The sum over tiles is a product of matrices at each point, V_p' Z_p of [tiles,C] and [tiles,K]. docs/adr/154 says why
 * its numbers are integers: rounded to bf16 they would make a gradient's error 4.4 times that of direct convolution.
 *
 * Scales. Tiles are cut into pieces of at most WL_WINOGRAD_DW_PIECE. In a piece, the numbers of a channel at a point
 * are multiplied by WL_WINOGRAD_DW_NORM over their norm, and rounded. So
 *   - each is at most WL_WINOGRAD_DW_NORM < 2^15 - 1: none is saturated;
 *   - rounding by at most 1/2 each adds at most sqrt(WL_WINOGRAD_DW_PIECE)/2 = 7 to the norm, and by Cauchy and Schwarz
 *     every partial sum of products is at most (32700 + 7)^2 < 2^31: no sum of 32 bits overflows,
 * whatever the values are. Between pieces sums are f32, in the order of the pieces, by one thread each: bits do not
 * depend on the number of threads.
 *
 * A norm that is not finite, since a value is infinite or NaN, makes NaN of every gradient of that channel or filter.
 */
#ifndef WL_NN_CPU_WINOGRAD_3X3_WEIGHTS_H
#define WL_NN_CPU_WINOGRAD_3X3_WEIGHTS_H

#include "nn/cpu/conv_custom.h"
#include "nn/cpu/winograd_3x3.h"

#define WL_WINOGRAD_DW_NORM 32700.0F

enum {
    WL_WINOGRAD_DW_PIECE =
        192, /* tiles: the f32 numbers of a block stay in the second-level cache, a panel in the first */
    WL_WINOGRAD_DW_PAIRS = WL_WINOGRAD_DW_PIECE / 2,
    WL_WINOGRAD_DW_BLOCK = WL_WINOGRAD_DW_PAIRS * WL_WINOGRAD_LANES, /* pairs of tiles x channels */
    /* f32 numbers from a point's tiles to the next point's: a little more, lest all lie in one set of the cache. */
    WL_WINOGRAD_DW_APART = (WL_WINOGRAD_DW_PIECE + 1) * WL_WINOGRAD_LANES,
    /* Norms are kept divided by 2^10: so even those of the largest finite values are finite, since the rows of B' and A
     * make at most (1 + b + b2 + b3)^2 = 66 of one, and sqrt(WL_WINOGRAD_DW_PIECE) 66 < 2^10. */
    WL_WINOGRAD_DW_NORM_BITS = 10,
    /* Sums are kept divided by 2^11, since the rows make up to 30 * 66 < 2^11 of a product of two values: they overflow
     * where the gradient may itself. */
    WL_WINOGRAD_DW_SUM_BITS = 11
};

/* Two numbers of a channel in two tiles that follow each other, the first in the lower half. */
typedef int32_t wl_winograd_dw_pair;

/* ---- winograd_3x3_weights_numbers.c ---- */

/* A block of 16 channels of a value, in a piece: tiles [from, to). */
struct wl_winograd_dw_numbers {
    const struct wl_winograd_3x3 *g;
    const uint16_t *value; /* x [N,C/16,H,W,16] or dy [N,K/16,P,Q,16] */
    bool is_dy;
    int64_t block, from, to;
    wl_winograd_dw_pair *pairs; /* [points][WL_WINOGRAD_DW_PAIRS][16] on cache lines, points `point_step` pairs apart */
    int64_t point_step;
    bool stream;  /* write them to memory, past the caches */
    float *norms; /* [points][16], points `norm_step` floats apart: divided by 2^WL_WINOGRAD_DW_NORM_BITS */
    int64_t norm_step;
    float *sums;    /* [16] of all values, of dy only; NULL: not wanted */
    float *scratch; /* [points][WL_WINOGRAD_DW_APART], of the thread */
};
void wl_winograd_dw_numbers(const struct wl_winograd_dw_numbers *o);

/* ---- winograd_3x3_weights_sums.c ---- */

/* At a point, products [C][vectors x 16] of a piece: V' Z. */
struct wl_winograd_dw_sums {
    int64_t c, vectors, pairs;        /* vectors: 1 to WL_WINOGRAD_DW_PANEL; pairs of tiles */
    const wl_winograd_dw_pair *v, *z; /* blocks of 16 channels, WL_WINOGRAD_DW_BLOCK apart */
    const float *v_norms, *z_norms;   /* [C], [vectors x 16] */
    float *sums;                      /* [C] rows of `row` floats: written, or with `add` added to */
    int64_t row;
    bool add;
};
enum { WL_WINOGRAD_DW_PANEL = 4 };
void wl_winograd_dw_sums(const struct wl_winograd_dw_sums *o);

/* sums [points][C][row], points `point_step` floats apart, of 16 filters from k on, for channels [16 block, ... + 16):
 * dw [3][3][16 c][16 k] = G' sums G. */
void wl_winograd_dw_filter(const float *sums, int64_t point_step, int64_t row, float *dw);

#endif
