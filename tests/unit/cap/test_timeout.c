/* Drivers and commands that hang: what is reported, what is restored, what stays in the journal. */
#include "fixture.h"

#include "cap/journal.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const double WAIT_S = 0.6;

static int setup(void **state)
{
    int rc = cap_fixture_setup(state);
    struct fixture *p = *state;
    p->opts.wait_s = WAIT_S;
    return rc;
}

/* Two simulated GPUs whose limits are kept in a file. A library that was left hanging stays loaded, so each test has a
 * copy of it. */
static void gpus(struct fixture *p, const char *faults)
{
    enum { LIBRARY_MAX = 16 << 20 };
    char *text;
    size_t n;
    cap_fixture_gpus(p, wl_strf(p->a, "gpus=2; %s", faults));
    const char *own = wl_path_join(p->a, p->dir, "libnvidia-ml.so.1");
    assert_int_equal(wl_file_read(p->power.nvml_library, LIBRARY_MAX, &text, &n, p->a, &p->e), 0);
    assert_int_equal(wl_file_write(own, text, n, &p->e), 0);
    p->power.nvml_library = own;
}

static const char *uuid(struct fixture *p, int gpu)
{
    return wl_strf(p->a, "GPU-a000000%d-0000-4000-8000-fa4e00000000", gpu);
}

static int set(struct fixture *p, struct wl_caps **c)
{
    struct wl_cap_request r = watts(250);
    return wl_caps_set(c, &r, &p->opts, &p->power, p->a, &p->e);
}

static void assert_hung(struct fixture *p, int rc, const char *const *texts)
{
    if (rc != WL_EHUNG) fail_msg("%d: %s", rc, rc < 0 ? p->e.msg : "");
    for (; *texts; texts++)
        if (!strstr(p->e.msg, *texts)) fail_msg("'%s' does not say %s", p->e.msg, *texts);
}

/* A GPU's limit in the driver, W; 0: never set. */
static double limit_w(struct fixture *p, int gpu)
{
    unsigned record[4] = { 0 }; /* struct fake_limits */
    FILE *f = fopen(wl_path_join(p->a, p->dir, "gpus"), "rb");
    if (!f) return 0;
    bool read = fseek(f, gpu * (long)sizeof record, SEEK_SET) == 0 && fread(record, sizeof record, 1, f) == 1;
    fclose(f);
    return read ? record[0] * 1e-3 : 0;
}

static struct wl_journal read_journal(struct fixture *p)
{
    struct wl_journal j;
    if (wl_journal_read(cap_fixture_journal(p), &j, p->a, &p->e) < 0) fail_msg("%s", p->e.msg);
    return j;
}

/* The limit of the second GPU is set after all timeouts. */
static void a_hung_set_keeps_its_journal_entry(void **state)
{
    struct fixture *p = *state;
    struct wl_caps *c;
    gpus(p, "hang=1:SetPowerManagementLimit:0:2.5");
    int64_t t0 = wl_now_ns();
    int rc = set(p, &c);
    assert_hung(p, rc,
                (const char *[]) { uuid(p, 1), "no answer from the driver for 0.6 s", "power_cap_w was set to 250 W",
                                   "wattlaw restore", NULL });
    assert_true(wl_now_ns() - t0 < 10 * WL_NS_PER_S);
    assert_true(limit_w(p, 0) == 400 && limit_w(p, 1) == 0);
    struct wl_journal j = read_journal(p);
    assert_int_equal(j.n, 1);
    assert_string_equal(j.v[0].device, uuid(p, 1));
    assert_true(j.v[0].found == 400 && j.v[0].set == 250);

    /* until this process has ended, nobody may treat what it may still set as restored, not even itself */
    assert_int_equal(set(p, &c), WL_EPERM);
    assert_non_null(strstr(p->e.msg, "holds it"));
    struct wl_restore_results results;
    assert_int_equal(wl_cap_restore(&p->opts, NULL, (struct wl_cap_restore_flags) { 0 }, &results, p->a, &p->e), 0);
    assert_int_equal(results.n, 1);
    assert_int_equal(results.v[0].state, WL_RESTORE_HELD);
    while (limit_w(p, 1) != 250) usleep(10000);
}

/* At the read-back one GPU of two no longer answers. */
static void a_hung_read_back_flags_the_run(void **state)
{
    struct fixture *p = *state;
    struct wl_caps *c;
    gpus(p, "hang=0:GetPowerManagementLimit:2:8");
    if (set(p, &c) < 0) fail_msg("%s", p->e.msg);
    assert_true(limit_w(p, 0) == 250 && limit_w(p, 1) == 250);
    usleep(2000000);
    const char *flag = wl_caps_check(c);
    assert_non_null(flag);
    assert_non_null(strstr(flag, "no answer"));
    int rc = wl_caps_release(c, &p->e);
    assert_hung(p, rc, (const char *[]) { uuid(p, 0), "power_cap_w was read", "wattlaw restore", NULL });
    assert_true(limit_w(p, 0) == 250 && limit_w(p, 1) == 400);
    struct wl_journal j = read_journal(p);
    assert_int_equal(j.n, 1);
    assert_string_equal(j.v[0].device, uuid(p, 0));
}

static void a_driver_that_hangs_at_opening_sets_nothing(void **state)
{
    struct fixture *p = *state;
    struct wl_caps *c;
    p->power.wait_s = p->opts.wait_s = 0.1;
    gpus(p, "hang=*:Init:0:2");
    int rc = set(p, &c);
    assert_hung(p, rc,
                (const char *[]) { "power_cap_w cannot be set", "no answer from the driver within 0.5 s", NULL });
    assert_int_equal(cap_fixture_journals(p), 0);
}

static void a_hung_probe_is_reported(void **state)
{
    struct fixture *p = *state;
    struct wl_cap_ability can;
    gpus(p, "hang=0:SetPowerManagementLimit");
    wl_cap_probe(WL_CAP_POWER, &p->opts, &p->power, &can, p->a);
    assert_non_null(can.why);
    assert_non_null(strstr(can.why, "no answer from the driver for 0.6 s"));
}

/* It is killed with all its descendants, so that nothing is set later. */
static void a_hung_command_is_killed(void **state)
{
    struct fixture *p = *state;
    struct wl_caps *c;
    gpus(p, "");
    const char *late = wl_path_join(p->a, p->dir, "late");
    p->opts.command = wl_strf(p->a, "sh -c '(sleep 1; touch %s) & sleep 100; : {watts}'", late);
    p->opts.restore = "true";
    int64_t t0 = wl_now_ns();
    int rc = set(p, &c);
    assert_int_equal(rc, WL_EIO);
    assert_non_null(strstr(p->e.msg, "took longer than 0.6 s and was killed"));
    assert_int_equal(cap_fixture_journals(p), 0);
    while (wl_now_ns() - t0 < 3 * (int64_t)WL_NS_PER_S / 2) usleep(10000);
    assert_false(wl_is_file(late));
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, cap_fixture_teardown)
    const struct CMUnitTest tests[] = {
        TEST(a_hung_set_keeps_its_journal_entry),
        TEST(a_hung_read_back_flags_the_run),
        TEST(a_driver_that_hangs_at_opening_sets_nothing),
        TEST(a_hung_probe_is_reported),
        TEST(a_hung_command_is_killed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
