/* Killed at any instant: the file stays whole, nothing that was acknowledged is lost, open runs are found. */
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
static void work(struct place *p, int tell)
{
    struct progress progress_seen = { 0 };
    struct wl_store *s;
    OK(wl_store_open(&s, p->store, WL_STORE_CREATE, p->arena, &p->e));
    int64_t trial = add_trial(p, s, 2);
    for (;;) {
        int64_t run = begin_run(p, s, trial, 0), channel = add_channel(p, s, run, "GPU-0");
        for (int64_t batch = 0; batch < 20; batch++) {
            struct wl_sample_row v[50];
            for (int64_t i = 0; i < 50; i++) v[i] = (struct wl_sample_row) { channel, batch * 50 + i, 100 };
            OK(wl_store_add_samples(s, v, 50, &p->e));
            progress_seen.samples += 50;
            if (write(tell, &progress_seen, sizeof progress_seen) != sizeof progress_seen) return;
        }
        end_run(p, s, run, 2, 1);
        progress_seen.done++;
        if (write(tell, &progress_seen, sizeof progress_seen) != sizeof progress_seen) return;
    }
}

static int64_t readings_stored(struct place *p, struct wl_store *s, const struct wl_run_rows *runs)
{
    int64_t n = 0;
    for (size_t i = 0; i < runs->n; i++) {
        struct wl_channel_rows channels;
        struct wl_readings r;
        OK(wl_store_channels(s, runs->v[i].id, &channels, p->arena, &p->e));
        for (size_t k = 0; k < channels.n; k++) {
            OK(wl_store_readings(s, channels.v[k].id, INT64_MIN, INT64_MAX, &r, p->arena, &p->e));
            n += (int64_t)r.n;
        }
    }
    return n;
}

static void check_after_kill(struct place *p, struct progress progress_seen)
{
    struct wl_store *s;
    struct wl_run_rows runs;
    int64_t done = 0;
    OK(wl_store_open(&s, p->store, WL_STORE_CREATE, p->arena, &p->e));
    OK(wl_store_check(s, &p->e));
    OK(wl_store_runs(s, &(struct wl_run_filter) { 0 }, &runs, p->arena, &p->e));
    for (size_t i = 0; i < runs.n; i++) {
        assert_int_not_equal(runs.v[i].status, WL_RUN_RUNNING);
        done += runs.v[i].status == WL_RUN_DONE;
        if (runs.v[i].status == WL_RUN_DONE) assert_true(runs.v[i].epochs_seen == 2 && runs.v[i].energy_j == 100);
        if (runs.v[i].status == WL_RUN_INTERRUPTED) assert_non_null(strstr(runs.v[i].error, "without closing"));
    }
    assert_true(done >= progress_seen.done);
    assert_true(readings_stored(p, s, &runs) >= progress_seen.samples);
    wl_store_close(s);
}

static void killed_at_any_instant(void **state)
{
    struct place *p = *state;
    for (long i = 0; i < 20; i++) {
        p->store = wl_strf(p->arena, "%s/%ld.db", p->dir, i);
        struct progress progress_seen = { 0 };
        kill_worker(p, work, false, 500 + i * i * 150, &progress_seen, sizeof progress_seen);
        check_after_kill(p, progress_seen); /* 0.5 ms: while the file is made; 55 ms: many runs on */
    }
}

/* A child that holds a run open until the pipe closes. */
static pid_t hold_run(struct place *p, int64_t *run)
{
    int ready[2];
    assert_int_equal(pipe(ready), 0);
    pid_t pid = fork();
    if (pid == 0) {
        struct wl_store *s = create_store(p);
        int64_t id = begin_run(p, s, add_trial(p, s, 2), 1), campaign;
        OK(wl_store_add_campaign(s, "test", "[campaign]\nname = test\n", "0.1.0", &campaign, &p->e));
        OK(wl_store_lock_campaign(s, campaign, &p->e));
        if (write(ready[1], &id, sizeof id) == sizeof id) pause();
        _exit(0);
    }
    close(ready[1]);
    assert_int_equal(read(ready[0], run, sizeof *run), sizeof *run);
    close(ready[0]);
    return pid;
}

static struct wl_run_row only_run(struct place *p, struct wl_store *s)
{
    struct wl_run_rows runs;
    OK(wl_store_runs(s, &(struct wl_run_filter) { 0 }, &runs, p->arena, &p->e));
    assert_int_equal(runs.n, 1);
    return runs.v[0];
}

/* A run that is looked after is left alone; a second wattlaw cannot take its campaign. When its process is gone,
 * readers see it as dead and the next writer closes it. */
