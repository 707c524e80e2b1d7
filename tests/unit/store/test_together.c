/* Several processes at one store, in both journal modes. */
#include "helper.h"

#include "store/connection.h"
#include "store/sql.h"

#include <sys/wait.h>
#include <unistd.h>

enum { WRITERS = 4, BATCHES = 30, ROWS = 20 };

/* Exit status 0 when everything went well. */
static int write_run(struct place *p, int number)
{
    struct wl_store *s;
    OK(wl_store_open(&s, p->store, WL_STORE_CREATE, p->arena, &p->e));
    int64_t run = begin_run(p, s, add_trial(p, s, number + 1), 1), channel = add_channel(p, s, run, "GPU-0");
    for (int64_t i = 0; i < BATCHES; i++) {
        struct wl_sample_row v[ROWS];
        for (int64_t k = 0; k < ROWS; k++) v[k] = (struct wl_sample_row) { channel, i * ROWS + k, 1 };
        OK(wl_store_add_samples(s, v, ROWS, &p->e));
    }
    end_run(p, s, run, 2, 1);
    return 0;
}

static void start_writers(struct place *p, pid_t *pid)
{
    for (int i = 0; i < WRITERS; i++) {
        pid[i] = fork();
        if (pid[i] == 0) {
            p->dir = ""; /* a failure here must not remove the parent's folder */
            _exit(write_run(p, i));
        }
    }
}

/* Reads until all writers have ended; what a reader sees is whole at any time. */
static void read_meanwhile(struct place *p, const pid_t *pid)
{
    for (int ended = 0; ended < WRITERS;) {
        struct wl_store *s;
        struct wl_observations obs;
        struct wl_run_rows runs;
        int status;
        if (wl_store_open(&s, p->store, WL_STORE_READ, p->arena, &p->e) == 0) {
            OK(wl_store_runs(s, &(struct wl_run_filter) { 0 }, &runs, p->arena, &p->e));
            OK(wl_store_observations(s, 0, &obs, p->arena, &p->e));
            assert_int_equal(obs.n % 2, 0); /* two epochs a run, or none yet */
            wl_store_close(s);
        }
        if (waitpid(pid[ended], &status, WNOHANG) != pid[ended]) continue;
        assert_int_equal(status, 0);
        ended++;
    }
}

static void writers_and_a_reader(struct place *p)
{
    pid_t pid[WRITERS];
    struct wl_store *s;
    struct wl_run_rows runs;
    start_writers(p, pid);
    read_meanwhile(p, pid);
    OK(wl_store_open(&s, p->store, WL_STORE_READ, p->arena, &p->e));
    OK(wl_store_check(s, &p->e));
    OK(wl_store_runs(s, &(struct wl_run_filter) { .statuses = 1u << WL_RUN_DONE }, &runs, p->arena, &p->e));
    assert_int_equal(runs.n, WRITERS);
    for (size_t i = 0; i < runs.n; i++) {
        struct wl_channel_rows channels;
        struct wl_readings r;
        OK(wl_store_channels(s, runs.v[i].id, &channels, p->arena, &p->e));
        OK(wl_store_readings(s, channels.v[0].id, INT64_MIN, INT64_MAX, &r, p->arena, &p->e));
        assert_int_equal(r.n, BATCHES * ROWS);
    }
}

static void with_a_write_ahead_log(void **state)
{
    setenv("WATTLAW_JOURNAL", "wal", 1);
    writers_and_a_reader(*state);
    unsetenv("WATTLAW_JOURNAL");
}

/* As on network file systems. */
static void with_a_rollback_journal(void **state)
{
    struct place *p = *state;
    int64_t ignored;
    setenv("WATTLAW_JOURNAL", "rollback", 1);
    writers_and_a_reader(p);
    assert_false(wl_is_file(wl_strf(p->arena, "%s-wal", p->store)));
    struct wl_store *s;
    OK(wl_store_open(&s, p->store, WL_STORE_WRITE, p->arena, &p->e));
    assert_true(s->network);
    assert_int_equal(wl_sql_find(s, "SELECT 1 FROM pragma_journal_mode WHERE journal_mode = 'truncate'", SQL_NONE,
                                 &ignored, &p->e),
                     1);
    unsetenv("WATTLAW_JOURNAL");
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = { TEST(with_a_write_ahead_log), TEST(with_a_rollback_journal) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
