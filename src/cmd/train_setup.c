/* From options to something that can be trained: data, network, plan, schedule. */
#include "cmd/train.h"

#include <math.h>
#include <unistd.h>

static struct wl_loader_opts loader_opts(const struct wl_train *t, bool train)
{
    const struct wl_train_opts *o = t->opts;
    return (struct wl_loader_opts) {
        .dir = o->data,
        .train = train,
        .image_size = o->image_size,
        .classes = o->classes,
        .samples = train ? o->train_samples : o->val_samples,
        .batch = o->local_batch,
        .rank = t->comm->rank,
        .ranks = t->comm->size,
        .threads = o->loader_threads,
        .seed = (uint64_t)o->seed,
        .drop_last = train,
        .skip_bad = o->skip_bad,
        .skip_crc = !o->check_crc,
        .augment = train && o->augment,
    };
}

/* The training set as validation takes its own: in order, all of it, the centre of each picture. */
static struct wl_loader_opts eval_train_opts(const struct wl_train *t)
{
    struct wl_loader_opts o = loader_opts(t, true);
    o.ordered = true;
    o.drop_last = o.augment = false;
    return o;
}

static int open_data(struct wl_train *t, struct wl_err *e)
{
    struct wl_loader_opts train = loader_opts(t, true), val = loader_opts(t, false), again = eval_train_opts(t);
    int rc = wl_loader_open(&t->train, &train, t->arena, e);
    if (rc) return rc;
    t->classes = val.classes = again.classes = wl_loader_classes(t->train);
    if (t->opts->eval_train) rc = wl_loader_open(&t->eval_train, &again, t->arena, e);
    if (!rc && t->opts->validate) rc = wl_loader_open(&t->val, &val, t->arena, e);
    return rc;
}

static int count_updates(struct wl_train *t, struct wl_err *e)
{
    const struct wl_train_opts *o = t->opts;
    t->epoch_updates = wl_loader_batches(t->train) / o->accumulation;
    if (t->epoch_updates > 0) return 0;
    return wl_fail(
        e, WL_EINVAL,
        "%s: %lld training images make no global batch of %lld (%d workers x local batch %lld x accumulation %lld)",
        o->data, (long long)wl_loader_samples(t->train), (long long)t->global_batch, t->comm->size,
        (long long)o->local_batch, (long long)o->accumulation);
}

static int init_schedule(struct wl_train *t, struct wl_err *e)
{
    const struct wl_train_opts *o = t->opts;
    bool given = !isnan(o->lr);
    struct wl_schedule_opts s = {
        .kind = o->lr_schedule,
        .lr = given ? o->lr : wl_model_defaults(t->model, o->size)->lr_256,
        .scale = o->lr_scale || !given,
        .global_batch = t->global_batch,
        .warmup_epochs = o->warmup_epochs,
        .epochs = (double)o->epochs,
        .step_epochs = o->lr_step_epochs,
        .factor = o->lr_factor,
        .patience = (int)o->lr_patience,
        .min_lr = o->lr_min,
    };
    return wl_schedule_init(&t->schedule, &s, e);
}

/* Before hours of training rather than behind them. The rank that writes looks. A training that begins anew in the
 * folder of another would lose its own checkpoints: the newest are kept, by the number of updates. */
static int check_checkpoint_dir(const struct wl_train *t, struct wl_err *e)
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
        .backend = wl_streq(o->backend, "auto") ? NULL : o->backend,
        .threads = (int)o->threads,
        .precision = wl_streq(o->precision, "bf16") ? WL_BF16 : WL_F32,
        .slow_bf16 = o->allow_slow_bf16,
        .seed = (uint64_t)o->seed,
        .micro_batches = (int)o->accumulation,
        .optim = { .kind = "sgd", .momentum = o->momentum, .weight_decay = o->weight_decay, .nesterov = o->nesterov },
    };
}

int wl_train_check_backend(const struct wl_train_opts *o, struct wl_err *e)
{
    const struct wl_plan_opts p = wl_train_plan_opts(o);
    int rc = wl_backend_precision(p.backend, WL_F32, false, e);
    if (rc) return wl_prefix(e, "--backend %s", o->backend);
    rc = wl_backend_precision(p.backend, p.precision, p.slow_bf16, e);
    if (!rc) return 0;
    bool slow_runs = !wl_backend_precision(p.backend, p.precision, true, NULL);
    return wl_prefix(e, "--precision %s%s", o->precision, slow_runs ? " without --allow-slow-bf16" : "");
}

static int build(struct wl_train *t, struct wl_graph *g, struct wl_err *e)
{
    const struct wl_train_opts *o = t->opts;
    int rc = open_data(t, e);
    if (!rc) rc = check_checkpoint_dir(t, e);
    if (!rc) rc = wl_train_check_backend(t->opts, e);
    if (!rc) rc = count_updates(t, e);
    if (!rc) rc = init_schedule(t, e);
    if (rc) return rc;
    struct wl_model_opts m = {
        .size = o->size, .batch = o->local_batch, .image_size = o->image_size, .classes = t->classes
    };
    return t->model->build(g, &m, &t->net, e);
}

int wl_train_setup(struct wl_train *t, struct wl_err *e)
{
    const struct wl_train_opts *o = t->opts;
    struct wl_graph *g = wl_graph_new(t->arena);
    int rc = wl_comm_agree(t->comm, build(t, g, e), e);
    if (rc) {
        t->agreed = true;
        return rc;
    }
    rc = wl_train_plan(&t->plan, g, o, false, t->comm, t->arena, e);
    t->epochs = wl_new_array(t->arena, struct wl_train_epoch, (size_t)o->epochs);
    t->at = (struct wl_train_at) { .epoch = 1 };
    return rc;
}