static void living_and_dead_runs(void **state)
{
    struct place *p = *state;
    struct wl_store *s;
    struct wl_run_row row;
    int64_t run;
    pid_t pid = hold_run(p, &run);
    OK(wl_store_open(&s, p->store, WL_STORE_WRITE, p->arena, &p->e));
    row = only_run(p, s);
    assert_int_equal(row.status, WL_RUN_RUNNING);
    assert_int_equal(row.pid, pid);
    assert_int_equal(wl_store_run_is_alive(s, &row), 1);
    FAILS(WL_EPERM, "another wattlaw is running this campaign", wl_store_lock_campaign(s, row.campaign, &p->e));
    wl_store_close(s);

    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    OK(wl_store_open(&s, p->store, WL_STORE_READ, p->arena, &p->e));
    row = only_run(p, s);
    assert_int_equal(row.status, WL_RUN_RUNNING);
    assert_int_equal(wl_store_run_is_alive(s, &row), 0);
    wl_store_close(s);
    OK(wl_store_open(&s, p->store, WL_STORE_WRITE, p->arena, &p->e));
    assert_int_equal(only_run(p, s).status, WL_RUN_INTERRUPTED);
    OK(wl_store_lock_campaign(s, row.campaign, &p->e));
}

/* A second connection of the same process (a thread that writes samples, say) leaves the open run alone. */
static void own_runs_are_alive(void **state)
{
    struct place *p = *state;
    struct wl_store *s = create_store(p), *second;
    int64_t run = begin_run(p, s, add_trial(p, s, 2), 1), channel = add_channel(p, s, run, "GPU-0");
    OK(wl_store_open(&second, p->store, WL_STORE_WRITE, p->arena, &p->e));
    const struct wl_sample_row sample = { channel, 1, 2 };
    OK(wl_store_add_samples(second, &sample, 1, &p->e));
    wl_store_close(second);
    assert_int_equal(only_run(p, s).status, WL_RUN_RUNNING);
    end_run(p, s, run, 1, 1);
}

/* Rows as another machine, or this one before it was booted, would have left them. */
static void write_running(struct place *p, const char *host, const char *boot_id)
{
    struct wl_store *s = create_store(p);
    int64_t run = begin_run(p, s, add_trial(p, s, 2), 1);
    OK(wl_sql_do(s, "UPDATE run SET host = ?2, boot_id = ?3 WHERE id = ?1",
                 SQL(sql_int(run), sql_text(host), sql_text(boot_id)), &p->e));
    wl_store_close(s);
}

static void expect_after(struct place *p, enum wl_run_status status)
{
    struct wl_store *s;
    OK(wl_store_open(&s, p->store, WL_STORE_WRITE, p->arena, &p->e));
    assert_int_equal(only_run(p, s).status, status);
}

/* A container that was started anew has another name. */
static void other_hosts_on_a_local_disk(void **state)
{
    struct place *p = *state;
    write_running(p, "elsewhere", wl_host_boot_id(p->arena));
    expect_after(p, WL_RUN_INTERRUPTED);
}

static void other_hosts_on_a_shared_disk(void **state)
{
    struct place *p = *state;
    setenv("WATTLAW_JOURNAL", "rollback", 1);
    write_running(p, "elsewhere", wl_host_boot_id(p->arena));
    expect_after(p, WL_RUN_RUNNING);
    unsetenv("WATTLAW_JOURNAL");
}

static void an_earlier_boot_on_a_shared_disk(void **state)
{
    struct place *p = *state;
    setenv("WATTLAW_JOURNAL", "rollback", 1);
    write_running(p, wl_host_name(p->arena), "00000000-0000-4000-8000-000000000000");
    expect_after(p, WL_RUN_INTERRUPTED);
    unsetenv("WATTLAW_JOURNAL");
}

/* Without the lock file the process number has to do. */
static void a_lost_lock_file(void **state)
{
    struct place *p = *state;
    int64_t run;
    pid_t pid = hold_run(p, &run);
    unlink(wl_strf(p->arena, "%s-lock", p->store));
    expect_after(p, WL_RUN_RUNNING);
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    expect_after(p, WL_RUN_INTERRUPTED);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = { TEST(killed_at_any_instant),
                                        TEST(living_and_dead_runs),
                                        TEST(own_runs_are_alive),
                                        TEST(other_hosts_on_a_local_disk),
                                        TEST(other_hosts_on_a_shared_disk),
                                        TEST(an_earlier_boot_on_a_shared_disk),
                                        TEST(a_lost_lock_file) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
