/* Requests to a campaign. */
#include "store/control.h"

#include "store/connection.h"
#include "store/lock.h"
#include "store/read.h"
#include "store/rows.h"

#include <string.h>

const char *const wl_control_names[WL_CONTROL_ACTIONS] = { "pause", "resume", "cancel", "retry" };

/* ---- reading ---- */

#define AT(member) offsetof(struct wl_control_row, member)
static const struct wl_column_map map[] = {
    { "id", WL_COLUMN_INT, AT(id) },
    { "campaign", WL_COLUMN_INT, AT(campaign) },
    { "action", WL_COLUMN_NAME, AT(action) },
    { "ifnull(run, 0)", WL_COLUMN_INT, AT(run) },
    { "asked_wall_ns", WL_COLUMN_INT, AT(asked_wall_ns) },
    { "asked_by", WL_COLUMN_NAME, AT(asked_by) },
    { "acted_wall_ns", WL_COLUMN_TIME, AT(acted_wall_ns) },
    { "outcome", WL_COLUMN_TEXT, AT(outcome) },
    { NULL },
};

int wl_store_controls(struct wl_store *s, int64_t campaign, int64_t most, struct wl_control_rows *out,
                      struct wl_arena *a, struct wl_err *e)
{
    const struct wl_query q = { .map = map,
                                .from = "FROM control WHERE campaign = ?1 ORDER BY id DESC LIMIT ?2",
                                .values = SQL(sql_int(campaign), sql_int(most)),
                                .size = sizeof *out->v };
    return wl_rows_select(s, &q, &out->v, &out->n, a, e);
}

int wl_store_control_state(struct wl_store *s, int64_t campaign, struct wl_control_state *out, struct wl_arena *a,
                           struct wl_err *e)
{
    const struct wl_query q = { .map = map,
                                .from = "FROM control WHERE campaign = ?1 AND action IN ('pause', 'resume') "
                                        "ORDER BY id DESC LIMIT 1",
                                .values = SQL(sql_int(campaign)),
                                .size = sizeof(struct wl_control_row) };
    struct wl_control_rows rows;
    *out = (struct wl_control_state) { .sweep = wl_store_locked(s, wl_lock_of_campaign(campaign)) };
    int rc = wl_rows_select(s, &q, &rows.v, &rows.n, a, e);
    if (rc == 0 && rows.n && wl_str_eq(rows.v[0].action, wl_control_names[WL_CONTROL_PAUSE])) {
        out->paused = true;
        out->by = rows.v[0].asked_by;
        out->since_wall_ns = rows.v[0].asked_wall_ns;
    }
    if (rc == 0)
        rc = wl_sql_find(s, "SELECT max(id) FROM control WHERE campaign = ?1", SQL(sql_int(campaign)), &out->last, e);
    return rc < 0 ? rc : 0;
}

int wl_store_control_stamp(struct wl_store *s, int64_t *stamp, struct wl_err *e)
{
    *stamp = 0;
    int rc = wl_sql_find(s, "SELECT max(id) + count(acted_wall_ns) FROM control", SQL_NONE, stamp, e);
    return rc < 0 ? rc : 0;
}

/* ---- acting ---- */

int wl_store_control_noticed(struct wl_store *s, int64_t campaign, int64_t last, struct wl_err *e)
{
    return wl_sql_do(s,
                     "UPDATE control SET acted_wall_ns = ?3 WHERE campaign = ?1 AND id <= ?2 AND acted_wall_ns IS NULL "
                     "AND action IN ('pause', 'resume')",
                     SQL(sql_int(campaign), sql_int(last), sql_int(wl_wall_ns())), e);
}

const char *wl_store_cancelled(struct wl_store *s, int64_t run, struct wl_arena *a)
{
    const struct wl_query q = { .map = map,
                                .from = "FROM control WHERE run = ?1 AND action = 'cancel' LIMIT 1",
                                .values = SQL(sql_int(run)),
                                .size = sizeof(struct wl_control_row) };
    struct wl_control_rows rows;
    struct wl_err e;
    if (wl_rows_select(s, &q, &rows.v, &rows.n, a, &e) < 0 || rows.n == 0) return NULL;
    return wl_strf(a, "cancelled by %s", rows.v[0].asked_by);
}

