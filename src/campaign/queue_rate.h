/* How fast the queue of a batch system ends a campaign's runs, and so how long the others will take. */
#ifndef WL_CAMPAIGN_QUEUE_RATE_H
#define WL_CAMPAIGN_QUEUE_RATE_H

#include "base/base.h"

/* A job of the campaign. Wall-clock times. */
struct wl_queue_stay {
    int64_t from_ns, to_ns; /* submitted; ended, or now while it waits or runs */
    bool closed_run;        /* its run was done, or failed, at to_ns: no other job of it follows */
};

/* From fewer ends no rate is derived, and later than the last of so many it is not looked back. */
enum { WL_QUEUE_RATE_LEAST = 5, WL_QUEUE_RATE_MOST = 50 };

struct wl_queue_rate {
    size_t ended;              /* runs that it is derived from, since the queue was last empty */
    double since_s;            /* in this time until now */
    double left_s, lo_s, hi_s; /* for the runs that are left, and the 95 % interval; NAN: unknown */
};

/* The rate of the last ends, for `left` runs. Ends are taken as a Poisson process: n of them give the rate to a factor
 * of exp(1.96 / sqrt(n)). A queue in which nothing ends gets slower from look to look; in one that is empty now, and
 * before it was empty last, no end counts. Sorts v. */
struct wl_queue_rate wl_queue_rate_of(struct wl_queue_stay *v, size_t n, size_t left, int64_t now_ns);

#endif
