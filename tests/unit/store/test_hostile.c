/* Files that are not stores, damaged stores, paths that cannot be written: each has one clear message. */
#include "helper.h"

#include "store/sql.h"

#include <signal.h>
#include <sqlite3.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static int try_open(struct fixture *f, enum wl_store_mode mode)
{
    struct wl_store *s;
    return wl_store_open(&s, f->store, mode, f->arena, &f->e);
}

/* WL_EINVAL with the text in every mode, and the file is as before. */
static void refused_in_every_mode(struct fixture *f, const char *text)
{
    char *before = NULL, *after = NULL;
    size_t n = 0, m = 0;
    bool file = wl_is_file(f->store);
    if (file) OK(wl_file_read(f->store, 1 << 26, &before, &n, f->arena, &f->e));
    FAILS(WL_EINVAL, text, try_open(f, WL_STORE_READ));
    FAILS(WL_EINVAL, text, try_open(f, WL_STORE_WRITE));
    FAILS(WL_EINVAL, text, try_open(f, WL_STORE_CREATE));
    assert_non_null(strstr(f->e.msg, f->store));
    if (!file) return;
    OK(wl_file_read(f->store, 1 << 26, &after, &m, f->arena, &f->e));
    assert_int_equal(n, m);
    assert_memory_equal(before, after, n);
}

static void write_bytes(struct fixture *f, const void *bytes, size_t n)
{
    OK(wl_file_write(f->store, bytes, n, &f->e));
}

static void files_that_are_not_stores_are_refused(void **state)
{
    struct fixture *f = *state;
    FAILS(WL_ENOENT, "no store here", try_open(f, WL_STORE_READ));
    FAILS(WL_ENOENT, "no store here", try_open(f, WL_STORE_WRITE));
    write_bytes(f, "time_s,workers\n1,2\n", 19);
    refused_in_every_mode(f, "not an SQLite database");
    write_bytes(f, "SQLite format 3", 16); /* and nothing after it */
    refused_in_every_mode(f, "not an SQLite database");
    unsigned char noise[8192];
    for (size_t i = 0; i < sizeof noise; i++) noise[i] = (unsigned char)(i * 2654435761u >> 13);
    write_bytes(f, noise, sizeof noise);
    refused_in_every_mode(f, "not an SQLite database");
    memcpy(noise, "SQLite format 3", 16);
    write_bytes(f, noise, sizeof noise);
    refused_in_every_mode(f, "not an SQLite database");
    unlink(f->store);
    mkdir(f->store, 0777);
    refused_in_every_mode(f, "is a folder");
    rmdir(f->store);
    assert_int_equal(mkfifo(f->store, 0666), 0);
    refused_in_every_mode(f, "not a regular file");
}

static void sql(struct fixture *f, const char *text)
{
    sqlite3 *db;
    char *message = NULL;
    assert_int_equal(sqlite3_open(f->store, &db), SQLITE_OK);
    if (sqlite3_exec(db, text, NULL, NULL, &message)) fail_msg("%s: %s", text, message);
    sqlite3_close(db);
}

static void databases_of_other_programs_are_refused(void **state)
{
    struct fixture *f = *state;
    sql(f, "CREATE TABLE bookmarks(url)");
    refused_in_every_mode(f, "another program");
    unlink(f->store);
    sql(f, "PRAGMA application_id = 1; CREATE TABLE run(x)");
    refused_in_every_mode(f, "another program");
    unlink(f->store);
    wl_store_close(create_store(f));
    sql(f, "PRAGMA user_version = 1000000");
    refused_in_every_mode(f, "newer wattlaw (store version 1000000");
    sql(f, "PRAGMA user_version = 0");
    refused_in_every_mode(f, "no version");
}

static char *put_number(char *at, uint32_t n)
{
    for (int shift = 24; shift >= 0; shift -= 8) *at++ = (char)(n >> shift);
    return at;
}

