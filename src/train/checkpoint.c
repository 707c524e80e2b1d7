/* What a checkpoint says about the training beside the tensors, and how a training takes it up again. */
#include "train/train.h"

#include <math.h>

static void describe(const struct wl_trainer *t, struct wl_json *head, struct wl_arena *once)
{
    const struct wl_train_opts *o = t->opts;
    const struct wl_train_task *j = t->job;
    wl_json_add_str(head, "model", j->workload->name);
    wl_json_add_str(head, "size", o->size);
    for (int i = 0; i < j->n_facts; i++)
        if (!j->facts[i].text) wl_json_add_int(head, j->facts[i].name, j->facts[i].value);
    wl_json_add_int(head, "seed", o->seed);
    wl_json_add_int(head, "train_samples", j->train->samples);
    wl_json_add_int(head, "global_batch", t->global_batch);
    wl_opts_json(j->rows, o, wl_json_add_object(head, "options"));

    const struct wl_counts *c = &t->at.counts;
    struct wl_json *at = wl_json_add_object(head, "at");
    wl_json_add_int(at, "epoch", t->at.epoch);
    wl_json_add_int(at, "epoch_updates", t->at.epoch_updates);
    wl_json_add_int(at, "updates", t->at.updates);
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
        rc = wl_checkpoint_save(t->opts->checkpoint_dir, t->at.updates, t->opts->checkpoint_keep, head, t->plan, once,
                                e);
        wl_arena_free(once);
    }
    rc = wl_comm_agree(t->comm, rc, e);
    t->agreed = rc != 0;
    return rc;
}

/* ---- taking it up again ----------------------------------------------------------------------------------------- */

static int check_same(const struct wl_trainer *t, const struct wl_checkpoint *c, struct wl_err *e)
{
    const struct wl_train_task *j = t->job;
    int rc = wl_checkpoint_check_text(c, "model", j->workload->name, e);
    if (!rc) rc = wl_checkpoint_check_text(c, "size", t->opts->size, e);
    for (int i = 0; i < j->n_facts && !rc; i++)
        if (!j->facts[i].text)
            rc = wl_checkpoint_check_int(c, j->facts[i].name, j->facts[i].value, j->facts[i].before, e);
    if (!rc) rc = wl_checkpoint_check_int(c, "seed", t->opts->seed, -1, e);
    return rc ? rc : wl_checkpoint_check_int(c, "train_samples", j->train->samples, -1, e);
}

/* Between epochs the global batch may change; inside one the place in the order of samples counts by it. */
static int read_position(struct wl_trainer *t, const struct wl_checkpoint *c, struct wl_err *e)
{
    const struct wl_json *at = wl_json_get(c->head, "at"), *schedule = wl_json_get(c->head, "schedule");
    t->at = (struct wl_train_position) {
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
    if (t->at.epoch < 1 || t->at.epoch_updates < 0 || t->at.updates < 0 || isnan(t->schedule.cut))
        return wl_fail(e, WL_EINVAL, "%s does not say where the training stood", c->path);
    return t->at.epoch_updates > 0 ? wl_checkpoint_check_int(c, "global_batch", t->global_batch, -1, e) : 0;
}

static int find(struct wl_trainer *t, struct wl_checkpoint *c, bool *found, struct wl_err *e)
{
    int rc = wl_checkpoint_newest(t->opts->checkpoint_dir, c, found, t->arena, e);
    if (rc || !*found) return rc;
    rc = check_same(t, c, e);
    return rc ? rc : read_position(t, c, e);
}

/* Rank 0 looks and tells the others where the training stands. */
int wl_train_checkpoint_resume(struct wl_trainer *t, struct wl_err *e)
{
    struct wl_checkpoint c = { 0 };
    struct {
        struct wl_train_position at;
        struct wl_lr_schedule schedule;
        bool found;
    } told = { 0 };
    int rc = 0;
    if (t->comm->rank == 0) rc = find(t, &c, &told.found, e);
    rc = wl_comm_agree(t->comm, rc, e);
    t->agreed = rc != 0;
    told.at = t->at;
    told.schedule = t->schedule;
    if (!rc) rc = t->comm->ops->broadcast(t->comm, &told, sizeof told, 0, e);
    if (rc) return rc;
    if (!told.found) {
        if (t->comm->rank == 0) wl_log(WL_INFO, "train", "no checkpoint in %s: starting anew", t->opts->checkpoint_dir);
        return 0;
    }
    t->at = told.at;
    t->schedule = told.schedule;
    rc = wl_checkpoint_restore(&c, t->plan, t->comm, t->arena, e);
    t->agreed = rc != 0;
    wl_plan_set_updates(t->plan, t->at.updates);
    if (rc || t->comm->rank > 0) return rc;
    wl_train_autotune_compare(t->plan, c.head, t->arena);
    wl_log(WL_INFO, "train", "goes on from %s: epoch %lld, update %lld", c.path, (long long)t->at.epoch,
           (long long)t->at.updates);
    return rc;
}
