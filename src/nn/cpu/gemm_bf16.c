#include "nn/cpu/gemm_bf16.h"

#ifdef __x86_64__
#include "nn/cpu/gelu_bf16.h"
#include "nn/threads.h"

#include <immintrin.h>
#include <oneapi/dnnl/dnnl.h>
#include <string.h>

enum {
    LANES = 16,
    TILE_ROWS = 6,
    TILE_VECTORS =
        WL_GEMM_BF16_PANEL / LANES, /* with TILE_ROWS 24 sums in registers: two per cycle, each of about 5 cycles */
    PANEL = WL_GEMM_BF16_PANEL,
    ROWS_BYTES = 256 << 10, /* of x in the second-level cache, with a panel that streams through it */
    PART = 2048,            /* rows of x and dy that one pass over dw sums: even */
    STRIP = 96,             /* columns of dy that a thread turns into pairs at once: whole tiles and whole vectors */
    AHEAD = 16              /* pairs of rows of dy that are prefetched, each from another page */
};

#define TARGET __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx512bf16")))
#define INLINE TARGET static inline __attribute__((always_inline))

typedef uint32_t pair __attribute__((may_alias)); /* of bf16 numbers */

static int64_t min(int64_t a, int64_t b) { return a < b ? a : b; }

static int64_t parts_of(int64_t n, int64_t most) { return (n + most - 1) / most; }

/* ---- tiles ---- */

/* Pairs of a: row i from a[i] on, `step` pairs apart; of b: [pairs][PANEL]. */
INLINE void tile_sums(const pair *const a[TILE_ROWS], int64_t step, const uint32_t *b, int64_t pairs,
                      __m512 sum[TILE_ROWS][TILE_VECTORS])
{
#pragma GCC unroll 8
    for (int i = 0; i < TILE_ROWS; i++)
#pragma GCC unroll 8
        for (int v = 0; v < TILE_VECTORS; v++) sum[i][v] = _mm512_setzero_ps();
    for (int64_t k = 0; k < pairs; k++, b += PANEL) {
        __m512bh line[TILE_VECTORS];
#pragma GCC unroll 8
        for (int v = 0; v < TILE_VECTORS; v++) line[v] = (__m512bh)_mm512_loadu_si512(b + v * LANES);
#pragma GCC unroll 8
        for (int i = 0; i < TILE_ROWS; i++) {
            const __m512bh x = (__m512bh)_mm512_set1_epi32((int)a[i][k * step]);
#pragma GCC unroll 8
            for (int v = 0; v < TILE_VECTORS; v++) sum[i][v] = _mm512_dpbf16_ps(sum[i][v], x, line[v]);
        }
    }
}

INLINE __m512 widened(const uint16_t *at)
{
    return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(_mm256_loadu_si256((const void *)at)), 16));
}

/* Prefetches the cache lines of n numbers. */
INLINE void fetch(const uint16_t *at, int64_t n)
{
    for (int64_t i = 0; i < n; i += 32) _mm_prefetch((const void *)(at + i), _MM_HINT_T0);
}

INLINE void rounded(uint16_t *at, __m512 x) { _mm256_storeu_si256((void *)at, (__m256i)_mm512_cvtneps_pbh(x)); }

/* A row of a tile, which begins at element `at` of y in column j, rounded. */
INLINE void finish(const struct wl_gemm_bf16_rows *c, const __m512 sum[TILE_VECTORS], int64_t at, int64_t j,
                   uint16_t *to)
{
#pragma GCC unroll 8
    for (int v = 0; v < TILE_VECTORS; v++) {
        __m512 x = sum[v];
        if (c->bias) x = _mm512_add_ps(x, _mm512_loadu_ps(c->bias + j + v * LANES));
        if (c->add) x = _mm512_add_ps(x, widened(c->y + at + v * LANES));
        if (c->scale) x = _mm512_mul_ps(x, widened(c->scale + at + v * LANES));
        rounded(to + v * LANES, x);
    }
}

/* ---- rows times packed weights ---- */

