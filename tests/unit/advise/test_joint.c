/* The joint model of time and power: values of make_joint_golden.py, the draws against the exact answers, and what must
 * hold whatever the data. */
#include "../stats/check.h"

#include "advise/joint/joint.h"

enum { MOST = 64, AXES = 3 };

struct example {
    double x[AXES][MOST];
    struct wl_joint_axis axes[AXES];
    struct wl_joint_runs runs[WL_JOINT_RESPONSES][MOST];
    size_t n, n_axes;
    struct wl_joint *joint;
    struct wl_arena *arena;
};

static void add_value(struct wl_joint_runs *r, double v)
{
    const double delta = v - r->mean;
    r->n++;
    r->mean += delta / (double)r->n;
    r->sum_squares += delta * (v - r->mean);
}

static void fit(struct example *x, double rho)
{
    static const struct wl_joint_axis *const prior[AXES] = { &wl_joint_workers_axis, &wl_joint_cap_axis,
                                                             &wl_joint_count_axis };
    struct wl_err e;
    for (size_t k = 0; k < x->n_axes; k++) {
        x->axes[k] = *prior[k];
        x->axes[k].x = x->x[k];
    }
    const struct wl_joint_data d = {
        .n = x->n, .axes = x->axes, .n_axes = x->n_axes, .runs = { x->runs[0], x->runs[1] }, .rho = rho
    };
    if (wl_joint_fit(&d, &x->joint, x->arena, &e)) fail_msg("%s", e.msg);
}

static void read_case(struct example *x, const char *name)
{
    static const char *const columns[AXES] = { "workers", "cap", "batch" };
    struct wl_csv csv;
    golden_open(&csv, "joint_data.csv", x->arena);
    while (golden_next(&csv)) {
        if (!wl_str_eq(csv.row[0], name)) continue;
        const size_t i = (size_t)golden_real(&csv, "setting");
        assert_true(i < MOST);
        if (i >= x->n) x->n = i + 1;
        for (size_t k = 0; k < AXES; k++) x->x[k][i] = golden_real(&csv, columns[k]);
        if (isnan(golden_real(&csv, "ln_t"))) continue;
        add_value(&x->runs[WL_JOINT_TIME][i], golden_real(&csv, "ln_t"));
        add_value(&x->runs[WL_JOINT_POWER][i], golden_real(&csv, "ln_p"));
    }
    x->n_axes = wl_str_eq(name, "batch") ? 3 : 2;
}

static struct example example(const char *name, double rho)
{
    struct example x = { .arena = wl_arena_new(NULL) };
    read_case(&x, name);
    fit(&x, rho);
    return x;
}

static double golden(const char *name, const char *quantity, size_t setting, size_t *at, struct wl_arena *a)
{
    struct wl_csv csv;
    golden_open(&csv, "joint_values.csv", a);
    while (golden_next(&csv)) {
        const size_t i = (size_t)golden_real(&csv, "setting");
        if (!wl_str_eq(csv.row[0], name) || !wl_str_eq(csv.row[2], quantity) || (!at && i != setting)) continue;
        if (at) *at = i;
        return golden_real(&csv, "value");
    }
    fail_msg("no golden %s of %s", quantity, name);
    return NAN;
}

static void near(const char *what, size_t i, double got, double truth, double tolerance)
{
    if (!(fabs(got - truth) <= tolerance)) fail_msg("%s of %zu: %.10g, not %.10g", what, i, got, truth);
}

static void probabilities_agree(struct example *x, const char *name, const char *quantity, struct wl_joint_question q,
                                double limit)
{
    double limits[MOST], got[MOST];
    for (size_t i = 0; i < x->n; i++) limits[i] = limit;
    q.limit = limits;
    wl_joint_probabilities(x->joint, &q, got, x->arena);
    for (size_t i = 0; i < x->n; i++) near(quantity, i, got[i], golden(name, quantity, i, NULL, x->arena), 1e-7);
}

static void check_case(const char *name)
{
    struct example x = example(name, 0.4);
    size_t ref;
    const double limit = golden(name, "limit", 0, &ref, x.arena);
    const double *t = wl_joint_means(x.joint, WL_JOINT_TIME), *p = wl_joint_means(x.joint, WL_JOINT_POWER);
    for (size_t i = 0; i < x.n; i++) {
        near("mean_time", i, t[i], golden(name, "mean_time", i, NULL, x.arena), 1e-8);
        near("mean_power", i, p[i], golden(name, "mean_power", i, NULL, x.arena), 1e-8);
    }
    near("run_variance", 0, wl_joint_run_variance(x.joint, WL_JOINT_TIME),
         golden(name, "run_variance_time", 0, NULL, x.arena), 1e-10);
    near("run_variance", 1, wl_joint_run_variance(x.joint, WL_JOINT_POWER),
         golden(name, "run_variance_power", 0, NULL, x.arena), 1e-10);
    probabilities_agree(&x, name, "time_below", (struct wl_joint_question) { 1, 0, ref, NULL }, limit);
    probabilities_agree(&x, name, "energy_below", (struct wl_joint_question) { 1, 1, ref, NULL }, -0.05);
    probabilities_agree(&x, name, "time_absolute", (struct wl_joint_question) { 1, 0, WL_JOINT_ABSOLUTE, NULL },
                        t[ref] + limit + 0.1);
    probabilities_agree(&x, name, "energy_absolute", (struct wl_joint_question) { 1, 1, WL_JOINT_ABSOLUTE, NULL },
                        t[ref] + p[ref]);
    wl_arena_free(x.arena);
}

