/* The policy: the published example, the beta distribution as a limit, choices. */
#include "near.h"

#include "advise/advise.h"

/* docs/adr/115 */
static void worked_example(void **state)
{
    double p[17];
    (void)state;
    for (size_t i = 0; i < 16; i++) p[i] = 1;
    p[16] = 0.3;
    const struct wl_advise_policy_share v = wl_advise_policy_share(p, 17, 1, 20, 0.9);
    near(v.mean, .93333333, 1e-8);
    near(v.lo, 0.8, 1e-12);
    near(v.hi, 1, 1e-12);
}

/* Beta-binomial of no knowledge: uniform-like, symmetric; of certainty: all within. */
static void shares(void **state)
{
    double half[40], one[40];
    (void)state;
    for (size_t i = 0; i < 40; i++) {
        half[i] = i % 2;
        one[i] = 1;
    }
    const struct wl_advise_policy_share v = wl_advise_policy_share(half, 40, 1, 1000, 0.9);
    near(v.mean, 0.5, 1e-12);
    near(v.lo + v.hi, 1, 2e-3);
    near(v.hi - v.lo, 2 * 1.645 * sqrt(0.25 / 41), 0.01); /* beta(20.5, 20.5), nearly normal */
    near(wl_advise_policy_share(one, 40, 1, 10, 0.9).hi, 1, 0);
    near(wl_advise_policy_share(half, 20, 2, 7, 0.9).mean, 0.5 / 21, 1e-12); /* every second: 0 */
}

enum { JOBS = 12, CAPS = 4 };
struct jobs {
    double within[JOBS * CAPS], energy[JOBS * CAPS];
    size_t application[JOBS];
};

/* Energy falls with the cap; jobs 0 .. 2, of application 0, are too slow under caps 0 and 1. */
static struct jobs make_jobs(void)
{
    struct jobs j;
    for (size_t i = 0; i < JOBS; i++) {
        j.application[i] = i / 3;
        for (size_t c = 0; c < CAPS; c++) {
            j.within[i * CAPS + c] = i < 3 && c < 2 ? 0 : 1;
            j.energy[i * CAPS + c] = 0.7 + 0.1 * (double)c;
        }
    }
    return j;
}

static struct wl_advise_policy_opts options(const struct jobs *j, double share)
{
    return (struct wl_advise_policy_opts) { .jobs = JOBS,
                                            .caps = CAPS,
                                            .within = j->within,
                                            .energy = j->energy,
                                            .reference = CAPS - 1,
                                            .further = 100,
                                            .share = share,
                                            .level = 0.9 };
}

static struct wl_advise_policy decide(const struct wl_advise_policy_opts *o, struct wl_arena *a)
{
    struct wl_advise_policy out;
    struct wl_err e;
    if (wl_advise_policy(o, &out, a, &e)) fail_msg("%s", e.msg);
    return out;
}

static void choices(void **state)
{
    static const struct {
        double share;
        size_t choice;
    } cases[] = { { 0.5, 0 }, { 0.7, 0 }, { 0.9, 2 }, { 0.999, 3 } };
    struct wl_arena *a = wl_arena_new(NULL);
    const struct jobs j = make_jobs();
    (void)state;
    for (size_t i = 0; i < WL_COUNT(cases); i++) {
        const struct wl_advise_policy_opts o = options(&j, cases[i].share);
        const struct wl_advise_policy p = decide(&o, a);
        assert_int_equal(p.choice, cases[i].choice);
        near(p.cap[0].share.mean, 9.5 / 13, 1e-12);
        near(p.cap[2].share.mean, 12.5 / 13, 1e-12);
        near(p.cap[1].energy, 0.8, 1e-12);
        assert_true(p.cap[3].allowed);
    }
    wl_arena_free(a);
}

/* New applications: the unit is the application, so the interval is wider; one application per job is the beta
 * distribution again. */
