/* Ranks on GPUs: another back-end starts them and does all that is done on the host; gradients are summed in the
 * memory of the GPUs by NCCL. */
#include "nn/comm/nccl.h"

#include <string.h>

enum { TIMEOUT_S = 600 };

static struct wl_comm *host(struct wl_comm *c) { return &((struct wl_nccl *)c->state)->host; }

static int open_nccl(struct wl_comm *c, const struct wl_comm_opts *opts, struct wl_err *e)
{
    struct wl_nccl *n = wl_new(c->arena, struct wl_nccl);
    const double timeout_s = opts->timeout_s > 0 ? opts->timeout_s : TIMEOUT_S;
    *n = (struct wl_nccl) { .host = *c,
                            .required = wl_str_eq(opts->backend, c->ops->name),
                            .timeout_ns = (int64_t)(timeout_s * (double)WL_NS_PER_S) };
    n->host.ops = wl_comm_host(opts);
    if (n->host.ops->unavailable)
        return wl_fail(e, WL_EUNAVAIL, "communication by %s: %s", n->host.ops->name, n->host.ops->unavailable);
    int rc = n->host.ops->open(&n->host, opts, e);
    const struct wl_comm_ops *ops = c->ops;
    *c = n->host;
    c->ops = ops;
    c->state = n;
    return rc;
}

/* ---- sums on GPUs ---- */

static int open_library(struct wl_comm *c, struct wl_err *e)
{
    struct wl_nccl *n = c->state;
    int rc = n->is_open ? 0 : wl_nccl_open(&n->api, c->arena, e);
    n->is_open = !rc;
    return wl_comm_agree(c, rc, e);
}

/* From now on c is the communicator of the host. */
static int go_through_host(struct wl_comm *c, const struct wl_err *why)
{
    const struct wl_nccl *n = c->state;
    if (c->rank == 0)
        wl_log(WL_WARN, "comm", "gradients are summed through host memory (%s), which is slow: %s", n->host.ops->name,
               why->msg);
    c->ops = n->host.ops;
    c->state = n->host.state;
    return 0;
}

/* Graphs that have captured sums go first: CommDestroy and CommAbort, in which the watchdog may be, wait for that. */
static void forget_graphs(const struct wl_nccl_sums *s)
{
    if (s->device.forget) s->device.forget(s->device.of);
}

static void end_sums(void *of)
{
    struct wl_nccl_sums *s = of;
    forget_graphs(s);
    wl_nccl_watch_stop(s);
    struct wl_nccl_sums **at = &s->of->sums;
    while (*at != s) at = &(*at)->next;
    *at = s->next;
    if (!s->comm || s->aborted) return;
    if (s->found.code)
        s->of->api.CommAbort(s->comm); /* the watchdog has not come to it */
    else
        s->of->api.CommDestroy(s->comm);
}

/* Rank 0's id, on all ranks, which are all there then. */
static int share_id(struct wl_comm *c, ncclUniqueId *id, struct wl_err *e)
{
    const struct wl_nccl_api *api = &((struct wl_nccl *)c->state)->api;
    const ncclResult_t made = c->rank == 0 ? api->GetUniqueId(id) : ncclSuccess;
    int rc = made ? wl_nccl_fail(api, NULL, "GetUniqueId", made, e) : 0;
    rc = wl_comm_agree(c, rc, e);
    if (!rc) rc = c->ops->broadcast(c, id, sizeof *id, 0, e);
    return rc ? rc : c->ops->barrier(c, e);
}

static int join(struct wl_comm *c, const struct wl_comm_device *d, struct wl_nccl_sums *s, struct wl_err *e)
{
    ncclUniqueId id;
    int rc = share_id(c, &id, e);
    if (rc) return rc;
    rc = wl_nccl_join(c, d, &id, &s->comm, e);
    return rc == WL_EJOB ? rc : wl_comm_agree(c, rc, e); /* else a rank that is lost is waited for once more */
}

static void log_version(const struct wl_comm *c)
{
    const struct wl_nccl *n = c->state;
    const int v = n->api.version;
    if (c->rank == 0)
        wl_log(WL_INFO, "comm", "gradients are summed by NCCL %d.%d.%d", v / 10000, v / 100 % 100, v % 100);
}

