/* Winograd's algorithm F(4x4,3x3) for convolutions of 3x3 with stride 1 between bf16 values: what its kernels share.
 * Source: Lavin and Gray 2016, arXiv:1509.09308; the matrices are named as there.
 *
 * A tile of 4x4 results y depends on 6x6 numbers d of x and the filter g:
 *
 *     y = A' [(G g G') . (B' d B)] A        . multiplies element by element
 *
 * Over many channels and filters each of the 36 elements ("points") is a product of matrices: U_p = filters, V_p =
 * tiles, M_p = V_p U_p. 36 multiplications stand for 144. The gradient by x is the same computation with the filters
 * turned by half a turn and input and output exchanged. The gradient by g is the transpose: dg = G' [sum of (B'dB) . (A
 * dy A')] G.
 *
 * Derivation (Toom and Cook). Numbers are the coefficients of polynomials. y = A'[(Gg).(B'd)] is the transpose of
 * multiplying g (three coefficients) by a polynomial of four: both are evaluated at six points (G; A'), multiplied
 * there, and the product, of six coefficients, is interpolated (B'). Points are 0, a, -a, b, -b and infinity, where a
 * polynomial has the value of its leading coefficient. With L_i(t) = prod_{j != i} (t - p_j) over the finite points j,
 *
 *     row i of B' = the coefficients of L_i      row "infinity" of B' = those of t (t^2 - a^2)(t^2 - b^2)
 *     row i of G  = (1, p_i, p_i^2) / L_i(p_i)   row "infinity" of G  = (0, 0, 1)
 *     column i of A' = (1, p_i, p_i^2, p_i^3)    column "infinity"    = (0, 0, 0, 1)
 *
 *          | a2b2    0    -(a2+b2)     0     1   0 |
 *          |  0    -ab2     -b2        a     1   0 |             | 1   1   1   1   1   0 |
 *     B' = |  0     ab2     -b2       -a     1   0 |        A' = | 0   a  -a   b  -b   0 |
 *          |  0    -a2b     -a2        b     1   0 |             | 0   a2  a2  b2  b2  0 |
 *          |  0     a2b     -a2       -b     1   0 |             | 0   a3 -a3  b3 -b3  1 |
 *          |  0    a2b2      0     -(a2+b2)  0   1 |
 *
 *          | 1/a2b2           0   0           |
 *          | (1   a  a2) / 2a2(a2-b2)         |
 *     G =  | (1  -a  a2) / 2a2(a2-b2)         |
 *          | (1   b  b2) / 2b2(b2-a2)         |
 *          | (1  -b  b2) / 2b2(b2-a2)         |
 *          | 0                0   1           |
 *
 * a = .7 and b = 1.5 halve the error of the usual 1 and 2 and cost as much: rows of a and -a share their even and odd
 * parts. */
#ifndef WL_NN_CPU_WINOGRAD_3X3_H
#define WL_NN_CPU_WINOGRAD_3X3_H

#include "nn/cpu/dnnl_api.h"
#include "nn/graph/shapes.h"

enum {
    WL_WINOGRAD_RESULTS = 4, /* a side of a tile of y */
    WL_WINOGRAD_SIDE = 6,    /* a side of a tile of x, and of its points */
    WL_WINOGRAD_POINTS = WL_WINOGRAD_SIDE * WL_WINOGRAD_SIDE,
    WL_WINOGRAD_TAPS = 9,
    WL_WINOGRAD_LANES = 16 /* channels of a block */
};

/* Powers of a and b: macros, so that each is a constant of the instruction that uses it. */
#define WL_WINOGRAD_A  0.7
#define WL_WINOGRAD_B  1.5
#define WL_WINOGRAD_A2 (WL_WINOGRAD_A * WL_WINOGRAD_A)
#define WL_WINOGRAD_B2 (WL_WINOGRAD_B * WL_WINOGRAD_B)

/* B' [6][6], G [6][3], A' [4][6]. */
extern const float wl_winograd_into[WL_WINOGRAD_SIDE][WL_WINOGRAD_SIDE];
extern const float wl_winograd_filter[WL_WINOGRAD_SIDE][3];
extern const float wl_winograd_from[WL_WINOGRAD_RESULTS][WL_WINOGRAD_SIDE];

/* What the choice, --explain and the bounds say of each of its kernels (conv_custom.h). */
#define WL_WINOGRAD_ANSWER "winograd in int16"
#define WL_WINOGRAD_NUMERICS                                                                                        \
    "Winograd's F(4x4,3x3) in 16-bit integers; for values of similar size it errs at most 1.6 times as much as in " \
    "bf16"
#define WL_WINOGRAD_ARITHMETIC                                               \
    {                                                                        \
        .algorithm = "F(4x4,3x3)", .work = 0.25, .numbers = WL_NUMBERS_INT16 \
    }

/* A pass that makes values: of `in` [n,c,h,w] it makes `out` [n,k,p,q], both bf16 in blocks of 16 channels
 * [N,C/16,H,W,16]. Forward `in` is x; backward by data it is dy, so that c, h and w are what the window calls k, p and
 * q. By weights the geometry is that of the forward pass. */
struct wl_winograd_3x3 {
    int64_t n, c, h, w, k, p, q;
    int64_t pad[2];               /* zeros before the first row and column of `in`: 0 to 2 */
    int64_t rows, columns, tiles; /* tiles down and across an image, and in all images */
};

/* False: the convolution is not one of 3x3 with stride 1 between whole blocks of channels. */
bool wl_winograd_3x3_init(struct wl_winograd_3x3 *g, const struct wl_window *v, enum wl_pass pass);

/* Has the processor AVX512_VNNI, which multiplies 16-bit integers? */
bool wl_winograd_3x3_vnni(void);

/* AVX512_BF16? */
bool wl_winograd_3x3_bf16(void);

/* Where a tile is: its image, its first row and column of `out`. Those of `in` are pad less. */
struct wl_winograd_tile {
    int64_t image, row, column;
};
static inline struct wl_winograd_tile wl_winograd_tile(const struct wl_winograd_3x3 *g, int64_t tile)
{
    const int64_t an_image = g->rows * g->columns, i = tile % an_image;
    return (struct wl_winograd_tile) { tile / an_image, i / g->columns * WL_WINOGRAD_RESULTS,
                                       i % g->columns * WL_WINOGRAD_RESULTS };
}

#endif
