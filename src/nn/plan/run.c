/* Running a plan: micro-batches, evaluation, optimizer steps. Nothing here allocates. */
#include "nn/graph/input_checks.h"
#include "nn/plan/internal.h"

static double seconds_since(int64_t t_ns) { return (double)(wl_now_ns() - t_ns) / (double)WL_NS_PER_S; }

static int run_step(const struct wl_plan_job *j, size_t i, struct wl_err *e)
{
    const struct wl_plan *p = j->plan;
    const struct wl_device_ops *ops = p->ops;
    void *device = p->program.device;
    const struct wl_step *s = p->program.steps[i];
    int rc = ops->step(device, s, e);
    if (rc) return wl_err_prefix(e, "%s (%s)", s->node->name, s->pass);
    for (int k = 0; k < s->n_uses && !rc; k++) {
        const struct wl_use *u = &s->uses[k];
        const size_t floats = u->buf->bytes / sizeof(float);
        if (wl_use_accumulates(u, &j->run)) rc = ops->add(device, u->buf->at, u->partial->at, floats, e);
        if (!rc && u->write && u->buf->holds != WL_F32) rc = ops->round(device, u->buf->at, floats, u->buf->holds, e);
    }
    if (p->step_time) ops->lap(device, &p->step_time[i]);
    return rc;
}

static int enqueue(void *of, struct wl_err *e)
{
    const struct wl_plan_job *j = of;
    struct wl_plan *p = j->plan;
    size_t bucket = 0;
    int rc = 0;
    if (p->step_time) p->ops->lap(p->program.device, NULL);
    for (size_t i = 0; i < p->program.n_steps && !rc; i++) {
        if (p->program.steps[i]->when & j->pass) rc = run_step(j, i, e);
        if (!j->reduces || rc) continue;
        rc = wl_plan_reduce(p, (int)i, &bucket, e);
        if (p->step_time) p->ops->lap(p->program.device, NULL);
    }
    return rc || !j->reduces ? rc : wl_plan_join_sums(p, e);
}

static int check_inputs(const struct wl_plan *p, unsigned pass, struct wl_err *e)
{
    const struct wl_input_values v = { p->input_at };
    for (size_t i = 0; i < p->program.n_input_checks; i++) {
        const struct wl_input_check *c = &p->program.input_checks[i];
        int rc = c->when & pass ? wl_op_info(c->node->op)->check_inputs(c->node, &v, e) : 0;
        if (rc) return wl_err_prefix(e, "%s (forward)", c->node->name);
    }
    return 0;
}

/* Of a run that has begun: `rc` is its outcome so far. */
static int end_run(struct wl_plan_job *j, int rc, struct wl_err *e)
{
    struct wl_plan *p = j->plan;
    struct wl_err ignored = { 0 };
    if (!rc && j->reduces) rc = wl_plan_finish_reducing(p, e);
    if (!rc && j->completes && wl_plan_scales_loss(p))
        rc = p->ops->check_finite(p->program.device, p->gradient, p->param_floats, &p->io, e);
    const int ended = p->ops->end(p->program.device, &p->io, j->counts, rc ? &ignored : e);
    if (j->completes) p->overflow = j->counts->overflow;
    return rc ? rc : ended;
}

/* A rank that was lost is the reason for whatever else failed. */
static int stop_watching(struct wl_plan_job *j, int rc, struct wl_err *e)
{
    struct wl_err lost = { 0 };
    if (!j->reduces || !wl_plan_watch_ranks(j->plan, false, &lost)) return rc;
    if (e) *e = lost;
    return lost.code;
}

static void add_time(struct wl_plan_job *j)
{
    struct wl_plan_times *t = &j->plan->times;
    *(j->pass == WL_TRAIN ? &t->train_s : &t->eval_s) += seconds_since(j->start_ns);
}

static int finish(struct wl_plan_job *j, int rc, struct wl_err *e)
{
    j->plan->in_progress = false;
    rc = stop_watching(j, end_run(j, rc, e), e);
    add_time(j);
    return rc;
}

static int begin_run(struct wl_plan_job *j, struct wl_err *e)
{
    struct wl_plan *p = j->plan;
    int rc = p->uploaded == j->pass ? 0 : wl_plan_upload(p, j->pass == WL_TRAIN, e);
    if (!rc && j->reduces) rc = wl_plan_watch_ranks(p, true, e);
    if (rc) return rc;
    p->uploaded = 0;
    p->run_slot = p->io.input.host;
    rc = p->ops->begin(p->program.device, &j->run, &p->io, j->counts, e);
    return rc ? stop_watching(j, rc, e) : 0;
}

static int start(struct wl_plan *p, const struct wl_plan_job *job, enum wl_variant v, struct wl_err *e)
{
    struct wl_plan_job *j = &p->job;
    if (p->in_progress) return wl_fail(e, WL_EINVAL, "a run starts before the one before it has finished");
    *j = *job;
    if (!j->counts) j->counts = &j->nobody;
    j->counts->overflow = false;
    j->plan = p;
    j->run.counts = p->io.counts;
    j->start_ns = wl_now_ns();
    int rc = begin_run(j, e);
    if (rc) return rc;
    rc = p->ops->run(p->program.device, v, enqueue, j, e);
    p->in_progress = true;
    return rc || p->ops->host_addressable ? finish(j, rc, e) : 0;
}

int wl_plan_finish(struct wl_plan *p, struct wl_err *e) { return p->in_progress ? finish(&p->job, 0, e) : 0; }

/* ---- inputs ---- */

bool wl_plan_overlaps(const struct wl_plan *p) { return !p->ops->host_addressable; }

