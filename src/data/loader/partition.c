#include "data/internal.h"

struct wl_rng wl_rng(uint64_t seed, const char *purpose, uint64_t a, uint64_t b)
{
    return (struct wl_rng) { .key = seed ^ wl_hash_fnv1a(purpose), .stream = a << 40 ^ b };
}

double wl_rng_uniform(struct wl_rng *d, double low, double high)
{
    return low + (high - low) * wl_random_uniform(d->key, d->stream, d->i++);
}

uint64_t wl_rng_below(struct wl_rng *d, uint64_t n) { return wl_random_below(d->key, d->stream, d->i++, n); }

double wl_rng_normal(struct wl_rng *d) { return wl_random_normal(d->key, d->stream, d->i++); }

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