static int attach(struct wl_comm *c, struct wl_comm_device *d, struct wl_arena *a, struct wl_err *e)
{
    struct wl_nccl *n = c->state;
    int rc = open_library(c, e);
    if (rc) return n->required || rc == WL_EJOB ? rc : go_through_host(c, e);
    struct wl_nccl_sums *s = wl_new(a, struct wl_nccl_sums);
    *s = (struct wl_nccl_sums) { .of = n, .next = n->sums, .device = *d };
    rc = wl_comm_agree(c, wl_nccl_watch_start(s, e), e);
    if (rc) return rc;
    n->sums = s;
    wl_defer(a, end_sums, s);
    d->sums = s;
    rc = join(c, d, s, e);
    if (!rc) log_version(c);
    return rc;
}

static int enqueue_sum(struct wl_comm *c, const struct wl_comm_device *d, float *x, size_t n, struct wl_err *e)
{
    (void)c;
    struct wl_nccl_sums *s = d->sums;
    const struct wl_nccl_api *api = &s->of->api;
    int rc = wl_nccl_enter_call(s, e);
    if (rc) return rc;
    const ncclResult_t made = api->AllReduce(x, x, n, ncclFloat32, ncclSum, s->comm, d->stream);
    if (made) rc = wl_nccl_fail(api, s->comm, "AllReduce", made, e);
    wl_nccl_leave_call(s);
    return rc;
}

static int watch_ranks(struct wl_comm *c, const struct wl_comm_device *d, bool on, struct wl_err *e)
{
    (void)c;
    return wl_nccl_watch(d->sums, on, e);
}

static void abandon(struct wl_comm *c, int status, const char *why)
{
    struct wl_nccl *n = c->state;
    n->host.ops->abandon(&n->host, status, why); /* first, whatever the GPU does */
    for (struct wl_nccl_sums *s = n->sums; s; s = s->next) {
        forget_graphs(s);
        wl_nccl_abort(s);
    }
}

/* ---- what the host's communicator does ---- */

static void *alloc_shared(struct wl_comm *c, size_t bytes, struct wl_err *e)
{
    return host(c)->ops->alloc_shared(host(c), bytes, e);
}

static int all_reduce_sum(struct wl_comm *c, float *x, size_t n, struct wl_err *e)
{
    return host(c)->ops->all_reduce_sum(host(c), x, n, e);
}

static int reduce_start(struct wl_comm *c, float *x, size_t n, struct wl_err *e)
{
    return host(c)->ops->reduce_start(host(c), x, n, e);
}

static int reduce_poll(struct wl_comm *c, struct wl_err *e) { return host(c)->ops->reduce_poll(host(c), e); }

static int reduce_finish(struct wl_comm *c, struct wl_err *e) { return host(c)->ops->reduce_finish(host(c), e); }

static int all_reduce_sum_f64(struct wl_comm *c, double *x, size_t n, struct wl_err *e)
{
    return host(c)->ops->all_reduce_sum_f64(host(c), x, n, e);
}

static int broadcast(struct wl_comm *c, void *p, size_t bytes, int root, struct wl_err *e)
{
    return host(c)->ops->broadcast(host(c), p, bytes, root, e);
}

static int barrier(struct wl_comm *c, struct wl_err *e) { return host(c)->ops->barrier(host(c), e); }

const struct wl_comm_ops wl_comm_nccl = {
    .name = "nccl",
    .help = "ranks on GPUs, started as by mpi or shm: gradients are summed by NCCL (libnccl.so.2, opened when used)",
    .open = open_nccl,
    .alloc_shared = alloc_shared,
    .all_reduce_sum = all_reduce_sum,
    .reduce_start = reduce_start,
    .reduce_poll = reduce_poll,
    .reduce_finish = reduce_finish,
    .all_reduce_sum_f64 = all_reduce_sum_f64,
    .broadcast = broadcast,
    .barrier = barrier,
    .abandon = abandon,
    .attach = attach,
    .enqueue_sum = enqueue_sum,
    .watch = watch_ranks,
};
