/* Submits the runs of a campaign that have no job: alone, or equal ones of a repeat as an array. */
#include "campaign/batch.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

/* Once a limit of the site is met, other jobs than ours may end: one more is tried so often. */
static const double FULL_RETRY_S = 60;

/* With arrays, jobs are submitted once a quarter of the places in the queue is free: single ones would be no arrays. */
enum { ARRAY_SHARE = 4 };

/* ---- one call of the batch system ---- */

/* A job to submit: planned run i. */
struct job {
    size_t i;
    int64_t repeat;
    struct wl_batch_request request;
    struct wl_submission_row row;
};

/* What `n` jobs are submitted as: the first itself, or an array. */
struct package {
    struct job *v;
    size_t n;
    struct wl_batch_request request;
};

static const char *relative(const struct wl_sweep *s, const char *path) { return path + strlen(s->folder) + 1; }

/* Writes all scripts. Rows know the job by its token, and its output by its name. */
static int write_scripts(struct wl_batch_submitter *b, struct package *p, struct wl_arena *a, struct wl_err *e)
{
    struct wl_sweep *s = b->s;
    const char *token = wl_batch_token(a);
    struct wl_batch_request *requests = wl_new_array(a, struct wl_batch_request, p->n);
    int rc = 0;
    for (size_t k = 0; k < p->n && rc == 0; k++) {
        const struct wl_settings set = wl_sweep_trial_settings(s->x, p->v[k].request.trial, a);
        rc = wl_batch_script_write(&b->scripts, wl_batch_trial_hash(&set, a), p->v[k].repeat, token, &p->v[k].request,
                                   a, e);
        requests[k] = p->v[k].request;
    }
    p->request = requests[0];
    if (rc == 0 && p->n > 1)
        rc = wl_batch_array_write(&b->scripts, requests, p->n, p->v[0].repeat, token, &p->request, a, e);
    const char *output = relative(s, p->request.output), *pattern = strstr(output, "%A_%a");
    for (size_t k = 0; k < p->n && rc == 0; k++)
        p->v[k].row = (struct wl_submission_row) {
            .run = s->run_ids[p->v[k].i],
            .launcher = s->launcher->name,
            .token = pattern ? wl_strf(a, "%s_%zu", token, k) : token,
            .state = WL_SUBMISSION_SENT,
            .n_nodes = p->request.nodes,
            .time_limit_s = p->request.time_limit_s > 0 ? p->request.time_limit_s : NAN,
            .script = relative(s, p->v[k].request.script),
            .output = pattern ? wl_strf(a, "%.*s%%j_%zu.out", (int)(pattern - output), output, k) : output,
            .sent_wall_ns = wl_wall_ns(),
            .ended_wall_ns = WL_NO_NS
        };
    return rc;
}

/* The rows are there before the job is: a process that dies in between leaves a trace. 1: not now, a run is not planned
 * any more. */
static int add_rows(struct wl_batch_submitter *b, struct package *p, struct wl_arena *a, struct wl_err *e)
{
    struct wl_store *store = b->s->store;
    int rc = wl_store_begin(store, e), planned = 1;
    for (size_t k = 0; k < p->n && rc == 0 && planned > 0; k++) {
        planned = wl_store_run_is_planned(store, p->v[k].row.run, e);
        if (planned < 0) rc = planned;
        if (planned <= 0) break; /* it was cancelled meanwhile */
        const struct wl_batch_request *r = &p->v[k].request;
        rc = wl_store_add_submission(store, &p->v[k].row, &p->v[k].row.id, e);
        if (rc == 0 && p->request.why_limit)
            rc = wl_store_add_log(store, p->v[k].row.run, "info", "campaign",
                                  wl_strf(a, "time limit %s: %s", wl_human_time(a, p->request.time_limit_s),
                                          r->why_limit == p->request.why_limit ? r->why_limit
                                                                               : "the longest of its job array"),
                                  e);
    }
    if (rc == 0 && planned) rc = wl_store_commit(store, e);
    if (rc < 0 || !planned) wl_store_rollback(store);
    return rc < 0 ? rc : !planned;
}

/* job NULL: they were refused. */
static int update_rows(struct wl_batch_submitter *b, struct package *p, const char *job, const char *why,
                       struct wl_arena *a, struct wl_err *e)
{
    struct wl_store *store = b->s->store;
    int rc = wl_store_begin(store, e);
    for (size_t k = 0; k < p->n && rc == 0; k++) {
        struct wl_submission_row *row = &p->v[k].row;
        row->state = job ? WL_SUBMISSION_WAITING : WL_SUBMISSION_REFUSED;
        row->why = why;
        row->job = job && p->n > 1 ? wl_strf(a, "%s_%zu", job, k) : job;
        rc = wl_store_update_submission(store, row, e);
    }
    if (rc == 0) rc = wl_store_commit(store, e);
    if (rc < 0) wl_store_rollback(store);
    return rc;
}

