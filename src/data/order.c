#include "data/internal.h"

struct wl_draws wl_draws(uint64_t seed, const char *purpose, uint64_t a, uint64_t b)
{
    return (struct wl_draws) { .key = seed ^ wl_hash_text(purpose), .stream = a << 40 ^ b };
}

double wl_draw(struct wl_draws *d, double low, double high)
{
    return low + (high - low) * wl_random_uniform(d->key, d->stream, d->i++);
}

uint64_t wl_draw_below(struct wl_draws *d, uint64_t n) { return wl_random_below(d->key, d->stream, d->i++, n); }

double wl_draw_normal(struct wl_draws *d) { return wl_random_normal(d->key, d->stream, d->i++); }

int64_t wl_shares_steps(const struct wl_shares *s)
{
    int64_t global = s->batch * s->ranks;
    return s->drop_last ? s->samples / global : (s->samples + global - 1) / global;
}

int64_t wl_shares_at(const struct wl_shares *s, int64_t step, int64_t *from)
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
void wl_order_shuffle(uint32_t *order, int64_t n, uint64_t seed, int64_t epoch)
{
    struct wl_draws d = wl_draws(seed, "order", (uint64_t)epoch, 0);
    for (int64_t i = 0; i < n; i++) order[i] = (uint32_t)i;
    for (int64_t i = n - 1; i > 0; i--) {
        uint64_t k = wl_draw_below(&d, (uint64_t)i + 1);
        uint32_t swap = order[i];
        order[i] = order[k];
        order[k] = swap;
    }
}
