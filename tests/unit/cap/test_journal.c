/* Journals of live and dead processes, other boots, other machines and other users, and broken ones. */
#include "fixture.h"

#include "cap/journal.h"

#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define LONG "sys/class/powercap/intel-rapl:0/constraint_0_power_limit_uw"

/* A process that sets 150 W, kills its guard and itself; returns its pid. */
static pid_t die_with_caps(struct fixture *p)
{
    pid_t pid = fork();
    if (pid == 0) {
        struct wl_caps *c;
        struct wl_cap_request r = watts(150);
        if (wl_caps_set(&c, &r, &p->opts, &p->power, p->a, &p->e) < 0) _exit(1);
        char *text;
        if (wl_file_read(wl_strf(p->a, "/proc/self/task/%d/children", getpid()), 4096, &text, NULL, p->a, &p->e) < 0)
            _exit(1);
        kill((pid_t)atol(text), SIGKILL);
        kill(getpid(), SIGKILL);
    }
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status));
    assert_string_equal(cap_fixture_get(p, LONG), "150000000");
    return pid;
}

static struct wl_restore_results restore(struct fixture *p, bool dry_run, bool force)
{
    struct wl_restore_results results;
    if (wl_cap_restore(&p->opts, NULL, (struct wl_cap_restore_flags) { dry_run, force }, &results, p->a, &p->e) < 0)
        fail_msg("%s", p->e.msg);
    return results;
}

/* Replaces a text in the only journal. */
static void edit(struct fixture *p, const char *from, const char *to)
{
    char *path = cap_fixture_journal(p), *text, *at;
    assert_int_equal(wl_file_read(path, 1 << 20, &text, NULL, p->a, &p->e), 0);
    assert_non_null(at = strstr(text, from));
    const char *changed = wl_strf(p->a, "%.*s%s%s", (int)(at - text), text, to, at + strlen(from));
    assert_int_equal(wl_file_write(path, changed, strlen(changed), &p->e), 0);
    assert_int_equal(chmod(path, 0644), 0);
}

static void a_written_journal_reads_back(void **state)
{
    struct fixture *p = *state;
    struct wl_journal_entry v[] = { { "nvml", "GPU-1", WL_CAP_POWER, 399.5, 250 },
                                    { "nvml", "GPU-1", WL_CAP_CLOCK, NAN, 900 } };
    struct wl_journal j = { .path = wl_path_join(p->a, p->dir, "x.caps"), .v = v, .n = 2 }, back;
    j.opts = (struct wl_cap_opts) { .command = "a \"b\" {watts}", .clock_restore = "c" };
    j.power = (struct wl_power_opts) { .nvml_library = "/x/lib.so", .root = "/r" };
    assert_int_equal(wl_holder_self(&j.holder, p->a, &p->e), 0);
    assert_int_equal(wl_journal_write(&j, &p->e), 0);
    if (wl_journal_read(j.path, &back, p->a, &p->e) < 0) fail_msg("%s", p->e.msg);
    assert_int_equal(back.n, 2);
    assert_true(back.v[0].found == 399.5 && back.v[0].set == 250 && isnan(back.v[1].found));
    assert_int_equal(back.v[1].kind, WL_CAP_CLOCK);
    assert_string_equal(back.opts.command, j.opts.command);
    assert_null(back.opts.restore);
    assert_string_equal(back.power.nvml_library, "/x/lib.so");
    assert_int_equal(back.holder.pid, getpid());
    const char *why;
    assert_int_equal(wl_holder_state_of(&back.holder, geteuid(), &why, p->a), WL_HOLDER_ALIVE);
    back.holder.started++; /* the pid was reused */
    assert_int_equal(wl_holder_state_of(&back.holder, geteuid(), &why, p->a), WL_HOLDER_DEAD);
}

static void caps_of_dead_processes_are_restored(void **state)
{
    struct fixture *p = *state;
    pid_t pid = die_with_caps(p);
    struct wl_restore_results results = restore(p, true, false);
    assert_int_equal(results.n, 4);
    assert_int_equal(results.v[0].state, WL_RESTORE_DONE);
    assert_int_equal(results.v[0].pid, pid);
    assert_string_equal(cap_fixture_get(p, LONG), "150000000");
    results = restore(p, false, false);
    assert_int_equal(results.v[0].state, WL_RESTORE_DONE);
    assert_string_equal(cap_fixture_get(p, LONG), "205000000");
    assert_int_equal(cap_fixture_journals(p), 0);
    assert_int_equal(restore(p, false, false).n, 0);
}

static void caps_of_live_processes_stay(void **state)
{
    struct fixture *p = *state;
    struct wl_caps *c, *second;
    struct wl_cap_request r = watts(150), other = watts(100);
    assert_int_equal(wl_caps_set(&c, &r, &p->opts, &p->power, p->a, &p->e), 0);
    struct wl_restore_results results = restore(p, false, true);
    assert_int_equal(results.v[0].state, WL_RESTORE_HELD);
    assert_string_equal(cap_fixture_get(p, LONG), "150000000");
    assert_int_equal(wl_caps_set(&second, &other, &p->opts, &p->power, p->a, &p->e), WL_EPERM);
    assert_non_null(strstr(p->e.msg, "holds it"));
    assert_string_equal(cap_fixture_get(p, LONG), "150000000");
    assert_int_equal(wl_caps_release(c, &p->e), 0);
}

static void after_a_reboot_defaults_count_as_unset(void **state)
{
    struct fixture *p = *state;
    struct wl_holder self;
    die_with_caps(p);
    assert_int_equal(wl_holder_self(&self, p->a, &p->e), 0);
    edit(p, self.boot_id, "11111111-2222-4333-8444-555555555555");
    struct wl_restore_results results = restore(p, false, false);
    assert_true(results.v[0].rebooted);
    assert_int_equal(results.v[0].state, WL_RESTORE_DONE);
    assert_string_equal(cap_fixture_get(p, LONG), "205000000");
}

