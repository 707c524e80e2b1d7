/* The operations of DimeNet: the loops of nn/wide and nn/ref, shared out among the threads. */
#include "nn/cpu/chunks.h"
#include "nn/cpu/cpu.h"
#include "nn/ref/ref.h"
#include "nn/simd/simd.h"

#include <string.h>

enum { BLOCK = WL_SIMD_BLOCK, EIGHT = WL_SIMD_EIGHT, MAX_RADIAL = 64 };

/* ---- bases ------------------------------------------------------------------------------------------------------- */

void wl_cpu_bessel_basis(const struct wl_basis *b, int64_t rows, const float *distance, const float *freq, float *y)
{
#pragma omp parallel for schedule(static)
    for (int c = 0; c < WL_CHUNKS; c++) {
        int64_t from, to;
        wl_chunk_rows(rows, c, &from, &to);
        wl_ref_bessel_basis(b, from, to, distance, freq, y);
    }
}

void wl_cpu_bessel_basis_backward(const struct wl_basis *b, int64_t rows, const float *distance, const float *freq,
                                  const float *dy, float *dfreq)
{
    double parts[WL_CHUNKS][MAX_RADIAL];
    WL_CHECK(b->radial <= MAX_RADIAL);
#pragma omp parallel for schedule(static)
    for (int c = 0; c < WL_CHUNKS; c++) {
        int64_t from, to;
        wl_chunk_rows(rows, c, &from, &to);
        wl_ref_bessel_basis_backward(b, from, to, distance, freq, dy, parts[c]);
    }
    for (int64_t n = 0; n < b->radial; n++) {
        double sum = 0;
        for (int c = 0; c < WL_CHUNKS; c++) sum += parts[c][n];
        dfreq[n] = (float)sum;
    }
}

/* Cubics between nodes, from values and slopes in double: with 1024 cells they are 1e-8 off, where the function is 1.
 */
const void *wl_cpu_spherical_table(const struct wl_basis *b, struct wl_arena *a)
{
    enum { CELLS = WL_SPHERICAL_CELLS };
    const struct wl_bessel_zeros z = wl_bessel_zeros(b, a);
    const int64_t width = b->spherical * b->radial;
    const size_t n = (size_t)((CELLS + 1) * width);
    struct wl_spherical_table *t = wl_new(a, struct wl_spherical_table);
    float *value = wl_new_array(a, float, n), *slope = wl_new_array(a, float, n);
    *t = (struct wl_spherical_table) { *b, width, value, slope };
    for (int64_t k = 0; k <= CELLS; k++)
        for (int64_t i = 0; i < width; i++) {
            const int l = (int)(i / b->radial);
            const double x = z.zero[i] * (double)k / CELLS, j = wl_ref_spherical_bessel(l, x);
            const double next = wl_ref_spherical_bessel(l + 1, x), per_x = x > 0 ? l * j / x : l == 1 ? 1.0 / 3 : 0;
            value[k * width + i] = (float)(z.norm[i] * j);
            slope[k * width + i] = (float)(z.norm[i] * z.zero[i] / CELLS * (per_x - next));
        }
    return t;
}

void wl_cpu_spherical_basis(const struct wl_basis *b, const void *table, int64_t rows, const float *distance, float *y)
{
    (void)b;
#pragma omp parallel for schedule(static)
    for (int c = 0; c < WL_CHUNKS; c++) {
        int64_t from, to;
        wl_chunk_rows(rows, c, &from, &to);
        wl_simd()->spherical(table, from, to, distance, y);
    }
}

void wl_cpu_angular_basis(int64_t orders, int64_t rows, const float *cosine, float *y)
{
#pragma omp parallel for schedule(static)
    for (int c = 0; c < WL_CHUNKS; c++) {
        int64_t from, to;
        wl_chunk_rows(rows, c, &from, &to);
        wl_ref_angular_basis(orders, from, to, cosine, y);
    }
}

/* ---- gate -------------------------------------------------------------------------------------------------------- */

static bool gate_fits(const struct wl_gate_args *a) { return a->k <= EIGHT && a->f % WL_SIMD_LANES == 0; }

void wl_cpu_gate(const struct wl_gate_args *a)
{
    if (!gate_fits(a)) {
        wl_ref_gate(a);
        return;
    }
    wl_chunk_transpose(a->w, a->f, a->k, EIGHT, a->scratch);
#pragma omp parallel for schedule(static)
    for (int c = 0; c < WL_CHUNKS; c++) {
        int64_t from, to;
        wl_chunk_rows(a->rows, c, &from, &to);
        wl_simd()->gate(a, a->scratch, from, to);
    }
}

void wl_cpu_gate_backward(const struct wl_gate_grad *g)
{
    const struct wl_gate_args *a = &g->of;
    if (!gate_fits(a)) {
        wl_ref_gate_backward(g);
        return;
    }
    const size_t part = (size_t)(EIGHT * a->f);
    float *const parts = a->scratch + part;
    wl_chunk_transpose(a->w, a->f, a->k, EIGHT, a->scratch);
#pragma omp parallel for schedule(static)
    for (int c = 0; c < WL_CHUNKS; c++) {
        int64_t from, to;
        wl_chunk_rows(a->rows, c, &from, &to);
        memset(parts + (size_t)c * part, 0, part * sizeof *parts);
        wl_simd()->gate_backward(g, a->scratch, from, to, parts + (size_t)c * part);
    }
    wl_chunk_sum(parts, part, part, parts);
    wl_chunk_transpose(parts, a->k, a->f, a->f, g->dw);
}

