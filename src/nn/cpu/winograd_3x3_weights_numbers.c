/* Tiles of a value as 16-bit numbers: a block of 16 channels is transformed to f32, whose norms are taken, and rounded.
 */
#include "nn/cpu/winograd_3x3_weights.h"

#ifdef __x86_64__
#define TARGET __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,fma")))
#include "nn/cpu/winograd_3x3_avx512.h"

#include <float.h>

enum { HALF = SIDE / 2, APART = WL_WINOGRAD_DW_APART };

/* Along a line. */
INLINE void points(bool is_dy, const __m512 d[SIDE], __m512 r[SIDE])
{
    if (is_dy)
        line_back(d, r);
    else
        line_into(d, r);
}

/* ---- a tile ---- */

/* Where a norm of finite values is infinite, all of the block are divided first, so that none can be. */
static const float small = 1.0F / (1 << WL_WINOGRAD_DW_NORM_BITS);

/* Rows [half, half + 3) of a tile's points, APART floats from each other: half of them at a time stay in registers. */
INLINE void half_of_tile(const struct image *m, bool is_dy, bool inner, bool shrink, int half, float *to)
{
    const int side = is_dy ? RESULTS : SIDE;
    __m512 columns[HALF][SIDE], d[SIDE], r[SIDE];
    UNROLL
    for (int j = 0; j < side; j++) {
        UNROLL
        for (int i = 0; i < side; i++) {
            d[i] = pixel(m, inner, i, j);
            if (shrink) d[i] = _mm512_mul_ps(d[i], _mm512_set1_ps(small));
        }
        points(is_dy, d, r);
        UNROLL
        for (int a = 0; a < HALF; a++) columns[a][j] = r[half + a];
    }
    UNROLL
    for (int a = 0; a < HALF; a++) {
        points(is_dy, columns[a], r);
        UNROLL
        for (int b = 0; b < SIDE; b++) _mm512_storeu_ps(to + ((half + a) * SIDE + b) * APART, r[b]);
    }
}

INLINE void tile(const struct image *m, bool is_dy, bool inner, bool shrink, float *to)
{
    half_of_tile(m, is_dy, inner, shrink, 0, to);
    __asm__ volatile("" ::: "memory"); /* or the compiler would load once, and keep what it loaded in memory */
    half_of_tile(m, is_dy, inner, shrink, HALF, to);
}

INLINE __m512 sum_of_values(const struct image *m)
{
    __m512 sum = _mm512_setzero_ps();
    for (int i = 0; i < RESULTS; i++)
        for (int j = 0; j < RESULTS; j++) sum = _mm512_add_ps(sum, pixel(m, false, i, j));
    return sum;
}

/* All tiles of the piece; a last one without a partner gets one of zeros. */
INLINE void tiles(const struct wl_winograd_dw_numbers *o, bool is_dy, bool shrink)
{
    const int side = is_dy ? RESULTS : SIDE;
    const struct wl_winograd_3x3 *g = o->g;
    const int64_t channels = is_dy ? g->k : g->c, before[2] = { is_dy ? 0 : g->pad[0], is_dy ? 0 : g->pad[1] };
    struct image m = { .h = is_dy ? g->p : g->h, .w = is_dy ? g->q : g->w };
    const int64_t area = m.h * m.w, blocks = channels / LANES;
    __m512 sum = _mm512_setzero_ps();
    float *to = o->scratch;
    for (int64_t i = o->from; i < o->to; i++, to += LANES) {
        const struct wl_winograd_tile t = wl_winograd_tile(g, i);
        m.at = o->value + (t.image * blocks + o->block) * area * LANES;
        m.row = t.row - before[0];
        m.column = t.column - before[1];
        if (is_dy && o->sums) sum = _mm512_add_ps(sum, sum_of_values(&m));
        if (is_inner(&m, side))
            tile(&m, is_dy, true, shrink, to);
        else
            tile(&m, is_dy, false, shrink, to);
    }
    if ((o->to - o->from) % 2)
        for (int p = 0; p < POINTS; p++) _mm512_storeu_ps(to + p * APART, _mm512_setzero_ps());
    if (is_dy && o->sums) _mm512_storeu_ps(o->sums, sum);
}

TARGET static void tiles_of_x(const struct wl_winograd_dw_numbers *o) { tiles(o, false, false); }
TARGET static void tiles_of_dy(const struct wl_winograd_dw_numbers *o) { tiles(o, true, false); }
TARGET static void small_tiles_of_x(const struct wl_winograd_dw_numbers *o) { tiles(o, false, true); }
TARGET static void small_tiles_of_dy(const struct wl_winograd_dw_numbers *o) { tiles(o, true, true); }

/* ---- norms ---- */

enum { CHAINS = 4 }; /* independent sums: each addition waits for the one before */

