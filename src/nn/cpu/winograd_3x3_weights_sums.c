/* Products of 16-bit numbers over a piece's tiles, and the filters' gradients from their sums. */
#include "nn/cpu/winograd_3x3_weights.h"

#ifdef __x86_64__
#define TARGET __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,fma")))
#include "nn/cpu/winograd_3x3_avx512.h"

enum {
    TILE_ROWS = 6, /* with WL_WINOGRAD_DW_PANEL vectors 24 sums in registers: one product per cycle, each of about 5 */
    FILTER = 3     /* a side */
};

static int64_t min(int64_t a, int64_t b) { return a < b ? a : b; }

/* Pairs of channel c. */
static const wl_winograd_dw_pair *channel(const wl_winograd_dw_pair *v, int64_t c)
{
    return v + c / LANES * WL_WINOGRAD_DW_BLOCK + c % LANES;
}

/* sum += the products of both numbers of each pair. By its name gcc 12 would keep half of the sums in memory. */
INLINE void add_products(__m512i *sum, __m512i a, __m512i b)
{
    __asm__("vpdpwssd %2, %1, %0" : "+v"(*sum) : "v"(a), "v"(b));
}

/* Sums over all pairs of channels [c, c + rows), of which those from o->c on are computed in vain. */
INLINE void tile_sums(const struct wl_winograd_dw_sums *o, int64_t c, int rows, int vectors,
                      __m512i sum[TILE_ROWS][WL_WINOGRAD_DW_PANEL])
{
    const wl_winograd_dw_pair *v[TILE_ROWS], *z = o->z;
    UNROLL
    for (int i = 0; i < rows; i++) {
        v[i] = channel(o->v, min(c + i, o->c - 1));
        UNROLL
        for (int j = 0; j < vectors; j++) sum[i][j] = _mm512_setzero_si512();
    }
    for (int64_t t = 0; t < o->pairs * LANES; t += LANES) {
        __m512i line[WL_WINOGRAD_DW_PANEL];
        UNROLL
        for (int j = 0; j < vectors; j++) line[j] = _mm512_loadu_si512(z + t + j * WL_WINOGRAD_DW_BLOCK);
        UNROLL
        for (int i = 0; i < rows; i++) {
            const __m512i x = _mm512_set1_epi32(v[i][t]);
            UNROLL
            for (int j = 0; j < vectors; j++) add_products(&sum[i][j], x, line[j]);
        }
    }
}

/* What a sum is multiplied with, beside both norms. */
static const float unit =
    (1 << (2 * WL_WINOGRAD_DW_NORM_BITS - WL_WINOGRAD_DW_SUM_BITS)) / (WL_WINOGRAD_DW_NORM * WL_WINOGRAD_DW_NORM);

INLINE void finish(const struct wl_winograd_dw_sums *o, int64_t c, int vectors, const __m512i sum[WL_WINOGRAD_DW_PANEL])
{
    float *to = o->sums + c * o->row;
    const __m512 norm = _mm512_set1_ps(o->v_norms[c]);
    UNROLL
    for (int j = 0; j < vectors; j++, to += LANES) {
        const __m512 norms = _mm512_mul_ps(norm, _mm512_loadu_ps(o->z_norms + j * LANES));
        const __m512 x = _mm512_mul_ps(_mm512_cvtepi32_ps(sum[j]), _mm512_set1_ps(unit));
        _mm512_storeu_ps(to, o->add ? _mm512_fmadd_ps(x, norms, _mm512_loadu_ps(to)) : _mm512_mul_ps(x, norms));
    }
}

INLINE void products(const struct wl_winograd_dw_sums *o, int vectors)
{
    for (int64_t c = 0; c < o->c; c += TILE_ROWS) {
        __m512i sum[TILE_ROWS][WL_WINOGRAD_DW_PANEL];
        tile_sums(o, c, TILE_ROWS, vectors, sum);
        UNROLL
        for (int i = 0; i < TILE_ROWS; i++)
            if (c + i < o->c) finish(o, c + i, vectors, sum[i]);
    }
}

TARGET static void products_of_1(const struct wl_winograd_dw_sums *o) { products(o, 1); }
TARGET static void products_of_2(const struct wl_winograd_dw_sums *o) { products(o, 2); }
TARGET static void products_of_3(const struct wl_winograd_dw_sums *o) { products(o, 3); }
TARGET static void products_of_4(const struct wl_winograd_dw_sums *o) { products(o, 4); }

void wl_winograd_dw_sums(const struct wl_winograd_dw_sums *o)
{
    static void (*const of[])(const struct wl_winograd_dw_sums *) = { products_of_1, products_of_2, products_of_3,
                                                                      products_of_4 };
    of[o->vectors - 1](o);
}

/* ---- back to filters ---- */

/* r = G' d. */
INLINE void taps(const __m512 d[SIDE], __m512 r[FILTER])
{
    UNROLL
    for (int i = 0; i < FILTER; i++) {
        r[i] = _mm512_setzero_ps();
        UNROLL
        for (int a = 0; a < SIDE; a++) r[i] = _mm512_fmadd_ps(_mm512_set1_ps(wl_winograd_filter[a][i]), d[a], r[i]);
    }
}

INLINE void filter(const float *sums, int64_t point_step, float *dw)
{
    __m512 columns[FILTER][SIDE], d[SIDE], r[FILTER];
    UNROLL
    for (int b = 0; b < SIDE; b++) {
        UNROLL
        for (int a = 0; a < SIDE; a++) d[a] = _mm512_loadu_ps(sums + (a * SIDE + b) * point_step);
        taps(d, r);
        UNROLL
        for (int i = 0; i < FILTER; i++) columns[i][b] = r[i];
    }
    UNROLL
    for (int i = 0; i < FILTER; i++) {
        taps(columns[i], r);
        UNROLL
        for (int j = 0; j < FILTER; j++)
            _mm512_storeu_ps(dw + (i * FILTER + j) * LANES * LANES,
                             _mm512_mul_ps(r[j], _mm512_set1_ps(1 << WL_WINOGRAD_DW_SUM_BITS)));
    }
}

TARGET void wl_winograd_dw_filter(const float *sums, int64_t point_step, int64_t row, float *dw)
{
    for (int c = 0; c < LANES; c++) filter(sums + c * row, point_step, dw + c * LANES);
}
#else
void wl_winograd_dw_sums(const struct wl_winograd_dw_sums *o) { (void)o; }
void wl_winograd_dw_filter(const float *sums, int64_t point_step, int64_t row, float *dw) { (void)sums; }
#endif