/* Prefetches what the end of a tile will touch and, before the first panel, what the next tile will read. */
INLINE void fetch_tile(const struct wl_gemm_bf16_rows *c, int64_t i, int64_t j, int64_t rows, bool first)
{
    for (int64_t t = i; t < i + rows; t++) {
        fetch(c->y + t * c->width + j, PANEL);
        if (c->slope) fetch(c->slope + t * c->width + j, PANEL);
        if (c->scale) fetch(c->scale + t * c->width + j, PANEL);
        if (first && t + TILE_ROWS < c->m) fetch(c->x + (t + TILE_ROWS) * c->depth, c->depth);
    }
}

TARGET static void some_rows(const struct wl_gemm_bf16_rows *c, int64_t from, int64_t to)
{
    uint16_t tile[TILE_ROWS * PANEL] = { 0 };
    for (int64_t j = 0; j < c->width; j += PANEL)
        for (int64_t i = from; i < to; i += TILE_ROWS) {
            const int64_t at = i * c->width + j, rows = min(to - i, TILE_ROWS);
            const pair *a[TILE_ROWS];
            __m512 sum[TILE_ROWS][TILE_VECTORS];
            for (int64_t t = 0; t < TILE_ROWS; t++) a[t] = (const void *)(c->x + (i + min(t, rows - 1)) * c->depth);
            fetch_tile(c, i, j, rows, j == 0);
            tile_sums(a, 1, c->w + j * (c->depth / 2), c->depth / 2, sum);
#pragma GCC unroll 8
            for (int64_t t = 0; t < TILE_ROWS; t++) {
                const int64_t row = at + t * c->width;
                if (t < rows) finish(c, sum[t], row, j, c->gelu ? tile + t * PANEL : c->y + row);
            }
            if (c->gelu) wl_gelu_bf16(rows, PANEL, tile, c->y + at, c->slope ? c->slope + at : NULL, c->width);
        }
}

static void all_rows(const struct wl_gemm_bf16_rows *c)
{
    const int64_t threads = omp_get_max_threads(), most = ROWS_BYTES / (2 * c->depth) + 1;
    const int64_t wanted = parts_of(parts_of(c->m, most), threads) * threads; /* as many blocks for each thread */
    const int64_t rows = parts_of(parts_of(c->m, wanted), TILE_ROWS) * TILE_ROWS;
#pragma omp parallel for schedule(dynamic)
    for (int64_t from = 0; from < c->m; from += rows) some_rows(c, from, min(from + rows, c->m));
}

/* ---- weights as they are read ---- */

/* Pairs of the numbers of two vectors. */
INLINE __m512i paired(__m512 even, __m512 odd)
{
    const __m512i low = _mm512_cvtepu16_epi32((__m256i)_mm512_cvtneps_pbh(even));
    return _mm512_or_si512(low, _mm512_slli_epi32(_mm512_cvtepu16_epi32((__m256i)_mm512_cvtneps_pbh(odd)), 16));
}

/* Lines are written whole and read later, so they go past the caches. */
INLINE void put(uint32_t *at, __m512i v) { _mm512_stream_si512((void *)at, v); }

/* Of w: its columns are adjacent. */
TARGET static void pack_panel(const float *w, int64_t row, int64_t depth, uint32_t *to)
{
    for (int64_t i = 0; i < depth; i += 2, w += 2 * row, to += PANEL)
        for (int v = 0; v < PANEL; v += LANES)
            put(to + v, paired(_mm512_loadu_ps(w + v), _mm512_loadu_ps(w + row + v)));
}

/* A square of 16 x 16 pairs: halves are swapped, then halves of these, down to neighbours. */
INLINE void transpose(__m512i v[LANES])
{
    const __m512i at = _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
#pragma GCC unroll 4
    for (int h = LANES / 2; h > 0; h /= 2) {
        const __mmask16 upper = _mm512_test_epi32_mask(at, _mm512_set1_epi32(h));
        const __m512i low = _mm512_mask_add_epi32(at, upper, at, _mm512_set1_epi32(LANES - h));
        const __m512i high = _mm512_add_epi32(low, _mm512_set1_epi32(h));
#pragma GCC unroll 16
        for (int i = 0; i < LANES; i++) {
            if (i & h) continue;
            const __m512i a = v[i], b = v[i + h];
            v[i] = _mm512_permutex2var_epi32(a, low, b);
            v[i + h] = _mm512_permutex2var_epi32(a, high, b);
        }
    }
}

