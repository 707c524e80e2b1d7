/* Carbon and cost for people and programs. */
#ifndef WL_CMD_WATTLAW_FOOTPRINT_H
#define WL_CMD_WATTLAW_FOOTPRINT_H

#include "carbon/carbon.h"

static const double WL_J_PER_KWH = 3.6e6;

/* wl_footprint_complete for what a command line gave: messages name the option. */
int wl_cmd_footprint_complete(struct wl_footprint *f, struct wl_arena *a, struct wl_err *e) WL_MUST_CHECK;

/* What the command line does not give is taken from the experiments of a store's campaigns (0: of all), where they say
 * the same; where they differ, or name a file (carbon_csv), which is not opened, `notes` gets that. Before
 * wl_cmd_footprint_complete. */
int wl_cmd_footprint_of_store(struct wl_footprint *f, struct wl_store *s, int64_t campaign, struct wl_strs *notes,
                              struct wl_arena *a, struct wl_err *e) WL_MUST_CHECK;

/* Of a run of the store at this path, with the carbon intensity of its time; *why: what the file does not cover, or
 * that it could not be found out (NULL: nothing). */
struct wl_footprint wl_cmd_footprint_of_run(const struct wl_footprint *f, const char *store, int64_t run,
                                            const char **why, struct wl_arena *a);

/* "12 g CO2e, 0.01 EUR": of an energy of the devices in J; NULL: neither was asked for. */
const char *wl_cmd_footprint_brief(const struct wl_footprint *f, const struct wl_amount *energy, struct wl_arena *a);

/* Lines on carbon and cost of an energy of the devices in J, their names `width` wide; nothing where neither was asked
 * for. Their intervals are those of the energy and of the carbon intensity. */
void wl_cmd_footprint_print(const struct wl_footprint *f, const struct wl_amount *energy, int width, enum wl_out to,
                            struct wl_arena *a);

/* pue, carbon_g_per_kwh, carbon_kind, carbon_source, carbon_csv, price_per_kwh, currency; and of an energy carbon_g,
 * carbon_g_range, cost. */
void wl_cmd_footprint_json(const struct wl_footprint *f, struct wl_json *object);
void wl_cmd_footprint_energy_json(const struct wl_footprint *f, double kwh, struct wl_json *object);

#endif