static void a_value_set_by_others_since_stays(void **state)
{
    struct fixture *p = *state;
    die_with_caps(p);
    cap_fixture_put(p, LONG, "180000000\n");
    struct wl_restore_results results = restore(p, true, true);
    assert_int_equal(results.v[0].state, WL_RESTORE_DONE); /* with force */
    results = restore(p, false, false);
    assert_int_equal(results.v[0].state, WL_RESTORE_CHANGED_BY_OTHER);
    assert_int_equal(results.v[1].state, WL_RESTORE_DONE);
    assert_string_equal(cap_fixture_get(p, LONG), "180000000");
    assert_int_equal(cap_fixture_journals(p), 0);
}

static void caps_of_other_machines_and_containers_stay(void **state)
{
    struct fixture *p = *state;
    struct wl_holder self;
    die_with_caps(p);
    assert_int_equal(wl_holder_self(&self, p->a, &p->e), 0);
    edit(p, self.pid_ns, "pid:[1]");
    assert_int_equal(restore(p, false, false).v[0].state, WL_RESTORE_HELD);
    assert_string_equal(cap_fixture_get(p, LONG), "150000000");
    assert_int_equal(restore(p, false, true).v[0].state, WL_RESTORE_DONE);
    assert_string_equal(cap_fixture_get(p, LONG), "205000000");
}

static void an_unrestored_cap_stays_in_the_journal(void **state)
{
    struct fixture *p = *state;
    die_with_caps(p);
    cap_fixture_put(p, "sys/class/powercap/intel-rapl:0/name", "other\n"); /* the device is gone */
    struct wl_restore_results results = restore(p, false, false);
    assert_int_equal(results.v[0].state, WL_RESTORE_FAILED);
    assert_non_null(strstr(results.v[0].why, "no such device"));
    assert_int_equal(cap_fixture_journals(p), 1);
    cap_fixture_put(p, "sys/class/powercap/intel-rapl:0/name", "package-0\n");
    restore(p, false, false);
    assert_string_equal(cap_fixture_get(p, LONG), "205000000");
    assert_int_equal(cap_fixture_journals(p), 0);
}

/* Root uses neither tree nor library nor command from it, but restores what it names through its own options. */
static void root_uses_only_the_values_of_another_users_journal(void **state)
{
    struct fixture *p = *state;
    struct wl_restore_results results;
    die_with_caps(p);
    if (chown(cap_fixture_journal(p), 12345, (gid_t)-1)) {
        print_message("SKIP: only root can give files away\n");
        skip();
    }
    results = restore(p, false, false);
    assert_int_equal(results.v[0].state, WL_RESTORE_FAILED);
    assert_int_equal(results.v[0].user, 12345);
    assert_string_equal(cap_fixture_get(p, LONG), "150000000");
    assert_int_equal(cap_fixture_journals(p), 1);
    assert_int_equal(wl_cap_restore(&p->opts, &p->power, (struct wl_cap_restore_flags) { 0 }, &results, p->a, &p->e),
                     0);
    assert_int_equal(results.v[0].state, WL_RESTORE_DONE);
    assert_string_equal(cap_fixture_get(p, LONG), "205000000");
    assert_int_equal(results.v[1].state, WL_RESTORE_FAILED); /* the short-term limit has neither default nor maximum */
    assert_non_null(strstr(results.v[1].why, "default"));
    assert_int_equal(cap_fixture_journals(p), 1);
}

static void broken_journals_are_reported_by_name(void **state)
{
    struct fixture *p = *state;
    static const char unknown_setter[] = "{\"wattlaw_caps\": 1, \"holder\": {\"pid\": 1, \"boot_id\": \"x\", "
                                         "\"host\": \"h\"}, \"caps\": [{\"setter\": \"rapll\"}]}";
    static const char held[] = "{\"wattlaw_caps\": 1, \"holder\": {\"pid\": 1, \"boot_id\": \"x\", \"host\": "
                               "\"h\"}, \"caps\": [{\"kind\": \"power_cap_w\", \"setter\": \"service\", "
                               "\"device\": \"GPU-1\", \"found\": 400, \"set\": 250}]}"; /* it keeps its own journal */
    static const char *const broken[] = {
        "", "{", "[]", "{\"wattlaw_caps\": 2}", "{\"wattlaw_caps\": 1}", unknown_setter, held
    };
    for (size_t i = 0; i < WL_COUNT(broken); i++) {
        cap_fixture_put(p, "state/bad.caps", broken[i]);
        struct wl_restore_results results = restore(p, false, false);
        assert_int_equal(results.n, 1);
        assert_int_equal(results.v[0].state, WL_RESTORE_BAD_JOURNAL);
        if (!strstr(results.v[0].why, "bad.caps")) fail_msg("%s", results.v[0].why);
    }
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, cap_fixture_setup, cap_fixture_teardown)
    const struct CMUnitTest tests[] = {
        TEST(a_written_journal_reads_back),
        TEST(caps_of_dead_processes_are_restored),
        TEST(caps_of_live_processes_stay),
        TEST(after_a_reboot_defaults_count_as_unset),
        TEST(a_value_set_by_others_since_stays),
        TEST(caps_of_other_machines_and_containers_stay),
        TEST(an_unrestored_cap_stays_in_the_journal),
        TEST(root_uses_only_the_values_of_another_users_journal),
        TEST(broken_journals_are_reported_by_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
