/* A campaign whose runs are jobs of a batch system: takes what has ended, submits what is missing, and waits.
 * Everything that is known between two rounds is in the store. docs/adr/158 */
#include "campaign/batch.h"

#include <math.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

enum { TICK_MS = 100 };
static const double POLL_MAX_S = 60, POLL_GROWTH = 1.5;

struct follower {
    struct wl_sweep *s;
    struct wl_batch_collector collector;
    struct wl_batch_scripts scripts;
    double wait_s;
    bool silent;                      /* the batch system does not answer, and that was said */
    bool full;                        /* it takes no more jobs now, and that was said */
    size_t waiting, running, missing; /* runs in the queue; without a job */
    bool settling;                    /* a job has ended, and its shard is waited for */
    int64_t begin_ns;
    struct wl_strs said; /* reasons of waiting jobs that were printed */
};

/* ---- submitting ---- */

/* The longest limit that an attempt of this run had, twice that if it was reached. */
static double time_limit_of(const struct wl_batch_queue *q, int64_t trial, int64_t repeat)
{
    double limit_s = q->s->x->launch.batch.time_limit_s;
    for (size_t i = 0; i < q->submissions.n; i++) {
        const struct wl_submission_row *row = &q->submissions.v[i];
        if (!wl_str_eq(row->outcome, wl_batch_state_names[WL_BATCH_TIMEOUT]) || isnan(row->time_limit_s)) continue;
        for (size_t k = 0; k < q->runs.n; k++)
            if (q->runs.v[k].id == row->run && q->runs.v[k].trial == trial && q->runs.v[k].repeat == repeat)
                limit_s = fmax(limit_s, 2 * row->time_limit_s);
    }
    return limit_s;
}

/* Nodes that have failed twice under jobs of one node: of larger ones the batch system does not say which node it was.
 */
static const char *failed_nodes(const struct wl_batch_queue *q, struct wl_arena *a)
{
    struct wl_text list = WL_TEXT(a);
    for (size_t i = 0; i < q->submissions.n; i++) {
        const struct wl_submission_row *row = &q->submissions.v[i];
        int before = 0;
        if (!row->nodes || row->n_nodes != 1 || !row->why || !strstr(row->why, "_FAIL")) continue;
        for (size_t k = 0; k < i; k++) {
            const struct wl_submission_row *other = &q->submissions.v[k];
            before +=
                other->n_nodes == 1 && other->why && strstr(other->why, "_FAIL") && wl_str_eq(other->nodes, row->nodes);
        }
        if (before == 1) wl_text_addf(&list, "%s%s", list.n ? "," : "", row->nodes);
    }
    return list.n ? list.s : NULL;
}

