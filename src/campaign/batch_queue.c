/* The campaign's jobs in the batch system, as the store has them, brought up to date by one question for all of them.
 */
#include "campaign/batch.h"

#include <math.h>
#include <string.h>

const char *const wl_batch_state_names[] = { "unknown", "waiting", "running", "done",
                                             "failed",  "timeout", "lost",    "cancelled" };

enum wl_batch_state wl_batch_state_find(const char *name)
{
    for (int i = 0; i < (int)WL_COUNT(wl_batch_state_names); i++)
        if (wl_str_eq(wl_batch_state_names[i], name)) return (enum wl_batch_state)i;
    return WL_BATCH_UNKNOWN;
}

/* ---- reading ---- */

static const struct wl_run_row *run_of(const struct wl_batch_queue *q, int64_t id)
{
    for (size_t i = 0; i < q->runs.n; i++)
        if (q->runs.v[i].id == id) return &q->runs.v[i];
    return NULL;
}

static void find_open(struct wl_batch_queue *q, struct wl_arena *a)
{
    q->open = wl_new_array(a, struct wl_batch_open, q->submissions.n);
    q->n_open = 0;
    q->n_nodes = 0;
    for (size_t i = 0; i < q->submissions.n; i++) {
        const struct wl_submission_row *row = &q->submissions.v[i];
        if (wl_str_eq(row->state, WL_SUBMISSION_REFUSED)) continue;
        const struct wl_run_row *run = run_of(q, row->run);
        if (!run || run->status != WL_RUN_PLANNED) continue;
        q->open[q->n_open++] = (struct wl_batch_open) { .row = *row,
                                                        .run = run,
                                                        .job = { .id = row->job, .token = row->token },
                                                        .ended = wl_str_eq(row->state, WL_SUBMISSION_ENDED) };
        if (!q->open[q->n_open - 1].ended) q->n_nodes += row->n_nodes;
    }
}

int wl_batch_queue_read(struct wl_batch_queue *q, struct wl_arena *a, struct wl_err *e)
{
    const struct wl_run_filter filter = { .campaign = q->s->out->campaign };
    int rc = wl_store_runs(q->s->store, &filter, &q->runs, a, e);
    if (rc == 0) rc = wl_store_trials(q->s->store, filter.campaign, &q->trials, a, e);
    if (rc == 0) rc = wl_store_submissions(q->s->store, filter.campaign, &q->submissions, a, e);
    if (rc == 0) find_open(q, a);
    return rc;
}

/* ---- what the batch system says ---- */

/* Of a job that nobody lists any more: what slurmstepd wrote at the end of its output. */
static enum wl_batch_state state_by_output(const char *path, const char **why, struct wl_arena *a)
{
    enum { TAIL_BYTES = 8192 };
    static const struct {
        const char *text, *why;
        enum wl_batch_state state;
    } words[] = {
        { "DUE TO TIME LIMIT", "TIMEOUT", WL_BATCH_TIMEOUT },   { "DUE TO PREEMPTION", "PREEMPTED", WL_BATCH_LOST },
        { "DUE TO NODE FAILURE", "NODE_FAIL", WL_BATCH_LOST },  { "oom_kill event", "OUT_OF_MEMORY", WL_BATCH_FAILED },
        { "oom-kill event", "OUT_OF_MEMORY", WL_BATCH_FAILED }, { " CANCELLED AT ", "CANCELLED", WL_BATCH_CANCELLED },
    };
    const char *text = path ? wl_file_tail(path, TAIL_BYTES, a) : "";
    for (size_t i = 0; i < WL_COUNT(words); i++)
        if (strstr(text, words[i].text)) return *why = words[i].why, words[i].state;
    return WL_BATCH_UNKNOWN;
}

/* A waiting task that leaves the queue without a start was cancelled. */
static enum wl_batch_state state_of_unlisted(const struct wl_batch_queue *q, const struct wl_batch_open *o,
                                             const char **why, struct wl_arena *a)
{
    const char *output = wl_batch_output_find(q->s->folder, &o->row, NULL, a);
    if (output || !o->job.array_listed || !wl_str_eq(o->row.state, WL_SUBMISSION_WAITING))
        return state_by_output(output, why, a);
    *why = "CANCELLED";
    return WL_BATCH_CANCELLED;
}

/* A controller that has just begun may list nothing yet: what is not listed has vanished only after a while. */
static const double UNLISTED_WAIT_S = 20;
static const char not_listed[] = "the batch system does not list it";

