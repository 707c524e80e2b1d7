/* Running a plan: micro-batches, evaluation, optimiser steps. Nothing here allocates. */
#include "nn/plan/plan.h"

#include "nn/threads.h"

#include <math.h>
#include <string.h>

static double seconds_since(int64_t t_ns) { return (double)(wl_now_ns() - t_ns) / (double)WL_NS_PER_S; }

/* to += what */
static void accumulate_f32(float *restrict to, const float *restrict what, size_t n)
{
#pragma omp parallel for simd schedule(static)
    for (size_t i = 0; i < n; i++) to[i] += what[i];
}

/* To the nearest bf16, the upper half of an f32; of two as near the even one. A NAN stays one. */
static void round_to_bf16(float *v, size_t n)
{
#pragma omp parallel for schedule(static)
    for (size_t i = 0; i < n; i++) {
        uint32_t bits;
        if (isnan(v[i])) continue;
        memcpy(&bits, &v[i], sizeof bits);
        bits = (bits + 0x7fff + (bits >> 16 & 1)) & 0xffff0000;
        memcpy(&v[i], &bits, sizeof bits);
    }
}

static int run_step(struct wl_plan *p, size_t i, const struct wl_run *r, struct wl_err *e)
{
    const struct wl_step *s = p->program.steps[i];
    int64_t start_ns = p->step_s ? wl_now_ns() : 0;
    int rc = s->run(s, r, e);
    if (rc) return wl_err_prefix(e, "%s (%s)", s->node->name, s->what);
    for (int k = 0; k < s->n_uses; k++) {
        const struct wl_use *u = &s->uses[k];
        size_t floats = u->buf->bytes / sizeof(float);
        if (wl_use_accumulates(u, r)) accumulate_f32(u->buf->at, u->part->at, floats);
        if (u->write && u->buf->rounded) round_to_bf16(u->buf->at, floats);
    }
    if (p->step_s) p->step_s[i] += seconds_since(start_ns);
    return 0;
}

/* Hands over the buckets that are final behind step i, and does its part of what all ranks have handed over. */
static int reduce(struct wl_plan *p, int i, size_t *bucket, struct wl_err *e)
{
    int64_t start_ns = wl_now_ns();
    int rc = 0;
    for (; !rc && *bucket < p->n_buckets && p->buckets[*bucket].ready <= i; ++*bucket) {
        const struct wl_bucket *b = &p->buckets[*bucket];
        rc = p->comm->ops->reduce_start(p->comm, p->gradient + b->from, b->n, e);
    }
    if (!rc) rc = p->comm->ops->reduce_poll(p->comm, e);
    p->times.reduce_s += seconds_since(start_ns);
    return rc;
}

static int finish_reducing(struct wl_plan *p, struct wl_err *e)
{
    int64_t start_ns = wl_now_ns();
    int rc = p->comm->ops->reduce_finish(p->comm, e);
    p->times.reduce_s += seconds_since(start_ns);
    return rc;
}

static int run_training(struct wl_plan *p, const struct wl_run *r, bool last, struct wl_err *e)
{
    const bool reduces = last && p->comm;
    size_t bucket = 0;
    int rc = 0;
    for (size_t i = 0; i < p->program.n_steps && !rc; i++) {
        const struct wl_step *s = p->program.steps[i];
        if (s->when & WL_TRAIN) rc = run_step(p, i, r, e);
        if (reduces && !rc) rc = reduce(p, (int)i, &bucket, e);
    }
    return rc || !reduces ? rc : finish_reducing(p, e);
}

/* Micro-batch m of rank r stands behind those of the ranks before it and all ranks' earlier ones, as the loaders deal
 * the samples out. */
