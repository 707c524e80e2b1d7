#include "nn/cpu/chunks.h"
#include "nn/cpu/cpu.h"
#include "nn/simd/simd.h"

/* Cubics between nodes, from values and slopes in double: with 1024 cells they are 1e-8 off, where the function is 1.
 */
static const void *spherical_table(const struct wl_basis *b, struct wl_arena *a)
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
            const double x = z.zero[i] * (double)k / CELLS, j = wl_spherical_bessel(l, x);
            const double next = wl_spherical_bessel(l + 1, x), per_x = x > 0 ? l * j / x : l == 1 ? 1.0 / 3 : 0;
            value[k * width + i] = (float)(z.norm[i] * j);
            slope[k * width + i] = (float)(z.norm[i] * z.zero[i] / CELLS * (per_x - next));
        }
    return t;
}

static void spherical_basis(const struct wl_basis *b, const void *table, int64_t rows, const float *distance, float *y)
{
    (void)b;
#pragma omp parallel for schedule(static)
    for (int c = 0; c < WL_CHUNKS; c++) {
        int64_t from, to;
        wl_chunk_rows(rows, c, &from, &to);
        wl_simd()->spherical(table, from, to, distance, y);
    }
}

static const struct wl_spherical_kernels kernels = { spherical_table, spherical_basis };

const struct wl_op_rules wl_cpu_op_spherical_basis = { wl_lower_rows, .lowering = &wl_rows_spherical_basis,
                                                       .kernels = &kernels };