int wl_store_to_cancel(struct wl_store *s, int64_t campaign, int64_t **runs, size_t *n, struct wl_arena *a,
                       struct wl_err *e)
{
    static const struct wl_column_map runs_map[] = { { "run", WL_COLUMN_INT, 0 }, { NULL } };
    const struct wl_query q = {
        .map = runs_map,
        .from = "FROM control WHERE campaign = ?1 AND action = 'cancel' AND run IS NOT NULL AND acted_wall_ns IS NULL",
        .values = SQL(sql_int(campaign)),
        .size = sizeof **runs
    };
    return wl_rows_select(s, &q, runs, n, a, e);
}

int wl_store_run_is_planned(struct wl_store *s, int64_t run, struct wl_err *e)
{
    int64_t yes = 0;
    int rc = wl_sql_find(s, "SELECT status = 'planned' FROM run WHERE id = ?1", SQL(sql_int(run)), &yes, e);
    return rc < 0 ? rc : yes != 0;
}

int wl_store_control_run_closed(struct wl_store *s, int64_t run, struct wl_err *e)
{
    return wl_sql_do(s,
                     "UPDATE control SET acted_wall_ns = ?2, outcome = (SELECT status FROM run WHERE id = ?1) "
                     "WHERE run = ?1 AND action = 'cancel' AND acted_wall_ns IS NULL",
                     SQL(sql_int(run), sql_int(wl_wall_ns())), e);
}

/* ---- asking ---- */

/* What a request is about. */
struct subject {
    int64_t campaign;
    const char *name;
    struct wl_control_state state;
};

struct run {
    int64_t id, campaign, jobs, newest; /* jobs: submissions; newest: the last attempt of its repeat */
    const char *name;                   /* of the campaign */
    enum wl_run_status status;
};

static const char *no_sweep(const struct subject *of) { return of->state.sweep > 0 ? NULL : "no sweep runs it now"; }

static int find_run(struct wl_store *s, int64_t id, struct run *out, struct wl_arena *a, struct wl_err *e)
{
    static const struct wl_column_map run_map[] = {
        { "r.id", WL_COLUMN_INT, offsetof(struct run, id) },
        { "t.campaign", WL_COLUMN_INT, offsetof(struct run, campaign) },
        { "(SELECT count(*) FROM submission WHERE run = r.id AND state <> 'refused')", WL_COLUMN_INT,
          offsetof(struct run, jobs) },
        { "(SELECT id FROM run WHERE trial = r.trial AND repeat = r.repeat ORDER BY attempt DESC LIMIT 1)",
          WL_COLUMN_INT, offsetof(struct run, newest) },
        { "c.name", WL_COLUMN_NAME, offsetof(struct run, name) },
        { "r.status", WL_COLUMN_STATUS, offsetof(struct run, status) },
        { NULL },
    };
    const struct wl_query q = { .map = run_map,
                                .from =
                                    "FROM run r JOIN trial t ON t.id = r.trial JOIN campaign c ON c.id = t.campaign "
                                    "WHERE r.id = ?1",
                                .values = SQL(sql_int(id)),
                                .size = sizeof *out };
    struct run *rows;
    size_t n;
    int rc = wl_rows_select(s, &q, &rows, &n, a, e);
    if (rc == 0 && n == 0) rc = wl_fail(e, WL_ENOENT, "%s: no run %lld", s->path, (long long)id);
    if (rc == 0) *out = rows[0];
    return rc;
}

