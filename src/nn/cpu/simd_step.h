/* Steps that run the loops of nn/simd on plain buffers. */
#ifndef WL_NN_CPU_SIMD_STEP_H
#define WL_NN_CPU_SIMD_STEP_H

#include "nn/cpu/cpu.h"
#include "nn/simd/simd.h"
#include "nn/threads.h"

/* A step with its kernel's name, "simd:v4". */
struct wl_step *wl_simd_step_emit(struct wl_program *p, const struct wl_node *n, const char *pass, unsigned when,
                                  wl_step_run_fn *run);

/* The loops for values of this buffer's type. */
static inline const struct wl_simd_loops *wl_simd_step_loops(const struct wl_buf *b) { return wl_simd()->of[b->dtype]; }

/* The mask of a dropout, which draws nothing where nothing is dropped. */
struct wl_dropout_mask wl_simd_step_mask(const struct wl_dropout *d);

/* A buffer of n bytes for each thread, and this thread's part. */
struct wl_buf *wl_simd_step_scratch(struct wl_program *p, size_t bytes);
static inline void *wl_simd_step_thread_scratch(const struct wl_buf *scratch)
{
    return (char *)scratch->at + (size_t)scratch->dims.d[1] * (size_t)omp_get_thread_num();
}

/* Whole columns of a matrix [.,columns] for part i of n: from the result on, until that of part i + 1. */
static inline int64_t wl_simd_step_column_cut(int64_t columns, int i, int n)
{
    int64_t at = columns * i / n / 64 * 64; /* whole cache lines */
    return i == n ? columns : at;
}

/* Emits db [K] = the sum of the rows of dy [M,K]; each column by one thread, so for any number of them the same. */
void wl_simd_step_column_sum(struct wl_program *p, const struct wl_node *n, struct wl_buf *dy, struct wl_buf *db);

#endif
