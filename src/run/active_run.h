/* A measured run: run.c begins and watches it, finish.c ends it. */
#ifndef WL_RUN_ACTIVE_RUN_H
#define WL_RUN_ACTIVE_RUN_H

#include "run/command.h"
#include "run/node_sharing.h"
#include "run/peer_ranks.h"
#include "run/recorder.h"
#include "run/run.h"

/* A run while it goes on. */
struct wl_active_run {
    const struct wl_run_opts *how;
    struct wl_run_result *out;
    struct wl_arena *a;
    struct wl_run_command task;
    struct wl_recorder record;
    struct wl_caps *caps; /* NULL: none are set */
    const struct wl_power_opts *power;
    int64_t cpu0_ns;
    struct wl_anchor began;
    bool told; /* that the store has failed */
    struct wl_peer_ranks mates;
    struct wl_node_sharing sharing;
    bool follows; /* another wattlaw measures */
};

/* The machine at rest, for its idle power; a signal ends it and waits for its turn. The rings keep what is read. */
void wl_run_measure_idle(const struct wl_active_run *l);

/* A campaign's job is stopped when nothing more can be stored; a measured command goes on. */
void wl_run_check_store(struct wl_active_run *l);

/* The command has ended, or could not be started: the sampler stops, caps go back, everything is stored and derived. */
int wl_run_finish(struct wl_active_run *l, struct wl_err *e);

#endif
