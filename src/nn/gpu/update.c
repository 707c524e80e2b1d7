/* Optimizers and running statistics between runs; sums of gradients and moments within them. */
#include "nn/gpu/kernels/update.h"
#include "nn/gpu/internal.h"
#include "nn/gpu/kernels/elementwise.h"

#include <math.h>

enum { THREADS = 256, EACH = 8 };

int wl_gpu_find_update_kernels(struct wl_gpu *g, struct wl_err *e)
{
    struct wl_gpu_state *s = g->state;
    const struct {
        const char *name;
        struct wl_gpu_kernel *to;
    } all[] = { { "add_f32_f32_f32", &s->add }, { "round_to_bf16", &s->round },
                { "sum_moments", &s->moments }, { "sgd", &s->sgd },
                { "adam", &s->adam },           { "update_statistics", &s->statistics } };
    int rc = 0;
    for (size_t i = 0; i < WL_COUNT(all) && !rc; i++) rc = wl_gpu_kernel(g, all[i].name, all[i].to, e);
    return rc;
}

/* ---- in a run ---- */

int wl_gpu_add(void *device, float *to, const float *part, size_t n, struct wl_err *e)
{
    const struct wl_gpu *g = device;
    const struct wl_gpu_add a = { .a = to, .b = part, .y = to, .n = (int64_t)n };
    const struct wl_gpu_grid grid = wl_gpu_grid_for(g, a.n, THREADS, EACH);
    return WL_GPU_LAUNCH(&g->state->add, &grid, &a, e);
}

int wl_gpu_round_to_bf16(void *device, float *v, size_t n, struct wl_err *e)
{
    const struct wl_gpu *g = device;
    const struct wl_gpu_cast a = { .from = v, .to = v, .n = (int64_t)n };
    const struct wl_gpu_grid grid = wl_gpu_grid_for(g, a.n, THREADS, EACH);
    return WL_GPU_LAUNCH(&g->state->round, &grid, &a, e);
}

int wl_gpu_sum_moments(const struct wl_step *s, const struct wl_run *r, struct wl_err *e)
{
    const struct wl_gpu *g = s->context;
    const struct wl_channels ch = wl_channels_of(s->node->in[0]);
    const double n = (double)ch.n * (double)ch.area;
    const struct wl_gpu_moments a = { .of = { s->uses[0].buf->at, s->uses[1].buf->at },
                                      .sum = { s->uses[2].buf->at, s->uses[3].buf->at },
                                      .factor = { 1, n > 1 ? (float)(n / (n - 1)) : 1 },
                                      .n = ch.c,
                                      .first = r->first };
    const struct wl_gpu_grid grid = wl_gpu_grid_for(g, a.n, THREADS, 1);
    return WL_GPU_LAUNCH(&g->state->moments, &grid, &a, e);
}

/* ---- between runs ---- */

/* Spans that one launch takes: returns how many, and their blocks. */
static size_t fill_spans(struct wl_gpu_span *to, const struct wl_optim_span *s, size_t n, unsigned *blocks)
{
    int64_t at = 0;
    if (n > WL_GPU_SPANS) n = WL_GPU_SPANS;
    for (size_t i = 0; i < n; i++) {
        to[i] = (struct wl_gpu_span) { .w = s[i].w,
                                       .g = s[i].g,
                                       .slot = { s[i].slot[0], s[i].slot[1] },
                                       .n = (int64_t)s[i].n,
                                       .decay = s[i].decay,
                                       .first_block = (int32_t)at };
        at += ((int64_t)s[i].n + WL_GPU_SPAN_BLOCK - 1) / WL_GPU_SPAN_BLOCK;
    }
    *blocks = (unsigned)at;
    return n;
}

static size_t launch_sgd(const struct wl_gpu *g, const struct wl_optim *o, const struct wl_optim_span *s, size_t n,
                         double lr, int *rc, struct wl_err *e)
{
    struct wl_gpu_sgd a = {
        .nesterov = o->nesterov, .scale = s->scale, .momentum = (float)o->momentum, .rate = (float)lr
    };
    struct wl_gpu_grid grid = { .threads = THREADS };
    n = fill_spans(a.span, s, n, &grid.x);
    a.spans = (int32_t)n;
    *rc = WL_GPU_LAUNCH(&g->state->sgd, &grid, &a, e);
    return n;
}

static size_t launch_adam(const struct wl_gpu *g, const struct wl_optim *o, const struct wl_optim_span *s, size_t n,
                          double lr, bool shrinks, int *rc, struct wl_err *e)
{
    const double t = (double)s->step;
    struct wl_gpu_adam a = { .shrinks = shrinks,
                             .scale = s->scale,
                             .beta = { (float)o->beta1, (float)o->beta2 },
                             .rest = { (float)(1 - o->beta1), (float)(1 - o->beta2) },
                             .lr = (float)lr,
                             .rate = (float)(lr / (1 - pow(o->beta1, t))),
                             .root = (float)(1 / sqrt(1 - pow(o->beta2, t))),
                             .eps = (float)o->eps };
    struct wl_gpu_grid grid = { .threads = THREADS };
    n = fill_spans(a.span, s, n, &grid.x);
    a.spans = (int32_t)n;
    *rc = WL_GPU_LAUNCH(&g->state->adam, &grid, &a, e);
    return n;
}

int wl_gpu_update(void *device, const struct wl_optim_ops *kind, const struct wl_optim *o,
                  const struct wl_optim_span *s, size_t n, double lr, struct wl_err *e)
{
    struct wl_gpu *g = device;
    int rc = wl_gpu_enter(g, e);
    for (size_t i = 0; i < n && !rc;) {
        if (kind->kind == WL_OPTIM_SGD)
            i += launch_sgd(g, o, s + i, n - i, lr, &rc, e);
        else
            i += launch_adam(g, o, s + i, n - i, lr, kind->kind == WL_OPTIM_ADAMW, &rc, e);
    }
    return rc;
}

static int64_t fill_statistics(struct wl_gpu_statistics *a, const struct wl_statistic *s, size_t n)
{
    int64_t most = 0;
    for (size_t i = 0; i < n; i++) {
        a->of[i] = (struct wl_gpu_statistic) { .running = s[i].running->at,
                                               .sum = s[i].sum->at,
                                               .n = wl_dims_count(&s[i].tensor->dims),
                                               .share = (float)s[i].tensor->momentum };
        if (a->of[i].n > most) most = a->of[i].n;
    }
    return most;
}

int wl_gpu_update_statistics(void *device, const struct wl_statistic *s, size_t n, int micro_batches, struct wl_err *e)
{
    struct wl_gpu *g = device;
    int rc = wl_gpu_enter(g, e);
    for (size_t i = 0; i < n && !rc; i += WL_GPU_STATISTICS) {
        const size_t some = n - i < WL_GPU_STATISTICS ? n - i : WL_GPU_STATISTICS;
        struct wl_gpu_statistics a = { .micro_batches = (float)micro_batches };
        struct wl_gpu_grid grid = wl_gpu_grid_for(g, fill_statistics(&a, s + i, some), THREADS, 1);
        grid.y = (unsigned)some;
        rc = WL_GPU_LAUNCH(&g->state->statistics, &grid, &a, e);
    }
    return rc;
}
