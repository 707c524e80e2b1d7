/* The part of a device's energy that is a job's, where others use the device too. Pure arithmetic; docs/metrics.md has
 * the formulas and what the interval holds. */
#ifndef WL_ENERGY_ATTRIBUTION_H
#define WL_ENERGY_ATTRIBUTION_H

#include "base/base.h"

/* A stretch of the run: the energy of the whole device, and its use by the job and by all, in the same unit (s of CPU
 * time, or utilisation x time). */
struct wl_attribution_slice {
    double time_s, energy_j, job_use, all_use;
};

/* What is assumed, and so belongs into the interval. */
struct wl_attribution_model {
    double spread; /* a unit of the job's use costs between 1/spread and spread times that of others */
    double
        interference; /* beside others, a job costs up to this share more or less than alone, by their share of use */
};
extern const struct wl_attribution_model wl_attribution_cpu, wl_attribution_dram, wl_attribution_gpu;

struct wl_attribution_case {
    const struct wl_attribution_slice *slices;
    size_t n;
    double time_s;               /* of the run, which the slices are scaled to: some may not be known */
    double energy_j, lo_j, hi_j; /* of the device over the run, likewise, with its interval */
    double idle_lo_w, idle_hi_w; /* its idle power is between these; equal where only one was measured */
    bool idle_known;             /* false: these are bounds, and nothing is known between them */
    double reserved;             /* share of the device that the job has reserved: it pays for that share of idle */
    struct wl_attribution_model model;
};

/* Intervals are of 95 %. energy = above + idle. */
struct wl_attribution {
    double energy_j, energy_lo_j, energy_hi_j; /* NAN with bounds: the idle power is not known */
    double above_j, above_lo_j, above_hi_j;    /* above idle, shared by use; NAN likewise */
    double idle_j;                             /* shared by reservation; NAN likewise */
    double use_share;                          /* the job's part of the use of the whole run */
    const char *why;                           /* why nothing is known; NULL: the bounds are */
};

struct wl_attribution wl_attribute(const struct wl_attribution_case *c);

#endif
