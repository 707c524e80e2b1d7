/* What the back-ends of nn/comm share. */
#ifndef WL_NN_COMM_INTERNAL_H
#define WL_NN_COMM_INTERNAL_H

#include "nn/comm/comm.h"

#include <sched.h>
#include <stdatomic.h>
#include <sys/types.h>

/* ---- shm_memory.c: memory that other processes of the user can map ---------------------------------------------- */

/* Zeroed shared memory of this process, backed by *fd; others map it by (pid, fd) while that is open. */
int wl_shm_map(size_t n_bytes, int *fd, void **p, struct wl_err *e) WL_MUST_CHECK;
int wl_shm_map_of(pid_t pid, int fd, size_t n_bytes, void **p, struct wl_err *e) WL_MUST_CHECK;

/* ---- shm_group.c: the ranks of one node ------------------------------------------------------------------------- */

enum { WL_SHM_STAGING_BYTES = 128 * 1024 }; /* bytes of each rank's staging buffer */
enum { WL_SHM_WHY_BYTES = 256 };
enum { WL_SHM_PENDING_MAX = 256 }; /* sums in the background at one time */

/* A sum: what each rank says about it must agree. */
struct wl_shm_call {
    int region;
    size_t offset, n; /* bytes, floats */
};

/* What one rank shows the others, on cache lines of its own, so that writers do not disturb each other. */
struct wl_shm_slot {
    _Alignas(64) _Atomic int pid;                 /* 0: not known yet */
    _Atomic int world_rank;                       /* its name in messages */
    _Atomic int state;                            /* enum in shm_group.c */
    char why[WL_SHM_WHY_BYTES];                   /* it gave up, set before `state`; "": it says so itself */
    int fd;                                       /* of its part of the region that is being made; -1: it has none */
    struct wl_shm_call call;                      /* the sum in progress, to find ranks that are not in step */
    _Alignas(64) _Atomic uint64_t posted;         /* sums handed over to the background, since the group was joined */
    struct wl_shm_call calls[WL_SHM_PENDING_MAX]; /* number k at k % WL_SHM_PENDING_MAX */
    _Alignas(64) char staging[WL_SHM_STAGING_BYTES];
};

/* The block that all ranks of a group map; it starts zeroed. */
struct wl_shm_control {
    _Atomic uint32_t arrived;
    _Atomic uint32_t generation; /* barriers passed; also the futex */
    _Atomic uint32_t sleepers;
    struct wl_shm_slot slot[];
};

/* The same memory of every rank, as this rank sees it. Region 0 holds the staging buffers of the slots. */
struct wl_shm_region {
    struct wl_shm_region *next;
    int index;
    size_t n_bytes; /* of each part */
    char **part;    /* by rank */
};

/* One rank's view of its group. */
struct wl_shm {
    struct wl_shm_control *ctl;
    int rank, size;
    bool may_spin;                 /* every rank can have a CPU of its own */
    int *pidfd;                    /* of each rank; -1: not open */
    struct wl_shm_region *regions; /* newest first, the staging buffers last */
    struct wl_shm_region *staging;
    uint64_t summed, finished; /* of the sums in the background: this rank's slices, and whole ones */
    struct wl_arena *arena;
    struct wl_err failure; /* what made the group unusable; code 0: nothing */
};

size_t wl_shm_control_size(int size);

/* Names a rank and its process; called by itself in wl_shm_join, or before that by who started it. */
void wl_shm_set_peer(struct wl_shm_control *ctl, int rank, int world_rank, pid_t pid);

/* Joins a group. Returns when all ranks have joined. The rank leaves when the arena is freed. */
int wl_shm_join(struct wl_shm **g, struct wl_shm_control *ctl, int rank, int size, int world_rank, struct wl_arena *a,
                struct wl_err *e) WL_MUST_CHECK;

/* A meeting of all ranks. WL_EJOB names a rank that died, gave up or left; the group then stays unusable: every
 * later call fails alike. */
int wl_shm_barrier(struct wl_shm *g, struct wl_err *e) WL_MUST_CHECK;

