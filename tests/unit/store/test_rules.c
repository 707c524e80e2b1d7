/* What the constraints and triggers of the file forbid to any program: changing facts, reopening a run, a second run of
 * a repeat. */
#include "helper.h"

#include <sqlite3.h>

static int exec_sql(void *db, const char *sql, char **message) { return sqlite3_exec(db, sql, NULL, NULL, message); }

/* The statement fails, and the message of SQLite holds `why`. */
static void refused(sqlite3 *db, const char *sql, const char *why)
{
    char *message = NULL;
    int rc = exec_sql(db, sql, &message);
    if (rc == SQLITE_OK) fail_msg("%s: was done", sql);
    if (!strstr(message, why)) fail_msg("%s: \"%s\"", sql, message);
    sqlite3_free(message);
}

static void accepted(sqlite3 *db, const char *sql)
{
    char *message = NULL;
    if (exec_sql(db, sql, &message) != SQLITE_OK) fail_msg("%s: %s", sql, message);
}

static sqlite3 *raw(struct fixture *f)
{
    sqlite3 *db;
    assert_int_equal(sqlite3_open(f->store, &db), SQLITE_OK);
    return db;
}

static void facts_cannot_be_changed(void **state)
{
    struct fixture *f = *state;
    struct wl_store *s = create_store(f);
    int64_t run = begin_run(f, s, add_trial(f, s, 2), 1), channel = add_channel(f, s, run, "GPU-0");
    const struct wl_sample_row sample = { channel, 1, 2 };
    const struct wl_mark_row mark = { 1, 0, "start", "" };
    OK(wl_store_add_samples(s, &sample, 1, &f->e));
    OK(wl_store_add_marks(s, run, &mark, 1, &f->e));
    OK(wl_store_add_log(s, run, "info", "test", "message", &f->e));
    wl_store_close(s);

    sqlite3 *db = raw(f);
    static const char *const tables[] = { "campaign", "experiment", "device", "channel", "sample", "mark", "log" };
    for (size_t i = 0; i < WL_COUNT(tables); i++) {
        const char *column = strcmp(tables[i], "sample") == 0 ? "value" : "id";
        refused(db, wl_strf(f->arena, "UPDATE %s SET %s = %s", tables[i], column, column), "append-only");
        refused(db, wl_strf(f->arena, "DELETE FROM %s", tables[i]), "append-only");
    }
    refused(db, "UPDATE trial SET workers = 3", "append-only");
    refused(db, "DELETE FROM trial", "append-only");
    accepted(db, "UPDATE trial SET skipped = 'no'");
    refused(db, "UPDATE run SET seed = 8", "does not change");
    refused(db, "UPDATE run SET status = 'planned'", "planned, then running");
    refused(db, "DELETE FROM run", "only planned runs");
    refused(db, "UPDATE run SET status = 'odd'", "CHECK constraint");
    accepted(db, "INSERT INTO control(id, campaign, action, asked_wall_ns, asked_by) VALUES (1, 1, 'pause', 1, 'x')");
    refused(db, "DELETE FROM control", "requests are kept");
    refused(db, "UPDATE control SET asked_by = 'y'", "does not change");
    refused(db, "INSERT INTO control(campaign, action, asked_wall_ns, asked_by) VALUES (1, 'stop', 1, 'x')", "CHECK");
    accepted(db, "UPDATE control SET acted_wall_ns = 2");
    refused(db, "UPDATE control SET acted_wall_ns = 3", "acted upon once");
    accepted(db, "UPDATE run SET status = 'done'");
    refused(db, "UPDATE run SET error = 'x'", "the run is closed");
    sqlite3_close(db);
}

static void a_repeat_has_one_run_that_is_open_or_done(void **state)
{
    struct fixture *f = *state;
    struct wl_store *s = create_store(f);
    begin_run(f, s, add_trial(f, s, 2), 1);
    wl_store_close(s);
    sqlite3 *db = raw(f);
    refused(db, "INSERT INTO run(trial, repeat, attempt, status) VALUES (1, 1, 2, 'done')", "UNIQUE");
    refused(db, "INSERT INTO run(trial, repeat, attempt, status) VALUES (1, 1, 2, 'planned')", "UNIQUE");
    accepted(db, "INSERT INTO run(trial, repeat, attempt, status) VALUES (1, 1, 2, 'failed')");
    accepted(db, "INSERT INTO run(trial, repeat, status) VALUES (1, 2, 'planned')");
    accepted(db, "DELETE FROM run WHERE status = 'planned'");
    refused(db, "INSERT INTO sample VALUES (1, 2, 'fast')", "cannot store TEXT value");
    sqlite3_close(db);
}

/* The view has exactly the documented columns, in that order. */
static void the_observations_view_has_the_documented_columns(void **state)
{
    struct fixture *f = *state;
    static const char *const names[] = { "workload",     "hardware",    "nodes",     "workers", "local_batch",
                                         "global_batch", "power_cap_w", "clock_mhz", "run",     "epoch",
                                         "time_s",       "energy_j",    "samples",   "updates", "metric",
                                         "metric_value", "estimated",   "simulated" };
    wl_store_close(create_store(f));
    sqlite3 *db = raw(f);
    sqlite3_stmt *stmt;
    assert_int_equal(sqlite3_prepare_v2(db, "SELECT * FROM observations", -1, &stmt, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_column_count(stmt), WL_COUNT(names));
    for (size_t i = 0; i < WL_COUNT(names); i++) {
        assert_string_equal(sqlite3_column_name(stmt, (int)i), names[i]);
        assert_string_equal(wl_obs_names[i], names[i]);
    }
    assert_null(wl_obs_names[WL_COUNT(names)]);
    sqlite3_finalize(stmt);
    sqlite3_close(db);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(facts_cannot_be_changed),
        TEST(a_repeat_has_one_run_that_is_open_or_done),
        TEST(the_observations_view_has_the_documented_columns),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
