/* Batches from a loader to the plan's inputs, one ahead where the device computes beside the host. */
#include "train/internal.h"

void wl_train_find_inputs(struct wl_trainer *t)
{
    for (int i = 0; i < t->task->train->buffers; i++) t->inputs[i] = wl_plan_input(t->plan, t->task->inputs[i]);
}

static void fill(struct wl_trainer *t, struct wl_loader *feed)
{
    struct wl_train_batch *b = &t->batch;
    b->got = wl_loader_next(feed, t->inputs, &b->n, &b->error);
    b->there = true;
}

void wl_train_batch_drop(struct wl_trainer *t) { t->batch.there = false; }

int wl_train_batch_take(struct wl_trainer *t, struct wl_loader *feed, int64_t *n, struct wl_err *e)
{
    struct wl_train_batch *b = &t->batch;
    if (!b->there) fill(t, feed);
    b->there = false;
    *n = b->n;
    if (b->got < 0) *e = b->error;
    return b->got;
}

/* What the upload refuses, the run refuses too. */
void wl_train_batch_prepare(struct wl_trainer *t, struct wl_loader *feed, bool training)
{
    struct wl_train_batch *b = &t->batch;
    if (!wl_plan_overlaps(t->plan)) return;
    b->got = wl_plan_next_inputs(t->plan, &b->error);
    b->there = true;
    if (b->got) return;
    wl_train_find_inputs(t);
    fill(t, feed);
    if (b->got > 0 && b->n > 0) (void)!wl_plan_upload(t->plan, training, NULL);
}
