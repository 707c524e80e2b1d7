/* A new store is removed with all that was made for it; any other is left as it is. */
#include "helper.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static bool is_there(const char *path)
{
    struct stat st;
    return lstat(path, &st) == 0;
}

static size_t files_in(struct fixture *f, const char *folder)
{
    struct wl_strs names = { 0 };
    OK(wl_dir_list(folder, &names, f->arena, &f->e));
    return names.n;
}

static void put(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

/* In folders that are not there yet. */
static struct wl_store *create_deep(struct fixture *f)
{
    f->store = wl_path_join(f->arena, f->dir, "a//b/test.db");
    return create_store(f);
}

static void a_new_store_goes_with_its_folders(void **state)
{
    struct fixture *f = *state;
    struct wl_store *s = create_deep(f);
    int64_t run;
    const struct wl_run_plan plan = { .trial = add_trial(f, s, 2), .repeat = 1, .seed = 7, .position = 1 };
    OK(wl_store_plan_run(s, &plan, &run, &f->e));
    OK(wl_store_begin(s, &f->e)); /* as an import that fails: rolled back */
    OK(wl_store_add_log(s, run, "info", "test", "not committed", &f->e));
    const char *also = wl_path_join(f->arena, f->dir, "a/b/runs");
    assert_int_equal(mkdir(also, 0777), 0);
    wl_store_discard(s, also);
    assert_int_equal(files_in(f, f->dir), 0);
    s = create_deep(f); /* a plan alone, with the lock of a campaign */
    add_trial(f, s, 2);
    OK(wl_store_lock_campaign(s, 1, &f->e));
    wl_store_discard(s, NULL);
    wl_store_discard(s, NULL);
    assert_int_equal(files_in(f, f->dir), 0);
    wl_store_discard(NULL, NULL);
}

static void what_was_there_stays(void **state)
{
    struct fixture *f = *state;
    struct wl_store *s = create_deep(f);
    wl_store_close(s);
    OK(wl_store_open(&s, f->store, WL_STORE_CREATE, f->arena, &f->e));
    wl_store_discard(s, NULL);
    assert_true(is_there(f->store));
    unlink(f->store);
    const char *lock = wl_strf(f->arena, "%s-lock", f->store), *notes = wl_path_join(f->arena, f->dir, "a/b/notes");
    put(lock, "");
    put(notes, "");
    wl_store_discard(create_store(f), wl_path_join(f->arena, f->dir, "a/b"));
    assert_false(is_there(f->store));
    assert_int_equal(files_in(f, wl_path_join(f->arena, f->dir, "a/b")), 2); /* the folder was there, and isn't empty */
}

/* Nor are folders removed into which something came meanwhile. */
static void folders_with_other_files_stay(void **state)
{
    struct fixture *f = *state;
    struct wl_store *s = create_deep(f);
    put(wl_path_join(f->arena, f->dir, "a/notes"), "");
    wl_store_discard(s, NULL);
    assert_false(is_there(wl_path_join(f->arena, f->dir, "a/b")));
    assert_int_equal(files_in(f, wl_path_join(f->arena, f->dir, "a")), 1);
}

static void a_run_that_has_begun_stays(void **state)
{
    struct fixture *f = *state;
    struct wl_store *s = create_store(f);
    begin_run(f, s, add_trial(f, s, 2), 1);
    wl_store_discard(s, NULL);
    assert_true(is_there(f->store));
    OK(wl_store_open(&s, f->store, WL_STORE_READ, f->arena, &f->e));
    OK(wl_store_check(s, &f->e));
}

static void a_store_that_this_process_reads_stays(void **state)
{
    struct fixture *f = *state;
    struct wl_store *s = create_store(f), *reader;
    OK(wl_store_open(&reader, f->store, WL_STORE_READ, f->arena, &f->e));
    wl_store_discard(s, NULL);
    assert_true(is_there(f->store));
}

/* Opens the store when it is made, says so, and keeps it open until `down` is closed. */
static void use_it(struct fixture *f, int up, int down)
{
    struct wl_arena *a = wl_arena_new(NULL);
    struct wl_store *s;
    char byte;
    const bool made = read(down, &byte, 1) == 1, opened = wl_store_open(&s, f->store, WL_STORE_WRITE, a, NULL) == 0;
    if (made && opened && write(up, &byte, 1) == 1) (void)!read(down, &byte, 1);
    _exit(0);
}

static void a_store_that_others_use_stays(void **state)
{
    struct fixture *f = *state;
    int up[2], down[2];
    char byte = 0;
    assert_int_equal(pipe(up) + pipe(down), 0);
    const pid_t other = fork(); /* before there is a connection, which children must not inherit */
    if (other == 0) {
        close(down[1]);
        use_it(f, up[1], down[0]);
    }
    struct wl_store *s = create_store(f);
    assert_int_equal(write(down[1], &byte, 1), 1);
    assert_int_equal(read(up[0], &byte, 1), 1);
    wl_store_discard(s, NULL);
    assert_true(is_there(f->store));
    assert_true(is_there(wl_strf(f->arena, "%s-wal", f->store)));
    close(down[1]);
    assert_int_equal(waitpid(other, NULL, 0), other);
}

/* The name leads to another file by now, or did from the beginning. */
static void another_file_of_that_name_stays(void **state)
{
    struct fixture *f = *state;
    const char *mine = wl_path_join(f->arena, f->dir, "mine");
    put(mine, "mine");
    struct wl_store *s = create_store(f);
    assert_int_equal(rename(mine, f->store), 0);
    wl_store_discard(s, NULL);
    assert_true(is_there(f->store));
    unlink(f->store);
    s = create_store(f);
    put(mine, "mine");
    unlink(f->store);
    assert_int_equal(symlink(mine, f->store), 0);
    wl_store_discard(s, NULL);
    assert_true(is_there(f->store) && is_there(mine));
}

/* A link that leads nowhere yet: the store is made there, but it isn't known by whom. */
static void a_link_stays(void **state)
{
    struct fixture *f = *state;
    struct wl_store *s = NULL;
    assert_int_equal(symlink("far.db", f->store), 0);
    if (wl_store_open(&s, f->store, WL_STORE_CREATE, f->arena, &f->e) == 0) wl_store_discard(s, NULL);
    assert_true(is_there(f->store));
}

static void files_that_were_next_to_it_stay(void **state)
{
    struct fixture *f = *state;
    struct wl_store *s = NULL;
    put(wl_strf(f->arena, "%s-shm", f->store), "");
    OK(wl_store_open(&s, f->store, WL_STORE_CREATE, f->arena, &f->e));
    wl_store_discard(s, NULL);
    assert_true(is_there(f->store));
}

/* Without room for the first pages, for the log, for the schema. */
static void without_room_nothing_is_left(void **state)
{
    struct fixture *f = *state;
    static const rlim_t sizes[] = { 0, 100, 5000, 20000, 40000, 100000, 200000 };
    struct rlimit before, tight;
    signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &before);
    f->store = wl_path_join(f->arena, f->dir, "a/b/test.db");
    for (size_t i = 0; i < WL_COUNT(sizes); i++) {
        struct wl_store *s = NULL;
        tight = before;
        tight.rlim_cur = sizes[i];
        setrlimit(RLIMIT_FSIZE, &tight);
        const int rc = wl_store_open(&s, f->store, WL_STORE_CREATE, f->arena, &f->e);
        setrlimit(RLIMIT_FSIZE, &before);
        if (rc != WL_EIO) fail_msg("%d bytes: %d: %s", (int)sizes[i], rc, f->e.msg);
        if (files_in(f, f->dir)) fail_msg("%d bytes: something is left", (int)sizes[i]);
    }
    signal(SIGXFSZ, SIG_DFL);
    wl_store_close(create_store(f));
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(a_new_store_goes_with_its_folders),     TEST(what_was_there_stays),
        TEST(folders_with_other_files_stay),         TEST(a_run_that_has_begun_stays),
        TEST(a_store_that_this_process_reads_stays), TEST(a_store_that_others_use_stays),
        TEST(another_file_of_that_name_stays),       TEST(a_link_stays),
        TEST(files_that_were_next_to_it_stay),       TEST(without_room_nothing_is_left),
    };
    return cmocka_run_group_tests_name("discard", tests, NULL, NULL);
}
