/* Readings that wait for their transaction: killed at any instant nothing of them is lost, and nothing is stored twice.
 */
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

static struct wl_sample_row reading(int64_t channel, int64_t t_ns)
{
    return (struct wl_sample_row) { channel, t_ns, t_ns % 10 ? 100 + (double)t_ns : NAN };
}

static void add_block(struct place *p, struct wl_store *s, int64_t channel, int64_t from)
{
    struct wl_sample_row v[BLOCK];
    for (int64_t i = 0; i < BLOCK; i++) v[i] = reading(channel, from + i);
    OK(wl_store_spool_add(s, v, BLOCK, &p->e));
}

static int64_t begin_spooled(struct place *p, struct wl_store *s, int64_t *channel)
{
    int64_t run = begin_run(p, s, add_trial(p, s, 2), 0);
    *channel = add_channel(p, s, run, "GPU-0");
    assert_int_equal(wl_store_spool_open(s, run, &p->e), 1);
    return run;
}

static const char *spool_of(struct place *p, int64_t run)
{
    return wl_strf(p->arena, "%s-spool-%lld", p->store, (long long)run);
}

/* A store whose process died after so many blocks, as closing without an end leaves it. */
struct left {
    int64_t run, channel;
    const char *spool;
};

static struct left leave(struct place *p, int64_t blocks)
{
    struct left left;
    struct wl_store *s = create_store(p);
    left.run = begin_spooled(p, s, &left.channel);
    left.spool = spool_of(p, left.run);
    for (int64_t i = 0; i < blocks; i++) add_block(p, s, left.channel, i * BLOCK);
    wl_store_close(s);
    assert_true(wl_is_file(left.spool));
    return left;
}

static size_t stored(struct place *p, struct wl_store *s, int64_t channel)
{
    struct wl_readings r;
    OK(wl_store_readings(s, channel, INT64_MIN, INT64_MAX, &r, p->arena, &p->e));
    for (size_t i = 0; i < r.n; i++) {
        struct wl_sample_row expected = reading(channel, r.t_ns[i]);
        assert_true(isnan(expected.value) ? isnan(r.value[i]) : r.value[i] == expected.value);
    }
    return r.n;
}

static size_t stored_by(struct place *p, enum wl_store_mode mode, int64_t channel)
{
    struct wl_store *s;
    OK(wl_store_open(&s, p->store, mode, p->arena, &p->e));
    size_t n = stored(p, s, channel);
    OK(wl_store_check(s, &p->e));
    wl_store_close(s);
    return n;
}

static void the_next_writer_takes_them_in(void **state)
{
    struct place *p = *state;
    struct left left = leave(p, 3);
    assert_int_equal(stored_by(p, WL_STORE_WRITE, left.channel), 3 * BLOCK);
    assert_false(wl_is_file(left.spool));
    assert_int_equal(stored_by(p, WL_STORE_WRITE, left.channel), 3 * BLOCK);
}

/* Who only reads sees them, and leaves the run and both files as they are. */
static void a_reader_sees_them(void **state)
{
    struct place *p = *state;
    struct wl_run_rows runs;
    struct wl_store *s;
    struct left left = leave(p, 3);
    char *before, *after;
    size_t n, m;
    OK(wl_file_read(p->store, 1 << 26, &before, &n, p->arena, &p->e));
    for (int i = 0; i < 2; i++) {
        OK(wl_store_open(&s, p->store, WL_STORE_READ, p->arena, &p->e));
        assert_int_equal(stored(p, s, left.channel), 3 * BLOCK);
        OK(wl_store_runs(s, &(struct wl_run_filter) { 0 }, &runs, p->arena, &p->e));
        assert_int_equal(runs.v[0].status, WL_RUN_RUNNING);
        wl_store_close(s);
    }
    assert_true(wl_is_file(left.spool));
    OK(wl_file_read(p->store, 1 << 26, &after, &m, p->arena, &p->e));
    assert_int_equal(n, m);
    assert_memory_equal(before, after, n);
}

/* A reader that has the store open while a writer takes them in counts none twice. */
static void a_writer_beside_a_reader(void **state)
{
    struct place *p = *state;
    struct wl_store *s;
    struct left left = leave(p, 3);
    OK(wl_store_open(&s, p->store, WL_STORE_READ, p->arena, &p->e));
    assert_int_equal(stored(p, s, left.channel), 3 * BLOCK);
    assert_int_equal(stored_by(p, WL_STORE_WRITE, left.channel), 3 * BLOCK);
    assert_int_equal(stored(p, s, left.channel), 3 * BLOCK);
    wl_store_close(s);
}

