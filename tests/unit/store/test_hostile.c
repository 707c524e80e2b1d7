/* Files that are not stores, damaged stores, and places that cannot be written: one clear message each. */
#include "helper.h"

#include "store/sql.h"

#include <signal.h>
#include <sqlite3.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static int open_it(struct place *p, enum wl_store_mode mode)
{
    struct wl_store *s;
    return wl_store_open(&s, p->store, mode, p->arena, &p->e);
}

/* In every mode the same answer, and the file as it was. */
static void never_opens(struct place *p, const char *text)
{
    char *before = NULL, *after = NULL;
    size_t n = 0, m = 0;
    bool file = wl_is_file(p->store);
    if (file) OK(wl_file_read(p->store, 1 << 26, &before, &n, p->arena, &p->e));
    FAILS(WL_EINVAL, text, open_it(p, WL_STORE_READ));
    FAILS(WL_EINVAL, text, open_it(p, WL_STORE_WRITE));
    FAILS(WL_EINVAL, text, open_it(p, WL_STORE_CREATE));
    assert_non_null(strstr(p->e.msg, p->store));
    if (!file) return;
    OK(wl_file_read(p->store, 1 << 26, &after, &m, p->arena, &p->e));
    assert_int_equal(n, m);
    assert_memory_equal(before, after, n);
}

static void write_bytes(struct place *p, const void *bytes, size_t n) { OK(wl_file_write(p->store, bytes, n, &p->e)); }

static void what_is_no_store(void **state)
{
    struct place *p = *state;
    FAILS(WL_ENOENT, "no store here", open_it(p, WL_STORE_READ));
    FAILS(WL_ENOENT, "no store here", open_it(p, WL_STORE_WRITE));
    write_bytes(p, "time_s,workers\n1,2\n", 19);
    never_opens(p, "not an SQLite database");
    write_bytes(p, "SQLite format 3", 16); /* and nothing after it */
    never_opens(p, "not an SQLite database");
    unsigned char noise[8192];
    for (size_t i = 0; i < sizeof noise; i++) noise[i] = (unsigned char)(i * 2654435761u >> 13);
    write_bytes(p, noise, sizeof noise);
    never_opens(p, "not an SQLite database");
    memcpy(noise, "SQLite format 3", 16);
    write_bytes(p, noise, sizeof noise);
    never_opens(p, "not an SQLite database");
    unlink(p->store);
    mkdir(p->store, 0777);
    never_opens(p, "is a folder");
    rmdir(p->store);
    assert_int_equal(mkfifo(p->store, 0666), 0);
    never_opens(p, "not a regular file");
}

static void sql(struct place *p, const char *text)
{
    sqlite3 *db;
    char *message = NULL;
    assert_int_equal(sqlite3_open(p->store, &db), SQLITE_OK);
    if (sqlite3_exec(db, text, NULL, NULL, &message)) fail_msg("%s: %s", text, message);
    sqlite3_close(db);
}

static void other_programs_databases(void **state)
{
    struct place *p = *state;
    sql(p, "CREATE TABLE bookmarks(url)");
    never_opens(p, "another program");
    unlink(p->store);
    sql(p, "PRAGMA application_id = 1; CREATE TABLE run(x)");
    never_opens(p, "another program");
    unlink(p->store);
    wl_store_close(create_store(p));
    sql(p, "PRAGMA user_version = 1000000");
    never_opens(p, "newer wattlaw (store version 1000000");
    sql(p, "PRAGMA user_version = 0");
    never_opens(p, "no version");
}

static char *put_number(char *at, uint32_t n)
{
    for (int shift = 24; shift >= 0; shift -= 8) *at++ = (char)(n >> shift);
    return at;
}

