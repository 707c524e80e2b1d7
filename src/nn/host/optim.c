/* The optimizers on host memory (struct wl_optim says what they compute). */
#include "nn/host/host.h"
#include "nn/simd/simd.h"

#include <math.h>

/* Sutskever et al. 2013 in PyTorch's form (see struct wl_optim). Reads w, g, v and writes w, v: 20 bytes an element,
 * so memory sets the pace and the loop stays plain. */
static void sgd_step(const struct wl_optim *o, const struct wl_optim_span *s, double lr)
{
    float *restrict w = s->w, *restrict v = s->slot[0];
    const float *restrict g = s->g;
    const float scale = s->scale, decay = s->decay, momentum = (float)o->momentum, rate = (float)lr;
    const float look_ahead = o->nesterov ? 1 : 0;
#pragma omp parallel for simd schedule(static)
    for (size_t i = 0; i < s->n; i++) {
        float d = scale * g[i] + decay * w[i];
        float m = momentum * v[i] + d;
        v[i] = m;
        w[i] -= rate * (look_ahead * (d + momentum * m) + (1 - look_ahead) * m);
    }
}

static void update_in_blocks(const struct wl_adam *adam, const struct wl_optim_span *s)
{
    enum { BLOCK = 1 << 14 };
    const struct wl_simd *simd = wl_simd();
#pragma omp parallel for schedule(static)
    for (size_t at = 0; at < s->n; at += BLOCK)
        simd->adam(adam, s->w + at, s->g + at, s->slot[0] + at, s->slot[1] + at, s->n - at < BLOCK ? s->n - at : BLOCK);
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

static void adam_step(const struct wl_optim *o, const struct wl_optim_span *s, double lr)
{
    struct wl_adam adam = adam_of(o, s, lr);
    adam.l2 = s->decay;
    update_in_blocks(&adam, s);
}

static void adamw_step(const struct wl_optim *o, const struct wl_optim_span *s, double lr)
{
    struct wl_adam adam = adam_of(o, s, lr);
    adam.shrink = (float)(1 - lr * (double)s->decay);
    update_in_blocks(&adam, s);
}

void wl_host_update(const struct wl_optim_ops *kind, const struct wl_optim *o, const struct wl_optim_span *s, double lr)
{
    switch (kind->kind) {
    case WL_OPTIM_SGD: sgd_step(o, s, lr); break;
    case WL_OPTIM_ADAM: adam_step(o, s, lr); break;
    case WL_OPTIM_ADAMW: adamw_step(o, s, lr); break;
    }
}
