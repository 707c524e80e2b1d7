/* Windows become probes: drift is removed, the noise is that of neighbours, and a search over them is resumable. */
#include "tune/search.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#define assert_near(x, y, tolerance) assert_true(fabs((x) - (y)) < (tolerance))

enum { REFERENCE = 3 };

/* The windows of a search: candidate and job of each; the job gets 1 % slower from window to window, and takes 3 % less
 * power. `factor[i]` is the time of candidate i, relative to the reference. */
static struct wl_tune_windows drifting(const size_t *candidate, const int64_t *job, size_t n, const double *factor,
                                       struct wl_arena *a)
{
    struct wl_tune_windows w = { .v = wl_new_array(a, struct wl_tune_window, n), .n = n };
    for (size_t i = 0; i < n; i++)
        w.v[i] = (struct wl_tune_window) { .candidate = candidate[i],
                                           .job = job[i],
                                           .t_s = 0.1 * factor[candidate[i]] * exp(0.01 * (double)i),
                                           .p_w = 200 / factor[candidate[i]] * exp(-0.03 * (double)i) };
    return w;
}

static const double factor[] = { 1.5, 1.2, 1.05, 1 };

static void a_linear_drift_is_removed(void **state)
{
    (void)state;
    static const size_t order[] = { 3, 0, 0, 3, 1, 1, 3 };
    static const int64_t job[] = { 1, 1, 1, 1, 1, 1, 1 };
    struct wl_arena *a = wl_arena_new(NULL);
    struct wl_tune_windows w = drifting(order, job, WL_COUNT(order), factor, a);
    struct wl_tune_probes p = wl_tune_evidence(&w, REFERENCE, a);
    assert_int_equal(p.n, 3);
    assert_int_equal(p.v[0].candidate, REFERENCE);
    for (size_t i = 1; i < 3; i++) {
        assert_int_equal(p.v[i].candidate, i - 1);
        assert_int_equal(p.v[i].n, 2);
        assert_near(p.v[i].seen.ln_t - p.v[0].seen.ln_t, log(factor[i - 1]), 1e-12);
        assert_near(p.v[i].seen.ln_p - p.v[0].seen.ln_p, -log(factor[i - 1]), 1e-12);
    }
    wl_arena_free(a);
}

/* The second job began at the other temperature: a probe belongs to the reference of its own job. */
static void a_probe_is_relative_to_the_reference_of_its_job(void **state)
{
    (void)state;
    static const size_t order[] = { 3, 0, 3, 3, 1 };
    static const int64_t job[] = { 1, 1, 1, 2, 2 };
    struct wl_arena *a = wl_arena_new(NULL);
    struct wl_tune_windows w = drifting(order, job, WL_COUNT(order), factor, a);
    for (size_t i = 3; i < 5; i++) w.v[i].t_s *= 2;
    struct wl_tune_probes p = wl_tune_evidence(&w, REFERENCE, a);
    assert_int_equal(p.n, 3);
    assert_near(p.v[2].seen.ln_t - p.v[0].seen.ln_t, log(1.2) + 0.01, 1e-12); /* one side only: half is left */
    wl_arena_free(a);
}

/* Two windows of 4 % difference: (4 x 1 %^2 + 4 %^2 / 2) / 5. */
static void the_noise_is_that_of_neighbours(void **state)
{
    (void)state;
    struct wl_arena *a = wl_arena_new(NULL);
    struct wl_tune_window v[] = { { .candidate = 3, .job = 1, .t_s = 1, .p_w = 100 },
                                  { .candidate = 0, .job = 1, .t_s = 2, .p_w = 50 },
                                  { .candidate = 0, .job = 1, .t_s = 2 * exp(0.04), .p_w = 50 } };
    struct wl_tune_windows w = { .v = v, .n = 3 };
    struct wl_tune_probes p = wl_tune_evidence(&w, REFERENCE, a);
    assert_near(p.noise.sd_t, sqrt((4e-4 + 16e-4 / 2) / 5), 1e-12);
    assert_near(p.noise.sd_p, sqrt(4e-4 / 5), 1e-12);
    for (size_t i = 0; i < 3; i++) v[i].sd_p = 0.03; /* what the sensors leave open counts where it is more */
    p = wl_tune_evidence(&w, REFERENCE, a);
    assert_near(p.noise.sd_p, 0.03, 1e-12);
    assert_near(p.v[1].seen.noise.sd_p, 0.03 * sqrt(1 / 2.0 + 1), 1e-12); /* two windows, one flank */
    w.n = 0;
    assert_int_equal(wl_tune_evidence(&w, REFERENCE, a).n, 0);
    wl_arena_free(a);
}

/* ---- the search over it ---- */

static struct wl_tune_candidates candidates_of(struct wl_arena *a)
{
    static double value[] = { 150, 200, 250, 300 };
    return (struct wl_tune_candidates) { .kind = WL_CAP_POWER,
                                         .value = value,
                                         .n = 4,
                                         .reference = REFERENCE,
                                         .scale_w = 300,
                                         .refused = wl_new_array(a, const char *, 4) };
}

static struct wl_advise_cap_step search(const struct wl_tune_candidates *c, const struct wl_tune_windows *w,
                                        const struct wl_tune_goal *g, size_t repeated, struct wl_arena *a)
{
    struct wl_err e;
    struct wl_advise_cap *s;
    struct wl_tune_probes p = wl_tune_evidence(w, REFERENCE, a);
    if (wl_tune_search(c, g, &p, repeated, &s, a, &e) < 0) fail_msg("%s", e.msg);
    return wl_advise_cap_next(s);
}

