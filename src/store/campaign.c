/* Campaigns, their trials, and which repeats are to be run. */
#include "store/campaign.h"

#include "store/connection.h"
#include "store/lock.h"
#include "store/read.h"
#include "store/rows.h"

static int newest_text_is(struct wl_store *s, int64_t campaign, const char *text, struct wl_err *e)
{
    int64_t same = 0;
    int rc = wl_sql_find(s, "SELECT text = ?2 FROM experiment WHERE campaign = ?1 ORDER BY id DESC LIMIT 1",
                         SQL(sql_int(campaign), sql_text(text)), &same, e);
    return rc < 0 ? rc : same != 0;
}

static int find_campaign(struct wl_store *s, const char *name, const char *text, const char *version, int64_t *id,
                         struct wl_err *e)
{
    int rc = wl_sql_do(s, "INSERT INTO campaign(name, created_wall_ns) VALUES (?1, ?2) ON CONFLICT DO NOTHING",
                       SQL(sql_text(name), sql_int(wl_wall_ns())), e);
    if (rc == 0) rc = wl_sql_find(s, "SELECT id FROM campaign WHERE name = ?1", SQL(sql_text(name)), id, e);
    if (rc < 0) return rc;
    rc = newest_text_is(s, *id, text, e);
    if (rc) return rc < 0 ? rc : 0;
    return wl_sql_do(s, "INSERT INTO experiment(campaign, created_wall_ns, version, text) VALUES (?1, ?2, ?3, ?4)",
                     SQL(sql_int(*id), sql_int(wl_wall_ns()), sql_text(version), sql_text(text)), e);
}

int wl_store_add_campaign(struct wl_store *s, const char *name, const char *experiment, const char *version,
                          int64_t *id, struct wl_err *e)
{
    struct wl_sql_tx tx;
    int rc = wl_sql_begin(s, false, &tx, e);
    if (rc) return rc;
    return wl_sql_end(s, &tx, find_campaign(s, name, experiment, version, id, e), e);
}

int wl_store_campaigns(struct wl_store *s, struct wl_campaign_rows *out, struct wl_arena *a, struct wl_err *e)
{
    static const struct wl_column_map map[] = {
        { "c.id", WL_COLUMN_INT, offsetof(struct wl_campaign_row, id) },
        { "c.name", WL_COLUMN_NAME, offsetof(struct wl_campaign_row, name) },
        { "x.text", WL_COLUMN_TEXT, offsetof(struct wl_campaign_row, experiment) },
        { "x.version", WL_COLUMN_TEXT, offsetof(struct wl_campaign_row, version) },
        { "c.created_wall_ns", WL_COLUMN_INT, offsetof(struct wl_campaign_row, created_wall_ns) },
        { NULL },
    };
    const struct wl_query q = {
        .map = map,
        .from = "FROM campaign c LEFT JOIN experiment x "
                "ON x.id = (SELECT max(id) FROM experiment WHERE campaign = c.id) ORDER BY c.id",
        .size = sizeof *out->v,
    };
    return wl_rows_select(s, &q, &out->v, &out->n, a, e);
}

enum { ANY_CAMPAIGN = 0 }; /* no campaign has this number */

static int refuse(const struct wl_store *s, int64_t campaign, struct wl_err *e)
{
    return wl_fail(e, WL_EPERM, "%s: %s", s->path,
                   campaign == ANY_CAMPAIGN
                       ? "another campaign of this store is running, and both would measure each other; wait for it or "
                         "stop it first"
                       : "another wattlaw is running this campaign; wait for it or stop it first");
}

/* Where the file system does not lock, two may run at once; the index run_once still keeps each repeat to one. */
static int own(struct wl_store *s, int64_t campaign, struct wl_err *e)
{
    struct wl_err why;
    int rc = wl_store_lock(s, wl_lock_of_campaign(campaign), &why);
    if (rc < 0) wl_log(WL_WARN, "store", "%s; see to it that only one wattlaw runs a campaign here", why.msg);
    return rc ? 0 : refuse(s, campaign, e);
}

int wl_store_lock_campaign(struct wl_store *s, int64_t campaign, struct wl_err *e)
{
    int rc = own(s, campaign, e);
    return rc < 0 ? rc : own(s, ANY_CAMPAIGN, e);
}

int wl_store_campaign_is_free(struct wl_store *s, int64_t campaign, struct wl_err *e)
{
    if (campaign && wl_store_locked(s, wl_lock_of_campaign(campaign)) == 1) return refuse(s, campaign, e);
    return wl_store_locked(s, wl_lock_of_campaign(ANY_CAMPAIGN)) == 1 ? refuse(s, ANY_CAMPAIGN, e) : 0;
}

/* ---- trials ---- */

static int find_trial(struct wl_store *s, const struct wl_trial_row *row, int64_t *id, struct wl_err *e)
{
    static const struct wl_column_map map[] = {
        { "campaign", WL_COLUMN_INT, offsetof(struct wl_trial_row, campaign) },
        { "key", WL_COLUMN_NAME, offsetof(struct wl_trial_row, key) },
        { "skipped", WL_COLUMN_TEXT, offsetof(struct wl_trial_row, skipped) },
#define SETTINGS_PREFIX ""
#define SETTINGS_BASE   offsetof(struct wl_trial_row, set)
#include "store/settings_map.h"
        { NULL },
    };
    const struct wl_insert to = {
        .table = "trial",
        .map = map,
        .size = sizeof *row,
        .suffix = "ON CONFLICT(campaign, key) DO UPDATE SET skipped = excluded.skipped "
                  "WHERE skipped IS NOT excluded.skipped",
    };
    int rc = wl_rows_insert(s, &to, row, 1, e);
    if (rc) return rc;
    rc = wl_sql_find(s, "SELECT id FROM trial WHERE campaign = ?1 AND key = ?2",
                     SQL(sql_int(row->campaign), sql_text(row->key)), id, e);
    return rc < 0 ? rc : 0;
}

