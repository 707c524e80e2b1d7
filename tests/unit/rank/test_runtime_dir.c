/* Processes of one node find one folder, whatever stands in its place. */
#include "rank/rank.h"

#include <fcntl.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static struct wl_arena *a;
static struct wl_err e;
static char place[64];

static int setup(void **state)
{
    (void)state;
    a = wl_arena_new(NULL);
    strcpy(place, "/tmp/wl-test-XXXXXX");
    if (!mkdtemp(place)) return -1;
    return setenv("WATTLAW_NODE_DIR", place, 1);
}

static int teardown(void **state)
{
    (void)state;
    char *rm[] = { "rm", "-rf", place, NULL };
    struct wl_process_result x;
    int rc = wl_process_run(rm, 0, false, NULL, &x, a, &e);
    wl_arena_free(a);
    return rc;
}

static const char *plain(void) { return wl_strf(a, "%s/wattlaw-%u", place, (unsigned)geteuid()); }

static const char *folder(void)
{
    const char *found;
    if (wl_runtime_dir_open(&found, a, &e) < 0) fail_msg("%s", e.msg);
    return found;
}

static void the_folder_is_ours_alone(void **state)
{
    struct stat st;
    (void)state;
    assert_string_equal(folder(), plain());
    assert_string_equal(folder(), plain());
    assert_true(stat(plain(), &st) == 0 && (st.st_mode & 07777) == 0700);
    assert_int_equal(chmod(plain(), 0777), 0); /* others may have written in it */
    const char *other = folder();
    assert_string_not_equal(other, plain());
    assert_string_equal(folder(), other);
}

static void a_place_where_others_can_take_it_away_is_refused(void **state)
{
    const char *found;
    (void)state;
    assert_int_equal(chmod(place, 0777), 0);
    assert_int_equal(wl_runtime_dir_open(&found, a, &e), WL_EPERM);
    assert_non_null(strstr(e.msg, "sticky bit"));
    assert_int_equal(chmod(place, 01777), 0);
    assert_string_equal(folder(), plain());
}

/* All processes begin at once; each writes the name that it has found. */
static void agree(int n)
{
    int names[2];
    char first[1024] = "", name[1024];
    atomic_int *come = mmap(NULL, sizeof *come, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(come != MAP_FAILED && pipe(names) == 0);
    for (int i = 0; i < n; i++) {
        pid_t pid = fork();
        if (pid < 0) atomic_store(come, -n); /* no more processes are to be had: nobody waits for this one */
        if (pid != 0) continue;
        atomic_fetch_add(come, 1);
        while (atomic_load(come) >= 0 && atomic_load(come) < n) sched_yield();
        const char *found;
        memset(name, 0, sizeof name);
        snprintf(name, sizeof name, "%s", wl_runtime_dir_open(&found, a, &e) < 0 ? e.msg : found);
        _exit(write(names[1], name, sizeof name) != sizeof name);
    }
    close(names[1]);
    if (atomic_load(come) < 0) fail_msg("fork failed");
    for (int i = 0; i < n; i++) {
        assert_int_equal(read(names[0], name, sizeof name), sizeof name);
        if (i == 0) strcpy(first, name);
        assert_string_equal(name, first);
    }
    close(names[0]);
    while (wait(NULL) > 0) continue;
    munmap(come, sizeof *come);
    assert_true(wl_str_starts(first, plain()) && strlen(first) > strlen(plain()));
    assert_int_equal(access(wl_path_join(a, first, "lock"), F_OK), 0);
}

static void all_find_one_other_folder(void **state)
{
    struct wl_strs names;
    (void)state;
    for (int round = 0; round < 6; round++) {
        int fd = open(plain(), O_WRONLY | O_CREAT | O_EXCL, 0600); /* as another user's: not a folder */
        assert_true(fd >= 0);
        close(fd);
        agree(12);
        assert_int_equal(wl_dir_list(place, &names, a, &e), 0);
        assert_int_equal(names.n, 2); /* what was made and not taken is gone */
        agree(3);
        teardown(NULL);
        setup(NULL);
    }
}

static size_t found_others;
static void count(void *ctx, int dir, const char *path)
{
    (void)ctx, (void)dir, (void)path;
    found_others++;
}

static void other_folders_of_ours_are_seen(void **state)
{
    const char *found;
    (void)state;
    int fd = wl_runtime_dir_open(&found, a, &e);
    assert_true(fd >= 0);
    wl_runtime_dir_others(fd, count, NULL, a);
    assert_int_equal(found_others, 0);
    assert_int_equal(mkdir(wl_strf(a, "%s-0123456789abcdef", plain()), 0700), 0);
    assert_int_equal(mkdir(wl_strf(a, "%s0", plain()), 0700), 0); /* of another user */
    assert_int_equal(mkdir(wl_strf(a, "%s-short", plain()), 0700), 0);
    wl_runtime_dir_others(fd, count, NULL, a);
    assert_int_equal(found_others, 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(the_folder_is_ours_alone),
        TEST(a_place_where_others_can_take_it_away_is_refused),
        TEST(all_find_one_other_folder),
        TEST(other_folders_of_ours_are_seen),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
