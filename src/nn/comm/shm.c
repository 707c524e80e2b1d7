/* Ranks on one node, without a launcher: the calling process becomes rank 0 and forks the others. */
#include "nn/comm/internal.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

struct children {
    pid_t *pid; /* by rank; 0: none */
    int size;
};

struct mapping {
    void *p;
    size_t n_bytes;
};

static void unmap(void *mapping)
{
    struct mapping *m = mapping;
    munmap(m->p, m->n_bytes);
}

/* Runs after this rank has left its group: children that still wait for it get an error and end. */
static void reap(void *of)
{
    struct children *c = of;
    for (int r = 1; r < c->size; r++) {
        int status;
        if (!c->pid[r]) continue;
        while (waitpid(c->pid[r], &status, 0) < 0 && errno == EINTR) {
        }
        if (WIFSIGNALED(status))
            wl_log(WL_WARN, "comm", "rank %d (process %d) was ended by signal %d (%s)", r, (int)c->pid[r],
                   WTERMSIG(status), strsignal(WTERMSIG(status)));
    }
}

static int fork_ranks(struct wl_comm *c, struct wl_shm_control *ctl, struct wl_err *e)
{
    struct children *children = wl_new(c->arena, struct children);
    *children = (struct children) { .pid = wl_new_array(c->arena, pid_t, (size_t)c->size), .size = c->size };
    pid_t parent = getpid();
    wl_shm_set_peer(ctl, 0, 0, parent);
    for (int r = 1; r < c->size; r++) {
        pid_t pid = fork();
        if (pid < 0) {
            wl_fail_errno(e, "starting rank %d of %d", r, c->size);
            for (int k = 1; k < r; k++) kill(children->pid[k], SIGTERM);
            wl_defer(c->arena, reap, children);
            return e->code;
        }
        if (pid == 0) {
            prctl(PR_SET_PDEATHSIG, SIGTERM);
            if (getppid() != parent) _exit(1); /* it died before PDEATHSIG was set */
            c->rank = r;
            return 0;
        }
        children->pid[r] = pid;
        wl_shm_set_peer(ctl, r, r, pid);
    }
    wl_defer(c->arena, reap, children);
    return 0;
}

static int open_shm(struct wl_comm *c, const struct wl_comm_opts *opts, struct wl_err *e)
{
    c->size = c->node_size = opts->workers > 1 ? (int)opts->workers : 1;
    struct mapping *m = wl_new(c->arena, struct mapping);
    m->n_bytes = wl_shm_control_size(c->size);
    m->p = mmap(NULL, m->n_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (m->p == MAP_FAILED) return wl_fail_errno(e, "shared memory for %d ranks", c->size);
    wl_defer(c->arena, unmap, m);
    int rc = fork_ranks(c, m->p, e);
    if (rc) return rc;
    c->node_rank = c->rank;
    struct wl_shm *g;
    rc = wl_shm_join(&g, m->p, c->rank, c->size, c->rank, c->arena, e);
    c->state = g;
    return rc;
}

static void *alloc_shared(struct wl_comm *c, size_t bytes, struct wl_err *e)
{
    struct wl_shm_region *r;
    return wl_shm_region_new(c->state, bytes, &r, e) ? NULL : r->part[c->node_rank];
}

static int all_reduce_sum(struct wl_comm *c, float *x, size_t n, struct wl_err *e)
{
    return wl_shm_sum_f32(c->state, x, n, e);
}

static int reduce_start(struct wl_comm *c, float *x, size_t n, struct wl_err *e)
{
    return wl_shm_reduce_start(c->state, x, n, e);
}

static int reduce_poll(struct wl_comm *c, struct wl_err *e) { return wl_shm_reduce_poll(c->state, e); }

static int reduce_finish(struct wl_comm *c, struct wl_err *e) { return wl_shm_reduce_finish(c->state, e); }

static int all_reduce_sum_f64(struct wl_comm *c, double *x, size_t n, struct wl_err *e)
{
    return wl_shm_sum_f64(c->state, x, n, e);
}

static int broadcast(struct wl_comm *c, void *p, size_t n_bytes, int root, struct wl_err *e)
{
    return wl_shm_broadcast(c->state, p, n_bytes, root, e);
}

static int barrier(struct wl_comm *c, struct wl_err *e) { return wl_shm_barrier(c->state, e); }

static void abandon(struct wl_comm *c, int status, const char *why)
{
    (void)status;
    if (c->state) wl_shm_abort(c->state, why);
}

static int find_lost(struct wl_comm *c, struct wl_err *e) { return wl_shm_find_lost(c->state, e); }

const struct wl_comm_ops wl_comm_shm = {
    .name = "shm",
    .help = "ranks on this machine, forked by the program itself",
    .open = open_shm,
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
