/* What the store has of a campaign, and what is to do. */
#include "campaign/batch.h"
#include "campaign/sweep.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- the store ---- */

static const char *store_path(const struct wl_experiment *x, struct wl_arena *a)
{
    const char *given = x->campaign.store;
    size_t n = strlen(given);
    if (n > 3 && wl_str_eq(given + n - 3, ".db")) return given;
    return wl_path_join(a, given, WL_STORE_FILE);
}

enum { SHOWN_MAX = 200, SHOWN_BEFORE = 60 };

/* A line of n bytes, cut to what is around byte `at`: its first difference from another one. */
static const char *shown(const char *line, size_t n, size_t at, struct wl_arena *a)
{
    size_t from = at + SHOWN_BEFORE > SHOWN_MAX && at > SHOWN_BEFORE ? at - SHOWN_BEFORE : 0;
    size_t length = n - from < SHOWN_MAX ? n - from : SHOWN_MAX;
    while (from && from < n && (line[from] & 0xc0) == 0x80) from--, length++; /* not inside of a character */
    return wl_strf(a, "%s%.*s%s", from ? "..." : "", (int)length, line + from, from + length < n ? "..." : "");
}

/* The first line that differs between two texts. */
static const char *first_difference(const char *a, const char *b, struct wl_arena *arena)
{
    for (;;) {
        size_t n = strcspn(a, "\n"), m = strcspn(b, "\n"), at = 0;
        while (at < n && at < m && a[at] == b[at]) at++;
        if (n != m || at < n || !a[n] || !b[m])
            return wl_strf(arena, "stored '%s', now '%s'", shown(a, n, at, arena), shown(b, m, at, arena));
        a += n + 1;
        b += m + 1;
    }
}

/* Were the stored runs made in the same way as this experiment makes them? The texts are compared; since a newer
 * version may have more keys, a stored text that differs is parsed first, which gives those keys their defaults. */
int wl_sweep_check_text(struct wl_sweep *s, const char *stored, struct wl_err *e)
{
    struct wl_experiment before;
    const char *fixed = wl_experiment_immutable(stored, s->a);
    if (wl_str_eq(fixed, s->x->fixed)) return 0;
    if (wl_experiment_parse(wl_store_path(s->store), stored, NULL, &before, s->a, NULL) == 0) fixed = before.fixed;
    if (wl_str_eq(fixed, s->x->fixed)) return 0;
    return wl_fail(e, WL_EINVAL,
                   "%s holds runs of campaign %s that were made differently: %s. Give the new campaign another name or "
                   "store",
                   wl_store_path(s->store), s->x->campaign.name, first_difference(fixed, s->x->fixed, s->a));
}

static int count_started(struct wl_sweep *s, int64_t campaign, size_t *n, struct wl_err *e)
{
    struct wl_run_filter filter = { .campaign = campaign, .statuses = ~(1u << WL_RUN_PLANNED) };
    struct wl_run_rows rows;
    int rc = wl_store_runs(s->store, &filter, &rows, s->a, e);
    *n = rc ? 0 : rows.n;
    return rc;
}

/* Runs of one campaign must be comparable: what a run does must not change after the first one. Before that, mistakes
 * in the file may be corrected. */
static int check_same(struct wl_sweep *s, struct wl_err *e)
{
    struct wl_campaign_rows rows;
    int rc = wl_store_campaigns(s->store, &rows, s->a, e);
    for (size_t i = 0; i < rows.n && rc == 0; i++) {
        size_t started;
        if (!wl_str_eq(rows.v[i].name, s->x->campaign.name) || !rows.v[i].experiment) continue;
        rc = count_started(s, rows.v[i].id, &started, e);
        if (rc == 0 && started) rc = wl_sweep_check_text(s, rows.v[i].experiment, e);
    }
    return rc;
}

/* Can the folder of a store that does not exist yet be made? */
static int check_folder(const char *path, struct wl_arena *a, struct wl_err *e)
{
    const char *folder = wl_path_dir(a, wl_path_absolute(a, path));
    while (access(folder, F_OK) != 0 && errno == ENOENT && !wl_str_eq(folder, "/")) folder = wl_path_dir(a, folder);
    if (!wl_is_dir(folder)) return wl_fail(e, WL_EINVAL, "%s: %s is not a folder", path, folder);
    return access(folder, W_OK | X_OK) == 0 ? 0 : wl_fail_errno(e, "%s: cannot be made in %s", path, folder);
}

static int find_campaign(struct wl_sweep *s, struct wl_err *e)
{
    struct wl_campaign_rows rows;
    int rc = wl_store_campaigns(s->store, &rows, s->a, e);
    for (size_t i = 0; i < rows.n && rc == 0; i++)
        if (wl_str_eq(rows.v[i].name, s->x->campaign.name)) s->out->campaign = rows.v[i].id;
    return rc;
}

