/* Sums and casts, number by number. */
#include "nn/gpu/plain.h"

#include "nn/gpu/kernels/elementwise.h"
#include "nn/lowering/lowering.h"

enum { THREADS = 256, EACH = 8 };

/* Numbers of a buffer, with the layout's padding. */
static int64_t numbers(const struct wl_buf *b) { return (int64_t)(b->bytes / wl_dtype_bytes(b->dtype)); }

struct launch {
    struct wl_gpu_kernel kernel;
    struct wl_gpu_grid grid;
    int64_t n;
    bool relu;
};

static struct launch *launch_of(struct wl_program *p, const char *kernel, const struct wl_buf *b, struct wl_err *e)
{
    struct launch *l = wl_new(p->arena, struct launch);
    l->n = numbers(b);
    l->grid = wl_gpu_grid_for(wl_gpu_of(p), l->n, THREADS, EACH);
    return wl_gpu_kernel(wl_gpu_of(p), kernel, &l->kernel, e) ? NULL : l;
}

/* ---- sums ---- */

static int sum_run(const struct wl_step *s, const struct wl_run *r, struct wl_err *e)
{
    const struct launch *l = s->context;
    const struct wl_gpu_add a = {
        .a = wl_use_at(s, r, 0), .b = wl_use_at(s, r, 1), .y = wl_use_at(s, r, 2), .n = l->n, .relu = l->relu
    };
    return WL_GPU_LAUNCH(&l->kernel, &l->grid, &a, e);
}

int wl_gpu_emit_sum(struct wl_program *p, const struct wl_node *n, const struct wl_gpu_sum_step *s, struct wl_err *e)
{
    const char *kernel = wl_strf(p->arena, "add_%s_%s_%s", wl_dtype_name(s->a->dtype), wl_dtype_name(s->b->dtype),
                                 wl_dtype_name(s->y->dtype));
    WL_CHECK(numbers(s->a) == numbers(s->y) && numbers(s->b) == numbers(s->y));
    struct launch *l = launch_of(p, kernel, s->y, e);
    if (!l) return WL_ELIB;
    l->relu = s->relu;
    struct wl_step *step = wl_step_emit_uses(p, n, s->pass, s->when, sum_run, WL_BUFS(s->a, s->b), WL_BUFS(s->y));
    step->context = l;
    step->implementation = l->kernel.name;
    return 0;
}

int wl_gpu_sum(struct wl_program *p, const struct wl_node *n, struct wl_buf *a, struct wl_buf *b, struct wl_buf *dst,
               struct wl_err *e)
{
    return wl_gpu_emit_sum(p, n, &(struct wl_gpu_sum_step) { "sum of gradients", WL_TRAIN, false, a, b, dst }, e);
}

/* ---- casts ---- */

static int cast_run(const struct wl_step *s, const struct wl_run *r, struct wl_err *e)
{
    const struct launch *l = s->context;
    const struct wl_gpu_cast a = { .from = wl_use_at(s, r, 0), .to = wl_use_at(s, r, 1), .n = l->n };
    return WL_GPU_LAUNCH(&l->kernel, &l->grid, &a, e);
}

/* Integers are copied as floats are: bits as they are. */
static const char *type_name(enum wl_dtype t) { return wl_dtype_name(t == WL_I32 ? WL_F32 : t); }

int wl_gpu_emit_cast(struct wl_program *p, const struct wl_node *n, struct wl_buf *from, struct wl_buf *to,
                     struct wl_err *e)
{
    const char *kernel = wl_strf(p->arena, "cast_%s_%s", type_name(from->dtype), type_name(to->dtype));
    WL_CHECK(numbers(from) == numbers(to));
    struct launch *l = launch_of(p, kernel, to, e);
    if (!l) return WL_ELIB;
    struct wl_step *s = wl_step_emit_uses(p, n, "reorder", WL_TRAIN | WL_EVAL, cast_run, WL_BUFS(from), WL_BUFS(to));
    s->context = l;
    s->implementation = l->kernel.name;
    return 0;
}
