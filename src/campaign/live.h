/* A measured run: run.c begins it and watches, run_end.c ends it. */
#ifndef WL_CAMPAIGN_LIVE_H
#define WL_CAMPAIGN_LIVE_H

#include "campaign/internal.h"

/* A run while it goes on. */
struct wl_live {
    const struct wl_run_how *how;
    struct wl_run_result *out;
    struct wl_arena *a;
    struct wl_task task;
    struct wl_record record;
    struct wl_caps *caps; /* NULL: none are set */
    const struct wl_power_opts *power;
    int64_t cpu0_ns;
    struct wl_anchor began;
    bool told; /* that the store has failed */
    struct wl_mates mates;
    struct wl_sharing sharing;
    bool follows; /* another wattlaw measures */
};

/* The machine at rest, for its idle power; a signal ends it and waits for its turn. The rings keep what is read. */
void wl_live_rest(const struct wl_live *l);

/* A campaign's job is stopped when nothing more can be stored; a measured command goes on. */
void wl_live_mind_store(struct wl_live *l);

/* The command has ended, or could not be started: the sampler stops, caps go back, everything is stored and derived. */
int wl_live_finish(struct wl_live *l, struct wl_err *e);

#endif
