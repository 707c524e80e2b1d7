/* The state folder: which folders are accepted, what is read from it, its lock, and what journals of
 * several holders say together. */
#include "fixture.h"

#include "base/trust.h"
#include "cap/claims.h"
#include "cap/safe_file.h"
#include "cap/state_dir.h"

#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static char *at(struct fixture *p, const char *name) { return wl_path_join(p->a, p->state, name); }

static int setup(void **state)
{
    int rc = cap_fixture_setup(state);
    struct fixture *p = *state;
    if (rc == 0) rc = mkdir(p->state, 0755);
    return rc;
}

/* ---- folders ---- */

/* Its owner makes it sticky; one of another owner is rejected. */
static void other_users_cannot_clear_the_state_folder(void **state)
{
    struct fixture *p = *state;
    static const struct {
        mode_t mode, then;
        bool refused; /* if it is not ours */
    } cases[] = { { 0755, 0755, false }, { 0777, 01777, true }, { 02775, 03775, true }, { 01777, 01777, false } };
    for (size_t i = 0; i < WL_COUNT(cases); i++) {
        struct stat st;
        assert_int_equal(chmod(p->state, cases[i].mode), 0);
        assert_int_equal(wl_cap_state_make(p->state, &p->e), 0);
        assert_int_equal(stat(p->state, &st), 0);
        assert_int_equal(st.st_mode & 07777, cases[i].then);
        if (geteuid() != 0) continue;
        assert_int_equal(chown(p->state, 12345, 12345) || chmod(p->state, cases[i].mode), 0);
        assert_int_equal(wl_cap_state_make(p->state, &p->e), WL_EPERM); /* root: another user's, sticky or not */
        assert_true(!!strstr(p->e.msg, "chmod +t") == cases[i].refused);
        assert_int_equal(chown(p->state, 0, 0), 0);
    }
}

static void a_path_is_ours_if_nobody_else_can_replace_a_part(void **state)
{
    struct fixture *p = *state;
    cap_fixture_put(p, "state/inner/file", "");
    char *file = at(p, "inner/file"), *link = at(p, "link");
    assert_true(wl_path_is_ours(file));
    assert_false(wl_path_is_ours(at(p, "inner/none")));
    assert_false(wl_path_is_ours("state/inner/file")); /* a relative path */
    assert_int_equal(chmod(file, 0664), 0);
    assert_false(wl_path_is_ours(file));
    assert_int_equal(chmod(file, 0644), 0);
    assert_int_equal(chmod(p->state, 0777), 0);
    assert_false(wl_path_is_ours(file));
    assert_int_equal(chmod(p->state, 01777), 0);
    assert_true(wl_path_is_ours(file));
    assert_int_equal(mkdir(at(p, "open"), 0777) || chmod(at(p, "open"), 0777), 0);
    cap_fixture_put(p, "state/open/file", "");
    assert_int_equal(symlink(at(p, "open/file"), link), 0); /* the link is ours, its target is not */
    assert_false(wl_path_is_ours(link));
}

