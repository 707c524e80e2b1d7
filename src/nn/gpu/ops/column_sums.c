#include "nn/gpu/ops/column_sums.h"

#include "nn/gpu/kernels/sums.h"
#include "nn/lowering/step.h"

enum {
    THREADS = 256,
    BLOCKS = 512,  /* fill the GPUs of today */
    LEAST_ROWS = 8 /* of a part: the warps of a block take a row each */
};

static int64_t blocks_across(int64_t f) { return (f + THREADS - 1) / THREADS; }

struct wl_gpu_column_parts wl_gpu_column_parts(int64_t rows, int64_t f)
{
    const int64_t want = (BLOCKS + blocks_across(f) - 1) / blocks_across(f), each = (rows + want - 1) / want;
    const int64_t of_part = each > LEAST_ROWS ? each : LEAST_ROWS;
    return (struct wl_gpu_column_parts) { .n = (rows + of_part - 1) / of_part, .of_part = of_part };
}

struct wl_gpu_grid wl_gpu_column_parts_grid(const struct wl_gpu_column_parts *v, int64_t f)
{
    return (struct wl_gpu_grid) { .x = (unsigned)blocks_across(f), .y = (unsigned)v->n, .threads = THREADS };
}

struct wl_buf *wl_gpu_column_parts_buf(struct wl_program *p, const struct wl_gpu_column_parts *v, int64_t f)
{
    return wl_buf_plain(p, WL_MEM_VALUE, WL_F32, &WL_DIMS(v->n, f));
}

int wl_gpu_sum_column_parts(const struct wl_gpu_kernel *sum_parts, const struct wl_gpu_column_parts *v, int64_t f,
                            const float *parts, float *to, struct wl_err *e)
{
    const struct wl_gpu_sum_parts args = { .parts = parts, .to = to, .n = v->n, .size = f };
    const struct wl_gpu_grid grid = { .x = (unsigned)((f + 31) / 32), .threads = THREADS };
    return WL_GPU_LAUNCH(sum_parts, &grid, &args, e);
}

/* ---- the step: uses x, parts, to ---- */

struct column_sums {
    struct wl_gpu_kernel sums, sum_parts;
    struct wl_gpu_column_parts parts;
    int64_t rows, f;
};

static int column_sums_run(const struct wl_step *s, const struct wl_run *r, struct wl_err *e)
{
    const struct column_sums *c = s->context;
    float *parts = wl_step_use_f32(s, r, 1);
    const struct wl_gpu_column_sums args = {
        .x = wl_use_at(s, r, 0), .parts = parts, .rows = c->rows, .f = c->f, .of_part = c->parts.of_part
    };
    const struct wl_gpu_grid grid = wl_gpu_column_parts_grid(&c->parts, c->f);
    int rc = WL_GPU_LAUNCH(&c->sums, &grid, &args, e);
    return rc ? rc : wl_gpu_sum_column_parts(&c->sum_parts, &c->parts, c->f, parts, wl_step_use_f32(s, r, 2), e);
}

int wl_gpu_emit_column_sums(struct wl_program *p, const struct wl_node *n, struct wl_buf *x, int64_t f,
                            struct wl_buf *to, struct wl_err *e)
{
    struct column_sums *c = wl_new(p->arena, struct column_sums);
    c->rows = wl_dims_count(&x->dims) / f;
    c->f = f;
    c->parts = wl_gpu_column_parts(c->rows, f);
    int rc = wl_gpu_kernel_of(wl_gpu_of(p), "column_sums", x->dtype, &c->sums, e);
    if (!rc) rc = wl_gpu_kernel(wl_gpu_of(p), "sum_parts", &c->sum_parts, e);
    if (rc) return rc;
    struct wl_step *s = wl_step_emit_uses(p, n, "bias, backward", WL_TRAIN, column_sums_run, WL_BUFS(x),
                                          WL_BUFS(wl_gpu_column_parts_buf(p, &c->parts, f), to));
    s->context = c;
    s->implementation = c->sums.name;
    return 0;
}
