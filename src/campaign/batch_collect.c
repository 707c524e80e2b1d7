/* What jobs have left in the campaign's folder becomes runs of its store. docs/adr/158 */
#include "campaign/batch.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LOG_TAIL_BYTES = 4096 };

/* After the end of a job, for a shared file system that shows files late. */
static const double SHARD_WAIT_S = 10;

/* ---- how a run without a complete measurement ended ---- */

struct batch_end {
    enum wl_run_status status;
    const char *error;
};

static const char *job_text(const struct wl_submission_row *row, struct wl_arena *a)
{
    return wl_strf(a, "job %s%s%s", row->job ? row->job : "?", row->nodes ? " on " : "", row->nodes ? row->nodes : "");
}

static struct batch_end ended(enum wl_run_status status, const char *error)
{
    return (struct batch_end) { status, error };
}

/* What the site allows is not raised. */
static struct batch_end end_by_time(const struct wl_batch_queue *q, const struct wl_submission_row *row,
                                    struct wl_arena *a)
{
    const double limit_s = wl_batch_asked_limit_s(q->site, row);
    const char *text = wl_strf(a, "%s reached its time limit%s%s", job_text(row, a), isnan(limit_s) ? "" : " of ",
                               isnan(limit_s) ? "" : wl_human_time(a, limit_s));
    if (!q->site || !(q->site->time_limit_s > 0) || !(limit_s >= q->site->time_limit_s))
        return ended(WL_RUN_INTERRUPTED, text);
    return ended(WL_RUN_FAILED, wl_strf(a, "%s, the longest that partition %s allows", text, q->site->partition));
}

static struct batch_end end_by_outcome(const struct wl_batch_queue *q, const struct wl_submission_row *row,
                                       struct wl_arena *a)
{
    const char *job = job_text(row, a), *why = row->why ? row->why : "no reason is known";
    switch (wl_batch_state_find(row->outcome)) {
    case WL_BATCH_FAILED: return ended(WL_RUN_FAILED, wl_strf(a, "%s failed: %s", job, why));
    case WL_BATCH_CANCELLED: return ended(WL_RUN_FAILED, wl_strf(a, "%s was cancelled", job));
    case WL_BATCH_TIMEOUT: return end_by_time(q, row, a);
    case WL_BATCH_LOST: return ended(WL_RUN_INTERRUPTED, wl_strf(a, "%s was lost: %s", job, why));
    case WL_BATCH_DONE: return ended(WL_RUN_INTERRUPTED, wl_strf(a, "%s ended and left no complete shard", job));
    default: return ended(WL_RUN_INTERRUPTED, wl_strf(a, "%s has vanished from the batch system", job));
    }
}

/* An interrupted run gets another attempt, but not without end. */
static struct batch_end limit_attempts(const struct wl_sweep *s, const struct wl_run_row *run, struct batch_end end,
                                       struct wl_arena *a)
{
    const int64_t retries = s->x->launch.batch.retries;
    if (end.status != WL_RUN_INTERRUPTED || run->attempt <= retries) return end;
    return ended(WL_RUN_FAILED,
                 wl_strf(a, "%s; it was attempt %lld, and retries = %lld", end.error ? end.error : "stopped",
                         (long long)run->attempt, (long long)retries));
}

/* ---- a shard ---- */

struct taking {
    struct wl_batch_collector *c;
    struct wl_batch_queue *q;
    const char *name;
    struct wl_batch_shard_name parsed;
    struct wl_store *from;
    struct wl_run_row row;           /* its run */
    const char *key;                 /* of its trial */
    struct wl_run_row *run;          /* which it becomes; NULL: another attempt is planned */
    int64_t trial;                   /* in the store */
    struct wl_batch_open *submitted; /* its submission; NULL: submitted by hand, or late */
    struct wl_submission_row *late;  /* its submission, if its run was closed without it; NULL: it was not */
    struct wl_arena *a;
};

/* Names a shard that is not taken; 0: collecting goes on. */
static int leave(const struct taking *t, const char *why)
{
    wl_log(WL_WARN, "campaign", "%s/%s/%s: left where it is: %s", t->q->s->folder, WL_BATCH_SHARDS_FOLDER, t->name,
           why);
    wl_strs_add(t->c->a, &t->c->left, t->name);
    return 0;
}

