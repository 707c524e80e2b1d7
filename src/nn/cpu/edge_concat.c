#include "nn/cpu/chunks.h"
#include "nn/cpu/cpu.h"
#include "nn/ref/ref.h"

static void edge_concat(const struct wl_edge_concat_args *a, int64_t atoms)
{
#pragma omp parallel for schedule(static)
    for (int c = 0; c < WL_CHUNKS; c++) {
        int64_t from, to;
        wl_chunk_segments(a->edge_start, atoms, c, &from, &to);
        wl_ref_edge_concat(a, from, to);
    }
}

static void edge_concat_backward(const struct wl_edge_concat_grad *b, int64_t atoms)
{
#pragma omp parallel for schedule(static)
    for (int c = 0; c < WL_CHUNKS; c++) {
        int64_t from, to;
        wl_chunk_segments(b->of.edge_start, atoms, c, &from, &to);
        wl_ref_edge_concat_backward(b, from, to);
    }
}

static const struct wl_edge_concat_kernels kernels = { edge_concat, edge_concat_backward };

const struct wl_op_rules wl_cpu_op_edge_concat = { wl_lower_rows, wl_lower_rows_backward,
                                                   .lowering = &wl_rows_edge_concat, .kernels = &kernels };
