/* Ranks that mpirun or srun started. Within a node they meet in shared memory; between nodes the first rank of each
 * speaks MPI, in pieces that stay in cache (one call for 100 MiB takes four times as long). */
#include "nn/comm/internal.h"

#include <stdlib.h>

int wl_comm_launch_rank(void)
{
    static const char *const ranks[] = { "OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK" };
    for (size_t i = 0; i < WL_COUNT(ranks); i++) {
        const char *text = getenv(ranks[i]);
        int64_t rank;
        if (text && wl_str_to_int(text, &rank) == 0) return (int)rank;
    }
    return 0;
}

int64_t wl_comm_launch_size(void)
{
    /* Open MPI, MPICH and Intel MPI, Slurm's PMI-2; PMIx alone says that there is a launcher, not of how many. */
    static const char *const sizes[] = { "OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "MPI_LOCALNRANKS" };
    for (size_t i = 0; i < WL_COUNT(sizes); i++) {
        const char *text = getenv(sizes[i]);
        int64_t n;
        if (text && wl_str_to_int(text, &n) == 0) return n;
    }
    return 0;
}

bool wl_comm_launched(void)
{
    const int64_t n = wl_comm_launch_size();
    return n ? n > 1 : getenv("PMIX_RANK") != NULL;
}

#ifdef WL_HAVE_MPI

#include <mpi.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { PIECE = 1024 * 1024 }; /* floats of one MPI_Allreduce: 4 MiB */

struct state {
    struct wl_comm *comm;
    MPI_Comm world, node, leaders; /* leaders: MPI_COMM_NULL but on the first rank of a node */
    struct wl_shm *group;          /* of the node */
    void *control;
    size_t control_bytes;
};

static int fail_mpi(struct wl_err *e, const char *call, int status)
{
    char text[MPI_MAX_ERROR_STRING];
    int n = 0;
    if (MPI_Error_string(status, text, &n)) n = 0;
    return wl_fail(e, WL_ELIB, "%s: %.*s", call, n, text);
}

/* Calls MPI and returns from the function with a filled *e when it fails. */
#define TRY_MPI(call)                                                   \
    do {                                                                \
        int status_ = (call);                                           \
        if (status_ != MPI_SUCCESS) return fail_mpi(e, #call, status_); \
    } while (0)

/* ---- opening ---------------------------------------------------------------------------------------------------- */

/* The rank that gave up, or the launcher that lost one, ends us. MPI_Finalize, which is collective, next to another
 * rank's MPI_Abort has ended in SIGSEGV (Open MPI 4.1), and mpirun reports whichever comes first. */
static void wait_for_the_end(const struct state *s)
{
    enum { GRACE_S = 5 };
    sleep(GRACE_S);
    MPI_Abort(s->world, 1);
}

static void finalize(void *state)
{
    struct state *s = state;
    if (s->group && s->group->failure.code) wait_for_the_end(s);
    if (s->leaders != MPI_COMM_NULL) MPI_Comm_free(&s->leaders);
    if (s->node != MPI_COMM_NULL) MPI_Comm_free(&s->node);
    MPI_Finalize();
}

static void unmap_control(void *state)
{
    struct state *s = state;
    if (s->control) munmap(s->control, s->control_bytes);
}

/* Splits the world into nodes, or into blocks of `ranks_per_node` ranks. */
static int split(struct state *s, int ranks_per_node, struct wl_err *e)
{
    struct wl_comm *c = s->comm;
    if (s->node != MPI_COMM_NULL) TRY_MPI(MPI_Comm_free(&s->node));
    if (ranks_per_node > 0)
        TRY_MPI(MPI_Comm_split(s->world, c->rank / ranks_per_node, c->rank, &s->node));
    else
        TRY_MPI(MPI_Comm_split_type(s->world, MPI_COMM_TYPE_SHARED, c->rank, MPI_INFO_NULL, &s->node));
    TRY_MPI(MPI_Comm_rank(s->node, &c->node_rank));
    TRY_MPI(MPI_Comm_size(s->node, &c->node_size));
    return 0;
}

/* The first rank of the node makes the control block, the others map it. */
static int map_control(struct state *s, struct wl_err *e)
{
    struct wl_comm *c = s->comm;
    int where[3] = { (int)getpid(), -1, 0 }, rc = 0; /* process, file descriptor, outcome */
    s->control_bytes = wl_shm_control_size(c->node_size);
    if (c->node_rank == 0) where[2] = rc = wl_shm_map(s->control_bytes, &where[1], &s->control, e);
    TRY_MPI(MPI_Bcast(where, 3, MPI_INT, 0, s->node));
    if (c->node_rank > 0)
        rc = where[2] ? wl_fail(e, where[2], "the first rank of this node has no shared memory")
                      : wl_shm_map_of(where[0], where[1], s->control_bytes, &s->control, e);
    if (rc == 0) wl_shm_set_peer(s->control, c->node_rank, c->rank, getpid());
    TRY_MPI(MPI_Barrier(s->node));
    if (c->node_rank == 0 && where[1] >= 0) close(where[1]);
    return rc;
}

/* Ranks of one machine may still not see each other's memory (containers of their own): then each is a node. */
static int share_memory(struct state *s, const struct wl_comm_opts *opts, struct wl_err *e)
{
    int rc = split(s, opts->ranks_per_node, e);
    if (rc) return rc;
    int bad = map_control(s, e) != 0, any_bad;
    TRY_MPI(MPI_Allreduce(&bad, &any_bad, 1, MPI_INT, MPI_MAX, s->world));
    if (!any_bad) return 0;
    if (bad) wl_log(WL_WARN, "comm", "no shared memory between the ranks of this node (%s); using MPI alone", e->msg);
    unmap_control(s);
    s->control = NULL;
    rc = split(s, 1, e);
    return rc ? rc : map_control(s, e);
}

static int count_nodes(struct state *s, struct wl_err *e)
{
    struct wl_comm *c = s->comm;
    bool leads = c->node_rank == 0;
    TRY_MPI(MPI_Comm_split(s->world, leads ? 0 : MPI_UNDEFINED, c->rank, &s->leaders));
    if (leads) TRY_MPI(MPI_Comm_size(s->leaders, &c->nodes));
    TRY_MPI(MPI_Bcast(&c->nodes, 1, MPI_INT, 0, s->node));
    return 0;
}

/* A rank that another MPI's mpirun started believes that it is alone. */
static int check_launcher(const struct wl_comm *c, struct wl_err *e)
{
    char library[MPI_MAX_LIBRARY_VERSION_STRING];
    int n = 0;
    if (c->size > 1 || wl_comm_launch_size() <= 1) return 0;
    if (MPI_Get_library_version(library, &n)) n = 0;
    const int words = (int)strcspn(library, ",\n");
    return wl_fail(e, WL_EUSAGE,
                   "the launcher started %lld ranks, but this one is alone to its MPI: they have to be started by the "
                   "mpirun of that MPI (%.*s)",
                   (long long)wl_comm_launch_size(), n < words ? n : words, library);
}

static int open_mpi(struct wl_comm *c, const struct wl_comm_opts *opts, struct wl_err *e)
{
    struct state *s = wl_new(c->arena, struct state);
    *s = (struct state) { .comm = c, .world = MPI_COMM_WORLD, .node = MPI_COMM_NULL, .leaders = MPI_COMM_NULL };
    c->state = s;
    int got;
    TRY_MPI(MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &got));
    wl_defer(c->arena, finalize, s);
    wl_defer(c->arena, unmap_control, s);
    TRY_MPI(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    TRY_MPI(MPI_Comm_rank(s->world, &c->rank));
    TRY_MPI(MPI_Comm_size(s->world, &c->size));
    int rc = check_launcher(c, e);
    if (!rc) rc = share_memory(s, opts, e);
    if (!rc) rc = count_nodes(s, e);
    if (!rc) rc = wl_shm_join(&s->group, s->control, c->node_rank, c->node_size, c->rank, c->arena, e);
    return rc;
}

/* ---- the calls -------------------------------------------------------------------------------------------------- */

static void *alloc_shared(struct wl_comm *c, size_t bytes, struct wl_err *e)
{
    struct state *s = c->state;
    struct wl_shm_region *r;
    return wl_shm_region_new(s->group, bytes, &r, e) ? NULL : r->part[c->node_rank];
}

static int sum_between_leaders(struct state *s, float *x, size_t n, struct wl_err *e)
{
    for (size_t at = 0; at < n; at += PIECE) {
        int m = (int)(n - at < PIECE ? n - at : PIECE);
        TRY_MPI(MPI_Allreduce(MPI_IN_PLACE, x + at, m, MPI_FLOAT, MPI_SUM, s->leaders));
    }
    return 0;
}

/* Node sum into the first rank's part, leaders among themselves, everybody copies. */
static int reduce(void *state, struct wl_shm_region *r, size_t offset, size_t n, struct wl_err *e)
{
    struct state *s = state;
    int rank = s->comm->node_rank;
    int rc = wl_shm_barrier_sum_slice(s->group, r, offset, n, false, e);
    if (!rc) rc = wl_shm_barrier(s->group, e);
    if (!rc && rank == 0) rc = sum_between_leaders(s, (float *)(r->part[0] + offset), n, e);
    if (!rc) rc = wl_shm_barrier(s->group, e);
    if (rc) return rc;
    if (rank != 0) memcpy(r->part[rank] + offset, r->part[0] + offset, n * sizeof(float));
    return wl_shm_barrier(s->group, e);
}

static int all_reduce_sum(struct wl_comm *c, float *x, size_t n, struct wl_err *e)
{
    struct state *s = c->state;
    if (c->nodes == 1) return wl_shm_sum_f32(s->group, x, n, e);
    return wl_shm_staged(s->group, x, n, reduce, s, e);
}

static int reduce_start(struct wl_comm *c, float *x, size_t n, struct wl_err *e)
{
    struct state *s = c->state;
    return c->nodes == 1 ? wl_shm_reduce_start(s->group, x, n, e) : all_reduce_sum(c, x, n, e);
}

static int reduce_poll(struct wl_comm *c, struct wl_err *e)
{
    return wl_shm_reduce_poll(((struct state *)c->state)->group, e);
}

static int reduce_finish(struct wl_comm *c, struct wl_err *e)
{
    return wl_shm_reduce_finish(((struct state *)c->state)->group, e);
}

static int all_reduce_sum_f64(struct wl_comm *c, double *x, size_t n, struct wl_err *e)
{
    struct state *s = c->state;
    int rc = wl_shm_sum_f64(s->group, x, n, e);
    if (rc || c->nodes == 1) return rc;
    if (c->node_rank == 0) TRY_MPI(MPI_Allreduce(MPI_IN_PLACE, x, (int)n, MPI_DOUBLE, MPI_SUM, s->leaders));
    return wl_shm_broadcast(s->group, x, n * sizeof *x, 0, e);
}

static int broadcast(struct wl_comm *c, void *p, size_t n_bytes, int root, struct wl_err *e)
{
    struct state *s = c->state;
    if (c->nodes == 1) return wl_shm_broadcast(s->group, p, n_bytes, root, e);
    for (size_t at = 0; at < n_bytes; at += PIECE) {
        int m = (int)(n_bytes - at < PIECE ? n_bytes - at : PIECE);
        TRY_MPI(MPI_Bcast((char *)p + at, m, MPI_BYTE, root, s->world));
    }
    return 0;
}

static int barrier(struct wl_comm *c, struct wl_err *e)
{
    struct state *s = c->state;
    if (c->nodes == 1) return wl_shm_barrier(s->group, e);
    TRY_MPI(MPI_Barrier(s->world));
    return 0;
}

static void abandon(struct wl_comm *c, int status, const char *why)
{
    struct state *s = c->state;
    if (s->group) wl_shm_abort(s->group, why);
    MPI_Abort(s->world, status);
}

/* Of other nodes the launcher, which ends the job when a rank dies. */
static int find_lost(struct wl_comm *c, struct wl_err *e)
{
    return wl_shm_find_lost(((struct state *)c->state)->group, e);
}

const struct wl_comm_ops wl_comm_mpi = {
    .name = "mpi",
    .help = "ranks that mpirun or srun started: shared memory within a node, MPI between nodes",
    .open = open_mpi,
    .alloc_shared = alloc_shared,
    .all_reduce_sum = all_reduce_sum,
    .reduce_start = reduce_start,
    .reduce_poll = reduce_poll,
    .reduce_finish = reduce_finish,
    .all_reduce_sum_f64 = all_reduce_sum_f64,
    .broadcast = broadcast,
    .barrier = barrier,
    .abandon = abandon,
    .find_lost = find_lost,
};

#else

const struct wl_comm_ops wl_comm_mpi = {
    .name = "mpi",
    .help = "ranks that mpirun or srun started",
    .unavailable = "built without MPI (Debian: libopenmpi-dev, then configure again)",
};

#endif
