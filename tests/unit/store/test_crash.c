/* A kill at any instant: the file stays whole, nothing that was acknowledged is lost, open runs are closed. */
#include "helper.h"

#include "store/sql.h"

#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* What the child reports after each call that returned. */
struct progress {
    int64_t samples, done; /* readings stored, runs ended */
};

/* Runs the repeats of a campaign, each with many small batches of readings, until it is killed. */
static void work(struct fixture *f, int progress_fd)
{
    struct progress progress_seen = { 0 };
    struct wl_store *s;
    OK(wl_store_open(&s, f->store, WL_STORE_CREATE, f->arena, &f->e));
    int64_t trial = add_trial(f, s, 2);
    for (;;) {
        int64_t run = begin_run(f, s, trial, 0), channel = add_channel(f, s, run, "GPU-0");
        for (int64_t batch = 0; batch < 20; batch++) {
            struct wl_sample_row v[50];
            for (int64_t i = 0; i < 50; i++) v[i] = (struct wl_sample_row) { channel, batch * 50 + i, 100 };
            OK(wl_store_add_samples(s, v, 50, &f->e));
            progress_seen.samples += 50;
            if (write(progress_fd, &progress_seen, sizeof progress_seen) != sizeof progress_seen) return;
        }
        end_run(f, s, run, 2, 1);
        progress_seen.done++;
        if (write(progress_fd, &progress_seen, sizeof progress_seen) != sizeof progress_seen) return;
    }
}

static int64_t readings_stored(struct fixture *f, struct wl_store *s, const struct wl_run_rows *runs)
{
    int64_t n = 0;
    for (size_t i = 0; i < runs->n; i++) {
        struct wl_channel_rows channels;
        struct wl_readings r;
        OK(wl_store_channels(s, runs->v[i].id, &channels, f->arena, &f->e));
        for (size_t k = 0; k < channels.n; k++) {
            OK(wl_store_readings(s, channels.v[k].id, INT64_MIN, INT64_MAX, &r, f->arena, &f->e));
            n += (int64_t)r.n;
        }
    }
    return n;
}

static void check_after_kill(struct fixture *f, struct progress progress_seen)
{
    struct wl_store *s;
    struct wl_run_rows runs;
    int64_t done = 0;
    OK(wl_store_open(&s, f->store, WL_STORE_CREATE, f->arena, &f->e));
    OK(wl_store_check(s, &f->e));
    OK(wl_store_runs(s, &(struct wl_run_filter) { 0 }, &runs, f->arena, &f->e));
    for (size_t i = 0; i < runs.n; i++) {
        assert_int_not_equal(runs.v[i].status, WL_RUN_RUNNING);
        done += runs.v[i].status == WL_RUN_DONE;
        if (runs.v[i].status == WL_RUN_DONE) assert_true(runs.v[i].epochs_seen == 2 && runs.v[i].energy_j == 100);
        if (runs.v[i].status == WL_RUN_INTERRUPTED) assert_non_null(strstr(runs.v[i].error, "without closing"));
    }
    assert_true(done >= progress_seen.done);
    assert_true(readings_stored(f, s, &runs) >= progress_seen.samples);
    wl_store_close(s);
}

static void acknowledged_readings_survive_a_kill(void **state)
{
    struct fixture *f = *state;
    for (long i = 0; i < 20; i++) {
        f->store = wl_strf(f->arena, "%s/%ld.db", f->dir, i);
        struct progress progress_seen = { 0 };
        kill_worker(f, work, false, 500 + i * i * 150, &progress_seen, sizeof progress_seen);
        check_after_kill(f, progress_seen); /* 0.5 ms: while the file is made; 55 ms: many runs on */
    }
}

/* A child that holds a run open until the pipe closes. */
static pid_t hold_run(struct fixture *f, int64_t *run)
{
    int ready[2];
    assert_int_equal(pipe(ready), 0);
    pid_t pid = fork();
    if (pid == 0) {
        struct wl_store *s = create_store(f);
        int64_t id = begin_run(f, s, add_trial(f, s, 2), 1), campaign;
        OK(wl_store_add_campaign(s, "test", "[campaign]\nname = test\n", "0.1.0", &campaign, &f->e));
        OK(wl_store_lock_campaign(s, campaign, &f->e));
        if (write(ready[1], &id, sizeof id) == sizeof id) pause();
        _exit(0);
    }
    close(ready[1]);
    assert_int_equal(read(ready[0], run, sizeof *run), sizeof *run);
    close(ready[0]);
    return pid;
}

static struct wl_run_row only_run(struct fixture *f, struct wl_store *s)
{
    struct wl_run_rows runs;
    OK(wl_store_runs(s, &(struct wl_run_filter) { 0 }, &runs, f->arena, &f->e));
    assert_int_equal(runs.n, 1);
    return runs.v[0];
}

/* A second wattlaw cannot lock the campaign of a live run. After a kill, readers see the run as dead and the next
 * writer closes it. */
