/* Energy against worker-hours: configurations, groups of unlike size, epochs of unlike work. */
#include "table.h"

enum { COUNTS = 6 };

static struct wl_energy_law_result energy_of(const struct row *rows, size_t n, struct wl_arena *a)
{
    const struct wl_observations obs = table_of(rows, n, a);
    struct wl_energy_law_result r;
    struct wl_err e;
    if (wl_energy_law_fit(&obs, &(struct wl_energy_law_options) { 0 }, &r, a, &e)) fail_msg("%s", e.msg);
    return r;
}

/* One run at 1, 2 ... 32 workers: `work` times a job of about 1 worker-hour at `watts` a worker, with a scatter of 4 %
 * of the power that belongs to the worker count. */
static void ladder(struct row *rows, const char *workload, double work, double watts, uint64_t seed)
{
    static const char *const labels[COUNTS] = { "a", "b", "c", "d", "e", "f" };
    for (int i = 0; i < COUNTS; i++) {
        const double workers = 1 << i, time_s = 3600 * work * (1 / workers + 0.02);
        rows[i] = (struct row) { .workload = workload, .run = labels[i], .workers = workers, .time_s = time_s };
        rows[i].energy_j = watts * workers * time_s * exp(0.04 * wl_random_normal(seed, 1, (uint64_t)i));
        rows[i].samples = 5000 * work;
    }
}

/* The size of a group is not evidence: a job 300 times as long gives the same F, also where samples are not recorded.
 */
static void one_rate_does_not_depend_on_the_size_of_groups(void **state)
{
    (void)state;
    struct wl_arena *a = wl_arena_new(NULL);
    struct row rows[2 * COUNTS];
    double f[2];
    for (int k = 0; k < 2; k++) {
        ladder(rows, "x", 1, 300, 5);
        ladder(rows + COUNTS, "y", k ? 300 : 1, 330, 6);
        for (int i = 0; i < 2 * COUNTS; i++) rows[i].samples = 0;
        const struct wl_energy_law_result r = energy_of(rows, WL_COUNT(rows), a);
        assert_int_equal(r.n, 2);
        assert_true(r.df1 == 1 && r.df2 == 8);
        f[k] = r.f;
    }
    assert_near(f[1] / f[0], 1, 1e-9);
    wl_arena_free(a);
}

/* Per sample: runs of twice the epochs are the same rate at twice the energy, and no evidence of another. */
static void one_rate_is_of_the_same_work(void **state)
{
    (void)state;
    struct wl_arena *a = wl_arena_new(NULL);
    struct row rows[2 * COUNTS];
    double f[2];
    for (int k = 0; k < 2; k++) {
        ladder(rows, "x", 1, 300, 5);
        ladder(rows + COUNTS, "y", 1, 330, 6);
        for (int i = 0; k && i < COUNTS; i += 2) {
            rows[i].time_s *= 2;
            rows[i].energy_j *= 2;
            rows[i].samples *= 2;
        }
        f[k] = energy_of(rows, WL_COUNT(rows), a).f;
    }
    assert_near(f[1] / f[0], 1, 1e-9);
    wl_arena_free(a);
}

static double width(const struct wl_energy_law_term *t) { return t->hi - t->lo; }

/* Five copies of each run tell nothing new about other configurations. */
static void runs_of_one_configuration_are_one_piece_of_evidence(void **state)
{
    (void)state;
    enum { COPIES = 5 };
    static const char *const labels[COPIES] = { "1", "2", "3", "4", "5" };
    struct wl_arena *a = wl_arena_new(NULL);
    struct row once[COUNTS], often[COPIES * COUNTS];
    ladder(once, "x", 1, 300, 7);
    for (int i = 0; i < COPIES * COUNTS; i++) {
        often[i] = once[i / COPIES];
        often[i].run = labels[i % COPIES];
    }
    const struct wl_energy_law_result p = energy_of(once, COUNTS, a), q = energy_of(often, WL_COUNT(often), a);
    const struct wl_energy_law_group *x = p.groups, *y = q.groups;
    assert_int_equal(y->n, COPIES * COUNTS);
    assert_int_equal(y->n_configs, COUNTS);
    assert_string_equal(x->basis, "runs");
    assert_string_equal(y->basis, "configurations");
    assert_true(y->df == COUNTS - 2);
    assert_near(width(&y->slope), width(&x->slope), 1e-12);
    assert_near(width(&y->origin), width(&x->origin), 1e-12);
    assert_near(width(&y->exponent), width(&x->exponent), 1e-12);
    assert_near(y->rate_cv_hi - y->rate_cv_lo, x->rate_cv_hi - x->rate_cv_lo, 0.01);
    wl_arena_free(a);
}