/* A rollback journal without a page, which names a super-journal. https://www.sqlite.org/fileformat.html */
static void write_journal(struct fixture *f, const char *super)
{
    static const char magic[] = "\xd9\xd5\x05\xf9\x20\xa1\x63\xd7";
    enum { SECTOR = 512, PAGE = 4096, SKIPPED = 0x40000000 / PAGE + 1 };
    char text[SECTOR + 400] = { 0 }, *at = text;
    struct stat st;
    uint32_t sum = 0;
    assert_int_equal(stat(f->store, &st), 0);
    const uint32_t head[] = { 0, 1, (uint32_t)(st.st_size / PAGE), SECTOR, PAGE };
    at = stpcpy(at, magic);
    for (size_t i = 0; i < WL_COUNT(head); i++) at = put_number(at, head[i]);
    at = put_number(text + SECTOR, SKIPPED);
    at = stpcpy(at, super);
    for (const char *c = super; *c; c++) sum += (uint32_t)*c;
    at = put_number(put_number(at, (uint32_t)strlen(super)), sum);
    at = stpcpy(at, magic);
    OK(wl_file_write(wl_strf(f->arena, "%s-journal", f->store), text, (size_t)(at - text), &f->e));
}

/* SQLite removes the file that such a journal names. */
static void a_super_journal_removes_no_file(void **state)
{
    struct fixture *f = *state;
    const char *precious = wl_strf(f->arena, "%s.h5", f->store);
    OK(wl_file_write(precious, "mine", 4, &f->e));
    wl_store_close(create_store(f));
    for (int rollback = 0; rollback < 2; rollback++) {
        if (rollback) sql(f, "PRAGMA journal_mode = DELETE");
        for (int mode = WL_STORE_READ; mode <= WL_STORE_CREATE; mode++) {
            write_journal(f, precious);
            if (try_open(f, mode) == 0 && mode == WL_STORE_READ)
                fail_msg("read although a transaction has to be undone");
            assert_true(wl_is_file(precious));
        }
    }
    OK(try_open(f, WL_STORE_WRITE));
}

static void an_empty_file_becomes_a_store(void **state)
{
    struct fixture *f = *state;
    write_bytes(f, "", 0);
    FAILS(WL_EINVAL, "the file is empty", try_open(f, WL_STORE_READ));
    OK(try_open(f, WL_STORE_CREATE));
}

static void fill_store(struct fixture *f, struct wl_store *s, size_t n)
{
    int64_t run = begin_run(f, s, add_trial(f, s, 2), 0), channel = add_channel(f, s, run, "GPU-0");
    struct wl_sample_row *v = wl_new_array(f->arena, struct wl_sample_row, n);
    for (size_t i = 0; i < n; i++) v[i] = (struct wl_sample_row) { channel, (int64_t)i * 1000, (double)i };
    OK(wl_store_add_samples(s, v, n, &f->e));
    end_run(f, s, run, 2, 1);
}

static int read_everything(struct fixture *f, struct wl_store *s)
{
    struct wl_run_rows runs;
    struct wl_observations obs;
    struct wl_readings readings;
    int rc = wl_store_check(s, &f->e);
    if (rc == 0) rc = wl_store_runs(s, &(struct wl_run_filter) { 0 }, &runs, f->arena, &f->e);
    if (rc == 0) rc = wl_store_observations(s, 0, &obs, f->arena, &f->e);
    if (rc == 0) rc = wl_store_readings(s, 1, INT64_MIN, INT64_MAX, &readings, f->arena, &f->e);
    return rc;
}

