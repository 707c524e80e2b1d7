/* The gradient by weights of any convolution between bf16 values, directly, by dot products of pairs of pixels
 * (AVX512_BF16's vdpbf16ps):
 *
 *     dw[k,c,i,j] = sum over result pixels (n,p,q) of dy[k,n,p,q] x[c, n, p stride + i - pad, q stride + j - pad]
 *
 * For each tap (i,j) that is a product of matrices over all result pixels, which are gathered as pairs first. So
 * neither short rows nor strides slow the products down, as they do oneDNN's; on large maps gathering costs more than
 * that gains. Every sum follows the order of the pixels, by one thread: bits do not depend on the number of threads. */
#ifndef WL_NN_CPU_CONV_WEIGHTS_BF16_H
#define WL_NN_CPU_CONV_WEIGHTS_BF16_H

#include "nn/graph/shapes.h"

enum {
    WL_CONV_WEIGHTS_MAP = 14 * 14, /* result pixels of an image, at most: larger maps gain nothing */
    WL_CONV_WEIGHTS_PIECE = 192,   /* result pixels: those of a panel stay in the first-level cache */
    WL_CONV_WEIGHTS_PAIRS = WL_CONV_WEIGHTS_PIECE / 2,
    WL_CONV_WEIGHTS_LANES = 16,
    WL_CONV_WEIGHTS_BLOCK = WL_CONV_WEIGHTS_PAIRS * WL_CONV_WEIGHTS_LANES, /* pairs of pixels x channels */
    WL_CONV_WEIGHTS_PANEL = 4,                                             /* vectors of filters at once, at most */
    WL_CONV_WEIGHTS_ROWS = 48                                              /* channels at once, at most */
};

/* Two bf16 numbers of a channel in two pixels that follow each other, the first in the lower half. */
typedef int32_t wl_conv_weights_pair;

/* A value [N,blocks,h,w,16] at result pixels [from, to): dy as they are, x where a tap reads them. */
struct wl_conv_weights_gather {
    const uint16_t *value;
    int64_t blocks, h, w;
    int64_t p, q;                 /* the result's rows and columns */
    int64_t stride[2], before[2]; /* before: pad - tap */
    int64_t from, to;
    wl_conv_weights_pair *pairs; /* [blocks][WL_CONV_WEIGHTS_PAIRS][16], on cache lines; an odd pixel gets zeros */
    float *sums;                 /* [blocks][16] of the numbers; NULL: not wanted */
};
void wl_conv_weights_gather(const struct wl_conv_weights_gather *o);

/* Products of a piece at a tap: of channels [c, c + rows), rows <= WL_CONV_WEIGHTS_ROWS, and `vectors` blocks of
 * filters. */
struct wl_conv_weights_sums {
    int64_t c, rows, vectors, pairs;
    const wl_conv_weights_pair *x, *dy; /* block 0 of the channels; the first block of the filters */
    float *dw;                          /* of the first block of filters at this tap: [C/16 blocks][16 c][16 k] */
    int64_t c_step, k_step;             /* floats from a block of channels, and of filters, to the next */
    bool add;                           /* to dw; else it is written */
};
void wl_conv_weights_sums(const struct wl_conv_weights_sums *o);

#endif
