/* Shared by the parts of wl_derive, which turn the facts of a run into its derived rows. */
#ifndef WL_RUN_DERIVE_H
#define WL_RUN_DERIVE_H

#include "run/run.h"

/* The window of an epoch or of the whole run. */
struct wl_run_window {
    double epoch; /* NAN: the run */
    int64_t t0_ns, t1_ns;
};

struct wl_derivation {
    struct wl_store *store;
    int64_t run, max_gap_ns;
    double idle_s;                 /* time that the idle machine was measured before and after the job; NAN: none */
    struct wl_run_window *windows; /* the run first */
    size_t n_windows;
    struct wl_mark_rows marks;
    struct wl_channel_rows channels;
    struct wl_device_rows devices;
    const struct wl_readings_source *source; /* NULL: the store */
    struct wl_readings *readings;            /* [channel]; NULL: series that are all in memory */
    struct wl_time_series *series;           /* [channel], the same */
    struct wl_derived *out;
    struct wl_arena *a;
};

/* The channel's enum wl_quantity, -1: unknown. */
static inline int wl_derive_quantity(const struct wl_derivation *d, size_t channel)
{
    return wl_quantity_from(d->channels.v[channel].quantity);
}

/* The channel's readings are not needed for a while (wl_readings_rest). */
static inline void wl_derive_rest(const struct wl_derivation *d, size_t channel)
{
    if (d->readings) wl_readings_rest(&d->readings[channel]);
}

/* ---- derive_marks.c ---- */

/* Epochs, metrics and the settings in `actual` of a run from its marks; of repeated ones the last counts. */
void wl_derive_from_marks(const struct wl_mark_rows *marks, struct wl_derived *out, struct wl_arena *a);

/* A stored mark; false where its word or fields are not known. */
bool wl_derive_parse_mark(const struct wl_mark_row *row, struct wl_mark *m);

/* The counts of a start mark that are not used, and so are missing: "workers=-3: expected a whole number ...". */
struct wl_strs wl_derive_unusable_settings(const struct wl_mark *m, struct wl_arena *a);

/* ---- derive_spans.c ---- */

/* The spans of a run that ended at end_ns, without their energies. */
void wl_derive_spans(const struct wl_mark_rows *marks, int64_t end_ns, struct wl_derived *out, struct wl_arena *a);

/* ---- derive_energy.c ---- */

/* The energies of the windows, of each device by each method, of phases and of spans; returns the label of the devices
 * that count, NULL: none (wl_energy_sources). */
const char *wl_derive_energy(struct wl_derivation *d);

/* ---- derive_gpus.c ---- */

/* Keeps those of n sources whose devices the job's start marks name (gpu=UUID); all where they name none of them, as
 * programs do that know nothing of it. Returns how many are left. */
size_t wl_derive_keep_named(const struct wl_derivation *d, struct wl_energy_source *sources, size_t n);

/* Mean power of a power or energy channel between two instants, W; NAN: not known. */
double wl_derive_power_between(const struct wl_derivation *d, size_t channel, int64_t t0_ns, int64_t t1_ns);

/* ---- derive_load.c ---- */

/* A machine of the run, with its channels; -1: none. */
struct wl_derive_machine {
    const char *host;
    int busy, job, cpus, job_cpus; /* CPU time of the machine and of the job, CPUs online and of the job */
};

/* All machines of the run, [*n] in d->a. */
struct wl_derive_machine *wl_derive_machines(const struct wl_derivation *d, size_t *n);

/* The row of a device; NULL: none. */
const struct wl_device_row *wl_derive_device(const struct wl_derivation *d, int64_t id);

/* The difference of a counter between two instants; NAN: not known, or channel -1. */
double wl_derive_used(const struct wl_derivation *d, int channel, int64_t t0_ns, int64_t t1_ns);

/* The latest good reading up to the run's end; NAN: none. */
double wl_derive_last(const struct wl_derivation *d, int channel);

/* Did others use the CPUs of a machine (NULL: of none that is known) much between two instants outside of the run? What
 * is not known is not much. */
bool wl_derive_was_busy(const struct wl_derivation *d, const struct wl_derive_machine *m, int64_t t0_ns, int64_t t1_ns);

/* What others did on the machine; own_cpu_s: of wattlaw itself, other_run: 1 if another one measured there. NAN: not
 * known. */
void wl_derive_load(struct wl_derivation *d, double own_cpu_s, double other_run);

/* ---- derive_attribution.c ---- */

/* The job's part of the energy of each chosen device over the run, after energies and load. */
void wl_derive_attribution(struct wl_derivation *d);

/* ---- derive_variation.c ---- */

/* One row per quantity in % of the run's channels between two instants; returns how many. */
size_t wl_derive_variation(const struct wl_derivation *d, int64_t t0_ns, int64_t t1_ns, double period_s,
                           struct wl_variation_row **out);

#endif
