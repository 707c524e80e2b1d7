/* Files that replace others, and what is left of them when their writer dies. */
#include "base/base.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static struct wl_arena *a;
static struct wl_err e;
static char dir[64];

static int setup(void **state)
{
    (void)state;
    a = wl_arena_new(NULL);
    strcpy(dir, "/tmp/wl-test-XXXXXX");
    return mkdtemp(dir) ? 0 : -1;
}

static int teardown(void **state)
{
    (void)state;
    char *rm[] = { "rm", "-rf", dir, NULL };
    struct wl_process_result x;
    int rc = wl_process_run(&(struct wl_process_run) { .argv = rm }, NULL, &x, a, &e);
    wl_arena_free(a);
    return rc;
}

static char *path_in_dir(const char *name) { return wl_path_join(a, dir, name); }

static void write_text(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0644);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    close(fd);
}

static const char *content(const char *path)
{
    char *text;
    if (wl_file_read(path, 1000, &text, NULL, a, &e) < 0) fail_msg("%s", e.msg);
    return text;
}

static size_t count_files(void)
{
    struct wl_strs names;
    assert_int_equal(wl_dir_list(dir, &names, a, &e), 0);
    return names.n;
}

static void other_temporary_names_are_not_touched(void **state)
{
    (void)state;
    const char *const theirs[] = { "F.tmp",       "F.part",
                                   "F.partial",   ".F.wattlaw-0123456789abcdef01234567",
                                   ".F.wattlaw-", "F.wattlaw-0123456789abcdef01234567",
                                   ".F.swp" };
    char pid[64];
    snprintf(pid, sizeof pid, "F.%ld.tmp", (long)getpid());
    for (size_t i = 0; i < WL_COUNT(theirs); i++) write_text(path_in_dir(theirs[i]), "theirs");
    write_text(path_in_dir(pid), "theirs");
    assert_int_equal(wl_file_write(path_in_dir("F"), "ours", 4, &e), 0);
    assert_string_equal(content(path_in_dir("F")), "ours");
    for (size_t i = 0; i < WL_COUNT(theirs); i++) assert_string_equal(content(path_in_dir(theirs[i])), "theirs");
    assert_string_equal(content(path_in_dir(pid)), "theirs");
    assert_int_equal(count_files(), WL_COUNT(theirs) + 2);
}

static void links_are_not_followed(void **state)
{
    (void)state;
    write_text(path_in_dir("precious"), "theirs");
    assert_int_equal(symlink("precious", path_in_dir("F")), 0);
    assert_int_equal(wl_file_write(path_in_dir("F"), "x", 1, &e), WL_EINVAL);
    assert_non_null(strstr(e.msg, "F: is a symbolic link"));
    assert_int_equal(wl_file_write_user(path_in_dir("F"), "x", 1, &e), WL_EINVAL);
    assert_int_equal(symlink("nothing", path_in_dir("G")), 0);
    assert_int_equal(wl_file_write_user(path_in_dir("G"), "x", 1, &e), WL_EINVAL);
    assert_string_equal(content(path_in_dir("precious")), "theirs");
    assert_int_equal(count_files(), 3);
}

static void a_pipe_named_by_the_user_is_written_to(void **state)
{
    (void)state;
    char got[8] = "";
    assert_int_equal(mkfifo(path_in_dir("fifo"), 0600), 0);
    assert_int_equal(wl_file_write(path_in_dir("fifo"), "one", 3, &e), WL_EINVAL); /* and nobody waits for a reader */
    assert_non_null(strstr(e.msg, "not a regular file"));
    assert_int_equal(wl_file_write(dir, "one", 3, &e), WL_EINVAL);
    assert_non_null(strstr(e.msg, "is a folder"));
    int fd = open(path_in_dir("fifo"), O_RDWR);
    assert_int_equal(wl_file_write_user(path_in_dir("fifo"), "one", 3, &e), 0);
    assert_int_equal(read(fd, got, sizeof got), 3);
    close(fd);
    assert_int_equal(wl_file_write_user("/dev/null", "one", 3, &e), 0);
    assert_int_equal(symlink("/dev/null", path_in_dir("null")), 0);
    assert_int_equal(wl_file_write_user(path_in_dir("null"), "one", 3, &e), 0);
    assert_true(wl_file_write_user("/dev/full", "one", 3, &e) < 0);
    assert_non_null(strstr(e.msg, "No space"));
    struct stat st;
    assert_true(lstat(path_in_dir("fifo"), &st) == 0 && S_ISFIFO(st.st_mode));
}

