/* Which samples a rank takes in which step, and the order of an epoch. */
#ifndef WL_DATA_LOADER_PARTITION_H
#define WL_DATA_LOADER_PARTITION_H

#include "base/base.h"

struct wl_partition {
    int64_t samples, batch, ranks, rank;
    bool drop_last;
};

int64_t wl_partition_steps(const struct wl_partition *s);

/* The positions [*from, *from + n) of the epoch's order that this rank takes in a step; returns n. */
int64_t wl_partition_range(const struct wl_partition *s, int64_t step, int64_t *from);

/* Fills order[0..n) with the permutation of an epoch. */
void wl_partition_shuffle(uint32_t *order, int64_t n, uint64_t seed, int64_t epoch);

#endif
