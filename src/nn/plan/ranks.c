/* What the ranks of a job do together: the check at the start, sums of gradients, means of statistics. The
 * communicator sums gradients where they are if that is the host's memory, or if it can sum in the device's; else
 * copies that the device makes as buckets become final. */
#include "nn/plan/internal.h"

#include <string.h>

/* Where device and communicator can sum in the device's memory. */
static int attach(struct wl_plan *p, struct wl_err *e)
{
    if (!p->ops->sum || !p->comm->ops->attach) return 0;
    p->sums.enter = p->ops->enter;
    p->sums.forget = p->ops->forget_sums;
    p->sums.of = p->program.device;
    p->sums.stream = p->ops->sum_stream(p->program.device);
    return p->comm->ops->attach(p->comm, &p->sums, p->arena, e);
}

int wl_plan_init_ranks(struct wl_plan *p, struct wl_err *e)
{
    const struct wl_plan_info *f = &p->info;
    int rc = 0;
    if (p->statistic_floats)
        rc = wl_plan_host_memory(p, p->statistic_floats * sizeof(float), "statistics", (void **)&p->statistic_staging,
                                 e);
    if (rc || p->ops->host_addressable || !f->gradient_bytes) return rc;
    rc = attach(p, e);
    if (rc || p->sums.sums) return rc;
    if (!p->comm->ops->alloc_shared)
        return wl_plan_host_memory(p, f->gradient_bytes, "gradients", (void **)&p->gradient_staging, e);
    p->gradient_staging = p->comm->ops->alloc_shared(p->comm, f->gradient_bytes, e);
    return p->gradient_staging ? 0 : e ? e->code : WL_ENOMEM;
}

/* ---- the start ---- */

/* FNV-1a over words. */
static int hash_params(struct wl_plan *p, uint64_t *hash, struct wl_err *e)
{
    enum { PIECE = 1 << 14 };
    uint32_t bits[PIECE];
    int rc = 0;
    for (size_t at = 0; at < p->param_floats && !rc; at += PIECE) {
        const size_t n = p->param_floats - at < PIECE ? p->param_floats - at : PIECE;
        rc = p->ops->get(p->program.device, bits, p->param + at, n * sizeof *bits, e);
        for (size_t i = 0; i < n && !rc; i++) *hash = (*hash ^ bits[i]) * 0x100000001b3u;
    }
    return rc;
}

/* Gradients are summed and buckets reduced as raw memory, so all ranks must have the same layouts. Parameters that
 * start with the same bits at the same places prove that, and that the seeds agree. */
int wl_plan_check_same_start(struct wl_plan *p, struct wl_err *e)
{
    uint64_t mine = 0, first;
    int rc = hash_params(p, &mine, e);
    if (rc) return rc;
    first = mine;
    rc = p->comm->ops->broadcast(p->comm, &first, sizeof first, 0, e);
    if (rc) return rc;
    if (first != mine)
        rc = wl_fail(e, WL_EINVAL,
                     "the parameters differ from those of rank 0 at the start: the ranks have another seed, another "
                     "oneDNN, or processors with other instruction sets");
    return wl_comm_agree(p->comm, rc, e);
}

/* ---- gradients ---- */

static double seconds_since(int64_t t_ns) { return (double)(wl_now_ns() - t_ns) / (double)WL_NS_PER_S; }

static int enqueue_sum(void *plan, float *at, size_t n, struct wl_err *e)
{
    struct wl_plan *p = plan;
    return p->comm->ops->enqueue_sum(p->comm, &p->sums, at, n, e);
}

static int hand_over(struct wl_plan *p, size_t bucket, struct wl_err *e)
{
    const struct wl_bucket *b = &p->buckets[bucket];
    void *device = p->program.device;
    float *at = p->gradient + b->from;
    if (p->ops->host_addressable) return p->comm->ops->reduce_start(p->comm, at, b->n, e);
    if (p->sums.sums) return p->ops->sum(device, enqueue_sum, p, at, b->n, e);
    return p->ops->get_async(device, p->gradient_staging + b->from, at, b->n * sizeof *at, bucket, e);
}

int wl_plan_reduce(struct wl_plan *p, int i, size_t *bucket, struct wl_err *e)
{
    const int64_t start_ns = wl_now_ns();
    int rc = 0;
    for (; !rc && *bucket < p->n_buckets && p->buckets[*bucket].ready <= i; ++*bucket) rc = hand_over(p, *bucket, e);
    if (!rc && p->ops->host_addressable) rc = p->comm->ops->reduce_poll(p->comm, e);
    p->times.reduce_s += seconds_since(start_ns);
    return rc;
}

int wl_plan_join_sums(struct wl_plan *p, struct wl_err *e)
{
    return p->sums.sums ? p->ops->join_sums(p->program.device, e) : 0;
}

int wl_plan_watch_ranks(struct wl_plan *p, bool on, struct wl_err *e)
{
    return p->sums.sums ? p->comm->ops->watch(p->comm, &p->sums, on, e) : 0;
}

/* The wait for a copy is one for the backward pass: it does not count as communication. */
static int reduce_copies(struct wl_plan *p, struct wl_err *e)
{
    int rc = 0;
    for (size_t i = 0; i < p->n_buckets && !rc; i++) {
        const struct wl_bucket *b = &p->buckets[i];
        rc = p->ops->wait(p->program.device, i, e);
        const int64_t start_ns = wl_now_ns();
        if (!rc) rc = p->comm->ops->reduce_start(p->comm, p->gradient_staging + b->from, b->n, e);
        p->times.reduce_s += seconds_since(start_ns);
    }
    return rc;
}

int wl_plan_finish_reducing(struct wl_plan *p, struct wl_err *e)
{
    const bool in_place = p->ops->host_addressable;
    if (p->sums.sums) return 0;
    int rc = in_place ? 0 : reduce_copies(p, e);
    const int64_t start_ns = wl_now_ns();
    if (!rc) rc = p->comm->ops->reduce_finish(p->comm, e);
    if (!rc && !in_place)
        rc = p->ops->put(p->program.device, p->gradient, p->gradient_staging, p->info.gradient_bytes, e);
    p->times.reduce_s += seconds_since(start_ns);
    return rc;
}

/* ---- statistics ---- */

int wl_plan_average_statistics(struct wl_plan *p, struct wl_err *e)
{
    if (!p->comm || !p->statistic_floats) return 0;
    const size_t bytes = p->statistic_floats * sizeof(float);
    float *mean = p->statistic_staging;
    int rc = p->ops->get(p->program.device, mean, p->statistic, bytes, e);
    if (!rc) rc = p->comm->ops->all_reduce_sum(p->comm, mean, p->statistic_floats, e);
    for (size_t i = 0; !rc && i < p->statistic_floats; i++) mean[i] /= (float)p->comm->size;
    return rc ? rc : p->ops->put(p->program.device, p->statistic, mean, bytes, e);
}
