/* A campaign whose runs are jobs of a batch system: takes what has ended, submits what is missing, and waits.
 * Everything that is known between two rounds is in the store. docs/adr/158 */
#include "campaign/batch.h"

#include <math.h>
#include <poll.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { TICK_MS = 100 };
static const double POLL_MAX_S = 60, POLL_GROWTH = 1.5;

struct follower {
    struct wl_sweep *s;
    struct wl_batch_collector collector;
    struct wl_batch_submitter submitter;
    double wait_s;
    bool silent;   /* the batch system does not answer, and that was said */
    bool settling; /* a job has ended, and its shard is waited for */
    int64_t begin_ns;
    struct wl_strs said; /* reasons of waiting jobs that were printed */
};

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
    struct wl_batch_submitter *b = &f->submitter;
    b->waiting = b->running = b->missing = 0;
    f->settling = false;
    for (size_t i = 0; i < q->n_open; i++) {
        const bool waits = wl_str_eq(q->open[i].row.state, WL_SUBMISSION_WAITING);
        b->waiting += waits;
        b->running += !waits;
        f->settling |= q->open[i].ended;
    }
    for (size_t i = 0; i < f->s->grid.n_runs; i++) b->missing += wl_batch_is_missing(q, f->s->run_ids[i]);
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

/* Jobs of runs that somebody cancels, who need not be able to ask the batch system. A job may be cancelled twice;
 * the request is closed with the run. */
static int cancel_asked(struct follower *f, const struct wl_batch_queue *q, bool *changed, struct wl_arena *a,
                        struct wl_err *e)
{
    struct wl_sweep *s = f->s;
    struct wl_strs jobs = { 0 };
    int64_t *runs, *rows = wl_new_array(a, int64_t, q->n_open);
    size_t n;
    int rc = wl_store_to_cancel(s->store, s->out->campaign, &runs, &n, a, e);
    if (rc < 0 || n == 0) return rc;
    for (size_t i = 0; i < q->n_open; i++) {
        const struct wl_submission_row *row = &q->open[i].row;
        bool asked = false;
        for (size_t k = 0; k < n; k++) asked |= runs[k] == row->run;
        if (!asked || q->open[i].ended || row->cancelled || !row->job) continue;
        rows[jobs.n] = row->id;
        wl_strs_add(a, &jobs, row->job);
    }
    if (jobs.n) rc = s->launcher->batch->cancel(s->x, &jobs, a, e);
    for (size_t i = 0; i < jobs.n && rc == 0; i++) rc = wl_store_cancel_submission(s->store, rows[i], e);
    *changed |= jobs.n > 0;
    return rc;
}

static int round_once(struct follower *f, bool *changed, struct wl_arena *a, struct wl_err *e)
{
    struct wl_batch_queue q = { .s = f->s, .site = &f->submitter.site };
    size_t closed = 0;
    bool planned = false;
    int rc = wl_sweep_take_requests(f->s, e);
    if (rc == 0) rc = wl_batch_queue_read(&q, a, e);
    if (rc == 0) rc = cancel_asked(f, &q, changed, a, e);
    if (rc == 0 && q.n_open) rc = wl_batch_ask_site(&f->submitter, e);
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
    if (f->s->paused) return 0;
    rc = f->submitter.missing ? wl_sweep_check_failures(f->s, e) : 0;
    if (rc < 0) return wl_batch_leave_queue(&f->submitter, rc, wl_strdup(a, e->msg), e);
    return wl_batch_submit_missing(&f->submitter, &q, changed, a, e);
}

/* ---- following ---- */

static void show(const struct follower *f)
{
    struct wl_sweep *s = f->s;
    const struct wl_batch_submitter *b = &f->submitter;
    const size_t left = b->waiting + b->running + b->missing, ended = s->n_to_do > left ? s->n_to_do - left : 0;
    const double elapsed_s = (double)(wl_now_ns() - f->begin_ns) / WL_NS_PER_S;
    const double left_s = ended ? elapsed_s / (double)ended * (double)left : -1;
    if (!s->opts->on_tick) return;
    struct wl_arena *a = wl_arena_new(NULL);
    const char *note = wl_strf(a, "%zu waiting, %zu running, %zu to submit%s%s", b->waiting, b->running, b->missing,
                               f->silent ? ", no answer" : "", s->paused ? ", paused" : "");
    s->opts->on_tick(s->opts->ctx, (double)ended, (double)s->n_to_do, left_s, note);
    wl_arena_free(a);
}

static int wait_for_next(struct follower *f, struct wl_err *e)
{
    const int64_t until_ns = wl_now_ns() + (int64_t)(f->wait_s * WL_NS_PER_S);
    int64_t look_ns = wl_now_ns() + WL_NS_PER_S;
    while (wl_now_ns() < until_ns) {
        if (wl_now_ns() >= look_ns && wl_sweep_has_requests(f->s)) return 0;
        if (wl_now_ns() >= look_ns) look_ns = wl_now_ns() + WL_NS_PER_S;
        struct pollfd fd = { .fd = f->s->opts->signals ? wl_signals_fd(f->s->opts->signals) : -1, .events = POLLIN };
        show(f);
        poll(&fd, 1, TICK_MS);
        if (wl_batch_stop_requested(&f->submitter)) return wl_batch_stopped(&f->submitter, e);
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
    const struct wl_batch_submitter *b = &f->submitter;
    for (;;) {
        bool changed = false;
        struct wl_arena *a = wl_arena_new(f->s->a);
        int rc = round_once(f, &changed, a, e);
        wl_arena_free(a);
        f->s->out->in_queue = b->waiting + b->running;
        f->s->out->not_submitted = b->missing;
        if (rc == WL_EUNAVAIL && !f->s->opts->detach)
            note_silence(f, e);
        else if (rc < 0)
            return rc;
        else
            f->silent = false;
        if (rc == 0 && (f->s->opts->detach || b->waiting + b->running + b->missing == 0)) return 0;
        f->wait_s = changed || f->settling || f->s->launcher->batch->room ? f->s->x->launch.batch.poll_s
                                                                          : fmin(f->wait_s * POLL_GROWTH, POLL_MAX_S);
        rc = wait_for_next(f, e);
        if (rc < 0) return rc;
    }
}

int wl_batch_run(struct wl_sweep *s, struct wl_err *e)
{
    struct follower *f = wl_new(s->a, struct follower);
    *f = (struct follower) { .s = s,
                             .collector.a = s->a,
                             .submitter = { .s = s, .room = SIZE_MAX },
                             .wait_s = s->x->launch.batch.poll_s,
                             .begin_ns = wl_now_ns() };
    int rc = wl_batch_scripts_open(s, &f->submitter.scripts, e);
    return rc ? rc : follow(f, e);
}
