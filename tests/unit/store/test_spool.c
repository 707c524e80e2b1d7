/* Readings in the spool: a kill at any instant loses none of them, and none is stored twice. */
#include "helper.h"

#include "store/lock.h"
#include "store/spool.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { BLOCK = 50 }; /* readings */

static struct wl_sample_row reading_at(int64_t channel, int64_t t_ns)
{
    return (struct wl_sample_row) { channel, t_ns, t_ns % 10 ? 100 + (double)t_ns : NAN };
}

static void add_block(struct fixture *f, struct wl_store *s, int64_t channel, int64_t from)
{
    struct wl_sample_row v[BLOCK];
    for (int64_t i = 0; i < BLOCK; i++) v[i] = reading_at(channel, from + i);
    OK(wl_store_spool_add(s, v, BLOCK, &f->e));
}

static int64_t begin_spooled(struct fixture *f, struct wl_store *s, int64_t *channel)
{
    int64_t run = begin_run(f, s, add_trial(f, s, 2), 0);
    *channel = add_channel(f, s, run, "GPU-0");
    assert_int_equal(wl_store_spool_open(s, run, &f->e), 1);
    return run;
}

static const char *spool_path(struct fixture *f, int64_t run)
{
    return wl_strf(f->arena, "%s-spool-%lld", f->store, (long long)run);
}

/* A run whose process died after some blocks, as closing the store without ending the run leaves it. */
struct dead_run {
    int64_t run, channel;
    const char *spool;
};

static struct dead_run abandon_run(struct fixture *f, int64_t blocks)
{
    struct dead_run dead;
    struct wl_store *s = create_store(f);
    dead.run = begin_spooled(f, s, &dead.channel);
    dead.spool = spool_path(f, dead.run);
    for (int64_t i = 0; i < blocks; i++) add_block(f, s, dead.channel, i * BLOCK);
    wl_store_close(s);
    assert_true(wl_is_file(dead.spool));
    return dead;
}

static size_t count_readings(struct fixture *f, struct wl_store *s, int64_t channel)
{
    struct wl_readings r;
    OK(wl_store_readings(s, channel, INT64_MIN, INT64_MAX, &r, f->arena, &f->e));
    for (size_t i = 0; i < r.n; i++) {
        struct wl_sample_row expected = reading_at(channel, r.t_ns[i]);
        assert_true(isnan(expected.value) ? isnan(r.value[i]) : r.value[i] == expected.value);
    }
    return r.n;
}

static size_t count_after_open(struct fixture *f, enum wl_store_mode mode, int64_t channel)
{
    struct wl_store *s;
    OK(wl_store_open(&s, f->store, mode, f->arena, &f->e));
    size_t n = count_readings(f, s, channel);
    OK(wl_store_check(s, &f->e));
    wl_store_close(s);
    return n;
}

static void the_next_writer_stores_the_readings(void **state)
{
    struct fixture *f = *state;
    struct dead_run dead = abandon_run(f, 3);
    assert_int_equal(count_after_open(f, WL_STORE_WRITE, dead.channel), 3 * BLOCK);
    assert_false(wl_is_file(dead.spool));
    assert_int_equal(count_after_open(f, WL_STORE_WRITE, dead.channel), 3 * BLOCK);
}

/* And leaves the run and both files as they are. */
static void a_reader_sees_the_readings(void **state)
{
    struct fixture *f = *state;
    struct wl_run_rows runs;
    struct wl_store *s;
    struct dead_run dead = abandon_run(f, 3);
    char *before, *after;
    size_t n, m;
    OK(wl_file_read(f->store, 1 << 26, &before, &n, f->arena, &f->e));
    for (int i = 0; i < 2; i++) {
        OK(wl_store_open(&s, f->store, WL_STORE_READ, f->arena, &f->e));
        assert_int_equal(count_readings(f, s, dead.channel), 3 * BLOCK);
        OK(wl_store_runs(s, &(struct wl_run_filter) { 0 }, &runs, f->arena, &f->e));
        assert_int_equal(runs.v[0].status, WL_RUN_RUNNING);
        wl_store_close(s);
    }
    assert_true(wl_is_file(dead.spool));
    OK(wl_file_read(f->store, 1 << 26, &after, &m, f->arena, &f->e));
    assert_int_equal(n, m);
    assert_memory_equal(before, after, n);
}

