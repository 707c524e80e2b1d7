/* Epochs of updates, with marks, validation and checkpoints between them. */
#include "train/train.h"

#include <math.h>
#include <wattlaw/mark.h>

/* ---- one update ------------------------------------------------------------------------------------------------- */

/* A rank whose data fails goes on to the end of the update with what its buffers hold, so that the ranks stay in
 * step; the update is then given up by all of them. `input` keeps that rank's reason. */
static int compute(struct wl_trainer *t, struct wl_counts *counts, struct wl_err *input, struct wl_err *e)
{
    const int64_t last = t->opts->accumulation - 1;
    for (int64_t m = 0; m <= last; m++) {
        int64_t n;
        int got = input->code ? 1 : wl_loader_next(t->train, t->inputs, &n, input);
        WL_CHECK(got != 0); /* an epoch has no more updates than the feed has batches */
        int rc = wl_plan_train(t->plan, m == 0, m == last, counts, e);
        if (rc) return rc;
    }
    return 0;
}

/* What the ranks tell each other after each update. */
struct told {
    double failed, stop, loss_sum, samples, top1, top5;
};

static int tell(struct wl_trainer *t, const struct wl_counts *own, const struct wl_err *input, struct told *all,
                struct wl_err *e)
{
    double v[] = { input->code != 0,  wl_cmd_train_stop_requested(),
                   own->loss_sum,     (double)own->samples,
                   (double)own->top1, (double)own->top5 };
    int rc = t->comm->ops->all_reduce_sum_f64(t->comm, v, WL_COUNT(v), e);
    *all =
        (struct told) { .failed = v[0], .stop = v[1], .loss_sum = v[2], .samples = v[3], .top1 = v[4], .top5 = v[5] };
    return rc;
}

static void count(struct wl_train_position *at, const struct told *all)
{
    at->counts.loss_sum += all->loss_sum;
    at->counts.samples += (int64_t)all->samples;
    at->counts.top1 += (int64_t)all->top1;
    at->counts.top5 += (int64_t)all->top5;
    at->epoch_updates++;
    at->updates++;
}

static double learning_rate(const struct wl_trainer *t)
{
    double done = (double)(t->at.epoch - 1) + (double)t->at.epoch_updates / (double)t->epoch_updates;
    return wl_lr_schedule_at(&t->schedule, done);
}

/* One optimiser step over a global batch. *stop: some rank was asked to. */
static int update(struct wl_trainer *t, bool *stop, struct wl_err *e)
{
    struct wl_counts own = { 0 };
    struct wl_err input = { 0 };
    struct told all;
    const double lr = t->lr = learning_rate(t);
    int rc = compute(t, &own, &input, e);
    if (!rc) rc = tell(t, &own, &input, &all, e);
    if (rc) return rc;
    double loss = all.loss_sum / all.samples;
    if (all.failed > 0) {
        t->agreed = true;
        *e = input;
        return wl_comm_agree(t->comm, input.code, e);
    }
    if (!isfinite(loss)) {
        t->agreed = true;
        return wl_fail(e, WL_EJOB, "epoch %lld, update %lld: the loss is %s; the learning rate %g may be too large",
                       (long long)t->at.epoch, (long long)t->at.updates + 1, isnan(loss) ? "not a number" : "infinite",
                       lr);
    }
    rc = wl_plan_update(t->plan, lr, e);
    if (rc) return rc;
    count(&t->at, &all);
    *stop = all.stop > 0;
    if (t->comm->rank == 0) wattlaw_mark_step(t->at.updates, (long long)t->global_batch, loss);
    return 0;
}

/* ---- one epoch -------------------------------------------------------------------------------------------------- */

/* A training that was stopped inside an epoch goes on behind the batches that it has seen. */
static int begin(struct wl_trainer *t, struct wl_err *e)
{
    int rc = wl_loader_start_epoch(t->train, t->at.epoch, t->at.epoch_updates * t->opts->accumulation, e);
    rc = wl_comm_agree(t->comm, rc, e);
    t->agreed = rc != 0;
    return rc;
}