/* The row is there before the job is: a process that dies in between leaves a trace. */
static int submit_one(struct follower *f, const struct wl_batch_queue *q, size_t i, struct wl_arena *a,
                      struct wl_err *e)
{
    struct wl_sweep *s = f->s;
    const struct wl_planned_run *p = &s->grid.runs[i];
    const struct wl_trial *t = &s->grid.trials[p->trial];
    const struct wl_settings set = wl_sweep_trial_settings(s->x, t, a);
    const char *token = wl_batch_token(a), *hash = wl_batch_trial_hash(&set, a);
    struct wl_batch_request r = { .trial = t,
                                  .nodes = t->nodes ? t->nodes : 1,
                                  .time_limit_s = time_limit_of(q, s->trial_ids[p->trial], p->repeat),
                                  .exclude_nodes = failed_nodes(q, a) };
    int rc = wl_batch_script_write(&f->scripts, hash, p->repeat, token, &r, a, e);
    if (rc < 0) return rc;
    struct wl_submission_row row = { .run = s->run_ids[i],
                                     .launcher = s->launcher->name,
                                     .token = token,
                                     .state = WL_SUBMISSION_SENT,
                                     .n_nodes = r.nodes,
                                     .time_limit_s = r.time_limit_s > 0 ? r.time_limit_s : NAN,
                                     .script = r.script + strlen(s->folder) + 1,
                                     .output = r.output + strlen(s->folder) + 1,
                                     .sent_wall_ns = wl_wall_ns(),
                                     .ended_wall_ns = WL_NO_NS };
    rc = wl_store_add_submission(s->store, &row, &row.id, e);
    if (rc < 0) return rc;
    const int answer = s->launcher->batch->submit(&r, &row.job, a, e);
    if (answer == WL_EUNAVAIL && wl_batch_may_be_sent(e)) return answer; /* the next round looks for it */
    struct wl_err why;
    row.state = answer < 0 ? WL_SUBMISSION_REFUSED : WL_SUBMISSION_WAITING;
    row.why = answer < 0 ? wl_strdup(a, e->msg) : NULL;
    rc = wl_store_update_submission(s->store, &row, &why);
    if (rc < 0) return wl_fail(e, rc, "%s", why.msg);
    if (answer < 0 && answer != WL_EPERM && answer != WL_EUNAVAIL)
        return wl_err_prefix(e, "the job of %s, repeat %lld, was refused (its script: %s)", t->label,
                             (long long)p->repeat, r.script);
    return answer;
}

static bool is_missing(const struct wl_batch_queue *q, int64_t run)
{
    for (size_t i = 0; i < q->n_open; i++)
        if (q->open[i].run->id == run) return false;
    for (size_t i = 0; i < q->runs.n; i++)
        if (q->runs.v[i].id == run) return q->runs.v[i].status == WL_RUN_PLANNED;
    return false;
}

static bool is_stop_requested(const struct follower *f)
{
    bool from_terminal;
    return f->s->opts->signals && wl_signals_next(f->s->opts->signals, &from_terminal);
}

static int stopped(const struct follower *f, struct wl_err *e)
{
    return wl_fail(e, WL_EINTR, "stopped by the user; %zu job%s stay%s in the queue (wattlaw cancel %s cancels them)",
                   f->waiting + f->running, f->waiting + f->running == 1 ? "" : "s",
                   f->waiting + f->running == 1 ? "s" : "", f->s->x->path);
}

/* What else is wrong is said when it is submitted. */
static bool has_room(const struct follower *f, int64_t nodes, struct wl_arena *a)
{
    struct wl_err e;
    const struct wl_batch *batch = f->s->launcher->batch;
    return !batch->room || batch->room(f->s->x, nodes, a, &e) != WL_EPERM;
}

/* As many as may be in the queue, in the order of the plan. */
static int submit_missing(struct follower *f, const struct wl_batch_queue *q, bool *changed, struct wl_arena *a,
                          struct wl_err *e)
{
    const struct wl_batch_keys *k = &f->s->x->launch.batch;
    size_t in_queue = f->waiting + f->running;
    int64_t nodes = q->n_nodes;
    for (size_t i = 0; i < f->s->grid.n_runs && in_queue < (size_t)k->max_in_queue; i++) {
        const int64_t needs = f->s->grid.trials[f->s->grid.runs[i].trial].nodes;
        if (!is_missing(q, f->s->run_ids[i])) continue;
        if (k->max_nodes && in_queue && nodes + (needs ? needs : 1) > k->max_nodes) break;
        if (!has_room(f, needs ? needs : 1, a)) break;
        if (is_stop_requested(f)) return stopped(f, e);
        struct wl_arena *one = wl_arena_new(a);
        int rc = submit_one(f, q, i, one, e);
        wl_arena_free(one);
        if (rc == WL_EPERM && !f->full) wl_log(WL_WARN, "campaign", "waiting for room in the queue: %s", e->msg);
        f->full = rc == WL_EPERM;
        if (rc == WL_EPERM) break;
        if (rc < 0) return rc;
        *changed = true;
        in_queue++;
        f->waiting++;
        f->missing--;
        nodes += needs ? needs : 1;
    }
    return 0;
}

