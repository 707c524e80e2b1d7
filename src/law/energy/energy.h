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
    size_t config; /* 0..: runs of the same settings, worker count and work share their allocation, network and
                      placement */
    double worker_h, kwh, rate;                        /* rate: kWh per worker-hour */
    double kwh_lo, kwh_hi;                             /* bounds of the measured energy; NAN where not recorded */
    double samples_per_worker_h, updates_per_worker_h; /* NAN where not recorded */
    double identity;         /* energy over power_w x time, 1 where they agree; NAN without power_w */
    double carbon_g_per_kwh; /* from the column of that name, first row of the run; NAN: none */
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
    size_t n, n_configs;
    double kwh, worker_h;          /* sums over runs */
    double kwh_lo, kwh_hi;         /* sums of the bounds; NAN if a run has none */
    double carbon_g_per_kwh;       /* energy-weighted mean over runs; NAN if a run has none */
    double rate, rate_cv;          /* mean of the rates, and sd / mean */
    double rate_cv_lo, rate_cv_hi; /* BCa interval over runs, over configurations where they have several runs; NAN
                                      below five */
    double rate_min, rate_max;
    double rate_of_sums;                   /* sum kWh / sum worker-hours */
    struct wl_energy_law_term origin;      /* kWh = k worker-hours */
    double origin_r2;                      /* about 0: near 1 whatever the data */
    struct wl_energy_law_term base, slope; /* kWh = base + slope worker-hours */
    double r2, sigma, df;                  /* about the mean */
    const char *basis; /* of these lines: "runs", or "configurations" where their intervals are wider */
    struct wl_energy_law_term exponent; /* ln kWh = c + exponent ln worker-hours; p against 1 */
    const char *reason;                 /* why there are no fits, or NULL */
    struct wl_energy_law_term by_samples,
        by_updates; /* standardised coefficients of the rate on both per worker-hour */
    double drivers_r2, vif;
    const char *drivers_reason; /* why there are none, or NULL */
    double identity_worst;      /* energy over power x time furthest from 1; NAN: not checked */
    struct wl_strs notes;
};

struct wl_energy_law_result {
    const struct wl_obs_work *work; /* of the observations */
    struct wl_energy_law_group *groups;
    size_t n;
    double f, df1, df2, p; /* F test of one slope for all groups, one intercept per group, on normalised work */
    const char *reason;    /* why that is not tested, or NULL */
};

/* Uses measured values alone: a row without a time or an energy is excluded and counted. Source: Huber et al. 2025 (kWh
 * on GPU-hours, drivers). WL_ENOENT: a column of `by` is missing. */
int wl_energy_law_fit(const struct wl_observations *obs, const struct wl_energy_law_options *options,
                      struct wl_energy_law_result *out, struct wl_arena *a, struct wl_err *e) WL_MUST_CHECK;
/* per_run[] is made while it is printed, by wl_json_print_streams: r has to live until then. */
void wl_energy_law_json(const struct wl_energy_law_result *r, struct wl_json *object, struct wl_json_streams *streams);

#endif
