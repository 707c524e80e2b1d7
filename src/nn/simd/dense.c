/* Blocks of rows through one layer: the product, then bias, activation and residual while the block is in the cache. */
#include "nn/lowering/kernels.h"
#include "nn/simd/gemm.h"
#include "nn/simd/levels.h"

void WL_SIMD_NAME(wl_pack)(const float *at, int64_t row, int64_t col, int64_t k, int64_t n, float *to)
{
    pack(at, row, col, k, n, to);
}

/* Up to 16 numbers; the others are 0. */
INLINE vec load_part(const float *p, int64_t n)
{
    if (n >= LANES) return vec_load(p);
    vec v = { 0 };
    for (int64_t i = 0; i < n; i++) v[i] = p[i];
    return v;
}

INLINE void store_part(float *p, vec v, int64_t n)
{
    if (n >= LANES) {
        vec_store(p, v);
        return;
    }
    for (int64_t i = 0; i < n; i++) p[i] = v[i];
}

INLINE vec activate(enum wl_activation a, vec u)
{
    if (a == WL_ACT_SOFTPLUS) return vec_softplus(u);
    return a == WL_ACT_SWISH ? u * vec_sigmoid(u) : u;
}

INLINE vec slope(enum wl_activation a, vec u)
{
    const vec s = vec_sigmoid(u);
    return a == WL_ACT_SOFTPLUS ? s : s + u * s * (1 - s);
}

/* Rows [from, to) of y, from the products in `at`. */
static void finish(const struct wl_dense_args *a, int64_t from, int64_t to, float *at)
{
    const int64_t k = a->m.k;
    for (int64_t r = from; r < to; r++)
        for (int64_t j = 0; j < k; j += LANES) {
            const int64_t i = r * k + j;
            vec u = load_part(at + i, k - j);
            if (a->b) u += load_part(a->b + j, k - j);
            if (a->u) store_part(a->u + i, u, k - j);
            vec y = activate(a->activation, u);
            if (a->residual) y += load_part(a->residual + i, k - j);
            store_part(a->y + i, y, k - j);
        }
}

void WL_SIMD_NAME(wl_dense)(const struct wl_dense_args *a, const float *packed, int64_t from, int64_t to)
{
    float *const at = a->u ? a->u : a->y;
    for (int64_t r = from; r < to; r += BLOCK) {
        const int64_t n = to - r < BLOCK ? to - r : BLOCK;
        rows_product(n, a->m.k, a->m.f, a->x + r * a->m.f, a->m.f, packed, false, at + r * a->m.k, a->m.k);
        finish(a, r, r + n, at);
    }
}

/* du of n rows from row r on, and its sums by column. */
static void before_activation(const struct wl_dense_grad *a, int64_t r, int64_t n, float *du, float *db)
{
    const int64_t k = a->m.k;
    for (int64_t j = 0; j < k; j += LANES) {
        vec sum = load_part(db + j, k - j);
        for (int64_t i = 0; i < n; i++) {
            const int64_t at = (r + i) * k + j;
            vec d = load_part(a->dy + at, k - j);
            if (a->u) d *= slope(a->activation, load_part(a->u + at, k - j));
            store_part(du + i * k + j, d, k - j);
            sum += d;
        }
        store_part(db + j, sum, k - j);
    }
}

void WL_SIMD_NAME(wl_dense_backward)(const struct wl_dense_grad *a, const float *packed, int64_t from, int64_t to,
                                     float *block, float *dw, float *db)
{
    const int64_t f = a->m.f, k = a->m.k;
    for (int64_t r = from; r < to; r += BLOCK) {
        const int64_t n = to - r < BLOCK ? to - r : BLOCK;
        before_activation(a, r, n, block, db);
        rows_product(n, f, k, block, k, packed, a->add, a->dx + r * f, f);
        columns_product(n, k, f, block, k, a->x + r * f, f, dw, f);
    }
}
