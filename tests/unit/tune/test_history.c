/* Curves from observations of other campaigns. */
#include "tune/history.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#define assert_near(x, y, tolerance) assert_true(fabs((x) - (y)) < (tolerance))

/* Two workloads under caps; a row without a cap, one without energy, and a third workload with one cap only. */
static struct wl_observations table(struct wl_arena *a)
{
    static const struct {
        const char *workload;
        double cap, epoch, time_s, energy_j;
    } rows[] = {
        { "bert", 300, 1, 99, 99000 },    { "bert", 300, 2, 10, 5000 }, { "bert", 300, 3, 10, 5200 },
        { "resnet50", 200, 2, 30, 9000 }, { "bert", 150, 2, 16, 4000 }, { "resnet50", 400, 2, 20, 12000 },
        { "bert", NAN, 2, 9, 5000 },      { "bert", 200, 2, 12, NAN },  { "vgg16", 300, 2, 5, 1000 },
    };
    struct wl_observations obs = { .source = "table.csv" };
    wl_obs_alloc(&obs, WL_COUNT(rows), a);
    for (size_t i = 0; i < WL_COUNT(rows); i++) {
        obs.workload[i] = rows[i].workload;
        obs.hardware[i] = "GPU X";
        obs.power_cap_w[i] = rows[i].cap;
        obs.epoch[i] = rows[i].epoch;
        obs.time_s[i] = rows[i].time_s;
        obs.energy_j[i] = rows[i].energy_j;
        obs.workers[i] = 2;
        obs.samples[i] = 1000;
    }
    return obs;
}

static void groups_of_several_caps_are_curves(void **state)
{
    (void)state;
    struct wl_err e;
    struct wl_advise_cap_curve *v;
    size_t n;
    struct wl_arena *a = wl_arena_new(NULL);
    struct wl_observations obs = table(a);
    if (wl_tune_history(&obs, WL_CAP_POWER, &v, &n, a, &e) < 0) fail_msg("%s", e.msg);
    assert_int_equal(n, 2);
    const struct wl_advise_cap_curve *bert = &v[0];
    assert_int_equal(bert->n, 2);
    assert_true(bert->value[0] == 150 && bert->value[1] == 300 && bert->scale_w == 300);
    assert_near(bert->ln_t[0], log(16 / 1000.0), 1e-12);
    assert_near(bert->ln_t[1], log(10 / 1000.0), 1e-12); /* without the first epoch */
    assert_near(bert->ln_p[0], log(4000 / 16.0 / 2), 1e-12);
    assert_near(bert->ln_p[1], (log(250) + log(260)) / 2, 1e-12);
    assert_non_null(strstr(v[1].group, "resnet50"));
    assert_string_equal(bert->device, "GPU X");
    struct wl_advise_cap_prior *prior;
    assert_int_equal(wl_advise_cap_learn(v, n, &prior, a, &e), 0);
    assert_int_equal(prior->curves[WL_ADVISE_POWER_CAP], 2);
    wl_arena_free(a);
}

static void a_table_without_curves_is_an_error(void **state)
{
    (void)state;
    struct wl_err e;
    struct wl_advise_cap_curve *v;
    size_t n;
    struct wl_arena *a = wl_arena_new(NULL);
    struct wl_observations obs = table(a);
    assert_int_equal(wl_tune_history(&obs, WL_CAP_CLOCK, &v, &n, a, &e), WL_EINVAL);
    assert_non_null(strstr(e.msg, "table.csv"));
    assert_non_null(strstr(e.msg, "clock_mhz"));
    wl_arena_free(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(groups_of_several_caps_are_curves),
        cmocka_unit_test(a_table_without_curves_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