/* Only a campaign that a sweep made has a text; runs of measure have nobody who would read a request. */
static int find_campaign(struct wl_store *s, const char *name, struct subject *out, struct wl_arena *a,
                         struct wl_err *e)
{
    struct wl_campaign_rows rows;
    struct wl_strs names = { 0 };
    const struct wl_campaign_row *found = NULL;
    int rc = wl_store_campaigns(s, &rows, a, e);
    if (rc < 0) return rc;
    for (size_t i = 0; i < rows.n; i++) {
        if (!rows.v[i].experiment || !*rows.v[i].experiment) continue;
        wl_strs_add(a, &names, rows.v[i].name);
        if (!name || wl_str_eq(name, rows.v[i].name)) found = &rows.v[i];
    }
    if (!found)
        return wl_fail(e, WL_ENOENT, "%s: %s%s%s", s->path,
                       name ? "no campaign of a sweep is called " : "has no campaign", name ? name : " of a sweep",
                       names.n ? wl_strf(a, " (it has %s)", names.v[0]) : "");
    if (!name && names.n > 1)
        return wl_fail(e, WL_EINVAL, "%s: has %zu campaigns: choose one (--campaign %s)", s->path, names.n, names.v[0]);
    *out = (struct subject) { .campaign = found->id, .name = found->name };
    return 0;
}

static int add(struct wl_store *s, const struct wl_control_request *r, const struct subject *of, int64_t run,
               const char *outcome, struct wl_err *e)
{
    char by[WL_CONTROL_BY_MAX + 1];
    size_t n = strnlen(r->asked_by, WL_CONTROL_BY_MAX);
    while (n && r->asked_by[n] && (r->asked_by[n] & 0xc0) == 0x80) n--; /* not inside of a character */
    snprintf(by, sizeof by, "%.*s", (int)n, r->asked_by);
    return wl_sql_do(s,
                     "INSERT INTO control(campaign, action, run, asked_wall_ns, asked_by, acted_wall_ns, outcome) "
                     "VALUES (?1, ?2, CASE WHEN ?3 > 0 THEN ?3 END, ?4, ?5, CASE WHEN ?6 IS NOT NULL THEN ?4 END, ?6)",
                     SQL(sql_int(of->campaign), sql_text(wl_control_names[r->action]), sql_int(run),
                         sql_int(wl_wall_ns()), sql_text(by), sql_text(outcome)),
                     e);
}

/* ---- pause and resume ---- */

static int pause_or_resume(struct wl_store *s, const struct wl_control_request *r, const struct subject *of,
                           struct wl_control_answer *out, struct wl_arena *a, struct wl_err *e)
{
    const bool pause = r->action == WL_CONTROL_PAUSE;
    if (pause == of->state.paused) {
        out->text = pause ? wl_strf(a, "campaign %s is paused already, by %s since %s", of->name, of->state.by,
                                    wl_clock_iso(a, of->state.since_wall_ns))
                          : wl_strf(a, "campaign %s is not paused", of->name);
        return 0;
    }
    int64_t running = 0;
    int rc = wl_sql_find(s,
                         "SELECT count(*) FROM run r JOIN trial t ON t.id = r.trial WHERE t.campaign = ?1 AND "
                         "r.status = 'running'",
                         SQL(sql_int(of->campaign)), &running, e);
    if (rc >= 0) rc = add(s, r, of, 0, NULL, e);
    if (rc < 0) return rc;
    out->runs = 1;
    const char *alone = no_sweep(of);
    if (!pause)
        out->text = alone
                        ? wl_strf(a, "campaign %s is resumed; %s: the next wattlaw sweep continues it", of->name, alone)
                        : wl_strf(a, "campaign %s is resumed: the sweep goes on within seconds", of->name);
    else
        out->text =
            wl_strf(a, "campaign %s is paused: no further run begins until it is resumed%s%s%s", of->name,
                    running ? "; a run that is running goes on to its end" : "", alone ? "; " : "", alone ? alone : "");
    return 0;
}

/* ---- cancel ---- */

/* It has not begun, and its begin is a transaction as this is one. */
static int close_planned(struct wl_store *s, int64_t run, const char *error, struct wl_err *e)
{
    int rc = wl_sql_do(s, "UPDATE run SET status = 'running', version = ?2 WHERE id = ?1 AND status = 'planned'",
                       SQL(sql_int(run), sql_text(WL_VERSION)), e);
    if (rc == 0)
        rc = wl_sql_do(s, "UPDATE run SET status = 'failed', error = ?2 WHERE id = ?1",
                       SQL(sql_int(run), sql_text(error)), e);
    return rc;
}

