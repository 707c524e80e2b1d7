#include "nn/lowering/lowering.h"

#include <math.h>

uint64_t wl_dropout_key(uint64_t seed, const char *name)
{
    uint32_t w[4];
    wl_philox(seed, wl_hash_fnv1a(name), 0, w);
    return (uint64_t)w[0] << 32 | w[1];
}

struct wl_dropout wl_dropout_of(const struct wl_program *p, const struct wl_node *n, double drop, int64_t samples,
                                int64_t features)
{
    return (struct wl_dropout) {
        .key = wl_dropout_key(p->seed, n->name),
        .drop = (uint32_t)lround(drop * WL_DROP_STEPS),
        .n = samples,
        .f = features,
    };
}

struct wl_dropout wl_dropout_in_run(const struct wl_dropout *drop, const struct wl_run *r)
{
    struct wl_dropout d = *drop;
    d.update = r->update;
    d.sample = r->first_sample;
    if (!r->training) d.drop = 0;
    return d;
}