/* A rollback journal without a page, which names a super-journal. https://www.sqlite.org/fileformat.html */
static void put_journal(struct place *p, const char *super)
{
    static const char magic[] = "\xd9\xd5\x05\xf9\x20\xa1\x63\xd7";
    enum { SECTOR = 512, PAGE = 4096, SKIPPED = 0x40000000 / PAGE + 1 };
    char text[SECTOR + 400] = { 0 }, *at = text;
    struct stat st;
    uint32_t sum = 0;
    assert_int_equal(stat(p->store, &st), 0);
    const uint32_t head[] = { 0, 1, (uint32_t)(st.st_size / PAGE), SECTOR, PAGE };
    at = stpcpy(at, magic);
    for (size_t i = 0; i < WL_COUNT(head); i++) at = put_number(at, head[i]);
    at = put_number(text + SECTOR, SKIPPED);
    at = stpcpy(at, super);
    for (const char *c = super; *c; c++) sum += (uint32_t)*c;
    at = put_number(put_number(at, (uint32_t)strlen(super)), sum);
    at = stpcpy(at, magic);
    OK(wl_file_write(wl_strf(p->arena, "%s-journal", p->store), text, (size_t)(at - text), &p->e));
}

/* SQLite removes the file that such a journal names. */
static void a_journal_that_names_a_file_removes_nothing(void **state)
{
    struct place *p = *state;
    const char *precious = wl_strf(p->arena, "%s.h5", p->store);
    OK(wl_file_write(precious, "mine", 4, &p->e));
    wl_store_close(create_store(p));
    for (int rollback = 0; rollback < 2; rollback++) {
        if (rollback) sql(p, "PRAGMA journal_mode = DELETE");
        for (int mode = WL_STORE_READ; mode <= WL_STORE_CREATE; mode++) {
            put_journal(p, precious);
            if (open_it(p, mode) == 0 && mode == WL_STORE_READ)
                fail_msg("read although a transaction has to be undone");
            assert_true(wl_is_file(precious));
        }
    }
    OK(open_it(p, WL_STORE_WRITE));
}

static void an_empty_file_becomes_a_store(void **state)
{
    struct place *p = *state;
    write_bytes(p, "", 0);
    FAILS(WL_EINVAL, "the file is empty", open_it(p, WL_STORE_READ));
    OK(open_it(p, WL_STORE_CREATE));
}

static void fill_store(struct place *p, struct wl_store *s, size_t n)
{
    int64_t run = begin_run(p, s, add_trial(p, s, 2), 0), channel = add_channel(p, s, run, "GPU-0");
    struct wl_sample_row *v = wl_new_array(p->arena, struct wl_sample_row, n);
    for (size_t i = 0; i < n; i++) v[i] = (struct wl_sample_row) { channel, (int64_t)i * 1000, (double)i };
    OK(wl_store_add_samples(s, v, n, &p->e));
    end_run(p, s, run, 2, 1);
}

static int read_everything(struct place *p, struct wl_store *s)
{
    struct wl_run_rows runs;
    struct wl_observations obs;
    struct wl_readings readings;
    int rc = wl_store_check(s, &p->e);
    if (rc == 0) rc = wl_store_runs(s, &(struct wl_run_filter) { 0 }, &runs, p->arena, &p->e);
    if (rc == 0) rc = wl_store_observations(s, 0, &obs, p->arena, &p->e);
    if (rc == 0) rc = wl_store_readings(s, 1, INT64_MIN, INT64_MAX, &readings, p->arena, &p->e);
    return rc;
}

/* Cut off or overwritten anywhere, a store either says so or reads; it never crashes and never hangs. */
static void damaged_stores(void **state)
{
    struct place *p = *state;
    char *text;
    size_t n;
    struct wl_store *s = create_store(p);
    fill_store(p, s, 5000);
    wl_store_close(s);
    OK(wl_file_read(p->store, 1 << 26, &text, &n, p->arena, &p->e));
    int found = 0;
    for (size_t i = 0; i < 60; i++) {
        char *copy = wl_alloc(p->arena, n);
        size_t at = (i * 7919 + 100) % (n - 600), size = i % 2 ? n : at;
        memcpy(copy, text, n);
        if (i % 2) memset(copy + at, (int)(i * 37), 500);
        write_bytes(p, copy, size);
        p->e = (struct wl_err) { 0 };
        int rc = wl_store_open(&s, p->store, WL_STORE_READ, p->arena, &p->e);
        if (rc == 0) rc = read_everything(p, s);
        if (rc == 0) continue;
        found++;
        if (!strstr(p->e.msg, p->store)) fail_msg("\"%s\" names no file", p->e.msg);
    }
    assert_true(found >= 30); /* every file that was cut off, at least */
}

