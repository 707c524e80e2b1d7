#include "data/loader/partition.h"

#include "data/rng.h"

int64_t wl_partition_steps(const struct wl_partition *s)
{
    int64_t global = s->batch * s->ranks;
    return s->drop_last ? s->samples / global : (s->samples + global - 1) / global;
}

int64_t wl_partition_range(const struct wl_partition *s, int64_t step, int64_t *from)
{
    int64_t global = s->batch * s->ranks, first = step * global, rest = s->samples - first;
    if (rest >= global) {
        *from = first + s->rank * s->batch;
        return s->batch;
    }
    int64_t begin = rest * s->rank / s->ranks, end = rest * (s->rank + 1) / s->ranks;
    *from = first + begin;
    return end - begin;
}

/* Fisher and Yates, from the end. */
void wl_partition_shuffle(uint32_t *order, int64_t n, uint64_t seed, int64_t epoch)
{
    struct wl_rng d = wl_rng(seed, "order", (uint64_t)epoch, 0);
    for (int64_t i = 0; i < n; i++) order[i] = (uint32_t)i;
    for (int64_t i = n - 1; i > 0; i--) {
        uint64_t k = wl_rng_below(&d, (uint64_t)i + 1);
        uint32_t swap = order[i];
        order[i] = order[k];
        order[k] = swap;
    }
}
