#include "nn/program/memory.h"

#include <stdlib.h>

static size_t round_up(size_t n, size_t to) { return (n + to - 1) / to * to; }

static int by_size_then_first(const void *x, const void *y)
{
    const struct wl_live_range *a = *(struct wl_live_range *const *)x, *b = *(struct wl_live_range *const *)y;
    if (a->bytes != b->bytes) return a->bytes < b->bytes ? 1 : -1;
    if (a->first != b->first) return a->first < b->first ? -1 : 1;
    return a < b ? -1 : a > b; /* no ties: the same graph gets the same places everywhere */
}

static bool overlap_in_time(const struct wl_live_range *a, const struct wl_live_range *b)
{
    return a->first <= b->last && b->first <= a->last;
}

/* The smallest gap between the placed pieces that live together with x, else the end of them. `placed` is sorted by
 * offset. */
static size_t best_fit(struct wl_live_range *const *placed, size_t n, const struct wl_live_range *x, size_t align)
{
    size_t need = round_up(x->bytes, align), end = 0, at = 0, best = SIZE_MAX;
    for (size_t i = 0; i < n; i++) {
        const struct wl_live_range *p = placed[i];
        if (!overlap_in_time(p, x)) continue;
        if (p->offset > end && p->offset - end >= need && p->offset - end < best) {
            best = p->offset - end;
            at = end;
        }
        size_t p_end = p->offset + round_up(p->bytes, align);
        if (p_end > end) end = p_end;
    }
    return best < SIZE_MAX ? at : end;
}

static void insert_by_offset(struct wl_live_range **placed, size_t n, struct wl_live_range *x)
{
    size_t i = n;
    for (; i > 0 && placed[i - 1]->offset > x->offset; i--) placed[i] = placed[i - 1];
    placed[i] = x;
}

size_t wl_memory_assign(struct wl_live_range *v, size_t n, size_t align, struct wl_arena *a)
{
    struct wl_live_range **order = wl_new_array(a, struct wl_live_range *, n),
                         **placed = wl_new_array(a, struct wl_live_range *, n);
    for (size_t i = 0; i < n; i++) order[i] = &v[i];
    if (n) qsort(order, n, sizeof *order, by_size_then_first);
    size_t total = 0;
    for (size_t i = 0; i < n; i++) {
        struct wl_live_range *x = order[i];
        x->offset = best_fit(placed, i, x, align);
        insert_by_offset(placed, i, x);
        size_t end = x->offset + round_up(x->bytes, align);
        if (end > total) total = end;
    }
    return total;
}

size_t wl_memory_padded(const struct wl_program *p, const struct wl_buf *b) { return round_up(b->bytes, p->align); }

/* The largest sum of pieces that are alive at one step. */
static size_t max_live_bytes(const struct wl_live_range *v, size_t n, size_t steps, size_t align, struct wl_arena *a)
{
    size_t *born = wl_new_array(a, size_t, steps + 2), *dead = wl_new_array(a, size_t, steps + 2), alive = 0, most = 0;
    for (size_t i = 0; i < n; i++) {
        if (v[i].first < 0) continue; /* no step uses it */
        born[v[i].first] += round_up(v[i].bytes, align);
        dead[v[i].last + 1] += round_up(v[i].bytes, align);
    }
    for (size_t i = 0; i < steps + 2; i++) {
        alive += born[i] - dead[i];
        if (alive > most) most = alive;
    }
    return most;
}

struct wl_memory_bytes wl_memory_assign_values(const struct wl_program *p)
{
    struct wl_arena *scratch = wl_arena_new(NULL);
    struct wl_live_range *pieces = wl_new_array(scratch, struct wl_live_range, p->n_bufs);
    struct wl_buf **of = wl_new_array(scratch, struct wl_buf *, p->n_bufs);
    struct wl_memory_bytes bytes = { 0 };
    size_t n = 0;
    for (size_t i = 0; i < p->n_bufs; i++) {
        struct wl_buf *b = p->bufs[i];
        if (b->class != WL_MEM_VALUE) continue;
        bool keep = p->keep_values;
        pieces[n] = (struct wl_live_range) { .bytes = b->bytes,
                                             .first = keep ? 0 : b->first,
                                             .last = keep ? (int)p->n_steps : b->last };
        of[n++] = b;
        bytes.unshared += wl_memory_padded(p, b);
    }
    bytes.total = wl_memory_assign(pieces, n, p->align, scratch);
    bytes.live = max_live_bytes(pieces, n, p->n_steps, p->align, scratch);
    for (size_t i = 0; i < n; i++) of[i]->offset = pieces[i].offset;
    wl_arena_free(scratch);
    return bytes;
}
