/* How the band of each law has narrowed with the runs that were done: kept in memory, so that a run that ends costs one
 * more width and not all of them again. One thread at a time. */
#ifndef WL_SERVE_NARROWING_H
#define WL_SERVE_NARROWING_H

#include "law/law.h"
#include "serve/snapshot.h"

#include <stdatomic.h>

struct wl_narrowing;
struct wl_narrowing *wl_narrowing_new(struct wl_arena *a);

/* A law as it is now: `band` is its 95 % interval at `workers`, the largest measured number. */
struct wl_narrowing_law {
    const char *name; /* unique among all laws */
    const struct wl_law_group *group;
    enum wl_law_response response;
    double workers;
    struct wl_estimate band;
    const struct wl_snapshot *rows; /* of its store: when each run ended */
};

/* Adds the member "band". The widths with the first runs are computed once, with what is left of the time for that. */
int wl_narrowing_add(struct wl_narrowing *all, const struct wl_narrowing_law *law, struct wl_json *to,
                     struct wl_err *e) WL_MUST_CHECK;

/* Begins and ends a pass over all laws: those that it does not have are forgotten. *ending: the server stops. */
void wl_narrowing_begin(struct wl_narrowing *all, const atomic_bool *ending);
void wl_narrowing_end(struct wl_narrowing *all);

#endif
