#include "cmd/train.h"

/* The loader gives each sample to exactly one rank, and every rank the same number of calls, of which the last may
 * bring less than a batch, or nothing: what is not there counts nowhere. */
static int run_own(struct wl_train *t, struct wl_loader *set, struct wl_counts *counts, struct wl_err *e)
{
    float *images = wl_plan_input(t->plan, t->net.images);
    int32_t *labels = wl_plan_input(t->plan, t->net.labels);
    int rc = wl_loader_epoch(set, 0, e);
    while (rc == 0) {
        int64_t n;
        int got = wl_loader_next(set, images, labels, &n, e);
        if (got <= 0) return got;
        for (int64_t i = n; i < t->opts->local_batch; i++) labels[i] = -1;
        if (n > 0) rc = wl_plan_eval(t->plan, counts, e);
    }
    return rc;
}

int wl_train_validate(struct wl_train *t, struct wl_loader *set, struct wl_counts *counts, struct wl_err *e)
{
    int rc = wl_plan_average_statistics(t->plan, e);
    if (rc) return rc;
    struct wl_counts own = { 0 };
    rc = wl_comm_agree(t->comm, run_own(t, set, &own, e), e);
    if (rc) {
        t->agreed = true;
        return rc;
    }
    double sums[] = { own.loss_sum, (double)own.samples, (double)own.top1, (double)own.top5 };
    rc = t->comm->ops->all_reduce_sum_f64(t->comm, sums, WL_COUNT(sums), e);
    *counts = (struct wl_counts) {
        .loss_sum = sums[0], .samples = (int64_t)sums[1], .top1 = (int64_t)sums[2], .top5 = (int64_t)sums[3]
    };
    return rc;
}