static int submit_package(struct wl_batch_submitter *b, struct package *p, struct wl_arena *a, struct wl_err *e)
{
    struct wl_sweep *s = b->s;
    const char *job = NULL;
    struct wl_err why;
    int rc = write_scripts(b, p, a, e);
    if (rc == 0) rc = add_rows(b, p, a, e);
    if (rc) return rc;
    const int answer = s->launcher->batch->submit(&p->request, &job, a, e);
    if (answer == WL_EUNAVAIL && wl_batch_may_be_sent(e)) return answer; /* the next round looks for it */
    rc = update_rows(b, p, answer < 0 ? NULL : job, answer < 0 ? wl_strdup(a, e->msg) : NULL, a, &why);
    if (rc < 0) return wl_fail(e, rc, "%s", why.msg);
    if (answer < 0 && answer != WL_EPERM && answer != WL_EUNAVAIL)
        return wl_err_prefix(e, "the job of %s, repeat %lld, was refused (its script: %s)", p->request.trial->label,
                             (long long)p->v[0].repeat, p->request.script);
    return answer;
}

/* What else is wrong is said when it is submitted. */
static bool has_room(const struct wl_batch_submitter *b, int64_t nodes, struct wl_arena *a)
{
    struct wl_err e;
    const struct wl_batch *batch = b->s->launcher->batch;
    return !batch->room || batch->room(b->s->x, nodes, a, &e) != WL_EPERM;
}

/* An array that is too large for what the queue still takes is refused as a whole. 1: the rest has to wait for room. */
static int submit_jobs(struct wl_batch_submitter *b, struct job *v, size_t n, bool *changed, struct wl_arena *a,
                       struct wl_err *e)
{
    for (size_t at = 0, size = n; at < n;) {
        struct package p = { .v = v + at, .n = size < n - at ? size : n - at };
        if (wl_batch_stop_requested(b)) return wl_batch_stopped(b, e);
        struct wl_arena *one = wl_arena_new(a);
        int rc = has_room(b, p.v[0].request.nodes, one) ? submit_package(b, &p, one, e) : 1;
        wl_arena_free(one);
        if (rc == WL_EPERM && p.n > 1) {
            size = p.n / 2;
            continue;
        }
        if (rc) return rc;
        *changed = true;
        at += p.n;
        b->waiting += p.n;
        b->missing -= p.n;
    }
    return 0;
}

/* ---- which runs ---- */

bool wl_batch_is_missing(const struct wl_batch_queue *q, int64_t run)
{
    for (size_t i = 0; i < q->n_open; i++)
        if (q->open[i].run->id == run) return false;
    for (size_t i = 0; i < q->runs.n; i++)
        if (q->runs.v[i].id == run) return q->runs.v[i].status == WL_RUN_PLANNED;
    return false;
}

bool wl_batch_stop_requested(const struct wl_batch_submitter *b)
{
    bool from_terminal;
    return b->s->opts->signals && wl_signals_next(b->s->opts->signals, &from_terminal);
}

int wl_batch_leave_queue(const struct wl_batch_submitter *b, int code, const char *why, struct wl_err *e)
{
    const size_t n = b->waiting + b->running;
    if (n == 0) return wl_fail(e, code, "%s", why);
    return wl_fail(e, code, "%s; %zu job%s stay%s in the queue (wattlaw cancel %s cancels them)", why, n,
                   n == 1 ? "" : "s", n == 1 ? "s" : "", b->s->x->path);
}

int wl_batch_stopped(const struct wl_batch_submitter *b, struct wl_err *e)
{
    return wl_batch_leave_queue(b, WL_EINTR, "stopped by the user", e);
}

static int64_t array_most(const struct wl_batch_submitter *b)
{
    int64_t most = 0;
    wl_batch_array_parse(b->s->x->launch.batch.array, &most);
    return most < b->site.array_max ? most : b->site.array_max;
}

/* How many jobs may be submitted now. */
static size_t free_places(const struct wl_batch_submitter *b)
{
    const size_t in_queue = b->waiting + b->running, most = (size_t)b->s->x->launch.batch.max_in_queue;
    const size_t room = b->room < most ? b->room : most, places = in_queue < room ? room - in_queue : 0;
    const bool few = in_queue && places < most / ARRAY_SHARE && places < b->missing;
    return few && b->room >= most && array_most(b) > 1 ? 0 : places;
}

