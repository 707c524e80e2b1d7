/* A whole campaign: runs what is missing, one run after the other. */
#include "campaign/sweep.h"
#include "campaign/batch.h"
#include "campaign/budget.h"

#include <string.h>

/* ---- before the first run ---- */

static int reserve_devices(struct wl_sweep *s, struct wl_err *e)
{
    const struct wl_experiment *x = s->x;
    bool kinds[WL_CAP_KINDS];
    if (wl_experiment_is_multinode(x)) return 0; /* each node reserves its own, for one run at a time */
    for (int k = 0; k < WL_CAP_KINDS; k++) kinds[k] = x->sweep.cap[k].n > 0;
    return wl_caps_reserve(kinds, wl_strf(s->a, "campaign %s", x->campaign.name), &x->cap.opts, &x->measure.power, s->a,
                           e);
}

/* Ends the jobs of a wattlaw that died together with its guard. Only run folders below the campaign's own count: a
 * store from somebody else may name any other folder, whose processes are not ours. */
static int end_leftovers(struct wl_sweep *s, struct wl_err *e)
{
    struct wl_run_filter filter = { .campaign = s->out->campaign, .statuses = 1u << WL_RUN_INTERRUPTED };
    struct wl_run_rows rows;
    struct wl_strs dirs = { 0 };
    int rc = wl_store_runs(s->store, &filter, &rows, s->a, e);
    for (size_t i = 0; i < rows.n && rc == 0; i++)
        if (rows.v[i].folder && rows.v[i].folder[0] != '/')
            wl_strs_add(s->a, &dirs, wl_path_join(s->a, s->folder, rows.v[i].folder));
    wl_cgroup_kill_stale(s->x->launch.grace_s); /* also processes that have cleared their environment */
    int n = wl_kill_leftovers(&dirs, s->x->launch.grace_s);
    if (n) wl_log(WL_WARN, "campaign", "%d process%s of an interrupted run ended", n, n > 1 ? "es" : "");
    return rc;
}

/* ---- the runs ---- */

/* The options of run i, whose folder is opts->run_dir. */
static int prepare_run(struct wl_sweep *s, size_t i, struct wl_run_opts *opts, struct wl_arena *a, struct wl_err *e)
{
    const struct wl_experiment *x = s->x;
    const struct wl_planned_run *r = &s->grid.runs[i];
    struct wl_placeholder_values fill = {
        .x = x, .trial = &s->grid.trials[r->trial], .repeat = r->repeat, .run_dir = opts->run_dir, .data = s->data
    };
    struct wl_strs argv, *env = wl_new(a, struct wl_strs);
    int rc = wl_placeholder_command(&fill, "[launch] command", &argv, a, e);
    if (rc == 0) rc = wl_placeholder_env(&fill, "[launch] env", env, a, e);
    if (rc == 0 && x->launch.cwd)
        rc = wl_template_expand(x->launch.cwd, wl_placeholder_value, &fill, "[launch] cwd", &opts->cwd, a, e);
    if (rc < 0) return rc;
    opts->argv = wl_strs_argv(&argv, a);
    opts->env = env;
    opts->timeout_s = x->launch.timeout_s;
    opts->grace_s = x->launch.grace_s;
    opts->cooldown = x->measure.cooldown;
    opts->idle_s = x->measure.idle_s;
    opts->power = &x->measure.power;
    opts->regex = wl_experiment_is_multinode(x) ? NULL : &x->measure.regex; /* the nodes read the output */
    opts->is_multinode = wl_experiment_is_multinode(x);
    opts->node_wait_s = x->measure.node_wait_s;
    opts->slurm_config = s->opts->only ? s->opts->only->slurm_config : NULL;
    opts->cap = &fill.trial->cap;
    opts->cap_opts = &x->cap.opts;
    opts->signals = s->opts->signals;
    struct wl_sweep_current *current = wl_new(a, struct wl_sweep_current);
    *current = (struct wl_sweep_current) { .s = s, .run = s->run_ids[i], .a = a };
    opts->stop_asked = wl_sweep_stop_asked;
    opts->stop_ctx = current;
    if (!opts->is_multinode) opts->watch = s->budget ? wl_sweep_budget_watch(s->budget, a) : s->opts->watch;
    return 0;
}

