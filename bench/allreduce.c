/* mpirun -np W bench_allreduce: our all-reduce of gradients against MPI_Allreduce, with ranks on one node.
 *
 * 100 MiB (ResNet50 has 97.5 MiB of gradients) in the buckets of the engine, alternating with MPI_Allreduce in place on
 * its own memory: in the same buckets, and in one call. Prints the median time of each and MPI's over ours. */
#include "nn/comm/comm.h"

#include "bench.h"

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { N = 25 << 20, BUCKET = 1 << 20, ROUNDS = 11 }; /* floats, floats */

enum way { OURS, MPI_BUCKETS, MPI_ONE_CALL, WAYS };
static const char *const names[WAYS] = { "ours, 4 MiB buckets", "MPI_Allreduce, 4 MiB buckets",
                                         "MPI_Allreduce, one call" };

/* Ends the other ranks too. */
static void check(struct wl_comm *c, int rc, const struct wl_err *e)
{
    if (rc == 0) return;
    fprintf(stderr, "bench_allreduce: %s\n", e->msg);
    c->ops->abandon(c, 1, NULL);
}

static void reduce(struct wl_comm *c, enum way way, float *shared, float *own)
{
    struct wl_err e = { 0 };
    if (way == MPI_ONE_CALL) MPI_Allreduce(MPI_IN_PLACE, own, N, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    for (size_t at = 0; way != MPI_ONE_CALL && at < N; at += BUCKET)
        if (way == OURS)
            check(c, c->ops->all_reduce_sum(c, shared + at, BUCKET, &e), &e);
        else
            MPI_Allreduce(MPI_IN_PLACE, own + at, BUCKET, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
}

/* Seconds until the last rank had its sum. */
static double timed(struct wl_comm *c, enum way way, float *shared, float *own)
{
    MPI_Barrier(MPI_COMM_WORLD);
    int64_t start = wl_now_ns();
    reduce(c, way, shared, own);
    double s = (double)(wl_now_ns() - start) / WL_NS_PER_S, slowest;
    MPI_Allreduce(&s, &slowest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return slowest;
}

int main(void)
{
    struct wl_arena *a = wl_arena_new(NULL);
    struct wl_err e = { 0 };
    struct wl_comm *c = NULL;
    must(wl_comm_open(&c, &(struct wl_comm_opts) { .backend = "mpi" }, a, &e), &e);
    float *shared = c->ops->alloc_shared(c, N * sizeof *shared, &e),
          *own = wl_try_alloc(a, N * sizeof *own, 4096, "own", &e);
    check(c, shared && own ? 0 : e.code, &e);
    for (size_t i = 0; i < N; i++) shared[i] = own[i] = 1e-30f; /* grows with each round and stays finite */

    double s[WAYS][ROUNDS];
    for (int round = -1; round < ROUNDS; round++) /* the first one warms up */
        for (int w = 0; w < WAYS; w++) {
            double t = timed(c, (enum way)w, shared, own);
            if (round >= 0) s[w][round] = t;
        }
    double median_s[WAYS];
    for (int w = 0; w < WAYS; w++) median_s[w] = median(s[w], ROUNDS);
    for (int w = 0; w < WAYS && c->rank == 0; w++) {
        printf("%-30s %7.1f ms (%.1f to %.1f)   %.2f x ours\n", names[w], 1e3 * median_s[w], 1e3 * s[w][0],
               1e3 * s[w][ROUNDS - 1], median_s[w] / median_s[OURS]);
    }
    wl_arena_free(a);
}
