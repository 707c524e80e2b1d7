/* What a run has measured, summed up for its summary. */
#ifndef WL_CMD_MEASURED_H
#define WL_CMD_MEASURED_H

#include "campaign/campaign.h"

#include <math.h>

/* Is a row of the whole run, not of an epoch? */
static inline bool wl_measured_whole(double epoch) { return isnan(epoch); }

/* The channel of an id of the store; NULL: none of this run. */
const struct wl_channel *wl_measured_channel(const struct wl_run_result *r, int64_t id);

/* One entry a scope and method: devices of a scope do not overlap. */
struct wl_scope_sum {
    const char *scope, *method;
    double energy_j, lo_j, hi_j, mean_w, idle_j;
    bool estimated, simulated, chosen;
};

/* Fills in `out`, which has room for r->derived.n_energies; returns how many there are. */
size_t wl_measured_sums(const struct wl_run_result *r, struct wl_scope_sum *out);

/* " (simulated)", " (estimated)", both or nothing. */
const char *wl_measured_mark(bool is_estimated, bool is_simulated);

/* The energy of an epoch over the chosen devices, J; NAN where it is not known. */
double wl_measured_epoch_j(const struct wl_run_result *r, int64_t epoch);

/* Mean over GPUs of the share of the run in which something held the clock down, %; NAN: not told. */
double wl_measured_held_pct(const struct wl_run_result *r, enum wl_quantity q);

/* The slowest of the power sensors; NULL: of none it is known how often it moves. */
const struct wl_channel *wl_measured_slowest_power(const struct wl_run_result *r);

/* Of shorter runs most of the cost is opening sensors and the store, which is no share of anything. */
static const double WL_MEASURED_SHARE_FROM_S = 1;

/* What measuring took of the CPUs' energy, by its share of their busy time: an estimate, J; NAN: theirs did not count,
 * or the run is too short. */
double wl_measured_own_j(const struct wl_run_result *r);

/* Of the run, over the devices that count, J, and its mark; NAN: it is not known. */
double wl_measured_j(const struct wl_run_result *r, const char **mark);

static const double WL_J_PER_KWH = 3.6e6;

#endif
