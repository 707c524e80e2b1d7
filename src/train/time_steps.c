#include "train/internal.h"

/* The update has a learning rate of 0: many of them would make numbers of random ones that no training has. */
static int time_step(struct wl_trainer *t, struct wl_by_op *times, struct wl_err *e)
{
    struct wl_counts counts = { 0 };
    wl_by_op_begin(times);
    int rc = wl_plan_train(t->plan, true, true, &counts, e);
    if (!rc) rc = wl_plan_update(t->plan, 0, e);
    wl_by_op_end(times);
    return rc;
}

static int first_batch(struct wl_trainer *t, struct wl_err *e)
{
    int64_t n;
    int rc = wl_loader_start_epoch(t->train_feed, 1, 0, e);
    if (!rc) rc = wl_train_batch_take(t, t->train_feed, &n, e);
    WL_CHECK(rc != 0); /* the data fills a global batch, as setup has checked */
    return rc < 0 ? rc : 0;
}

int wl_train_time_steps(struct wl_trainer *t, size_t rounds, struct wl_by_op **out, struct wl_err *e)
{
    WL_CHECK(t->comm->size == 1);
    t->opts = t->task->opts;
    t->global_batch = t->opts->local_batch * t->opts->accumulation;
    int rc = wl_train_setup(t, e);
    if (!rc) rc = first_batch(t, e);
    if (!rc) rc = wl_plan_measure_peaks(t->plan, e);
    if (rc) return rc;
    struct wl_by_op *times = wl_by_op_new(t->plan, rounds, t->arena);
    for (size_t i = 0; i < rounds && !rc; i++) rc = time_step(t, times, e);
    *out = times;
    return rc;
}
