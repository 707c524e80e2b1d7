#include "nn/comm/comm.h"

#include "nn/comm/internal.h"

#include <stdlib.h>
#include <string.h>

const struct wl_comm_ops *const wl_comm_backends[] = { &wl_comm_mpi, &wl_comm_shm, &wl_comm_null, &wl_comm_nccl, NULL };

static const struct wl_comm_ops *find(const char *name, struct wl_err *e)
{
    const char *names[WL_COUNT(wl_comm_backends)];
    size_t n = 0;
    for (; wl_comm_backends[n]; n++) {
        if (wl_str_eq(wl_comm_backends[n]->name, name)) return wl_comm_backends[n];
        names[n] = wl_comm_backends[n]->name;
    }
    const char *near = wl_str_closest(name, names, n);
    wl_fail(e, WL_EUSAGE, "no communication back-end is called '%s'%s%s%s", name, near ? "; did you mean '" : "",
            near ? near : "", near ? "'?" : "");
    return NULL;
}

static const char *choose(const struct wl_comm_opts *opts)
{
    if (!wl_str_eq(opts->backend, "auto")) return opts->backend;
    const struct wl_comm_ops *host = wl_comm_host(opts);
    return opts->on_gpus && host != &wl_comm_null ? wl_comm_nccl.name : host->name;
}

const struct wl_comm_ops *wl_comm_host(const struct wl_comm_opts *opts)
{
    return wl_comm_launched() ? &wl_comm_mpi : opts->workers > 1 ? &wl_comm_shm : &wl_comm_null;
}

/* srun without a PMI starts tasks that know nothing of each other. */
static int check_tasks(const struct wl_comm_ops *ops, const struct wl_comm_opts *opts, struct wl_err *e)
{
    const char *text = getenv("SLURM_STEP_NUM_TASKS");
    int64_t tasks;
    if (ops != &wl_comm_null || opts->workers || !wl_str_eq(opts->backend, "auto") || !getenv("SLURM_PROCID")) return 0;
    if (!text || wl_str_to_int(text, &tasks) < 0 || tasks <= 1) return 0;
    return wl_fail(
        e, WL_EUSAGE,
        "srun started %lld tasks without a PMI, which would train apart: add --mpi=pmix to srun (srun --mpi=list "
        "shows what this Slurm has), or ask for communication by null",
        (long long)tasks);
}

/* A training with another number of ranks than was asked for would be measured under a wrong name. */
static int check_launch(const struct wl_comm_ops *ops, const struct wl_comm_opts *opts, struct wl_err *e)
{
    const long long workers = (long long)opts->workers, launched = (long long)wl_comm_launch_size();
    if (ops == &wl_comm_nccl && !opts->on_gpus)
        return wl_fail(
            e, WL_EUSAGE,
            "communication by nccl sums in the memory of GPUs, and the back-end does not compute on any: use "
            "auto, mpi or shm");
    const bool is_mpi = (ops == &wl_comm_nccl ? wl_comm_host(opts) : ops) == &wl_comm_mpi;
    if (workers > 1 && wl_comm_launched())
        return wl_fail(
            e, WL_EUSAGE,
            "mpirun or srun started this rank, and %lld workers were asked for besides: use one or the other", workers);
    if (workers > 1 && is_mpi)
        return wl_fail(e, WL_EUSAGE,
                       "communication by mpi needs %lld ranks that mpirun or srun starts (`mpirun -np %lld`, without a "
                       "number of workers); for %lld workers on this machine use shm or auto",
                       workers, workers, workers);
    if (launched > 1 && !is_mpi)
        return wl_fail(e, WL_EUSAGE,
                       "mpirun or srun started %lld ranks, which would train apart with communication by %s: use mpi "
                       "or auto",
                       launched, ops->name);
    return check_tasks(ops, opts, e);
}

static int check_size(const struct wl_comm *c, const struct wl_comm_opts *opts, struct wl_err *e)
{
    if (opts->workers == 0 || opts->workers == c->size) return 0;
    return wl_fail(e, WL_EUSAGE, "%lld worker%s asked for, but mpirun or srun started %d ranks: use one or the other",
                   (long long)opts->workers, opts->workers == 1 ? " was" : "s were", c->size);
}

int wl_comm_open(struct wl_comm **c, const struct wl_comm_opts *opts, struct wl_arena *a, struct wl_err *e)
{
    const struct wl_comm_ops *ops = find(choose(opts), e);
    if (!ops) return e->code;
    int rc = check_launch(ops, opts, e);
    if (rc) return rc;
    if (ops->unavailable) return wl_fail(e, WL_EUNAVAIL, "communication by %s: %s", ops->name, ops->unavailable);
    struct wl_comm *made = wl_new(a, struct wl_comm);
    *made = (struct wl_comm) { .ops = ops, .size = 1, .node_size = 1, .nodes = 1, .arena = a };
    rc = ops->open(made, opts, e);
    if (!rc) rc = check_size(made, opts, e);
    if (rc) return rc;
    *c = made;
    return 0;
}

/* How many ranks failed and, by a sum of one number a rank, the first of them. */
static int count_failed(struct wl_comm *c, bool this_rank, int *count, int *first, struct wl_err *e)
{
    struct wl_arena *a = wl_arena_new(c->arena);
    double *failed = wl_new_array(a, double, (size_t)c->size);
    failed[c->rank] = this_rank;
    int rc = c->ops->all_reduce_sum_f64(c, failed, (size_t)c->size, e);
    *count = 0;
    *first = -1;
    for (int r = c->size - 1; r >= 0; r--)
        if (failed[r] > 0) *first = r, ++*count;
    wl_arena_free(a);
    return rc;
}

int wl_comm_find_equal(struct wl_comm *c, const char *name, int *rank, struct wl_err *e)
{
    char other[64];
    int rc = 0;
    WL_CHECK(strlen(name) < sizeof other);
    *rank = -1;
    for (int r = 0; r < c->size && !rc; r++) {
        memset(other, 0, sizeof other);
        if (r == c->rank) snprintf(other, sizeof other, "%s", name);
        rc = c->ops->broadcast(c, other, sizeof other, r, e);
        if (r < c->rank && *rank < 0 && wl_str_eq(other, name)) *rank = r;
    }
    return rc;
}

int wl_comm_agree(struct wl_comm *c, int code, struct wl_err *e)
{
    int count, first;
    struct wl_err theirs = { 0 };
    int rc = count_failed(c, code != 0, &count, &first, &theirs);
    if (rc) return code ? code : (*e = theirs, rc);
    if (count == 0) return 0;
    if (c->rank == first) theirs = *e;
    rc = c->ops->broadcast(c, &theirs, sizeof theirs, first, e);
    if (rc) return rc;
    *e = theirs;
    return count == c->size ? e->code : wl_err_prefix(e, "rank %d", first);
}
