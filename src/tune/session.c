#include "tune/session.h"
#include "tune/live.h"
#include "tune/outcome.h"
#include "tune/stored.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    JOBS_MAX = 64,
    IDLE_MAX = 2, /* jobs in a row that say nothing new */
};

/* ---- the search ---- */

int wl_tune_decide(struct wl_tune *t, struct wl_err *e)
{
    t->probes = wl_tune_evidence(&t->windows, t->candidates->reference, t->a);
    int rc = wl_tune_search(t->candidates, &t->opts->goal, &t->probes, t->repeated, &t->search, t->a, e);
    if (rc == 0) t->step = wl_advise_cap_next(t->search);
    return rc;
}

void wl_tune_add_window(struct wl_tune *t, const struct wl_tune_window *w)
{
    WL_GROW(t->a, t->windows.v, t->windows.n, t->windows.cap);
    t->windows.v[t->windows.n++] = *w;
    if (t->opts->on_window && t->jobs) t->opts->on_window(t->opts->ctx, t, w);
}

void wl_tune_refuse(struct wl_tune *t, size_t candidate, const char *why)
{
    t->candidates->refused[candidate] = wl_strdup(t->a, why);
    if (t->opts->on_refused) t->opts->on_refused(t->opts->ctx, t, candidate);
}

/* ---- a job ---- */

static int plan(struct wl_tune *t, const struct wl_cap_request *cap, int64_t *run, struct wl_err *e)
{
    struct wl_settings set = wl_settings_none;
    wl_settings_set_caps(&set, cap);
    int rc = wl_store_begin(t->store, e);
    if (rc == 0) rc = wl_run_plan(t->store, t->opts->name, &set, run, e);
    if (rc == 0) rc = wl_store_commit(t->store, e);
    if (rc < 0) wl_store_rollback(t->store);
    return rc;
}

/* The command may change its working folder: the run's is absolute. */
static int place(struct wl_tune *t, int64_t run, struct wl_run_opts *how, struct wl_err *e)
{
    char *folder = realpath(wl_path_dir(t->a, wl_store_path(t->store)), NULL);
    if (!folder) return wl_fail_errno(e, "%s", wl_store_path(t->store));
    how->stored_dir = wl_strf(t->a, "runs/%lld", (long long)run);
    int rc = wl_run_folder_create(folder, &how->stored_dir, &how->run_dir, t->a, e);
    free(folder);
    return rc;
}

/* One job that starts with a value; `watch` NULL: it keeps it. */
static int run_job(struct wl_tune *t, size_t candidate, const struct wl_run_watch *watch, struct wl_err *e)
{
    const struct wl_tune_candidates *c = t->candidates;
    struct wl_run_opts how = *t->opts->run;
    struct wl_cap_request cap = wl_cap_none;
    int64_t run = 0;
    cap.value[c->kind] = c->value[candidate];
    how.cap = &cap;
    how.watch = watch;
    t->jobs++;
    t->holds = candidate;
    if (t->opts->on_job) t->opts->on_job(t->opts->ctx, t, candidate);
    int rc = plan(t, &cap, &run, e);
    if (rc == 0) rc = place(t, run, &how, e);
    if (rc == 0) rc = wl_run_measure(t->store, run, &how, &t->job, t->a, e);
    if (rc < 0 && run && wl_store_drop_run(t->store, run, NULL) < 0)
        wl_log(WL_DEBUG, "tune", "run %lld stays", (long long)run);
    if (rc < 0 && how.run_dir) wl_run_folder_discard(how.run_dir);
    return rc;
}

/* How the job ended: the user's wish to stop, and a failure, end the search. */
static int judge_job(const struct wl_tune *t, struct wl_err *e)
{
    const struct wl_run_result *r = &t->job;
    if (r->stop_signal)
        return wl_fail(e, WL_EINTR, "stopped by the user (signal %d, %s)", r->stop_signal, strsignal(r->stop_signal));
    if (r->caps_left) return wl_fail(e, WL_EIO, "%s", r->caps_left);
    if (r->status != WL_RUN_DONE) return wl_fail(e, WL_EJOB, "the command failed: %s", r->error);
    return 0;
}

/* The whole run is one observation of the value that it kept. */
static int take_whole_run(struct wl_tune *t, size_t candidate, struct wl_err *e)
{
    const struct wl_run_result *r = &t->job;
    struct wl_tune_rows rows = { r->derived.epochs, r->derived.n_epochs, r->derived.energies, r->derived.n_energies,
                                 (double)(r->end_ns - r->start_ns) / WL_NS_PER_S };
    struct wl_tune_window w = { .candidate = candidate, .job = (int64_t)t->jobs, .run = r->run };
    int rc =
        r->flag ? wl_fail(e, WL_EPERM, "%s", r->flag) : wl_tune_outcome_of_run(&rows, t->candidates->n_devices, &w, e);
    if (rc < 0) return wl_err_prefix(e, "run %lld cannot be used", (long long)r->run);
    wl_tune_add_window(t, &w);
    return 0;
}

