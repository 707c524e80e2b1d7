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
    } all[] = { { "add_f32_f32_f32", &s->add }, { "round_bf16", &s->round_bf16 },
                { "round_f16", &s->round_f16 }, { "check_finite", &s->check_finite },
                { "sum_moments", &s->moments }, { "sgd", &s->sgd },
                { "adam", &s->adam },           { "update_statistics", &s->statistics },
                { "copy_parameters", &s->copy } };
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

int wl_gpu_round(void *device, float *v, size_t n, enum wl_dtype type, struct wl_err *e)
{
    const struct wl_gpu *g = device;
    const struct wl_gpu_cast a = { .from = v, .to = v, .n = (int64_t)n };
    const struct wl_gpu_grid grid = wl_gpu_grid_for(g, a.n, THREADS, EACH);
    return WL_GPU_LAUNCH(type == WL_F16 ? &g->state->round_f16 : &g->state->round_bf16, &grid, &a, e);
}

/* On the stream of the run, whose end copies the counts: the host does not wait for it otherwise. */
int wl_gpu_check_finite(void *device, const float *v, size_t n, const struct wl_device_io *io, struct wl_err *e)
{
    (void)io;
    const struct wl_gpu *g = device;
    const struct wl_gpu_finite a = { .v = v, .n = (int64_t)n, .counts = g->counts };
    const struct wl_gpu_grid grid = wl_gpu_grid_for(g, a.n, THREADS, EACH);
    return WL_GPU_LAUNCH(&g->state->check_finite, &grid, &a, e);
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

static size_t round_up(size_t n, size_t to) { return (n + to - 1) / to * to; }

/* Where an update is: number `at` of *span. */
struct cursor {
    const struct wl_optim_span *span, *end;
    size_t at;
};

static struct wl_gpu_span next_span(struct wl_gpu_state *g, struct cursor *c)
{
    const struct wl_optim_span *s = c->span;
    const size_t at = c->at;
    struct wl_gpu_span to = { .w = s->w + at, .g = s->g + at, .decay = s->decay };
    for (int k = 0; k < 2; k++) to.slot[k] = s->slot[k] ? s->slot[k] + at : NULL;
    wl_gpu_cut_span(g, s->n - at, &to);
    c->at += (size_t)to.n;
    if (to.copy) c->at = round_up(c->at, wl_gpu_device.align / sizeof(float)); /* padding, which is 0 */
    if (c->at < s->n) return to;
    c->span++;
    c->at = 0;
    return to;
}

/* Spans that one launch takes: returns how many, and their blocks. */
static int32_t fill_spans(struct wl_gpu_state *g, struct wl_gpu_span *to, struct cursor *c, unsigned *blocks)
{
    int64_t block = 0;
    int32_t n = 0;
    for (; n < WL_GPU_SPANS && c->span < c->end; n++) {
        to[n] = next_span(g, c);
        to[n].first_block = (int32_t)block;
        block += (to[n].n + WL_GPU_SPAN_BLOCK - 1) / WL_GPU_SPAN_BLOCK;
    }
    *blocks = (unsigned)block;
    return n;
}

/* The next spans. */
static int launch_sgd(struct wl_gpu_state *g, const struct wl_optim *o, struct cursor *c, double lr, struct wl_err *e)
{
    struct wl_gpu_sgd a = { .f16 = wl_gpu_copies_in_f16(g),
                            .nesterov = o->nesterov,
                            .scale = c->span->scale,
                            .momentum = (float)o->momentum,
                            .rate = (float)lr };
    struct wl_gpu_grid grid = { .threads = WL_GPU_SPAN_THREADS };
    a.spans = fill_spans(g, a.span, c, &grid.x);
    return WL_GPU_LAUNCH(&g->sgd, &grid, &a, e);
}

static int launch_adam(struct wl_gpu_state *g, const struct wl_optim *o, struct cursor *c, double lr, bool shrinks,
                       struct wl_err *e)
{
    const double t = (double)c->span->step;
    struct wl_gpu_adam a = { .f16 = wl_gpu_copies_in_f16(g),
                             .shrinks = shrinks,
                             .scale = c->span->scale,
                             .beta = { (float)o->beta1, (float)o->beta2 },
                             .rest = { (float)(1 - o->beta1), (float)(1 - o->beta2) },
                             .lr = (float)lr,
                             .rate = (float)(lr / (1 - pow(o->beta1, t))),
                             .root = (float)(1 / sqrt(1 - pow(o->beta2, t))),
                             .eps = (float)o->eps };
    struct wl_gpu_grid grid = { .threads = WL_GPU_SPAN_THREADS };
    a.spans = fill_spans(g, a.span, c, &grid.x);
    return WL_GPU_LAUNCH(&g->adam, &grid, &a, e);
}

int wl_gpu_update(void *device, const struct wl_optim_ops *kind, const struct wl_optim *o,
                  const struct wl_optim_span *s, size_t n, double lr, struct wl_err *e)
{
    struct wl_gpu *g = device;
    struct cursor c = { s, s + n, 0 };
    int rc = wl_gpu_enter(g, e);
    while (c.span < c.end && !rc) {
        if (kind->kind == WL_OPTIM_SGD)
            rc = launch_sgd(g->state, o, &c, lr, e);
        else
            rc = launch_adam(g->state, o, &c, lr, kind->kind == WL_OPTIM_ADAMW, e);
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