static int train_pass(struct wl_trainer *t, bool *stop, struct wl_err *e)
{
    struct wl_progress bar;
    char what[64];
    snprintf(what, sizeof what, "epoch %lld/%lld", (long long)t->at.epoch, (long long)t->opts->epochs);
    bool show = t->comm->rank == 0 && !t->opts->quiet;
    if (show) wl_progress_start(&bar, what);
    int rc = 0;
    while (!rc && !*stop && t->at.epoch_updates < t->epoch_updates) {
        rc = update(t, stop, e);
        if (show) wl_progress_update(&bar, (double)t->at.epoch_updates, (double)t->epoch_updates, -1, NULL);
    }
    if (show) wl_progress_clear(&bar);
    return rc;
}

/* A phase behind the training pass. What no sample was seen for stays missing. */
static int evaluate(struct wl_trainer *t, struct wl_loader *feed, const char *phase, double *metrics, struct wl_err *e)
{
    for (size_t i = 0; i < t->job->n_metrics; i++) metrics[i] = NAN;
    if (!feed) return 0;
    wattlaw_mark_phase_begin(phase);
    int rc = wl_train_evaluate(t, feed, metrics, e);
    wattlaw_mark_phase_end(phase);
    return rc;
}

/* A label or a unit as a value of a mark, which holds no blanks. */
static const char *without_blanks(const char *text, struct wl_arena *a)
{
    char *s = wl_strdup(a, text);
    for (char *p = s; *p; p++)
        if (*p == ' ') *p = '_';
    return s;
}

/* What the metrics are that have a value, those of held-out data first. */
static void define_results(const struct wl_train_task *j, const struct wl_train_epoch *r)
{
    static const struct {
        enum wl_train_phase part;
        const char *words;
    } parts[] = { { WL_PHASE_VAL, "on held-out data" },
                  { WL_PHASE_EVAL_TRAIN, "on the training set" },
                  { WL_PHASE_TRAIN, "while training" } };
    struct wl_arena *once = wl_arena_new(NULL);
    for (size_t k = 0; k < WL_COUNT(parts); k++) {
        const char *part = wl_train_phase_names[parts[k].part];
        for (size_t i = 0; i < j->n_metrics; i++) {
            const struct wl_train_metric *m = &j->metrics[i];
            struct wl_text text = WL_TEXT(once);
            if (isnan(r->metric[parts[k].part][i])) continue;
            wl_text_addf(&text, "name=%s_%s better=%s label=%s", part, m->name, m->larger ? "larger" : "smaller",
                         without_blanks(wl_strf(once, "%s %s", m->label ? m->label : m->name, parts[k].words), once));
            if (m->unit && !wl_str_eq(m->unit, "1")) wl_text_addf(&text, " unit=%s", without_blanks(m->unit, once));
            if (m->baseline_of) wl_text_addf(&text, " baseline_of=%s_%s", part, m->baseline_of);
            if (m->main && parts[k].part == WL_PHASE_VAL) wl_text_add(&text, " main=1");
            wattlaw_mark_define("%s", text.s);
        }
    }
    wattlaw_mark_define("name=lr label=learning_rate");
    wl_arena_free(once);
}

static void mark_results(const struct wl_train_task *j, const struct wl_train_epoch *r)
{
    for (int part = 0; part < WL_PHASES; part++) {
        for (size_t i = 0; i < j->n_metrics; i++) {
            char name[64];
            snprintf(name, sizeof name, "%s_%s", wl_train_phase_names[part], j->metrics[i].name);
            if (!isnan(r->metric[part][i])) wattlaw_mark_metric(name, r->metric[part][i], r->epoch);
        }
    }
    wattlaw_mark_metric("lr", r->lr, r->epoch);
    wattlaw_mark_phase_time("input", r->input_wait_s, r->epoch);
}

/* The training pass of an epoch, or of what is left of it. Only a whole one has epoch marks: their time is compared
 * with that of others. */
