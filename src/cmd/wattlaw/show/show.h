/* The parts of `wattlaw show`: tables of runs (show.c), one run as text (run.c, devices.c, nodes.c) and JSON
 * (json.c). */
#ifndef WL_CMD_WATTLAW_SHOW_SHOW_H
#define WL_CMD_WATTLAW_SHOW_SHOW_H

#include "cmd/wattlaw/rules.h"
#include "cmd/wattlaw/store.h"

/* Everything in a store about one run. */
struct wl_show_details {
    const struct wl_run_row *run;
    struct wl_epoch_rows epochs;
    struct wl_span_rows spans;
    struct wl_energy_rows energies;
    struct wl_attribution_rows attributions;
    const char *attribute; /* the energy that comes first: job, machine */
    struct wl_phase_rows phases;
    struct wl_metric_rows metrics;
    struct wl_metric_def_rows metric_defs;
    struct wl_stat_rows stats;
    struct wl_device_rows devices;
    struct wl_channel_rows channels;
    struct wl_log_rows log;
    struct wl_node_rows nodes;
    struct wl_cap_rows caps;
    struct wl_placement_rows placement; /* none, or one */
    bool all;                           /* every table with every column, on a terminal too */
    const struct wl_rule_checks *rules; /* checks of its campaign's `rules`; NULL: none */
};

/* WL_ENOENT: no such run. */
int wl_show_read(struct wl_store *s, int64_t run, struct wl_show_details *out, struct wl_arena *a,
                 struct wl_err *e) WL_MUST_CHECK;

/* By id; NULL: not found. */
const struct wl_device_row *wl_show_device(const struct wl_show_details *d, int64_t id);
const struct wl_channel_row *wl_show_channel(const struct wl_show_details *d, int64_t id);

/* Why the energy of an epoch (NAN: of the whole run) is unknown; NULL: it is known, or nothing measures energy. */
const char *wl_show_energy_why(const struct wl_show_details *d, double epoch);

/* Energy of an epoch: the sum over the chosen devices; NAN if one of them is missing. */
struct wl_amount wl_show_epoch_energy(const struct wl_show_details *d, int64_t epoch);

/* Provenance of the readings of a device that a cap names (its UUID, possibly with a part after a slash). */
enum wl_provenance wl_show_provenance(const struct wl_show_details *d, const char *device);

void wl_show_text(const struct wl_show_details *d, struct wl_arena *a);

/* Energy and channels over the whole run, one row per device; with more than 16 devices, one row per product. */
void wl_show_energies(const struct wl_show_details *d, struct wl_arena *a);
void wl_show_phases(const struct wl_show_details *d, struct wl_arena *a); /* summed over devices */
void wl_show_channels(const struct wl_show_details *d, struct wl_arena *a);

/* The clocks of the nodes of a multi-node run; one row per cap: requested, found, enforced, achieved. */
void wl_show_nodes(const struct wl_show_details *d, struct wl_arena *a);
void wl_show_caps(const struct wl_show_details *d, struct wl_arena *a);
void wl_show_nodes_json(struct wl_json *object, const struct wl_show_details *d);

/* The member "placement" of a run of a batch system. */
void wl_show_placement_json(struct wl_json *object, const struct wl_show_details *d, struct wl_arena *a);

/* Prints the jobs of a training and their sums (training.c); WL_ENOENT with "did you mean". Returns the exit status. */
int wl_show_training(struct wl_store *s, const char *name, bool json, struct wl_arena *a,
                     struct wl_err *e) WL_MUST_CHECK;

/* Add a run to an object: settings, status, times, totals, sampling; and all its details. */
void wl_show_run_json(struct wl_json *object, const struct wl_run_row *run, struct wl_arena *a);
void wl_show_details_json(struct wl_json *object, const struct wl_show_details *d, struct wl_arena *a);

#endif
