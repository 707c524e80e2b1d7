/* A whole campaign: what is missing is run, one run after the other. */
#include "campaign/internal.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct sweep {
    const struct wl_experiment *x;
    const struct wl_sweep_how *how;
    struct wl_sweep_result *out;
    const struct wl_launcher *launcher;
    struct wl_grid grid;
    struct wl_store *store;
    const char *folder; /* absolute, of the store */
    const char *data;   /* absolute from the first run on; NULL: none */
    int64_t *trial_ids; /* [trial] */
    int64_t *run_ids;   /* [planned run] the run that stands for it now */
    bool *to_do;        /* [planned run] */
    size_t n_to_do;
    double *took_s; /* [trial] sum over finished runs */
    double *took_n;
    struct wl_arena *a;
};

/* ---- the store ---- */

static const char *store_path(const struct wl_experiment *x, struct wl_arena *a)
{
    const char *given = x->campaign.store;
    size_t n = strlen(given);
    if (n > 3 && wl_streq(given + n - 3, ".db")) return given;
    return wl_path_join(a, given, WL_STORE_FILE);
}

/* The first line in which two texts differ. */
static const char *first_difference(const char *a, const char *b, struct wl_arena *arena)
{
    for (;;) {
        size_t n = strcspn(a, "\n"), m = strcspn(b, "\n");
        if (n != m || strncmp(a, b, n) != 0 || !a[n] || !b[m])
            return wl_strf(arena, "there '%.*s', here '%.*s'", (int)(n < 200 ? n : 200), a, (int)(m < 200 ? m : 200),
                           b);
        a += n + 1;
        b += m + 1;
    }
}

/* Did the experiment that is stored make its runs as this one does? The texts are compared as they stand; where a newer
 * version has more keys, an older text is read first, which gives them their defaults. */
static int check_text(struct sweep *s, const char *stored, struct wl_err *e)
{
    struct wl_experiment before;
    const char *fixed = wl_experiment_fixed(stored, s->a);
    if (wl_streq(fixed, s->x->fixed)) return 0;
    if (wl_experiment_parse(wl_store_path(s->store), stored, NULL, &before, s->a, NULL) == 0) fixed = before.fixed;
    if (wl_streq(fixed, s->x->fixed)) return 0;
    return wl_fail(e, WL_EINVAL,
                   "%s holds runs of campaign %s that were made differently: %s. Give the new campaign another name or "
                   "store",
                   wl_store_path(s->store), s->x->campaign.name, first_difference(fixed, s->x->fixed, s->a));
}

static int count_started(struct sweep *s, int64_t campaign, size_t *n, struct wl_err *e)
{
    struct wl_run_filter filter = { .campaign = campaign, .statuses = ~(1u << WL_RUN_PLANNED) };
    struct wl_run_rows rows;
    int rc = wl_store_runs(s->store, &filter, &rows, s->a, e);
    *n = rc ? 0 : rows.n;
    return rc;
}

/* Runs of one campaign must be comparable: what makes a run what it is stays as it was when the first one was made.
 * Before that, a mistake in the file may be put right. */
static int check_same(struct sweep *s, struct wl_err *e)
{
    struct wl_campaign_rows rows;
    int rc = wl_store_campaigns(s->store, &rows, s->a, e);
    for (size_t i = 0; i < rows.n && rc == 0; i++) {
        size_t started;
        if (!wl_streq(rows.v[i].name, s->x->campaign.name) || !rows.v[i].experiment) continue;
        rc = count_started(s, rows.v[i].id, &started, e);
        if (rc == 0 && started) rc = check_text(s, rows.v[i].experiment, e);
    }
    return rc;
}

static int open_store(struct sweep *s, struct wl_err *e)
{
    int rc = wl_store_open(&s->store, store_path(s->x, s->a), WL_STORE_CREATE, s->a, e);
    if (rc < 0) return rc;
    s->out->store = wl_store_path(s->store);
    char *folder = realpath(wl_path_dir(s->a, s->out->store), NULL);
    if (!folder) return wl_fail_errno(e, "%s", s->out->store);
    s->folder = wl_strdup(s->a, folder);
    free(folder);
    rc = check_same(s, e);
    if (rc == 0)
        rc = wl_store_campaign(s->store, s->x->campaign.name, s->x->expanded, WL_VERSION, &s->out->campaign, e);
    return rc ? rc : wl_store_own_campaign(s->store, s->out->campaign, e);
}

