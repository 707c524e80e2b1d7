#include "train/internal.h"

#include <math.h>
#include <wattlaw/mark.h>

/* ---- one update ------------------------------------------------------------------------------------------------- */

static bool is_last_update(const struct wl_trainer *t) { return t->position.epoch_updates + 1 == t->epoch_updates; }

/* A rank whose input fails finishes the update with what its buffers hold, so that the ranks stay in step; then all of
 * them drop the update. `input` keeps that rank's error. */
static int compute(struct wl_trainer *t, struct wl_counts *counts, struct wl_err *input, struct wl_err *e)
{
    const int64_t last = t->opts->accumulation - 1;
    for (int64_t m = 0; m <= last; m++) {
        int64_t n;
        int got = input->code ? 1 : wl_train_batch_take(t, t->train_feed, &n, input);
        WL_CHECK(got != 0); /* the feed has enough batches for the updates of an epoch */
        int rc = wl_plan_start_train(t->plan, m == 0, m == last, counts, e);
        if (!rc && !input->code && (m < last || !is_last_update(t))) wl_train_batch_prepare(t, t->train_feed, true);
        if (!rc) rc = wl_plan_finish(t->plan, e);
        if (rc) return rc;
    }
    return 0;
}

/* Summed over the ranks after each update. */
struct update_sums {
    double failed, stop, loss_sum, samples, top1, top5;
};

static bool stop_requested(const struct wl_trainer *t)
{
    return t->events && t->events->stop && t->events->stop(t->events_data);
}

static int reduce_update(struct wl_trainer *t, const struct wl_counts *local, const struct wl_err *input,
                         struct update_sums *global, struct wl_err *e)
{
    double v[] = { input->code != 0,       stop_requested(t),   local->loss_sum,
                   (double)local->samples, (double)local->top1, (double)local->top5 };
    int rc = t->comm->ops->all_reduce_sum_f64(t->comm, v, WL_COUNT(v), e);
    *global = (struct update_sums) {
        .failed = v[0], .stop = v[1], .loss_sum = v[2], .samples = v[3], .top1 = v[4], .top5 = v[5]
    };
    return rc;
}

/* A loss that is not finite belongs to an update that was skipped. */
static void count(struct wl_train_position *p, const struct update_sums *global)
{
    if (isfinite(global->loss_sum)) {
        p->counts.loss_sum += global->loss_sum;
        p->counts.samples += (int64_t)global->samples;
        p->counts.top1 += (int64_t)global->top1;
        p->counts.top5 += (int64_t)global->top5;
    }
    p->epoch_updates++;
    p->updates++;
}

/* Of an update of the epoch, from 0. */
static double learning_rate(const struct wl_trainer *t, int64_t update)
{
    double done = (double)(t->position.epoch - 1) + (double)update / (double)t->epoch_updates;
    return wl_lr_schedule_at(&t->schedule, done);
}

/* With loss scaling a loss that is not finite skips the update, as gradients do that are not. */
static int apply(struct wl_trainer *t, double loss, double lr, struct wl_err *e)
{
    const long long epoch = t->position.epoch, update = t->position.updates + 1;
    if (!isfinite(loss) && !wl_plan_scales_loss(t->plan)) {
        t->error_is_collective = true;
        return wl_fail(e, WL_EJOB, "epoch %lld, update %lld: the loss is %s; the learning rate %g may be too large",
                       epoch, update, isnan(loss) ? "not a number" : "infinite", lr);
    }
    if (!isfinite(loss)) wl_plan_reject_gradients(t->plan);
    const int rc = wl_plan_update(t->plan, lr, e);
    if (rc != WL_EJOB) return rc;
    t->error_is_collective = true;
    return wl_err_prefix(e, "epoch %lld, update %lld, learning rate %g", epoch, update, lr);
}

