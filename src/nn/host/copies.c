/* Copies of parameters that kernels read instead of them: the list, and writing all. */
#include "nn/host/host.h"

#include <stdlib.h>

void wl_host_add_copies(struct wl_host *h, struct wl_host_copies *c, struct wl_arena *a)
{
    WL_CHECK(c->rows % WL_HOST_TILE == 0 && c->columns % WL_HOST_TILE == 0);
    WL_GROW(a, h->copies, h->n_copies, h->cap_copies);
    h->copies[h->n_copies++] = c;
}

static int by_address(const void *x, const void *y)
{
    const struct wl_host_copies *a = *(const struct wl_host_copies *const *)x;
    const struct wl_host_copies *b = *(const struct wl_host_copies *const *)y;
    const char *at = a->master->at, *other = b->master->at;
    return (at > other) - (at < other);
}

const struct wl_host_copies *wl_host_copies_after(struct wl_host *h, const float *w)
{
    size_t low = 0, high = h->n_copies;
    while (low < high) {
        const size_t middle = (low + high) / 2;
        const struct wl_buf *b = h->copies[middle]->master;
        if ((const char *)b->at + b->bytes <= (const char *)w)
            low = middle + 1;
        else
            high = middle;
    }
    return low < h->n_copies ? h->copies[low] : NULL;
}

int64_t wl_host_tile_columns(const struct wl_host_copies *c)
{
    enum { MOST = 1024 };
    const int64_t cuts = (c->columns + MOST - 1) / MOST;
    return (c->columns / WL_HOST_TILE + cuts - 1) / cuts * WL_HOST_TILE;
}

static void write_all(const struct wl_host_copies *c)
{
    const int64_t n = wl_host_tile_columns(c), cuts = (c->columns + n - 1) / n;
#pragma omp parallel for schedule(static)
    for (int64_t t = 0; t < c->rows / WL_HOST_TILE * cuts; t++) {
        const int64_t j = t % cuts * n;
        c->write(c, t / cuts * WL_HOST_TILE, j, c->columns - j < n ? c->columns - j : n);
    }
}

void wl_host_write_copies(struct wl_host *h)
{
    if (h->n_copies) qsort(h->copies, h->n_copies, sizeof(struct wl_host_copies *), by_address);
    for (size_t i = 0; i < h->n_copies; i++) write_all(h->copies[i]);
    h->copies_current = true;
}
