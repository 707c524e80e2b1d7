/* Runs a function on every rank of a job of its own and collects what each rank found. */
#ifndef TEST_COMM_RANKS_H
#define TEST_COMM_RANKS_H

#include "nn/comm/comm.h"

enum { MAX_RANKS = 8 };

/* What a rank reports: in memory that the test shares with it. */
struct report {
    bool came_back; /* the function returned, and the rank left its group */
    int rc;
    char msg[256];
    double value[4];
};

typedef int rank_fn(struct wl_comm *c, struct report *r, struct wl_err *e);

/* Starts a process that opens a communicator of n ranks and calls fn on each. Returns when all have ended; ranks that
 * were killed leave came_back false. The reports live until the next call. */
struct report *run_ranks(int n, rank_fn *fn);

/* The same with a communicator of the caller's choice; `workers` of how are n. */
struct report *run_ranks_as(int n, const struct wl_comm_opts *how, rank_fn *fn);

/* A number in [-1, 1) with many digits, the same everywhere for the same arguments. */
float number(int rank, size_t i);

/* The sum over ranks in rank order, as one process would do it. */
float sum_of(int ranks, size_t i);

#endif
