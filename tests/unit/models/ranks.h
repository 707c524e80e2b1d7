/* Trains on ranks in processes of their own and brings home what each of them found. */
#ifndef WL_TESTS_MODELS_RANKS_H
#define WL_TESTS_MODELS_RANKS_H

#include "nn/comm/comm.h"

/* How a rank ended: the first member of what it found. */
struct outcome {
    int rc;
    char msg[256];
};

/* What a rank does; `found` is zero at first, the arena is the rank's own. */
typedef int rank_fn(const void *task, struct wl_comm *c, void *found, struct wl_arena *a, struct wl_err *e);

/* Calls fn on each of n ranks. What they found, `bytes` a rank in their order; give it back with free_found. The test
 * fails unless all of them ended by themselves. */
void *run_ranks(int n, rank_fn *fn, const void *task, size_t bytes);

void free_found(void *found, int n, size_t bytes);

#endif
