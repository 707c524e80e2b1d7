/* Rows times the product of a small basis and a matrix. wt is w', [8,f], rows beyond the basis 0. */
#include "nn/lowering/kernels.h"
#include "nn/simd/levels.h"
#include "nn/simd/vector.h"

INLINE void load_basis(const struct wl_gate_args *a, int64_t r, float to[EIGHT])
{
    for (int i = 0; i < EIGHT; i++) to[i] = i < a->k ? a->basis[r * a->k + i] : 0;
}

INLINE vec gate_of(const float *wt, int64_t f, const float basis[EIGHT])
{
    vec g = { 0 };
#pragma GCC unroll 8
    for (int i = 0; i < EIGHT; i++) g += basis[i] * vec_load(wt + i * f);
    return g;
}

void WL_SIMD_NAME(wl_gate)(const struct wl_gate_args *a, const float *wt, int64_t from, int64_t to)
{
    for (int64_t r = from; r < to; r++) {
        float basis[EIGHT];
        load_basis(a, r, basis);
        for (int64_t j = 0; j < a->f; j += LANES)
            vec_store(a->y + r * a->f + j, vec_load(a->x + r * a->f + j) * gate_of(wt + j, a->f, basis));
    }
}

void WL_SIMD_NAME(wl_gate_backward)(const struct wl_gate_grad *g, const float *wt, int64_t from, int64_t to, float *dwt)
{
    const struct wl_gate_args *a = &g->of;
    const int64_t f = a->f;
    for (int64_t r = from; r < to; r++) {
        float basis[EIGHT];
        vec sum[EIGHT] = { 0 };
        load_basis(a, r, basis);
        for (int64_t j = 0; j < f; j += LANES) {
            const vec dy = vec_load(g->dy + r * f + j), d = dy * vec_load(a->x + r * f + j);
            vec_store(g->dx + r * f + j, dy * gate_of(wt + j, f, basis));
#pragma GCC unroll 8
            for (int i = 0; i < EIGHT; i++) {
                float *at = dwt + i * f + j;
                sum[i] += d * vec_load(wt + i * f + j);
                vec_store(at, vec_load(at) + basis[i] * d);
            }
        }
        const vec8 all = sums_of(sum);
        for (int i = 0; i < a->k; i++) {
            float *at = g->d_basis + r * a->k + i;
            *at = (g->add ? *at : 0) + all[i];
        }
    }
}

void WL_SIMD_NAME(wl_spherical)(const struct wl_spherical_table *t, int64_t from, int64_t to, const float *distance,
                                float *y)
{
    for (int64_t e = from; e < to; e++) {
        const double x = (double)distance[e] / t->basis.cutoff, at = x * WL_SPHERICAL_CELLS;
        int64_t cell = (int64_t)at;
        if (cell >= WL_SPHERICAL_CELLS) cell = WL_SPHERICAL_CELLS - 1;
        const float u = (float)wl_bessel_envelope(t->basis.power, x), part = (float)(at - (double)cell);
        const float *restrict v = t->value + cell * t->width, *restrict m = t->slope + cell * t->width;
        float *restrict row = y + e * t->width;
#pragma omp simd
        for (int64_t i = 0; i < t->width; i++) {
            const float rise = v[i + t->width] - v[i], bend = m[i] + m[i + t->width] - 2 * rise;
            row[i] = u * (v[i] + part * (m[i] + part * (rise - m[i] - bend + part * bend)));
        }
    }
}
