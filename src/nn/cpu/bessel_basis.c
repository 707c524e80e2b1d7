#include "nn/cpu/chunks.h"
#include "nn/cpu/cpu.h"
#include "nn/ref/ref.h"

enum { MAX_RADIAL = 64 };

static void bessel_basis(const struct wl_basis *b, int64_t rows, const float *distance, const float *freq, float *y)
{
#pragma omp parallel for schedule(static)
    for (int c = 0; c < WL_CHUNKS; c++) {
        int64_t from, to;
        wl_chunk_rows(rows, c, &from, &to);
        wl_ref_bessel_basis(b, from, to, distance, freq, y);
    }
}

static void bessel_basis_backward(const struct wl_basis *b, int64_t rows, const float *distance, const float *freq,
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

static const struct wl_bessel_kernels kernels = { bessel_basis, bessel_basis_backward };

const struct wl_op_rules wl_cpu_op_bessel_basis = { wl_lower_rows, wl_lower_rows_backward,
                                                    .lowering = &wl_rows_bessel_basis, .kernels = &kernels };