/* Of w': its columns are `col` apart, its rows adjacent: pairs are there already, and are transposed in squares. */
TARGET static void pack_panel_transposed(const float *w, int64_t col, int64_t depth, uint32_t *to)
{
    for (int64_t i = 0; i < depth; i += 2 * LANES)
        for (int j = 0; j < PANEL; j += LANES) {
            __m512i square[LANES];
            for (int v = 0; v < LANES; v++) {
                const float *at = w + (j + v) * col + i;
                square[v] = (__m512i)_mm512_cvtne2ps_pbh(_mm512_loadu_ps(at + LANES), _mm512_loadu_ps(at));
            }
            transpose(square);
            for (int v = 0; v < LANES; v++) put(to + (i / 2 + v) * PANEL + j, square[v]);
        }
}

static void pack(const struct wl_gemm_bf16_matrix *m, int64_t i, int64_t j, int64_t n)
{
    const float *w = m->w + i * m->f;
    if (m->forward) pack_panel_transposed(w + j, m->f, n, m->forward + i * (m->f / 2) + j / 2 * PANEL);
    for (int64_t at = j; m->back && at < j + n; at += PANEL)
        pack_panel(w + at, m->f, PANEL, m->back + at * (m->k / 2) + i / 2 * PANEL);
    _mm_sfence();
}

/* ---- gradients of weights ---- */

/* A part of the rows: pairs of x in panels, of dy in strips. */
struct part {
    int64_t from, to, pairs;
    uint32_t *x; /* [f/PANEL][pairs][PANEL] */
};

static int64_t rows_of_part(int64_t m) { return (parts_of(m, parts_of(m, PART)) + 1) / 2 * 2; }

static size_t scratch_bytes(int64_t m, int64_t f)
{
    return (size_t)(rows_of_part(m) * (f + omp_get_max_threads() * STRIP)) * sizeof(uint16_t);
}

/* 32 columns of a pair of rows, of which the second may be absent. */
INLINE void interleave(const uint16_t *even, const uint16_t *odd, uint32_t *to)
{
    const __m512i low = _mm512_set_epi16(47, 15, 46, 14, 45, 13, 44, 12, 43, 11, 42, 10, 41, 9, 40, 8, 39, 7, 38, 6, 37,
                                         5, 36, 4, 35, 3, 34, 2, 33, 1, 32, 0);
    const __m512i a = _mm512_loadu_si512(even), b = odd ? _mm512_loadu_si512(odd) : _mm512_setzero_si512();
    _mm512_storeu_si512(to, _mm512_permutex2var_epi16(a, low, b));
    _mm512_storeu_si512(to + LANES, _mm512_permutex2var_epi16(a, _mm512_add_epi16(low, _mm512_set1_epi16(LANES)), b));
}

TARGET static void pair_of_x(const struct wl_gemm_bf16_columns *c, const struct part *p, int64_t i)
{
    const uint16_t *even = c->x + (p->from + 2 * i) * c->f, *odd = p->from + 2 * i + 1 < p->to ? even + c->f : NULL;
    for (int64_t j = 0; j < c->f; j += PANEL)
        for (int64_t k = 0; k < PANEL; k += 2 * LANES)
            interleave(even + j + k, odd ? odd + j + k : NULL, p->x + j * p->pairs + i * PANEL + k);
}

/* Adds a row of 32 numbers to sums. */
INLINE void add_row(const uint16_t *row, float *sums)
{
    for (int v = 0; v < 2 * LANES; v += LANES)
        _mm512_storeu_ps(sums + v, _mm512_add_ps(_mm512_loadu_ps(sums + v), widened(row + v)));
}

