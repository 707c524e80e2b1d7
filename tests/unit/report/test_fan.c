/* The fan of curves as a figure, and one figure as a file. */
#include "test.h"

#include "law/law.h"
#include "report/report.h"

#include <math.h>
#include <unistd.h>

enum { COUNTS = 6 };

/* t = 100/N + 1 at 1, 2 ... 32 workers. */
static struct wl_law_result fit_table(struct wl_arena *a)
{
    struct wl_observations obs = { .source = "test" };
    struct wl_law_result r;
    struct wl_err e;
    wl_obs_alloc(&obs, COUNTS, a);
    for (int i = 0; i < COUNTS; i++) {
        obs.run[i] = wl_strf(a, "%d", i);
        obs.workers[i] = 1 << i;
        obs.time_s[i] = 100 / obs.workers[i] + 1 + 0.01 * cos(i);
    }
    wl_obs_index_runs(&obs, a);
    if (wl_law_fit(&obs, &(struct wl_law_options) { 0 }, &r, a, &e)) fail_msg("%s", e.msg);
    return r;
}

static struct wl_figure *figure_of(const struct wl_law_group *g, const struct wl_law_posterior *p, const double *asked,
                                   size_t n, struct wl_arena *a)
{
    return wl_report_fan_figure(&(struct wl_report_fan) { .law = g,
                                                          .posterior = p,
                                                          .response = WL_LAW_TIME,
                                                          .name = "resnet50, batch 32",
                                                          .span = "epoch",
                                                          .asked = asked,
                                                          .n_asked = n },
                                a);
}

static const struct wl_figure_series *labelled(const struct wl_figure *f, const char *label)
{
    for (size_t i = 0; i < f->n_series; i++)
        if (f->series[i].label && wl_str_starts(f->series[i].label, label)) return &f->series[i];
    fail_msg("no series %s", label);
    return NULL;
}

static struct wl_law_posterior posterior_of(const struct wl_law_group *g, struct wl_arena *a)
{
    struct wl_law_posterior p;
    struct wl_err e;
    if (wl_law_posterior(g, WL_LAW_TIME, NULL, false, &p, a, &e)) fail_msg("%s", e.msg);
    return p;
}

/* Bands, median, families with their weights, measured points, and what was asked for, as predict prints it. */
static void the_fan_shows_what_predict_prints(void **state)
{
    (void)state;
    static const double asked[] = { 2, 64, 300 };
    struct wl_arena *a = wl_arena_new(NULL);
    struct wl_law_result r = fit_table(a);
    const struct wl_law_posterior p = posterior_of(&r.groups[0], a);
    const struct wl_figure *f = figure_of(&r.groups[0], &p, asked, 3, a);
    const struct wl_figure_series *runs = labelled(f, "95 % of new runs"), *means = labelled(f, "95 % of new conf"),
                                  *points = labelled(f, "forecast with"), *measured = labelled(f, "measured");
    assert_string_equal(f->id, "forecast-resnet50-batch-32");
    assert_non_null(labelled(f, "amdahl, weight 0."));
    assert_int_equal(points->n, 3);
    assert_int_equal(measured->n, 5); /* from 2, the smallest that was asked for */
    assert_true(runs->x[0] == 2 && fabs(runs->x[runs->n - 1] / 300 - 1) < 1e-12);
    for (size_t i = 0; i < runs->n; i++) assert_true(runs->lo[i] < means->lo[i] && means->hi[i] < runs->hi[i]);
    for (size_t i = 0; i < 3; i++) {
        const struct wl_law_forecast at = wl_law_forecast_at(&p, asked[i], a);
        assert_true(fabs(points->y[i] / at.value - 1) < 1e-9 && fabs(points->hi[i] / at.hi - 1) < 1e-9);
    }
    f = figure_of(&r.groups[0], &p, NULL, 0, a);
    runs = labelled(f, "95 % of new runs");
    assert_true(runs->x[0] == 4 && fabs(runs->x[runs->n - 1] / 128 - 1) < 1e-12);
    wl_arena_free(a);
}

static char *text_of(const char *path, struct wl_arena *a)
{
    struct wl_err e;
    char *text = NULL;
    size_t n;
    if (wl_file_read(path, 1 << 20, &text, &n, a, &e)) fail_msg("%s", e.msg);
    return text;
}

static void a_figure_is_drawn_to_the_file_that_its_ending_names(void **state)
{
    (void)state;
    struct wl_arena *a = wl_arena_new(NULL);
    struct wl_law_result r = fit_table(a);
    const struct wl_law_posterior p = posterior_of(&r.groups[0], a);
    const struct wl_figure *f = figure_of(&r.groups[0], &p, NULL, 0, a);
    const char *folder = getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp";
    struct wl_err e = { 0 };
    assert_int_equal(wl_report_draw(f, wl_path_join(a, folder, "fan.csv"), a, &e), 0);
    assert_non_null(strstr(text_of(wl_path_join(a, folder, "fan.csv"), a), "95 % of new configurations"));
    assert_int_equal(wl_report_draw(f, wl_path_join(a, folder, "fan.gp"), a, &e), 0);
    assert_non_null(strstr(text_of(wl_path_join(a, folder, "fan.gp"), a), "amdahl"));
    assert_int_equal(wl_report_draw(f, wl_path_join(a, folder, "fan.png"), a, &e), WL_EUSAGE);
    assert_non_null(strstr(e.msg, "fan.png: expected a name that ends in .svg"));
    assert_true(wl_report_draw(f, "/proc/nowhere/fan.csv", a, &e) < 0);
    const int rc = wl_report_draw(f, wl_path_join(a, folder, "fan.svg"), a, &e);
    if (rc == WL_EUNAVAIL) {
        print_message("no SVG: %s\n", e.msg);
    } else {
        assert_int_equal(rc, 0);
        assert_non_null(strstr(text_of(wl_path_join(a, folder, "fan.svg"), a), "<svg"));
    }
    assert_int_equal(access(wl_path_join(a, folder, "fan.svg.gp.tmp"), F_OK), -1);
    wl_arena_free(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_fan_shows_what_predict_prints),
        cmocka_unit_test(a_figure_is_drawn_to_the_file_that_its_ending_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
