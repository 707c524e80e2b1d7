/* The parts of `wattlaw show`: tables of runs (show.c), one run as text (show_run.c, show_devices.c) and JSON
 * (show_json.c). */
#ifndef WL_CMD_WATTLAW_SHOW_SHOW_H
#define WL_CMD_WATTLAW_SHOW_SHOW_H

#include "cmd/wattlaw/rules.h"
#include "cmd/wattlaw/store.h"

/* All that a store knows of one run. */
struct wl_show_details {
    const struct wl_run_row *run;
    struct wl_epoch_rows epochs;
    struct wl_energy_rows energies;
    struct wl_phase_rows phases;
    struct wl_metric_rows metrics;
    struct wl_metric_def_rows metric_defs;
    struct wl_stat_rows stats;
    struct wl_device_rows devices;
    struct wl_channel_rows channels;
    struct wl_log_rows log;
    struct wl_node_rows nodes;
    struct wl_cap_rows caps;
    const struct wl_rule_checks *rules; /* that its campaign asks for; NULL: none */
};

/* WL_ENOENT when there is no such run. */
int wl_show_read(struct wl_store *s, int64_t run, struct wl_show_details *out, struct wl_arena *a,
                 struct wl_err *e) WL_MUST_CHECK;

/* By id, NULL where there is none. */
const struct wl_device_row *wl_show_device(const struct wl_show_details *d, int64_t id);
const struct wl_channel_row *wl_show_channel(const struct wl_show_details *d, int64_t id);

/* Why the energy of an epoch (NAN: of the whole run) is not known; NULL: it is, or nothing measures energy. */
const char *wl_show_energy_why(const struct wl_show_details *d, double epoch);

/* Energy of an epoch: the sum over the chosen devices, missing as soon as one of them is. */
struct wl_amount wl_show_epoch_energy(const struct wl_show_details *d, int64_t epoch);

/* Of the readings of a device that a cap names (its uuid, maybe with a part behind a slash). */
enum wl_provenance wl_show_provenance(const struct wl_show_details *d, const char *device);

void wl_show_text(const struct wl_show_details *d, struct wl_arena *a);

/* Energy and channels over the whole run, a line a device; of more than 16 devices, a line a product. */
void wl_show_energies(const struct wl_show_details *d, struct wl_arena *a);
void wl_show_phases(const struct wl_show_details *d, struct wl_arena *a); /* devices added up */
void wl_show_channels(const struct wl_show_details *d, struct wl_arena *a);

/* Of a run on several nodes, their clocks (show_fleet.c); a line a cap: asked, found, enforced, what the device did. */
void wl_show_nodes(const struct wl_show_details *d, struct wl_arena *a);
void wl_show_caps(const struct wl_show_details *d, struct wl_arena *a);
void wl_show_nodes_json(struct wl_json *object, const struct wl_show_details *d);

/* A run as members of an object: settings, status, times, totals, sampling; and all the rest of it. */
void wl_show_run_json(struct wl_json *object, const struct wl_run_row *run, struct wl_arena *a);
void wl_show_details_json(struct wl_json *object, const struct wl_show_details *d, struct wl_arena *a);

#endif
