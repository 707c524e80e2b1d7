/* Joining the communicator. ncclCommInitRank waits for all ranks without a limit, and cannot be aborted: a thread calls
 * it, which is left behind where a rank does not come. */
#include "nn/comm/nccl.h"

enum { LOOK_NS = 100 * 1000 * 1000 };

/* Of the thread too, which may outlive the plan: in an arena of its own, which keeps the library open. */
struct joining {
    struct wl_arena *arena;
    struct wl_nccl_api api;
    struct wl_comm_device device;
    ncclUniqueId id;
    int rank, size;
    ncclComm_t comm;
    struct wl_err found;
    pthread_mutex_t lock; /* of what follows */
    pthread_cond_t change;
    bool ended, given_up;
};

static void end_joining(struct joining *j)
{
    pthread_cond_destroy(&j->change);
    pthread_mutex_destroy(&j->lock);
    wl_arena_free(j->arena);
}

static void call(struct joining *j)
{
    const struct wl_comm_device *d = &j->device;
    if (d->enter && d->enter(d->of, &j->found)) return;
    const ncclResult_t rc = j->api.CommInitRank(&j->comm, j->size, j->id, j->rank);
    if (rc) wl_nccl_fail(&j->api, NULL, "CommInitRank", rc, &j->found);
}

static void *run(void *of)
{
    struct joining *j = of;
    call(j);
    pthread_mutex_lock(&j->lock);
    j->ended = true;
    const bool given_up = j->given_up;
    pthread_cond_signal(&j->change);
    pthread_mutex_unlock(&j->lock);
    if (given_up) end_joining(j);
    return NULL;
}

static int find_missing(struct wl_nccl *n, int64_t since_ns, struct wl_err *e)
{
    int rc = n->host.ops->find_lost ? n->host.ops->find_lost(&n->host, e) : 0;
    if (rc || wl_now_ns() - since_ns < n->timeout_ns) return rc;
    return wl_fail(e, WL_EJOB, "ncclCommInitRank has not ended in %g s: a rank does not take part",
                   (double)n->timeout_ns / (double)WL_NS_PER_S);
}

/* Until the thread has ended, or a rank is missing. */
static int wait_for(struct wl_nccl *n, struct joining *j, struct wl_err *e)
{
    const int64_t since_ns = wl_now_ns();
    int rc = 0;
    pthread_mutex_lock(&j->lock);
    while (!rc && !wl_thread_cond_wait(&j->change, &j->lock, &j->ended, LOOK_NS)) rc = find_missing(n, since_ns, e);
    j->given_up = rc != 0;
    pthread_mutex_unlock(&j->lock);
    return rc;
}

static int take_result(struct joining *j, ncclComm_t *out, struct wl_err *e)
{
    *out = j->found.code ? NULL : j->comm;
    if (j->found.code && e) *e = j->found;
    const int rc = j->found.code;
    end_joining(j);
    return rc;
}

static int open_joining(struct joining **out, const struct wl_comm *c, const struct wl_comm_device *d,
                        const ncclUniqueId *id, struct wl_err *e)
{
    struct wl_arena *own = wl_arena_new(NULL);
    struct joining *j = wl_new(own, struct joining);
    *j = (struct joining) { .arena = own, .device = *d, .id = *id, .rank = c->rank, .size = c->size };
    wl_thread_cond_init(&j->lock, &j->change);
    int rc = wl_nccl_open(&j->api, own, e);
    if (rc) end_joining(j);
    *out = j;
    return rc;
}

int wl_nccl_join(const struct wl_comm *c, const struct wl_comm_device *d, const ncclUniqueId *id, ncclComm_t *out,
                 struct wl_err *e)
{
    struct joining *j;
    pthread_t thread;
    int rc = open_joining(&j, c, d, id, e);
    if (rc) return rc;
    rc = wl_thread_start(&thread, "wl-nccl-join", run, j);
    if (rc) {
        end_joining(j);
        return wl_fail(e, WL_ENOMEM, "a thread that joins the other ranks: error %d", rc);
    }
    rc = wait_for(c->state, j, e);
    if (rc) return pthread_detach(thread), rc;
    pthread_join(thread, NULL);
    return take_result(j, out, e);
}
