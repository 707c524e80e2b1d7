/* Limits of a run: it is stopped when it has drawn so much energy, cost so much or taken so long. docs/adr/147 */
#ifndef WL_RUN_LIMIT_H
#define WL_RUN_LIMIT_H

#include "base/base.h"

struct wl_run_limit {
    const char *text; /* as given: "2kWh" */
    bool of_energy;   /* else of time */
    double value;     /* J or s */
    const char *unit; /* of energy: "J", "kWh" or a currency ... */
    double per_unit;  /* J in one of it */
    bool of_campaign; /* its runs share the limit: the caller forecasts and warns */
    double before;    /* used of it by earlier runs; 0: none */
};

/* The state of a limit. */
struct wl_run_limit_state {
    struct wl_run_limit limit;
    double used;             /* J or s */
    enum wl_provenance from; /* of energy */
    bool reached, warned;    /* warned: that the forecast is above it */
    double forecast, lo, hi; /* of the whole work, J or s; NAN: none. See work_rate.h */
    const char *work;        /* "570 of 1000 steps" done; NULL: not known */
};

struct wl_run_limits;
struct wl_run_watch;

struct wl_run_limits *wl_run_limits_new(const struct wl_run_limit *v, size_t n, struct wl_arena *a);

/* For wl_run_opts: warns once when the forecast is above a limit (95 %), or 4/5 of it are used where there is no
 * forecast, and stops the run, which counts as interrupted, when one is reached. A run without a sensor of energy is
 * refused if a limit needs one (WL_EINVAL). */
const struct wl_run_watch *wl_run_limits_watch(const struct wl_run_limits *l);

/* [*n] at the end of the run, or as of the last poll. */
const struct wl_run_limit_state *wl_run_limits_states(const struct wl_run_limits *l, size_t *n);

/* What is used of a limit, and the forecast with its interval, for people: "1.2 kWh", "3.2 h (3.1 h to 3.3 h)". */
const char *wl_run_limit_used(const struct wl_run_limit_state *s, double used, struct wl_arena *a);
const char *wl_run_limit_forecast(const struct wl_run_limit_state *s, struct wl_arena *a);

#endif