/* ---- a round ---- */

/* An interrupted run of the grid gets its next attempt. */
static int plan_attempts(struct follower *f, const struct wl_batch_queue *q, bool *planned, struct wl_err *e)
{
    struct wl_sweep *s = f->s;
    int rc = 0;
    for (size_t i = 0; i < s->grid.n_runs && rc == 0; i++)
        for (size_t k = 0; k < q->runs.n; k++) {
            if (q->runs.v[k].id != s->run_ids[i]) continue;
            if (q->runs.v[k].status == WL_RUN_INTERRUPTED) {
                *planned = true;
                rc = wl_sweep_plan_run(s, i, &s->run_ids[i], e);
            }
            break;
        }
    return rc;
}

static void count_queue(struct follower *f, const struct wl_batch_queue *q)
{
    f->waiting = f->running = f->missing = 0;
    f->settling = false;
    for (size_t i = 0; i < q->n_open; i++) {
        const bool waits = wl_str_eq(q->open[i].row.state, WL_SUBMISSION_WAITING);
        f->waiting += waits;
        f->running += !waits;
        f->settling |= q->open[i].ended;
    }
    for (size_t i = 0; i < f->s->grid.n_runs; i++) f->missing += is_missing(q, f->s->run_ids[i]);
}

/* Reasons for which a job never starts unless somebody changes something. */
static void warn_of_stuck(struct follower *f, const struct wl_batch_queue *q)
{
    static const char *const reasons[] = { "PartitionTimeLimit", "PartitionNodeLimit", "BadConstraints",
                                           "InvalidAccount",     "InvalidQOS",         "PartitionDown",
                                           "PartitionInactive",  "AccountNotAllowed",  "JobHeld",
                                           "ReqNodeNotAvail",    "PartitionConfig" };
    for (size_t i = 0; i < q->n_open; i++) {
        const struct wl_submission_row *row = &q->open[i].row;
        bool stuck = false, said = false;
        if (!row->why || !wl_str_eq(row->state, WL_SUBMISSION_WAITING)) continue;
        for (size_t k = 0; k < WL_COUNT(reasons); k++) stuck |= wl_str_starts(row->why, reasons[k]);
        for (size_t k = 0; k < f->said.n; k++) said |= wl_str_eq(f->said.v[k], row->why);
        if (!stuck || said) continue;
        wl_strs_add(f->s->a, &f->said, row->why);
        wl_log(WL_WARN, "campaign", "job %s (%s) cannot start for now: %s", row->job, row->script, row->why);
    }
}

static int round_once(struct follower *f, bool *changed, struct wl_arena *a, struct wl_err *e)
{
    struct wl_batch_queue q = { .s = f->s };
    size_t closed = 0;
    bool planned = false;
    int rc = wl_batch_queue_read(&q, a, e);
    if (rc == 0) rc = wl_batch_queue_update(&q, changed, a, e);
    if (rc == 0) rc = wl_batch_collect(&f->collector, &q, &closed, a, e);
    if (rc == 0) rc = wl_batch_settle(&q, &closed, a, e);
    if (rc == 0 && closed) rc = wl_batch_queue_read(&q, a, e);
    if (rc == 0) rc = plan_attempts(f, &q, &planned, e);
    if (rc == 0 && planned) rc = wl_batch_queue_read(&q, a, e);
    if (rc < 0) return rc;
    *changed |= closed > 0 || planned;
    count_queue(f, &q);
    warn_of_stuck(f, &q);
    return submit_missing(f, &q, changed, a, e);
}

/* ---- following ---- */