static void only_the_user_can_write_to_the_users_folder(void **state)
{
    struct fixture *p = *state;
    char *own, *again;
    mode_t before = umask(077);
    assert_int_equal(wl_cap_state_user_dir(p->state, &own, p->a, &p->e), 0);
    umask(before);
    struct stat st;
    assert_int_equal(stat(own, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0755);
    assert_int_equal(wl_cap_state_user_dir(p->state, &again, p->a, &p->e), 0);
    assert_string_equal(own, again);
    assert_int_equal(chmod(own, 0777), 0);
    assert_int_equal(wl_cap_state_user_dir(p->state, &again, p->a, &p->e), 0);
    assert_string_equal(again, wl_strf(p->a, "%s.1", own));
    assert_int_equal(rmdir(again) || symlink("/", again), 0);
    assert_int_equal(wl_cap_state_user_dir(p->state, &again, p->a, &p->e), 0);
    assert_string_equal(again, wl_strf(p->a, "%s.2", own));
}

/* ---- files of others ---- */

static void only_regular_files_are_read(void **state)
{
    struct fixture *p = *state;
    char *text;
    uid_t owner;
    static const struct {
        const char *name, *why;
    } bad[] = {
        { "fifo", "not a regular file" },
        { "link", "not a regular file" },
        { "folder", "not a regular file" },
        { "two", "more than one hard link" },
        { "open", "others than its owner" },
        { "large", "larger than 16 bytes" },
        { "zero", "a NUL byte" },
    };
    cap_fixture_put(p, "state/good", "0123456789abcdef");
    cap_fixture_put(p, "state/open", "x");
    cap_fixture_put(p, "state/two", "x");
    cap_fixture_put(p, "state/large", "0123456789abcdefg");
    assert_int_equal(wl_file_write(at(p, "zero"), "a\0b", 3, &p->e), 0);
    assert_int_equal(chmod(at(p, "open"), 0606) || link(at(p, "two"), at(p, "two.other")), 0);
    assert_int_equal(mkfifo(at(p, "fifo"), 0600) || symlink("good", at(p, "link")) || mkdir(at(p, "folder"), 0755), 0);
    assert_int_equal(wl_safe_file_read(at(p, "good"), 16, &text, &owner, p->a, &p->e), 0);
    assert_string_equal(text, "0123456789abcdef");
    assert_int_equal(owner, geteuid());
    for (size_t i = 0; i < WL_COUNT(bad); i++) {
        assert_int_equal(wl_safe_file_read(at(p, bad[i].name), 16, &text, &owner, p->a, &p->e), WL_EINVAL);
        if (!strstr(p->e.msg, bad[i].why) || !strstr(p->e.msg, bad[i].name)) fail_msg("%s: %s", bad[i].name, p->e.msg);
    }
    assert_int_equal(wl_safe_file_read(at(p, "none"), 16, &text, &owner, p->a, &p->e), WL_ENOENT);
    assert_int_equal(wl_safe_file_remove(at(p, "good"), geteuid() + 1, &p->e), WL_EPERM);
    assert_int_equal(wl_safe_file_remove(at(p, "two"), geteuid(), &p->e), WL_EINVAL);
    assert_int_equal(wl_safe_file_remove(at(p, "good"), geteuid(), &p->e), 0);
    assert_int_equal(access(at(p, "good"), F_OK), -1);
}

/* The file may be replaced between check and opening. */
static void a_file_swapped_during_opening_is_not_followed(void **state)
{
    struct fixture *p = *state;
    enum { READS = 4000 };
    int seen = 0;
    cap_fixture_put(p, "state/file", "good");
    cap_fixture_put(p, "secret", "secret");
    assert_int_equal(mkfifo(at(p, "fifo"), 0644) || symlink("../secret", at(p, "link")), 0);
    pid_t pid = fork();
    assert_true(pid >= 0);
    while (pid == 0)
        if (syscall(SYS_renameat2, AT_FDCWD, at(p, "file"), AT_FDCWD, at(p, "fifo"), RENAME_EXCHANGE) ||
            syscall(SYS_renameat2, AT_FDCWD, at(p, "file"), AT_FDCWD, at(p, "link"), RENAME_EXCHANGE))
            _exit(1);
    for (int i = 0; i < READS; i++) {
        char *text;
        uid_t owner;
        if (wl_safe_file_read(at(p, "file"), 16, &text, &owner, p->a, &p->e) < 0) continue;
        assert_string_equal(text, "good");
        seen++;
    }
    kill(pid, SIGKILL);
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status)); /* it ran until then */
    assert_true(seen < READS);
}