/* Of n vectors (a multiple of 2), each multiplied by *by where that is not NULL. */
INLINE __m512 sum_of_squares(const float *v, int64_t n, const __m512 *by)
{
    __m512 sum[CHAINS];
    for (int i = 0; i < CHAINS; i++) sum[i] = _mm512_setzero_ps();
    for (int64_t t = 0; t < n; t += CHAINS) UNROLL
    for (int i = 0; i < CHAINS; i++) {
        if (i >= CHAINS / 2 && t + i >= n) break;
        __m512 x = _mm512_loadu_ps(v + (t + i) * LANES);
        if (by) x = _mm512_mul_ps(x, *by);
        sum[i] = _mm512_fmadd_ps(x, x, sum[i]);
    }
    return _mm512_add_ps(_mm512_add_ps(sum[0], sum[1]), _mm512_add_ps(sum[2], sum[3]));
}

/* Where squares would leave the range of f32: relative to the largest number. NaN stays, in the sum. */
TARGET static __m512 careful_norm(const float *v, int64_t n)
{
    __m512 most = _mm512_setzero_ps();
    for (int64_t t = 0; t < n; t++) most = _mm512_max_ps(most, _mm512_abs_ps(_mm512_loadu_ps(v + t * LANES)));
    const __mmask16 some = _mm512_cmp_ps_mask(most, _mm512_setzero_ps(), _CMP_NEQ_UQ);
    const __m512 largest = _mm512_max_ps(most, _mm512_set1_ps(FLT_MIN)); /* whose inverse is finite */
    const __m512 by = _mm512_div_ps(_mm512_set1_ps(1), largest);
    return _mm512_maskz_mul_ps(some, largest, _mm512_sqrt_ps(sum_of_squares(v, n, &by)));
}

INLINE __m512 norm(const float *v, int64_t n)
{
    const __m512 sum = sum_of_squares(v, n, NULL), least = _mm512_set1_ps(0x1p-100F), most = _mm512_set1_ps(0x1p120F);
    const __mmask16 fit = _mm512_cmp_ps_mask(sum, least, _CMP_GE_OQ) & _mm512_cmp_ps_mask(sum, most, _CMP_LE_OQ);
    const __m512 root = _mm512_sqrt_ps(sum);
    return fit == 0xffff ? root : _mm512_mask_blend_ps(fit, careful_norm(v, n), root);
}

/* ---- rounding ---- */

/* Adding 3 * 2^22 rounds to an integer and leaves it in the lower bits, modulo 2^16 in the lower half. */
INLINE __m512i rounded(const float *v, __m512 by)
{
    return _mm512_castps_si512(_mm512_fmadd_ps(_mm512_loadu_ps(v), by, _mm512_set1_ps(0x3p22F)));
}

/* n numbers of each channel at a point, times `by`, as n / 2 pairs; `stream`: past the caches. */
INLINE void round_point(const float *v, int64_t n, __m512 by, bool stream, wl_winograd_dw_pair *to)
{
    const __m512i low_halves = _mm512_set_epi16(62, 30, 60, 28, 58, 26, 56, 24, 54, 22, 52, 20, 50, 18, 48, 16, 46, 14,
                                                44, 12, 42, 10, 40, 8, 38, 6, 36, 4, 34, 2, 32, 0);
    for (int64_t t = 0; t < n; t += 2, v += 2 * LANES, to += LANES) {
        const __m512i pairs = _mm512_permutex2var_epi16(rounded(v, by), low_halves, rounded(v + LANES, by));
        if (stream)
            _mm512_stream_si512((void *)to, pairs);
        else
            _mm512_store_si512(to, pairs);
    }
}

/* Below this norm numbers have fewer bits: its inverse is finite. */
static const float least_norm = 0x1p-112F;

/* Norms and numbers from those in o->scratch. False: a norm is not finite. */
TARGET static bool round_points(const struct wl_winograd_dw_numbers *o, float unit)
{
    const int64_t n = (o->to - o->from + 1) / 2 * 2;
    bool finite = true;
    for (int p = 0; p < POINTS; p++) {
        const float *v = o->scratch + p * APART;
        const __m512 length = norm(v, n), scaled = _mm512_max_ps(_mm512_set1_ps(least_norm), length);
        finite = finite && _mm512_cmp_ps_mask(length, _mm512_set1_ps(FLT_MAX), _CMP_LE_OQ) == 0xffff;
        const __m512 by = _mm512_div_ps(_mm512_set1_ps(WL_WINOGRAD_DW_NORM), scaled);
        wl_winograd_dw_pair *to = o->pairs + p * o->point_step;
        if (o->stream)
            round_point(v, n, by, true, to);
        else
            round_point(v, n, by, false, to);
        _mm512_storeu_ps(o->norms + p * o->norm_step, _mm512_mul_ps(scaled, _mm512_set1_ps(unit)));
    }
    if (o->stream) _mm_sfence();
    return finite;
}

void wl_winograd_dw_numbers(const struct wl_winograd_dw_numbers *o)
{
    (o->is_dy ? tiles_of_dy : tiles_of_x)(o);
    if (round_points(o, small)) return;
    (o->is_dy ? small_tiles_of_dy : small_tiles_of_x)(o);
    round_points(o, 1);
}
#else
void wl_winograd_dw_numbers(const struct wl_winograd_dw_numbers *o) { (void)o; }
#endif
