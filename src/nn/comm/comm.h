/* Communication between the ranks of one data-parallel job.
 *
 * Every call but `abandon` is collective: all ranks make the same calls in the same order with the same sizes, each
 * from one thread. A call that fails leaves the group unusable: the caller ends the job. Sums are deterministic: the
 * same inputs on the same ranks give the same bits, and all ranks get the same bits.
 */
#ifndef WL_NN_COMM_COMM_H
#define WL_NN_COMM_COMM_H

#include "base/base.h"

struct wl_comm;
struct wl_comm_opts;

/* A device that sums in its own memory, one for each plan: GPUs. */
struct wl_comm_device {
    void *stream; /* that its sums are enqueued on: a CUstream of the context that is current */
    /* (optional) Makes the device that of the calling thread: attach may go on in a thread of its own. */
    int (*enter)(void *of, struct wl_err *e);
    /* (optional) Destroys what the device has recorded of sums, before they end: NCCL waits for the graphs that hold
     * them.
     */
    void (*forget)(void *of);
    void *of;
    void *sums; /* the communicator's; set by attach */
};

/* A back-end. */
struct wl_comm_ops {
    const char *name;        /* "null", "shm", "mpi" */
    const char *help;        /* one line */
    const char *unavailable; /* why it was not built; NULL: usable, and every callback below is set */

    /* Fills in this rank's end, whose arena is set; called by wl_comm_open. */
    int (*open)(struct wl_comm *c, const struct wl_comm_opts *opts, struct wl_err *e);

    /* buf[i] = sum over ranks of buf[i], in rank order within a node. n elements; large ones are cut into pieces here.
     * A buffer inside memory of alloc_shared (at the same place of it on every rank) is reduced in place without a
     * copy. A rank that died or gave up is an error on all others (WL_EJOB, naming it), never a wait without end. */
    int (*all_reduce_sum)(struct wl_comm *c, float *buf, size_t n, struct wl_err *e);

    /* The same sums while other work goes on, for buffers that become final one by one. `start` hands a buffer over:
     * nobody may touch it until `finish`. `poll`, called now and then, does this rank's part of what all ranks have
     * handed over and waits for nobody, so that no rank waits because another is a little later. `finish` returns when
     * all sums are complete. Between nodes `start` sums at once. */
    int (*reduce_start)(struct wl_comm *c, float *buf, size_t n, struct wl_err *e);
    int (*reduce_poll)(struct wl_comm *c, struct wl_err *e);
    int (*reduce_finish)(struct wl_comm *c, struct wl_err *e);

    /* all_reduce_sum for a few numbers that want more digits: losses, counts. */
    int (*all_reduce_sum_f64)(struct wl_comm *c, double *buf, size_t n, struct wl_err *e);

    /* Copies rank `root`'s bytes to all others. */
    int (*broadcast)(struct wl_comm *c, void *buf, size_t bytes, int root, struct wl_err *e);

    /* Returns when all ranks have called it. */
    int (*barrier)(struct wl_comm *c, struct wl_err *e);

    /* Memory for buffers that will be reduced: page-aligned, zeroed, alive as long as c. Every rank asks for the same
     * sizes in the same order. NULL with a message on failure. */
    void *(*alloc_shared)(struct wl_comm *c, size_t bytes, struct wl_err *e);

    /* Not collective: ends the others' waiting with an error that names this rank and, unless it is NULL, `why`. Called
     * before leaving without them. Under a launcher (mpi) it ends the whole job with the exit status and does not
     * return; a launcher that sees the end of another rank first gives that one's status, which is not 0 either. */
    void (*abandon)(struct wl_comm *c, int status, const char *why);

    /* ---- (optional, all three: gradients go through host memory) sums in the memory of a device ---- */

    /* Prepares sums on d->stream, until the arena goes, which is before the device does. Where this is not possible on
     * any rank and was not asked for by name, d->sums stays NULL on all ranks: gradients go through host memory, which
     * the log says. */
    int (*attach)(struct wl_comm *c, struct wl_comm_device *d, struct wl_arena *a, struct wl_err *e);