/* What a store's schema could make SQLite do is denied to statements too, so that a way into SQL leads nowhere. */
static void what_no_statement_may_do(void **state)
{
    static const char *const never[] = {
        "ATTACH '/tmp/other.db' AS other",
        "DETACH main",
        "SELECT load_extension('libc.so.6')",
        "SELECT hex(zeroblob(1000000000))",
        "SELECT randomblob(5)",
        "CREATE VIRTUAL TABLE v USING fts5(x)",
        "PRAGMA writable_schema = ON",
        "PRAGMA trusted_schema = ON",
        "WITH RECURSIVE r(x) AS (SELECT 1 UNION ALL SELECT x FROM r) SELECT x FROM r",
        "SELECT * FROM json_each('[1]')",
        "SELECT * FROM pragma_database_list",
    };
    static const char *const never_when_reading[] = {
        "DELETE FROM sample",
        "CREATE TABLE t(x)",
        "DROP TABLE log",
        "CREATE INDEX i ON run(id)",
        "VACUUM",
        "INSERT INTO main.campaign(name, created_wall_ns) VALUES ('x', 1)",
    };
    struct place *p = *state;
    struct wl_store *s = create_store(p);
    for (size_t i = 0; i < WL_COUNT(never); i++)
        if (wl_sql_do(s, never[i], SQL_NONE, &p->e) >= 0) fail_msg("a writer may: %s", never[i]);
    wl_store_close(s);
    OK(wl_store_open(&s, p->store, WL_STORE_READ, p->arena, &p->e));
    for (size_t i = 0; i < WL_COUNT(never); i++)
        if (wl_sql_do(s, never[i], SQL_NONE, &p->e) >= 0) fail_msg("a reader may: %s", never[i]);
    for (size_t i = 0; i < WL_COUNT(never_when_reading); i++)
        if (wl_sql_do(s, never_when_reading[i], SQL_NONE, &p->e) >= 0)
            fail_msg("a reader may: %s", never_when_reading[i]);
    wl_store_close(s);
}

/* While somebody else's file is read without locks, its owner begins to write. */
static void a_file_that_changes_while_it_is_read(void **state)
{
    struct place *p = *state;
    struct wl_store *s = create_store(p), *writer;
    struct wl_run_rows runs;
    fill_store(p, s, 10);
    wl_store_close(s);
    if (geteuid() != 0) skip(); /* a file of another owner is needed */
    assert_int_equal(chown(p->store, 65534, 65534), 0);
    OK(wl_store_open(&s, p->store, WL_STORE_READ, p->arena, &p->e));
    OK(wl_store_runs(s, &(struct wl_run_filter) { 0 }, &runs, p->arena, &p->e));
    assert_false(wl_is_file(wl_strf(p->arena, "%s-shm", p->store)));
    OK(wl_store_open(&writer, p->store, WL_STORE_WRITE, p->arena, &p->e));
    add_trial(p, writer, 4);
    FAILS(WL_EIO, "run the command again", wl_store_runs(s, &(struct wl_run_filter) { 0 }, &runs, p->arena, &p->e));
    wl_store_close(writer);
    FAILS(WL_EIO, "run the command again", wl_store_runs(s, &(struct wl_run_filter) { 0 }, &runs, p->arena, &p->e));
    wl_store_close(s);
}

static void places_that_cannot_be_written(void **state)
{
    struct place *p = *state;
    p->store = wl_strf(p->arena, "/proc/nowhere/%s", WL_STORE_FILE);
    assert_true(open_it(p, WL_STORE_CREATE) < 0);
    assert_non_null(strstr(p->e.msg, "/proc/nowhere"));
    p->store = wl_strf(p->arena, "%s/file/x.db", p->dir);
    OK(wl_file_write(wl_strf(p->arena, "%s/file", p->dir), "", 0, &p->e));
    assert_true(open_it(p, WL_STORE_CREATE) < 0);
    assert_non_null(strstr(p->e.msg, "/file"));
}