/* One optimizer step over a global batch. *stop: some rank was asked to stop. */
static int update(struct wl_trainer *t, bool *stop, struct wl_err *e)
{
    struct wl_counts local = { 0 };
    struct wl_err input = { 0 };
    struct update_sums global;
    const double lr = learning_rate(t, t->position.epoch_updates);
    int rc = compute(t, &local, &input, e);
    if (!rc) rc = reduce_update(t, &local, &input, &global, e);
    if (rc) return rc;
    double loss = global.loss_sum / global.samples;
    if (global.failed > 0) {
        t->error_is_collective = true;
        *e = input;
        return wl_comm_agree(t->comm, input.code, e);
    }
    rc = apply(t, loss, lr, e);
    if (rc) return rc;
    count(&t->position, &global);
    *stop = global.stop > 0;
    if (t->comm->rank == 0)
        wattlaw_mark_step(t->position.updates, (long long)t->global_batch, isfinite(loss) ? loss : NAN);
    return 0;
}

/* ---- one epoch -------------------------------------------------------------------------------------------------- */

/* A training that was stopped within an epoch resumes after the batches that it has seen. */
static int start_epoch(struct wl_trainer *t, struct wl_err *e)
{
    wl_train_batch_drop(t);
    int rc =
        wl_loader_start_epoch(t->train_feed, t->position.epoch, t->position.epoch_updates * t->opts->accumulation, e);
    rc = wl_comm_agree(t->comm, rc, e);
    t->error_is_collective = rc != 0;
    return rc;
}

static void notify(const struct wl_trainer *t, void (*event)(void *data, const struct wl_trainer *t))
{
    if (event && t->comm->rank == 0) event(t->events_data, t);
}

static int train_pass(struct wl_trainer *t, bool *stop, struct wl_err *e)
{
    static const struct wl_train_events none = { 0 };
    const struct wl_train_events *events = t->events ? t->events : &none;
    int rc = 0;
    notify(t, events->pass_begin);
    while (!rc && !*stop && t->position.epoch_updates < t->epoch_updates) {
        rc = update(t, stop, e);
        notify(t, events->update);
    }
    notify(t, events->pass_end);
    return rc;
}

/* A phase after the training pass. Metrics without samples stay missing. */
static int evaluate(struct wl_trainer *t, struct wl_loader *feed, const char *phase, double *metrics, struct wl_err *e)
{
    for (size_t i = 0; i < t->task->n_metrics; i++) metrics[i] = NAN;
    if (!feed) return 0;
    wattlaw_mark_phase_begin(phase);
    int rc = wl_train_evaluate(t, feed, metrics, e);
    wattlaw_mark_phase_end(phase);
    return rc;
}

/* A label or a unit as the value of a mark, which has no blanks. */
static const char *without_blanks(const char *text, struct wl_arena *a)
{
    char *s = wl_strdup(a, text);
    for (char *p = s; *p; p++)
        if (*p == ' ') *p = '_';
    return s;
}

/* Defines the metrics that have a value, those of held-out data first. */
static void mark_metric_defs(const struct wl_train_task *j, const struct wl_train_epoch *r)
{
    static const struct {
        enum wl_train_phase phase;
        const char *words;
    } phases[] = { { WL_PHASE_VAL, "on held-out data" },
                   { WL_PHASE_EVAL_TRAIN, "on the training set" },
                   { WL_PHASE_TRAIN, "while training" } };
    struct wl_arena *once = wl_arena_new(NULL);
    for (size_t k = 0; k < WL_COUNT(phases); k++) {
        const char *phase = wl_train_phase_names[phases[k].phase];
        for (size_t i = 0; i < j->n_metrics; i++) {
            const struct wl_train_metric *m = &j->metrics[i];
            struct wl_text text = WL_TEXT(once);
            if (isnan(r->metric[phases[k].phase][i])) continue;
            wl_text_addf(&text, "name=%s_%s better=%s label=%s", phase, m->name,
                         m->larger_is_better ? "larger" : "smaller",
                         without_blanks(wl_strf(once, "%s %s", m->label ? m->label : m->name, phases[k].words), once));
            if (m->unit && !wl_str_eq(m->unit, "1")) wl_text_addf(&text, " unit=%s", without_blanks(m->unit, once));
            if (m->baseline_of) wl_text_addf(&text, " baseline_of=%s_%s", phase, m->baseline_of);
            if (m->primary && phases[k].phase == WL_PHASE_VAL) wl_text_add(&text, " main=1");
            wattlaw_mark_define("%s", text.s);
        }
    }
    wattlaw_mark_define("name=lr label=learning_rate");
    wl_arena_free(once);
}

