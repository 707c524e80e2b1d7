/* Carbon and cost as text and JSON. */
#ifndef WL_CMD_WATTLAW_FOOTPRINT_H
#define WL_CMD_WATTLAW_FOOTPRINT_H

#include "carbon/carbon.h"

static const double WL_J_PER_KWH = 3.6e6;

/* wl_footprint_complete for command-line options: messages name the option. */
int wl_cmd_footprint_complete(struct wl_footprint *f, struct wl_arena *a, struct wl_err *e) WL_MUST_CHECK;

/* Fills in what the command line does not give from the experiments of a store's campaigns (0: all), if they agree.
 * Where they differ, or name a file (carbon_csv), which is not opened, `notes` says so. Call before
 * wl_cmd_footprint_complete. */
int wl_cmd_footprint_of_store(struct wl_footprint *f, struct wl_store *s, int64_t campaign, struct wl_strs *notes,
                              struct wl_arena *a, struct wl_err *e) WL_MUST_CHECK;

/* `f` with the carbon intensity during a run of the store at path `store`. *why: why that is not known; NULL: it is. */
struct wl_footprint wl_cmd_footprint_of_run(const struct wl_footprint *f, const char *store, int64_t run,
                                            const char **why, struct wl_arena *a);

/* "12 g CO2e, 0.01 EUR", from an energy of devices in J; NULL: neither was requested. */
const char *wl_cmd_footprint_brief(const struct wl_footprint *f, const struct wl_amount *energy, struct wl_arena *a);

/* Prints lines on carbon and cost of an energy of devices in J, with names `width` characters wide; nothing if neither
 * was requested. The intervals include those of the energy and of the carbon intensity. */
void wl_cmd_footprint_print(const struct wl_footprint *f, const struct wl_amount *energy, int width, enum wl_out to,
                            struct wl_arena *a);

/* Add pue, carbon_g_per_kwh, carbon_kind, carbon_source, carbon_csv, price_per_kwh, currency; and, of an energy,
 * carbon_g, carbon_g_range, cost. */
void wl_cmd_footprint_json(const struct wl_footprint *f, struct wl_json *object);
void wl_cmd_footprint_energy_json(const struct wl_footprint *f, double kwh, struct wl_json *object);

#endif
