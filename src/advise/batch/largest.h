/* Search for the largest batch that fits in memory: doubling, then bisection. Assumes that a batch fits if a larger one
 * does. Pure: the caller tries a batch (on all ranks at once) and says whether it fitted. */
#ifndef WL_ADVISE_BATCH_LARGEST_H
#define WL_ADVISE_BATCH_LARGEST_H

#include "base/base.h"

struct wl_advise_largest {
    uint64_t step;  /* batches are its multiples, >= 1 */
    uint64_t first; /* first one tried: a multiple of step */
    uint64_t most;  /* none larger is tried; 0: no limit but the numbers' */
    uint64_t fits;  /* largest known to fit; 0: none is */
    uint64_t fails; /* smallest known not to; 0: none is */
};

/* first is rounded down to a multiple of step (at least step), most likewise. WL_EINVAL: step 0, or most below step. */
int wl_advise_largest_init(struct wl_advise_largest *s, uint64_t first, uint64_t step, uint64_t most,
                           struct wl_err *e) WL_MUST_CHECK;

/* The batch to try next; 0: done, the answer is s->fits (0: not even the smallest fits). */
uint64_t wl_advise_largest_next(const struct wl_advise_largest *s);

/* WL_EINVAL: contradicts what is known (a batch fits that is not below one that does not), which names both. */
int wl_advise_largest_add(struct wl_advise_largest *s, uint64_t batch, bool fits, struct wl_err *e) WL_MUST_CHECK;

#endif
