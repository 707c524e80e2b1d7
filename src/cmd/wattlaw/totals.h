/* Totals of a run for the summary of `measure` and the lines of `sweep`. */
#ifndef WL_CMD_WATTLAW_TOTALS_H
#define WL_CMD_WATTLAW_TOTALS_H

#include "campaign/campaign.h"

#include <math.h>

/* True for a row of the whole run, not of an epoch. */
static inline bool wl_totals_is_whole_run(double epoch) { return isnan(epoch); }

/* The channel with this id in the store; NULL: not in this run. */
const struct wl_channel *wl_totals_channel(const struct wl_run_result *r, int64_t id);

/* One entry per scope and method; devices of a scope do not overlap. If the devices of a scope count by different
 * methods, an additional entry "mixed" is the chosen one instead of those of the methods. */
struct wl_scope_total {
    const char *scope, *method;
    struct wl_amount energy, mean, idle;
    bool chosen;
    const char *why; /* why the energy is unknown, from the first device without one */
    size_t devices;
};

/* Fills in `out`, which has room for 2 r->derived.n_energies; returns how many there are. */
size_t wl_totals_by_scope(const struct wl_run_result *r, struct wl_scope_total *out);

/* The energy of the run (epoch NAN) or of an epoch, over the counted devices; value NAN: unknown. */
struct wl_amount wl_totals_energy(const struct wl_run_result *r, double epoch);

/* Why the energy of an epoch (NAN: of the run) is unknown; NULL: it is known, or nothing measures energy. */
const char *wl_totals_why_missing(const struct wl_run_result *r, double epoch);

/* Share of the run in which the clock was throttled, mean over GPUs, %; NAN: not reported. */
double wl_totals_throttled_pct(const struct wl_run_result *r, enum wl_quantity q);

/* The power sensor with the longest update period; NULL: no update period is known. */
const struct wl_channel *wl_totals_slowest_power(const struct wl_run_result *r);

/* In shorter runs opening sensors and the store dominates, and a share means nothing. */
static const double WL_OVERHEAD_MIN_TIME_S = 1;

/* Estimated CPU energy of measuring itself, by its share of the CPUs' busy time; NAN: CPU energy does not count, or the
 * run is too short. */
struct wl_amount wl_totals_overhead(const struct wl_run_result *r);

#endif
