/* Maps of the tables that are both written and read. */
#ifndef WL_STORE_MAPS_H
#define WL_STORE_MAPS_H

#include "store/rows.h"

extern const struct wl_column_map wl_mark_map[], wl_epoch_map[], wl_span_map[], wl_energy_map[], wl_phase_map[],
    wl_metric_map[], wl_metric_def_map[], wl_stat_map[], wl_load_map[], wl_attribution_map[];

/* The first column is the id or run that a writer leaves out: wl_device_map + 1. */
extern const struct wl_column_map wl_device_map[], wl_channel_map[], wl_variation_map[];

#endif
