/* A store that was made and in which nothing was stored leaves nothing; any other one stays. */
#include "helper.h"

#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <signal.h>

static int files_in(const char *folder, struct wl_arena *a)
{
    struct wl_strs names = { 0 };
    return wl_dir_list(folder, &names, a, NULL) ? -1 : (int)names.n;
}

static void a_new_store_leaves_nothing(void **state)
{
    struct fixture *f = *state;
    struct wl_store *s;
    const char *folder = wl_path_join(f->arena, f->dir, "new"), *path = wl_path_join(f->arena, folder, "x.db");
    OK(wl_store_open(&s, path, WL_STORE_CREATE, f->arena, &f->e));
    OK(wl_store_begin(s, &f->e));
    (void)add_trial(f, s, 2); /* is rolled back */
    wl_store_discard(s);
    wl_store_discard(s);
    assert_false(wl_is_dir(folder));
    mkdir(folder, 0700);
    OK(wl_store_open(&s, path, WL_STORE_CREATE, f->arena, &f->e));
    wl_store_discard(s);
    assert_int_equal(files_in(folder, f->arena), 0); /* the folder is not ours */
    wl_store_discard(NULL);
}

static void what_was_there_or_has_a_run_stays(void **state)
{
    struct fixture *f = *state;
    struct wl_store *s, *again;
    s = create_store(f);
    (void)begin_run(f, s, add_trial(f, s, 2), 1);
    wl_store_discard(s);
    assert_true(wl_is_file(f->store));
    const char *path = wl_path_join(f->arena, f->dir, "empty.db");
    OK(wl_store_open(&s, path, WL_STORE_CREATE, f->arena, &f->e));
    wl_store_close(s);
    OK(wl_store_open(&again, path, WL_STORE_CREATE, f->arena, &f->e));
    wl_store_discard(again);
    assert_true(wl_is_file(path));
}

/* SQLite's locks are those of processes. */
static void what_another_process_has_open_stays(void **state)
{
    struct fixture *f = *state;
    struct wl_store *s;
    int to_child[2], to_parent[2], status;
    char c = 0;
    assert_true(pipe(to_child) == 0 && pipe(to_parent) == 0);
    const pid_t pid = fork();
    if (pid == 0) {
        struct wl_store *other;
        f->dir = ""; /* a failure here must not remove the parent's folder */
        close(to_child[1]), close(to_parent[0]);
        if (read(to_child[0], &c, 1) != 1 || wl_store_open(&other, f->store, WL_STORE_CREATE, f->arena, &f->e))
            _exit(1);
        (void)!write(to_parent[1], &c, 1);
        if (read(to_child[0], &c, 1) != 1) _exit(2);
        (void)add_trial(f, other, 2);
        wl_store_close(other);
        _exit(0);
    }
    close(to_child[0]), close(to_parent[1]);
    OK(wl_store_open(&s, f->store, WL_STORE_CREATE, f->arena, &f->e));
    assert_true(write(to_child[1], &c, 1) == 1 && read(to_parent[0], &c, 1) == 1);
    wl_store_discard(s);
    assert_true(wl_is_file(f->store));
    assert_true(write(to_child[1], &c, 1) == 1 && waitpid(pid, &status, 0) == pid);
    assert_int_equal(status, 0);
    assert_true(wl_is_file(f->store));
    close(to_child[1]), close(to_parent[0]);
}

/* A limit on file sizes stands for a full disk. */
static void a_store_that_cannot_be_made_leaves_nothing(void **state)
{
    struct fixture *f = *state;
    struct wl_store *s;
    struct rlimit old, limit;
    getrlimit(RLIMIT_FSIZE, &old);
    signal(SIGXFSZ, SIG_IGN);
    for (rlim_t bytes = 1; bytes < 200000; bytes += 20000) {
        limit = (struct rlimit) { bytes, old.rlim_max };
        setrlimit(RLIMIT_FSIZE, &limit);
        f->e = (struct wl_err) { 0 };
        const int rc = wl_store_open(&s, f->store, WL_STORE_CREATE, f->arena, &f->e);
        setrlimit(RLIMIT_FSIZE, &old);
        if (rc == 0) {
            wl_store_discard(s);
        } else if (rc != WL_EIO && rc != WL_EINVAL) {
            fail_msg("%d: %s", rc, f->e.msg);
        }
        assert_int_equal(files_in(f->dir, f->arena), 0);
    }
    signal(SIGXFSZ, SIG_DFL);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
int main(void)
{
    const struct CMUnitTest tests[] = { TEST(a_new_store_leaves_nothing), TEST(what_was_there_or_has_a_run_stays),
                                        TEST(what_another_process_has_open_stays),
                                        TEST(a_store_that_cannot_be_made_leaves_nothing) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
