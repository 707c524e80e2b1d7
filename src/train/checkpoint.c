/* The head of a checkpoint, which describes the training besides the tensors, and resuming from it. */
#include "train/internal.h"

#include <math.h>

static void describe(const struct wl_trainer *t, struct wl_json *head, struct wl_arena *once)
{
    const struct wl_train_opts *o = t->opts;
    const struct wl_train_task *j = t->task;
    wl_json_add_str(head, "model", j->workload->name);
    wl_json_add_str(head, "size", o->size);
    for (int i = 0; i < j->n_attrs; i++)
        if (!j->attrs[i].text) wl_json_add_int(head, j->attrs[i].name, j->attrs[i].value);
    wl_json_add_int(head, "seed", o->seed);
    wl_json_add_int(head, "train_samples", j->train->samples);
    wl_json_add_int(head, "global_batch", t->global_batch);
    wl_opts_json(j->rows, o, wl_json_add_object(head, "options"));

    const struct wl_counts *c = &t->position.counts;
    struct wl_json *at = wl_json_add_object(head, "at");
    wl_json_add_int(at, "epoch", t->position.epoch);
    wl_json_add_int(at, "epoch_updates", t->position.epoch_updates);
    wl_json_add_int(at, "updates", t->position.updates);
    wl_json_add_real(at, "loss_sum", c->loss_sum);
    wl_json_add_int(at, "samples", c->samples);
    wl_json_add_int(at, "top1", c->top1);
    wl_json_add_int(at, "top5", c->top5);

    wl_train_autotune_describe(t->plan, head, once);

    struct wl_json *schedule = wl_json_add_object(head, "schedule");
    wl_json_add_real(schedule, "cut", t->schedule.cut);
    wl_json_add_real(schedule, "best", t->schedule.best); /* null before the first loss */
    wl_json_add_int(schedule, "bad", t->schedule.bad);
}

int wl_train_checkpoint_save(struct wl_trainer *t, struct wl_err *e)
{
    int rc = wl_plan_average_statistics(t->plan, e);
    if (rc) return rc;
    if (t->comm->rank == 0) {
        struct wl_arena *once = wl_arena_new(t->arena);
        struct wl_json *head = wl_json_root_object(once);
        describe(t, head, once);
        rc = wl_checkpoint_save(t->opts->checkpoint_dir, t->position.updates, t->opts->checkpoint_keep, head, t->plan,
                                once, e);
        wl_arena_free(once);
    }
    rc = wl_comm_agree(t->comm, rc, e);
    t->error_is_collective = rc != 0;
    return rc;
}

/* ---- resuming ----------------------------------------------------------------------------------------- */

static int check_same(const struct wl_trainer *t, const struct wl_checkpoint *c, struct wl_err *e)
{
    const struct wl_train_task *j = t->task;
    int rc = wl_checkpoint_check_text(c, "model", j->workload->name, e);
    if (!rc) rc = wl_checkpoint_check_text(c, "size", t->opts->size, e);
    for (int i = 0; i < j->n_attrs && !rc; i++)
        if (!j->attrs[i].text)
            rc = wl_checkpoint_check_int(c, j->attrs[i].name, j->attrs[i].value, j->attrs[i].default_value, e);
    if (!rc) rc = wl_checkpoint_check_int(c, "seed", t->opts->seed, -1, e);
    return rc ? rc : wl_checkpoint_check_int(c, "train_samples", j->train->samples, -1, e);
}

/* Between epochs the global batch may change; within one it determines the position in the order of samples. */
static int read_position(struct wl_trainer *t, const struct wl_checkpoint *c, struct wl_err *e)
{
    const struct wl_json *at = wl_json_get(c->head, "at"), *schedule = wl_json_get(c->head, "schedule");
    t->position = (struct wl_train_position) {
        .epoch = wl_json_int(wl_json_get(at, "epoch"), 0),
        .epoch_updates = wl_json_int(wl_json_get(at, "epoch_updates"), -1),
        .updates = wl_json_int(wl_json_get(at, "updates"), -1),
        .counts = { .loss_sum = wl_json_real(wl_json_get(at, "loss_sum")),
                    .samples = wl_json_int(wl_json_get(at, "samples"), 0),
                    .top1 = wl_json_int(wl_json_get(at, "top1"), 0),
                    .top5 = wl_json_int(wl_json_get(at, "top5"), 0) },
    };
    t->schedule.cut = wl_json_real(wl_json_get(schedule, "cut"));
    t->schedule.best = wl_json_real(wl_json_get(schedule, "best"));
    t->schedule.bad = (int)wl_json_int(wl_json_get(schedule, "bad"), 0);
    if (isnan(t->schedule.best)) t->schedule.best = INFINITY;
    if (t->position.epoch < 1 || t->position.epoch_updates < 0 || t->position.updates < 0 || isnan(t->schedule.cut))
        return wl_fail(e, WL_EINVAL, "%s: no valid training position (\"at\" and \"schedule\")", c->path);
    return t->position.epoch_updates > 0 ? wl_checkpoint_check_int(c, "global_batch", t->global_batch, -1, e) : 0;
}

static int find(struct wl_trainer *t, struct wl_checkpoint *c, bool *found, struct wl_err *e)
{
    int rc = wl_checkpoint_newest(t->opts->checkpoint_dir, c, found, t->arena, e);
    if (rc || !*found) return rc;
    rc = check_same(t, c, e);
    return rc ? rc : read_position(t, c, e);
}

/* Rank 0 reads the position and broadcasts it. */
int wl_train_checkpoint_resume(struct wl_trainer *t, struct wl_err *e)
{
    struct wl_checkpoint c = { 0 };
    struct {
        struct wl_train_position position;
        struct wl_lr_schedule schedule;
        bool found;
    } message = { 0 };
    int rc = 0;
    if (t->comm->rank == 0) rc = find(t, &c, &message.found, e);
    rc = wl_comm_agree(t->comm, rc, e);
    t->error_is_collective = rc != 0;
    message.position = t->position;
    message.schedule = t->schedule;
    if (!rc) rc = t->comm->ops->broadcast(t->comm, &message, sizeof message, 0, e);
    if (rc) return rc;
    if (!message.found) {
        if (t->comm->rank == 0)
            wl_log(WL_INFO, "train", "no checkpoint in %s: starting from the first epoch", t->opts->checkpoint_dir);
        return 0;
    }
    t->position = message.position;
    t->schedule = message.schedule;
    rc = wl_checkpoint_restore(&c, t->plan, t->comm, t->arena, e);
    t->error_is_collective = rc != 0;
    wl_plan_set_updates(t->plan, t->position.updates);
    if (rc || t->comm->rank > 0) return rc;
    wl_train_autotune_compare(t->plan, c.head, t->arena);
    wl_log(WL_INFO, "train", "resuming from %s: epoch %lld, update %lld", c.path, (long long)t->position.epoch,
           (long long)t->position.updates);
    return rc;
}