static void applications(void **state)
{
    struct wl_arena *a = wl_arena_new(NULL);
    struct jobs j = make_jobs();
    struct wl_advise_policy_opts o = options(&j, 0.5);
    (void)state;
    const struct wl_advise_policy same = decide(&o, a);
    o.application = j.application;
    const struct wl_advise_policy four = decide(&o, a);
    near(four.cap[0].share.mean, 3.5 / 5, 1e-12);
    assert_true(four.cap[0].share.hi - four.cap[0].share.lo > 1.3 * (same.cap[0].share.hi - same.cap[0].share.lo));
    for (size_t i = 0; i < JOBS; i++) j.application[i] = 100 + i;
    const struct wl_advise_policy each = decide(&o, a);
    near(each.cap[0].share.mean, same.cap[0].share.mean, 1e-12);
    near(each.cap[0].share.lo, same.cap[0].share.lo, 0.03); /* 2,000 draws */
    near(each.cap[0].share.hi, same.cap[0].share.hi, 0.03);
    wl_arena_free(a);
}

static void missing_energy(void **state)
{
    struct wl_arena *a = wl_arena_new(NULL);
    struct jobs j = make_jobs();
    (void)state;
    for (size_t i = 0; i < JOBS; i++) j.energy[i * CAPS] = NAN;
    j.energy[1] = NAN;
    const struct wl_advise_policy_opts o = options(&j, 0.5);
    const struct wl_advise_policy p = decide(&o, a);
    assert_int_equal(p.choice, 1); /* a cap without any energy is not the least */
    assert_true(isnan(p.cap[0].energy));
    assert_int_equal(p.cap[1].jobs, JOBS - 1);
    wl_arena_free(a);
}

/* From the windows of a job to its row. */
static void job_row(void **state)
{
    static const double caps[] = { 150, 200, 250 }, t[] = { 1.3, 1.05, 1 }, p[] = { 140, 180, 220 };
    struct wl_arena *a = wl_arena_new(NULL);
    const struct wl_advise_cap_opts o = wl_advise_cap_defaults(caps, 3);
    struct wl_advise_cap *s;
    double within[3], energy[3];
    struct wl_err e;
    (void)state;
    if (wl_advise_cap_new(&s, &o, a, &e)) fail_msg("%s", e.msg);
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(
            wl_advise_cap_add(s, &(struct wl_advise_cap_window) { .index = i, .ln_t = log(t[i]), .ln_p = log(p[i]) },
                              &e),
            0);
    wl_advise_policy_job(s, 3, 2, 0.1, within, energy);
    assert_true(within[0] < 1e-3 && within[1] > 0.95);
    near(within[2], 1, 0);
    near(energy[2], 1, 0);
    near(energy[0], 1.3 * 140 / 220, 0.02);
    wl_arena_free(a);
}

static void bad_input(void **state)
{
    struct wl_arena *a = wl_arena_new(NULL);
    struct jobs j = make_jobs();
    struct wl_advise_policy out;
    struct wl_err e;
    (void)state;
    struct wl_advise_policy_opts o = options(&j, 1.5);
    assert_int_equal(wl_advise_policy(&o, &out, a, &e), WL_EINVAL);
    o = options(&j, 0.5);
    o.reference = CAPS;
    assert_int_equal(wl_advise_policy(&o, &out, a, &e), WL_EINVAL);
    o.reference = 0;
    o.jobs = 0;
    assert_int_equal(wl_advise_policy(&o, &out, a, &e), WL_EINVAL);
    o = options(&j, 0.5);
    j.within[5 * CAPS + 2] = 1.5;
    assert_int_equal(wl_advise_policy(&o, &out, a, &e), WL_EINVAL);
    assert_non_null(strstr(e.msg, "job 5, cap 2: probability 1.5"));
    wl_arena_free(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(worked_example), cmocka_unit_test(shares),         cmocka_unit_test(choices),
        cmocka_unit_test(applications),   cmocka_unit_test(missing_energy), cmocka_unit_test(job_row),
        cmocka_unit_test(bad_input),
    };
    return cmocka_run_group_tests_name("advise-policy", tests, NULL, NULL);
}