static bool is_by_runs(const struct wl_tune *t) { return t->windows.n && t->windows.v[0].is_whole; }

/* A job that is watched, from the reference on. */
static int run_watched(struct wl_tune *t, struct wl_err *e)
{
    struct wl_tune_live *live = wl_tune_live_new(t, t->a);
    int rc = run_job(t, t->candidates->reference, wl_tune_live_watch(live), e);
    if (rc == 0) rc = judge_job(t, e);
    if (rc == 0) rc = wl_tune_live_failure(live, e);
    if (rc < 0 || wl_tune_live_windows(live)) return rc;
    if (t->windows.n == 0) return take_whole_run(t, t->candidates->reference, e);
    return wl_fail(e, WL_EINVAL, "the command ended before a window of %lld steps: it is too short now",
                   (long long)t->steps);
}

/* A job for one value; a device that does not accept it gives it up. */
static int run_value(struct wl_tune *t, size_t candidate, struct wl_err *e)
{
    int rc = run_job(t, candidate, NULL, e);
    if ((rc == WL_EIO || rc == WL_EINVAL) && t->job.end_ns == 0 && candidate != t->candidates->reference) {
        wl_tune_refuse(t, candidate, e->msg);
        return 0;
    }
    if (rc == 0) rc = judge_job(t, e);
    return rc ? rc : take_whole_run(t, candidate, e);
}

/* A search that was done before: the job is run with its choice. */
static int run_applied(struct wl_tune *t, struct wl_err *e)
{
    t->applied = true;
    int rc = run_job(t, t->step.index, NULL, e);
    return rc ? rc : judge_job(t, e);
}

/* What is known: windows of values, values that are given up, and the windows of the reference that the search needs.
 */
static size_t progress_of(const struct wl_tune *t)
{
    size_t n = t->repeated + (t->windows.n > 0);
    for (size_t i = 0; i < t->windows.n; i++) n += t->windows.v[i].candidate != t->candidates->reference;
    for (size_t i = 0; i < t->candidates->n; i++) n += t->candidates->refused[i] != NULL;
    return n;
}

static int fail_idle(const struct wl_tune *t, struct wl_err *e)
{
    if (t->unusable) return wl_fail(e, WL_EINVAL, "%d jobs in a row have no window to use: %s", IDLE_MAX, t->unusable);
    return wl_fail(e, WL_EINVAL,
                   "%d jobs in a row ended before a window of another value: run longer jobs, or give shorter windows "
                   "(--window, --window-steps)",
                   IDLE_MAX);
}

/* The next job of the search. One that says nothing new may have been disturbed; the same command is not run for ever.
 */
static int run_next(struct wl_tune *t, size_t *idle, struct wl_err *e)
{
    const size_t before = progress_of(t);
    t->job = (struct wl_run_result) { 0 };
    t->repeated += is_by_runs(t) && t->step.index == t->candidates->reference;
    int rc = is_by_runs(t) ? run_value(t, t->step.index, e) : run_watched(t, e);
    *idle = progress_of(t) > before ? 0 : *idle + 1;
    if (rc == 0) rc = wl_tune_decide(t, e);
    return rc == 0 && *idle >= IDLE_MAX && !t->step.done ? fail_idle(t, e) : rc;
}

static int run_search(struct wl_tune *t, struct wl_err *e)
{
    size_t idle = 0;
    int rc = wl_tune_decide(t, e);
    bool was_done = t->step.done;
    while (rc == 0 && !t->step.done && t->jobs < JOBS_MAX && (t->opts->relaunch || t->jobs == 0))
        rc = run_next(t, &idle, e);
    if (rc == 0 && t->windows.n == 0 && t->unusable)
        rc = wl_fail(e, WL_EINVAL, "no window can be used: %s", t->unusable);
    return rc == 0 && was_done && t->opts->apply ? run_applied(t, e) : rc;
}

int wl_tune_command(const struct wl_tune_opts *opts, struct wl_tune *out, struct wl_arena *a, struct wl_err *e)
{
    *out = (struct wl_tune) { .opts = opts, .candidates = opts->candidates, .reference_s = NAN, .a = a };
    int64_t campaign;
    int rc = wl_store_open(&out->store, opts->store, WL_STORE_CREATE, a, e);
    if (rc < 0) return wl_err_prefix(e, "cannot store the windows (choose another file with --store)");
    rc = wl_store_add_campaign(out->store, opts->name, "", WL_VERSION, &campaign, e);
    if (rc == 0) rc = wl_store_lock_campaign(out->store, campaign, e);
    if (rc == 0) rc = wl_tune_load(out, wl_shell_quote(a, opts->run->argv), e);
    return rc ? rc : run_search(out, e);
}