/* One worker count, two data sets of which one is 16 times as large: two configurations, and a speed-up per sample. */
static void epochs_of_unlike_work_are_compared_per_sample(void **state)
{
    (void)state;
    struct wl_arena *a = wl_arena_new(NULL);
    struct row rows[] = {
        { .run = "a", .workers = 1, .time_s = 16000, .energy_j = 8e6, .samples = 8e6 },
        { .run = "b", .workers = 1, .time_s = 1020, .energy_j = 5.1e5, .samples = 5e5 },
        { .run = "c", .workers = 4, .time_s = 4080, .energy_j = 8e6, .samples = 8e6 },
        { .run = "d", .workers = 4, .time_s = 260, .energy_j = 5.2e5, .samples = 5e5 },
    };
    const struct wl_energy_law_result r = energy_of(rows, WL_COUNT(rows), a);
    assert_int_equal(r.groups->n_configs, 4);
    struct wl_law_result law = fit_rows(rows, WL_COUNT(rows), (struct wl_law_options) { .by = { 0 } }, a);
    for (size_t g = 0; g < law.n; g++)
        for (size_t c = 1; c < law.groups[g].n_configs; c++) {
            const struct wl_law_config *v = &law.groups[g].configs[c];
            assert_near(v->speedup.value, 3.92, 0.03);
            assert_near(v->energy_ratio.value, 1.01, 0.03);
            if (!isnan(v->speedup.lo)) {
                assert_true(v->speedup.hi / v->speedup.lo < 1.5);
                assert_true(v->config_speedup.hi - v->config_speedup.lo > v->speedup.hi - v->speedup.lo);
            }
        }
    wl_arena_free(a);
}

/* Rows in any order: runs of one law and worker count are one configuration if their work agrees to 5 %. */
static void configurations_are_classes_of_work(void **state)
{
    (void)state;
    static const double samples[] = { 640, 1280, 632, 1300, 640, 6400 };
    struct wl_arena *a = wl_arena_new(NULL);
    struct row rows[2 * WL_COUNT(samples)];
    for (size_t i = 0; i < WL_COUNT(rows); i++) {
        const double workers = i % 2 ? 8 : 1, work = samples[i / 2];
        rows[i] = (struct row) { .run = wl_strf(a, "%zu", i), .workers = workers, .samples = work, .local_batch = 8 };
        rows[i].time_s = work / workers * (1 + 0.01 * (double)i);
        rows[i].energy_j = 100 * work * (1 + 0.02 * (double)i);
    }
    const struct wl_energy_law_result r = energy_of(rows, WL_COUNT(rows), a);
    assert_int_equal(r.n, 1);
    assert_int_equal(r.groups[0].n_configs, 6);
    for (size_t i = 0; i < r.groups[0].n; i++)
        for (size_t j = 0; j < i; j++) {
            const struct wl_energy_law_run *p = &r.groups[0].runs[i], *q = &r.groups[0].runs[j];
            const double ratio = p->samples_per_worker_h * p->worker_h / (q->samples_per_worker_h * q->worker_h);
            assert_true((p->config == q->config) == (p->workers == q->workers && ratio > 0.9 && ratio < 1.1));
        }
    wl_arena_free(a);
}

/* 6,000 configurations of one run each: the interval is that of a normal sample, sd of the coefficient of variation
 * cv sqrt((1/2 + cv^2) / n). */
static void many_configurations_are_drawn_in_bundles(void **state)
{
    enum { N = 6000 };
    (void)state;
    struct wl_arena *a = wl_arena_new(NULL);
    struct row *rows = wl_new_array(a, struct row, N);
    for (size_t i = 0; i < N; i++) {
        rows[i] = (struct row) { .run = wl_strf(a, "%zu", i), .workers = (double)(i + 1), .time_s = 3600 };
        rows[i].energy_j = 3.6e6 * rows[i].workers * (1 + 0.1 * wl_random_normal(11, 0, i));
    }
    const struct wl_energy_law_result r = energy_of(rows, N, a);
    const struct wl_energy_law_group *g = r.groups;
    assert_int_equal(g->n_configs, N);
    assert_true(g->rate_cv_lo < g->rate_cv && g->rate_cv < g->rate_cv_hi);
    assert_near((g->rate_cv_hi - g->rate_cv_lo) / (2 * 1.96 * 0.1 * sqrt(0.51 / N)), 1, 0.1);
    wl_arena_free(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_rate_does_not_depend_on_the_size_of_groups),
        cmocka_unit_test(one_rate_is_of_the_same_work),
        cmocka_unit_test(runs_of_one_configuration_are_one_piece_of_evidence),
        cmocka_unit_test(epochs_of_unlike_work_are_compared_per_sample),
        cmocka_unit_test(configurations_are_classes_of_work),
        cmocka_unit_test(many_configurations_are_drawn_in_bundles),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