/* One campaign with one trial and one closed run. */
static int read_shard(struct taking *t, const char *path, const char **experiment, const char **campaign,
                      struct wl_err *e)
{
    struct wl_campaign_rows campaigns;
    struct wl_trial_rows trials;
    struct wl_run_rows runs;
    int rc = wl_store_open(&t->from, path, WL_STORE_READ, t->a, e);
    if (rc == 0) rc = wl_store_begin_read(t->from, e);
    if (rc == 0) rc = wl_store_campaigns(t->from, &campaigns, t->a, e);
    if (rc == 0) rc = wl_store_trials(t->from, 0, &trials, t->a, e);
    if (rc == 0) rc = wl_store_runs(t->from, &(struct wl_run_filter) { 0 }, &runs, t->a, e);
    if (rc < 0) return rc;
    if (campaigns.n != 1 || trials.n != 1 || runs.n != 1)
        return wl_fail(e, WL_EINVAL, "not a shard: expected one campaign, trial and run, not %zu, %zu and %zu",
                       campaigns.n, trials.n, runs.n);
    t->row = runs.v[0];
    t->key = trials.v[0].key;
    *campaign = campaigns.v[0].name;
    *experiment = campaigns.v[0].experiment;
    if (t->row.status >= WL_RUN_DONE) return 0;
    return wl_fail(e, WL_EINVAL, "its run is %s: expected one that has ended", wl_run_status_names[t->row.status]);
}

/* Is it of this campaign? NULL: it is. */
static const char *why_foreign(struct taking *t, const char *campaign, const char *experiment)
{
    struct wl_sweep *s = t->q->s;
    struct wl_err e;
    if (!wl_str_eq(campaign, s->x->campaign.name))
        return wl_strf(t->a, "it is of campaign %s, not of %s", campaign, s->x->campaign.name);
    if (wl_sweep_check_text(s, experiment ? experiment : "", &e) < 0) return wl_strdup(t->a, e.msg);
    for (size_t i = 0; i < t->q->trials.n; i++)
        if (wl_str_eq(t->q->trials.v[i].key, t->key)) t->trial = t->q->trials.v[i].id;
    if (!t->trial) return wl_strf(t->a, "the campaign has no trial %s", t->key);
    if (t->row.repeat != t->parsed.repeat || t->row.status != t->parsed.status)
        return "its name is not that of its run";
    return NULL;
}

/* The submission of the job that the shard is of, the last one if a batch system has begun to count again; NULL: the
 * store does not know the job. *run: its run. */
static struct wl_submission_row *find_submission(const struct taking *t, struct wl_run_row **run)
{
    for (size_t i = t->q->submissions.n; i-- > 0;) {
        struct wl_submission_row *row = &t->q->submissions.v[i];
        if (!row->job || !wl_str_eq(wl_batch_file_id(row->job, t->a), t->parsed.job)) continue;
        for (size_t k = 0; k < t->q->runs.n; k++) {
            *run = &t->q->runs.v[k];
            if ((*run)->id == row->run && (*run)->trial == t->trial && (*run)->repeat == t->parsed.repeat) return row;
        }
    }
    return NULL;
}

static struct wl_run_row *newest_attempt(const struct taking *t)
{
    struct wl_run_row *newest = NULL;
    for (size_t i = 0; i < t->q->runs.n; i++) {
        struct wl_run_row *r = &t->q->runs.v[i];
        if (r->trial != t->trial || r->repeat != t->parsed.repeat) continue;
        if (!newest || r->attempt > newest->attempt) newest = r;
    }
    return newest;
}

/* Did a job that the store does not know begin before the attempts before `newest` were given up? */
static bool began_earlier(const struct taking *t, const struct wl_run_row *newest)
{
    for (size_t i = 0; i < t->q->submissions.n; i++) {
        const struct wl_submission_row *row = &t->q->submissions.v[i];
        if (row->run == newest->id || row->ended_wall_ns == WL_NO_NS || t->row.start.wall_ns == WL_NO_NS) continue;
        if (t->row.start.wall_ns >= row->ended_wall_ns) continue;
        for (size_t k = 0; k < t->q->runs.n; k++) {
            const struct wl_run_row *r = &t->q->runs.v[k];
            if (r->id == row->run && r->trial == newest->trial && r->repeat == newest->repeat) return true;
        }
    }
    return false;
}

