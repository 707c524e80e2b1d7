/* Energy of runs against their worker-hours. */
#ifndef WL_LAW_ENERGY_ENERGY_H
#define WL_LAW_ENERGY_ENERGY_H

#include "law/fit/fit.h"

struct wl_energy_law_options {
    struct wl_strs by;   /* columns that separate groups; empty: workload and hardware where they vary */
    int64_t drop_epochs; /* 0: warm-up costs energy too */
};

/* Energy of a run: kwh and worker-hours over the epochs that have both. */
struct wl_energy_law_run {
    const char *label;
    double workers, local_batch;
    double worker_h, kwh, rate;                        /* rate: kWh a worker-hour */
    double kwh_lo, kwh_hi;                             /* how far its measurement may be off; NAN where not told */
    double samples_per_worker_h, updates_per_worker_h; /* NAN where not recorded */
    double identity;         /* energy over power_w x time, 1 where they agree; NAN without power_w */
    double carbon_g_per_kwh; /* the column of that name, of the run's first row; NAN: none */
};

/* A coefficient with its 95 % interval, and p against 0. */
struct wl_energy_law_term {
    double value, se, lo, hi, p;
};

struct wl_energy_law_group {
    struct wl_law_key *key;
    size_t n_key;
    const char *title;
    bool estimated, simulated;
    struct wl_law_counts counts;
    struct wl_energy_law_run *runs; /* in order of workers */
    size_t n;
    double kwh, worker_h;          /* sums over runs */
    double kwh_lo, kwh_hi;         /* sums of the bounds; NAN as soon as one run has none */
    double carbon_g_per_kwh;       /* mean over the energy of the runs; NAN as soon as one has none */
    double rate, rate_cv;          /* mean of the rates, and sd / mean */
    double rate_cv_lo, rate_cv_hi; /* BCa interval over runs; NAN below five runs */
    double rate_min, rate_max;
    double rate_of_sums;                   /* sum kWh / sum worker-hours */
    struct wl_energy_law_term origin;      /* kWh = k worker-hours */
    double origin_r2;                      /* about 0: near 1 whatever the data */
    struct wl_energy_law_term base, slope; /* kWh = base + slope worker-hours */
    double r2, sigma, df;                  /* about the mean */
    struct wl_energy_law_term exponent;    /* ln kWh = c + exponent ln worker-hours; p against 1 */
    const char *why;                       /* why there are no fits, or NULL */
    struct wl_energy_law_term by_samples,
        by_updates; /* standardised coefficients of the rate on both per worker-hour */
    double drivers_r2, vif;
    const char *drivers_why; /* why there are none, or NULL */
    double identity_worst;   /* energy over power x time furthest from 1; NAN: not checked */
    struct wl_strs notes;
};

struct wl_energy_law_result {
    struct wl_energy_law_group *groups;
    size_t n;
    double f, df1, df2, p; /* one slope for all groups, beside an intercept each */
    const char *why;       /* why that is not tested, or NULL */
};

/* Runs that were measured, and nothing filled in: a row without a time or an energy is left out and counted. Source:
 * Huber et al. 2025 (kWh on GPU-hours, drivers). WL_ENOENT: a column of `by` that is not there. */
int wl_energy_law_fit(const struct wl_observations *obs, const struct wl_energy_law_options *options,
                      struct wl_energy_law_result *out, struct wl_arena *a, struct wl_err *e) WL_MUST_CHECK;
void wl_energy_law_json(const struct wl_energy_law_result *r, struct wl_json *object);

#endif