static void the_reference_comes_first_and_the_budget_counts_values(void **state)
{
    (void)state;
    static const size_t order[] = { 3, 0, 0, 3, 1, 1, 3, 2, 2, 3 };
    static const int64_t job[10] = { 0 };
    struct wl_arena *a = wl_arena_new(NULL);
    struct wl_tune_candidates c = candidates_of(a);
    struct wl_tune_goal goal = { .slowdown = 0.1, .probability = 0.9, .most = 4 };
    struct wl_tune_windows w = drifting(order, job, 0, factor, a);
    struct wl_advise_cap_step s = search(&c, &w, &goal, 0, a);
    assert_false(s.done);
    assert_int_equal(s.index, REFERENCE);
    w = drifting(order, job, 4, factor, a);
    s = search(&c, &w, &goal, 0, a);
    assert_false(s.done);
    assert_true(s.index == 1 || s.index == 2);
    w = drifting(order, job, WL_COUNT(order), factor, a);
    s = search(&c, &w, &goal, 0, a);
    assert_true(s.done);
    assert_int_equal(s.index, 2); /* 5 % slower, 200 W is 20 % */
    assert_true(s.measured);
    wl_arena_free(a);
}

/* A value that cannot be set is never chosen, and costs no other value its windows. */
static void a_refused_value_is_given_up(void **state)
{
    (void)state;
    static const size_t order[] = { 3, 0, 0, 3 };
    static const int64_t job[4] = { 0 };
    struct wl_arena *a = wl_arena_new(NULL);
    struct wl_tune_candidates c = candidates_of(a);
    struct wl_tune_goal goal = { .slowdown = NAN, .most = 2 };
    struct wl_tune_windows w = drifting(order, job, 1, factor, a);
    for (size_t i = 1; i < 3; i++) c.refused[i] = "the device does not follow";
    struct wl_advise_cap_step s = search(&c, &w, &goal, 0, a);
    assert_false(s.done);
    assert_int_equal(s.index, 0);
    c.refused[0] = "the device does not follow";
    s = search(&c, &w, &goal, 0, a);
    assert_true(s.done);
    assert_int_equal(s.index, REFERENCE);
    wl_arena_free(a);
}

/* A curve of the same model of device says more than one of another. */
static void history_of_the_same_device_is_remembered(void **state)
{
    (void)state;
    static const size_t order[] = { 3, 0, 0, 3 };
    static const int64_t job[4] = { 0 };
    double value[] = { 150, 200, 250, 300 }, ln_t[] = { 0.6, 0.5, 0.4, 0 }, ln_p[] = { 4.8, 4.9, 5, 5.2 };
    struct wl_arena *a = wl_arena_new(NULL);
    struct wl_err e;
    struct wl_advise_cap_curve curve = { .kind = WL_ADVISE_POWER_CAP,
                                         .value = value,
                                         .ln_t = ln_t,
                                         .ln_p = ln_p,
                                         .n = 4,
                                         .scale_w = 300,
                                         .group = "bert",
                                         .device = "GPU X" };
    struct wl_advise_cap_prior *prior;
    if (wl_advise_cap_learn(&curve, 1, &prior, a, &e) < 0) fail_msg("%s", e.msg);
    struct wl_tune_goal goal = { .slowdown = NAN, .most = 4, .prior = prior };
    struct wl_tune_windows w = drifting(order, job, 4, factor, a);
    struct wl_tune_probes p = wl_tune_evidence(&w, REFERENCE, a);
    double slowdown[2];
    for (int same = 0; same < 2; same++) {
        struct wl_advise_cap *s;
        struct wl_tune_candidates c = candidates_of(a);
        c.model = same ? "GPU X" : "GPU Y";
        if (wl_tune_search(&c, &goal, &p, 0, &s, a, &e) < 0) fail_msg("%s", e.msg);
        slowdown[same] = wl_advise_cap_estimates(s)[2].ln_slowdown;
    }
    assert_true(fabs(slowdown[1] - slowdown[0]) > 1e-6);
    wl_arena_free(a);
}

static void values_are_whole_and_in_equal_ratios(void **state)
{
    (void)state;
    struct wl_arena *a = wl_arena_new(NULL);
    struct wl_reals v = wl_tune_candidates_between(100, 400, 8, a);
    assert_int_equal(v.n, 8);
    assert_true(v.v[0] == 100 && v.v[7] == 400);
    for (size_t i = 1; i < 8; i++) assert_near(v.v[i] / v.v[i - 1], pow(4, 1 / 7.0), 0.01);
    v = wl_tune_candidates_between(398.5, 400, 8, a);
    assert_int_equal(v.n, 3); /* 398.5, 399, 400 */
    wl_arena_free(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_linear_drift_is_removed),
        cmocka_unit_test(a_probe_is_relative_to_the_reference_of_its_job),
        cmocka_unit_test(the_noise_is_that_of_neighbours),
        cmocka_unit_test(the_reference_comes_first_and_the_budget_counts_values),
        cmocka_unit_test(a_refused_value_is_given_up),
        cmocka_unit_test(history_of_the_same_device_is_remembered),
        cmocka_unit_test(values_are_whole_and_in_equal_ratios),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
