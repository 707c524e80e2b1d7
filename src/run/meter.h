/* The energy of a run so far, from the readings as they come: for limits of a run that is under way. The stored energy
 * of a run is derived from all of its readings at its end (derive_energy.c), with an interval and across gaps. */
#ifndef WL_RUN_METER_H
#define WL_RUN_METER_H

#include "mark/mark.h"
#include "power/power.h"

struct wl_run_meter;

/* Of the devices whose energy counts (wl_energy_sources). */
struct wl_run_meter *wl_run_meter_new(const struct wl_sensors *sensors, struct wl_arena *a);

/* Does any device count? */
bool wl_run_meter_has_energy(const struct wl_run_meter *m);

/* Estimated and simulated as soon as one of its devices is. */
enum wl_provenance wl_run_meter_provenance(const struct wl_run_meter *m);

/* The run began at this time; until then readings are of the idle machine. */
void wl_run_meter_begin(struct wl_run_meter *m, int64_t start_ns);

/* A start mark that names a GPU: those that are not named no longer count, as in the stored energy. */
void wl_run_meter_mark(struct wl_run_meter *m, const struct wl_mark *mark);

/* A reading; of each channel in order of time. A counter counts from its last reading before the start on, power
 * between good readings. */
void wl_run_meter_add(struct wl_run_meter *m, const struct wl_sample *s);

/* All readings so far have been added: what was drawn until now. */
void wl_run_meter_update(struct wl_run_meter *m);

/* Energy in J from the start to t_ns, on the line through the last two updates; 0 before the second one. */
double wl_run_meter_at(const struct wl_run_meter *m, int64_t t_ns);

#endif
