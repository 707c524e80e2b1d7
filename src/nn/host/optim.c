/* The optimizers on host memory (struct wl_optim says what they compute). */
#include "nn/host/host.h"
#include "nn/simd/simd.h"

#include <math.h>

/* A step on a span. */
struct step {
    const struct wl_optim *optim;
    const struct wl_optim_span *span;
    float rate;          /* sgd */
    struct wl_adam adam; /* adam, adamw */
    void (*run)(const struct step *t, size_t from, size_t n);
};

/* Sutskever et al. 2013 in PyTorch's form (see struct wl_optim). Reads w, g, v and writes w, v: 20 bytes an element,
 * so memory sets the pace and the loop stays plain. */
static void sgd_run(const struct step *t, size_t from, size_t n)
{
    const struct wl_optim_span *s = t->span;
    float *restrict w = s->w + from, *restrict v = s->slot[0] + from;
    const float *restrict g = s->g + from;
    const float scale = s->scale, decay = s->decay, momentum = (float)t->optim->momentum, rate = t->rate;
    const float look_ahead = t->optim->nesterov ? 1 : 0;
#pragma omp simd
    for (size_t i = 0; i < n; i++) {
        float d = scale * g[i] + decay * w[i];
        float m = momentum * v[i] + d;
        v[i] = m;
        w[i] -= rate * (look_ahead * (d + momentum * m) + (1 - look_ahead) * m);
    }
}

static void adam_run(const struct step *t, size_t from, size_t n)
{
    const struct wl_optim_span *s = t->span;
    wl_simd()->adam(&t->adam, s->w + from, s->g + from, s->slot[0] + from, s->slot[1] + from, n);
}

static struct wl_adam adam_of(const struct wl_optim *o, const struct wl_optim_span *s, double lr)
{
    const double t = (double)s->step;
    return (struct wl_adam) {
        .scale = s->scale,
        .beta = { (float)o->beta1, (float)o->beta2 },
        .rest = { (float)(1 - o->beta1), (float)(1 - o->beta2) },
        .shrink = 1,
        .rate = (float)(lr / (1 - pow(o->beta1, t))),
        .root = (float)(1 / sqrt(1 - pow(o->beta2, t))),
        .eps = (float)o->eps,
    };
}

static struct step step_of(enum wl_optim_kind kind, const struct wl_optim *o, const struct wl_optim_span *s, double lr)
{
    struct step t = { .optim = o, .span = s, .rate = (float)lr, .run = kind == WL_OPTIM_SGD ? sgd_run : adam_run };
    if (kind != WL_OPTIM_SGD) t.adam = adam_of(o, s, lr);
    if (kind == WL_OPTIM_ADAM) t.adam.l2 = s->decay;
    if (kind == WL_OPTIM_ADAMW) t.adam.shrink = (float)(1 - lr * (double)s->decay);
    return t;
}

static void update_run(const struct step *t, size_t from, size_t to)
{
    enum { BLOCK = 1 << 14 };
#pragma omp parallel for schedule(static)
    for (size_t at = from; at < to; at += BLOCK) t->run(t, at, to - at < BLOCK ? to - at : BLOCK);
}

/* A matrix at `from` that has copies: a tile of it, then theirs. */
static void update_tiles(const struct step *t, size_t from, const struct wl_host_copies *c)
{
    WL_CHECK(from + (size_t)(c->rows * c->columns) <= t->span->n); /* spans hold whole parameters */
    const int64_t most = wl_host_tile_columns(c), cuts = (c->columns + most - 1) / most;
#pragma omp parallel for schedule(static)
    for (int64_t tile = 0; tile < c->rows / WL_HOST_TILE * cuts; tile++) {
        const int64_t i = tile / cuts * WL_HOST_TILE, j = tile % cuts * most;
        const int64_t n = c->columns - j < most ? c->columns - j : most;
        for (int64_t row = i; row < i + WL_HOST_TILE; row++)
            t->run(t, from + (size_t)(row * c->columns + j), (size_t)n);
        c->write(c, i, j, n);
    }
}

void wl_host_update(struct wl_host *h, const struct wl_optim_ops *kind, const struct wl_optim *o,
                    const struct wl_optim_span *s, double lr)
{
    const struct step t = step_of(kind->kind, o, s, lr);
    for (size_t at = 0; at < s->n;) {
        const struct wl_host_copies *c = wl_host_copies_after(h, s->w + at);
        const float *master = c ? c->master->at : NULL;
        WL_CHECK(!master || master >= s->w + at);
        if (master == s->w + at) {
            update_tiles(&t, at, c);
            at += (size_t)(c->rows * c->columns);
        } else { /* up to that matrix, if the span has it */
            const size_t to = master && master < s->w + s->n ? (size_t)(master - s->w) : s->n;
            update_run(&t, at, to);
            at = to;
        }
    }
}
