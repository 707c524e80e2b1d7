/* A measured run: run.c begins and watches it, finish.c ends it. */
#ifndef WL_RUN_ACTIVE_RUN_H
#define WL_RUN_ACTIVE_RUN_H

#include "run/command.h"
#include "run/node_sharing.h"
#include "run/peer_ranks.h"
#include "run/recorder.h"
#include "run/run.h"

struct wl_active_run {
    const struct wl_run_opts *opts;
    struct wl_run_result *out;
    struct wl_arena *a;
    struct wl_run_command command;
    struct wl_recorder recorder;
    struct wl_caps *caps; /* NULL: none are set */
    const struct wl_power_opts *power;
    int64_t cpu0_ns; /* CPU time of this process at the begin */
    struct wl_anchor begin;
    bool store_failure_logged;
    struct wl_peer_ranks peers;
    struct wl_node_sharing sharing;
    bool is_follower; /* another wattlaw measures */
    bool has_parts;   /* parts of it are runs of their own: it is flagged */
};

/* Measures the idle machine; a signal ends it and stays pending. The rings keep the readings. */
void wl_run_measure_idle(const struct wl_active_run *run);

/* A campaign's job is stopped once nothing more can be stored; a measured command continues. */
void wl_run_check_store(struct wl_active_run *run);

/* The command has ended, or could not be started: stops the sampler, restores the caps, stores and derives everything.
 */
int wl_run_finish(struct wl_active_run *run, struct wl_err *e);

#endif
