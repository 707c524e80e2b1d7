#include "power/sampler/ring.h"

#include <stdatomic.h>

void wl_ring_init(struct wl_ring *r, size_t min_size, struct wl_arena *a)
{
    r->size = 16;
    while (r->size < min_size) r->size *= 2;
    r->slots = wl_new_array(a, struct wl_sample, r->size);
    atomic_init(&r->head, 0);
    atomic_init(&r->tail, 0);
}

bool wl_ring_push(struct wl_ring *r, const struct wl_sample *s)
{
    size_t head = atomic_load_explicit(&r->head, memory_order_relaxed);
    if (head - atomic_load_explicit(&r->tail, memory_order_acquire) == r->size) return false;
    r->slots[head & (r->size - 1)] = *s;
    atomic_store_explicit(&r->head, head + 1, memory_order_release);
    return true;
}

size_t wl_ring_pop(struct wl_ring *r, struct wl_sample *out, size_t max)
{
    size_t tail = atomic_load_explicit(&r->tail, memory_order_relaxed);
    size_t n = atomic_load_explicit(&r->head, memory_order_acquire) - tail;
    if (n > max) n = max;
    for (size_t i = 0; i < n; i++) out[i] = r->slots[(tail + i) & (r->size - 1)];
    atomic_store_explicit(&r->tail, tail + n, memory_order_release);
    return n;
}
