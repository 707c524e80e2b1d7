#include "nn/cpu/chunks.h"
#include "nn/cpu/cpu.h"
#include "nn/ref/ref.h"
#include "nn/simd/simd.h"

#include <string.h>

enum { EIGHT = WL_SIMD_EIGHT };

static bool gate_fits(const struct wl_gate_args *a) { return a->k <= EIGHT && a->f % WL_SIMD_LANES == 0; }

static void gate(const struct wl_gate_args *a)
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

static void gate_backward(const struct wl_gate_grad *g)
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

static size_t gate_scratch(int64_t f, int64_t k, bool backward)
{
    (void)k;
    return (size_t)(EIGHT * f) * (backward ? 1 + WL_CHUNKS : 1);
}

static const struct wl_gate_kernels kernels = { gate, gate_backward, gate_scratch };

const struct wl_op_rules wl_cpu_op_gate = { wl_lower_rows, wl_lower_rows_backward, .lowering = &wl_rows_gate,
                                            .kernels = &kernels };