/* A command that does not exist fails before anything starts, not in every run. */
static int check_command(struct wl_sweep *s, struct wl_err *e)
{
    for (size_t i = 0; i < s->grid.n_runs; i++) {
        struct wl_run_opts opts = { .run_dir = wl_path_join(s->a, s->folder, wl_sweep_run_folder(s, s->run_ids[i])) };
        if (!s->to_do[i]) continue;
        int rc = prepare_run(s, i, &opts, s->a, e);
        if (rc < 0) return rc;
        bool relative = opts.cwd && strchr(opts.argv[0], '/') && opts.argv[0][0] != '/';
        const char *program = relative ? wl_path_join(s->a, opts.cwd, opts.argv[0]) : opts.argv[0];
        return wl_program_check("[launch] command", program, opts.argv[0], s->a, e);
    }
    return 0;
}

static void note_result(struct wl_sweep *s, size_t i, const struct wl_run_result *r, const char *log)
{
    size_t trial = s->grid.runs[i].trial;
    if (r->status == WL_RUN_DONE) {
        s->out->done++;
        s->took_s[trial] += (double)(r->end_ns - r->start_ns) / WL_NS_PER_S;
        s->took_n[trial]++;
    } else if (r->status == WL_RUN_FAILED) {
        wl_sweep_add_failed(s, i, log, r->error, r->log_tail);
    }
}

/* What the first finished run lacks, all will lack. */
static void say_unmatched(struct wl_sweep *s, const struct wl_run_result *r)
{
    for (size_t i = 0; i < r->unmatched.n && !s->said_unmatched; i++)
        wl_log(WL_WARN, "campaign", "run %lld: %s", (long long)r->run, r->unmatched.v[i]);
    s->said_unmatched |= r->unmatched.n > 0;
}

void wl_sweep_run_ended(struct wl_sweep *s, int64_t run, int64_t trial, int64_t repeat, const char *log,
                        const struct wl_run_result *r)
{
    for (size_t i = 0; i < s->grid.n_runs; i++) {
        const struct wl_planned_run *p = &s->grid.runs[i];
        if (s->trial_ids[p->trial] != trial || p->repeat != repeat) continue;
        s->run_ids[i] = run;
        s->passed += r->status != WL_RUN_INTERRUPTED;
        note_result(s, i, r, log);
        if (s->opts->on_run) s->opts->on_run(s->opts->ctx, &s->grid, i, run, r);
    }
}

static int create_run_folder(const struct wl_sweep *s, size_t i, struct wl_run_opts *opts, struct wl_arena *a,
                             struct wl_err *e)
{
    opts->stored_dir = wl_sweep_run_folder(s, s->run_ids[i]);
    if (s->launcher->runs) return wl_run_folder_create(s->folder, &opts->stored_dir, &opts->run_dir, a, e);
    opts->run_dir = wl_path_join(a, s->folder, opts->stored_dir);
    return 0;
}

/* It was cancelled before it began. */
static bool is_closed(struct wl_sweep *s, int64_t run, struct wl_arena *a)
{
    const struct wl_run_filter filter = { .run = run, .statuses = 1u << WL_RUN_FAILED };
    struct wl_run_rows rows;
    return wl_store_cancelled(s->store, run, a) && wl_store_runs(s->store, &filter, &rows, a, NULL) == 0 && rows.n == 1;
}