static int reserve_devices(struct sweep *s, struct wl_err *e)
{
    const struct wl_experiment *x = s->x;
    bool kinds[WL_CAP_KINDS];
    if (wl_experiment_on_nodes(x)) return 0; /* each node reserves its own, a run at a time */
    for (int k = 0; k < WL_CAP_KINDS; k++) kinds[k] = x->sweep.cap[k].n > 0;
    return wl_caps_reserve(kinds, wl_strf(s->a, "campaign %s", x->campaign.name), &x->cap.opts, &x->measure.power, s->a, e);
}

/* Jobs of a wattlaw that died together with its guard. */
static int end_leftovers(struct sweep *s, struct wl_err *e)
{
    struct wl_run_filter filter = { .campaign = s->out->campaign, .statuses = 1u << WL_RUN_INTERRUPTED };
    struct wl_run_rows rows;
    struct wl_strs dirs = { 0 };
    int rc = wl_store_runs(s->store, &filter, &rows, s->a, e);
    for (size_t i = 0; i < rows.n && rc == 0; i++)
        if (rows.v[i].folder) wl_strs_add(s->a, &dirs, wl_path_join(s->a, s->folder, rows.v[i].folder));
    int n = wl_leftovers_end(&dirs, s->x->launch.grace_s);
    if (n) wl_log(WL_WARN, "campaign", "%d process%s of an interrupted run ended", n, n > 1 ? "es" : "");
    return rc;
}

/* ---- the plan ---- */

static double or_missing(int64_t v) { return v ? (double)v : NAN; }

/* User axes and the samples of weak scaling have no column of their own. */
static const char *extra_of(const struct sweep *s, const struct wl_trial *t)
{
    const struct wl_experiment *x = s->x;
    const char **names = wl_new_array(s->a, const char *, x->n_user + 1),
               **values = wl_new_array(s->a, const char *, x->n_user + 1);
    size_t n = 0;
    for (size_t i = 0; i <= x->n_user; i++) {
        const char *name = i < x->n_user ? x->user[i].key : "samples";
        const char *value = i < x->n_user ? t->user[i]
                            : t->samples  ? wl_strf(s->a, "%lld", (long long)t->samples)
                                          : NULL;
        if (!value) continue;
        size_t at = n++;
        for (; at > 0 && strcmp(names[at - 1], name) > 0; at--) names[at] = names[at - 1], values[at] = values[at - 1];
        names[at] = name;
        values[at] = value;
    }
    if (n == 0) return NULL;
    struct wl_json *o = wl_json_root_object(s->a);
    for (size_t i = 0; i < n; i++) wl_json_add_str(o, names[i], values[i]);
    return wl_json_text(o, 0, s->a);
}

/* What was neither given nor handed to the command is not known: the workload's own start mark may say it. */
static struct wl_settings settings_of(const struct sweep *s, const struct wl_trial *t)
{
    const struct wl_experiment *x = s->x;
    bool workers = x->sweep.workers.n || wl_placeholder_used(x, "workers") || wl_placeholder_used(x, "mpirun");
    bool threads = x->sweep.threads.n || wl_placeholder_used(x, "threads");
    bool accumulation = x->sweep.accumulation.n || t->local_batch;
    struct wl_settings set = wl_settings_none;
    set.nodes = or_missing(t->nodes);
    set.workload = t->workload;
    if (workers) set.workers = (double)t->workers;
    set.local_batch = or_missing(t->local_batch);
    set.global_batch = or_missing(t->global_batch);
    if (accumulation) set.accumulation = (double)t->accumulation;
    set.epochs = or_missing(t->epochs);
    if (threads) set.threads = (double)t->threads;
    wl_settings_caps(&set, &t->cap);
    set.extra = extra_of(s, t);
    return set;
}