int wl_sweep_inspect(struct wl_sweep *s, size_t *done, struct wl_err *e)
{
    const char *path = store_path(s->x, s->a);
    struct wl_run_rows rows = { 0 };
    *done = 0;
    s->folder = wl_path_dir(s->a, wl_path_absolute(s->a, path));
    if (access(path, F_OK) != 0)
        return errno == ENOENT ? check_folder(path, s->a, e) : wl_fail_errno(e, "%s: no store here", path);
    if (access(path, W_OK) != 0) return wl_fail_errno(e, "%s: cannot be written", path);
    int rc = wl_store_open(&s->store, path, WL_STORE_READ, s->a, e);
    if (rc == 0) rc = check_same(s, e);
    if (rc == 0) rc = find_campaign(s, e);
    if (rc == 0) rc = wl_store_campaign_is_free(s->store, s->out->campaign, e);
    if (rc < 0 || !s->out->campaign) return rc;
    struct wl_run_filter filter = { .campaign = s->out->campaign, .statuses = 1u << WL_RUN_DONE };
    rc = wl_store_runs(s->store, &filter, &rows, s->a, e);
    *done = rows.n;
    return rc;
}

int wl_sweep_open(struct wl_sweep *s, struct wl_err *e)
{
    int rc = wl_store_open(&s->store, store_path(s->x, s->a), WL_STORE_CREATE, s->a, e);
    if (rc < 0) return rc;
    s->out->store = wl_store_path(s->store);
    char *folder = realpath(wl_path_dir(s->a, s->out->store), NULL);
    if (!folder) return wl_fail_errno(e, "%s", s->out->store);
    s->folder = s->opts->only ? s->opts->only->folder : wl_strdup(s->a, folder);
    free(folder);
    rc = check_same(s, e);
    if (rc == 0)
        rc = wl_store_add_campaign(s->store, s->x->campaign.name, s->x->expanded, WL_VERSION, &s->out->campaign, e);
    return rc ? rc : wl_store_lock_campaign(s->store, s->out->campaign, e);
}

/* ---- the plan ---- */

/* User axes and samples have no columns: they are stored as JSON. */
static const char *extra_json(const struct wl_experiment *x, const struct wl_trial *t, struct wl_arena *a)
{
    struct wl_setting_pair *pairs = wl_new_array(a, struct wl_setting_pair, x->n_user + 1);
    size_t n = 0;
    for (size_t i = 0; i < x->n_user; i++)
        if (t->user[i]) pairs[n++] = (struct wl_setting_pair) { x->user[i].key, t->user[i] };
    if (t->samples) pairs[n++] = (struct wl_setting_pair) { "samples", wl_strf(a, "%lld", (long long)t->samples) };
    return wl_settings_extra(pairs, n, a);
}

/* A setting that was neither given nor passed to the command is unknown: the workload's start mark may have it. */
struct wl_settings wl_sweep_trial_settings(const struct wl_experiment *x, const struct wl_trial *t, struct wl_arena *a)
{
    bool workers = x->sweep.workers.n || wl_placeholder_used(x, "workers") || wl_placeholder_used(x, "mpirun");
    bool threads = x->sweep.threads.n || wl_placeholder_used(x, "threads");
    bool accumulation = x->sweep.accumulation.n || t->local_batch;
    struct wl_settings set = wl_trial_settings(t);
    if (!workers) set.workers = NAN;
    if (!workers && !x->sweep.global_batch.n) set.global_batch = NAN; /* it follows from them */
    if (!threads) set.threads = NAN;
    if (!accumulation) set.accumulation = NAN;
    set.extra = extra_json(x, t, a);
    return set;
}

int wl_sweep_plan_run(struct wl_sweep *s, size_t i, int64_t *run, struct wl_err *e)
{
    const struct wl_planned_run *r = &s->grid.runs[i];
    const struct wl_run_plan plan = { .trial = s->trial_ids[r->trial],
                                      .repeat = r->repeat,
                                      .seed = s->x->campaign.seed + r->repeat - 1,
                                      .position = (int64_t)i + 1,
                                      .retry_failed = s->opts->retry_failed };
    return wl_store_plan_run(s->store, &plan, run, e);
}

static int plan_rows(struct wl_sweep *s, struct wl_err *e)
{
    struct wl_grid *g = &s->grid;
    int rc = wl_store_drop_planned(s->store, s->out->campaign, e);
    for (size_t i = 0; i < g->n_trials && rc == 0; i++) {
        struct wl_settings set = wl_sweep_trial_settings(s->x, &g->trials[i], s->a);
        rc = wl_store_add_trial(s->store, s->out->campaign, &set, g->trials[i].skip, &s->trial_ids[i], e);
    }
    for (size_t i = 0; i < g->n_runs && rc == 0; i++) rc = wl_sweep_plan_run(s, i, &s->run_ids[i], e);
    return rc;
}

static int write_plan(struct wl_sweep *s, struct wl_err *e)
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