/* The first of the plan that have no job, as many as there are places for. Returns how many. */
static size_t choose(const struct wl_batch_submitter *b, const struct wl_batch_queue *q, struct job *v, size_t places,
                     struct wl_arena *a)
{
    const struct wl_sweep *s = b->s;
    const struct wl_batch_limits *limits = wl_batch_limits_new(q, a);
    const char *exclude = wl_batch_failed_nodes(&q->submissions, a);
    const int64_t max_nodes = s->x->launch.batch.max_nodes;
    int64_t nodes = q->n_nodes;
    size_t n = 0;
    for (size_t i = 0; i < s->grid.n_runs && n < places; i++) {
        const struct wl_planned_run *run = &s->grid.runs[i];
        const struct wl_trial *t = &s->grid.trials[run->trial];
        const int64_t needs = t->nodes ? t->nodes : 1;
        if (!wl_batch_is_missing(q, s->run_ids[i])) continue;
        if (max_nodes && (b->waiting + b->running + n) && nodes + needs > max_nodes) break;
        const struct wl_batch_limit limit = wl_batch_limit_of(limits, s->trial_ids[run->trial]);
        v[n++] = (struct job) { .i = i,
                                .repeat = run->repeat,
                                .request = { .x = s->x,
                                             .trial = t,
                                             .nodes = needs,
                                             .time_limit_s = limit.s,
                                             .why_limit = limit.why,
                                             .exclude_nodes = exclude } };
        nodes += needs;
    }
    return n;
}

/* Jobs in the order of their groups: those of group 0, of group 1 ... */
static int submit_groups(struct wl_batch_submitter *b, struct job *v, size_t n, bool *changed, struct wl_arena *a,
                         struct wl_err *e)
{
    struct wl_batch_item *items = wl_new_array(a, struct wl_batch_item, n);
    struct job *members = wl_new_array(a, struct job, n);
    size_t *group = wl_new_array(a, size_t, n);
    const int64_t most = array_most(b);
    for (size_t i = 0; i < n; i++)
        items[i] = (struct wl_batch_item) { v[i].repeat, wl_batch_needs(b->scripts.batch, &v[i].request, a),
                                            v[i].request.time_limit_s };
    const size_t groups = wl_batch_array_split(items, n, most > 1 ? (size_t)most : 1, group, a);
    int rc = 0;
    for (size_t g = 0; g < groups && rc == 0; g++) {
        size_t m = 0;
        for (size_t i = 0; i < n; i++)
            if (group[i] == g) members[m++] = v[i];
        rc = submit_jobs(b, members, m, changed, a, e);
    }
    return rc;
}

/* ---- a limit of the site ---- */

int wl_batch_ask_site(struct wl_batch_submitter *b, struct wl_err *e)
{
    const struct wl_experiment *x = b->s->x;
    const struct wl_batch *batch = b->s->launcher->batch;
    struct wl_batch_site *site = &b->site;
    struct wl_arena *a = b->s->a;
    int rc = b->asked || !batch->site ? 0 : batch->site(x, site, a, e);
    if (rc == WL_EUNAVAIL || b->asked) return rc;
    if (rc < 0) wl_log(WL_WARN, "campaign", "what the site allows is not known: %s", e->msg);
    b->asked = true;
    if (site->config) wl_batch_answer_keep(b->s->folder, WL_BATCH_CONFIG_FILE, site->config, a);
    const double asked_s = x->launch.batch.time_limit_s;
    if (site->time_limit_s > 0 && asked_s > site->time_limit_s)
        wl_log(WL_WARN, "campaign", "[launch] time_limit = %s is above the limit of partition %s: the jobs ask for %s",
               wl_human_time(a, asked_s), site->partition, wl_human_time(a, site->time_limit_s));
    return 0;
}

static void note_full(struct wl_batch_submitter *b, const struct wl_err *e)
{
    if (!b->full) wl_log(WL_WARN, "campaign", "waiting for room in the queue: %s", e->msg);
    b->full = true;
    b->room = b->waiting + b->running;
    b->full_ns = wl_now_ns();
}

/* After a while one job more is tried than were taken; if it is, all are. */
static bool try_again(struct wl_batch_submitter *b)
{
    const bool waited = (double)(wl_now_ns() - b->full_ns) / WL_NS_PER_S >= FULL_RETRY_S;
    if (b->room == SIZE_MAX || (!waited && b->room)) return false;
    b->room++;
    return true;
}

int wl_batch_submit_missing(struct wl_batch_submitter *b, const struct wl_batch_queue *q, bool *changed,
                            struct wl_arena *a, struct wl_err *e)
{
    if (b->missing == 0) return 0;
    int rc = wl_batch_ask_site(b, e);
    if (rc < 0) return rc;
    const bool tries = try_again(b);
    const size_t places = free_places(b);
    struct job *v = wl_new_array(a, struct job, places < b->missing ? places : b->missing);
    const size_t n = choose(b, q, v, places < b->missing ? places : b->missing, a);
    if (n == 0) return 0;
    rc = submit_groups(b, v, n, changed, a, e);
    if (rc == WL_EPERM) {
        note_full(b, e);
        return 0;
    }
    if (rc == 0 && tries) b->room = SIZE_MAX;
    return rc > 0 ? 0 : rc;
}
