/* Files of older versions: brought to the same tables as a new file, with their rows; a step that fails changes
 * nothing. tests/fixtures/store/version-1.sql is what version 1 wrote. */
#include "helper.h"

#include "store/migrate.h"
#include "store/sql.h"

#include <ctype.h>
#include <sqlite3.h>
#include <sys/stat.h>

static void sql(struct place *p, const char *text)
{
    sqlite3 *db;
    char *message = NULL;
    assert_int_equal(sqlite3_open(p->store, &db), SQLITE_OK);
    if (sqlite3_exec(db, text, NULL, NULL, &message)) fail_msg("%s", message);
    sqlite3_close(db);
}

static void write_version_1(struct place *p)
{
    char *text;
    OK(wl_file_read(wl_path_join(p->arena, STORE_FIXTURES, "version-1.sql"), 1 << 20, &text, NULL, p->arena, &p->e));
    sql(p, text);
}

/* Comments and blanks do not count, nor does who made the table first. */
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
static char *schema_of(struct place *p, const char *path)
{
    struct wl_text t = WL_TEXT(p->arena);
    sqlite3 *db;
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, "SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY type, name",
                                  add_entry, &t, NULL),
                     SQLITE_OK);
    sqlite3_close(db);
    return t.s;
}

static void check_rows_of_version_1(struct place *p, struct wl_store *s)
{
    struct wl_node_rows nodes;
    OK(wl_store_nodes(s, 1, &nodes, p->arena, &p->e));
    assert_true(nodes.n == 1 && nodes.v[0].first && nodes.v[0].shift_ns == 0);
    assert_true(nodes.v[0].stop.mono_ns - nodes.v[0].start.mono_ns == 3 * (int64_t)WL_NS_PER_S);
    struct wl_observations obs;
    struct wl_run_rows runs;
    struct wl_readings r;
    OK(wl_store_check(s, &p->e));
    OK(wl_store_observations(s, 0, &obs, p->arena, &p->e));
    assert_int_equal(obs.n, 4);
    assert_true(obs.energy_j[1] == 130 && obs.time_s[3] == 0.5 && obs.workers[2] == 2);
    assert_string_equal(obs.hardware[0], "V100");
    assert_string_equal(obs.metric[0], "val_top1");
    OK(wl_store_runs(s, &(struct wl_run_filter) { 0 }, &runs, p->arena, &p->e));
    assert_int_equal(runs.n, 3);
    assert_true(runs.v[0].energy_j == 250 && runs.v[0].util_pct == 88 && runs.v[0].ticks == 30);
    assert_int_equal(runs.v[2].status, WL_RUN_FAILED);
    assert_string_equal(runs.v[2].log_tail, "out of memory\n");
    OK(wl_store_readings(s, 1, INT64_MIN, INT64_MAX, &r, p->arena, &p->e));
    assert_true(r.n == 3 && isnan(r.value[1]) && r.value[2] == 150.5);
}

static void version_1_is_brought_up_to_date(void **state)
{
    struct place *p = *state;
    struct wl_store *s;
    write_version_1(p);
    OK(wl_store_open(&s, p->store, WL_STORE_WRITE, p->arena, &p->e));
    check_rows_of_version_1(p, s);
    wl_store_close(s);
    const char *old = p->store;
    p->store = wl_path_join(p->arena, p->dir, "new.db");
    wl_store_close(create_store(p));
    assert_string_equal(schema_of(p, old), schema_of(p, p->store));
}

static void version_1_can_be_read(void **state)
{
    struct place *p = *state;
    struct wl_store *s;
    write_version_1(p);
    OK(wl_store_open(&s, p->store, WL_STORE_READ, p->arena, &p->e));
    check_rows_of_version_1(p, s);
}

/* Two steps of a time to come, the second of which is broken. */
static void a_failed_step_changes_nothing(void **state)
{
    struct place *p = *state;
    struct wl_store *s = create_store(p);
    static const struct wl_migration steps[] = { { (const unsigned char *)"CREATE TABLE a(x)" },
                                               { (const unsigned char *)"CREATE TABLE b(x); CREATE TABLE b(x)" },
                                               { NULL } };
    begin_run(p, s, add_trial(p, s, 2), 1);
    char *before = schema_of(p, p->store);
    struct wl_sql_tx tx;
    OK(wl_sql_begin(s, false, &tx, &p->e));
    int rc = wl_store_migrate_by(s, steps, 1, &p->e);
    rc = wl_sql_end(s, &tx, rc, &p->e);
    assert_true(rc < 0);
    assert_non_null(strstr(p->e.msg, "bringing version 2 of the store to 3"));
    assert_non_null(strstr(p->e.msg, "CREATE TABLE b(x)"));
    assert_string_equal(before, schema_of(p, p->store));
    struct wl_run_rows runs;
    OK(wl_store_runs(s, &(struct wl_run_filter) { 0 }, &runs, p->arena, &p->e));
    assert_int_equal(runs.n, 1);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = { TEST(version_1_is_brought_up_to_date), TEST(version_1_can_be_read),
                                        TEST(a_failed_step_changes_nothing) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