static int run_one(struct wl_sweep *s, size_t i, struct wl_arena *a, struct wl_err *e)
{
    const struct wl_planned_run *p = &s->grid.runs[i];
    const char *note = wl_strf(a, "%s, repeat %lld", s->grid.trials[p->trial].label, (long long)p->repeat);
    struct wl_sweep_progress ticker = wl_sweep_progress_new(s, i, note, a);
    struct wl_run_opts opts = { .tick = s->opts->on_tick ? wl_sweep_progress_update : NULL, .ctx = &ticker };
    struct wl_run_result r;
    int rc = s->budget ? wl_sweep_budget_check(s->budget, i, e) : 0;
    if (rc == 0) rc = create_run_folder(s, i, &opts, a, e);
    if (rc == 0) rc = prepare_run(s, i, &opts, a, e);
    if (rc == 0 && s->opts->on_tick) wl_sweep_progress_update(&ticker, 0);
    if (rc == 0) rc = s->launcher->run(s->store, s->run_ids[i], &opts, &r, a, e);
    if (rc < 0 && opts.run_dir) wl_run_folder_discard(opts.run_dir);
    if (rc < 0) return is_closed(s, s->run_ids[i], a) ? wl_sweep_reread(s, e) : rc;
    s->passed++;
    s->to_do[i] = false;
    note_result(s, i, &r, wl_strf(s->a, "%s/log", opts.stored_dir));
    if (s->opts->on_run) s->opts->on_run(s->opts->ctx, &s->grid, i, s->run_ids[i], &r);
    say_unmatched(s, &r);
    if (s->budget) rc = wl_sweep_budget_add(s->budget, i, e);
    if (rc < 0) return rc;
    if (r.status == WL_RUN_INTERRUPTED) return wl_fail(e, WL_EINTR, "%s", r.error);
    if (r.caps_left) return wl_fail(e, WL_EIO, "%s: the next run could not set its caps", r.caps_left);
    return 0;
}

static int run_all(struct wl_sweep *s, struct wl_err *e)
{
    size_t i = s->grid.n_runs - 1; /* the first one follows it */
    int rc;
    while ((rc = wl_sweep_next(s, &i, e)) == 0 && i < s->grid.n_runs) {
        struct wl_arena *a = wl_arena_new(s->a);
        rc = wl_sweep_check_failures(s, e);
        if (rc == 0) rc = run_one(s, i, a, e);
        wl_arena_free(a);
        if (rc < 0) return rc;
    }
    return rc;
}

/* A job knows its trial by the hash of its settings: what it was submitted with may have had other trials besides. */
static int keep_only(struct wl_sweep *s, struct wl_err *e)
{
    const struct wl_sweep_only *only = s->opts->only;
    struct wl_grid *g = &s->grid;
    for (size_t i = 0; i < g->n_trials; i++) {
        const struct wl_settings set = wl_sweep_trial_settings(s->x, &g->trials[i], s->a);
        if (!wl_str_eq(wl_batch_trial_hash(&set, s->a), only->trial)) continue;
        if (g->trials[i].skip) return wl_fail(e, WL_EINVAL, "%s: %s", g->trials[i].label, g->trials[i].skip);
        g->trials[0] = g->trials[i];
        g->n_trials = g->n_runs = 1;
        g->n_skipped = 0;
        g->runs = wl_new(s->a, struct wl_planned_run);
        g->runs[0] = (struct wl_planned_run) { .trial = 0, .repeat = only->repeat };
        return 0;
    }
    return wl_fail(e, WL_EINVAL, "%s: has no trial %s", s->x->path, only->trial);
}

/* What only a sweep with runs of its own can do. */
static int check_batch_opts(const struct wl_sweep *s, struct wl_err *e)
{
    if (!s->opts->n_limits) return 0;
    return wl_fail(e, WL_EUSAGE,
                   "--stop-at: not with launcher = %s: jobs in the queue start without asking (set time_limit and "
                   "max_in_queue in [launch])",
                   s->launcher->name);
}

/* The checks that do not need the store. */
static int begin(struct wl_sweep *s, struct wl_err *e)
{
    const struct wl_experiment *x = s->x;
    struct wl_machine here = wl_machine_detect(x, s->a);
    struct wl_sensors *sensors; /* stay open: some counters restart when their last user closes them */
    int rc = wl_grid_make(x, &here, &s->grid, s->a, e);
    if (rc == 0 && s->opts->only) rc = keep_only(s, e);
    if (rc == 0) rc = wl_launcher_find(x->launch.launcher, &s->launcher, e);
    if (rc == 0 && s->launcher->batch) return check_batch_opts(s, e);
    if (rc == 0 && s->opts->detach)
        return wl_fail(e, WL_EUSAGE, "--detach: not with launcher = %s: nothing would run", s->launcher->name);
    if (rc < 0 || wl_experiment_is_multinode(x)) return rc;
    rc = wl_sampler_cpu_check(&x->measure.power, s->a, e);
    return rc ? rc : wl_sensors_open(&sensors, &x->measure.power, s->a, e);
}