static int cancel(struct wl_store *s, const struct wl_control_request *r, const struct subject *of,
                  const struct run *run, struct wl_control_answer *out, struct wl_arena *a, struct wl_err *e)
{
    const long long id = run->id;
    const char *before = wl_store_cancelled(s, run->id, a);
    if (run->status >= WL_RUN_DONE)
        return wl_fail(e, WL_EPERM, "run %lld has ended already (%s)", id,
                       before ? before : wl_run_status_names[run->status]);
    if (before) {
        out->text = wl_strf(a, "run %lld is %s already", id, before);
        return 0;
    }
    if (run->status == WL_RUN_RUNNING && of->state.sweep == 0)
        return wl_fail(e, WL_EPERM,
                       "run %lld was not started by a sweep that can be asked here: stop it where it was started", id);
    const bool at_once = run->status == WL_RUN_PLANNED && run->jobs == 0;
    int rc = add(s, r, of, run->id, at_once ? wl_run_status_names[WL_RUN_FAILED] : NULL, e);
    if (rc == 0 && at_once) rc = close_planned(s, run->id, wl_store_cancelled(s, run->id, a), e);
    if (rc < 0) return rc;
    out->runs = 1;
    if (at_once)
        out->text = wl_strf(a, "run %lld is cancelled and does not begin", id);
    else if (run->status == WL_RUN_RUNNING)
        out->text = wl_strf(a, "run %lld is being stopped: its job gets SIGTERM, then its caps are restored", id);
    else if (of->state.sweep > 0)
        out->text = wl_strf(a, "the sweep cancels the job of run %lld in the queue within seconds", id);
    else
        out->text = wl_strf(a,
                            "the next wattlaw sweep cancels the job of run %lld; wattlaw cancel FILE.ini %lld does it "
                            "at once",
                            id, id);
    return 0;
}

/* ---- retry ---- */

static int retry_one(struct wl_store *s, const struct wl_control_request *r, const struct subject *of, int64_t failed,
                     int64_t *planned, struct wl_arena *a, struct wl_err *e)
{
    int rc = wl_sql_do(s,
                       "INSERT INTO run(trial, repeat, attempt, seed, position) "
                       "SELECT trial, repeat, attempt + 1, seed, position FROM run WHERE id = ?1",
                       SQL(sql_int(failed)), e);
    *planned = sqlite3_last_insert_rowid(s->db);
    return rc ? rc : add(s, r, of, failed, wl_strf(a, "run %lld", (long long)*planned), e);
}

static int check_retry(const struct run *run, struct wl_err *e)
{
    if (run->status != WL_RUN_FAILED)
        return wl_fail(e, WL_EPERM, "run %lld has not failed: it is %s%s", (long long)run->id,
                       wl_run_status_names[run->status],
                       run->status == WL_RUN_INTERRUPTED ? ", and the next wattlaw sweep repeats it" : "");
    if (run->newest == run->id) return 0;
    return wl_fail(e, WL_EPERM, "run %lld was retried already: its next attempt is run %lld", (long long)run->id,
                   (long long)run->newest);
}