static int plan_rows(struct sweep *s, struct wl_err *e)
{
    struct wl_grid *g = &s->grid;
    int rc = wl_store_unplan(s->store, s->out->campaign, e);
    for (size_t i = 0; i < g->n_trials && rc == 0; i++) {
        struct wl_settings set = settings_of(s, &g->trials[i]);
        rc = wl_store_trial(s->store, s->out->campaign, &set, g->trials[i].skip, &s->trial_ids[i], e);
    }
    for (size_t i = 0; i < g->n_runs && rc == 0; i++) {
        struct wl_plan plan = { .trial = s->trial_ids[g->runs[i].trial],
                                .repeat = g->runs[i].repeat,
                                .seed = s->x->campaign.seed + g->runs[i].repeat - 1,
                                .position = (int64_t)i + 1,
                                .retry_failed = s->how->retry_failed };
        rc = wl_store_plan(s->store, &plan, &s->run_ids[i], e);
    }
    return rc;
}

static int plan(struct sweep *s, struct wl_err *e)
{
    s->trial_ids = wl_new_array(s->a, int64_t, s->grid.n_trials);
    s->took_s = wl_new_array(s->a, double, s->grid.n_trials);
    s->took_n = wl_new_array(s->a, double, s->grid.n_trials);
    s->run_ids = wl_new_array(s->a, int64_t, s->grid.n_runs);
    s->to_do = wl_new_array(s->a, bool, s->grid.n_runs);
    s->out->planned = s->grid.n_runs;
    s->out->failed = wl_new_array(s->a, struct wl_failed_run, s->grid.n_runs);
    int rc = wl_store_begin(s->store, e);
    if (rc < 0) return rc;
    rc = plan_rows(s, e);
    if (rc == 0) rc = wl_store_commit(s->store, e);
    if (rc < 0) wl_store_rollback(s->store);
    return rc;
}

static const char *run_folder(const struct sweep *s, int64_t run) { return wl_strf(s->a, "runs/%lld", (long long)run); }

static void add_failed(struct sweep *s, size_t i, const char *error)
{
    struct wl_failed_run *f = &s->out->failed[s->out->n_failed++];
    *f = (struct wl_failed_run) { .run = s->run_ids[i],
                                  .repeat = s->grid.runs[i].repeat,
                                  .trial = s->grid.trials[s->grid.runs[i].trial].label,
                                  .error = wl_strdup(s->a, error ? error : "failed"),
                                  .log = wl_strf(s->a, "%s/%s/log", s->folder, run_folder(s, s->run_ids[i])) };
}

static const struct wl_run_row *row_of(const struct wl_run_rows *rows, int64_t run)
{
    for (size_t i = 0; i < rows->n; i++)
        if (rows->v[i].id == run) return &rows->v[i];
    return NULL;
}

/* Which planned runs are done, failed or still to do. */
static int sort_out(struct sweep *s, struct wl_err *e)
{
    struct wl_run_filter filter = { .campaign = s->out->campaign };
    struct wl_run_rows rows;
    int rc = wl_store_runs(s->store, &filter, &rows, s->a, e);
    for (size_t i = 0; i < s->grid.n_runs && rc == 0; i++) {
        const struct wl_run_row *row = row_of(&rows, s->run_ids[i]);
        WL_CHECK(row);
        size_t trial = s->grid.runs[i].trial;
        if (row->status == WL_RUN_PLANNED) {
            s->to_do[i] = true;
            s->n_to_do++;
        } else if (row->status == WL_RUN_DONE) {
            s->out->done++;
            s->took_s[trial] += row->time_s;
            s->took_n[trial]++;
        } else if (row->status == WL_RUN_FAILED) {
            add_failed(s, i, row->error);
        }
    }
    s->out->done_before = s->out->done;
    return rc;
}

/* ---- progress ---- */

