#include "train/internal.h"

#include <math.h>

const char *const wl_train_phase_names[WL_PHASES] = {
    [WL_PHASE_TRAIN] = "train", [WL_PHASE_VAL] = "val", [WL_PHASE_EVAL_TRAIN] = "eval_train"
};

static int eval(struct wl_trainer *t, struct wl_loader *feed, struct wl_counts *counts, struct wl_err *e)
{
    int rc = wl_plan_start_eval(t->plan, counts, e);
    if (rc) return rc;
    wl_train_batch_prepare(t, feed, false);
    return wl_plan_finish(t->plan, e);
}

/* The feed gives each sample to exactly one rank, and every rank the same number of calls. The last may bring less than
 * a batch, or nothing; padding does not count. */
static int evaluate_local(struct wl_trainer *t, struct wl_loader *feed, struct wl_counts *counts, double *custom_sums,
                          struct wl_err *e)
{
    const struct wl_workload *w = t->task->workload;
    const struct wl_dataset *set = feed == t->val_feed ? t->task->val : t->task->train;
    int rc = wl_loader_start_epoch(feed, 0, 0, e);
    wl_train_batch_drop(t);
    while (rc == 0) {
        int64_t n;
        int got = wl_train_batch_take(t, feed, &n, e);
        if (got <= 0) return got;
        if (n > 0 && eval(t, feed, counts, e)) rc = wl_err_prefix(e, "%s", set->name);
        if (n > 0 && !rc && w->add_metrics) w->add_metrics(t->task, t->plan, n, custom_sums);
    }
    return rc;
}

static void put_counts(const struct wl_counts *c, double *sums)
{
    sums[WL_SUM_LOSS] = c->loss_sum;
    sums[WL_SUM_COUNTED] = (double)c->samples;
    sums[WL_SUM_TOP1] = (double)c->top1;
    sums[WL_SUM_TOP5] = (double)c->top5;
}

static void compute(const struct wl_train_task *j, const double *sums, double *metrics)
{
    for (size_t i = 0; i < j->n_metrics; i++)
        metrics[i] = sums[WL_SUM_COUNTED] > 0 ? j->metrics[i].value(&j->metrics[i], sums) : NAN;
}

void wl_train_metrics_of_counts(const struct wl_train_task *j, const struct wl_counts *c, double *metrics)
{
    double sums[WL_MAX_SUMS];
    for (int i = 0; i < WL_MAX_SUMS; i++) sums[i] = NAN;
    put_counts(c, sums);
    compute(j, sums, metrics);
}

int wl_train_evaluate(struct wl_trainer *t, struct wl_loader *feed, double *metrics, struct wl_err *e)
{
    double sums[WL_MAX_SUMS] = { 0 };
    struct wl_counts local = { 0 };
    const int n = WL_SUM_CUSTOM + t->task->custom_sums;
    WL_CHECK(n <= WL_MAX_SUMS);
    int rc = wl_plan_average_statistics(t->plan, e);
    if (rc) return rc;
    rc = wl_comm_agree(t->comm, evaluate_local(t, feed, &local, sums + WL_SUM_CUSTOM, e), e);
    if (rc) {
        t->error_is_collective = true;
        return rc;
    }
    put_counts(&local, sums);
    rc = t->comm->ops->all_reduce_sum_f64(t->comm, sums, (size_t)n, e);
    if (!rc) compute(t->task, sums, metrics);
    return rc;
}