const char *wl_sweep_run_folder(const struct wl_sweep *s, int64_t run)
{
    const struct wl_sweep_only *only = s->opts->only;
    if (only) return wl_strf(s->a, "runs/%s", wl_batch_run_name(&s->grid.trials[0], only->trial, only->repeat, s->a));
    return wl_strf(s->a, "runs/%lld", (long long)run);
}

void wl_sweep_add_failed(struct wl_sweep *s, size_t i, const char *log, const char *error, const char *log_tail)
{
    const bool as_job = s->launcher->batch && !s->opts->only; /* which may have ended before there was a log */
    if (!log && !as_job) log = wl_strf(s->a, "%s/log", wl_sweep_run_folder(s, s->run_ids[i]));
    struct wl_failed_run *f = &s->out->failed[s->out->n_failed++];
    *f = (struct wl_failed_run) { .run = s->run_ids[i],
                                  .repeat = s->grid.runs[i].repeat,
                                  .trial = s->grid.trials[s->grid.runs[i].trial].label,
                                  .error = wl_strdup(s->a, error ? error : "failed"),
                                  .last_line = log_tail ? wl_str_last_line(s->a, log_tail) : NULL,
                                  .log = log ? wl_path_join(s->a, s->folder, log) : NULL };
    f->cause = wl_sweep_cause(f->error, f->last_line, s->a);
}

static const struct wl_run_row *row_of(const struct wl_run_rows *rows, int64_t run)
{
    for (size_t i = 0; i < rows->n; i++)
        if (rows->v[i].id == run) return &rows->v[i];
    return NULL;
}

static const struct wl_run_row *newest_of(const struct wl_run_rows *rows, int64_t trial, int64_t repeat)
{
    const struct wl_run_row *newest = NULL;
    for (size_t i = 0; i < rows->n; i++) {
        const struct wl_run_row *r = &rows->v[i];
        if (r->trial == trial && r->repeat == repeat && (!newest || r->attempt > newest->attempt)) newest = r;
    }
    return newest;
}

/* What the store has of the campaign. */
struct rows {
    struct wl_run_rows runs;
    struct wl_submission_rows jobs;
};

/* The log of the command or, if that never began, what its newest job printed; NULL: there is neither. */
static const char *log_of(const struct wl_sweep *s, const struct wl_run_row *run, const struct wl_submission_rows *jobs)
{
    if (run->folder) return wl_strf(s->a, "%s/log", run->folder);
    const char *found = NULL;
    struct wl_arena *a = wl_arena_new(s->a);
    for (size_t i = jobs->n; i-- > 0 && !found;)
        if (jobs->v[i].run == run->id) found = wl_batch_output_find(s->folder, &jobs->v[i], NULL, a);
    if (found) found = wl_strdup(s->a, found);
    wl_arena_free(a);
    return found;
}

/* Which planned runs are done, failed or still to do. */
static void classify_runs(struct wl_sweep *s, const struct rows *rows)
{
    s->n_to_do = s->passed;
    s->out->done = s->out->n_failed = s->failures_seen = 0;
    for (size_t t = 0; t < s->grid.n_trials; t++) s->took_s[t] = s->took_n[t] = 0;
    for (size_t i = 0; i < s->grid.n_runs; i++) {
        const struct wl_run_row *row = row_of(&rows->runs, s->run_ids[i]);
        WL_CHECK(row);
        size_t trial = s->grid.runs[i].trial;
        s->to_do[i] = false;
        if (row->status == WL_RUN_PLANNED) {
            s->to_do[i] = true;
            s->n_to_do++;
        } else if (row->status == WL_RUN_DONE) {
            s->out->done++;
            s->took_s[trial] += row->time_s;
            s->took_n[trial]++;
        } else if (row->status == WL_RUN_FAILED) {
            wl_sweep_add_failed(s, i, log_of(s, row, &rows->jobs), row->error, row->log_tail);
        }
    }
}

static int read_rows(struct wl_sweep *s, struct rows *rows, struct wl_err *e)
{
    const struct wl_run_filter filter = { .campaign = s->out->campaign };
    const int rc = wl_store_runs(s->store, &filter, &rows->runs, s->a, e);
    return rc ? rc : wl_store_submissions(s->store, s->out->campaign, &rows->jobs, s->a, e);
}

int wl_sweep_plan(struct wl_sweep *s, struct wl_err *e)
{
    struct rows rows;
    int rc = write_plan(s, e);
    if (rc == 0) rc = read_rows(s, &rows, e);
    if (rc < 0) return rc;
    classify_runs(s, &rows);
    s->out->done_before = s->out->done;
    return 0;
}

int wl_sweep_reread(struct wl_sweep *s, struct wl_err *e)
{
    struct rows rows;
    int rc = read_rows(s, &rows, e);
    for (size_t i = 0; rc == 0 && i < s->grid.n_runs; i++) {
        const struct wl_planned_run *p = &s->grid.runs[i];
        s->run_ids[i] =
            newest_of(&rows.runs, s->trial_ids[p->trial], p->repeat)->id; /* it was planned, and no attempt is lost */
    }
    if (rc == 0) classify_runs(s, &rows);
    return rc;
}