/* Answers with a reference for each setting are those with one for all, one setting at a time. Limits near the means,
 * so that variances count. */
static void a_reference_for_each(void **state)
{
    struct example x = example("unequal", 0.4);
    const double *t = wl_joint_means(x.joint, WL_JOINT_TIME), *p = wl_joint_means(x.joint, WL_JOINT_POWER);
    double limits[MOST], each[MOST], one[MOST];
    size_t refs[MOST];
    (void)state;
    for (size_t i = 0; i < x.n; i++) {
        const size_t ref = i == 1 ? 1 : i % 3 ? 0 : x.n - 1;
        refs[i] = i % 3 == 2 ? WL_JOINT_ABSOLUTE : ref;
        limits[i] = t[i] + p[i] - (refs[i] == WL_JOINT_ABSOLUTE ? 0 : t[ref] + p[ref]) + (i == 1 ? -0.01 : 0.004);
    }
    const struct wl_joint_question q = { 1, 1, WL_JOINT_ABSOLUTE, limits, refs };
    wl_joint_probabilities(x.joint, &q, each, x.arena);
    for (size_t i = 0; i < x.n; i++) {
        const struct wl_joint_question alone = { 1, 1, refs[i], limits, NULL };
        wl_joint_probabilities(x.joint, &alone, one, x.arena);
        near("probability", i, each[i], one[i], 1e-12);
    }
    near("own reference", 1, each[1], 0, 0); /* its limit is below 0 */
    wl_arena_free(x.arena);
}

static void values_agree_with_dense_matrices(void **state)
{
    (void)state;
    check_case("example");
    check_case("unequal");
    check_case("batch");
}

/* P(t of N 4, cap .7 <= 1.17 of that of N 4, uncapped), as published with the prototype. */
static void worked_example(void **state)
{
    (void)state;
    struct example x = example("example", 0);
    double limits[MOST], got[MOST];
    for (size_t i = 0; i < x.n; i++) limits[i] = log(1.17);
    wl_joint_probabilities(x.joint, &(struct wl_joint_question) { 1, 0, 8, limits }, got, x.arena);
    near("probability", 7, got[7], 0.68337044, 1e-8);
    const double *t = wl_joint_means(x.joint, WL_JOINT_TIME), *p = wl_joint_means(x.joint, WL_JOINT_POWER);
    near("ln saving", 9, log(2) + t[9] - t[8] + p[9] - p[8], -0.12380498, 1e-8);
    wl_arena_free(x.arena);
}

/* ---- draws ---- */

static void draws_agree_with_the_exact_answers(void **state)
{
    (void)state;
    struct example x = example("unequal", 0.4);
    const double *t = wl_joint_draws(x.joint, WL_JOINT_TIME), *p = wl_joint_draws(x.joint, WL_JOINT_POWER);
    double limits[MOST], exact[MOST];
    for (size_t i = 0; i < x.n; i++) limits[i] = -0.05;
    wl_joint_probabilities(x.joint, &(struct wl_joint_question) { 1, 1, 9, limits }, exact, x.arena);
    for (size_t i = 0; i < x.n; i++) {
        double below = 0, mean = 0, sd = 0;
        for (size_t d = 0; d < WL_JOINT_DRAWS; d++) {
            const size_t at = i * WL_JOINT_DRAWS + d, ref = 9 * WL_JOINT_DRAWS + d;
            below += t[at] - t[ref] + p[at] - p[ref] <= -0.05 ? 1.0 / WL_JOINT_DRAWS : 0;
            mean += t[at] / WL_JOINT_DRAWS;
        }
        for (size_t d = 0; d < WL_JOINT_DRAWS; d++) sd += pow(t[i * WL_JOINT_DRAWS + d] - mean, 2);
        sd = sqrt(sd / WL_JOINT_DRAWS);
        if (i != 9) near("share of draws", i, below, exact[i], 0.05);
        near("mean of draws", i, mean, wl_joint_means(x.joint, WL_JOINT_TIME)[i], 5 * sd / sqrt(WL_JOINT_DRAWS));
    }
    wl_arena_free(x.arena);
}

static double correlation(const double *x, const double *y)
{
    const double mx = wl_mean(x, WL_JOINT_DRAWS), my = wl_mean(y, WL_JOINT_DRAWS);
    double xx = 0, xy = 0, yy = 0;
    for (size_t d = 0; d < WL_JOINT_DRAWS; d++) {
        xx += (x[d] - mx) * (x[d] - mx);
        xy += (x[d] - mx) * (y[d] - my);
        yy += (y[d] - my) * (y[d] - my);
    }
    return xy / sqrt(xx * yy);
}

