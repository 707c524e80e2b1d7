#include "nn/program/program.h"
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

static void each_part(const struct wl_adam *how, const struct wl_optim_span *s)
{
    enum { PART = 1 << 14 };
    const struct wl_simd *wide = wl_simd();
#pragma omp parallel for schedule(static)
    for (size_t at = 0; at < s->n; at += PART)
        wide->adam(how, s->w + at, s->g + at, s->slot[0] + at, s->slot[1] + at, s->n - at < PART ? s->n - at : PART);
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
    struct wl_adam how = adam_of(o, s, lr);
    how.l2 = s->decay;
    each_part(&how, s);
}

static void adamw_step(const struct wl_optim *o, const struct wl_optim_span *s, double lr)
{
    struct wl_adam how = adam_of(o, s, lr);
    how.shrink = (float)(1 - lr * (double)s->decay);
    each_part(&how, s);
}

static const struct wl_optim_ops optimisers[] = {
    { .name = "sgd", .slots = 1, .slot_name = { "momentum" }, .step = sgd_step },
    { .name = "adam", .slots = 2, .slot_name = { "exp_avg", "exp_avg_sq" }, .step = adam_step },
    { .name = "adamw", .slots = 2, .slot_name = { "exp_avg", "exp_avg_sq" }, .step = adamw_step },
};

static const struct wl_optim_ops *find(const char *kind, struct wl_err *e)
{
    const char *names[WL_COUNT(optimisers)];
    for (size_t i = 0; i < WL_COUNT(optimisers); i++) {
        if (!kind || wl_str_eq(kind, optimisers[i].name)) return &optimisers[i];
        names[i] = optimisers[i].name;
    }
    const char *near = wl_str_closest(kind, names, WL_COUNT(names));
    wl_fail(e, WL_EINVAL, "optimiser '%s' is not known%s%s%s", kind, near ? "; did you mean '" : "", near ? near : "",
            near ? "'?" : "");
    return NULL;
}

static int check_share(const char *name, double x, struct wl_err *e)
{
    return x >= 0 && x < 1 ? 0 : wl_fail(e, WL_EINVAL, "%s is %g, expected 0 <= %s < 1", name, x, name);
}

int wl_optim_init(struct wl_optim *o, const struct wl_optim_ops **ops, struct wl_err *e)
{
    if (!(*ops = find(o->kind, e))) return WL_EINVAL;
    if (o->beta1 == 0) o->beta1 = 0.9;
    if (o->beta2 == 0) o->beta2 = 0.999;
    if (o->eps == 0) o->eps = 1e-8;
    int rc = check_share("momentum", o->momentum, e);
    if (!rc) rc = check_share("beta1", o->beta1, e);
    if (!rc) rc = check_share("beta2", o->beta2, e);
    if (!rc && !(o->eps > 0)) rc = wl_fail(e, WL_EINVAL, "eps is %g, expected more than 0", o->eps);
    if (!rc && !(o->weight_decay >= 0))
        rc = wl_fail(e, WL_EINVAL, "weight decay is %g, expected at least 0", o->weight_decay);
    return rc;
}