/* A store that is cut off or overwritten anywhere is read, or an error names it; nothing crashes or hangs. */
static void damaged_stores_are_read_or_reported(void **state)
{
    struct fixture *f = *state;
    char *text;
    size_t n;
    struct wl_store *s = create_store(f);
    fill_store(f, s, 5000);
    wl_store_close(s);
    OK(wl_file_read(f->store, 1 << 26, &text, &n, f->arena, &f->e));
    int found = 0;
    for (size_t i = 0; i < 60; i++) {
        char *copy = wl_alloc(f->arena, n);
        size_t at = (i * 7919 + 100) % (n - 600), size = i % 2 ? n : at;
        memcpy(copy, text, n);
        if (i % 2) memset(copy + at, (int)(i * 37), 500);
        write_bytes(f, copy, size);
        f->e = (struct wl_err) { 0 };
        int rc = wl_store_open(&s, f->store, WL_STORE_READ, f->arena, &f->e);
        if (rc == 0) rc = read_everything(f, s);
        if (rc == 0) continue;
        found++;
        if (!strstr(f->e.msg, f->store)) fail_msg("\"%s\" names no file", f->e.msg);
    }
    assert_true(found >= 30); /* every file that was cut off, at least */
}

/* What the schema of a store could make SQLite do is denied to statements as well: injected SQL has no effect. */
static void forbidden_statements_are_denied(void **state)
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
    struct fixture *f = *state;
    struct wl_store *s = create_store(f);
    for (size_t i = 0; i < WL_COUNT(never); i++)
        if (wl_sql_do(s, never[i], SQL_NONE, &f->e) >= 0) fail_msg("a writer may: %s", never[i]);
    wl_store_close(s);
    OK(wl_store_open(&s, f->store, WL_STORE_READ, f->arena, &f->e));
    for (size_t i = 0; i < WL_COUNT(never); i++)
        if (wl_sql_do(s, never[i], SQL_NONE, &f->e) >= 0) fail_msg("a reader may: %s", never[i]);
    for (size_t i = 0; i < WL_COUNT(never_when_reading); i++)
        if (wl_sql_do(s, never_when_reading[i], SQL_NONE, &f->e) >= 0)
            fail_msg("a reader may: %s", never_when_reading[i]);
    wl_store_close(s);
}

/* The file of another user is read without locks, and its owner begins to write meanwhile. */
static void a_change_during_reading_is_reported(void **state)
{
    struct fixture *f = *state;
    struct wl_store *s = create_store(f), *writer;
    struct wl_run_rows runs;
    fill_store(f, s, 10);
    wl_store_close(s);
    if (geteuid() != 0) skip(); /* a file of another owner is needed */
    assert_int_equal(chown(f->store, 65534, 65534), 0);
    OK(wl_store_open(&s, f->store, WL_STORE_READ, f->arena, &f->e));
    OK(wl_store_runs(s, &(struct wl_run_filter) { 0 }, &runs, f->arena, &f->e));
    assert_false(wl_is_file(wl_strf(f->arena, "%s-shm", f->store)));
    OK(wl_store_open(&writer, f->store, WL_STORE_WRITE, f->arena, &f->e));
    add_trial(f, writer, 4);
    FAILS(WL_EIO, "run the command again", wl_store_runs(s, &(struct wl_run_filter) { 0 }, &runs, f->arena, &f->e));
    wl_store_close(writer);
    FAILS(WL_EIO, "run the command again", wl_store_runs(s, &(struct wl_run_filter) { 0 }, &runs, f->arena, &f->e));
    wl_store_close(s);
}

static void paths_that_cannot_be_made_are_reported(void **state)
{
    struct fixture *f = *state;
    f->store = wl_strf(f->arena, "/proc/nowhere/%s", WL_STORE_FILE);
    assert_true(try_open(f, WL_STORE_CREATE) < 0);
    assert_non_null(strstr(f->e.msg, "/proc/nowhere"));
    f->store = wl_strf(f->arena, "%s/file/x.db", f->dir);
    OK(wl_file_write(wl_strf(f->arena, "%s/file", f->dir), "", 0, &f->e));
    assert_true(try_open(f, WL_STORE_CREATE) < 0);
    assert_non_null(strstr(f->e.msg, "/file"));
}

