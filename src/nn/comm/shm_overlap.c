/* Sums in the background of other work. Each rank counts what it has handed over; a rank whose count lags holds up
 * nobody: the others do their slices of the sums that everybody has handed over, whenever they look. So ranks wait for
 * each other once, at the end, instead of at every bucket, and what one loses by an interrupt it makes up for
 * meanwhile. Slices and the order of their additions are those of shm_collectives.c, and so are the bits. */
#include "nn/comm/internal.h"

static uint64_t posted_by(const struct wl_shm *g, int rank)
{
    return atomic_load_explicit(&g->ctl->slot[rank].posted, memory_order_acquire);
}

static bool all_have_posted(const struct wl_shm *g, uint64_t k)
{
    for (int r = 0; r < g->size; r++)
        if (posted_by(g, r) <= k) return false;
    return true;
}

static struct wl_shm_region *region_of(const struct wl_shm *g, const struct wl_shm_call *c)
{
    struct wl_shm_region *r = g->regions;
    while (r->index != c->region) r = r->next;
    return r;
}

int wl_shm_reduce_poll(struct wl_shm *g, struct wl_err *e)
{
    while (all_have_posted(g, g->summed)) {
        const struct wl_shm_call *call = &g->ctl->slot[g->rank].calls[g->summed % WL_SHM_PENDING_MAX];
        int rc = wl_shm_check_in_step(g, call, &g->summed, e);
        if (rc) return rc;
        wl_shm_sum_own_slice(g, region_of(g, call), call->offset, call->n, true);
        g->summed++;
    }
    return 0;
}

int wl_shm_reduce_finish(struct wl_shm *g, struct wl_err *e)
{
    uint64_t posted = posted_by(g, g->rank);
    if (posted == g->finished) return 0;
    int rc = wl_shm_barrier(g, e); /* all have handed everything over */
    if (!rc) rc = wl_shm_reduce_poll(g, e);
    if (!rc) rc = wl_shm_barrier(g, e); /* all have summed their slices */
    g->finished = posted;
    return rc;
}

int wl_shm_reduce_start(struct wl_shm *g, float *x, size_t n, struct wl_err *e)
{
    size_t offset;
    const struct wl_shm_region *r = wl_shm_region_with(g, x, n, &offset);
    if (!r) return wl_shm_sum_f32(g, x, n, e);
    struct wl_shm_slot *slot = &g->ctl->slot[g->rank];
    uint64_t posted = posted_by(g, g->rank);
    int rc = posted - g->finished == WL_SHM_PENDING_MAX ? wl_shm_reduce_finish(g, e) : 0;
    if (rc) return rc;
    slot->calls[posted % WL_SHM_PENDING_MAX] = (struct wl_shm_call) { .region = r->index, .offset = offset, .n = n };
    atomic_store_explicit(&slot->posted, posted + 1, memory_order_release);
    return wl_shm_reduce_poll(g, e);
}