/* The mean time of all finished runs; NAN before the first. */
static double mean_run_s(const struct sweep *s)
{
    double sum = 0, n = 0;
    for (size_t i = 0; i < s->grid.n_trials; i++) {
        sum += s->took_s[i];
        n += s->took_n[i];
    }
    return n > 0 ? sum / n : NAN;
}

/* What one run of a trial takes, from its finished runs, else `otherwise`. */
static double expected_s(const struct sweep *s, size_t trial, double otherwise)
{
    return s->took_n[trial] > 0 ? s->took_s[trial] / s->took_n[trial] : otherwise;
}

/* What is shown while a run goes on. The times are those known at its start: to add them up ten times a second over
 * thousands of runs would show in what is measured. */
struct ticker {
    const struct sweep *s;
    size_t passed;        /* runs of this call behind us */
    double one_s, rest_s; /* expected of this run; of all behind it; NAN: not known */
    const char *note;
};

static struct ticker ticker_of(const struct sweep *s, size_t at, size_t passed, const char *note)
{
    double mean_s = mean_run_s(s);
    struct ticker t = { .s = s, .passed = passed, .note = note };
    t.one_s = expected_s(s, s->grid.runs[at].trial, mean_s);
    for (size_t i = at + 1; i < s->grid.n_runs; i++)
        if (s->to_do[i]) t.rest_s += expected_s(s, s->grid.runs[i].trial, mean_s);
    return t;
}

static void on_tick(void *ctx, double elapsed_s)
{
    const struct ticker *t = ctx;
    double left_s = t->rest_s + (t->one_s > elapsed_s ? t->one_s - elapsed_s : 0);
    double part = isnan(t->one_s) || t->one_s <= 0 ? 0 : fmin(elapsed_s / t->one_s, 0.99);
    const struct wl_sweep_how *how = t->s->how;
    how->on_tick(how->ctx, (double)t->passed + part, (double)t->s->n_to_do, isnan(left_s + t->one_s) ? -1 : left_s, t->note);
}

/* ---- the runs ---- */

static int prepare_run(struct sweep *s, size_t i, struct wl_run_how *how, struct wl_arena *a, struct wl_err *e)
{
    const struct wl_experiment *x = s->x;
    const struct wl_planned_run *r = &s->grid.runs[i];
    how->stored_dir = run_folder(s, s->run_ids[i]);
    how->dir = wl_path_join(a, s->folder, how->stored_dir);
    struct wl_fill fill = {
        .x = x, .trial = &s->grid.trials[r->trial], .repeat = r->repeat, .run_dir = how->dir, .data = s->data
    };
    struct wl_strs argv, *env = wl_new(a, struct wl_strs);
    int rc = wl_fill_command(&fill, "[launch] command", &argv, a, e);
    if (rc == 0) rc = wl_fill_env(&fill, "[launch] env", env, a, e);
    if (rc == 0 && x->launch.cwd)
        rc = wl_template_expand(x->launch.cwd, wl_placeholder_value, &fill, "[launch] cwd", &how->cwd, a, e);
    if (rc < 0) return rc;
    how->argv = wl_argv(&argv, a);
    how->env = env;
    how->timeout_s = x->launch.timeout_s;
    how->grace_s = x->launch.grace_s;
    how->idle_s = x->measure.idle_s;
    how->power = &x->measure.power;
    how->regex = wl_experiment_on_nodes(x) ? NULL : &x->measure.regex; /* the nodes read the output */
    how->on_nodes = wl_experiment_on_nodes(x);
    how->node_wait_s = x->measure.node_wait_s;
    how->cap = &fill.trial->cap;
    how->cap_opts = &x->cap.opts;
    how->signals = s->how->signals;
    return 0;
}

/* A command that is not there fails before anything starts, not in every run. */
static int check_command(struct sweep *s, struct wl_err *e)
{
    for (size_t i = 0; i < s->grid.n_runs; i++) {
        struct wl_run_how how = { 0 };
        if (!s->to_do[i]) continue;
        int rc = prepare_run(s, i, &how, s->a, e);
        if (rc < 0) return rc;
        bool relative = how.cwd && strchr(how.argv[0], '/') && how.argv[0][0] != '/';
        const char *program = relative ? wl_path_join(s->a, how.cwd, how.argv[0]) : how.argv[0];
        return wl_program_check("[launch] command", program, how.argv[0], s->a, e);
    }
    return 0;
}

