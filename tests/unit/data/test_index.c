/* The shard index: used if it matches the shards, rebuilt if it does not, and never the cause of an error. That it is
 * used shows in a damaged header that nobody looks at. */
#include "base/base.h"
#include "data/images/shards.h"
#include "data/tfrecord/index.h"
#include "data/tfrecord/scan.h"
#include "temp_dir.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/file.h>
#include <sys/stat.h>

enum { SHARDS = 3 };

static const char *shard(const struct temp_dir *p, int i)
{
    return temp_dir_path(p, wl_strf(p->arena, "train-%05d-of-%05d", i, SHARDS));
}

/* Makes a file old enough to be indexed; `minutes` distinguishes two ages. */
static void age(const char *path, int minutes)
{
    struct timespec then;
    clock_gettime(CLOCK_REALTIME, &then);
    then.tv_sec -= 60 * minutes;
    const struct timespec times[2] = { then, { then.tv_sec, 0 } };
    assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

static void keep_time(const char *path, const struct stat *st)
{
    const struct timespec times[2] = { st->st_atim, st->st_mtim };
    assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

static void fill_aged(const struct temp_dir *p)
{
    temp_dir_write_shards(p, p->dir, SHARDS);
    for (int i = 0; i < SHARDS; i++) age(shard(p, i), 2);
}

/* Damages the second header of shard 1, keeping its size and time. */
static void damage_quietly(const struct temp_dir *p)
{
    struct wl_tfrecord_file r = { .path = shard(p, 1) };
    struct wl_err e;
    struct stat st;
    assert_int_equal(stat(r.path, &st), 0);
    assert_int_equal(wl_tfrecord_scan(&r, p->arena, &e), 0);
    temp_dir_poke_byte(r.path, (long)r.offset[1] + 8, 0x55);
    keep_time(r.path, &st);
}

static int open_shards(const struct temp_dir *p, struct wl_image_source *s, struct wl_err *e)
{
    return wl_image_shards_open(s, p->dir, "train", p->arena, e);
}

static void opens(const struct temp_dir *p)
{
    struct wl_image_source s;
    struct wl_err e;
    if (open_shards(p, &s, &e) != 0) fail_msg("%s", e.msg);
    assert_int_equal(s.n, 20);
}

static void scans_and_fails(const struct temp_dir *p)
{
    struct wl_image_source s;
    struct wl_err e;
    assert_int_equal(open_shards(p, &s, &e), WL_EINVAL);
    assert_non_null(strstr(e.msg, "train-00001-of-00003: record 2 at byte"));
}

static const char *index_path(const struct temp_dir *p) { return temp_dir_path(p, "train.wattlaw-index"); }

static char *contents(const struct temp_dir *p, const char *path, size_t *n)
{
    struct wl_err e;
    char *text = NULL;
    if (wl_file_read(path, 1 << 20, &text, n, p->arena, &e) != 0) fail_msg("%s", e.msg);
    return text;
}

/* ---- tests ------------------------------------------------------------------------------------------------------ */

static void index_is_used(void **state)
{
    struct temp_dir *p = *state;
    size_t n;
    fill_aged(p);
    opens(p);
    contents(p, index_path(p), &n);
    assert_true(n < 8 + 8 + SHARDS * 24 + 20 * 3 + 4 + 1); /* these records take two bytes or three each */
    damage_quietly(p);
    opens(p);
    age(shard(p, 1), 1); /* another time: the shard is looked at */
    scans_and_fails(p);
}

/* The records of an index are those of a scan. */
static void index_has_the_records_of_a_scan(void **state)
{
    struct temp_dir *p = *state;
    struct wl_tfrecord_file scanned[SHARDS] = { 0 }, first[SHARDS] = { 0 }, reopened[SHARDS] = { 0 };
    struct wl_err e;
    fill_aged(p);
    for (int i = 0; i < SHARDS; i++) scanned[i].path = first[i].path = reopened[i].path = shard(p, i);
    assert_int_equal(wl_tfrecord_scan_all(scanned, SHARDS, p->arena, &e), 0);
    assert_int_equal(wl_tfrecord_index_open(first, SHARDS, p->dir, "train", p->arena, &e), 0);
    assert_int_equal(wl_tfrecord_index_open(reopened, SHARDS, p->dir, "train", p->arena, &e), 0);
    for (int i = 0; i < SHARDS; i++) {
        size_t bytes = sizeof *scanned[i].offset * (size_t)(scanned[i].n + 1);
        assert_true(scanned[i].n > 5);
        assert_int_equal(first[i].n, scanned[i].n);
        assert_int_equal(reopened[i].n, scanned[i].n);
        assert_memory_equal(first[i].offset, scanned[i].offset, bytes);
        assert_memory_equal(reopened[i].offset, scanned[i].offset, bytes);
    }
}

/* A shard that changes within one tick of the clock keeps its time, so young shards are not indexed. */
static void young_shards_are_not_indexed(void **state)
{
    struct temp_dir *p = *state;
    temp_dir_write_shards(p, p->dir, SHARDS);
    age(shard(p, 0), 2);
    age(shard(p, 1), 2);
    opens(p);
    assert_false(wl_is_file(index_path(p)));
}

/* Truncated anywhere, or with any byte changed, it is rebuilt with the same bytes. */
static void damaged_index_is_rebuilt(void **state)
{
    struct temp_dir *p = *state;
    struct wl_err e;
    size_t n, m;
    fill_aged(p);
    opens(p);
    const char *path = index_path(p), *good = contents(p, path, &n);
    for (size_t at = 0; at < n; at++) {
        char *bad = memcpy(wl_alloc(p->arena, n), good, n);
        bad[at] ^= 0x10;
        assert_int_equal(wl_file_write(path, bad, at % 2 ? n : at, &e), 0); /* changed, or cut off */
        opens(p);
        assert_memory_equal(contents(p, path, &m), good, n);
        assert_int_equal(m, n);
    }
}

/* Right checksum, wrong records: one of no bytes, one too long, too many, too few. */
static void impossible_records_are_rejected(void **state)
{
    struct temp_dir *p = *state;
    static const uint8_t sizes[][3] = { { 0x80, 0x80, 0 }, { 0xff, 0xff, 0x7f } };
    struct wl_err e;
    size_t n, m, first = 8 + 8 + SHARDS * 24;
    fill_aged(p);
    opens(p);
    const char *path = index_path(p);
    char *good = contents(p, path, &n);
    for (size_t i = 0; i < WL_COUNT(sizes) + 2; i++) {
        uint8_t *bad = memcpy(wl_alloc(p->arena, n), good, n);
        if (i < WL_COUNT(sizes))
            memcpy(bad + first, sizes[i], 3);
        else
            bad[8 + 8 + 16] = (uint8_t)(bad[8 + 8 + 16] + (i == WL_COUNT(sizes) ? 1 : -1));
        wl_le_write(bad + n - 4, 4, wl_crc32c(0, bad, n - 4));
        assert_int_equal(wl_file_write(path, (const char *)bad, n, &e), 0);
        opens(p);
        assert_memory_equal(contents(p, path, &m), good, n);
    }
}

/* If it cannot be written beside the shards, it goes to the user's cache; if neither is possible, loading still works.
 */
static void index_goes_to_the_cache_if_the_folder_is_read_only(void **state)
{
    struct temp_dir *p = *state;
    struct wl_arena *a = p->arena;
    struct wl_strs names;
    struct wl_err e;
    const char *cache = wl_path_join(a, p->root, "cache");
    fill_aged(p);
    assert_int_equal(wl_mkdirs(index_path(p), &e), 0); /* a folder of this name: not even root can write the file */
    assert_int_equal(setenv("XDG_CACHE_HOME", cache, 1), 0);
    opens(p);
    assert_int_equal(wl_dir_list(wl_path_join(a, cache, "wattlaw"), &names, a, &e), 0);
    assert_int_equal(names.n, 1);
    assert_true(wl_str_starts(names.v[0], "train-"));
    damage_quietly(p);
    opens(p);

    assert_int_equal(setenv("XDG_CACHE_HOME", "relative", 1), 0);
    assert_int_equal(unsetenv("HOME"), 0);
    scans_and_fails(p); /* no cache is known */
    assert_int_equal(setenv("HOME", cache, 1), 0);
    assert_int_equal(wl_mkdirs(wl_path_join(a, cache, ".cache"), &e), 0);
    scans_and_fails(p);
    assert_int_equal(wl_file_write(wl_path_join(a, cache, ".cache/wattlaw"), "", 0, &e), 0); /* no folder */
    temp_dir_write_shards(p, wl_path_join(a, p->root, "other"), SHARDS);
    p->dir = wl_path_join(a, p->root, "other");
    for (int i = 0; i < SHARDS; i++) age(shard(p, i), 2);
    assert_int_equal(wl_mkdirs(index_path(p), &e), 0);
    opens(p);
    assert_int_equal(wl_dir_list(wl_path_join(a, cache, "wattlaw"), &names, a, &e), 0);
    assert_int_equal(names.n, 1);
}

static void *open_on_thread(void *dir)
{
    opens(dir);
    return NULL;
}

/* A process that comes while another one scans waits, and reads its index. */
static void second_process_waits_for_the_scan(void **state)
{
    struct temp_dir *p = *state;
    pthread_t other;
    struct wl_err e;
    size_t n;
    fill_aged(p);
    opens(p);
    const char *text = contents(p, index_path(p), &n);
    assert_int_equal(unlink(index_path(p)), 0);
    damage_quietly(p); /* a scan would fail from here on */
    int fd = open(p->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_int_equal(flock(fd, LOCK_EX), 0);
    struct temp_dir second = *p;
    second.arena = wl_arena_new(NULL); /* an arena belongs to one thread */
    assert_int_equal(pthread_create(&other, NULL, open_on_thread, &second), 0);
    wl_sleep_until(wl_now_ns() + WL_NS_PER_S / 20);
    assert_int_equal(wl_file_write(index_path(p), text, n, &e), 0);
    close(fd);
    assert_int_equal(pthread_join(other, NULL), 0);
    wl_arena_free(second.arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(index_is_used, temp_dir_setup, temp_dir_teardown),
        cmocka_unit_test_setup_teardown(index_has_the_records_of_a_scan, temp_dir_setup, temp_dir_teardown),
        cmocka_unit_test_setup_teardown(young_shards_are_not_indexed, temp_dir_setup, temp_dir_teardown),
        cmocka_unit_test_setup_teardown(damaged_index_is_rebuilt, temp_dir_setup, temp_dir_teardown),
        cmocka_unit_test_setup_teardown(impossible_records_are_rejected, temp_dir_setup, temp_dir_teardown),
        cmocka_unit_test_setup_teardown(index_goes_to_the_cache_if_the_folder_is_read_only, temp_dir_setup,
                                        temp_dir_teardown),
        cmocka_unit_test_setup_teardown(second_process_waits_for_the_scan, temp_dir_setup, temp_dir_teardown),
    };
    wl_log_init(WL_ERROR, -1);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