static void mark_metrics(const struct wl_train_task *j, const struct wl_train_epoch *r)
{
    for (int phase = 0; phase < WL_PHASES; phase++) {
        for (size_t i = 0; i < j->n_metrics; i++) {
            char name[64];
            snprintf(name, sizeof name, "%s_%s", wl_train_phase_names[phase], j->metrics[i].name);
            if (!isnan(r->metric[phase][i])) wattlaw_mark_metric(name, r->metric[phase][i], r->epoch);
        }
    }
    wattlaw_mark_metric("lr", r->lr, r->epoch);
    wattlaw_mark_phase_time("input", r->input_wait_s, r->epoch);
}

/* Of each rank its own, as all of them take as long as the slowest: `wattlaw compare --factor rank`. */
static void mark_compute(const struct wl_trainer *t, int64_t epoch, double compute_s)
{
    if (t->comm->size > 1 && isfinite(compute_s)) wattlaw_mark_phase_time("compute", compute_s, epoch);
}

/* The training pass of an epoch, or of the rest of it. Only complete epochs have marks, as their times are compared. */
static int timed_pass(struct wl_trainer *t, struct wl_train_epoch *r, bool *stop, struct wl_err *e)
{
    const struct wl_train_position from = t->position;
    const int64_t skipped = wl_plan_loss_scale(t->plan).skipped;
    bool is_root = t->comm->rank == 0;
    int rc = t->comm->ops->barrier(t->comm, e);
    if (rc) return rc;
    int64_t start = wl_now_ns(), waited = wl_loader_input_wait_ns(t->train_feed);
    const double computed_s = wl_plan_compute_s(t->plan);
    if (r->complete && is_root) wattlaw_mark_epoch_begin(r->epoch);
    rc = start_epoch(t, e);
    if (!rc) rc = train_pass(t, stop, e);
    if (rc) return rc;
    r->time_s = (double)(wl_now_ns() - start) / WL_NS_PER_S;
    r->updates = t->position.updates - from.updates;
    r->skipped = wl_plan_loss_scale(t->plan).skipped - skipped;
    r->samples = r->updates * t->global_batch;
    const bool ended = r->complete && t->position.epoch_updates == t->epoch_updates;
    if (ended && is_root) wattlaw_mark_epoch_end(r->epoch, r->samples, r->updates);
    if (ended) mark_compute(t, r->epoch, wl_plan_compute_s(t->plan) - computed_s);
    r->input_wait_s = (double)(wl_loader_input_wait_ns(t->train_feed) - waited) / WL_NS_PER_S;
    rc = t->comm->ops->all_reduce_sum_f64(t->comm, &r->input_wait_s, 1, e);
    r->input_wait_s /= t->comm->size;
    return rc;
}

static int save(struct wl_trainer *t, struct wl_err *e)
{
    wattlaw_mark_phase_begin("checkpoint");
    int rc = wl_train_checkpoint_save(t, e);
    wattlaw_mark_phase_end("checkpoint");
    return rc;
}

/* An evaluation that failed on all ranks does not lose the updates of its epoch. Without a rank (WL_EJOB) there is no
 * group to write a checkpoint with. */
