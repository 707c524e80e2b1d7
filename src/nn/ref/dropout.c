#include "nn/ref/ref.h"

bool wl_ref_dropped(const struct wl_dropout *d, int64_t sample, int64_t j)
{
    int64_t group = j / WL_DROP_GROUP, k = j % WL_DROP_GROUP / WL_DROP_LANES, lane = j % WL_DROP_LANES;
    uint32_t w[4];
    wl_philox(d->key, (uint64_t)d->update, (uint64_t)sample << 32 | (uint64_t)(group * WL_DROP_LANES + lane), w);
    return (w[k / 2] >> (k % 2 * 16) & 0xffff) < d->drop;
}

void wl_ref_dropout(const struct wl_dropout *d, const wl_real *x, wl_real *y)
{
    const wl_real scale = (wl_real)WL_DROP_STEPS / (wl_real)(WL_DROP_STEPS - d->drop);
    for (int64_t i = 0; i < d->n; i++)
        for (int64_t j = 0; j < d->f; j++)
            y[i * d->f + j] = wl_ref_dropped(d, d->sample + i, j) ? 0 : x[i * d->f + j] * scale;
}