/* A measurement that is not whole is that of the attempt that its job was for. Sets late where that run was closed
 * without a shard; returns the reason why the shard is none of the newest attempt. */
static const char *find_attempt(struct taking *t, const struct wl_run_row *newest)
{
    struct wl_run_row *of;
    struct wl_submission_row *row = find_submission(t, &of);
    if (!row) return began_earlier(t, newest) ? "it is of an attempt that was given up since" : NULL;
    const bool closed = of->status == WL_RUN_FAILED || of->status == WL_RUN_INTERRUPTED;
    if (closed && !row->shard) {
        t->run = of;
        t->late = row;
        return NULL;
    }
    if (of == newest) return NULL;
    return wl_strf(t->a, "job %s was submitted for run %lld, attempt %lld, which has ended", t->parsed.job,
                   (long long)of->id, (long long)of->attempt);
}

/* Finds the run that it becomes, or the reason why there is none. */
static const char *find_run(struct taking *t)
{
    const bool done = t->row.status == WL_RUN_DONE;
    struct wl_run_row *newest = newest_attempt(t);
    if (!newest) return "the campaign has no such repeat";
    const char *why = done ? NULL : find_attempt(t, newest);
    if (why || t->late) return why;
    if (newest->status == WL_RUN_DONE) return wl_strf(t->a, "run %lld is done already", (long long)newest->id);
    struct wl_batch_open *other = NULL;
    for (size_t i = 0; i < t->q->n_open; i++) {
        struct wl_batch_open *o = &t->q->open[i];
        if (o->run != newest) continue;
        const char *id = o->row.job ? wl_batch_file_id(o->row.job, t->a) : NULL;
        if (wl_str_eq(id, t->parsed.job))
            t->submitted = o;
        else
            other = o;
    }
    if (newest->status == WL_RUN_PLANNED && (t->submitted || !other || done)) return t->run = newest, NULL;
    if (newest->status != WL_RUN_PLANNED && done) return NULL;
    return wl_strf(t->a, "job %s did not complete run %lld, which %s", t->parsed.job, (long long)newest->id,
                   other ? "another job is in the queue for" : "has ended since");
}

/* A job that was stopped does not know why, nor does one whose command ended first: the batch system does, once the job
 * has ended. */
static bool is_too_early(const struct taking *t)
{
    return t->row.status != WL_RUN_DONE && t->submitted && !t->submitted->ended;
}

/* A command that was warned of its time limit ends before the batch system sees any limit reached: for that the job has
 * failed by itself. */
static void note_time_limit(const struct taking *t)
{
    const bool warned = t->row.status == WL_RUN_INTERRUPTED && wl_run_was_warned(t->row.error);
    if (!t->submitted || !warned || wl_batch_state_find(t->submitted->row.outcome) != WL_BATCH_FAILED) return;
    t->submitted->row.outcome = wl_batch_state_names[WL_BATCH_TIMEOUT];
    t->submitted->row.why = "signal_before";
}

static int record_shard(struct taking *t, int64_t run, struct wl_err *e)
{
    int64_t id;
    if (t->submitted) {
        struct wl_submission_row *row = &t->submitted->row;
        row->shard = t->name;
        if (!t->submitted->ended) {
            row->state = WL_SUBMISSION_ENDED;
            row->outcome = wl_batch_state_names[t->row.status == WL_RUN_DONE ? WL_BATCH_DONE : WL_BATCH_FAILED];
            row->why = NULL;
            row->ended_wall_ns = wl_wall_ns();
        }
        return wl_store_update_submission(t->q->s->store, row, e);
    }
    const struct wl_submission_row row = { .run = run,
                                           .launcher = t->q->s->launcher->name,
                                           .token = "",
                                           .job = t->parsed.job,
                                           .state = WL_SUBMISSION_ENDED,
                                           .n_nodes = 1,
                                           .time_limit_s = NAN,
                                           .shard = t->name,
                                           .sent_wall_ns = wl_wall_ns(),
                                           .ended_wall_ns = wl_wall_ns() };
    return wl_store_add_submission(t->q->s->store, &row, &id, e);
}

/* Was the job ended from outside? What a wattlaw that was killed has stored is not a failure of the run, unless memory
 * ran out. */
