/* Winograd's algorithm F(4x4,3x3) (winograd_3x3.h) forward and backward by data, with products of 16-bit integers and
 * sums of 32 bits (AVX512_VNNI's vpdpwssd, as fast as products of bf16 and 8 bits more exact).
 *
 * A thread takes a block of tiles whose numbers stay in the second-level cache: V_p = B'dB of all channels in integers;
 * then for a panel of at most 64 filters the products M_p = V_p U_p, back to f32, and A'MA with bias, relu and rounding
 * to bf16. U_p is made before, once in a pass. Channels are cut into slices of at most 256; sums of slices are f32.
 *
 * No sum overflows, whatever the values are. Take a slice of a tile at a point: v, with one number for each channel,
 * and u, a filter's. They are multiplied by s and t and rounded to integers V and U, so that
 *
 *     |s v| <= 32700,   |t u| <= 65400 and each |t u_c| <= 32700        | | is the Euclidean norm
 *
 * Rounding moves each number by at most 1/2, so the norms by at most sqrt(256)/2 = 8. Hence V_c and U_c are below 2^15,
 * and by Cauchy and Schwarz each sum of products, of all channels or of some, is at most 32708 65408 < .9963 2^31. The
 * rest of 2^31 is for rounding in f32 of what follows, of less than 1e-4.
 *
 *   - s comes from the norms of pixels over the channels of the slice: v is a sum of pixels, so |v| <= sum of
 *     |B'_ai| |B'_bj| times the norm of pixel (i,j). One norm serves all tiles and points that read the pixel.
 *   - t comes in the same way from the norms of the filter's nine taps over the channels, and from their maxima.
 *
 * So that squares neither overflow nor vanish, filters are brought to a maximum in [1,2) by a power of two first, and
 * pixels of norms outside of 2^-40 to 2^60 are measured, and their tiles multiplied, with another one.
 *
 * What that costs: an error at a point is at most 5e-4 (8/32700 and as much again) of the product of both bounds, and
 * usually a thirtieth of that. So errors are relative to the largest pixels of a tile and the largest taps of a filter,
 * whatever the result is.
 *
 * A value that is infinite or NaN makes NaN of all results of the tiles that read it (its norm does, times a zero of B'
 * too), a weight of all results of its filter.
 */
#ifndef WL_NN_CPU_WINOGRAD_3X3_INT16_H
#define WL_NN_CPU_WINOGRAD_3X3_INT16_H

#include "nn/cpu/winograd_3x3.h"

enum {
    WL_WINOGRAD_SLICE = 256, /* channels that integers sum up */
    WL_WINOGRAD_PANEL = 4,   /* vectors of 16 filters that are multiplied at once, at most */
    WL_WINOGRAD_SCALES = 48, /* floats of a tile: one for each point, in whole vectors */
    WL_WINOGRAD_SPARE = 12,  /* rows after a block: sums of up to so many tiles are in registers */
    WL_WINOGRAD_NORM_BITS =
        10 /* norms are kept divided by 2^10, so that those of the largest finite values are finite */
};

/* Two numbers of neighbouring channels, the first in the lower half. */
typedef int32_t wl_winograd_pair;

/* How a pass is cut. Memory of the 36 points lies a little apart, or all would fall into the same sets of the caches:
 * steps are from a point to the next one, in elements. */
struct wl_winograd_int16 {
    struct wl_winograd_3x3 g;
    int64_t slices, depth;          /* of the channels; of a slice, the last one may have fewer */
    int64_t panels, block;          /* of the filters; tiles of a block */
    int64_t u_step, v_step, m_step; /* pairs, pairs, floats */
    int64_t undo_step;              /* tiles: from a slice's scales to the next one's */
    int64_t threads;
    bool bf16; /* the processor rounds to it by an instruction */
};

/* Blocks of 16 channels of slice i, and its first one. */
static inline int64_t wl_winograd_slice_from(const struct wl_winograd_int16 *o, int64_t i)
{
    return o->g.c / WL_WINOGRAD_LANES * i / o->slices;
}

/* The first vector of 16 filters of panel i. */
static inline int64_t wl_winograd_panel_from(const struct wl_winograd_int16 *o, int64_t i)
{
    return o->g.k / WL_WINOGRAD_LANES * i / o->panels;
}

/* ---- winograd_3x3_int16_filters.c ---- */

/* U and what undoes its scales. Filters with a power of two so that their maximum is in [1,2): `back` undoes that. */
struct wl_winograd_filters {
    wl_winograd_pair *u; /* [slices][points][panels][depth/2][vectors of the panel][16] */
    float *undo;         /* [slices][points][k] */
    float *back;         /* [k] */
};

/* w [K/16][C/16][9][16 c][16 k]; `turned`: for the pass by data, whose channels are K and filters C. `scratch` is of
 * wl_winograd_filters_scratch() bytes for each thread. */
void wl_winograd_filters(const struct wl_winograd_int16 *o, const float *w, bool turned,
                         const struct wl_winograd_filters *to, float *scratch);
size_t wl_winograd_filters_scratch(const struct wl_winograd_int16 *o);

/* ---- winograd_3x3_int16_values.c ---- */

/* norms [slices][n][h w]: of pixels over the channels of a slice, divided by 2^WL_WINOGRAD_NORM_BITS. */
void wl_winograd_norms(const struct wl_winograd_int16 *o, const uint16_t *in, float *norms);

/* A block of tiles in integers, and what undoes their scales. */
struct wl_winograd_values {
    wl_winograd_pair *v; /* [slices][points][block + SPARE][depth of the slice / 2] */
    float *undo;         /* [slices][block + SPARE][SCALES] */
    float *back; /* [block]: by whose square the tile's results are to be multiplied; 1 but in tiles of extremes */
};
void wl_winograd_values(const struct wl_winograd_int16 *o, const uint16_t *in, const float *norms, int64_t from,
                        int64_t to, const struct wl_winograd_values *values);

/* ---- winograd_3x3_int16_products.c ---- */

/* At all points, m [points][n + SPARE][vectors x 16] of a panel: written from the first slice, then added to. Rows are
 * computed in groups, of which the last one may go beyond n. */
struct wl_winograd_products {
    int64_t n, pairs, vectors;     /* tiles; channels / 2; of the panel */
    const wl_winograd_pair *v, *u; /* the slice's; of the panel */
    const float *v_undo;           /* [tiles][SCALES] */
    const float *u_undo;           /* [points][...], the panel's first filter */
    int64_t v_step, u_step, m_step, u_undo_step;
    float *m;
    bool add;
};
void wl_winograd_products(const struct wl_winograd_products *o);

/* ---- winograd_3x3_int16_results.c ---- */

/* Results of a panel's tiles [from, from + n), from m, which lie `m_step` floats from point to point. */
struct wl_winograd_results {
    int64_t from, n, first, vectors; /* first vector of filters of the panel; how many */
    const float *m;
    const float *tile_back, *filter_back; /* of the block's tiles; [k] */
    const float *bias;                    /* [k]; NULL: none */
    bool relu;
    uint16_t *out;
};
void wl_winograd_results(const struct wl_winograd_int16 *o, const struct wl_winograd_results *r);

#endif
