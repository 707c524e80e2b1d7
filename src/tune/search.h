/* The search of src/advise/cap over the evidence of windows: replayed from the beginning after each of them, so that a
 * resumed search goes on where the windows in the store end. */
#ifndef WL_TUNE_SEARCH_H
#define WL_TUNE_SEARCH_H

#include "tune/candidates.h"
#include "tune/evidence.h"

struct wl_tune_goal {
    enum wl_advise_cap_objective objective;
    double eta;                              /* of Zeus cost */
    double slowdown;                         /* allowed, .1: 10 %; NAN: any */
    double probability;                      /* with which it is kept */
    int64_t most;                            /* values that are measured, the reference included */
    const struct wl_advise_cap_prior *prior; /* NULL: nothing is known */
};

/* `repeated`: how often the reference has been measured again because the search asked for it. WL_EINVAL, WL_ENOMEM. */
int wl_tune_search(const struct wl_tune_candidates *c, const struct wl_tune_goal *goal,
                   const struct wl_tune_probes *probes, size_t repeated, struct wl_advise_cap **out, struct wl_arena *a,
                   struct wl_err *e) WL_MUST_CHECK;

#endif
