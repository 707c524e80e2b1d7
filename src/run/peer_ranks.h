/* What the leader does about the other local ranks. */
#ifndef WL_RUN_PEER_RANKS_H
#define WL_RUN_PEER_RANKS_H

#include "run/run.h"

struct wl_peer_ranks {
    struct wl_local_ranks *ranks;
    struct wl_arena *a;
    struct wl_local_rank *v;       /* [local_size] */
    bool *watched;                 /* [local_size] the sampler knows its processes */
    struct wl_process_result exit; /* of the run: the first command that failed, ours before others */
};
void wl_peer_ranks_init(struct wl_peer_ranks *m, struct wl_local_ranks *ranks, struct wl_arena *a);
void wl_peer_ranks_watch(struct wl_peer_ranks *m, struct wl_sampler *sampler); /* commands that have started since */
void wl_peer_ranks_judge(struct wl_peer_ranks *m, struct wl_run_result *out);  /* all have ended */

#endif
