/* M_p = V_p U_p of a panel of filters: sums of products of 16-bit integers in registers. */
#include "nn/cpu/winograd_3x3_int16.h"

#ifdef __x86_64__
#define TARGET __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,fma")))
#include "nn/cpu/winograd_3x3_avx512.h"

enum { MAX_ROWS = WL_WINOGRAD_SPARE, MAX_VECTORS = WL_WINOGRAD_PANEL };

/* Sums of `rows` tiles and `vectors` x 16 filters, 24 at most of the 32 registers. Rows of v lie `row` pairs apart: a
 * pointer to every third one serves three without a register for each. The instruction is written out, since GCC 12
 * moves sums to memory and back around its intrinsic. */
INLINE void multiply(const wl_winograd_pair *v, int64_t row, const wl_winograd_pair *u, int64_t pairs, int rows,
                     int vectors, __m512i sum[MAX_ROWS][MAX_VECTORS])
{
    const wl_winograd_pair *third[MAX_ROWS / 3 + 1];
    UNROLL
    for (int i = 0; i < rows; i++) {
        if (i % 3 == 0) third[i / 3] = v + i * row;
        UNROLL
        for (int j = 0; j < vectors; j++) sum[i][j] = _mm512_setzero_si512();
    }
    for (int64_t k = 0; k < pairs; k++, u += vectors * LANES) {
        __m512i line[MAX_VECTORS];
        UNROLL
        for (int j = 0; j < vectors; j++) line[j] = _mm512_loadu_si512(u + j * LANES);
        UNROLL
        for (int i = 0; i < rows; i++) {
            const __m512i x = _mm512_set1_epi32(third[i / 3][i % 3 * row + k]);
            UNROLL
            for (int j = 0; j < vectors; j++) __asm__("vpdpwssd %2, %1, %0" : "+v"(sum[i][j]) : "v"(x), "v"(line[j]));
        }
    }
}

/* Tiles from `first` on, at a point. */
INLINE void group(const struct wl_winograd_products *o, int point, int64_t first, int rows, int vectors)
{
    __m512i sum[MAX_ROWS][MAX_VECTORS];
    __m512 u_undo[MAX_VECTORS];
    const float *v_undo = o->v_undo + first * WL_WINOGRAD_SCALES + point;
    float *m = o->m + point * o->m_step + first * vectors * LANES;
    multiply(o->v + point * o->v_step + first * o->pairs, o->pairs, o->u + point * o->u_step, o->pairs, rows, vectors,
             sum);
    UNROLL
    for (int j = 0; j < vectors; j++) u_undo[j] = _mm512_loadu_ps(o->u_undo + point * o->u_undo_step + j * LANES);
    UNROLL
    for (int i = 0; i < rows; i++) {
        const __m512 undo = _mm512_set1_ps(v_undo[i * WL_WINOGRAD_SCALES]);
        UNROLL
        for (int j = 0; j < vectors; j++, m += LANES) {
            const __m512 x = _mm512_mul_ps(_mm512_cvtepi32_ps(sum[i][j]), undo);
            _mm512_storeu_ps(m,
                             o->add ? _mm512_fmadd_ps(x, u_undo[j], _mm512_loadu_ps(m)) : _mm512_mul_ps(x, u_undo[j]));
        }
    }
}

INLINE void all_groups(const struct wl_winograd_products *o, int rows, int vectors)
{
    for (int point = 0; point < POINTS; point++)
        for (int64_t i = 0; i < o->n; i += rows) group(o, point, i, rows, vectors);
}

TARGET static void panel_of_1(const struct wl_winograd_products *o) { all_groups(o, 12, 1); }
TARGET static void panel_of_2(const struct wl_winograd_products *o) { all_groups(o, 12, 2); }
TARGET static void panel_of_3(const struct wl_winograd_products *o) { all_groups(o, 8, 3); }
TARGET static void panel_of_4(const struct wl_winograd_products *o) { all_groups(o, 6, 4); }

void wl_winograd_products(const struct wl_winograd_products *o)
{
    static void (*const panels[])(const struct wl_winograd_products *) = { panel_of_1, panel_of_2, panel_of_3,
                                                                           panel_of_4 };
    panels[o->vectors - 1](o);
}
#endif
