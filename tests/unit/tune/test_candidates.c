/* Values and devices of a machine with two CPU packages, each with two limits. */
#include "tune/candidates.h"

#include "../cap/fixture.h"

static void find(struct fixture *p, const struct wl_reals *given, struct wl_tune_candidates *out)
{
    if (wl_tune_candidates_find(WL_CAP_POWER, given, &p->opts, &p->power, out, p->a, &p->e) < 0)
        fail_msg("%s", p->e.msg);
}

static void both_limits_of_a_package_are_one_device(void **state)
{
    struct fixture *p = *state;
    struct wl_tune_candidates c;
    double watts[] = { 150, 120 };
    find(p, &(struct wl_reals) { .v = watts, .n = 2 }, &c);
    assert_int_equal(c.n_devices, 2);
    assert_string_equal(c.model, wl_host_cpu_name(p->a));
    assert_int_equal(c.n, 3);
    assert_true(c.value[0] == 120 && c.value[1] == 150 && c.value[c.reference] == 205); /* the lower of both limits */
}

static void devices_of_two_hosts_differ(void **state)
{
    (void)state;
    const char *const v[] = { "a rapl:package-0/long_term",
                              "a rapl:package-0/short_term",
                              "a rapl:package-1/long_term",
                              "b rapl:package-0/long_term",
                              "a GPU-1",
                              "a GPU-10",
                              "a GPU-1" };
    assert_int_equal(wl_cap_count_devices(v, 2), 1);
    assert_int_equal(wl_cap_count_devices(v, 4), 3);
    assert_int_equal(wl_cap_count_devices(v, 7), 5);
    assert_int_equal(wl_cap_count_devices(v, 0), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(both_limits_of_a_package_are_one_device, cap_fixture_setup,
                                        cap_fixture_teardown),
        cmocka_unit_test(devices_of_two_hosts_differ),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