size_t wl_cpu_gate_scratch(int64_t f, int64_t k, bool backward)
{
    (void)k;
    return (size_t)(EIGHT * f) * (backward ? 1 + WL_CHUNKS : 1);
}

/* ---- edge_concat ------------------------------------------------------------------------------------------------- */

void wl_cpu_edge_concat(const struct wl_concat_args *a, int64_t atoms)
{
#pragma omp parallel for schedule(static)
    for (int c = 0; c < WL_CHUNKS; c++) {
        int64_t from, to;
        wl_chunk_segments(a->edge_start, atoms, c, &from, &to);
        wl_ref_edge_concat(a, from, to);
    }
}

void wl_cpu_edge_concat_backward(const struct wl_concat_grad *b, int64_t atoms)
{
#pragma omp parallel for schedule(static)
    for (int c = 0; c < WL_CHUNKS; c++) {
        int64_t from, to;
        wl_chunk_segments(b->of.edge_start, atoms, c, &from, &to);
        wl_ref_edge_concat_backward(b, from, to);
    }
}

/* ---- triplet_conv ------------------------------------------------------------------------------------------------ */

static bool triplet_fits(const struct wl_triplet_args *a)
{
    return a->bilinear == EIGHT && WL_SIMD_ROUND(a->f) == a->f;
}

static size_t vt_size(const struct wl_triplet_args *a) { return (size_t)(a->orders * a->radials * EIGHT); }

static size_t matrix_size(const struct wl_triplet_args *a) { return (size_t)(a->f * EIGHT * a->f); }

/* Of one thread. */
static size_t block_size(const struct wl_triplet_args *a)
{
    return (size_t)(BLOCK * (2 * a->orders * EIGHT + BLOCK * EIGHT + (2 * EIGHT + 1) * a->f));
}

/* Scratch begins with v' and the packed matrix, forward [8 f,f], backward [f,8 f]. */
static struct wl_triplet_packed pack_triplets(const struct wl_triplet_args *a, bool backward, float **rest)
{
    float *const vt = a->scratch, *const w = vt + vt_size(a);
    const int64_t wide = EIGHT * a->f;
    wl_chunk_transpose(a->v, EIGHT, a->orders * a->radials, a->orders * a->radials, vt);
    if (backward)
        wl_simd()->pack(a->w, wide, 1, a->f, wide, w);
    else
        wl_simd()->pack(a->w, 1, wide, wide, a->f, w);
    *rest = w + matrix_size(a);
    return (struct wl_triplet_packed) { vt, w };
}

void wl_cpu_triplet_conv(const struct wl_triplet_args *a)
{
    if (!triplet_fits(a)) {
        wl_ref_triplet_conv(a);
        return;
    }
    float *blocks;
    const struct wl_triplet_packed packed = pack_triplets(a, false, &blocks);
#pragma omp parallel for schedule(dynamic)
    for (int c = 0; c < WL_CHUNKS; c++) {
        int64_t from, to;
        wl_chunk_segments(a->edge_start, a->atoms, c, &from, &to);
        wl_simd()->triplet_conv(a, &packed, from, to, blocks + (size_t)wl_chunk_thread() * block_size(a));
    }
}

void wl_cpu_triplet_conv_backward(const struct wl_triplet_grad *g)
{
    const struct wl_triplet_args *a = &g->of;
    if (!triplet_fits(a)) {
        wl_ref_triplet_conv_backward(g);
        return;
    }
    float *parts;
    const struct wl_triplet_packed packed = pack_triplets(a, true, &parts);
    const size_t matrix = matrix_size(a), part = matrix + vt_size(a);
    float *const blocks = parts + WL_CHUNKS * part;
#pragma omp parallel for schedule(dynamic)
    for (int c = 0; c < WL_CHUNKS; c++) {
        int64_t from, to;
        float *const dw = parts + (size_t)c * part;
        wl_chunk_segments(a->edge_start, a->atoms, c, &from, &to);
        memset(dw, 0, part * sizeof *dw);
        wl_simd()->triplet_conv_backward(g, &packed, from, to, blocks + (size_t)wl_chunk_thread() * block_size(a),
                                         dw + matrix, dw);
    }
    wl_chunk_sum(parts, part, matrix, g->dw);
    wl_chunk_sum(parts + matrix, part, vt_size(a), parts + matrix);
    wl_chunk_transpose(parts + matrix, a->orders * a->radials, EIGHT, EIGHT, g->dv);
}

size_t wl_cpu_triplet_scratch(const struct wl_triplet_args *shape, bool backward)
{
    if (!triplet_fits(shape)) return 0;
    const size_t part = backward ? WL_CHUNKS * (matrix_size(shape) + vt_size(shape)) : 0;
    return vt_size(shape) + matrix_size(shape) + part + wl_chunk_threads() * block_size(shape);
}
