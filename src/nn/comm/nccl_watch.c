/* The watchdog of sums on GPUs. A sum whose partner is gone never ends, and the host waits for the stream: a thread
 * looks at the other ranks and ends the sum.
 *
 * CommAbort ends what runs, then waits for the end of graphs that hold sums, which the main thread destroys when it has
 * come back from the stream: so the lock is not held in it. It frees the communicator at last: so it does not begin
 * while the main thread is in a call of NCCL, unless that hangs too. */
#include "nn/comm/nccl.h"

enum { LOOK_NS = 100 * 1000 * 1000 };
static const int64_t longest_call_ns = 10 * WL_NS_PER_S;

/* With the lock, which is free meanwhile. */
static void abort_locked(struct wl_nccl_sums *s)
{
    if (s->aborted) return;
    s->aborted = true;
    pthread_mutex_unlock(&s->lock);
    if (s->comm) s->of->api.CommAbort(s->comm);
    pthread_mutex_lock(&s->lock);
}

static int check_state(const struct wl_nccl_sums *s, struct wl_err *e)
{
    const struct wl_nccl_api *api = &s->of->api;
    ncclResult_t state = ncclSuccess;
    const ncclResult_t asked = api->CommGetAsyncError(s->comm, &state);
    if (!asked && (!state || state == ncclInProgress)) return 0;
    wl_nccl_fail(api, s->comm, "CommGetAsyncError", asked ? asked : state, e);
    return wl_fail(e, WL_EJOB, "a sum over the ranks failed: %s", e->msg);
}

/* With the lock, so that the main thread, which takes it to stop watching, is in no call of the host's communicator. */
static int look(struct wl_nccl_sums *s, struct wl_err *e)
{
    struct wl_nccl *n = s->of;
    int rc = n->host.ops->find_lost ? n->host.ops->find_lost(&n->host, e) : 0;
    if (!rc) rc = check_state(s, e);
    if (rc || wl_now_ns() - s->since_ns < n->timeout_ns) return rc;
    return wl_fail(e, WL_EJOB, "a sum over the ranks has not ended in %g s: a rank does not take part",
                   (double)n->timeout_ns / (double)WL_NS_PER_S);
}

static void keep(struct wl_nccl_sums *s, const struct wl_err *found)
{
    s->found = *found;
    s->found_ns = wl_now_ns();
}

static void look_once(struct wl_nccl_sums *s)
{
    struct wl_err e = { 0 };
    if (s->watching && !s->found.code && !s->aborted && look(s, &e)) keep(s, &e);
    if (!s->found.code || (s->in_call && wl_now_ns() - s->found_ns < longest_call_ns)) return;
    abort_locked(s);
}

static void *watch(void *of)
{
    struct wl_nccl_sums *s = of;
    pthread_mutex_lock(&s->lock);
    while (!wl_thread_cond_wait(&s->change, &s->lock, &s->ends, LOOK_NS)) look_once(s);
    pthread_mutex_unlock(&s->lock);
    return NULL;
}

int wl_nccl_watch_start(struct wl_nccl_sums *s, struct wl_err *e)
{
    wl_thread_cond_init(&s->lock, &s->change);
    const int rc = wl_thread_start(&s->watchdog, "wl-nccl", watch, s);
    return rc ? wl_fail(e, WL_ENOMEM, "a thread that watches the other ranks: error %d", rc) : 0;
}

void wl_nccl_watch_stop(struct wl_nccl_sums *s)
{
    pthread_mutex_lock(&s->lock);
    s->ends = true;
    pthread_cond_signal(&s->change);
    pthread_mutex_unlock(&s->lock);
    pthread_join(s->watchdog, NULL);
    pthread_cond_destroy(&s->change);
    pthread_mutex_destroy(&s->lock);
}

int wl_nccl_watch(struct wl_nccl_sums *s, bool on, struct wl_err *e)
{
    struct wl_err state = { 0 };
    pthread_mutex_lock(&s->lock);
    s->watching = on;
    s->since_ns = wl_now_ns();
    if (!s->aborted && !s->found.code && check_state(s, &state)) keep(s, &state);
    const struct wl_err found = s->found;
    pthread_mutex_unlock(&s->lock);
    if (found.code) *e = found;
    return found.code;
}

int wl_nccl_enter_call(struct wl_nccl_sums *s, struct wl_err *e)
{
    pthread_mutex_lock(&s->lock);
    const struct wl_err found = s->found;
    const bool gone = found.code || s->aborted;
    s->in_call = !gone;
    pthread_mutex_unlock(&s->lock);
    if (found.code && e) *e = found;
    if (!gone) return 0;
    return found.code ? found.code : wl_fail(e, WL_EJOB, "the sums over the ranks were given up");
}

void wl_nccl_leave_call(struct wl_nccl_sums *s)
{
    pthread_mutex_lock(&s->lock);
    s->in_call = false;
    pthread_mutex_unlock(&s->lock);
}

void wl_nccl_abort(struct wl_nccl_sums *s)
{
    pthread_mutex_lock(&s->lock);
    abort_locked(s);
    pthread_mutex_unlock(&s->lock);
}
