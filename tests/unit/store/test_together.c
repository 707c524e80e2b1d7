/* Several processes use one store, in both journal modes. */
#include "helper.h"

#include "store/connection.h"
#include "store/sql.h"

#include <sys/wait.h>
#include <unistd.h>

enum { WRITERS = 4, BATCHES = 30, ROWS = 20 };

/* Returns the exit status of a writer. */
static int write_run(struct fixture *f, int number)
{
    struct wl_store *s;
    OK(wl_store_open(&s, f->store, WL_STORE_CREATE, f->arena, &f->e));
    int64_t run = begin_run(f, s, add_trial(f, s, number + 1), 1), channel = add_channel(f, s, run, "GPU-0");
    for (int64_t i = 0; i < BATCHES; i++) {
        struct wl_sample_row v[ROWS];
        for (int64_t k = 0; k < ROWS; k++) v[k] = (struct wl_sample_row) { channel, i * ROWS + k, 1 };
        OK(wl_store_add_samples(s, v, ROWS, &f->e));
    }
    end_run(f, s, run, 2, 1);
    return 0;
}

static void start_writers(struct fixture *f, pid_t *pid)
{
    for (int i = 0; i < WRITERS; i++) {
        pid[i] = fork();
        if (pid[i] == 0) {
            f->dir = ""; /* a failure here must not remove the parent's folder */
            _exit(write_run(f, i));
        }
    }
}

/* Reads until all writers have ended; what a reader sees is whole at any time. */
static void read_meanwhile(struct fixture *f, const pid_t *pid)
{
    for (int ended = 0; ended < WRITERS;) {
        struct wl_store *s;
        struct wl_observations obs;
        struct wl_run_rows runs;
        int status;
        if (wl_store_open(&s, f->store, WL_STORE_READ, f->arena, &f->e) == 0) {
            OK(wl_store_runs(s, &(struct wl_run_filter) { 0 }, &runs, f->arena, &f->e));
            OK(wl_store_observations(s, 0, &obs, f->arena, &f->e));
            assert_int_equal(obs.n % 2, 0); /* two epochs a run, or none yet */
            wl_store_close(s);
        }
        if (waitpid(pid[ended], &status, WNOHANG) != pid[ended]) continue;
        assert_int_equal(status, 0);
        ended++;
    }
}

static void check_writers_and_a_reader(struct fixture *f)
{
    pid_t pid[WRITERS];
    struct wl_store *s;
    struct wl_run_rows runs;
    start_writers(f, pid);
    read_meanwhile(f, pid);
    OK(wl_store_open(&s, f->store, WL_STORE_READ, f->arena, &f->e));
    OK(wl_store_check(s, &f->e));
    OK(wl_store_runs(s, &(struct wl_run_filter) { .statuses = 1u << WL_RUN_DONE }, &runs, f->arena, &f->e));
    assert_int_equal(runs.n, WRITERS);
    for (size_t i = 0; i < runs.n; i++) {
        struct wl_channel_rows channels;
        struct wl_readings r;
        OK(wl_store_channels(s, runs.v[i].id, &channels, f->arena, &f->e));
        OK(wl_store_readings(s, channels.v[0].id, INT64_MIN, INT64_MAX, &r, f->arena, &f->e));
        assert_int_equal(r.n, BATCHES * ROWS);
    }
}

static void writers_and_a_reader_share_a_store_with_a_write_ahead_log(void **state)
{
    setenv("WATTLAW_JOURNAL", "wal", 1);
    check_writers_and_a_reader(*state);
    unsetenv("WATTLAW_JOURNAL");
}

/* As on network file systems. */
static void writers_and_a_reader_share_a_store_with_a_rollback_journal(void **state)
{
    struct fixture *f = *state;
    int64_t ignored;
    setenv("WATTLAW_JOURNAL", "rollback", 1);
    check_writers_and_a_reader(f);
    assert_false(wl_is_file(wl_strf(f->arena, "%s-wal", f->store)));
    struct wl_store *s;
    OK(wl_store_open(&s, f->store, WL_STORE_WRITE, f->arena, &f->e));
    assert_true(s->network);
    assert_int_equal(wl_sql_find(s, "SELECT 1 FROM pragma_journal_mode WHERE journal_mode = 'truncate'", SQL_NONE,
                                 &ignored, &f->e),
                     1);
    unsetenv("WATTLAW_JOURNAL");
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = { TEST(writers_and_a_reader_share_a_store_with_a_write_ahead_log),
                                        TEST(writers_and_a_reader_share_a_store_with_a_rollback_journal) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
