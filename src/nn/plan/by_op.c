#include "nn/plan/by_op.h"

#include "nn/plan/internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A round has a time for each step of the program, then these. */
enum { UPDATE, REDUCE, WHOLE, EXTRAS };

struct wl_by_op {
    struct wl_plan *plan;
    struct wl_step_time *rounds; /* [most][steps + EXTRAS] */
    size_t most, n;
    struct wl_plan_times before;
    int64_t start_ns, start_cpu_ns;
};

static size_t width(const struct wl_by_op *t) { return t->plan->program.n_steps + EXTRAS; }

struct wl_by_op *wl_by_op_new(struct wl_plan *p, size_t rounds, struct wl_arena *a)
{
    struct wl_by_op *t = wl_new(a, struct wl_by_op);
    *t = (struct wl_by_op) { .plan = p, .most = rounds };
    t->rounds = wl_new_array(a, struct wl_step_time, rounds * width(t));
    if (!p->step_time) p->step_time = wl_new_array(p->arena, struct wl_step_time, p->program.n_steps);
    return t;
}

void wl_by_op_begin(struct wl_by_op *t)
{
    memset(t->plan->step_time, 0, t->plan->program.n_steps * sizeof *t->plan->step_time);
    t->before = t->plan->times;
    t->start_ns = wl_now_ns();
    t->start_cpu_ns = wl_clock_process_cpu_ns();
}

static double seconds(int64_t ns) { return (double)ns / (double)WL_NS_PER_S; }

/* A device that computes beside the host ends its update, and exchanges gradients, at times that are not known. */
void wl_by_op_end(struct wl_by_op *t)
{
    const struct wl_plan_times *now = &t->plan->times, *before = &t->before;
    const size_t steps = t->plan->program.n_steps;
    const struct wl_step_time not_known = { NAN, NAN };
    const bool waits = t->plan->ops->host_addressable;
    WL_CHECK(t->n < t->most);
    struct wl_step_time *round = &t->rounds[t->n++ * width(t)], *extra = round + steps;
    memcpy(round, t->plan->step_time, steps * sizeof *round);
    extra[WHOLE].wall_s = seconds(wl_now_ns() - t->start_ns);
    extra[WHOLE].cpu_s = seconds(wl_clock_process_cpu_ns() - t->start_cpu_ns);
    extra[UPDATE] = extra[REDUCE] = not_known;
    if (!waits) return;
    extra[UPDATE].wall_s = now->update_s - before->update_s;
    extra[UPDATE].cpu_s = now->update_cpu_s - before->update_cpu_s;
    extra[REDUCE].wall_s = now->reduce_s - before->reduce_s;
}

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *v, size_t n)
{
    qsort(v, n, sizeof *v, by_value);
    return n % 2 ? v[n / 2] : (v[n / 2 - 1] + v[n / 2]) / 2;
}

/* Of the rounds that count. The first one takes the memory. */
static struct wl_step_time median_time(const struct wl_by_op *t, size_t i, struct wl_arena *a)
{
    const size_t first = t->n > 1, n = t->n - first;
    double *wall = wl_new_array(a, double, n), *cpu = wl_new_array(a, double, n);
    for (size_t k = 0; k < n; k++) {
        wall[k] = t->rounds[(first + k) * width(t) + i].wall_s;
        cpu[k] = t->rounds[(first + k) * width(t) + i].cpu_s;
    }
    return (struct wl_step_time) { .wall_s = median(wall, n), .cpu_s = median(cpu, n) };
}

/* ---- classes ----------------------------------------------------------------------------------------------------- */

/* "conv2d 3x3/2 backward data, F(4x4,3x3) in f32" */
static const char *class_of(const struct wl_step *s, const struct wl_plan_step *step, struct wl_arena *a)
{
    struct wl_text t = WL_TEXT(a);
    wl_text_add(&t, step->operation);
    if (s->node->op == WL_OP_CONV && step->flops > 0) {
        const struct wl_window v = wl_conv_window(s->node);
        wl_text_addf(&t, " %lldx%lld", (long long)v.r, (long long)v.s);
        if (v.stride[0] > 1) wl_text_addf(&t, "/%lld", (long long)v.stride[0]);
    }
    wl_text_addf(&t, " %s", step->pass);
    if (step->recompute) wl_text_add(&t, ", recomputed");
    if (step->algorithm && s->arithmetic.algorithm) wl_text_addf(&t, ", %s in %s", step->algorithm, step->numbers);
    return t.s;
}