/* While a writer stores what the reader sees already. */
static void an_open_reader_counts_no_reading_twice(void **state)
{
    struct fixture *f = *state;
    struct wl_store *s;
    struct dead_run dead = abandon_run(f, 3);
    OK(wl_store_open(&s, f->store, WL_STORE_READ, f->arena, &f->e));
    assert_int_equal(count_readings(f, s, dead.channel), 3 * BLOCK);
    assert_int_equal(count_after_open(f, WL_STORE_WRITE, dead.channel), 3 * BLOCK);
    assert_int_equal(count_readings(f, s, dead.channel), 3 * BLOCK);
    wl_store_close(s);
}

/* A process that dies between the commit and the removal leaves a file whose readings are already stored. */
static void readings_stored_before_the_crash_are_not_doubled(void **state)
{
    struct fixture *f = *state;
    struct wl_store *s = create_store(f);
    struct wl_sample_row v[BLOCK];
    int64_t channel, run = begin_spooled(f, s, &channel);
    add_block(f, s, channel, 0);
    add_block(f, s, channel, BLOCK);
    for (int64_t i = 0; i < BLOCK; i++) v[i] = reading_at(channel, i);
    OK(wl_store_add_samples(s, v, BLOCK, &f->e));
    wl_store_close(s);
    assert_int_equal(count_after_open(f, WL_STORE_WRITE, channel), 2 * BLOCK);
    assert_false(wl_is_file(spool_path(f, run)));
}

static void closing_removes_the_file(void **state)
{
    struct fixture *f = *state;
    struct wl_store *s = create_store(f);
    int64_t channel, run = begin_spooled(f, s, &channel);
    add_block(f, s, channel, 0);
    wl_store_spool_close(s);
    end_run(f, s, run, 1, 1);
    assert_false(wl_is_file(spool_path(f, run)));
}

/* Their readings are stored, so they do not count even where they end exactly where the new blocks end. */
static void blocks_of_an_earlier_round_are_ignored(void **state)
{
    struct fixture *f = *state;
    struct wl_store *s = create_store(f);
    int64_t channel;
    begin_spooled(f, s, &channel);
    for (int64_t i = 0; i < 4; i++) add_block(f, s, channel, 1000 + i * BLOCK);
    wl_store_spool_restart(s);
    add_block(f, s, channel, 0);
    add_block(f, s, channel, BLOCK);
    wl_store_close(s);
    assert_int_equal(count_after_open(f, WL_STORE_WRITE, channel), 2 * BLOCK);
}

/* Wherever the file is cut off or damaged. */
static void blocks_before_a_torn_one_are_stored(void **state)
{
    struct fixture *f = *state;
    struct dead_run dead = abandon_run(f, 3);
    char *text;
    size_t size;
    OK(wl_file_read(dead.spool, 1 << 20, &text, &size, f->arena, &f->e));
    for (size_t at = 0; at < size; at += 97) {
        bool cut = at % 2;
        char *torn = wl_alloc(f->arena, size);
        memcpy(torn, text, size);
        torn[at] ^= 16;
        f->store = wl_strf(f->arena, "%s/torn-%zu.db", f->dir, at);
        dead = abandon_run(f, 0);
        OK(wl_file_write(dead.spool, torn, cut ? at : size, &f->e));
        assert_int_equal(count_after_open(f, WL_STORE_WRITE, dead.channel), at / (size / 3) * BLOCK);
    }
}

/* The store opens although a file with the name of a spool is not one. */
static void files_of_others_are_left_alone(void **state)
{
    struct fixture *f = *state;
    struct dead_run dead = abandon_run(f, 0);
    OK(wl_file_write(dead.spool, "my own notes about run 1", 24, &f->e));
    OK(wl_file_write(wl_strf(f->arena, "%s-spool-notes", f->store), "more", 4, &f->e));
    assert_int_equal(mkfifo(wl_strf(f->arena, "%s-spool-7", f->store), 0600), 0);
    assert_int_equal(count_after_open(f, WL_STORE_WRITE, dead.channel), 0);
    assert_int_equal(count_after_open(f, WL_STORE_READ, dead.channel), 0);
    assert_true(wl_is_file(dead.spool));
}

