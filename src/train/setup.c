/* From options to something that can be trained: data, network, plan, schedule. */
#include "train/train.h"

#include <math.h>
#include <unistd.h>

/* Evaluation takes a whole set, in order; training leaves out what does not fill a global batch. */
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
        .skip_bad = t->job->skip_bad,
    };
    return wl_loader_open(feed, set, &o, t->arena, e);
}

static int open_data(struct wl_trainer *t, struct wl_err *e)
{
    struct wl_train_task *j = t->job;
    int rc = j->workload->open(j, e);
    if (!rc) rc = open_feed(t, j->train, true, &t->train, e);
    if (!rc && t->opts->eval_train) rc = open_feed(t, j->train, false, &t->eval_train, e);
    if (!rc && t->opts->validate) rc = open_feed(t, j->val, false, &t->val, e);
    return rc;
}

static int count_updates(struct wl_trainer *t, struct wl_err *e)
{
    const struct wl_train_opts *o = t->opts;
    const struct wl_train_task *j = t->job;
    t->epoch_updates = wl_loader_batches(t->train) / o->accumulation;
    if (t->epoch_updates > 0) return 0;
    return wl_fail(
        e, WL_EINVAL,
        "%s: %lld training %ss make no global batch of %lld (%d workers x local batch %lld x accumulation %lld)",
        j->data, (long long)j->train->samples, j->workload->noun, (long long)t->global_batch, t->comm->size,
        (long long)o->local_batch, (long long)o->accumulation);
}

static int init_schedule(struct wl_trainer *t, struct wl_err *e)
{
    const struct wl_train_opts *o = t->opts;
    const struct wl_train_defaults *d = wl_train_defaults(t->job);
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

/* Before hours of training rather than behind them. The rank that writes looks. A training that begins anew in the
 * folder of another would lose its own checkpoints: the newest are kept, by the number of updates. */
static int check_checkpoint_dir(const struct wl_trainer *t, struct wl_err *e)
{
    const char *dir = t->opts->checkpoint_dir;
    bool used;
    if (!dir || t->comm->rank > 0) return 0;
    int rc = wl_mkdirs(dir, e);
    if (!rc && access(dir, W_OK)) rc = wl_fail_errno(e, "checkpoints cannot be written to %s", dir);
    if (!rc) rc = wl_checkpoint_any(dir, &used, t->arena, e);
    if (rc || !used || t->opts->resume) return rc;
    return wl_fail(e, WL_EINVAL,
                   "%s holds checkpoints of an earlier training: --resume goes on from them; to begin anew, "
                   "name another folder or remove them",
                   dir);
}

struct wl_plan_opts wl_train_plan_opts(const struct wl_train_opts *o)
{
    return (struct wl_plan_opts) {
        .backend = wl_str_eq(o->backend, "auto") ? NULL : o->backend,
        .batch = o->local_batch,
        .threads = (int)o->threads,
        .precision = wl_str_eq(o->precision, "bf16") ? WL_BF16 : WL_F32,
        .slow_bf16 = o->allow_slow_bf16,
        .seed = (uint64_t)o->seed,
        .micro_batches = (int)o->accumulation,
        .recompute = wl_str_eq(o->recompute, "yes"),
        .memory_bytes = isnan(o->memory_gb) ? 0 : (size_t)(o->memory_gb * 1e9),
        .optim = { .kind = o->optimizer,
                   .momentum = o->momentum,
                   .weight_decay = o->weight_decay,
                   .nesterov = o->nesterov,
                   .beta1 = o->beta1,
                   .beta2 = o->beta2,
                   .eps = o->eps,
                   .decay_weights_only = o->decay_weights_only },
    };
}

int wl_train_check_backend(const struct wl_train_opts *o, struct wl_err *e)
{
    const struct wl_plan_opts p = wl_train_plan_opts(o);
    int rc = wl_backend_precision(p.backend, WL_F32, false, e);
    if (rc) return wl_err_prefix(e, "--backend %s", o->backend);
    rc = wl_backend_precision(p.backend, p.precision, p.slow_bf16, e);
    if (!rc) return 0;
    bool slow_runs = !wl_backend_precision(p.backend, p.precision, true, NULL);
    return wl_err_prefix(e, "--precision %s%s", o->precision, slow_runs ? " without --allow-slow-bf16" : "");
}

static int build(struct wl_trainer *t, struct wl_graph *g, struct wl_err *e)
{
    int rc = open_data(t, e);
    if (!rc) rc = check_checkpoint_dir(t, e);
    if (!rc) rc = wl_train_check_backend(t->opts, e);
    if (!rc) rc = count_updates(t, e);
    if (!rc) rc = init_schedule(t, e);
    return rc ? rc : t->job->workload->build(t->job, g, e);
}

/* The inputs of the plan, which the feeds fill: as large as the sets take them for. */
static void find_inputs(struct wl_trainer *t)
{
    const struct wl_train_task *j = t->job;
    for (int i = 0; i < j->train->buffers; i++) {
        const size_t bytes = wl_plan_input_bytes(t->plan, j->inputs[i]);
        WL_CHECK(wl_dataset_batch_bytes(j->train, i, t->opts->local_batch) == bytes);
        WL_CHECK(!j->val || wl_dataset_batch_bytes(j->val, i, t->opts->local_batch) == bytes);
        t->inputs[i] = wl_plan_input(t->plan, j->inputs[i]);
    }
}

static int init(struct wl_trainer *t, struct wl_err *e)
{
    const struct wl_workload *w = t->job->workload;
    if (!w->init) return 0;
    int rc = wl_comm_agree(t->comm, w->init(t->job, t->plan, e), e);
    t->agreed = rc != 0;
    return rc;
}

int wl_train_setup(struct wl_trainer *t, struct wl_err *e)
{
    const struct wl_train_opts *o = t->opts;
    struct wl_graph *g = wl_graph_new(t->arena);
    int rc = wl_comm_agree(t->comm, build(t, g, e), e);
    if (rc) {
        t->agreed = true;
        return rc;
    }
    rc = wl_train_plan(&t->plan, g, o, false, t->comm, t->arena, e);
    if (rc) return rc;
    find_inputs(t);
    t->epochs = wl_new_array(t->arena, struct wl_train_epoch, (size_t)o->epochs);
    t->at = (struct wl_train_position) { .epoch = 1 };
    return init(t, e);
}