static void files_of_other_users_are_limited_in_number(void **state)
{
    struct fixture *p = *state;
    struct wl_strs paths, why;
    char *own = wl_strf(p->a, "%u", (unsigned)geteuid()), *other = wl_strf(p->a, "%u", (unsigned)geteuid() + 1);
    cap_fixture_put(p, "state/a.caps", "");
    cap_fixture_put(p, "state/a.other", "");
    cap_fixture_put(p, wl_strf(p->a, "state/%s/b.caps", own), "");
    cap_fixture_put(p, wl_strf(p->a, "state/%s.3/c.caps", own), "");
    cap_fixture_put(p, wl_strf(p->a, "state/%s/d.caps", other), "");
    cap_fixture_put(p, "state/campaign/d.caps", "");
    cap_fixture_put(p, wl_strf(p->a, "state/%s.03/d.caps", own), "");
    cap_fixture_put(p, wl_strf(p->a, "state/%s.99999999999/d.caps", own), "");
    for (int i = 0; i < 4; i++) cap_fixture_put(p, wl_strf(p->a, "state/%d.caps", 1000 + i), "");
    assert_int_equal(symlink(own, at(p, wl_strf(p->a, "%s.4", own))), 0);
    assert_int_equal(wl_cap_state_files(p->state, ".caps", 3, &paths, &why, p->a, &p->e), 0);
    assert_int_equal(paths.n, 5);
    assert_string_equal(paths.v[3], at(p, wl_strf(p->a, "%s/b.caps", own)));
    assert_string_equal(paths.v[4], at(p, wl_strf(p->a, "%s.3/c.caps", own)));
    assert_int_equal(why.n, 3);
    assert_non_null(strstr(why.v[0], "5 files"));
    assert_int_equal(wl_cap_state_files(at(p, "none"), ".caps", 3, &paths, &why, p->a, &p->e), WL_ENOENT);
}

static void a_file_is_world_readable_whatever_the_umask(void **state)
{
    struct fixture *p = *state;
    struct stat st;
    char *text;
    uid_t owner;
    static const mode_t masks[] = { 0, 077, 002 };
    cap_fixture_put(p, "state/x.caps.part", "left by a dead one");
    for (size_t i = 0; i < WL_COUNT(masks); i++) {
        mode_t before = umask(masks[i]);
        int rc = wl_safe_file_write(at(p, "x.caps"), "text", &p->e);
        umask(before);
        assert_int_equal(rc, 0);
        assert_int_equal(stat(at(p, "x.caps"), &st), 0);
        assert_int_equal(st.st_mode & 0777, 0644);
        assert_int_equal(wl_safe_file_read(at(p, "x.caps"), 16, &text, &owner, p->a, &p->e), 0);
        assert_string_equal(text, "text");
        assert_int_equal(access(at(p, "x.caps.part"), F_OK), -1);
    }
    assert_int_equal(wl_safe_file_write(at(p, "none/x.caps"), "text", &p->e), WL_ENOENT);
}

static void a_lock_times_out_and_names_its_holder(void **state)
{
    struct fixture *p = *state;
    static const double CALL_S = 0.05;
    int first = wl_cap_state_lock(p->state, CALL_S, &p->e);
    assert_true(first >= 0);
    int64_t begin_ns = wl_now_ns();
    assert_int_equal(wl_cap_state_lock(p->state, CALL_S, &p->e), WL_EHUNG);
    assert_true(wl_now_ns() - begin_ns >= (int64_t)(2 * CALL_S * WL_NS_PER_S));
    if (!strstr(p->e.msg, wl_strf(p->a, "process %d (", (int)getpid()))) fail_msg("%s", p->e.msg);
    close(first);
    first = wl_cap_state_lock(p->state, CALL_S, &p->e);
    assert_true(first >= 0);
    close(first);
}

/* ---- what several journals say ---- */

static const struct wl_control control = { .kind = WL_CAP_POWER,
                                           .range = { .min = 100, .max = 500 },
                                           .default_value = 400 };
static struct wl_journal_entry cap(double found, double set)
{
    return (struct wl_journal_entry) {
        .setter = "nvml", .device = "GPU-1", .kind = WL_CAP_POWER, .found = found, .set = set
    };
}