static void live_runs_are_left_alone_and_dead_ones_closed(void **state)
{
    struct fixture *f = *state;
    struct wl_store *s;
    struct wl_run_row row;
    int64_t run;
    pid_t pid = hold_run(f, &run);
    OK(wl_store_open(&s, f->store, WL_STORE_WRITE, f->arena, &f->e));
    row = only_run(f, s);
    assert_int_equal(row.status, WL_RUN_RUNNING);
    assert_int_equal(row.pid, pid);
    assert_int_equal(wl_store_run_is_alive(s, &row), 1);
    FAILS(WL_EPERM, "another wattlaw is running this campaign", wl_store_lock_campaign(s, row.campaign, &f->e));
    wl_store_close(s);

    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    OK(wl_store_open(&s, f->store, WL_STORE_READ, f->arena, &f->e));
    row = only_run(f, s);
    assert_int_equal(row.status, WL_RUN_RUNNING);
    assert_int_equal(wl_store_run_is_alive(s, &row), 0);
    wl_store_close(s);
    OK(wl_store_open(&s, f->store, WL_STORE_WRITE, f->arena, &f->e));
    assert_int_equal(only_run(f, s).status, WL_RUN_INTERRUPTED);
    OK(wl_store_lock_campaign(s, row.campaign, &f->e));
}

/* For example that of a thread that writes samples. */
static void a_second_connection_leaves_own_runs_open(void **state)
{
    struct fixture *f = *state;
    struct wl_store *s = create_store(f), *second;
    int64_t run = begin_run(f, s, add_trial(f, s, 2), 1), channel = add_channel(f, s, run, "GPU-0");
    OK(wl_store_open(&second, f->store, WL_STORE_WRITE, f->arena, &f->e));
    const struct wl_sample_row sample = { channel, 1, 2 };
    OK(wl_store_add_samples(second, &sample, 1, &f->e));
    wl_store_close(second);
    assert_int_equal(only_run(f, s).status, WL_RUN_RUNNING);
    end_run(f, s, run, 1, 1);
}

static void only_a_running_run_of_a_dead_process_can_be_taken_over(void **state)
{
    struct fixture *f = *state;
    struct wl_store *s = create_store(f), *second;
    int64_t trial = add_trial(f, s, 2), done = begin_run(f, s, trial, 1), live = begin_run(f, s, trial, 2);
    end_run(f, s, done, 1, 1);
    FAILS(WL_EINVAL, "run 1 is not running", wl_store_open_run(&second, f->store, done, f->arena, &f->e));
    FAILS(WL_EPERM, "run 2 is running in another", wl_store_open_run(&second, f->store, live, f->arena, &f->e));
    wl_store_close(s);
    OK(wl_store_open_run(&second, f->store, live, f->arena, &f->e));
    end_run(f, second, live, 1, 1);
}

/* A running run as another host, or this one before a reboot, would have left it. */
static void store_running_run(struct fixture *f, const char *host, const char *boot_id)
{
    struct wl_store *s = create_store(f);
    int64_t run = begin_run(f, s, add_trial(f, s, 2), 1);
    OK(wl_sql_do(s, "UPDATE run SET host = ?2, boot_id = ?3 WHERE id = ?1",
                 SQL(sql_int(run), sql_text(host), sql_text(boot_id)), &f->e));
    wl_store_close(s);
}

static void expect_status_after_open(struct fixture *f, enum wl_run_status status)
{
    struct wl_store *s;
    OK(wl_store_open(&s, f->store, WL_STORE_WRITE, f->arena, &f->e));
    assert_int_equal(only_run(f, s).status, status);
}

/* A restarted container has another host name. */
static void runs_of_another_host_name_on_a_local_disk_are_closed(void **state)
{
    struct fixture *f = *state;
    store_running_run(f, "elsewhere", wl_host_boot_id(f->arena));
    expect_status_after_open(f, WL_RUN_INTERRUPTED);
}

static void runs_of_other_hosts_on_a_shared_disk_are_left_alone(void **state)
{
    struct fixture *f = *state;
    setenv("WATTLAW_JOURNAL", "rollback", 1);
    store_running_run(f, "elsewhere", wl_host_boot_id(f->arena));
    expect_status_after_open(f, WL_RUN_RUNNING);
    unsetenv("WATTLAW_JOURNAL");
}

static void runs_of_an_earlier_boot_on_a_shared_disk_are_closed(void **state)
{
    struct fixture *f = *state;
    setenv("WATTLAW_JOURNAL", "rollback", 1);
    store_running_run(f, wl_host_name(f->arena), "00000000-0000-4000-8000-000000000000");
    expect_status_after_open(f, WL_RUN_INTERRUPTED);
    unsetenv("WATTLAW_JOURNAL");
}

static void without_a_lock_file_the_process_id_decides(void **state)
{
    struct fixture *f = *state;
    int64_t run;
    pid_t pid = hold_run(f, &run);
    unlink(wl_strf(f->arena, "%s-lock", f->store));
    expect_status_after_open(f, WL_RUN_RUNNING);
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    expect_status_after_open(f, WL_RUN_INTERRUPTED);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = { TEST(acknowledged_readings_survive_a_kill),
                                        TEST(live_runs_are_left_alone_and_dead_ones_closed),
                                        TEST(a_second_connection_leaves_own_runs_open),
                                        TEST(only_a_running_run_of_a_dead_process_can_be_taken_over),
                                        TEST(runs_of_another_host_name_on_a_local_disk_are_closed),
                                        TEST(runs_of_other_hosts_on_a_shared_disk_are_left_alone),
                                        TEST(runs_of_an_earlier_boot_on_a_shared_disk_are_closed),
                                        TEST(without_a_lock_file_the_process_id_decides) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