static bool is_ended_from_outside(const struct taking *t)
{
    const struct wl_submission_row *row = &t->submitted->row;
    switch (wl_batch_state_find(row->outcome)) {
    case WL_BATCH_TIMEOUT:
    case WL_BATCH_LOST:
    case WL_BATCH_CANCELLED: return true;
    case WL_BATCH_FAILED: return t->row.status == WL_RUN_INTERRUPTED && wl_str_eq(row->why, "OUT_OF_MEMORY");
    default: return false;
    }
}

static struct wl_shard_take take_of(const struct taking *t)
{
    struct wl_shard_take take = { .from = t->from, .row = &t->row, .status = t->row.status, .error = t->row.error };
    if (t->row.status == WL_RUN_DONE || !t->submitted || !t->run) return take;
    if (!is_ended_from_outside(t)) {
        const struct batch_end end = limit_attempts(t->q->s, t->run, ended(take.status, take.error), t->a);
        take.status = end.status;
        take.error = end.error;
        return take;
    }
    const struct batch_end end = limit_attempts(t->q->s, t->run, end_by_outcome(t->q, &t->submitted->row, t->a), t->a);
    take.status = end.status;
    take.error = end.error;
    return take;
}

static int write_run(struct taking *t, struct wl_run_result *out, struct wl_err *e)
{
    struct wl_sweep *s = t->q->s;
    const struct wl_run_plan plan = {
        .trial = t->trial, .repeat = t->parsed.repeat, .seed = (int64_t)t->row.seed, .retry_failed = true
    };
    const struct wl_shard_take take = take_of(t);
    int64_t run = t->run ? t->run->id : 0;
    int rc = t->run ? 0 : wl_store_plan_run(s->store, &plan, &run, e);
    if (rc == 0) rc = wl_shard_take_run(s->store, run, &take, out, t->a, e);
    return rc ? rc : record_shard(t, run, e);
}

/* How the run ended is stored already. */
static int add_late(struct taking *t, struct wl_err *e)
{
    const struct wl_shard_take take = { .from = t->from, .row = &t->row };
    int rc = wl_shard_take_late(t->q->s->store, t->run->id, &take, t->a, e);
    t->late->shard = t->name;
    return rc ? rc : wl_store_update_submission(t->q->s->store, t->late, e);
}

static int take_shard(struct taking *t, size_t *taken, struct wl_err *e)
{
    struct wl_sweep *s = t->q->s;
    const char *path = wl_strf(t->a, "%s/%s/%s", s->folder, WL_BATCH_SHARDS_FOLDER, t->name);
    const char *campaign = NULL, *experiment = NULL, *why = wl_batch_shard_damage(path, &t->parsed, t->a);
    struct wl_run_result result;
    if (why) return leave(t, why);
    if (read_shard(t, path, &experiment, &campaign, e) < 0) return leave(t, e->msg);
    why = why_foreign(t, campaign, experiment);
    if (!why) why = find_run(t);
    if (why) return leave(t, why);
    if (is_too_early(t)) return 0;
    note_time_limit(t);
    int rc = wl_store_begin(s->store, e);
    if (rc == 0) rc = t->late ? add_late(t, e) : write_run(t, &result, e);
    why = wl_batch_shard_damage(path, &t->parsed, t->a); /* somebody may have changed it while it was read */
    if (rc == 0 && !why) rc = wl_store_commit(s->store, e);
    if (rc < 0 || why) wl_store_rollback(s->store);
    if (why) return leave(t, why);
    if (rc == WL_EINVAL) return leave(t, e->msg); /* what it holds is not what a wattlaw writes */
    if (rc < 0) return rc;
    (*taken)++;
    if (t->late) return 0;
    if (t->run) t->run->status = result.status;
    wl_sweep_run_ended(s, result.run, t->trial, t->parsed.repeat,
                       t->row.folder ? wl_strf(t->a, "%s/log", t->row.folder) : NULL, &result);
    return 0;
}

/* ---- all of them ---- */

