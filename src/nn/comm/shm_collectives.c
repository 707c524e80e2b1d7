/* Sums and copies between the ranks of a node. A reduction is a reduce-scatter and an all-gather in place: rank k sums
 * slice k of everybody's buffer, in rank order, and writes the result into all of them. So each number is added once,
 * in an order that does not depend on who comes first, and all ranks get the same bits. */
#include "nn/comm/internal.h"

#include <string.h>

enum { BLOCK = 1024 }; /* floats summed at a time, in the first-level cache */

static void add_block(float *restrict sum, const float *restrict x)
{
    for (size_t i = 0; i < BLOCK; i++) sum[i] += x[i];
}

static void sum_parts(const struct wl_shm *g, const struct wl_shm_region *r, size_t offset, size_t n, bool everywhere)
{
    float sum[BLOCK];
    for (size_t at = 0; at < n; at += BLOCK) {
        size_t m = n - at < BLOCK ? n - at : BLOCK, byte = offset + at * sizeof *sum;
        memcpy(sum, r->part[0] + byte, m * sizeof *sum);
        for (int k = 1; k < g->size; k++) {
            const float *x = (const float *)(r->part[k] + byte);
            if (m == BLOCK)
                add_block(sum, x);
            else
                for (size_t i = 0; i < m; i++) sum[i] += x[i];
        }
        for (int k = 0; k < (everywhere ? g->size : 1); k++) memcpy(r->part[k] + byte, sum, m * sizeof *sum);
    }
}

/* Slice k of n floats that start at `offset`: cut at cache lines, so that two ranks never write to one. */
static void slice_of(const struct wl_shm *g, size_t offset, size_t n, size_t *begin, size_t *end)
{
    const size_t line = 64 / sizeof(float);
    size_t lead = offset % 64 / sizeof(float), lines = (lead + n + line - 1) / line;
    size_t from = lines * (size_t)g->rank / (size_t)g->size * line;
    size_t to = lines * ((size_t)g->rank + 1) / (size_t)g->size * line;
    *begin = from > lead ? from - lead : 0;
    *end = to > lead ? to - lead : 0;
    if (*begin > n) *begin = n;
    if (*end > n) *end = n;
}

static bool same_call(const struct wl_shm_call *a, const struct wl_shm_call *b)
{
    return a->region == b->region && a->offset == b->offset && a->n == b->n;
}

int wl_shm_check_in_step(struct wl_shm *g, const struct wl_shm_call *call, const uint64_t *k, struct wl_err *e)
{
    for (int r = 0; r < g->size; r++) {
        const struct wl_shm_slot *s = &g->ctl->slot[r];
        const struct wl_shm_call *other = k ? &s->calls[*k % WL_SHM_PENDING_MAX] : &s->call;
        if (same_call(call, other)) continue;
        wl_shm_abort(g, NULL);
        return wl_fail(e, WL_EJOB,
                       "ranks are not in step: rank %d sums %zu numbers at byte %zu of buffer %d, rank %d %zu at byte "
                       "%zu of buffer %d",
                       atomic_load(&g->ctl->slot[g->rank].world_rank), call->n, call->offset, call->region,
                       atomic_load(&s->world_rank), other->n, other->offset, other->region);
    }
    return 0;
}

void wl_shm_sum_own_slice(const struct wl_shm *g, const struct wl_shm_region *r, size_t offset, size_t n,
                          bool everywhere)
{
    size_t begin, end;
    slice_of(g, offset, n, &begin, &end);
    sum_parts(g, r, offset + begin * sizeof(float), end - begin, everywhere);
}

int wl_shm_barrier_sum_slice(struct wl_shm *g, struct wl_shm_region *r, size_t offset, size_t n, bool everywhere,
                             struct wl_err *e)
{
    struct wl_shm_call *call = &g->ctl->slot[g->rank].call;
    *call = (struct wl_shm_call) { .region = r->index, .offset = offset, .n = n };
    int rc = wl_shm_barrier(g, e);
    if (!rc) rc = wl_shm_check_in_step(g, call, NULL, e);
    if (!rc) wl_shm_sum_own_slice(g, r, offset, n, everywhere);
    return rc;
}

struct wl_shm_region *wl_shm_region_with(struct wl_shm *g, const float *x, size_t n, size_t *offset)
{
    for (struct wl_shm_region *r = g->regions; r; r = r->next) {
        uintptr_t from = (uintptr_t)r->part[g->rank], at = (uintptr_t)x;
        if (at < from || at - from + n * sizeof *x > r->n_bytes) continue;
        *offset = at - from;
        return r;
    }
    return NULL;
}

int wl_shm_staged(struct wl_shm *g, float *x, size_t n, wl_shm_reduce *reduce, void *of, struct wl_err *e)
{
    size_t offset;
    struct wl_shm_region *r = wl_shm_region_with(g, x, n, &offset);
    if (r) return reduce(of, r, offset, n, e);
    const size_t piece = WL_SHM_STAGING_BYTES / sizeof *x;
    char *staging = g->staging->part[g->rank];
    for (size_t at = 0; at < n; at += piece) {
        size_t m = n - at < piece ? n - at : piece;
        memcpy(staging, x + at, m * sizeof *x);
        int rc = reduce(of, g->staging, 0, m, e);
        if (rc) return rc;
        memcpy(x + at, staging, m * sizeof *x);
    }
    return 0;
}

static int reduce_in_group(void *group, struct wl_shm_region *r, size_t offset, size_t n, struct wl_err *e)
{
    struct wl_shm *g = group;
    int rc = wl_shm_barrier_sum_slice(g, r, offset, n, true, e);
    return rc ? rc : wl_shm_barrier(g, e);
}

int wl_shm_sum_f32(struct wl_shm *g, float *x, size_t n, struct wl_err *e)
{
    return wl_shm_staged(g, x, n, reduce_in_group, g, e);
}

int wl_shm_sum_f64(struct wl_shm *g, double *x, size_t n, struct wl_err *e)
{
    const size_t piece = WL_SHM_STAGING_BYTES / sizeof *x;
    for (size_t at = 0; at < n; at += piece) {
        size_t m = n - at < piece ? n - at : piece;
        memcpy(g->staging->part[g->rank], x + at, m * sizeof *x);
        int rc = wl_shm_barrier(g, e);
        if (rc) return rc;
        for (size_t i = 0; i < m; i++) {
            double sum = 0;
            for (int k = 0; k < g->size; k++) sum += ((const double *)g->staging->part[k])[i];
            x[at + i] = sum;
        }
        rc = wl_shm_barrier(g, e); /* nobody reads the staging buffers any more */
        if (rc) return rc;
    }
    return 0;
}

int wl_shm_broadcast(struct wl_shm *g, void *p, size_t n_bytes, int root, struct wl_err *e)
{
    for (size_t at = 0; at < n_bytes; at += WL_SHM_STAGING_BYTES) {
        size_t m = n_bytes - at < WL_SHM_STAGING_BYTES ? n_bytes - at : WL_SHM_STAGING_BYTES;
        if (g->rank == root) memcpy(g->staging->part[root], (char *)p + at, m);
        int rc = wl_shm_barrier(g, e);
        if (rc) return rc;
        if (g->rank != root) memcpy((char *)p + at, g->staging->part[root], m);
        rc = wl_shm_barrier(g, e);
        if (rc) return rc;
    }
    return 0;
}