static struct wl_by_op_row row_of_step(const struct wl_by_op *t, size_t i, struct wl_arena *a)
{
    const struct wl_step *s = t->plan->program.steps[i];
    const struct wl_plan_step step = wl_plan_step(t->plan, i, a);
    const double batch = (double)t->plan->info.batch;
    return (struct wl_by_op_row) {
        .class = class_of(s, &step, a),
        .name = step.name,
        .kernel = step.implementation,
        .steps = 1,
        .time = median_time(t, i, a),
        .flops = step.flops * batch,
        .computed_flops = step.computed_flops * batch,
        .bytes = step.moved_bytes,
        .bound_s = step.bound_s,
        .bound_by_flops = step.bound_by_flops,
    };
}

static void add(struct wl_by_op_row *to, const struct wl_by_op_row *from)
{
    const double by_flops =
        (to->bound_by_flops ? to->bound_s : -to->bound_s) + (from->bound_by_flops ? from->bound_s : -from->bound_s);
    to->steps += from->steps;
    if (!isnan(from->time.wall_s)) to->time.wall_s += from->time.wall_s;
    if (!isnan(from->time.cpu_s)) to->time.cpu_s += from->time.cpu_s;
    to->flops += from->flops;
    to->computed_flops += from->computed_flops;
    to->bytes += from->bytes;
    to->bound_s += from->bound_s;
    to->bound_by_flops = by_flops > 0;
}

static void put(struct wl_by_op_rows *out, const struct wl_by_op_row *row, bool single)
{
    size_t i = 0;
    while (!single && i < out->n && !wl_str_eq(out->v[i].class, row->class)) i++;
    if (single || i == out->n) {
        out->v[out->n++] = *row;
        return;
    }
    add(&out->v[i], row);
    out->v[i].name = out->v[i].kernel = NULL;
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

double wl_by_op_seconds(const struct wl_by_op_rows *r, const struct wl_step_time *time)
{
    return r->by_processor_time ? time->cpu_s : time->wall_s;
}

static double weight(const struct wl_by_op_row *r, bool above_bound)
{
    const double bound_s = above_bound && !isnan(r->bound_s) ? r->bound_s : 0;
    return isnan(r->time.wall_s) ? 0 : r->time.wall_s - bound_s;
}

static int by_time(const void *a, const void *b)
{
    const double x = weight(a, false), y = weight(b, false);
    return (x < y) - (x > y);
}

static int by_time_above_bound(const void *a, const void *b)
{
    const double x = weight(a, true), y = weight(b, true);
    return (x < y) - (x > y);
}

void wl_by_op_rows(const struct wl_by_op *t, bool single, struct wl_by_op_rows *out, struct wl_arena *a)
{
    const struct wl_plan *p = t->plan;
    const size_t steps = p->program.n_steps;
    WL_CHECK(t->n > 0);
    *out = (struct wl_by_op_rows) { .v = wl_new_array(a, struct wl_by_op_row, width(t)),
                                    .by_processor_time = p->ops->host_addressable && p->threads == 1,
                                    .step = median_time(t, steps + WHOLE, a) };
    for (size_t i = 0; i < steps; i++) {
        if (!(p->program.steps[i]->when & WL_TRAIN)) continue;
        const struct wl_by_op_row row = row_of_step(t, i, a);
        put(out, &row, single);
    }
    const struct wl_by_op_row update = { .class = "optimizer",
                                         .steps = 1,
                                         .time = median_time(t, steps + UPDATE, a),
                                         .bytes = p->info.update_bytes,
                                         .bound_s = p->info.update_bound_s },
                              reduce = { .class = "all-reduce",
                                         .steps = 1,
                                         .bound_s = 0, /* no bound is known: others are still summed */
                                         .time = median_time(t, steps + REDUCE, a) };
    put(out, &update, true);
    if (p->comm) put(out, &reduce, true);
    qsort(out->v, out->n, sizeof *out->v, single ? by_time_above_bound : by_time);
    out->total.class = "sum";
    for (size_t i = 0; i < out->n; i++) add(&out->total, &out->v[i]);
}
