/* Running a plan: micro-batches, evaluation, optimizer steps. Nothing here allocates. */
#include "nn/graph/input_checks.h"
#include "nn/plan/internal.h"

static double seconds_since(int64_t t_ns) { return (double)(wl_now_ns() - t_ns) / (double)WL_NS_PER_S; }

/* A run of the plan, which the device has enqueued. */
struct job {
    struct wl_plan *plan;
    struct wl_run run;
    unsigned pass;
    bool reduces; /* gradients over the ranks */
};

static int run_step(const struct job *j, size_t i, struct wl_err *e)
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
        if (!rc && u->write && u->buf->rounded) rc = ops->round_to_bf16(device, u->buf->at, floats, e);
    }
    if (p->step_s) ops->lap(device, &p->step_s[i]);
    return rc;
}

static int enqueue(void *of, struct wl_err *e)
{
    const struct job *j = of;
    struct wl_plan *p = j->plan;
    size_t bucket = 0;
    int rc = 0;
    if (p->step_s) p->ops->lap(p->program.device, NULL);
    for (size_t i = 0; i < p->program.n_steps && !rc; i++) {
        if (p->program.steps[i]->when & j->pass) rc = run_step(j, i, e);
        if (!j->reduces || rc) continue;
        rc = wl_plan_reduce(p, (int)i, &bucket, e);
        if (p->step_s) p->ops->lap(p->program.device, NULL);
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

static int run_to_end(struct job *j, enum wl_variant v, struct wl_counts *counts, struct wl_err *e)
{
    struct wl_plan *p = j->plan;
    void *device = p->program.device;
    int rc = p->ops->begin(device, &j->run, &p->io, counts, e);
    if (rc) return rc;
    rc = p->ops->run(device, v, enqueue, j, e);
    if (!rc && j->reduces) rc = wl_plan_finish_reducing(p, e);
    struct wl_err ignored = { 0 };
    const int ended = p->ops->end(device, &p->io, counts, rc ? &ignored : e);
    return rc ? rc : ended;
}

/* A rank that was lost is the reason for whatever else failed. */
static int run_with_others(struct job *j, enum wl_variant v, struct wl_counts *counts, struct wl_err *e)
{
    struct wl_err lost = { 0 };
    int rc = wl_plan_watch_ranks(j->plan, true, e);
    if (rc) return rc;
    rc = run_to_end(j, v, counts, e);
    if (!wl_plan_watch_ranks(j->plan, false, &lost)) return rc;
    if (e) *e = lost;
    return lost.code;
}

static int run_job(struct job *j, bool last, enum wl_variant v, struct wl_counts *counts, struct wl_err *e)
{
    const struct wl_plan *p = j->plan;
    struct wl_counts nowhere = { 0 }; /* a caller who only evaluates may want none */
    if (!counts) counts = &nowhere;
    j->reduces = last && p->comm;
    j->run.counts = p->io.counts;
    int rc = check_inputs(p, j->pass, e);
    if (rc) return rc;
    return j->reduces ? run_with_others(j, v, counts, e) : run_to_end(j, v, counts, e);
}

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
        .first_sample = (p->micro_batches_done * ranks + rank) * p->info.batch,
    };
}

int wl_plan_train(struct wl_plan *p, bool first, bool last, struct wl_counts *counts, struct wl_err *e)
{
    if (!p->program.train) return wl_fail(e, WL_EINVAL, "the plan was made for evaluation only");
    if (p->dry) return wl_fail(e, WL_EINVAL, "a dry plan cannot run");
    if (first) p->micro_batches_done = 0;
    if (p->micro_batches_done == 0 && !first)
        return wl_fail(e, WL_EINVAL, "the first micro-batch of a step was not marked as such");
    if (p->micro_batches_done == p->micro_batches)
        return wl_fail(e, WL_EINVAL, "the plan was made for %d micro-batches a step", p->micro_batches);
    struct job j = { .plan = p, .run = next_run(p, first), .pass = WL_TRAIN };
    p->micro_batches_done++;
    int64_t start_ns = wl_now_ns();
    int rc = run_job(&j, last, variant_of(first, last), counts, e);
    p->times.train_s += seconds_since(start_ns);
    return rc;
}

int wl_plan_eval(struct wl_plan *p, struct wl_counts *counts, struct wl_err *e)
{
    if (p->dry) return wl_fail(e, WL_EINVAL, "a dry plan cannot run");
    struct job j = { .plan = p, .run = { .first = true }, .pass = WL_EVAL };
    int64_t start_ns = wl_now_ns();
    int rc = run_job(&j, false, WL_RUN_EVAL, counts, e);
    p->times.eval_s += seconds_since(start_ns);
    return rc;
}

/* ---- between steps ---- */

static int update_params(struct wl_plan *p, double lr, struct wl_err *e)
{
    const int ranks = p->comm ? p->comm->size : 1;
    for (size_t i = 0; i < p->n_spans; i++) {
        p->spans[i].scale = 1 / (float)(ranks * p->micro_batches_done);
        p->spans[i].step = p->updates + 1;
    }
    return p->ops->update(p->program.device, p->optim_ops, &p->optim, p->spans, p->n_spans, lr, e);
}

int wl_plan_update(struct wl_plan *p, double lr, struct wl_err *e)
{
    if (p->micro_batches_done == 0) return wl_fail(e, WL_EINVAL, "an optimizer step without a micro-batch before it");
    int64_t start_ns = wl_now_ns();
    int rc = update_params(p, lr, e);
    if (!rc)
        rc = p->ops->update_statistics(p->program.device, p->program.statistics, p->program.n_statistics,
                                       p->micro_batches_done, e);
    if (rc) return rc;
    p->micro_batches_done = 0;
    p->updates++;
    p->times.update_s += seconds_since(start_ns);
    return 0;
}

void wl_plan_set_updates(struct wl_plan *p, int64_t updates) { p->updates = updates; }
