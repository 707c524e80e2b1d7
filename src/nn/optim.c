#include "nn/program.h"

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

static const struct wl_optim_ops optimisers[] = {
    { .name = "sgd", .slots = 1, .slot_name = { "momentum" }, .step = sgd_step },
};

const struct wl_optim_ops *wl_optim_find(const char *kind, struct wl_err *e)
{
    const char *names[WL_COUNT(optimisers)];
    for (size_t i = 0; i < WL_COUNT(optimisers); i++) {
        if (!kind || wl_streq(kind, optimisers[i].name)) return &optimisers[i];
        names[i] = optimisers[i].name;
    }
    const char *near = wl_closest(kind, names, WL_COUNT(names));
    wl_fail(e, WL_EINVAL, "optimiser '%s' is not known%s%s%s", kind, near ? "; did you mean '" : "", near ? near : "",
            near ? "'?" : "");
    return NULL;
}
