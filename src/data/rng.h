/* A sequence of random numbers: consecutive elements of one stream of base/random.h. */
#ifndef WL_DATA_RNG_H
#define WL_DATA_RNG_H

#include "base/base.h"

struct wl_rng {
    uint64_t key, stream, i;
};

/* Keyed by the user's seed, the purpose of the numbers, and two positions; `a` below 2^24, `b` below 2^40. */
struct wl_rng wl_rng(uint64_t seed, const char *purpose, uint64_t a, uint64_t b);
double wl_rng_uniform(struct wl_rng *d, double low, double high); /* uniform in [low, high) */
uint64_t wl_rng_below(struct wl_rng *d, uint64_t n);              /* uniform in [0, n) */
double wl_rng_normal(struct wl_rng *d);

#endif
