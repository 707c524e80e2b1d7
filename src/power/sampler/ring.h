/* Samples from one producer to one consumer, lock-free. */
#ifndef WL_POWER_SAMPLER_RING_H
#define WL_POWER_SAMPLER_RING_H

#include "power/sampler/sampler.h"

/* Positions only grow; slot = position mod size (a power of two). The producer owns head, the consumer tail; each is on
 * a cache line of its own. */
struct wl_ring {
    struct wl_sample *slots;
    size_t size;
    _Atomic size_t head;
    char apart[64];
    _Atomic size_t tail;
};
void wl_ring_init(struct wl_ring *r, size_t min_size, struct wl_arena *a); /* room for at least this many samples */
bool wl_ring_push(struct wl_ring *r, const struct wl_sample *s);           /* false: full */
size_t wl_ring_pop(struct wl_ring *r, struct wl_sample *out, size_t max);

#endif
