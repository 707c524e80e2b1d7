/* Communication between ranks: what the engine needs of it, whoever moves the bytes (null, shared memory, MPI).
 *
 * Every rank makes the same calls in the same order. A call that fails leaves the group unusable: the caller ends
 * the job.
 */
#ifndef WL_NN_COMM_COMM_H
#define WL_NN_COMM_COMM_H

#include "base/base.h"

struct wl_comm;

struct wl_comm_ops {
    const char *name;        /* "null", "shm", "mpi" */
    const char *unavailable; /* why it was not built; NULL: usable */

    /* buf[i] = sum over ranks of buf[i], the same bits on every rank. n elements; large ones are cut into pieces
     * here. A buffer inside memory of alloc_shared may be reduced in place without a copy. */
    int (*all_reduce_sum)(struct wl_comm *c, float *buf, size_t n, struct wl_err *e);
    int (*broadcast)(struct wl_comm *c, void *buf, size_t bytes, int root, struct wl_err *e);
    int (*barrier)(struct wl_comm *c, struct wl_err *e);

    /* (optional) Memory for buffers that will be reduced, at least page-aligned, zeroed, alive as long as c. Every
     * rank asks for the same sizes in the same order. NULL with a message on failure. */
    void *(*alloc_shared)(struct wl_comm *c, size_t bytes, struct wl_err *e);
};

/* One group of ranks. Each kind embeds this as its first member. */
struct wl_comm {
    const struct wl_comm_ops *ops;
    int rank, size;
};

#endif