/* WL_EJOB names a rank that died or gave up; one that left may have done its part before. */
int wl_shm_find_lost(struct wl_shm *g, struct wl_err *e) WL_MUST_CHECK;

/* Makes the group unusable: the others' barriers fail, with what made this rank give up; NULL: it says so itself. */
void wl_shm_abort(struct wl_shm *g, const char *why);

/* n_bytes more for every rank. */
int wl_shm_region_new(struct wl_shm *g, size_t n_bytes, struct wl_shm_region **r, struct wl_err *e) WL_MUST_CHECK;

/* ---- shm_collectives.c: arithmetic within a group ---------------------------------------------------------------- */

/* Reduces the n floats at `offset` (bytes) of a region to their sum over all ranks, in every part. */
typedef int wl_shm_reduce(void *of, struct wl_shm_region *r, size_t offset, size_t n, struct wl_err *e);

/* Copies x into a region piece by piece where it is not in one, and calls `reduce`. */
int wl_shm_staged(struct wl_shm *g, float *x, size_t n, wl_shm_reduce *reduce, void *of,
                  struct wl_err *e) WL_MUST_CHECK;

/* The first half of a reduction: waits for all ranks, then sums this rank's slice of the n floats over the parts in
 * rank order and writes it into every part, or into part 0 alone. */
int wl_shm_barrier_sum_slice(struct wl_shm *g, struct wl_shm_region *r, size_t offset, size_t n, bool everywhere,
                             struct wl_err *e) WL_MUST_CHECK;

/* The region that holds the n floats x, and where; NULL: none. */
struct wl_shm_region *wl_shm_region_with(struct wl_shm *g, const float *x, size_t n, size_t *offset);

/* WL_EJOB where the other ranks' calls differ from `call`; k says which of their calls: NULL the one in progress, else
 * number *k of those in the background. */
int wl_shm_check_in_step(struct wl_shm *g, const struct wl_shm_call *call, const uint64_t *k,
                         struct wl_err *e) WL_MUST_CHECK;

/* Sums this rank's slice of n floats over the parts and writes it into every part, or into part 0 alone. */
void wl_shm_sum_own_slice(const struct wl_shm *g, const struct wl_shm_region *r, size_t offset, size_t n,
                          bool everywhere);

int wl_shm_sum_f32(struct wl_shm *g, float *x, size_t n, struct wl_err *e) WL_MUST_CHECK;
int wl_shm_sum_f64(struct wl_shm *g, double *x, size_t n, struct wl_err *e) WL_MUST_CHECK;
int wl_shm_broadcast(struct wl_shm *g, void *p, size_t n_bytes, int root, struct wl_err *e) WL_MUST_CHECK;

/* ---- shm_overlap.c: sums in the background ----------------------------------------------------------------------- */

/* As the calls of struct wl_comm_ops. */
int wl_shm_reduce_start(struct wl_shm *g, float *x, size_t n, struct wl_err *e) WL_MUST_CHECK;
int wl_shm_reduce_poll(struct wl_shm *g, struct wl_err *e) WL_MUST_CHECK;
int wl_shm_reduce_finish(struct wl_shm *g, struct wl_err *e) WL_MUST_CHECK;

/* ---- affinity.c: which CPUs a rank computes on ------------------------------------------------------------------- */

/* The CPUs of a set in the order in which ranks take them: the first hardware thread of each core by number, then the
 * second ones. `cpus` is /sys/devices/system/cpu; order has room for CPU_SETSIZE. Returns their number. */
size_t wl_affinity_order(const cpu_set_t *may, const char *cpus, int *order);

/* ---- mpi.c: the launcher ----------------------------------------------------------------------------------------- */

/* Ranks as mpirun or srun counts them, on this node at least; 0 where it does not say. */
int64_t wl_comm_launch_size(void);

/* ---- comm.c ---- */

/* The back-end that starts the ranks where none is named: mpi, shm or null. */
const struct wl_comm_ops *wl_comm_host(const struct wl_comm_opts *opts);

/* ---- the back-ends ---------------------------------------------------------------------------------------------- */

extern const struct wl_comm_ops wl_comm_null, wl_comm_shm, wl_comm_mpi, wl_comm_nccl;

#endif