static int by_text(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

static struct wl_strs taken_names(const struct wl_batch_queue *q, struct wl_arena *a)
{
    struct wl_strs names = { 0 };
    for (size_t i = 0; i < q->submissions.n; i++)
        if (q->submissions.v[i].shard) wl_strs_add(a, &names, q->submissions.v[i].shard);
    if (names.n) qsort(names.v, names.n, sizeof *names.v, by_text);
    return names;
}

static bool is_in(const struct wl_strs *sorted, const char *name)
{
    return sorted->n && bsearch(&name, sorted->v, sorted->n, sizeof *sorted->v, by_text);
}

static bool was_left(const struct wl_batch_collector *c, const char *name)
{
    for (size_t i = 0; i < c->left.n; i++)
        if (wl_str_eq(c->left.v[i], name)) return true;
    return false;
}

int wl_batch_collect(struct wl_batch_collector *c, struct wl_batch_queue *q, size_t *taken, struct wl_arena *a,
                     struct wl_err *e)
{
    struct wl_strs names;
    const struct wl_strs before = taken_names(q, a);
    int rc = wl_batch_folders_check(q->s->folder, a, e);
    if (rc < 0) return rc;
    rc = wl_dir_list(wl_path_join(a, q->s->folder, WL_BATCH_SHARDS_FOLDER), &names, a, e);
    if (rc < 0) return rc == WL_ENOENT ? 0 : rc;
    for (size_t i = 0; i < names.n && rc == 0; i++) {
        struct taking t = { .c = c, .q = q, .name = names.v[i], .a = wl_arena_new(a) };
        if (wl_tempfile_is_name_of_any_host(t.name) /* a node writes it, or died at it */ || is_in(&before, t.name) ||
            was_left(c, t.name))
            ;
        else if (!wl_batch_shard_parse(t.name, &t.parsed, t.a))
            rc = leave(&t, "not the name of a shard");
        else
            rc = take_shard(&t, taken, e);
        if (t.from) wl_store_close(t.from);
        wl_arena_free(t.a);
    }
    return rc;
}

/* ---- jobs that left nothing ---- */

static int close_run(struct wl_batch_queue *q, struct wl_batch_open *o, const char *output, struct wl_run_result *out,
                     struct wl_arena *a, struct wl_err *e)
{
    const struct batch_end as = limit_attempts(q->s, o->run, end_by_outcome(q, &o->row, a), a);
    const char *said = output ? wl_file_tail(output, LOG_TAIL_BYTES, a) : "";
    const bool slurm = q->s->launcher == &wl_launcher_slurm;
    const struct wl_run_begin begin = { .host = o->row.nodes ? o->row.nodes : "unknown",
                                        .boot_id = "",
                                        .command = wl_strf(a, "job %s", o->row.job ? o->row.job : "?"),
                                        .version = WL_VERSION,
                                        .slurm = { .id = slurm ? o->row.job : NULL },
                                        .at = { WL_NO_NS, WL_NO_NS } };
    struct wl_run_end end = wl_run_end_none;
    end.status = as.status;
    end.error = as.error;
    end.log_tail = *said ? said : NULL;
    *out =
        (struct wl_run_result) { .status = as.status, .error = as.error, .log_tail = end.log_tail, .run = o->run->id };
    int rc = wl_store_run_begin(q->s->store, o->run->id, &begin, e);
    return rc ? rc : wl_store_run_end(q->s->store, o->run->id, &end, NULL, e);
}

static bool is_due(const struct wl_batch_open *o)
{
    const bool waits = !wl_str_eq(o->row.outcome, wl_batch_state_names[WL_BATCH_CANCELLED]);
    const double since_s = (double)(wl_wall_ns() - o->row.ended_wall_ns) / WL_NS_PER_S;
    return o->ended && o->run->status == WL_RUN_PLANNED && (!waits || since_s >= SHARD_WAIT_S || since_s < 0);
}

int wl_batch_settle(struct wl_batch_queue *q, size_t *closed, struct wl_arena *a, struct wl_err *e)
{
    struct wl_sweep *s = q->s;
    int rc = 0;
    for (size_t i = 0; i < q->n_open && rc == 0; i++) {
        struct wl_batch_open *o = &q->open[i];
        struct wl_run_result result;
        if (!is_due(o)) continue;
        const char *output = wl_batch_output_find(s->folder, &o->row, NULL, a);
        rc = wl_store_begin(s->store, e);
        if (rc == 0) rc = close_run(q, o, output, &result, a, e);
        if (rc == 0) rc = wl_store_commit(s->store, e);
        if (rc < 0) wl_store_rollback(s->store);
        if (rc < 0) return rc;
        (*closed)++;
        wl_sweep_run_ended(s, o->run->id, o->run->trial, o->run->repeat, output, &result);
    }
    return rc;
}