static void errors_of_time_and_power_correlate(void **state)
{
    (void)state;
    struct example none = example("example", 0), some = example("example", 0.8);
    const double without =
                     correlation(wl_joint_draws(none.joint, WL_JOINT_TIME), wl_joint_draws(none.joint, WL_JOINT_POWER)),
                 with =
                     correlation(wl_joint_draws(some.joint, WL_JOINT_TIME), wl_joint_draws(some.joint, WL_JOINT_POWER));
    if (!(fabs(without) < 0.1)) fail_msg("independent: %g", without);
    if (!(with > 0.5)) fail_msg("rho .8: %g", with);
    wl_arena_free(none.arena);
    wl_arena_free(some.arena);
}

/* ---- whatever the data ---- */

/* Units of t and P shift the means, and nothing else. */
static void units_do_not_matter(void **state)
{
    (void)state;
    struct example x = example("unequal", 0), y = { .arena = wl_arena_new(NULL) };
    read_case(&y, "unequal");
    for (size_t i = 0; i < y.n; i++) {
        y.runs[WL_JOINT_TIME][i].mean += log(3600);
        y.runs[WL_JOINT_POWER][i].mean -= log(1000);
    }
    fit(&y, 0);
    for (size_t i = 0; i < x.n; i++) {
        near("time", i, wl_joint_means(y.joint, WL_JOINT_TIME)[i],
             wl_joint_means(x.joint, WL_JOINT_TIME)[i] + log(3600), 1e-9);
        near("power", i, wl_joint_means(y.joint, WL_JOINT_POWER)[i],
             wl_joint_means(x.joint, WL_JOINT_POWER)[i] - log(1000), 1e-9);
    }
    wl_arena_free(x.arena);
    wl_arena_free(y.arena);
}

static void one_setting_and_one_run(void **state)
{
    (void)state;
    struct example x = { .arena = wl_arena_new(NULL), .n = 1, .n_axes = 2 };
    add_value(&x.runs[WL_JOINT_TIME][0], 3);
    fit(&x, 0);
    near("mean", 0, wl_joint_means(x.joint, WL_JOINT_TIME)[0], 3, 1e-9);
    assert_false(wl_joint_has(x.joint, WL_JOINT_POWER));
    wl_arena_free(x.arena);
}

/* Repeats may scatter far beyond what the prior of the noise expects. */
static void repeats_that_scatter_widely(void **state)
{
    (void)state;
    struct example x = { .arena = wl_arena_new(NULL), .n = 3, .n_axes = 1 };
    for (size_t i = 0; i < x.n; i++) {
        x.x[0][i] = log((double)(i + 1));
        for (int r = 0; r < WL_JOINT_RESPONSES; r++)
            for (int k = 0; k < 8; k++) add_value(&x.runs[r][i], 3 - 0.9 * x.x[0][i] + (k % 2 ? 4 : -4));
    }
    fit(&x, 0);
    const double sd = sqrt(wl_joint_run_variance(x.joint, WL_JOINT_TIME));
    assert_true(sd > 3.5 && sd < 5.5);
    wl_arena_free(x.arena);
}

static void refuse(struct example *x, const char *part)
{
    struct wl_err e;
    struct wl_joint *j;
    const struct wl_joint_data d = {
        .n = x->n, .axes = x->axes, .n_axes = x->n_axes, .runs = { x->runs[0], x->runs[1] }
    };
    assert_int_equal(wl_joint_fit(&d, &j, x->arena, &e), WL_EINVAL);
    if (!strstr(e.msg, part)) fail_msg("\"%s\" does not say \"%s\"", e.msg, part);
}

static void bad_data_are_refused(void **state)
{
    (void)state;
    struct example x = { .arena = wl_arena_new(NULL), .n = 2, .n_axes = 1 };
    x.axes[0] = wl_joint_workers_axis;
    x.axes[0].x = x.x[0];
    refuse(&x, "no setting has a run");
    add_value(&x.runs[WL_JOINT_TIME][1], INFINITY);
    refuse(&x, "setting 1 has no finite mean");
    x.runs[WL_JOINT_TIME][1] = (struct wl_joint_runs) { 1, 2, 0 };
    x.x[0][1] = NAN;
    refuse(&x, "setting 1 has no finite coordinate on axis 0");
    x.n = WL_JOINT_MAX_SETTINGS + 1;
    refuse(&x, "expected at most 5000");
    wl_arena_free(x.arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_agree_with_dense_matrices),
        cmocka_unit_test(a_reference_for_each),
        cmocka_unit_test(worked_example),
        cmocka_unit_test(draws_agree_with_the_exact_answers),
        cmocka_unit_test(errors_of_time_and_power_correlate),
        cmocka_unit_test(units_do_not_matter),
        cmocka_unit_test(one_setting_and_one_run),
        cmocka_unit_test(repeats_that_scatter_widely),
        cmocka_unit_test(bad_data_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