    /* Enqueues x[i] = sum over ranks of x[i] on d->stream, n elements of the device's memory, and does not wait. The
     * call may be recorded into a graph that the device replays. The same bits on all ranks, and the same every time on
     * the same GPUs; not always those of a sum in rank order. */
    int (*enqueue_sum)(struct wl_comm *c, const struct wl_comm_device *d, float *x, size_t n, struct wl_err *e);

    /* Not collective. From `on` to off the other ranks are watched: the loss of one, or no end for timeout_s seconds,
     * aborts the sums, so that a wait for the stream ends. Off returns what was found: WL_EJOB. */
    int (*watch)(struct wl_comm *c, const struct wl_comm_device *d, bool on, struct wl_err *e);

    /* ---- (optional) for communicators that use this one ---- */

    /* Not collective, may be called from another thread while no other call is in progress: WL_EJOB where a rank of
     * this node will not come any more. */
    int (*find_lost)(struct wl_comm *c, struct wl_err *e);
};

/* One rank's end of the group. */
struct wl_comm {
    const struct wl_comm_ops *ops;
    int rank, size;           /* 0 <= rank < size */
    int node_rank, node_size; /* among the ranks that share memory with this one */
    int nodes;
    struct wl_arena *arena;
    void *state; /* of the back-end */
};

/* The back-ends, NULL-terminated; those that were not built say why. */
extern const struct wl_comm_ops *const wl_comm_backends[];

/* How the ranks are started. */
struct wl_comm_opts {
    const char *backend; /* "auto", or a name of the table */
    int64_t workers;     /* shm: this process forks so many less one; 0: any number */
    int ranks_per_node;  /* 0: as the machine is; else mpi behaves as if nodes had so many ranks (for tests) */
    bool on_gpus;        /* gradients are in the memory of GPUs */
    double timeout_s;    /* of sums on devices; 0: 600 */
};

/* Opens this rank's end; it closes with the arena. "auto" is mpi where a launcher (mpirun, srun) started more than one
 * process, shm where `workers` asks for more than one, otherwise null, which costs nothing. nccl is the one of these
 * with sums on GPUs beside it; "auto" tries it for ranks on GPUs. With workers > 1 the call
 * returns once in every rank: rank 0 is the calling process, the others are its children, die with it and are waited
 * for when its arena goes. So call it before any thread is started. WL_EUNAVAIL names a back-end that was not built,
 * with the reason; WL_EUSAGE: an unknown one, `workers` together with a launcher, nccl without GPUs, or a back-end that
 * would give another number of ranks than were asked for or launched. */
int wl_comm_open(struct wl_comm **c, const struct wl_comm_opts *opts, struct wl_arena *a,
                 struct wl_err *e) WL_MUST_CHECK;

/* Did mpirun or srun start this process together with others? */
bool wl_comm_launched(void);

/* Binds the calling thread, and those that it starts from then on, to `threads` CPUs of its own among those that it may
 * use: rank k of a node takes the k-th share, hardware threads of one core last. A launcher that bound the ranks
 * already leaves too few for all of them: then its choice is kept. Logs what was chosen. */
void wl_comm_pin(const struct wl_comm *c, int threads);

/* The rank that a launcher gave this process, known before anything is opened; 0 where there is none. */
int wl_comm_launch_rank(void);

/* Makes one outcome of many: `code` and *e are this rank's own (0: it succeeded). Returns 0 when all ranks succeeded;
 * otherwise the code of the lowest rank that failed, with its message in *e on every rank ("rank N: " in front, unless
 * all failed), so that rank 0 alone need print it. */
int wl_comm_agree(struct wl_comm *c, int code, struct wl_err *e) WL_MUST_CHECK;

/* The first rank before this one whose name, of at most 63 bytes, is this one's: -1 if there is none. Collective. */
int wl_comm_find_equal(struct wl_comm *c, const char *name, int *rank, struct wl_err *e) WL_MUST_CHECK;

#endif