/* A file that others sent fills neither channels of another run nor channels that do not exist. */
static void only_channels_of_the_run_are_filled(void **state)
{
    struct fixture *f = *state;
    struct wl_store *s = create_store(f);
    int64_t first = begin_run(f, s, add_trial(f, s, 2), 0), other = add_channel(f, s, first, "GPU-0");
    int64_t run = begin_run(f, s, add_trial(f, s, 4), 0), channel = add_channel(f, s, run, "GPU-0");
    assert_int_equal(wl_store_spool_open(s, run, &f->e), 1);
    add_block(f, s, other, 0);
    add_block(f, s, 4711, 0);
    add_block(f, s, channel, 0);
    wl_store_close(s);
    assert_int_equal(count_after_open(f, WL_STORE_WRITE, channel), BLOCK);
    assert_int_equal(count_after_open(f, WL_STORE_WRITE, other), 0);
}

static void the_file_of_a_live_run_is_left_alone(void **state)
{
    struct fixture *f = *state;
    struct wl_store *s = create_store(f);
    int64_t channel, run = begin_spooled(f, s, &channel);
    add_block(f, s, channel, 0);
    assert_int_equal(count_after_open(f, WL_STORE_WRITE, channel), 0);
    assert_int_equal(count_after_open(f, WL_STORE_READ, channel), 0);
    assert_true(wl_is_file(spool_path(f, run)));
    OK(wl_spool_recover(s, &f->e)); /* nor does its own connection, which keeps the lock */
    assert_int_equal(count_readings(f, s, channel), 0);
    assert_int_equal(wl_store_locked(s, wl_lock_of_run(run)), 1);
}

static void taking_over_a_run_stores_its_readings(void **state)
{
    struct fixture *f = *state;
    struct dead_run dead = abandon_run(f, 2);
    struct wl_store *s;
    OK(wl_store_open_run(&s, f->store, dead.run, f->arena, &f->e));
    assert_int_equal(count_readings(f, s, dead.channel), 2 * BLOCK);
    assert_int_equal(wl_store_spool_open(s, dead.run, &f->e), 1);
    add_block(f, s, dead.channel, 2 * BLOCK);
    wl_store_close(s);
    assert_int_equal(count_after_open(f, WL_STORE_WRITE, dead.channel), 3 * BLOCK);
}

static void network_file_systems_have_no_spool(void **state)
{
    struct fixture *f = *state;
    setenv("WATTLAW_JOURNAL", "rollback", 1);
    struct wl_store *s = create_store(f);
    int64_t run = begin_run(f, s, add_trial(f, s, 2), 0);
    assert_int_equal(wl_store_spool_open(s, run, &f->e), 0);
    assert_false(wl_is_file(spool_path(f, run)));
    unsetenv("WATTLAW_JOURNAL");
}

/* A limit on file sizes simulates it. The half block does not count. */
static void a_full_disk_is_reported(void **state)
{
    struct fixture *f = *state;
    struct wl_store *s = create_store(f);
    struct rlimit before, tight;
    struct wl_sample_row v[BLOCK] = { 0 };
    int64_t channel;
    begin_spooled(f, s, &channel);
    add_block(f, s, channel, 0);
    signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &before);
    tight = before;
    tight.rlim_cur = 2000;
    setrlimit(RLIMIT_FSIZE, &tight);
    int rc = wl_store_spool_add(s, v, BLOCK, &f->e);
    setrlimit(RLIMIT_FSIZE, &before);
    assert_int_equal(rc, WL_EIO);
    assert_non_null(strstr(f->e.msg, "-spool-1: cannot write readings"));
    wl_store_close(s);
    assert_int_equal(count_after_open(f, WL_STORE_WRITE, channel), BLOCK);
}

/* ---- a kill at any instant ---- */

struct progress {
    int64_t readings, channel;
};

