#include "tune/experiment.h"
#include "tune/experiment_axes.h"
#include "tune/largest.h"
#include "tune/trial.h"

#include <math.h>

const char *const wl_tune_trial_states[] = { [WL_TUNE_MEASURED] = "measured",
                                             [WL_TUNE_SKIPPED] = "skipped",
                                             [WL_TUNE_OUT_OF_MEMORY] = "out of memory",
                                             [WL_TUNE_NOT_REACHED] = "not reached",
                                             [WL_TUNE_FAILED] = "failed" };

static int search_axis(struct wl_tune_trials *s, struct wl_tune_axis *axis, struct wl_err *e)
{
    while (axis->n_trials < WL_TUNE_TRIALS_MAX) {
        size_t value;
        struct wl_arena *a = wl_arena_new(s->a);
        int rc = wl_tune_axis_next(axis, &s->opts->goal, &value, a, e);
        if (rc == 0 && !axis->done) rc = wl_tune_trial_run(s, axis, value, a, e);
        wl_arena_free(a);
        if (rc < 0) return rc;
        if (axis->done) break;
    }
    if (axis->chosen) return 0;
    return wl_fail(e, WL_EINVAL, "%s: no value could be measured; %s = %s: %s", axis->key, axis->key,
                   axis->text[axis->trials[0].value], axis->trials[0].why ? axis->trials[0].why : "failed");
}

static int check_limit(const struct wl_tune_trials *s, struct wl_err *e)
{
    for (size_t i = 0; i < s->out->n_axes; i++)
        if (!isnan(s->opts->goal.slowdown) && !s->out->axes[i].is_cap)
            return wl_fail(e, WL_EINVAL,
                           "--max-slowdown limits caps and clocks; %s is searched too: give it one value (--set "
                           "sweep.%s=...)",
                           s->out->axes[i].key, s->out->axes[i].key);
    return 0;
}

int wl_tune_experiment(const struct wl_tune_experiment_opts *opts, struct wl_tune_experiment *out, struct wl_arena *a,
                       struct wl_err *e)
{
    struct wl_experiment x;
    struct wl_tune_trials s = { .opts = opts, .out = out, .a = a };
    *out = (struct wl_tune_experiment) { 0 };
    int rc = wl_experiment_read(opts->path, opts->set, &x, a, e);
    if (rc == 0) out->campaign = wl_strdup(a, x.campaign.name);
    if (rc == 0 && opts->largest) return wl_tune_largest(&s, &x, e);
    if (rc == 0) rc = wl_tune_axes(&x, out, a, e);
    if (rc == 0) rc = check_limit(&s, e);
    for (size_t i = 0; i < out->n_axes && rc == 0; i++) rc = search_axis(&s, &out->axes[i], e);
    return rc;
}
