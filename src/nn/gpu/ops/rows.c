#include "nn/gpu/ops/rows.h"

#include <string.h>

/* Products of three TF32 in the place of large tiles, where the GPU has them. */
static int open_kernel(struct wl_program *p, const char *name, struct wl_gpu_kernel *k, struct wl_err *e)
{
    static const char large[] = "_large";
    const struct wl_gpu *g = wl_gpu_of(p);
    const size_t n = strlen(name), end = sizeof large - 1;
    if (g->capability >= 80 && n > end && wl_str_eq(name + n - end, large))
        name = wl_strf(p->arena, "%.*s_tensor", (int)(n - end), name);
    return wl_gpu_kernel(wl_gpu_of(p), name, k, e);
}

int wl_gpu_rows_prepare(struct wl_program *p, const struct wl_node *n, const void **table, struct wl_err *e)
{
    const char *const *names = wl_rules_of(p, n)->kernels;
    size_t count = 0;
    while (names[count]) count++;
    struct wl_gpu_kernel *k = wl_new_array(p->arena, struct wl_gpu_kernel, count);
    *table = k;
    int rc = 0;
    for (size_t i = 0; i < count && !rc; i++) rc = open_kernel(p, names[i], &k[i], e);
    return rc;
}

struct wl_gpu_grid wl_gpu_rows_grid(const struct wl_step *s, int64_t n)
{
    return wl_gpu_grid_for(wl_gpu_rows_kernel(s, 0)->gpu, n, 256, 1);
}

static int64_t pieces(int64_t n, int64_t size) { return (n + size - 1) / size; }

/* Large tiles are twice as fast where they fill a GPU of about this many multiprocessors; half a tile is wasted where
 * there are no more columns than a small one has. */
enum { LARGE = 128, SMALL_ROWS = 32, SMALL_COLUMNS = 64, BLOCKS = 128 };

static struct wl_gpu_grid tiles(int64_t rows, int64_t columns, int64_t parts, bool small)
{
    return (struct wl_gpu_grid) { .x = (unsigned)pieces(rows, small ? SMALL_ROWS : LARGE),
                                  .y = (unsigned)pieces(columns, small ? SMALL_COLUMNS : LARGE),
                                  .z = (unsigned)parts,
                                  .threads = small ? 128 : 256 };
}

struct wl_gpu_grid wl_gpu_small_tile_grid(int64_t rows, int64_t columns, int64_t parts)
{
    return tiles(rows, columns, parts, true);
}

struct wl_gpu_tile_grid wl_gpu_tile_grid_for(int64_t rows, int64_t columns, int64_t parts)
{
    const int64_t large = pieces(rows, LARGE) * pieces(columns, LARGE) * parts;
    const bool small = large < BLOCKS || columns <= SMALL_COLUMNS;
    return (struct wl_gpu_tile_grid) { tiles(rows, columns, parts, small), small };
}

/* As many as fill a GPU with large tiles, two a multiprocessor, of 128 rows at least. */
struct wl_gpu_row_parts wl_gpu_row_parts_for(float *at, int64_t room, int64_t m, int64_t n)
{
    const int64_t tiles = pieces(m, LARGE) * pieces(n, LARGE), enough = pieces(2 * BLOCKS, tiles),
                  most = pieces(room, LARGE);
    return (struct wl_gpu_row_parts) { .at = at,
                                       .apart = pieces(m * n + m, 4) * 4,
                                       .n = (int32_t)(most < enough ? most : enough) };
}

int wl_gpu_sum_row_parts(const struct wl_step *s, int i, const struct wl_gpu_sum_row_parts *sum, struct wl_err *e)
{
    struct wl_gpu_sum_row_parts a = *sum;
    if (!a.second) a.n_second = 0;
    const struct wl_gpu_grid grid = { .x = (unsigned)pieces(a.n_first + a.n_second, WL_GPU_ROW_SUMS), .threads = 256 };
    return WL_GPU_ROWS_LAUNCH(s, i, &grid, &a, e);
}

float *wl_gpu_take(float *scratch, size_t *used, size_t n)
{
    enum { ALIGNED = 64 }; /* 256 bytes */
    float *at = scratch ? scratch + *used : NULL;
    *used += (n + ALIGNED - 1) / ALIGNED * ALIGNED;
    return at;
}
