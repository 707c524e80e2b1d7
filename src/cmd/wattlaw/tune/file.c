/* wattlaw tune FILE.ini */
#include "cmd/cmd.h"
#include "cmd/wattlaw/scaling.h"
#include "cmd/wattlaw/tune/options.h"
#include "cmd/wattlaw/tune/trials_view.h"

int wl_tune_cmd_file(const struct wl_tune_cmd_options *o, const char *path, struct wl_arena *a, struct wl_err *e)
{
    struct wl_tune_experiment x;
    struct wl_tune_experiment_opts how = {
        .path = path, .set = &o->set, .largest = o->largest, .batch_step = o->batch_step
    };
    struct wl_signals *signals;
    int rc = wl_tune_cmd_goal(o, &how.goal, a, e);
    if (rc == 0 && how.goal.objective == WL_ADVISE_MIN_ZEUS)
        rc = wl_fail(e, WL_EUSAGE, "--objective zeus is for a command after --");
    if (rc == 0 && o->target) rc = wl_scaling_target_parse(o->target, &how.target.metric, &how.target.value, a, e);
    if (rc == 0) rc = wl_signals_open(&signals, false, a, e);
    if (rc < 0) return rc;
    struct wl_tune_trials_view view = {
        .objective = o->objective, .path = path, .target = o->target, .largest = o->largest, .quiet = o->quiet
    };
    how.signals = signals;
    how.on_trial = wl_tune_trials_view_trial;
    how.on_tick = wl_tune_trials_view_tick;
    how.ctx = &view;
    wl_progress_start(&view.bar, "tune");
    rc = wl_tune_experiment(&how, &x, a, e);
    wl_progress_clear(&view.bar);
    if (rc == WL_EINTR && x.store) wl_eprint("trials are stored in %s; the same command resumes the search\n", x.store);
    if (rc < 0) return rc;
    if (o->json)
        wl_json_print(wl_tune_trials_view_json(&view, &x, a));
    else
        wl_tune_trials_view_result(&view, &x, a);
    return WL_EXIT_OK;
}