/* The message says what is wrong with the folder, whoever runs the test. */
static void a_folder_without_write_permission_is_reported(void **state)
{
    struct fixture *f = *state;
    int status = -1;
    assert_int_equal(chmod(f->dir, 0555), 0);
    pid_t pid = fork();
    if (pid == 0) {
        enum { NOBODY = 65534 };
        if (geteuid() == 0 && (setgid(NOBODY) || setuid(NOBODY))) _exit(2);
        const bool refused = try_open(f, WL_STORE_CREATE) < 0;
        _exit(!(refused && strstr(f->e.msg, "its folder cannot be written to: Permission denied")));
    }
    assert_true(pid > 0 && waitpid(pid, &status, 0) == pid);
    assert_int_equal(chmod(f->dir, 0777), 0);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

/* Permissions do not bind root: as root, a read-only mount is used. */
static bool make_read_only(struct fixture *f)
{
    if (geteuid() != 0) return chmod(f->store, 0444) == 0 && chmod(f->dir, 0555) == 0;
    if (mount(f->dir, f->dir, NULL, MS_BIND, NULL)) return false;
    if (mount(NULL, f->dir, NULL, MS_REMOUNT | MS_BIND | MS_RDONLY, NULL) == 0) return true;
    umount(f->dir);
    return false;
}

static void make_writable(struct fixture *f)
{
    if (geteuid() != 0)
        chmod(f->dir, 0777);
    else
        umount(f->dir);
}

static void a_store_on_a_read_only_mount_can_be_read(void **state)
{
    struct fixture *f = *state;
    struct wl_store *s = create_store(f);
    fill_store(f, s, 10);
    wl_store_close(s);
    if (!make_read_only(f)) skip();
    int rc = wl_store_open(&s, f->store, WL_STORE_READ, f->arena, &f->e);
    if (rc == 0) rc = read_everything(f, s);
    struct wl_err e = { 0 };
    struct wl_store *other;
    int write_rc = wl_store_open(&other, f->store, WL_STORE_WRITE, f->arena, &e);
    wl_store_close(s);
    make_writable(f);
    if (rc) fail_msg("reading: %s", f->e.msg);
    if (write_rc >= 0 || !strstr(e.msg, f->store)) fail_msg("writing: %d %s", write_rc, e.msg);
}

/* A limit on file sizes simulates it. When there is space again, writing goes on. */
static void a_full_disk_keeps_what_was_committed(void **state)
{
    struct fixture *f = *state;
    struct wl_store *s = create_store(f);
    fill_store(f, s, 1000);
    int64_t run = begin_run(f, s, add_trial(f, s, 4), 1), channel = add_channel(f, s, run, "GPU-0");
    struct rlimit old, limit;
    struct stat st;
    stat(wl_strf(f->arena, "%s-wal", f->store), &st);
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
        rc = wl_store_add_samples(s, v, 100, &f->e);
        if (rc == 0) written += 100;
    }
    setrlimit(RLIMIT_FSIZE, &old);
    signal(SIGXFSZ, SIG_DFL);
    assert_int_equal(rc, WL_EIO);
    assert_non_null(strstr(f->e.msg, f->store));
    assert_non_null(strstr(f->e.msg, "limit on file sizes"));
    struct wl_readings r;
    OK(wl_store_readings(s, channel, INT64_MIN, INT64_MAX, &r, f->arena, &f->e));
    assert_int_equal(r.n, written);
    end_run(f, s, run, 1, 1);
    OK(wl_store_check(s, &f->e));
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(files_that_are_not_stores_are_refused),
        TEST(databases_of_other_programs_are_refused),
        TEST(a_super_journal_removes_no_file),
        TEST(an_empty_file_becomes_a_store),
        TEST(damaged_stores_are_read_or_reported),
        TEST(forbidden_statements_are_denied),
        TEST(a_change_during_reading_is_reported),
        TEST(paths_that_cannot_be_made_are_reported),
        TEST(a_folder_without_write_permission_is_reported),
        TEST(a_store_on_a_read_only_mount_can_be_read),
        TEST(a_full_disk_keeps_what_was_committed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
