/* One rank alone: nothing to exchange. */
#include "nn/comm/internal.h"

static void *alloc_shared(struct wl_comm *c, size_t bytes, struct wl_err *e)
{
    return wl_try_alloc(c->arena, bytes, 4096, "gradients", e);
}

static int all_reduce_sum(struct wl_comm *c, float *x, size_t n, struct wl_err *e)
{
    (void)c, (void)x, (void)n, (void)e;
    return 0;
}

static int nothing(struct wl_comm *c, struct wl_err *e)
{
    (void)c, (void)e;
    return 0;
}

static int all_reduce_sum_f64(struct wl_comm *c, double *x, size_t n, struct wl_err *e)
{
    (void)c, (void)x, (void)n, (void)e;
    return 0;
}

static int broadcast(struct wl_comm *c, void *p, size_t n_bytes, int root, struct wl_err *e)
{
    (void)c, (void)p, (void)n_bytes, (void)root, (void)e;
    return 0;
}

static void abandon(struct wl_comm *c, int status, const char *why) { (void)c, (void)status, (void)why; }

static int open_null(struct wl_comm *c, const struct wl_comm_opts *opts, struct wl_err *e)
{
    (void)c;
    if (opts->workers > 1)
        return wl_fail(e, WL_EUSAGE, "communication by null is for one worker, not %lld: use shm or auto",
                       (long long)opts->workers);
    return 0;
}

const struct wl_comm_ops wl_comm_null = {
    .name = "null",
    .help = "one rank",
    .open = open_null,
    .alloc_shared = alloc_shared,
    .all_reduce_sum = all_reduce_sum,
    .reduce_start = all_reduce_sum,
    .reduce_poll = nothing,
    .reduce_finish = nothing,
    .all_reduce_sum_f64 = all_reduce_sum_f64,
    .broadcast = broadcast,
    .barrier = nothing,
    .abandon = abandon,
};
