/* Calibration: what measurements say about a plan's uncertain constants.
 *
 * Row i is the mean ln t (and, where energy was measured, ln P of a worker) of the runs of one configuration:
 *
 *   ln t_i = ln t(z) + s_t e_i,   ln P_i = ln P(z) + s_p e'_i,   z ~ N(0, I),   s^2 ~ scaled inverse chi^2(3, noise^2)
 *
 * s is integrated out: log p(z) = -|z|^2/2 - (n+3)/2 ln(SSE + 3 noise^2) for each response. Its mode is found by
 * Levenberg-Marquardt; what remains unknown is drawn by elliptical slice sampling (Murray et al. 2010,
 * arXiv:1001.0175) around a normal at the mode (Nishihara et al. 2014, arXiv:1210.7477). Without rows it is the prior.
 * The same seed gives the same draws.
 */
#ifndef WL_PLANNER_CALIBRATE_H
#define WL_PLANNER_CALIBRATE_H

#include "planner/model.h"
#include "planner/parameters.h"
#include "stats/stats.h"

/* One measured configuration. */
struct wl_planner_row {
    size_t workload; /* index in the plan */
    struct wl_planner_setting at;
    double ln_time, ln_power; /* s per epoch; W per worker, NAN: not measured */
    size_t runs;
};
struct wl_planner_rows {
    struct wl_planner_row *v;
    size_t n, cap;
    bool simulated;       /* some of the runs are not measurements but a simulation's */
    struct wl_strs notes; /* what was left out, and why */
};

/* The rows of the plan's workloads: per run the mean ln t of its epochs without the first (unless it is the only one),
 * per configuration that of its runs; ln P of the runs whose energies are all above 0. WL_EINVAL: none of the workloads
 * is there. */
int wl_planner_rows_of(const struct wl_planner_plan *p, const struct wl_observations *obs, struct wl_planner_rows *out,
                       struct wl_arena *a, struct wl_err *e) WL_MUST_CHECK;

struct wl_planner_posterior {
    const struct wl_planner_plan *plan;
    size_t machine;
    struct wl_planner_parameters parameters;
    size_t rows;     /* 0: prior only */
    double *mode;    /* [parameters.n] deviates */
    double noise[2]; /* of time and power at the mode, sd of ln; NAN: no such rows */
    double *z;       /* [draws, parameters.n] */
    double *s;       /* [draws, 2] */
    size_t draws;
    double effective; /* smallest effective number of draws of a parameter, by its autocorrelation */
};

/* rows NULL: the prior. WL_EINVAL: a row's time cannot be computed, with the number that is missing; more constants and
 * draws than memory is meant for. */
int wl_planner_calibrate(const struct wl_planner_plan *p, size_t machine, const struct wl_planner_rows *rows,
                         struct wl_planner_posterior *out, struct wl_arena *a, struct wl_err *e) WL_MUST_CHECK;

/* The 95 % interval of a parameter in its unit, and its value at the mode; sd of its deviate (1: nothing was learnt).
 */
struct wl_planner_marginal {
    struct wl_estimate value;
    double sd;
};
struct wl_planner_marginal wl_planner_marginal_of(const struct wl_planner_posterior *q, size_t parameter,
                                                  struct wl_arena *a);

/* A point at the mode, and 95 % bands of a new configuration there. */
struct wl_planner_forecast {
    size_t workload;
    struct wl_planner_setting at;
    struct wl_planner_point point;
    struct wl_estimate time_s, energy_j, power_w;
};

/* Fills point and bands of n forecasts, of which workload and at are set. */
void wl_planner_forecast(const struct wl_planner_posterior *q, struct wl_planner_forecast *f, size_t n,
                         struct wl_arena *a);

/* The same, with draws of at most `bytes` in memory (at least those of one point). Whatever it is the numbers are the
 * same: a draw of a point depends on the seed alone. */
void wl_planner_forecast_within(const struct wl_planner_posterior *q, struct wl_planner_forecast *f, size_t n,
                                size_t bytes, struct wl_arena *a);

/* The model's accuracy: fitted to the configurations with at most half of the largest worker count, and asked for the
 * others. */
struct wl_planner_accuracy {
    double largest;                /* worker count that was trained with, at most */
    size_t trained, n;             /* configurations: used, and asked for */
    struct wl_planner_forecast *f; /* [n] */
    double *measured_s;            /* [n] */
    double median_error;           /* of |t / measured - 1| */
    size_t inside;                 /* measured times inside the band */
    const char *why;               /* not possible; NULL: it is */
};
int wl_planner_leave_largest_out(const struct wl_planner_plan *p, size_t machine, const struct wl_planner_rows *rows,
                                 struct wl_planner_accuracy *out, struct wl_arena *a, struct wl_err *e) WL_MUST_CHECK;

#endif
