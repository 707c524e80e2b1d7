/* The rendezvous of the ranks of one job on one node: a file in shared memory that all of them map,
 * DIR/HOST-JOB.GENERATION (DIR: runtime_dir.h), with a slot per local rank. A byte lock marks the leader, and one each
 * slot. The kernel drops them when a process dies, however it dies, so that the next rank to take the byte succeeds a
 * dead leader, and a dead rank is distinguished from one that still works. A job that calls wattlaw several times in a
 * row has a rendezvous (a generation) each time. docs/adr/062 */
#ifndef WL_RANK_RENDEZVOUS_H
#define WL_RANK_RENDEZVOUS_H

#include "rank/rank.h"

#include <stdatomic.h>

enum { WL_RENDEZVOUS_PATH_BYTES = 4096, WL_RENDEZVOUS_WHY_BYTES = 512, WL_SLOT_VISIBLE_BYTES = 1024 };

enum wl_slot_state { WL_SLOT_FREE, WL_SLOT_TAKEN, WL_SLOT_ENDED };
struct wl_slot {
    _Atomic int state; /* enum wl_slot_state */
    _Atomic int job;   /* first process of its command, 0: not yet */
    int rank;
    int status, signal; /* of its command, once ENDED */
    int64_t end_ns;
    char visible[WL_SLOT_VISIBLE_BYTES]; /* its CUDA_VISIBLE_DEVICES; "": not set */
};

enum wl_rendezvous_state {
    WL_RENDEZVOUS_GATHERING,
    WL_RENDEZVOUS_RUNNING,
    WL_RENDEZVOUS_REFUSED,
    WL_RENDEZVOUS_CLOSED
};

/* Layout of the file. */
struct wl_rendezvous {
    uint32_t magic, n_slots;
    _Atomic int state; /* enum wl_rendezvous_state; what follows is set before RUNNING or REFUSED */
    int64_t run;
    _Atomic int64_t start_ns; /* of the run; 0: not yet */
    char store[WL_RENDEZVOUS_PATH_BYTES], dir[WL_RENDEZVOUS_PATH_BYTES];
    char why[WL_RENDEZVOUS_WHY_BYTES];
    struct wl_slot slots[];
};

struct wl_local_ranks {
    struct wl_rank self;
    struct wl_arena *a;
    const char *folder; /* for messages: files are opened by its descriptor */
    int dir;
    const char *name, *path; /* of the rendezvous: in the folder, and whole for messages */
    struct wl_rendezvous *shared;
    size_t bytes;
    int fd; /* of the rendezvous; its byte locks are ours */
    bool is_leader;
    int lost_rank; /* of the leader that died before us, -1: none did */
};

/* Takes our slot in the job's rendezvous, which is made if it is missing, and the lead if it is free. `self` and `dir`
 * are set. */
int wl_rendezvous_join(struct wl_local_ranks *t, struct wl_err *e) WL_MUST_CHECK;
void wl_rendezvous_leave(struct wl_local_ranks *t);

/* No rank joins, and no rendezvous is removed, while this is held; closing the descriptor releases it. */
int wl_rendezvous_lock_folder(const struct wl_local_ranks *t, struct wl_err *e) WL_MUST_CHECK;

bool wl_rendezvous_take_lead(struct wl_local_ranks *t);                /* false: a live process has it */
bool wl_rendezvous_is_alive(const struct wl_local_ranks *t, int slot); /* of another rank: its process lives */

struct wl_slot *wl_rendezvous_own_slot(const struct wl_local_ranks *t);

#endif