/* Permissions do not bind root: a read-only mount does, and without root the mode bits do. */
/* The message says what is wrong with the folder, whoever runs the test. */
static void a_folder_without_leave(void **state)
{
    struct place *p = *state;
    int status = -1;
    assert_int_equal(chmod(p->dir, 0555), 0);
    pid_t pid = fork();
    if (pid == 0) {
        enum { NOBODY = 65534 };
        if (geteuid() == 0 && (setgid(NOBODY) || setuid(NOBODY))) _exit(2);
        const bool refused = open_it(p, WL_STORE_CREATE) < 0;
        _exit(!(refused && strstr(p->e.msg, "its folder cannot be written to: Permission denied")));
    }
    assert_true(pid > 0 && waitpid(pid, &status, 0) == pid);
    assert_int_equal(chmod(p->dir, 0777), 0);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static bool make_read_only(struct place *p)
{
    if (geteuid() != 0) return chmod(p->store, 0444) == 0 && chmod(p->dir, 0555) == 0;
    if (mount(p->dir, p->dir, NULL, MS_BIND, NULL)) return false;
    if (mount(NULL, p->dir, NULL, MS_REMOUNT | MS_BIND | MS_RDONLY, NULL) == 0) return true;
    umount(p->dir);
    return false;
}

static void make_writable(struct place *p)
{
    if (geteuid() != 0)
        chmod(p->dir, 0777);
    else
        umount(p->dir);
}

static void read_only_places(void **state)
{
    struct place *p = *state;
    struct wl_store *s = create_store(p);
    fill_store(p, s, 10);
    wl_store_close(s);
    if (!make_read_only(p)) skip();
    int rc = wl_store_open(&s, p->store, WL_STORE_READ, p->arena, &p->e);
    if (rc == 0) rc = read_everything(p, s);
    struct wl_err e = { 0 };
    struct wl_store *other;
    int write_rc = wl_store_open(&other, p->store, WL_STORE_WRITE, p->arena, &e);
    wl_store_close(s);
    make_writable(p);
    if (rc) fail_msg("reading: %s", p->e.msg);
    if (write_rc >= 0 || !strstr(e.msg, p->store)) fail_msg("writing: %d %s", write_rc, e.msg);
}

/* A limit on file sizes stands for the full disk. What was committed stays; after making room writing goes on. */
static void a_full_disk(void **state)
{
    struct place *p = *state;
    struct wl_store *s = create_store(p);
    fill_store(p, s, 1000);
    int64_t run = begin_run(p, s, add_trial(p, s, 4), 1), channel = add_channel(p, s, run, "GPU-0");
    struct rlimit old, limit;
    struct stat st;
    stat(wl_strf(p->arena, "%s-wal", p->store), &st);
    getrlimit(RLIMIT_FSIZE, &old);
    limit = old;
    limit.rlim_cur = (rlim_t)st.st_size + 50000;
    signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &limit);
    int rc = 0;
    int64_t written = 0;
    for (int64_t batch = 0; batch < 1000 && rc == 0; batch++) {
        struct wl_sample_row v[100];
        for (int64_t i = 0; i < 100; i++) v[i] = (struct wl_sample_row) { channel, batch * 100 + i, 1.5 };
        rc = wl_store_add_samples(s, v, 100, &p->e);
        if (rc == 0) written += 100;
    }
    setrlimit(RLIMIT_FSIZE, &old);
    signal(SIGXFSZ, SIG_DFL);
    assert_int_equal(rc, WL_EIO);
    assert_non_null(strstr(p->e.msg, p->store));
    assert_non_null(strstr(p->e.msg, "limit on file sizes"));
    struct wl_readings r;
    OK(wl_store_readings(s, channel, INT64_MIN, INT64_MAX, &r, p->arena, &p->e));
    assert_int_equal(r.n, written);
    end_run(p, s, run, 1, 1);
    OK(wl_store_check(s, &p->e));
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(what_is_no_store),
        TEST(other_programs_databases),
        TEST(a_journal_that_names_a_file_removes_nothing),
        TEST(an_empty_file_becomes_a_store),
        TEST(damaged_stores),
        TEST(what_no_statement_may_do),
        TEST(a_file_that_changes_while_it_is_read),
        TEST(places_that_cannot_be_written),
        TEST(a_folder_without_leave),
        TEST(read_only_places),
        TEST(a_full_disk),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