/* Pairs of dy's columns [k, k + n) as [pairs][STRIP], which are added to db where that is not NULL. */
TARGET static void strip_of_dy(const struct wl_gemm_bf16_columns *c, const struct part *p, int64_t k, int64_t n,
                               uint32_t *strip, float *db)
{
    for (int64_t i = 0; i < p->pairs; i++, strip += STRIP) {
        const uint16_t *even = c->dy + (p->from + 2 * i) * c->k + k;
        const uint16_t *odd = p->from + 2 * i + 1 < p->to ? even + c->k : NULL;
        for (int64_t j = 0; j < n; j += 2 * LANES) {
            if (i + AHEAD < p->pairs) {
                fetch(even + 2 * AHEAD * c->k + j, 1);
                fetch(even + (2 * AHEAD - 1) * c->k + j, 1);
            }
            interleave(even + j, odd ? odd + j : NULL, strip + j);
            if (db) add_row(even + j, db + j);
            if (db && odd) add_row(odd + j, db + j);
        }
    }
}

/* Rows [k, k + n) of dw, and columns [from, to). */
TARGET static void some_columns(const struct wl_gemm_bf16_columns *c, const struct part *p, const uint32_t *strip,
                                int64_t k, int64_t n, int64_t from, int64_t to)
{
    for (int64_t j = from; j < to; j += PANEL)
        for (int64_t i = 0; i < n; i += TILE_ROWS) {
            const pair *a[TILE_ROWS];
            __m512 sum[TILE_ROWS][TILE_VECTORS];
            for (int t = 0; t < TILE_ROWS; t++) a[t] = strip + min(i + t, n - 1);
            tile_sums(a, STRIP, p->x + j * p->pairs, p->pairs, sum);
#pragma GCC unroll 8
            for (int t = 0; t < TILE_ROWS; t++)
#pragma GCC unroll 8
                for (int v = 0; v < TILE_VECTORS; v++) {
                    float *at = c->dw + (k + min(i + t, n - 1)) * c->f + j + v * LANES;
                    if (i + t >= n) continue;
                    _mm512_storeu_ps(at, p->from ? _mm512_add_ps(_mm512_loadu_ps(at), sum[t][v]) : sum[t][v]);
                }
        }
}

static void one_part(const struct wl_gemm_bf16_columns *c, const struct part *p)
{
    const int64_t strips = parts_of(c->k, STRIP), panels = c->f / PANEL;
    const int64_t cuts =
        min(parts_of(omp_get_max_threads(), strips), panels); /* of the columns, so that all have some */
#pragma omp parallel
    {
#pragma omp for schedule(static)
        for (int64_t i = 0; i < p->pairs; i++) pair_of_x(c, p, i);
        uint32_t *strip = p->x + p->pairs * (c->f + omp_get_thread_num() * STRIP);
#pragma omp for schedule(dynamic)
        for (int64_t i = 0; i < strips * cuts; i++) {
            const int64_t k = i / cuts * STRIP, n = min(c->k - k, STRIP), cut = i % cuts;
            float *db = c->db && cut == 0 ? c->db + k : NULL;
            if (db && p->from == 0) memset(db, 0, (size_t)n * sizeof *db);
            strip_of_dy(c, p, k, n, strip, db);
            some_columns(c, p, strip, k, n, panels * cut / cuts * PANEL, panels * (cut + 1) / cuts * PANEL);
        }
    }
}

static void all_columns(const struct wl_gemm_bf16_columns *c)
{
    const int64_t rows = rows_of_part(c->m);
    for (int64_t from = 0; from < c->m; from += rows) {
        const int64_t to = min(from + rows, c->m);
        one_part(c, &(struct part) { .from = from, .to = to, .pairs = (to - from + 1) / 2, .x = c->scratch });
    }
}

const struct wl_gemm_bf16 *wl_gemm_bf16(void)
{
    static const struct wl_gemm_bf16 ours = { pack, all_rows, scratch_bytes, all_columns };
    const unsigned isa = dnnl_get_effective_cpu_isa(); /* bits: each set contains those before it */
    return isa == dnnl_cpu_isa_avx512_core_bf16 ? &ours : NULL;
}
#else
const struct wl_gemm_bf16 *wl_gemm_bf16(void) { return NULL; }
#endif
