/* Files of older versions are migrated to the tables of a new file and keep their rows; a step that fails changes
 * nothing. tests/fixtures/store/version-1.sql is what version 1 wrote. */
#include "helper.h"

#include "store/migrate.h"
#include "store/sql.h"

#include <ctype.h>
#include <sqlite3.h>
#include <sys/stat.h>

static void sql(struct fixture *f, const char *text)
{
    sqlite3 *db;
    char *message = NULL;
    assert_int_equal(sqlite3_open(f->store, &db), SQLITE_OK);
    if (sqlite3_exec(db, text, NULL, NULL, &message)) fail_msg("%s", message);
    sqlite3_close(db);
}

static void write_version_1(struct fixture *f)
{
    char *text;
    OK(wl_file_read(wl_path_join(f->arena, STORE_FIXTURES, "version-1.sql"), 1 << 20, &text, NULL, f->arena, &f->e));
    sql(f, text);
}

/* Without comments and white space, which do not count. */
static char *plain(struct wl_arena *a, const char *text)
{
    struct wl_text t = WL_TEXT(a);
    for (; *text; text++) {
        if (text[0] == '-' && text[1] == '-') text += strcspn(text, "\n");
        if (!*text) break;
        if (!isspace((unsigned char)*text)) wl_text_addn(&t, text, 1);
    }
    return t.s;
}

static int add_entry(void *to, int n, char **values, char **names)
{
    (void)names;
    struct wl_text *t = to;
    for (int i = 0; i < n; i++) wl_text_addf(t, "%s|", values[i] ? plain(t->arena, values[i]) : "");
    wl_text_add(t, "\n");
    return 0;
}

/* Every table, index, view and trigger of a file. */
static char *schema_of(struct fixture *f, const char *path)
{
    struct wl_text t = WL_TEXT(f->arena);
    sqlite3 *db;
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, "SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY type, name",
                                  add_entry, &t, NULL),
                     SQLITE_OK);
    sqlite3_close(db);
    return t.s;
}

static void check_rows_of_version_1(struct fixture *f, struct wl_store *s)
{
    struct wl_node_rows nodes;
    OK(wl_store_nodes(s, 1, &nodes, f->arena, &f->e));
    assert_true(nodes.n == 1 && nodes.v[0].first && nodes.v[0].shift_ns == 0);
    assert_true(nodes.v[0].stop.mono_ns - nodes.v[0].start.mono_ns == 3 * (int64_t)WL_NS_PER_S);
    struct wl_observations obs;
    struct wl_run_rows runs;
    struct wl_readings r;
    OK(wl_store_check(s, &f->e));
    OK(wl_store_observations(s, 0, &obs, f->arena, &f->e));
    assert_int_equal(obs.n, 4);
    assert_true(obs.energy_j[1] == 130 && obs.time_s[3] == 0.5 && obs.workers[2] == 2);
    assert_string_equal(obs.hardware[0], "V100");
    assert_string_equal(obs.metric[0], "val_top1");
    OK(wl_store_runs(s, &(struct wl_run_filter) { 0 }, &runs, f->arena, &f->e));
    assert_int_equal(runs.n, 3);
    assert_true(runs.v[0].energy_j == 250 && runs.v[0].util_pct == 88 && runs.v[0].ticks == 30);
    assert_int_equal(runs.v[2].status, WL_RUN_FAILED);
    assert_string_equal(runs.v[2].log_tail, "out of memory\n");
    OK(wl_store_readings(s, 1, INT64_MIN, INT64_MAX, &r, f->arena, &f->e));
    assert_true(r.n == 3 && isnan(r.value[1]) && r.value[2] == 150.5);
}

static void version_1_is_migrated_to_the_newest(void **state)
{
    struct fixture *f = *state;
    struct wl_store *s;
    write_version_1(f);
    OK(wl_store_open(&s, f->store, WL_STORE_WRITE, f->arena, &f->e));
    check_rows_of_version_1(f, s);
    wl_store_close(s);
    const char *old = f->store;
    f->store = wl_path_join(f->arena, f->dir, "new.db");
    wl_store_close(create_store(f));
    assert_string_equal(schema_of(f, old), schema_of(f, f->store));
}

static void version_1_can_be_read(void **state)
{
    struct fixture *f = *state;
    struct wl_store *s;
    write_version_1(f);
    OK(wl_store_open(&s, f->store, WL_STORE_READ, f->arena, &f->e));
    check_rows_of_version_1(f, s);
}

/* Two future steps, the second of which is broken. */
static void a_failed_step_changes_nothing(void **state)
{
    struct fixture *f = *state;
    struct wl_store *s = create_store(f);
    static const struct wl_migration steps[] = { { (const unsigned char *)"CREATE TABLE a(x)" },
                                                 { (const unsigned char *)"CREATE TABLE b(x); CREATE TABLE b(x)" },
                                                 { NULL } };
    begin_run(f, s, add_trial(f, s, 2), 1);
    char *before = schema_of(f, f->store);
    struct wl_sql_tx tx;
    OK(wl_sql_begin(s, false, &tx, &f->e));
    int rc = wl_store_migrate_by(s, steps, 1, &f->e);
    rc = wl_sql_end(s, &tx, rc, &f->e);
    assert_true(rc < 0);
    assert_non_null(strstr(f->e.msg, "bringing version 2 of the store to 3"));
    assert_non_null(strstr(f->e.msg, "CREATE TABLE b(x)"));
    assert_string_equal(before, schema_of(f, f->store));
    struct wl_run_rows runs;
    OK(wl_store_runs(s, &(struct wl_run_filter) { 0 }, &runs, f->arena, &f->e));
    assert_int_equal(runs.n, 1);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = { TEST(version_1_is_migrated_to_the_newest), TEST(version_1_can_be_read),
                                        TEST(a_failed_step_changes_nothing) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