static void show(const struct follower *f)
{
    struct wl_sweep *s = f->s;
    const size_t left = f->waiting + f->running + f->missing, ended = s->n_to_do > left ? s->n_to_do - left : 0;
    const double elapsed_s = (double)(wl_now_ns() - f->begin_ns) / WL_NS_PER_S;
    const double left_s = ended ? elapsed_s / (double)ended * (double)left : -1;
    if (!s->opts->on_tick) return;
    struct wl_arena *a = wl_arena_new(NULL);
    const char *note = wl_strf(a, "%zu waiting, %zu running, %zu to submit%s", f->waiting, f->running, f->missing,
                               f->silent ? ", no answer" : "");
    s->opts->on_tick(s->opts->ctx, (double)ended, (double)s->n_to_do, left_s, note);
    wl_arena_free(a);
}

static int wait_for_next(struct follower *f, struct wl_err *e)
{
    const int64_t until_ns = wl_now_ns() + (int64_t)(f->wait_s * WL_NS_PER_S);
    while (wl_now_ns() < until_ns) {
        struct pollfd fd = { .fd = f->s->opts->signals ? wl_signals_fd(f->s->opts->signals) : -1, .events = POLLIN };
        show(f);
        poll(&fd, 1, TICK_MS);
        if (is_stop_requested(f)) return stopped(f, e);
    }
    return 0;
}

static void note_silence(struct follower *f, const struct wl_err *e)
{
    if (!f->silent) wl_log(WL_WARN, "campaign", "waiting for the batch system: %s", e->msg);
    f->silent = true;
}

static int follow(struct follower *f, struct wl_err *e)
{
    for (;;) {
        bool changed = false;
        struct wl_arena *a = wl_arena_new(f->s->a);
        int rc = round_once(f, &changed, a, e);
        wl_arena_free(a);
        f->s->out->in_queue = f->waiting + f->running;
        f->s->out->not_submitted = f->missing;
        if (rc == WL_EUNAVAIL && !f->s->opts->detach)
            note_silence(f, e);
        else if (rc < 0)
            return rc;
        else
            f->silent = false;
        if (rc == 0 && (f->s->opts->detach || f->waiting + f->running + f->missing == 0)) return 0;
        f->wait_s = changed || f->settling || f->s->launcher->batch->room ? f->s->x->launch.batch.poll_s
                                                                          : fmin(f->wait_s * POLL_GROWTH, POLL_MAX_S);
        rc = wait_for_next(f, e);
        if (rc < 0) return rc;
    }
}

static int open_scripts(struct wl_sweep *s, struct wl_batch_scripts *scripts, struct wl_err *e)
{
    *scripts = (struct wl_batch_scripts) { .x = s->x, .batch = s->launcher->batch, .folder = s->folder };
    return wl_batch_scripts_open(scripts, s->a, e);
}

int wl_batch_run(struct wl_sweep *s, struct wl_err *e)
{
    struct follower *f = wl_new(s->a, struct follower);
    *f =
        (struct follower) { .s = s, .collector.a = s->a, .wait_s = s->x->launch.batch.poll_s, .begin_ns = wl_now_ns() };
    int rc = open_scripts(s, &f->scripts, e);
    return rc ? rc : follow(f, e);
}

int wl_batch_write_scripts(struct wl_sweep *s, struct wl_err *e)
{
    struct wl_batch_scripts scripts;
    int rc = open_scripts(s, &scripts, e);
    for (size_t i = 0; i < s->grid.n_runs && rc == 0; i++) {
        struct wl_arena *a = wl_arena_new(s->a);
        const struct wl_trial *t = &s->grid.trials[s->grid.runs[i].trial];
        const struct wl_settings set = wl_sweep_trial_settings(s->x, t, a);
        struct wl_batch_request r = { .trial = t,
                                      .nodes = t->nodes ? t->nodes : 1,
                                      .time_limit_s = s->x->launch.batch.time_limit_s };
        rc = wl_batch_script_write(&scripts, wl_batch_trial_hash(&set, a), s->grid.runs[i].repeat, wl_batch_token(a),
                                   &r, a, e);
        wl_arena_free(a);
    }
    return rc;
}