int wl_store_add_trial(struct wl_store *s, int64_t campaign, const struct wl_settings *set, const char *skipped,
                       int64_t *id, struct wl_err *e)
{
    struct wl_arena *a = wl_arena_new(NULL);
    struct wl_trial_row row = { .campaign = campaign, .set = *set, .key = wl_settings_key(set, a), .skipped = skipped };
    struct wl_sql_tx tx;
    int rc = wl_sql_begin(s, false, &tx, e);
    if (rc == 0) rc = wl_sql_end(s, &tx, find_trial(s, &row, id, e), e);
    wl_arena_free(a);
    return rc;
}

int wl_store_trials(struct wl_store *s, int64_t campaign, struct wl_trial_rows *out, struct wl_arena *a,
                    struct wl_err *e)
{
    static const struct wl_column_map map[] = {
        { "id", WL_COLUMN_INT, offsetof(struct wl_trial_row, id) },
        { "campaign", WL_COLUMN_INT, offsetof(struct wl_trial_row, campaign) },
        { "key", WL_COLUMN_NAME, offsetof(struct wl_trial_row, key) },
        { "skipped", WL_COLUMN_TEXT, offsetof(struct wl_trial_row, skipped) },
#define SETTINGS_PREFIX ""
#define SETTINGS_BASE   offsetof(struct wl_trial_row, set)
#include "store/settings_map.h"
        { NULL },
    };
    const struct wl_query q = {
        .map = map,
        .from = "FROM trial WHERE ?1 IN (0, campaign) ORDER BY campaign, id",
        .values = SQL(sql_int(campaign)),
        .size = sizeof *out->v,
    };
    return wl_rows_select(s, &q, &out->v, &out->n, a, e);
}

/* ---- repeats ---- */

/* 1 with *run: nothing to plan; 0: plan `attempt`. */
static int planned_already(struct wl_store *s, const struct wl_run_plan *plan, int64_t *run, int64_t *attempt,
                           struct wl_err *e)
{
    int rc =
        wl_sql_find(s,
                    "SELECT id FROM run WHERE trial = ?1 AND repeat = ?2 AND status IN ('planned', 'running', 'done')",
                    SQL(sql_int(plan->trial), sql_int(plan->repeat)), run, e);
    if (rc) return rc;
    /* the newest attempt, unless that very one is to be retried */
    rc = wl_sql_find(s,
                     "SELECT id FROM run r WHERE trial = ?1 AND repeat = ?2 AND status = 'failed' AND NOT ?3 "
                     "AND attempt = (SELECT max(attempt) FROM run WHERE trial = ?1 AND repeat = ?2) "
                     "AND NOT EXISTS (SELECT 1 FROM control WHERE run = r.id AND action = 'retry')",
                     SQL(sql_int(plan->trial), sql_int(plan->repeat), sql_int(plan->retry_failed)), run, e);
    if (rc) return rc;
    *attempt = 1;
    rc = wl_sql_find(s, "SELECT max(attempt) + 1 FROM run WHERE trial = ?1 AND repeat = ?2",
                     SQL(sql_int(plan->trial), sql_int(plan->repeat)), attempt, e);
    return rc < 0 ? rc : 0;
}

static int plan_one(struct wl_store *s, struct wl_run_plan plan, int64_t *run, struct wl_err *e)
{
    int64_t attempt;
    if (plan.repeat == 0) {
        int rc = wl_sql_find(s, "SELECT ifnull(max(repeat), 0) + 1 FROM run WHERE trial = ?1", SQL(sql_int(plan.trial)),
                             &plan.repeat, e);
        if (rc < 0) return rc;
    }
    int rc = planned_already(s, &plan, run, &attempt, e);
    if (rc > 0)
        return wl_sql_do(s, "UPDATE run SET position = ?2 WHERE id = ?1 AND status = 'planned'",
                         SQL(sql_int(*run), sql_int(plan.position)), e);
    if (rc == 0)
        rc = wl_sql_do(s, "INSERT INTO run(trial, repeat, attempt, seed, position) VALUES (?1, ?2, ?3, ?4, ?5)",
                       SQL(sql_int(plan.trial), sql_int(plan.repeat), sql_int(attempt), sql_int(plan.seed),
                           sql_int(plan.position)),
                       e);
    if (rc == 0) *run = sqlite3_last_insert_rowid(s->db);
    return rc;
}

int wl_store_plan_run(struct wl_store *s, const struct wl_run_plan *plan, int64_t *run, struct wl_err *e)
{
    struct wl_sql_tx tx;
    int rc = wl_sql_begin(s, false, &tx, e);
    return rc ? rc : wl_sql_end(s, &tx, plan_one(s, *plan, run, e), e);
}

int wl_store_drop_planned(struct wl_store *s, int64_t campaign, struct wl_err *e)
{
    struct wl_sql_tx tx;
    int rc = wl_sql_begin(s, false, &tx, e);
    if (rc) return rc;
    rc = wl_sql_do(s,
                   "DELETE FROM run WHERE status = 'planned' AND trial IN (SELECT id FROM trial WHERE campaign = ?1) "
                   "AND id NOT IN (SELECT run FROM submission)",
                   SQL(sql_int(campaign)), e);
    return wl_sql_end(s, &tx, rc, e);
}

int wl_store_drop_run(struct wl_store *s, int64_t run, struct wl_err *e)
{
    return wl_sql_do(s, "DELETE FROM run WHERE id = ?1 AND status = 'planned'", SQL(sql_int(run)), e);
}
