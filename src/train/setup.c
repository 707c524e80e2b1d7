#include "train/fit.h"
#include "train/internal.h"

#include <math.h>
#include <unistd.h>

/* Evaluation reads the whole set in order; training drops the last incomplete global batch. */
static int open_feed(const struct wl_trainer *t, const struct wl_dataset *set, bool training, struct wl_loader **feed,
                     struct wl_err *e)
{
    const struct wl_loader_opts o = {
        .batch = t->opts->local_batch,
        .rank = t->comm->rank,
        .ranks = t->comm->size,
        .threads = t->opts->loader_threads,
        .seed = (uint64_t)t->opts->seed,
        .training = training,
        .drop_last = training,
        .skip_bad = t->task->skip_bad,
    };
    return wl_loader_open(feed, set, &o, t->arena, e);
}

static int open_data(struct wl_trainer *t, struct wl_err *e)
{
    struct wl_train_task *j = t->task;
    int rc = j->workload->open(j, e);
    if (!rc) rc = open_feed(t, j->train, true, &t->train_feed, e);
    if (!rc && t->opts->eval_train) rc = open_feed(t, j->train, false, &t->eval_train_feed, e);
    if (!rc && t->opts->validate) rc = open_feed(t, j->val, false, &t->val_feed, e);
    return rc;
}

static int count_updates(struct wl_trainer *t, struct wl_err *e)
{
    const struct wl_train_opts *o = t->opts;
    const struct wl_train_task *j = t->task;
    t->epoch_updates = wl_loader_batches(t->train_feed) / o->accumulation;
    if (t->epoch_updates > 0) return 0;
    return wl_fail(
        e, WL_EINVAL,
        "%s: %lld training %ss do not fill a global batch of %lld (%d workers x local batch %lld x accumulation %lld)",
        j->data, (long long)j->train->samples, j->workload->noun, (long long)t->global_batch, t->comm->size,
        (long long)o->local_batch, (long long)o->accumulation);
}

static int init_schedule(struct wl_trainer *t, struct wl_err *e)
{
    const struct wl_train_opts *o = t->opts;
    const struct wl_train_defaults *d = wl_train_defaults(t->task);
    bool given = !isnan(o->lr);
    struct wl_lr_schedule_opts s = {
        .kind = o->lr_schedule,
        .lr = given ? o->lr : d->lr,
        .scale = o->lr_scale || (!given && d->lr_scale),
        .global_batch = t->global_batch,
        .warmup_epochs = o->warmup_updates ? (double)o->warmup_updates / (double)t->epoch_updates : o->warmup_epochs,
        .epochs = (double)o->epochs,
        .step_epochs = o->lr_step_epochs,
        .factor = o->lr_factor,
        .patience = (int)o->lr_patience,
        .min_lr = o->lr_min,
    };
    return wl_lr_schedule_init(&t->schedule, &s, e);
}

/* Checked before hours of training, on the rank that writes. A new training in the folder of another would lose its own
 * checkpoints, as those with the most updates are kept. */
static int check_checkpoint_dir(const struct wl_trainer *t, struct wl_err *e)
{
    const char *dir = t->opts->checkpoint_dir;
    bool used;
    if (!dir || t->comm->rank > 0) return 0;
    int rc = wl_mkdirs(dir, e);
    if (!rc && access(dir, W_OK)) rc = wl_fail_errno(e, "checkpoints cannot be written to %s", dir);
    if (!rc) rc = wl_checkpoint_any(dir, &used, t->arena, e);
    if (rc || !used || t->opts->resume) return rc;
    return wl_fail(
        e, WL_EINVAL,
        "%s holds checkpoints of an earlier training: give --resume to continue it, another folder, or remove them",
        dir);
}

static int build(struct wl_trainer *t, struct wl_graph *g, struct wl_err *e)
{
    int rc = open_data(t, e);
    if (!rc) rc = check_checkpoint_dir(t, e);
    if (!rc) rc = wl_train_check_backend(t->opts, e);
    if (!rc && t->no_device.code) rc = (*e = t->no_device, e->code);
    if (!rc) rc = count_updates(t, e);
    if (!rc) rc = init_schedule(t, e);
    return rc ? rc : t->task->workload->build(t->task, g, e);
}

/* The inputs of the plan, which the feeds fill. Their sizes match the buffers of the data sets. */
static void check_inputs(struct wl_trainer *t)
{
    const struct wl_train_task *j = t->task;
    for (int i = 0; i < j->train->buffers; i++) {
        const size_t bytes = wl_plan_input_bytes(t->plan, j->inputs[i]);
        WL_CHECK(wl_dataset_batch_bytes(j->train, i, t->opts->local_batch) == bytes);
        WL_CHECK(!j->val || wl_dataset_batch_bytes(j->val, i, t->opts->local_batch) == bytes);
    }
    wl_train_find_inputs(t);
}

static int init_weights(struct wl_trainer *t, struct wl_err *e)
{
    const struct wl_workload *w = t->task->workload;
    if (!w->init_weights) return 0;
    int rc = wl_comm_agree(t->comm, w->init_weights(t->task, t->plan, e), e);
    t->error_is_collective = rc != 0;
    return rc;
}

static int plan(struct wl_trainer *t, const struct wl_graph *g, struct wl_err *e)
{
    const bool notify = t->comm->rank == 0 && t->events;
    size_t room = 0;
    const struct wl_train_plan_opts p = { .train = t->opts,
                                          .room = &room,
                                          .comm = t->comm,
                                          .autotune_cache = t->autotune_cache,
                                          .tuning = notify ? t->events->tuning : NULL,
                                          .data = t->events_data };
    int rc = wl_train_plan(&t->plan, g, &p, t->arena, e);
    if (notify && t->events->planned) t->events->planned(t->events_data);
    if (rc == WL_ENOMEM && room) wl_train_add_what_fits(t->task, room, e);
    return rc;
}

/* Ranks that share a GPU would be measured as if each had one. */
static int check_devices(const struct wl_trainer *t, struct wl_err *e)
{
    const struct wl_backend_device *d = &t->device;
    int other;
    if (!wl_backend_on_gpus(wl_train_backend(t->opts))) return 0;
    int rc = wl_comm_find_equal(t->comm, d->uuid, &other, e);
    if (!rc && other >= 0)
        rc = wl_fail(e, WL_EINVAL,
                     "there are more workers than GPUs: %d of them on this node, where this one may use %d GPU%s, and "
                     "rank %d computes on %s too; start at most one worker for each GPU",
                     t->comm->node_size, d->count, d->count == 1 ? "" : "s", other, d->uuid);
    return wl_comm_agree(t->comm, rc, e);
}

int wl_train_setup(struct wl_trainer *t, struct wl_err *e)
{
    const struct wl_train_opts *o = t->opts;
    struct wl_graph *g = wl_graph_new(t->arena);
    int rc = wl_comm_agree(t->comm, build(t, g, e), e);
    if (!rc) rc = check_devices(t, e);
    if (rc) {
        t->error_is_collective = true;
        return rc;
    }
    rc = plan(t, g, e);
    if (rc) return rc;
    check_inputs(t);
    t->epochs = wl_new_array(t->arena, struct wl_train_epoch, (size_t)o->epochs);
    t->position = (struct wl_train_position) { .epoch = 1 };
    return init_weights(t, e);
}
