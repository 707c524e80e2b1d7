/* What the parts of deriving share: from the facts of a run to its derived rows. */
#ifndef WL_RUN_DERIVE_H
#define WL_RUN_DERIVE_H

#include "campaign/internal.h"

/* The window of an epoch or of the whole run. */
struct wl_run_window {
    double epoch; /* NAN: the run */
    int64_t t0_ns, t1_ns;
};

struct wl_derivation {
    struct wl_store *store;
    int64_t run, max_gap_ns;
    double idle_s;                 /* rest before and after the job; NAN: none */
    struct wl_run_window *windows; /* the run first */
    size_t n_windows;
    struct wl_mark_rows marks;
    struct wl_channel_rows channels;
    struct wl_time_series *series; /* [channel] */
    struct wl_derived *out;
    struct wl_arena *a;
};

/* Of the channel: an enum wl_quantity, -1: unknown. */
static inline int wl_derive_quantity(const struct wl_derivation *d, size_t channel)
{
    return wl_quantity_from(d->channels.v[channel].quantity);
}

/* energies.c: the energies of the windows, of each device by each method, and of phases; returns the label of the
 * devices that count, NULL: none (wl_energy_sources). */
const char *wl_derive_energy(struct wl_derivation *d);

#endif