/* Whoever dies between the commit and the removal leaves a file whose readings are stored already. */
static void stored_already_is_stored_once(void **state)
{
    struct place *p = *state;
    struct wl_store *s = create_store(p);
    struct wl_sample_row v[BLOCK];
    int64_t channel, run = begin_spooled(p, s, &channel);
    add_block(p, s, channel, 0);
    add_block(p, s, channel, BLOCK);
    for (int64_t i = 0; i < BLOCK; i++) v[i] = reading(channel, i);
    OK(wl_store_add_samples(s, v, BLOCK, &p->e));
    wl_store_close(s);
    assert_int_equal(stored_by(p, WL_STORE_WRITE, channel), 2 * BLOCK);
    assert_false(wl_is_file(spool_of(p, run)));
}

/* A run that has ended needs none. */
static void closed_leaves_nothing(void **state)
{
    struct place *p = *state;
    struct wl_store *s = create_store(p);
    int64_t channel, run = begin_spooled(p, s, &channel);
    add_block(p, s, channel, 0);
    wl_store_spool_close(s);
    end_run(p, s, run, 1, 1);
    assert_false(wl_is_file(spool_of(p, run)));
}

/* Of an earlier round, whose readings are stored, nothing counts: not even where its blocks end on the new ones'. */
static void a_round_ends_at_its_last_block(void **state)
{
    struct place *p = *state;
    struct wl_store *s = create_store(p);
    int64_t channel;
    begin_spooled(p, s, &channel);
    for (int64_t i = 0; i < 4; i++) add_block(p, s, channel, 1000 + i * BLOCK);
    wl_store_spool_restart(s);
    add_block(p, s, channel, 0);
    add_block(p, s, channel, BLOCK);
    wl_store_close(s);
    assert_int_equal(stored_by(p, WL_STORE_WRITE, channel), 2 * BLOCK);
}

/* Wherever it is cut off or damaged, the whole blocks before are good. */
static void torn_at_any_byte(void **state)
{
    struct place *p = *state;
    struct left left = leave(p, 3);
    char *text;
    size_t size;
    OK(wl_file_read(left.spool, 1 << 20, &text, &size, p->arena, &p->e));
    for (size_t at = 0; at < size; at += 97) {
        bool cut = at % 2;
        char *torn = wl_alloc(p->arena, size);
        memcpy(torn, text, size);
        torn[at] ^= 16;
        p->store = wl_strf(p->arena, "%s/torn-%zu.db", p->dir, at);
        left = leave(p, 0);
        OK(wl_file_write(left.spool, torn, cut ? at : size, &p->e));
        assert_int_equal(stored_by(p, WL_STORE_WRITE, left.channel), at / (size / 3) * BLOCK);
    }
}

/* A file that is not a spool stays where it is, and the store opens all the same. */
static void foreign_files_stay(void **state)
{
    struct place *p = *state;
    struct left left = leave(p, 0);
    OK(wl_file_write(left.spool, "my own notes about run 1", 24, &p->e));
    OK(wl_file_write(wl_strf(p->arena, "%s-spool-notes", p->store), "more", 4, &p->e));
    assert_int_equal(mkfifo(wl_strf(p->arena, "%s-spool-7", p->store), 0600), 0);
    assert_int_equal(stored_by(p, WL_STORE_WRITE, left.channel), 0);
    assert_int_equal(stored_by(p, WL_STORE_READ, left.channel), 0);
    assert_true(wl_is_file(left.spool));
}

/* A file that others sent fills no channels but its run's, and none that are not there. */
static void only_channels_of_the_run(void **state)
{
    struct place *p = *state;
    struct wl_store *s = create_store(p);
    int64_t first = begin_run(p, s, add_trial(p, s, 2), 0), other = add_channel(p, s, first, "GPU-0");
    int64_t run = begin_run(p, s, add_trial(p, s, 4), 0), channel = add_channel(p, s, run, "GPU-0");
    assert_int_equal(wl_store_spool_open(s, run, &p->e), 1);
    add_block(p, s, other, 0);
    add_block(p, s, 4711, 0);
    add_block(p, s, channel, 0);
    wl_store_close(s);
    assert_int_equal(stored_by(p, WL_STORE_WRITE, channel), BLOCK);
    assert_int_equal(stored_by(p, WL_STORE_WRITE, other), 0);
}

static void a_living_run_keeps_its_own(void **state)
{
    struct place *p = *state;
    struct wl_store *s = create_store(p);
    int64_t channel, run = begin_spooled(p, s, &channel);
    add_block(p, s, channel, 0);
    assert_int_equal(stored_by(p, WL_STORE_WRITE, channel), 0);
    assert_int_equal(stored_by(p, WL_STORE_READ, channel), 0);
    assert_true(wl_is_file(spool_of(p, run)));
    OK(wl_spool_recover(s, &p->e)); /* its own connection neither, and it does not let go of the lock */
    assert_int_equal(stored(p, s, channel), 0);
    assert_int_equal(wl_store_locked(s, wl_lock_of_run(run)), 1);
}