int wl_plan_next_inputs(struct wl_plan *p, struct wl_err *e)
{
    if (!wl_plan_overlaps(p)) return 0;
    wl_plan_use_slot(p, !p->io.slot);
    return p->ops->wait_upload(p->program.device, p->io.slot, e);
}

int wl_plan_upload(struct wl_plan *p, bool training, struct wl_err *e)
{
    const unsigned pass = training ? WL_TRAIN : WL_EVAL;
    p->uploaded = 0;
    int rc = check_inputs(p, pass, e);
    if (!rc && p->ops->upload) rc = p->ops->upload(p->program.device, &p->io, e);
    if (!rc) p->uploaded = pass;
    return rc;
}

/* ---- runs ---- */

static enum wl_variant variant_of(bool first, bool last)
{
    if (first) return last ? WL_RUN_FIRST_LAST : WL_RUN_FIRST;
    return last ? WL_RUN_LAST : WL_RUN_TRAIN;
}

/* Micro-batch m of rank r comes after those of the ranks before it and all ranks' earlier ones, as the loaders deal
 * the samples out. */
static struct wl_run next_run(const struct wl_plan *p, bool first)
{
    int64_t ranks = p->comm ? p->comm->size : 1, rank = p->comm ? p->comm->rank : 0;
    return (struct wl_run) {
        .training = true,
        .first = first,
        .update = p->updates,
        .loss_scale = wl_plan_scales_loss(p) ? (float)p->loss_scale.scale : 1,
        .first_sample = (p->micro_batches_done * ranks + rank) * p->info.batch,
    };
}

int wl_plan_start_train(struct wl_plan *p, bool first, bool last, struct wl_counts *counts, struct wl_err *e)
{
    if (!p->program.train) return wl_fail(e, WL_EINVAL, "the plan was made for evaluation only");
    if (p->dry) return wl_fail(e, WL_EINVAL, "a dry plan cannot run");
    if (first) p->micro_batches_done = 0;
    if (p->micro_batches_done == 0 && !first)
        return wl_fail(e, WL_EINVAL, "the first micro-batch of a step was not marked as such");
    if (p->micro_batches_done == p->micro_batches)
        return wl_fail(e, WL_EINVAL, "the plan was made for %d micro-batches a step", p->micro_batches);
    const struct wl_plan_job j = {
        .run = next_run(p, first), .pass = WL_TRAIN, .reduces = last && p->comm, .completes = last, .counts = counts
    };
    p->micro_batches_done++;
    p->gradient_scale = j.run.loss_scale;
    return start(p, &j, variant_of(first, last), e);
}

int wl_plan_train(struct wl_plan *p, bool first, bool last, struct wl_counts *counts, struct wl_err *e)
{
    int rc = wl_plan_start_train(p, first, last, counts, e);
    return rc ? rc : wl_plan_finish(p, e);
}

int wl_plan_start_eval(struct wl_plan *p, struct wl_counts *counts, struct wl_err *e)
{
    if (p->dry) return wl_fail(e, WL_EINVAL, "a dry plan cannot run");
    return start(p, &(struct wl_plan_job) { .run = { .first = true }, .pass = WL_EVAL, .counts = counts }, WL_RUN_EVAL,
                 e);
}

int wl_plan_eval(struct wl_plan *p, struct wl_counts *counts, struct wl_err *e)
{
    int rc = wl_plan_start_eval(p, counts, e);
    return rc ? rc : wl_plan_finish(p, e);
}

/* ---- between steps ---- */

static int update_params(struct wl_plan *p, double lr, struct wl_err *e)
{
    const int ranks = p->comm ? p->comm->size : 1;
    for (size_t i = 0; i < p->n_spans; i++) {
        p->spans[i].scale = 1 / ((float)(ranks * p->micro_batches_done) * p->gradient_scale);
        p->spans[i].step = p->updates + 1 - p->loss_scale.skipped;
    }
    return p->ops->update(p->program.device, p->optim_ops, &p->optim, p->spans, p->n_spans, lr, e);
}

static int update(struct wl_plan *p, double lr, struct wl_err *e)
{
    int rc = update_params(p, lr, e);
    if (!rc)
        rc = p->ops->update_statistics(p->program.device, p->program.statistics, p->program.n_statistics,
                                       p->micro_batches_done, e);
    if (!rc && wl_plan_scales_loss(p)) wl_loss_scale_good(&p->loss_scale);
    return rc;
}

int wl_plan_update(struct wl_plan *p, double lr, struct wl_err *e)
{
    if (p->in_progress) return wl_fail(e, WL_EINVAL, "an optimizer step before the run has finished");
    if (p->micro_batches_done == 0) return wl_fail(e, WL_EINVAL, "an optimizer step without a micro-batch before it");
    const int64_t start_ns = wl_now_ns(), start_cpu_ns = wl_clock_process_cpu_ns();
    int rc = p->overflow ? wl_loss_scale_skip(&p->loss_scale, e) : update(p, lr, e);
    if (rc) return rc;
    p->overflow = false;
    p->micro_batches_done = 0;
    p->updates++;
    p->times.update_s += seconds_since(start_ns);
    p->times.update_cpu_s += (double)(wl_clock_process_cpu_ns() - start_cpu_ns) / (double)WL_NS_PER_S;
    return 0;
}

bool wl_plan_scales_loss(const struct wl_plan *p) { return p->program.precision == WL_F16; }

struct wl_loss_scale wl_plan_loss_scale(const struct wl_plan *p) { return p->loss_scale; }

void wl_plan_set_loss_scale(struct wl_plan *p, const struct wl_loss_scale *s) { p->loss_scale = *s; }

void wl_plan_reject_gradients(struct wl_plan *p) { p->overflow = wl_plan_scales_loss(p); }

void wl_plan_set_updates(struct wl_plan *p, int64_t updates) { p->updates = updates; }