static int retry(struct wl_store *s, const struct wl_control_request *r, const struct subject *of,
                 struct wl_control_answer *out, struct wl_arena *a, struct wl_err *e)
{
    static const struct wl_column_map failed_map[] = { { "r.id", WL_COLUMN_INT, 0 }, { NULL } };
    const struct wl_query q = {
        .map = failed_map,
        .from = "FROM run r JOIN trial t ON t.id = r.trial WHERE t.campaign = ?1 AND ?2 IN (0, r.id) "
                "AND r.status = 'failed' AND t.skipped IS NULL AND r.attempt = (SELECT max(attempt) FROM run n WHERE "
                "n.trial = r.trial AND n.repeat = r.repeat) "
                "ORDER BY r.id",
        .values = SQL(sql_int(of->campaign), sql_int(r->run)),
        .size = sizeof(int64_t),
    };
    int64_t *failed, planned = 0;
    int rc = wl_rows_select(s, &q, &failed, &out->runs, a, e);
    for (size_t i = 0; i < out->runs && rc == 0; i++) rc = retry_one(s, r, of, failed[i], &planned, a, e);
    if (rc < 0) return rc;
    const char *what = out->runs == 0   ? wl_strf(a, "campaign %s has no failed run to retry", of->name)
                       : out->runs == 1 ? wl_strf(a, "run %lld gets another attempt, run %lld", (long long)failed[0],
                                                  (long long)planned)
                                        : wl_strf(a, "%zu failed runs get another attempt", out->runs);
    const char *then = out->runs == 0        ? ""
                       : of->state.paused    ? ", once the campaign is resumed"
                       : of->state.sweep > 0 ? ", which the running sweep begins"
                                             : "; no sweep runs it now: wattlaw sweep FILE.ini begins it";
    out->text = wl_strf(a, "%s%s", what, then);
    return 0;
}

/* ---- a request ---- */

static int act(struct wl_store *s, const struct wl_control_request *r, struct wl_control_answer *out,
               struct wl_arena *a, struct wl_err *e)
{
    struct subject of;
    struct run run = { 0 };
    int rc = r->run ? find_run(s, r->run, &run, a, e) : 0;
    if (rc == 0) rc = find_campaign(s, r->run ? run.name : r->campaign, &of, a, e);
    if (rc == 0 && r->run && r->campaign && !wl_str_eq(r->campaign, run.name))
        rc = wl_fail(e, WL_EINVAL, "run %lld is of campaign %s, not of %s", (long long)r->run, run.name, r->campaign);
    if (rc == 0) rc = wl_store_control_state(s, of.campaign, &of.state, a, e);
    if (rc < 0) return rc;
    out->campaign = of.name;
    out->sweep = of.state.sweep;
    switch (r->action) {
    case WL_CONTROL_CANCEL: return cancel(s, r, &of, &run, out, a, e);
    case WL_CONTROL_RETRY: rc = r->run ? check_retry(&run, e) : 0; return rc ? rc : retry(s, r, &of, out, a, e);
    default: return pause_or_resume(s, r, &of, out, a, e);
    }
}

int wl_store_control(const char *path, const struct wl_control_request *request, struct wl_control_answer *out,
                     struct wl_arena *a, struct wl_err *e)
{
    const bool of_run = request->action == WL_CONTROL_CANCEL, takes_run = of_run || request->action == WL_CONTROL_RETRY;
    struct wl_arena *scratch = wl_arena_new(a); /* the store is closed with it */
    struct wl_store *s;
    struct wl_sql_tx tx;
    *out = (struct wl_control_answer) { 0 };
    if ((of_run && !request->run) || (!takes_run && request->run))
        return wl_fail(e, WL_EINVAL, "%s: expected %s", wl_control_names[request->action],
                       of_run ? "the number of a run" : "no run: it concerns the whole campaign");
    int rc = wl_store_open(&s, path, WL_STORE_WRITE, scratch, e);
    if (rc == 0) rc = wl_sql_begin(s, true, &tx, e);
    if (rc == 0) rc = wl_sql_end(s, &tx, act(s, request, out, a, e), e);
    wl_arena_free(scratch);
    return rc;
}

void wl_control_answer_json(enum wl_control_action action, const struct wl_control_answer *v, struct wl_json *o)
{
    wl_json_add_str(o, "action", wl_control_names[action]);
    wl_json_add_str(o, "campaign", v->campaign);
    wl_json_add_int(o, "runs", (int64_t)v->runs);
    if (v->sweep < 0)
        wl_json_add_null(o, "sweep");
    else
        wl_json_add_bool(o, "sweep", v->sweep > 0);
    wl_json_add_str(o, "text", v->text);
}
