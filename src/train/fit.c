#include "train/fit.h"

#include "train/plan.h"

#include <math.h>

static const int64_t most_ns = 10 * (int64_t)WL_NS_PER_S; /* after which no other plan is tried */

struct trial {
    struct wl_train_task *task;
    struct wl_arena *arena;
    size_t room;
    int64_t start_ns;
};

/* The plan of other options, and its size. Convolutions are not measured for it. */
static int try(const struct trial *t, int64_t batch, double memory_gb, struct wl_plan_info *out)
{
    const struct wl_workload *w = t->task->workload;
    struct wl_train_opts *o = t->task->opts, before = *o;
    const struct wl_train_plan_opts dry = { .train = o, .dry = true };
    struct wl_arena *a = wl_arena_new(t->arena);
    struct wl_graph *g = wl_graph_new(a);
    struct wl_plan *p;
    o->local_batch = batch;
    o->memory_gb = memory_gb;
    o->conv = "direct";
    int rc = w->resize && batch != before.local_batch ? w->resize(t->task, NULL) : 0;
    if (!rc) rc = w->build(t->task, g, NULL);
    if (!rc) rc = wl_train_plan(&p, g, &dry, a, NULL);
    if (!rc) *out = wl_plan_info(p);
    *o = before;
    wl_arena_free(a);
    return rc;
}

/* In steps of a hundredth of a GB, or of a thousandth below one. */
static double round_down(double gb) { return gb < 1 ? floor(gb * 1e3) / 1e3 : floor(gb * 1e2) / 1e2; }

static double find_memory(const struct trial *t)
{
    struct wl_plan_info f;
    const double gb = round_down((double)t->room / 1e9);
    return gb > 0 && !try(t, t->task->opts->local_batch, gb, &f) ? gb : NAN;
}

/* What does not grow with the batch. */
static double fixed_bytes(const struct wl_plan_info *f)
{
    return (double)(f->param_bytes + f->gradient_bytes + f->optim_bytes + f->statistic_bytes);
}

/* Memory grows with the batch in proportion, but for workspaces: the largest batch is guessed from a plan's size, and
 * tried. 0: none was found. */
static int64_t find_batch(const struct trial *t)
{
    const double memory_gb = t->task->opts->memory_gb;
    int64_t batch = t->task->opts->local_batch;
    struct wl_plan_info f;
    if (batch < 2 || try(t, batch, memory_gb, &f)) return 0;
    while (f.total_bytes > t->room) {
        const double fixed = fixed_bytes(&f), part = ((double)t->room - fixed) / ((double)f.total_bytes - fixed);
        const int64_t guess = part > 0 ? (int64_t)floor(part * (double)batch) : 0;
        batch = guess < batch ? guess : batch - 1;
        if (batch < 1 || wl_now_ns() - t->start_ns > most_ns || try(t, batch, memory_gb, &f)) return 0;
    }
    return batch;
}

void wl_train_add_what_fits(struct wl_train_task *j, size_t room, struct wl_err *e)
{
    struct trial t = { .task = j, .arena = wl_arena_new(j->arena), .room = room / 100 * 99, .start_ns = wl_now_ns() };
    const double memory_gb = find_memory(&t);
    const int64_t batch = find_batch(&t);
    const char *memory = isnan(memory_gb) ? "" : wl_strf(t.arena, "--memory %g", memory_gb);
    const char *smaller = batch ? wl_strf(t.arena, "--local-batch %lld", (long long)batch) : "";
    const char *either = *memory && *smaller ? " or " : "";
    const char *why = wl_strdup(t.arena, e->msg);
    if (*memory || *smaller)
        wl_fail(e, WL_ENOMEM, "%s; it fits with %s%s%s", why, memory, either, smaller);
    else
        wl_fail(e, WL_ENOMEM, "%s; no local batch was found that fits", why);
    wl_arena_free(t.arena);
}