static void who_goes_on_with_a_run_takes_them_in(void **state)
{
    struct place *p = *state;
    struct left left = leave(p, 2);
    struct wl_store *s;
    OK(wl_store_open_run(&s, p->store, left.run, p->arena, &p->e));
    assert_int_equal(stored(p, s, left.channel), 2 * BLOCK);
    assert_int_equal(wl_store_spool_open(s, left.run, &p->e), 1);
    add_block(p, s, left.channel, 2 * BLOCK);
    wl_store_close(s);
    assert_int_equal(stored_by(p, WL_STORE_WRITE, left.channel), 3 * BLOCK);
}

static void none_where_machines_share_the_disk(void **state)
{
    struct place *p = *state;
    setenv("WATTLAW_JOURNAL", "rollback", 1);
    struct wl_store *s = create_store(p);
    int64_t run = begin_run(p, s, add_trial(p, s, 2), 0);
    assert_int_equal(wl_store_spool_open(s, run, &p->e), 0);
    assert_false(wl_is_file(spool_of(p, run)));
    unsetenv("WATTLAW_JOURNAL");
}

/* A quota stands in for the full disk. The half block does not count. */
static void a_full_disk_is_told(void **state)
{
    struct place *p = *state;
    struct wl_store *s = create_store(p);
    struct rlimit before, tight;
    struct wl_sample_row v[BLOCK] = { 0 };
    int64_t channel;
    begin_spooled(p, s, &channel);
    add_block(p, s, channel, 0);
    signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &before);
    tight = before;
    tight.rlim_cur = 2000;
    setrlimit(RLIMIT_FSIZE, &tight);
    int rc = wl_store_spool_add(s, v, BLOCK, &p->e);
    setrlimit(RLIMIT_FSIZE, &before);
    assert_int_equal(rc, WL_EIO);
    assert_non_null(strstr(p->e.msg, "-spool-1: cannot write readings"));
    wl_store_close(s);
    assert_int_equal(stored_by(p, WL_STORE_WRITE, channel), BLOCK);
}

/* ---- killed at any instant ---- */

struct progress {
    int64_t readings, channel;
};

/* Blocks without end; each seventh round they are stored. */
static void work(struct place *p, int tell)
{
    struct wl_sample_row v[7 * BLOCK];
    struct progress progress_seen = { 0 };
    struct wl_store *s = create_store(p);
    begin_spooled(p, s, &progress_seen.channel);
    for (int64_t at = 0;; at += BLOCK) {
        add_block(p, s, progress_seen.channel, at);
        progress_seen.readings = at + BLOCK;
        if (write(tell, &progress_seen, sizeof progress_seen) != sizeof progress_seen) return;
        if (at / BLOCK % 7 != 6) continue;
        for (int64_t i = 0; i < 7 * BLOCK; i++) v[i] = reading(progress_seen.channel, at + BLOCK - 7 * BLOCK + i);
        OK(wl_store_add_samples(s, v, 7 * BLOCK, &p->e));
        wl_store_spool_restart(s);
    }
}

static void killed_at_any_instant(void **state)
{
    struct place *p = *state;
    for (long i = 0; i < 30; i++) {
        p->store = wl_strf(p->arena, "%s/%ld.db", p->dir, i);
        struct progress progress_seen;
        kill_worker(p, work, true, i * 137, &progress_seen, sizeof progress_seen);
        size_t n = stored_by(p, i % 2 ? WL_STORE_WRITE : WL_STORE_READ, progress_seen.channel);
        assert_true(n == (size_t)progress_seen.readings ||
                    n == (size_t)progress_seen.readings + BLOCK); /* that it had no time to tell */
    }
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = { TEST(the_next_writer_takes_them_in),
                                        TEST(a_reader_sees_them),
                                        TEST(a_writer_beside_a_reader),
                                        TEST(stored_already_is_stored_once),
                                        TEST(closed_leaves_nothing),
                                        TEST(a_round_ends_at_its_last_block),
                                        TEST(torn_at_any_byte),
                                        TEST(foreign_files_stay),
                                        TEST(only_channels_of_the_run),
                                        TEST(a_living_run_keeps_its_own),
                                        TEST(who_goes_on_with_a_run_takes_them_in),
                                        TEST(none_where_machines_share_the_disk),
                                        TEST(a_full_disk_is_told),
                                        TEST(killed_at_any_instant) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