static void note_result(struct sweep *s, size_t i, const struct wl_run_result *r)
{
    size_t trial = s->grid.runs[i].trial;
    if (r->status == WL_RUN_DONE) {
        s->out->done++;
        s->took_s[trial] += (double)(r->end_ns - r->start_ns) / WL_NS_PER_S;
        s->took_n[trial]++;
    } else if (r->status == WL_RUN_FAILED) {
        add_failed(s, i, r->error);
    }
}

static int run_one(struct sweep *s, size_t i, size_t passed, struct wl_arena *a, struct wl_err *e)
{
    const struct wl_planned_run *p = &s->grid.runs[i];
    struct ticker ticker =
        ticker_of(s, i, passed,
                  wl_strf(a, "%s, repeat %lld", s->grid.trials[p->trial].label, (long long)p->repeat));
    struct wl_run_how how = { .tick = s->how->on_tick ? on_tick : NULL, .ctx = &ticker };
    struct wl_run_result r;
    int rc = prepare_run(s, i, &how, a, e);
    if (rc == 0 && s->how->on_tick) on_tick(&ticker, 0);
    if (rc == 0) rc = s->launcher->run(s->store, s->run_ids[i], &how, &r, a, e);
    if (rc < 0) return rc;
    note_result(s, i, &r);
    if (s->how->on_run) s->how->on_run(s->how->ctx, &s->grid, i, s->run_ids[i], &r);
    return r.status == WL_RUN_INTERRUPTED ? wl_fail(e, WL_EINTR, "%s", r.error) : 0;
}

static bool asked_to_stop(const struct sweep *s)
{
    bool from_terminal;
    return s->how->signals && wl_signals_next(s->how->signals, &from_terminal);
}

static int run_all(struct sweep *s, struct wl_err *e)
{
    size_t passed = 0;
    for (size_t i = 0; i < s->grid.n_runs; i++) {
        if (!s->to_do[i]) continue;
        if (asked_to_stop(s)) return wl_fail(e, WL_EINTR, "stopped by the user");
        struct wl_arena *a = wl_arena_new(s->a);
        int rc = run_one(s, i, passed++, a, e);
        wl_arena_free(a);
        if (rc < 0) return rc;
    }
    return 0;
}

int wl_sweep_run(const struct wl_experiment *x, const struct wl_sweep_how *how, struct wl_sweep_result *out,
                 struct wl_arena *a, struct wl_err *e)
{
    *out = (struct wl_sweep_result) { 0 };
    struct sweep *s = wl_new(a, struct sweep);
    *s = (struct sweep) { .x = x, .how = how, .out = out, .a = a, .data = x->data.path };
    struct wl_machine here = wl_machine_here(x, a);
    struct wl_sensors *sensors; /* open all the while: some counters start anew when their last user leaves */
    int rc = wl_launcher_find(x->launch.launcher, &s->launcher, e);
    if (rc == 0) rc = wl_grid_make(x, &here, &s->grid, a, e);
    if (rc == 0 && !wl_experiment_on_nodes(x)) rc = wl_sensors_open(&sensors, &x->measure.power, a, e);
    if (rc == 0) rc = open_store(s, e);
    if (rc == 0) rc = reserve_devices(s, e);
    if (rc == 0) rc = end_leftovers(s, e);
    if (rc == 0) rc = plan(s, e);
    if (rc == 0) rc = sort_out(s, e);
    if (rc < 0) return rc;
    if (how->on_start) how->on_start(how->ctx, &s->grid, s->n_to_do);
    if (s->n_to_do == 0) return 0;
    rc = check_command(s, e);
    if (rc == 0) rc = wl_data_prepare(x, wl_path_join(a, s->folder, "prepare.log"), how->signals, &s->data, a, e);
    return rc ? rc : run_all(s, e);
}
