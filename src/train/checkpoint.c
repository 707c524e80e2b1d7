/* The head of a checkpoint, which describes the training besides the tensors, and resuming from it. */
#include "train/internal.h"

#include <float.h>
#include <math.h>

/* Of f16, and of what continues it: the updates that were skipped count for Adam. */
static void describe_loss_scale(const struct wl_plan *plan, struct wl_json *head)
{
    const struct wl_loss_scale s = wl_plan_loss_scale(plan);
    if (!wl_plan_scales_loss(plan) && !s.skipped) return;
    struct wl_json *o = wl_json_add_object(head, "loss_scale");
    wl_json_add_real(o, "scale", s.scale);
    wl_json_add_int(o, "good", s.good);
    wl_json_add_int(o, "skipped", s.skipped);
}

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

    describe_loss_scale(t->plan, head);
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

/* An object of the file's head, whose numbers are read and checked. */
struct reader {
    const struct wl_checkpoint *file;
    const char *name;
    struct wl_arena *arena;
    struct wl_err *e;
};

static const struct wl_json *value_of(const struct reader *r, const char *key)
{
    return wl_json_get(wl_json_get(r->file->head, r->name), key);
}

static int unexpected(const struct reader *r, const char *key, const char *expected)
{
    const struct wl_json *v = value_of(r, key);
    return wl_fail(r->e, WL_EINVAL, "%s: %s.%s is %s, expected %s", r->file->path, r->name, key,
                   v ? wl_json_text(v, 0, r->arena) : "missing", expected);
}

static int read_int(const struct reader *r, const char *key, int64_t from, int64_t to, int64_t *out)
{
    *out = wl_json_int(value_of(r, key), from - 1);
    if (*out >= from && *out <= to) return 0;
    return unexpected(r, key, wl_strf(r->arena, "%lld to %lld", (long long)from, (long long)to));
}

static int read_real(const struct reader *r, const char *key, double from, double to, double *out)
{
    *out = wl_json_real(value_of(r, key));
    if (*out >= from && *out <= to) return 0;
    return unexpected(r, key, wl_strf(r->arena, "a number from %g to %g", from, to));
}

/* Of the epochs before, which may have had other global batches. */
static int read_updates(const struct reader *r, const struct wl_trainer *t, struct wl_train_position *p)
{
    const int64_t epochs = p->epoch - 1;
    return read_int(r, "updates", epochs + p->epoch_updates, epochs * t->task->train->samples + p->epoch_updates,
                    &p->updates);
}

/* Powers of two; a checkpoint without one: the start. */
static int read_loss_scale(const struct reader *r, const struct wl_train_position *p, struct wl_loss_scale *s)
{
    int exponent;
    *s = WL_LOSS_SCALE_START;
    if (!wl_json_get(r->file->head, r->name)) return 0;
    int rc = read_real(r, "scale", WL_LOSS_SCALE_LEAST, WL_LOSS_SCALE_MOST, &s->scale);
    if (!rc && frexp(s->scale, &exponent) != 0.5) rc = unexpected(r, "scale", "a power of two");
    if (!rc) rc = read_int(r, "good", 0, WL_LOSS_SCALE_GOOD - 1, &s->good);
    return rc ? rc : read_int(r, "skipped", 0, p->updates, &s->skipped);
}

/* Of the epoch so far: a sample counts once, or each of its units; none of updates that were skipped need count. */
static int read_counts(const struct reader *r, const struct wl_trainer *t, bool skipped, struct wl_train_position *p)
{
    struct wl_counts *c = &p->counts;
    const double units = fmax(t->task->units_per_sample, 1);
    const int64_t most = (int64_t)((double)(p->epoch_updates * t->global_batch) * units);
    const double largest = p->epoch_updates > 0 ? DBL_MAX : 0;
    int rc = read_int(r, "samples", p->epoch_updates > 0 && !skipped, most, &c->samples);
    if (!rc) rc = read_int(r, "top1", 0, c->samples, &c->top1);
    if (!rc) rc = read_int(r, "top5", 0, c->samples, &c->top5);
    return rc ? rc : read_real(r, "loss_sum", -largest, largest, &c->loss_sum);
}