static int keep_updates(struct wl_trainer *t, struct wl_err *e)
{
    const struct wl_err why = *e;
    struct wl_err ignored = { 0 };
    if (!t->error_is_collective || why.code == WL_EJOB || !t->opts->checkpoint_dir) return why.code;
    const int rc = save(t, &ignored);
    t->error_is_collective = true;
    if (rc) return why.code;
    return wl_fail(e, why.code, "%s; a checkpoint in %s has the updates of epoch %lld: --resume continues after them",
                   why.msg, t->opts->checkpoint_dir, (long long)t->position.epoch);
}

static int epoch(struct wl_trainer *t, bool *stop, struct wl_err *e)
{
    struct wl_train_epoch *r = &t->epochs[t->n_epochs];
    for (int k = 0; k < WL_PHASES; k++) r->metric[k] = wl_new_array(t->arena, double, t->task->n_metrics);
    r->epoch = t->position.epoch;
    r->complete = t->position.epoch_updates == 0;
    int rc = timed_pass(t, r, stop, e);
    if (rc || t->position.epoch_updates < t->epoch_updates) return rc; /* failed, or stopped in the middle */
    r->lr = learning_rate(t, t->epoch_updates - 1);
    wl_train_metrics_of_counts(t->task, &t->position.counts, r->metric[WL_PHASE_TRAIN]);
    rc = evaluate(t, t->val_feed, "validate", r->metric[WL_PHASE_VAL], e);
    if (!rc) rc = evaluate(t, t->eval_train_feed, "eval-train", r->metric[WL_PHASE_EVAL_TRAIN], e);
    if (rc) return keep_updates(t, e);
    wl_lr_schedule_epoch_end(&t->schedule, r->metric[t->val_feed ? WL_PHASE_VAL : WL_PHASE_TRAIN][0]);
    if (t->comm->rank == 0) {
        if (t->n_epochs == 0) mark_metric_defs(t->task, r);
        mark_metrics(t->task, r);
        if (t->events && t->events->epoch_end) t->events->epoch_end(t->events_data, t, r);
    }
    t->n_epochs++;
    t->position.epoch++;
    t->position.epoch_updates = 0;
    t->position.counts = (struct wl_counts) { 0 };
    return 0;
}

/* ---- all epochs -------------------------------------------------------------------------------------------------- */

/* Is a checkpoint due after epoch number `done`? The interval may be a fraction of an epoch. */
static bool due(const struct wl_trainer *t, int64_t done)
{
    double every = t->opts->checkpoint_every;
    if (!t->opts->checkpoint_dir) return false;
    if (done == t->opts->epochs) return true;
    return every > 0 && floor((double)done / every) > floor((double)(done - 1) / every);
}

static int interrupted(struct wl_trainer *t, struct wl_err *e)
{
    if (t->opts->checkpoint_dir) {
        int rc = save(t, e);
        if (rc) return rc;
    }
    t->error_is_collective = true;
    return wl_fail(e, WL_EINTR, "interrupted in epoch %lld after update %lld; %s%s", (long long)t->position.epoch,
                   (long long)t->position.updates,
                   t->opts->checkpoint_dir ? "--resume continues from the checkpoint in "
                                           : "no checkpoint was written (no --checkpoint-dir)",
                   t->opts->checkpoint_dir ? t->opts->checkpoint_dir : "");
}

int wl_train_loop(struct wl_trainer *t, struct wl_err *e)
{
    int rc = 0;
    bool stop = false;
    while (!rc && !stop && t->position.epoch <= t->opts->epochs) {
        rc = epoch(t, &stop, e);
        bool ended = !rc && t->position.epoch_updates == 0, last = t->position.epoch > t->opts->epochs;
        if (ended && (!stop || last) && due(t, t->position.epoch - 1)) rc = save(t, e);
    }
    if (rc) return rc;
    return stop && t->position.epoch <= t->opts->epochs ? interrupted(t, e) : 0;
}
