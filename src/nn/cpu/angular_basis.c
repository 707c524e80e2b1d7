#include "nn/cpu/chunks.h"
#include "nn/cpu/cpu.h"
#include "nn/ref/ref.h"

static void angular_basis(int64_t orders, int64_t rows, const float *cosine, float *y)
{
#pragma omp parallel for schedule(static)
    for (int c = 0; c < WL_CHUNKS; c++) {
        int64_t from, to;
        wl_chunk_rows(rows, c, &from, &to);
        wl_ref_angular_basis(orders, from, to, cosine, y);
    }
}

static const struct wl_angular_kernels kernels = { angular_basis };

const struct wl_op_rules wl_cpu_op_angular_basis = { wl_lower_rows, .lowering = &wl_rows_angular_basis,
                                                     .kernels = &kernels };