int wl_sweep_is_empty(const struct wl_experiment *x, struct wl_err *e)
{
    return wl_fail(e, WL_EINVAL, "campaign %s: none of its trials can be run here", x->campaign.name);
}

/* Checks the first run and the data before anything starts. */
static int check_runs(struct wl_sweep *s, struct wl_err *e)
{
    bool missing;
    size_t n = s->grid.n_runs;
    s->to_do = wl_new_array(s->a, bool, n);
    s->run_ids = wl_new_array(s->a, int64_t, n);
    for (size_t i = 0; i < n; i++) s->to_do[i] = true;
    int rc = check_command(s, e);
    return rc ? rc : wl_prepare_find_data(s->x, &s->data, &missing, s->a, e);
}

/* The command is looked for where it is run; the data are needed here as well, since they are prepared here. */
static int check_batch(struct wl_sweep *s, const char **scripts, struct wl_err *e)
{
    bool missing;
    int rc = wl_prepare_find_data(s->x, &s->data, &missing, s->a, e);
    if (rc == 0) rc = wl_batch_write_scripts(s, e);
    if (rc == 0) *scripts = wl_path_join(s->a, s->folder, WL_BATCH_JOBS_FOLDER);
    return rc;
}

int wl_sweep_check(const struct wl_experiment *x, struct wl_grid *grid, const char **scripts, struct wl_arena *a,
                   struct wl_err *e)
{
    struct wl_sweep_result result = { 0 };
    struct wl_sweep_opts opts = { 0 };
    struct wl_sweep s = { .x = x, .opts = &opts, .out = &result, .a = a, .data = x->data.path };
    size_t done = 0;
    *scripts = NULL;
    int rc = begin(&s, e);
    *grid = s.grid;
    const bool batch = rc == 0 && s.launcher->batch;
    if (rc == 0) rc = wl_sweep_inspect(&s, &done, e);
    if (rc == 0 && !batch) rc = reserve_devices(&s, e);
    if (rc == 0 && s.grid.n_runs == 0) rc = wl_sweep_is_empty(x, e);
    if (batch) return rc ? rc : check_batch(&s, scripts, e);
    return rc == 0 && done < s.grid.n_runs ? check_runs(&s, e) : rc;
}

int wl_sweep_run(const struct wl_experiment *x, const struct wl_sweep_opts *opts, struct wl_sweep_result *out,
                 struct wl_arena *a, struct wl_err *e)
{
    *out = (struct wl_sweep_result) { 0 };
    struct wl_sweep *s = wl_new(a, struct wl_sweep);
    *s = (struct wl_sweep) { .x = x, .opts = opts, .out = out, .a = a, .data = x->data.path };
    int rc = begin(s, e);
    const bool batch = rc == 0 && s->launcher->batch;
    if (rc == 0) rc = wl_sweep_open(s, e);
    if (rc == 0 && !batch) rc = reserve_devices(s, e);
    if (rc == 0 && !batch) rc = end_leftovers(s, e);
    if (rc == 0) rc = wl_sweep_plan(s, e);
    if (rc < 0 && s->store) wl_store_discard(s->store, NULL);
    if (rc < 0) return rc;
    if (opts->on_start) opts->on_start(opts->ctx, &s->grid, s->n_to_do);
    if (batch) {
        rc = s->n_to_do ? wl_prepare_data(x, s->folder, opts->signals, &s->data, a, e) : 0;
        return rc ? rc : wl_batch_run(s, e);
    }
    if (s->n_to_do == 0) return 0;
    rc = check_command(s, e);
    if (rc < 0) wl_store_discard(s->store, NULL); /* the file of the experiment may be corrected */
    if (rc == 0) rc = wl_sweep_budget_open(s, &s->budget, e);
    if (rc == 0) rc = wl_prepare_data(x, s->folder, opts->signals, &s->data, a, e);
    return rc ? rc : run_all(s, e);
}