/* As a shell does for `>> log`: what the file had stays. */
static void descriptors_are_written_to_in_place(void **state)
{
    (void)state;
    char name[32];
    write_text(path_in_dir("log"), "before ");
    int fd = open(path_in_dir("log"), O_WRONLY | O_APPEND);
    snprintf(name, sizeof name, "/dev/fd/%d", fd);
    assert_int_equal(wl_file_write_user(name, "after", 5, &e), 0);
    close(fd);
    assert_string_equal(content(path_in_dir("log")), "before after");
    assert_true(wl_file_write_user("/dev/fd/987", "x", 1, &e) < 0);
}

static void permissions_are_kept(void **state)
{
    (void)state;
    struct stat st;
    write_text(path_in_dir("F"), "secret");
    assert_int_equal(chmod(path_in_dir("F"), 0600), 0);
    assert_int_equal(wl_file_write(path_in_dir("F"), "new", 3, &e), 0);
    assert_int_equal(stat(path_in_dir("F"), &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
}

static void the_target_is_unchanged_without_a_commit(void **state)
{
    (void)state;
    struct wl_atomic_file o;
    write_text(path_in_dir("F"), "old");
    assert_int_equal(wl_atomic_file_open(&o, path_in_dir("F"), WL_ATOMIC_FILE_INTERNAL, &e), 0);
    assert_true(fputs("new", wl_atomic_file_stream(&o)) >= 0);
    assert_int_equal(count_files(), 2);
    wl_atomic_file_discard(&o);
    wl_atomic_file_discard(&o);
    assert_string_equal(content(path_in_dir("F")), "old");
    assert_int_equal(count_files(), 1);
    char long_name[300];
    memset(long_name, 'x', sizeof long_name);
    long_name[255] = '\0'; /* the longest there is: the name beside it is cut */
    assert_int_equal(wl_file_write(path_in_dir(long_name), "x", 1, &e), 0);
    assert_int_equal(count_files(), 2);
}

static pid_t writer_that_waits(const char *path)
{
    int ready[2];
    char byte;
    assert_int_equal(pipe(ready), 0);
    pid_t pid = fork();
    if (pid == 0) {
        struct wl_atomic_file o;
        struct wl_tempdir f;
        if (wl_atomic_file_open(&o, path, WL_ATOMIC_FILE_INTERNAL, &e) || wl_atomic_file_write(&o, "half", 4, &e))
            _exit(1);
        if (wl_tempdir(&f, path, &e) || mkdir(f.inner, 0777) || write(ready[1], "", 1) != 1) _exit(1);
        for (;;) pause();
    }
    close(ready[1]);
    assert_int_equal(read(ready[0], &byte, 1), 1);
    close(ready[0]);
    return pid;
}

static void files_of_dead_writers_are_removed(void **state)
{
    (void)state;
    pid_t pid = writer_that_waits(path_in_dir("F"));
    assert_int_equal(count_files(), 2);
    assert_int_equal(wl_tempfile_clean(dir), 0); /* it lives */
    assert_int_equal(wl_file_write(path_in_dir("F"), "x", 1, &e), 0);
    assert_int_equal(count_files(), 3);
    kill(pid, SIGKILL);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    setenv("WATTLAW_HOST", "another-machine", 1); /* whose processes are not ours to judge */
    assert_int_equal(wl_tempfile_clean(dir), 0);
    unsetenv("WATTLAW_HOST");
    assert_int_equal(wl_tempfile_clean(dir), 2);
    assert_int_equal(count_files(), 1);
}

/* A name of ours, but of something that we never make: a link, a second name of a file. */
static void a_link_or_a_foreign_file_of_such_a_name_is_kept(void **state)
{
    (void)state;
    char name[WL_TEMPFILE_PATH], *moved;
    int fd = wl_tempfile(name, path_in_dir("F"), 0666, &e);
    assert_true(fd >= 0 && wl_tempfile_is_name(wl_path_base(name)));
    assert_true(wl_tempfile_is_name_of_any_host(wl_path_base(name)) && !wl_tempfile_is_name_of_any_host("notes.txt"));
    const char *elsewhere = ".a.db.wattlaw-1edebaaab1cbeea795d00140"; /* its last digits are of another host */
    assert_true(wl_tempfile_is_name_of_any_host(elsewhere) && !wl_tempfile_is_name(elsewhere));
    close(fd);
    unlink(name);
    write_text(path_in_dir("precious"), "theirs");
    assert_int_equal(symlink("precious", name), 0);
    assert_int_equal(wl_tempfile_clean(dir), 0);
    unlink(name);
    assert_int_equal(link(path_in_dir("precious"), name), 0);
    assert_int_equal(wl_tempfile_clean(dir), 0);
    unlink(name);
    assert_int_equal(mkdir(name, 0777), 0);
    write_text(wl_path_join(a, name, "file"), "theirs"); /* a folder without our lock */
    assert_int_equal(wl_tempfile_clean(dir), 0);
    if (geteuid() == 0) { /* another user's */
        moved = path_in_dir("moved");
        assert_int_equal(rename(name, moved), 0);
        write_text(name, "theirs");
        assert_int_equal(chown(name, 65534, 65534), 0);
        assert_int_equal(wl_tempfile_clean(dir), 0);
    }
}

/* Whoever may rename in a shared folder cannot remove what is in a folder of ours, but could give it a name of ours. */
static void a_renamed_folder_is_kept(void **state)
{
    (void)state;
    char name[WL_TEMPFILE_PATH];
    int fd = wl_tempfile(name, path_in_dir("F"), 0666, &e);
    assert_true(fd >= 0);
    close(fd);
    unlink(name);
    assert_int_equal(mkdir(name, 0777), 0);
    write_text(wl_path_join(a, name, "lock"), "");
    write_text(wl_path_join(a, name, "thesis"), "mine");
    assert_int_equal(wl_tempfile_clean(dir), 0);
    unlink(wl_path_join(a, name, "lock"));
    write_text(wl_path_join(a, name, "lock"), ".another.wattlaw-name");
    assert_int_equal(wl_tempfile_clean(dir), 0);
    assert_string_equal(content(wl_path_join(a, name, "thesis")), "mine");
}

/* All that a command has made in it, and nothing that a link leads to. */
static void a_folder_is_removed_with_its_content(void **state)
{
    (void)state;
    struct wl_tempdir f;
    write_text(path_in_dir("precious"), "theirs");
    assert_int_equal(mkdir(path_in_dir("theirs"), 0777), 0);
    write_text(path_in_dir("theirs/file"), "theirs");
    size_t before = count_files();
    assert_int_equal(wl_tempdir(&f, path_in_dir("data"), &e), 0);
    assert_int_equal(mkdir(f.inner, 0777), 0);
    assert_int_equal(mkdir(wl_path_join(a, f.inner, "lock"), 0777), 0);
    write_text(wl_path_join(a, f.inner, "lock/file"), "x");
    assert_int_equal(symlink(path_in_dir("theirs"), wl_path_join(a, f.inner, "link")), 0);
    assert_int_equal(link(path_in_dir("precious"), wl_path_join(a, f.inner, "name")), 0);
    wl_tempdir_remove(&f);
    assert_int_equal(count_files(), before);
    assert_string_equal(content(path_in_dir("theirs/file")), "theirs");
    assert_string_equal(content(path_in_dir("precious")), "theirs");
    /* another folder has come in its place */
    assert_int_equal(wl_tempdir(&f, path_in_dir("data"), &e), 0);
    assert_int_equal(rename(f.path, path_in_dir("moved")), 0);
    assert_int_equal(symlink(path_in_dir("theirs"), f.path), 0);
    write_text(path_in_dir("theirs/lock"), "theirs");
    wl_tempdir_remove(&f);
    assert_string_equal(content(path_in_dir("theirs/lock")), "theirs");
}

/* Who cleans up meets writers at every moment: none of them may lose its file. */
static void cleaning_does_not_disturb_a_writer(void **state)
{
    enum { WRITERS = 3, FILES = 300 };
    (void)state;
    pid_t pids[WRITERS + 1];
    for (int w = 0; w <= WRITERS; w++) {
        pids[w] = fork();
        if (pids[w] != 0) continue;
        char path[128];
        snprintf(path, sizeof path, "%s/%d", dir, w);
        for (int i = 0; i < FILES; i++) {
            if (w == WRITERS) wl_tempfile_clean(dir);
            if (w < WRITERS && wl_file_write(path, "x", 1, &e)) _exit(1);
        }
        _exit(0);
    }
    for (int w = 0; w <= WRITERS; w++) {
        int status;
        assert_int_equal(waitpid(pids[w], &status, 0), pids[w]);
        assert_int_equal(status, 0);
    }
    assert_int_equal(count_files(), WRITERS);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

/* ---- memory on disk ---- */

static void spilled_memory_is_a_file_without_a_name(void **state)
{
    (void)state;
    enum { BYTES = 3 << 20 };
    const size_t before = count_files();
    struct wl_arena *own = wl_arena_new(a);
    char *at = wl_spill_alloc(path_in_dir("x.db"), BYTES, own), *maps;
    assert_non_null(at);
    assert_int_equal(count_files(), before);
    for (size_t i = 0; i < BYTES; i += 4096) assert_int_equal(at[i], 0);
    memset(at, 'x', BYTES);
    assert_int_equal(wl_file_read("/proc/self/maps", 1 << 24, &maps, NULL, own, &e), 0);
    assert_non_null(strstr(maps, wl_strf(own, "%s/.x.db.wattlaw-", dir))); /* not anonymous memory */
    wl_spill_rest(at + 1, BYTES - 1);
    for (size_t i = 0; i < BYTES; i += 4096) assert_int_equal(at[i], 'x');
    const int fd = wl_spill_file(path_in_dir("x.db"), own, &e);
    assert_true(fd >= 0 && write(fd, "abc", 3) == 3);
    assert_int_equal(count_files(), before);
    wl_arena_free(own);
    assert_int_equal(fcntl(fd, F_GETFD), -1);
    assert_null(wl_spill_alloc(path_in_dir("missing/x.db"), BYTES, a));
    assert_int_equal(wl_spill_file(path_in_dir("missing/x.db"), a, &e), WL_ENOENT);
    assert_null(wl_spill_alloc(path_in_dir("x.db"), (size_t)1 << 55, a)); /* more than any disk */
    assert_int_equal(count_files(), before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(other_temporary_names_are_not_touched),
        TEST(links_are_not_followed),
        TEST(a_pipe_named_by_the_user_is_written_to),
        TEST(descriptors_are_written_to_in_place),
        TEST(permissions_are_kept),
        TEST(the_target_is_unchanged_without_a_commit),
        TEST(files_of_dead_writers_are_removed),
        TEST(a_link_or_a_foreign_file_of_such_a_name_is_kept),
        TEST(a_renamed_folder_is_kept),
        TEST(a_folder_is_removed_with_its_content),
        TEST(cleaning_does_not_disturb_a_writer),
        TEST(spilled_memory_is_a_file_without_a_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
