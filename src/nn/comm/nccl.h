/* Sums on GPUs by NCCL, from inside: nccl.c the communicator, nccl_join.c how ranks join it,
 * nccl_watch.c the watchdog. */
#ifndef WL_NN_COMM_NCCL_H
#define WL_NN_COMM_NCCL_H

#include "base/thread.h"
#include "nn/comm/internal.h"
#include "nn/comm/nccl_api.h"

/* The communicator's state. */
struct wl_nccl {
    struct wl_comm host; /* starts the ranks, and does all but sums on devices */
    struct wl_nccl_api api;
    bool is_open;
    bool required; /* asked for by name */
    int64_t timeout_ns;
    struct wl_nccl_sums *sums; /* of each plan that is attached */
};

/* Of one plan. */
struct wl_nccl_sums {
    struct wl_nccl_sums *next;
    struct wl_nccl *of;
    ncclComm_t comm;
    struct wl_comm_device device;
    /* The watchdog, a thread that wakes now and then. */
    pthread_t watchdog;
    pthread_mutex_t lock; /* of what follows */
    pthread_cond_t change;
    bool ends, watching;
    bool aborted;        /* it is, or is about to be; no call of NCCL begins any more */
    bool in_call;        /* of NCCL, by the main thread */
    int64_t since_ns;    /* watching */
    int64_t found_ns;    /* when `found` was */
    struct wl_err found; /* code 0: nothing */
};

/* This rank's end of a communicator of all ranks, which call it together, on the device d. WL_EJOB: a rank of this node
 * was lost, or one does not come for timeout_ns. *out stays NULL where it fails. */
int wl_nccl_join(const struct wl_comm *c, const struct wl_comm_device *d, const ncclUniqueId *id, ncclComm_t *out,
                 struct wl_err *e) WL_MUST_CHECK;

int wl_nccl_watch_start(struct wl_nccl_sums *s, struct wl_err *e) WL_MUST_CHECK;
void wl_nccl_watch_stop(struct wl_nccl_sums *s);
int wl_nccl_watch(struct wl_nccl_sums *s, bool on, struct wl_err *e) WL_MUST_CHECK;

/* Before and after a call of NCCL by the main thread, which the watchdog does not abort meanwhile. WL_EJOB: it has
 * aborted. */
int wl_nccl_enter_call(struct wl_nccl_sums *s, struct wl_err *e) WL_MUST_CHECK;
void wl_nccl_leave_call(struct wl_nccl_sums *s);

/* Ends the sums that are enqueued and makes later ones fail. The device has no graphs that hold sums any more. */
void wl_nccl_abort(struct wl_nccl_sums *s);

#endif