static void another_users_value_has_bounds(void **state)
{
    struct fixture *p = *state;
    static const struct {
        double found, now;
        bool doubt, forced;
    } cases[] = {
        { 400, 250, false, false }, { 300, 250, false, false }, { 200, 250, true, false }, { 450, 250, true, false },
        { 501, 250, true, true },   { 99, 50, true, true },     { NAN, 250, true, true },  { 400, 400, false, false },
    };
    for (size_t i = 0; i < WL_COUNT(cases); i++) {
        struct wl_journal_entry e = cap(cases[i].found, 250);
        bool doubt = wl_journal_entry_refusal(&e, &control, cases[i].now, false, p->a);
        bool forced = wl_journal_entry_refusal(&e, &control, cases[i].now, true, p->a);
        if (doubt != cases[i].doubt || forced != cases[i].forced)
            fail_msg("found %g, now %g", cases[i].found, cases[i].now);
    }
    struct wl_control unknown = control, write_only = control;
    unknown.default_value = unknown.range.max = NAN;
    write_only.write_only = true;
    struct wl_journal_entry e = cap(400, 250), unlock = cap(NAN, 900);
    assert_non_null(wl_journal_entry_refusal(&e, &unknown, 250, false, p->a));
    assert_null(wl_journal_entry_refusal(&unlock, &write_only, NAN, false, p->a));
}

static void the_first_holders_value_is_the_original(void **state)
{
    struct fixture *p = *state;
    struct wl_journal_entry first = cap(400, 250), second = cap(250, 200), lower = cap(120, 400), other = cap(390, 200);
    other.device = "GPU-2";
    struct wl_claim claims[] = {
        { .j = { .owner = 1, .holder = { .pid = 1, .started = 4 }, .v = &other, .n = 1 },
          .holder_state = WL_HOLDER_DEAD },
        { .j = { .owner = 1, .holder = { .pid = 2, .started = 3 }, .v = &second, .n = 1 },
          .holder_state = WL_HOLDER_DEAD },
        { .j = { .owner = 2, .holder = { .pid = 3, .started = 2 }, .v = &first, .n = 1 },
          .holder_state = WL_HOLDER_DEAD },
        { .j = { .owner = 3, .holder = { .pid = 4, .started = 1 }, .v = &lower, .n = 1 },
          .holder_state = WL_HOLDER_DEAD },
    };
    struct wl_claims all = { .v = claims, .n = WL_COUNT(claims) };
    struct wl_journal self = { .owner = 4, .holder = { .pid = 9 } };
    struct wl_journal_entry mine = cap(200, 150);
    const struct wl_claim *whose;
    assert_true(wl_claims_original(&all, &self, &mine, &control, &whose) ==
                400); /* 200 <- 250 <- 400, and not to 120 */
    assert_ptr_equal(whose, &claims[2]);
    claims[2].holder_state = WL_HOLDER_ALIVE; /* it restores its cap itself */
    assert_true(wl_claims_original(&all, &self, &mine, &control, &whose) == 250);
    claims[2].holder_state = WL_HOLDER_DEAD;
    mine.found = 300; /* not a known cap: set by somebody since, so it is the original */
    assert_true(wl_claims_original(&all, &self, &mine, &control, &whose) == 300);
    assert_null(whose);
    mine.found = 200;
    assert_true(wl_claims_original(&all, &claims[1].j, &mine, &control, &whose) ==
                200); /* a claim does not conflict with itself */
    claims[1].settled = true;
    assert_true(wl_claims_original(&all, &self, &mine, &control, &whose) == 200);
    (void)p;
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, cap_fixture_teardown)
    const struct CMUnitTest tests[] = {
        TEST(other_users_cannot_clear_the_state_folder),
        TEST(a_path_is_ours_if_nobody_else_can_replace_a_part),
        TEST(only_the_user_can_write_to_the_users_folder),
        TEST(only_regular_files_are_read),
        TEST(a_file_swapped_during_opening_is_not_followed),
        TEST(files_of_other_users_are_limited_in_number),
        TEST(a_lock_times_out_and_names_its_holder),
        TEST(a_file_is_world_readable_whatever_the_umask),
        TEST(another_users_value_has_bounds),
        TEST(the_first_holders_value_is_the_original),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