/* Adds blocks for ever and stores each seven of them. */
static void work(struct fixture *f, int progress_fd)
{
    struct wl_sample_row v[7 * BLOCK];
    struct progress progress_seen = { 0 };
    struct wl_store *s = create_store(f);
    begin_spooled(f, s, &progress_seen.channel);
    for (int64_t at = 0;; at += BLOCK) {
        add_block(f, s, progress_seen.channel, at);
        progress_seen.readings = at + BLOCK;
        if (write(progress_fd, &progress_seen, sizeof progress_seen) != sizeof progress_seen) return;
        if (at / BLOCK % 7 != 6) continue;
        for (int64_t i = 0; i < 7 * BLOCK; i++) v[i] = reading_at(progress_seen.channel, at + BLOCK - 7 * BLOCK + i);
        OK(wl_store_add_samples(s, v, 7 * BLOCK, &f->e));
        wl_store_spool_restart(s);
    }
}

static void no_reading_is_lost_when_killed(void **state)
{
    struct fixture *f = *state;
    for (long i = 0; i < 30; i++) {
        f->store = wl_strf(f->arena, "%s/%ld.db", f->dir, i);
        struct progress progress_seen;
        kill_worker(f, work, true, i * 137, &progress_seen, sizeof progress_seen);
        size_t n = count_after_open(f, i % 2 ? WL_STORE_WRITE : WL_STORE_READ, progress_seen.channel);
        assert_true(n == (size_t)progress_seen.readings ||
                    n == (size_t)progress_seen.readings + BLOCK); /* one that it had no time to report */
    }
}

/* A running run: what its wattlaw has not stored yet is shown when it is asked for, each time anew, and counts once. */
static void readings_of_a_running_run_are_shown(void **state)
{
    struct fixture *f = *state;
    struct wl_store *writer = create_store(f), *reader;
    struct wl_sample_row v[BLOCK];
    int64_t channel, run = begin_spooled(f, writer, &channel);
    add_block(f, writer, channel, 0);
    OK(wl_store_open(&reader, f->store, WL_STORE_READ, f->arena, &f->e));
    assert_int_equal(count_readings(f, reader, channel), 0); /* its wattlaw stores them itself */
    OK(wl_store_show_spool(reader, run, &f->e));
    assert_int_equal(count_readings(f, reader, channel), BLOCK);
    add_block(f, writer, channel, BLOCK);
    assert_int_equal(count_readings(f, reader, channel), BLOCK);
    OK(wl_store_show_spool(reader, run, &f->e));
    assert_int_equal(count_readings(f, reader, channel), 2 * BLOCK);
    for (int64_t i = 0; i < BLOCK; i++) v[i] = reading_at(channel, i);
    OK(wl_store_add_samples(writer, v, BLOCK, &f->e)); /* some of them are stored meanwhile */
    assert_int_equal(count_readings(f, reader, channel), 2 * BLOCK);
    wl_store_spool_restart(writer);
    add_block(f, writer, channel, 2 * BLOCK);
    OK(wl_store_show_spool(reader, run, &f->e));
    assert_int_equal(count_readings(f, reader, channel),
                     2 * BLOCK);                     /* the first one is stored, the third one is spooled */
    OK(wl_store_show_spool(reader, run + 1, &f->e)); /* has no file */
    assert_int_equal(count_readings(f, reader, channel), 2 * BLOCK);
    assert_true(wl_is_file(spool_path(f, run)));
    wl_store_close(reader);
    wl_store_close(writer);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = { TEST(the_next_writer_stores_the_readings),
                                        TEST(a_reader_sees_the_readings),
                                        TEST(an_open_reader_counts_no_reading_twice),
                                        TEST(readings_of_a_running_run_are_shown),
                                        TEST(readings_stored_before_the_crash_are_not_doubled),
                                        TEST(closing_removes_the_file),
                                        TEST(blocks_of_an_earlier_round_are_ignored),
                                        TEST(blocks_before_a_torn_one_are_stored),
                                        TEST(files_of_others_are_left_alone),
                                        TEST(only_channels_of_the_run_are_filled),
                                        TEST(the_file_of_a_live_run_is_left_alone),
                                        TEST(taking_over_a_run_stores_its_readings),
                                        TEST(network_file_systems_have_no_spool),
                                        TEST(a_full_disk_is_reported),
                                        TEST(no_reading_is_lost_when_killed) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
