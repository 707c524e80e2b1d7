/* What the rules of operations on rows share. They are lowered as on all back-ends (nn/lowering/rows.h); `kernels` of
 * their struct wl_op_rules is a list of names, which become the table of the steps. */
#ifndef WL_NN_GPU_OPS_ROWS_H
#define WL_NN_GPU_OPS_ROWS_H

#include "nn/gpu/gpu.h"
#include "nn/gpu/kernels/row_parts.h"
#include "nn/lowering/rows.h"

/* The kernels that the rules name, in their order, ended by NULL: struct wl_gpu_kernel []. */
#define WL_GPU_NAMES(...) ((const char *const[]) { __VA_ARGS__, NULL })
int wl_gpu_rows_prepare(struct wl_program *p, const struct wl_node *n, const void **table,
                        struct wl_err *e) WL_MUST_CHECK;

static inline const struct wl_gpu_kernel *wl_gpu_rows_kernel(const struct wl_step *s, int i)
{
    return (const struct wl_gpu_kernel *)wl_rows_own(s)->table + i;
}

/* Launches kernel i of the table. */
#define WL_GPU_ROWS_LAUNCH(s, i, grid, args, e) WL_GPU_LAUNCH(wl_gpu_rows_kernel(s, i), grid, args, e)

/* A grid of blocks for n elements, one a thread, or one a warp. */
struct wl_gpu_grid wl_gpu_rows_grid(const struct wl_step *s, int64_t n);
static inline struct wl_gpu_grid wl_gpu_warps_grid(const struct wl_step *s, int64_t n)
{
    return wl_gpu_rows_grid(s, 32 * n);
}

/* The grid of a product [rows,columns] by tiles (kernels/tile_product.h), and the kernel: NAME_large (NAME_tensor from
 * 8.0 on) if that fills a GPU, else NAME_small, which follows it in the table. */
struct wl_gpu_tile_grid {
    struct wl_gpu_grid grid;
    int small; /* 0 or 1 */
};
struct wl_gpu_tile_grid wl_gpu_tile_grid_for(int64_t rows, int64_t columns, int64_t parts);
struct wl_gpu_grid wl_gpu_small_tile_grid(int64_t rows, int64_t columns, int64_t parts);

/* Parts of a sum over at most `room` rows whose result is [m,n] and m more numbers. */
struct wl_gpu_row_parts wl_gpu_row_parts_for(float *at, int64_t room, int64_t m, int64_t n);
static inline size_t wl_gpu_row_parts_floats(const struct wl_gpu_row_parts *p) { return (size_t)(p->apart * p->n); }

/* Launches kernel i, sum_row_parts; `second` NULL: its numbers are not wanted. */
int wl_gpu_sum_row_parts(const struct wl_step *s, int i, const struct wl_gpu_sum_row_parts *sum, struct wl_err *e);

/* The next n floats of scratch memory, NULL where `scratch` is; *used is what was taken so far. */
float *wl_gpu_take(float *scratch, size_t *used, size_t n);

#endif
