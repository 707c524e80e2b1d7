/* The ranks of a job: those of this node and those of other nodes. */
#ifndef WL_RANK_RANK_H
#define WL_RANK_RANK_H

#include "base/base.h"
#include "rank/local_ranks.h"
#include "rank/multinode.h"
#include "rank/runtime_dir.h"

/* The rank that a launcher gave this process. */
struct wl_rank {
    const char *job;            /* a name that all its ranks on this node share, usable in a file name */
    int rank, size;             /* in the whole job */
    int local_rank, local_size; /* on this node */
};

/* From the environment; false: no launcher that sets all of it started this process. */
bool wl_rank_from_env(struct wl_rank *out, struct wl_arena *a);

#endif
