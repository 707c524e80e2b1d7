/* Energy by parts: E(N) = N P(N) t(N), P the mean power of a worker. Each part has a hierarchical model of its own;
 * they are joined by the correlation of their residuals. An explanation: the interval to quote is that of ln(E/N)
 * itself (law/forecast.h, docs/adr/114). */
#ifndef WL_LAW_ENERGY_PARTS_H
#define WL_LAW_ENERGY_PARTS_H

#include "law/fit/fit.h"
#include "law/hier/hier.h"

struct wl_energy_parts {
    struct wl_hier_fit time, power; /* of ln(time per work) and of ln(power of a worker) */
    double correlation;             /* of their residuals, towards 0 by df / (df + 4) */
    double growth;                  /* exponent of N that the unit of work leaves out of the time: 0 or 1 */
    const char *reason;             /* why there is no explanation, or NULL */
};

/* One run; runs of one configuration are those with the same worker count. */
struct wl_energy_parts_run {
    double workers, ln_time_s, ln_power_w; /* power of a worker */
};

/* Runs in any order. WL_EINVAL: as wl_hier_reduce and wl_hier_fit. */
int wl_energy_parts_fit(const struct wl_energy_parts_run *runs, size_t n, const struct wl_hier_prior *time,
                        const struct wl_hier_prior *power, struct wl_energy_parts *out, struct wl_arena *a,
                        struct wl_err *e) WL_MUST_CHECK;

/* The runs of a group that have both a time and an energy, each run one observation. Fewer than two worker counts have
 * them: out->reason. */
int wl_energy_parts_of_group(const struct wl_law_group *g, const struct wl_hier_prior *time,
                             const struct wl_hier_prior *power, struct wl_energy_parts *out, struct wl_arena *a,
                             struct wl_err *e) WL_MUST_CHECK;

/* ln of the energy per work. */
struct wl_hier_mixture wl_energy_parts_energy(const struct wl_energy_parts *p, double workers, enum wl_hier_what what,
                                              struct wl_arena *a);

/* One epoch of a new run: medians with 95 % intervals. */
struct wl_energy_parts_forecast {
    struct wl_estimate time_s, power_w, energy_j; /* power_w: of a worker; energy_j: their product with N */
};
/* At n worker counts: [n]. */
struct wl_energy_parts_forecast *wl_energy_parts_forecasts(const struct wl_energy_parts *p, const double *workers,
                                                           size_t n, struct wl_arena *a);

#endif