static struct wl_run next_run(const struct wl_plan *p, bool first, struct wl_counts *counts)
{
    int64_t ranks = p->comm ? p->comm->size : 1, rank = p->comm ? p->comm->rank : 0;
    return (struct wl_run) {
        .training = true,
        .first = first,
        .update = p->updates,
        .sample = (p->micro_batches_done * ranks + rank) * p->info.batch,
        .counts = counts,
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
    const struct wl_run r = next_run(p, first, counts);
    p->micro_batches_done++;
    omp_set_num_threads(p->threads);
    int64_t start_ns = wl_now_ns();
    int rc = run_training(p, &r, last, e);
    p->times.train_s += seconds_since(start_ns);
    return rc;
}

int wl_plan_eval(struct wl_plan *p, struct wl_counts *counts, struct wl_err *e)
{
    if (p->dry) return wl_fail(e, WL_EINVAL, "a dry plan cannot run");
    omp_set_num_threads(p->threads);
    int64_t start_ns = wl_now_ns();
    const struct wl_run r = { .first = true, .counts = counts };
    for (size_t i = 0; i < p->program.n_steps; i++) {
        const struct wl_step *s = p->program.steps[i];
        int rc = s->when & WL_EVAL ? run_step(p, i, &r, e) : 0;
        if (rc) return rc;
    }
    p->times.eval_s += seconds_since(start_ns);
    return 0;
}

/* ---- between steps ---- */

static float decay_of(const struct wl_plan *p, const struct wl_tensor *t)
{
    return p->optim.decay_weights_only && !t->is_weight ? 0 : (float)p->optim.weight_decay;
}

/* One call of the optimiser for each run of parameters that decay alike. */
static void update_params(struct wl_plan *p, double lr)
{
    int ranks = p->comm ? p->comm->size : 1;
    for (size_t i = 0, end; i < p->n_params; i = end) {
        float decay = decay_of(p, p->params[i].tensor);
        for (end = i + 1; end < p->n_params && decay_of(p, p->params[end].tensor) == decay;) end++;
        size_t from = p->params[i].value->offset / sizeof(float);
        size_t to = end < p->n_params ? p->params[end].value->offset / sizeof(float) : p->param_floats;
        struct wl_optim_span span = {
            .w = p->param + from,
            .g = p->gradient + from,
            .n = to - from,
            .scale = 1 / (float)(ranks * p->micro_batches_done),
            .decay = decay,
            .step = p->updates + 1,
        };
        for (int k = 0; k < p->optim_ops->slots; k++) span.slot[k] = p->slot[k] + from;
        p->optim_ops->step(&p->optim, &span, lr);
    }
}

static void update_statistics(struct wl_plan *p)
{
    for (size_t i = 0; i < p->program.n_statistics; i++) {
        const struct wl_statistic *s = &p->program.statistics[i];
        float *running = s->running->at, share = (float)s->tensor->momentum;
        const float *sum = s->moment->at;
        int64_t n = wl_dims_count(&s->tensor->dims);
        for (int64_t c = 0; c < n; c++) running[c] += share * (sum[c] / (float)p->micro_batches_done - running[c]);
    }
}

int wl_plan_update(struct wl_plan *p, double lr, struct wl_err *e)
{
    if (p->micro_batches_done == 0) return wl_fail(e, WL_EINVAL, "an optimiser step without a micro-batch before it");
    omp_set_num_threads(p->threads);
    int64_t start_ns = wl_now_ns();
    update_params(p, lr);
    update_statistics(p);
    p->micro_batches_done = 0;
    p->updates++;
    p->times.update_s += seconds_since(start_ns);
    return 0;
}

void wl_plan_set_updates(struct wl_plan *p, int64_t updates) { p->updates = updates; }

int wl_plan_average_statistics(struct wl_plan *p, struct wl_err *e)
{
    if (!p->comm || !p->statistic) return 0;
    int rc = p->comm->ops->all_reduce_sum(p->comm, p->statistic, p->statistic_floats, e);
    for (size_t i = 0; !rc && i < p->statistic_floats; i++) p->statistic[i] /= (float)p->comm->size;
    return rc;
}
