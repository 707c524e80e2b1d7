#include "data/rng.h"

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
