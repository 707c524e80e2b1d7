/* The ranks of one job on one node, each under its own wattlaw.
 *
 * `mpirun -n 8 wattlaw measure -- cmd` starts one wattlaw per rank. One of the local ranks, the leader, measures the
 * node and stores the run; the others run their commands. When the leader dies, another rank continues its run.
 * docs/adr/062 */
#ifndef WL_RANK_LOCAL_RANKS_H
#define WL_RANK_LOCAL_RANKS_H

#include "job/job.h"

struct wl_rank;
struct wl_local_ranks;

/* *out NULL: this process is not a rank of a job of several. Released with the arena. */
int wl_local_ranks_join(struct wl_local_ranks **out, struct wl_arena *a, struct wl_err *e) WL_MUST_CHECK;
bool wl_local_ranks_is_leader(const struct wl_local_ranks *t);
const struct wl_rank *wl_local_ranks_self(const struct wl_local_ranks *t);

/* Is rank 0 on this node? Its leader merges the shards of all nodes. */
bool wl_local_ranks_has_rank0(const struct wl_local_ranks *t);

/* NAME=value for the command's environment: a wattlaw that the command starts is then not taken for a rank. */
char *wl_local_ranks_env(const struct wl_local_ranks *t, struct wl_arena *a);

/* ---- before the run ---- */

/* The leader, before its run: waits for the others, at most some seconds. false: not all have joined. */
bool wl_local_ranks_wait_all(struct wl_local_ranks *t);

/* The GPUs of all local ranks, as in CUDA_VISIBLE_DEVICES; NULL: none of them has that variable. */
const char *wl_local_ranks_visible_gpus(const struct wl_local_ranks *t, struct wl_arena *a);

/* The leader is ready: the others start their commands. */
int wl_local_ranks_begin_run(struct wl_local_ranks *t, const char *store, const char *dir, int64_t run,
                             struct wl_err *e);

/* The leader cannot run: the others end too. Does nothing once the run has begun. */
void wl_local_ranks_refuse(struct wl_local_ranks *t, const char *why);

/* Not the leader: waits for the leader's run to begin; *dir is then the run's folder. If the leader dies first,
 * wl_local_ranks_is_leader is true afterwards. WL_EJOB: the leader refused. */
int wl_local_ranks_wait_leader(struct wl_local_ranks *t, const char **dir, struct wl_err *e) WL_MUST_CHECK;

/* ---- during the run ---- */

/* Not the leader: true once, when the leader has died and this rank takes its place. */
bool wl_local_ranks_take_lead(struct wl_local_ranks *t);

struct wl_local_ranks_run {
    const char *store; /* path */
    int64_t run, start_ns;
    int lost_rank; /* of the leader that died; -1: not known */
};
struct wl_local_ranks_run wl_local_ranks_run(const struct wl_local_ranks *t);

void wl_local_ranks_set_started(struct wl_local_ranks *t, pid_t job, int64_t start_ns);
void wl_local_ranks_set_ended(struct wl_local_ranks *t, const struct wl_job_exit *end);

/* Leader: every rank that joined has ended or is dead. Others: the leader has closed the run. */
bool wl_local_ranks_done(const struct wl_local_ranks *t);

struct wl_local_rank {
    int rank;
    pid_t job;                   /* first process of its command; 0: not started */
    bool joined, ended, is_self; /* joined and not ended when all are done: its wattlaw was killed */
    int64_t end_ns;              /* 0: not ended */
    int status, signal;
};
size_t wl_local_ranks_list(const struct wl_local_ranks *t,
                           struct wl_local_rank *out); /* out[local_size]; returns local_size */

void wl_local_ranks_close(struct wl_local_ranks *t); /* the leader has closed the run */

#endif
