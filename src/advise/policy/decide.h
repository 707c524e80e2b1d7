/* One cap (or clock) for a partition, from measured jobs: share of jobs within a slowdown, energy and power. */
#ifndef WL_ADVISE_POLICY_DECIDE_H
#define WL_ADVISE_POLICY_DECIDE_H

#include "advise/cap/policy/policy.h"
#include "advise/policy/jobs.h"

struct wl_policy_options {
    double slowdown; /* 0.1: at most 10 % longer than without the cap */
    double share;    /* of jobs within it, asked on average, 0 .. 1 */
    size_t further;  /* jobs that the intervals of the share are for */
    double level;    /* of these intervals */
};

/* A job under a candidate, by the posterior of its own runs. */
struct wl_policy_cell {
    double within;           /* P(time <= (1 + slowdown) that of the reference) */
    double slowdown, lo, hi; /* time over that of the reference, a ratio; 90 % interval */
    double energy;           /* over that of the reference */
    double power_w;          /* mean power of a worker */
    bool measured;           /* the job has runs there */
};

/* The partition under a candidate; means over jobs, each of which counts the same. */
struct wl_policy_cap {
    struct wl_advise_policy_share share;     /* of further jobs of the same mix */
    struct wl_advise_policy_share of_others; /* of jobs of other workloads than these */
    bool allowed;                            /* mean share >= the asked one, or the reference */
    double energy, slowdown;                 /* ratios to the reference */
    double power_w, power_ref_w;             /* mean of a device */
    /* Highest power of a device over jobs that have it here and at the reference; NAN: unknown. */
    double peak_w, peak_ref_w;
    bool peak_is_cap; /* no peak was measured: the limit itself */
};

struct wl_policy_result {
    const struct wl_policy_jobs *jobs;
    struct wl_policy_cell *cell; /* [jobs][values] */
    struct wl_policy_cap *cap;   /* [values] */
    size_t reference, choice;
    size_t workloads;
    double reachable; /* largest mean share that so many jobs could show */
};

/* Errors as those of the cap search and of wl_advise_policy. */
int wl_policy_decide(const struct wl_policy_jobs *jobs, const struct wl_policy_options *o, struct wl_policy_result *out,
                     struct wl_arena *a, struct wl_err *e) WL_MUST_CHECK;

#endif
