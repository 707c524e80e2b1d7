/* Energy at worker counts that were not measured, by the hierarchical model: of an epoch, per worker-hour, to a target.
 */
#ifndef WL_LAW_ENERGY_EXTRAPOLATE_H
#define WL_LAW_ENERGY_EXTRAPOLATE_H

#include "law/energy/parts.h"
#include "law/forecast.h"
#include "law/target.h"

/* Medians with 95 % intervals of one run of a new configuration; NAN where it is refused. */
struct wl_energy_at {
    struct wl_law_forecast epoch;        /* energy_j of an epoch */
    struct wl_estimate kwh_per_worker_h; /* mean power of a worker */
    struct wl_estimate target_j;         /* from the start of a run to the target */
};

struct wl_energy_extrapolation {
    const struct wl_law_group *group;
    struct wl_energy_at *at; /* [n], one per worker count asked for */
    size_t n;
    const char *refused, *rate_refused,
        *target_refused; /* why all, the rates, or the energies to the target are; or NULL */
};

/* group: fitted with the response energy. target: the same group's, or NULL. Energy to a target is extrapolated only
 * where every run reached it: the runs that did would give too little. WL_EINVAL: the priors are not proper. */
int wl_energy_extrapolate(const struct wl_law_group *group, const struct wl_target_group *target, const double *workers,
                          size_t n, const struct wl_hier_prior *energy, const struct wl_hier_prior *power,
                          struct wl_energy_extrapolation *out, struct wl_arena *a, struct wl_err *e) WL_MUST_CHECK;

#endif