/* A loss of the epochs before; none: as if it were infinite. */
static int read_best(const struct reader *r, double *best)
{
    const struct wl_json *v = value_of(r, "best");
    if (!v || !wl_str_eq(wl_json_text(v, 0, r->arena), "null")) return read_real(r, "best", -DBL_MAX, DBL_MAX, best);
    *best = INFINITY;
    return 0;
}

static int read_schedule(const struct reader *r, const struct wl_train_position *p, struct wl_lr_schedule *s)
{
    int64_t bad = 0;
    int rc = read_real(r, "cut", 0, 1, &s->cut);
    if (!rc) rc = read_best(r, &s->best);
    if (!rc) rc = read_int(r, "bad", 0, p->epoch - 1, &bad);
    s->bad = (int)bad;
    return rc;
}

/* Between epochs the global batch may change; within one it determines the position in the order of samples. An epoch
 * whose evaluation failed has all of its updates. */
static int read_position(struct wl_trainer *t, const struct wl_checkpoint *c, struct wl_loss_scale *scale,
                         struct wl_err *e)
{
    const struct reader at = { c, "at", t->arena, e }, schedule = { c, "schedule", t->arena, e },
                        loss_scale = { c, "loss_scale", t->arena, e };
    struct wl_train_position *p = &t->position;
    int rc = read_int(&at, "epoch", 1, WL_TRAIN_MAX_EPOCHS + 1, &p->epoch);
    if (!rc && wl_json_int(value_of(&at, "epoch_updates"), 0) > 0)
        rc = wl_checkpoint_check_int(c, "global_batch", t->global_batch, -1, e);
    if (!rc) rc = read_int(&at, "epoch_updates", 0, t->epoch_updates, &p->epoch_updates);
    if (!rc) rc = read_updates(&at, t, p);
    if (!rc) rc = read_loss_scale(&loss_scale, p, scale);
    if (!rc) rc = read_counts(&at, t, scale->skipped > 0, p);
    return rc ? rc : read_schedule(&schedule, p, &t->schedule);
}

static int find(struct wl_trainer *t, struct wl_checkpoint *c, struct wl_loss_scale *scale, bool *found,
                struct wl_err *e)
{
    const char *dir = t->opts->checkpoint_dir;
    bool any;
    int rc = wl_checkpoint_any(dir, &any, t->arena, e);
    if (!rc) rc = wl_checkpoint_newest(dir, c, found, t->arena, e);
    if (rc || !any) return rc;
    if (!*found)
        return wl_fail(e, WL_EINVAL, "%s: none of its checkpoints can be read; remove them to start anew", dir);
    rc = check_same(t, c, e);
    return rc ? rc : read_position(t, c, scale, e);
}

/* Rank 0 reads the position and broadcasts it. */
int wl_train_checkpoint_resume(struct wl_trainer *t, struct wl_err *e)
{
    struct wl_checkpoint c = { 0 };
    struct {
        struct wl_train_position position;
        struct wl_lr_schedule schedule;
        struct wl_loss_scale loss_scale;
        bool found;
    } message = { 0 };
    int rc = 0;
    if (t->comm->rank == 0) rc = find(t, &c, &message.loss_scale, &message.found, e);
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
    wl_plan_set_loss_scale(t->plan, &message.loss_scale);
    if (rc || t->comm->rank > 0) return rc;
    wl_train_autotune_compare(t->plan, c.head, t->arena);
    wl_log(WL_INFO, "train", "resuming from %s: epoch %lld, update %lld", c.path, (long long)t->position.epoch,
           (long long)t->position.updates);
    return rc;
}