static int timed_pass(struct wl_trainer *t, struct wl_train_epoch *r, bool *stop, struct wl_err *e)
{
    const struct wl_train_position from = t->at;
    bool speaks = t->comm->rank == 0;
    int rc = t->comm->ops->barrier(t->comm, e);
    if (rc) return rc;
    int64_t start = wl_now_ns(), waited = wl_loader_input_wait_ns(t->train);
    if (r->whole && speaks) wattlaw_mark_epoch_begin(r->epoch);
    rc = begin(t, e);
    if (!rc) rc = train_pass(t, stop, e);
    if (rc) return rc;
    r->time_s = (double)(wl_now_ns() - start) / WL_NS_PER_S;
    r->updates = t->at.updates - from.updates;
    r->samples = r->updates * t->global_batch;
    if (r->whole && speaks && t->at.epoch_updates == t->epoch_updates)
        wattlaw_mark_epoch_end(r->epoch, r->samples, r->updates);
    r->input_wait_s = (double)(wl_loader_input_wait_ns(t->train) - waited) / WL_NS_PER_S;
    rc = t->comm->ops->all_reduce_sum_f64(t->comm, &r->input_wait_s, 1, e);
    r->input_wait_s /= t->comm->size;
    return rc;
}

static int epoch(struct wl_trainer *t, bool *stop, struct wl_err *e)
{
    struct wl_train_epoch *r = &t->epochs[t->n_epochs];
    for (int k = 0; k < WL_PHASES; k++) r->metric[k] = wl_new_array(t->arena, double, t->job->n_metrics);
    r->epoch = t->at.epoch;
    r->whole = t->at.epoch_updates == 0;
    int rc = timed_pass(t, r, stop, e);
    if (rc || t->at.epoch_updates < t->epoch_updates) return rc; /* failed, or stopped in the middle */
    r->lr = t->lr;
    wl_train_metrics_of_counts(t->job, &t->at.counts, r->metric[WL_PHASE_TRAIN]);
    rc = evaluate(t, t->val, "validate", r->metric[WL_PHASE_VAL], e);
    if (!rc) rc = evaluate(t, t->eval_train, "eval-train", r->metric[WL_PHASE_EVAL_TRAIN], e);
    if (rc) return rc;
    wl_lr_schedule_epoch_end(&t->schedule, r->metric[t->val ? WL_PHASE_VAL : WL_PHASE_TRAIN][0]);
    if (t->comm->rank == 0) {
        if (t->n_epochs == 0) define_results(t->job, r);
        mark_results(t->job, r);
        if (!t->opts->quiet) wl_cmd_train_log_epoch(t, r);
    }
    t->n_epochs++;
    t->at.epoch++;
    t->at.epoch_updates = 0;
    t->at.counts = (struct wl_counts) { 0 };
    return 0;
}

/* ---- the whole -------------------------------------------------------------------------------------------------- */

/* Is a checkpoint due behind epoch number `done`? Every so many epochs, which may be no whole number. */
static bool due(const struct wl_trainer *t, int64_t done)
{
    double every = t->opts->checkpoint_every;
    if (!t->opts->checkpoint_dir) return false;
    if (done == t->opts->epochs) return true;
    return every > 0 && floor((double)done / every) > floor((double)(done - 1) / every);
}

static int save(struct wl_trainer *t, struct wl_err *e)
{
    wattlaw_mark_phase_begin("checkpoint");
    int rc = wl_train_checkpoint_save(t, e);
    wattlaw_mark_phase_end("checkpoint");
    return rc;
}

static int interrupted(struct wl_trainer *t, struct wl_err *e)
{
    if (t->opts->checkpoint_dir) {
        int rc = save(t, e);
        if (rc) return rc;
    }
    t->agreed = true;
    return wl_fail(e, WL_EINTR, "interrupted in epoch %lld after update %lld; %s%s", (long long)t->at.epoch,
                   (long long)t->at.updates,
                   t->opts->checkpoint_dir ? "--resume goes on from the checkpoint in " : "no checkpoint was asked for",
                   t->opts->checkpoint_dir ? t->opts->checkpoint_dir : "");
}

int wl_train_loop(struct wl_trainer *t, struct wl_err *e)
{
    int rc = 0;
    bool stop = false;
    while (!rc && !stop && t->at.epoch <= t->opts->epochs) {
        rc = epoch(t, &stop, e);
        bool ended = !rc && t->at.epoch_updates == 0, last = t->at.epoch > t->opts->epochs;
        if (ended && (!stop || last) && due(t, t->at.epoch - 1)) rc = save(t, e);
    }
    if (rc) return rc;
    return stop && t->at.epoch <= t->opts->epochs ? interrupted(t, e) : 0;
}