/* Until then its row has the time at which it was missed first. */
static bool is_only_missed(struct wl_submission_row *row)
{
    if (row->cancelled) return false;
    if (row->ended_wall_ns == WL_NO_NS) row->ended_wall_ns = wl_wall_ns();
    const double since_s = (double)(wl_wall_ns() - row->ended_wall_ns) / WL_NS_PER_S;
    row->why = not_listed;
    return since_s >= 0 && since_s < UNLISTED_WAIT_S;
}

static void end_row(struct wl_submission_row *row, enum wl_batch_state outcome, const char *why)
{
    if (row->cancelled && outcome != WL_BATCH_DONE) outcome = WL_BATCH_CANCELLED;
    row->state = WL_SUBMISSION_ENDED;
    row->outcome = wl_batch_state_names[outcome];
    row->why = why;
    row->ended_wall_ns = wl_wall_ns();
}

/* A program that submits outlives a wattlaw that is killed, and a controller may accept a job after it was given up. */
static const double UNHEARD_WAIT_S = 15;

/* A submission whose answer was not heard: its job is known by its token in the queue, or by its output. */
static void find_unheard(const struct wl_batch_queue *q, struct wl_batch_open *o, struct wl_arena *a)
{
    struct wl_submission_row *row = &o->row;
    const double since_s = (double)(wl_wall_ns() - row->sent_wall_ns) / WL_NS_PER_S;
    const bool has_output = wl_batch_output_find(q->s->folder, row, &row->job, a) != NULL;
    if (row->job) {
        row->state = WL_SUBMISSION_RUNNING;
    } else if (since_s >= 0 && since_s <= UNHEARD_WAIT_S) {
        return;
    } else if (has_output) { /* it ran, and is not listed any more */
        end_row(row, WL_BATCH_UNKNOWN, NULL);
        o->ended = true;
    } else {
        row->state = WL_SUBMISSION_REFUSED;
        row->why = "the batch system does not know it";
    }
}

static void judge(const struct wl_batch_queue *q, struct wl_batch_open *o, struct wl_arena *a)
{
    struct wl_submission_row *row = &o->row;
    const struct wl_batch_job *job = &o->job;
    const char *why = job->why;
    enum wl_batch_state state = job->state;
    if (!row->job && !job->id) {
        find_unheard(q, o, a);
        return;
    }
    if (!row->job) row->job = job->id;
    if (job->nodes) row->nodes = job->nodes;
    if (state == WL_BATCH_UNKNOWN) state = state_of_unlisted(q, o, &why, a);
    if (state == WL_BATCH_UNKNOWN && is_only_missed(row)) return;
    if (state != WL_BATCH_UNKNOWN) row->ended_wall_ns = WL_NO_NS;
    if (state == WL_BATCH_WAITING || state == WL_BATCH_RUNNING) {
        row->state = wl_batch_state_names[state];
        row->why = why;
    } else {
        end_row(row, state, why);
        o->ended = true;
    }
}

static bool is_same(const struct wl_submission_row *a, const struct wl_submission_row *b)
{
    return wl_str_eq(a->state, b->state) && wl_str_eq(a->job, b->job) && wl_str_eq(a->why, b->why) &&
           wl_str_eq(a->nodes, b->nodes) && a->ended_wall_ns == b->ended_wall_ns;
}

static int store_changes(struct wl_batch_queue *q, const struct wl_submission_row *before, bool *changed,
                         struct wl_err *e)
{
    int rc = wl_store_begin(q->s->store, e);
    for (size_t i = 0; i < q->n_open && rc == 0; i++) {
        if (is_same(&before[i], &q->open[i].row)) continue;
        *changed = true;
        rc = wl_store_update_submission(q->s->store, &q->open[i].row, e);
    }
    if (rc == 0) rc = wl_store_commit(q->s->store, e);
    if (rc < 0) wl_store_rollback(q->s->store);
    return rc;
}

int wl_batch_queue_update(struct wl_batch_queue *q, bool *changed, struct wl_arena *a, struct wl_err *e)
{
    struct wl_batch_job *jobs = wl_new_array(a, struct wl_batch_job, q->n_open);
    struct wl_submission_row *before = wl_new_array(a, struct wl_submission_row, q->n_open);
    size_t n = 0;
    for (size_t i = 0; i < q->n_open; i++) {
        before[i] = q->open[i].row;
        if (!q->open[i].ended) jobs[n++] = q->open[i].job;
    }
    if (n == 0) return 0;
    int rc = q->s->launcher->batch->states(q->s->x, jobs, n, a, e);
    if (rc < 0) return rc;
    n = 0;
    for (size_t i = 0; i < q->n_open; i++) {
        if (q->open[i].ended) continue;
        q->open[i].job = jobs[n++];
        judge(q, &q->open[i], a);
    }
    return store_changes(q, before, changed, e);
}
