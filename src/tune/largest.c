#include "tune/largest.h"
#include "advise/advise.h"
#include "tune/experiment_axes.h"

#include <inttypes.h>
#include <math.h>

static int start(const struct wl_tune_trials *s, const struct wl_experiment *x, const struct wl_tune_axis *axis,
                 struct wl_advise_largest *g, struct wl_err *e)
{
    uint64_t step = s->opts->batch_step > 0 ? (uint64_t)s->opts->batch_step : 1;
    bool global = wl_str_eq(axis->key, "global_batch");
    if (global && x->sweep.workers.n) step *= (uint64_t)x->sweep.workers.v[0];
    uint64_t most = axis->n > 1 ? (uint64_t)axis->value[axis->n - 1] : 0;
    int rc = wl_advise_largest_init(g, (uint64_t)axis->value[axis->start], step, most, e);
    return rc ? wl_err_prefix(e, "%s", axis->key) : 0;
}

/* The values of the file are where the search begins and ends; those of the trials take their place. */
static void add_value(struct wl_tune_axis *axis, uint64_t batch, struct wl_arena *a)
{
    axis->value[axis->n] = (double)batch;
    axis->text[axis->n++] = wl_strf(a, "%" PRIu64, batch);
}

static const char *reason_of(const struct wl_tune_axis *axis, const struct wl_advise_largest *g, struct wl_arena *a)
{
    const struct wl_tune_trial *bound = NULL;
    for (size_t i = 0; i < axis->n_trials; i++)
        if (axis->value[axis->trials[i].value] == (double)g->fails) bound = &axis->trials[i];
    if (!bound) return "the largest one that the file allows fits";
    return wl_strf(a, "%s %s: %s (%s)", axis->key, axis->text[bound->value], wl_tune_trial_states[bound->state],
                   bound->why);
}

static int finish(struct wl_tune_axis *axis, const struct wl_advise_largest *g, struct wl_arena *a, struct wl_err *e)
{
    const struct wl_tune_trial *last = &axis->trials[axis->n_trials - 1];
    axis->done = true;
    axis->chosen = g->fits > 0;
    for (size_t i = 0; i < axis->n; i++)
        if (axis->value[i] == (double)g->fits) axis->choice = i;
    axis->reason = reason_of(axis, g, a);
    if (axis->chosen) return 0;
    return wl_fail(e, WL_EINVAL, "not even %s = %s fits: %s: %s", axis->key, axis->text[last->value],
                   wl_tune_trial_states[last->state], last->why);
}

static int try_batch(struct wl_tune_trials *s, struct wl_tune_axis *axis, uint64_t batch, struct wl_err *e)
{
    struct wl_arena *a = wl_arena_new(s->a);
    add_value(axis, batch, s->a);
    int rc = wl_tune_trial_run(s, axis, axis->n - 1, a, e);
    wl_arena_free(a);
    if (rc < 0) return rc;
    const struct wl_tune_trial *t = &axis->trials[axis->n_trials - 1];
    if (t->state != WL_TUNE_SKIPPED) return 0;
    return wl_fail(e, WL_EINVAL, "%s = %s cannot be run here: %s", axis->key, axis->text[t->value], t->why);
}

int wl_tune_largest(struct wl_tune_trials *s, const struct wl_experiment *x, struct wl_err *e)
{
    struct wl_advise_largest g;
    int rc = wl_tune_axis_of_batch(x, s->out, s->a, e);
    if (rc < 0) return rc;
    struct wl_tune_axis *axis = &s->out->axes[0];
    rc = start(s, x, axis, &g, e);
    if (rc < 0) return rc;
    axis->n = 0;
    uint64_t batch = 0;
    while (rc == 0 && axis->n_trials < WL_TUNE_TRIALS_MAX && (batch = wl_advise_largest_next(&g))) {
        rc = try_batch(s, axis, batch, e);
        if (rc == 0)
            rc = wl_advise_largest_add(&g, batch, axis->trials[axis->n_trials - 1].state == WL_TUNE_MEASURED, e);
    }
    return rc ? rc : finish(axis, &g, s->a, e);
}
