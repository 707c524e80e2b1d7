/* What a run has measured, summed up for its summary. */
#ifndef WL_CMD_WATTLAW_TOTALS_H
#define WL_CMD_WATTLAW_TOTALS_H

#include "campaign/campaign.h"

#include <math.h>

/* Is a row of the whole run, not of an epoch? */
static inline bool wl_totals_is_whole_run(double epoch) { return isnan(epoch); }

/* The channel of an id of the store; NULL: none of this run. */
const struct wl_channel *wl_totals_channel(const struct wl_run_result *r, int64_t id);

/* One entry a scope and method: devices of a scope do not overlap. Where the devices of a scope count by different
 * methods, they have an entry of their own, "mixed", and those of the methods do not count. */
struct wl_scope_total {
    const char *scope, *method;
    struct wl_amount energy, mean, idle;
    bool chosen;
    const char *why; /* why the energy is not known: of the first device without one */
    size_t devices;
};

/* Fills in `out`, which has room for 2 r->derived.n_energies; returns how many there are. */
size_t wl_totals_by_scope(const struct wl_run_result *r, struct wl_scope_total *out);

/* The energy of the run (epoch NAN) or of an epoch over the devices that count; its value is NAN where it is not known.
 */
struct wl_amount wl_totals_energy(const struct wl_run_result *r, double epoch);

/* Why that of an epoch (NAN: of the run) is not known; NULL: it is, or nothing measures energy. */
const char *wl_totals_why_missing(const struct wl_run_result *r, double epoch);

/* Mean over GPUs of the share of the run in which something held the clock down, %; NAN: not told. */
double wl_totals_throttled_pct(const struct wl_run_result *r, enum wl_quantity q);

/* The slowest of the power sensors; NULL: of none it is known how often it moves. */
const struct wl_channel *wl_totals_slowest_power(const struct wl_run_result *r);

/* Of shorter runs most of the cost is opening sensors and the store, which is no share of anything. */
static const double WL_OVERHEAD_MIN_TIME_S = 1;

/* What measuring took of the CPUs' energy, by its share of their busy time: an estimate; NAN: theirs did not count, or
 * the run is too short. */
struct wl_amount wl_totals_overhead(const struct wl_run_result *r);

#endif
