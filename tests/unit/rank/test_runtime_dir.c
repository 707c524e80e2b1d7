/* Processes of one node find one folder, even if its name is taken. */
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
static char parent[64];

static int setup(void **state)
{
    (void)state;
    a = wl_arena_new(NULL);
    strcpy(parent, "/tmp/wl-test-XXXXXX");
    if (!mkdtemp(parent)) return -1;
    return setenv("WATTLAW_NODE_DIR", parent, 1);
}

static int teardown(void **state)
{
    (void)state;
    char *rm[] = { "rm", "-rf", parent, NULL };
    struct wl_process_result x;
    int rc = wl_process_run(&(struct wl_process_run) { .argv = rm }, NULL, &x, a, &e);
    wl_arena_free(a);
    return rc;
}

static const char *plain_path(void) { return wl_strf(a, "%s/wattlaw-%u", parent, (unsigned)geteuid()); }

static const char *folder(void)
{
    const char *found;
    if (wl_runtime_dir_open(&found, a, &e) < 0) fail_msg("%s", e.msg);
    return found;
}

static void only_a_folder_that_nobody_else_can_write_is_used(void **state)
{
    struct stat st;
    (void)state;
    assert_string_equal(folder(), plain_path());
    assert_string_equal(folder(), plain_path());
    assert_true(stat(plain_path(), &st) == 0 && (st.st_mode & 07777) == 0700);
    assert_int_equal(chmod(plain_path(), 0777), 0); /* others could have written to it */
    const char *other = folder();
    assert_string_not_equal(other, plain_path());
    assert_string_equal(folder(), other);
}

static void a_parent_without_sticky_bit_is_refused(void **state)
{
    const char *found;
    (void)state;
    assert_int_equal(chmod(parent, 0777), 0);
    assert_int_equal(wl_runtime_dir_open(&found, a, &e), WL_EPERM);
    assert_non_null(strstr(e.msg, "sticky bit"));
    assert_int_equal(chmod(parent, 01777), 0);
    assert_string_equal(folder(), plain_path());
}

/* All processes begin at once; each writes the name of the folder that it has found. */
static void assert_agreement(int n)
{
    int names[2];
    char first[1024] = "", name[1024];
    atomic_int *n_ready = mmap(NULL, sizeof *n_ready, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(n_ready != MAP_FAILED && pipe(names) == 0);
    for (int i = 0; i < n; i++) {
        pid_t pid = fork();
        if (pid < 0) atomic_store(n_ready, -n); /* out of processes: the others must not wait for this one */
        if (pid != 0) continue;
        atomic_fetch_add(n_ready, 1);
        while (atomic_load(n_ready) >= 0 && atomic_load(n_ready) < n) sched_yield();
        const char *found;
        memset(name, 0, sizeof name);
        snprintf(name, sizeof name, "%s", wl_runtime_dir_open(&found, a, &e) < 0 ? e.msg : found);
        _exit(write(names[1], name, sizeof name) != sizeof name);
    }
    close(names[1]);
    if (atomic_load(n_ready) < 0) fail_msg("fork failed");
    for (int i = 0; i < n; i++) {
        assert_int_equal(read(names[0], name, sizeof name), sizeof name);
        if (i == 0) strcpy(first, name);
        assert_string_equal(name, first);
    }
    close(names[0]);
    while (wait(NULL) > 0) continue;
    munmap(n_ready, sizeof *n_ready);
    assert_true(wl_str_starts(first, plain_path()) && strlen(first) > strlen(plain_path()));
    assert_int_equal(access(wl_path_join(a, first, "lock"), F_OK), 0);
}

static void all_processes_agree_on_one_folder(void **state)
{
    struct wl_strs names;
    (void)state;
    for (int round = 0; round < 6; round++) {
        int fd = open(plain_path(), O_WRONLY | O_CREAT | O_EXCL, 0600); /* not a folder, as if it were another user's */
        assert_true(fd >= 0);
        close(fd);
        assert_agreement(12);
        assert_int_equal(wl_dir_list(parent, &names, a, &e), 0);
        assert_int_equal(names.n, 2); /* folders that were made and not chosen have been removed */
        assert_agreement(3);
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

static void other_runtime_dirs_of_the_user_are_found(void **state)
{
    const char *found;
    (void)state;
    int fd = wl_runtime_dir_open(&found, a, &e);
    assert_true(fd >= 0);
    wl_runtime_dir_others(fd, count, NULL, a);
    assert_int_equal(found_others, 0);
    assert_int_equal(mkdir(wl_strf(a, "%s-0123456789abcdef", plain_path()), 0700), 0);
    assert_int_equal(mkdir(wl_strf(a, "%s0", plain_path()), 0700), 0); /* of another user */
    assert_int_equal(mkdir(wl_strf(a, "%s-short", plain_path()), 0700), 0);
    wl_runtime_dir_others(fd, count, NULL, a);
    assert_int_equal(found_others, 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(only_a_folder_that_nobody_else_can_write_is_used),
        TEST(a_parent_without_sticky_bit_is_refused),
        TEST(all_processes_agree_on_one_folder),
        TEST(other_runtime_dirs_of_the_user_are_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
