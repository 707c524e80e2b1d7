#include "test.h"

#include <math.h>

#include "synthetic.h"

static void assert_reals(struct wl_reals got, const double *want, size_t n)
{
    assert_int_equal(got.n, n);
    for (size_t i = 0; i < n; i++) assert_true(fabs(got.v[i] - want[i]) <= 1e-12 * fabs(want[i]));
}
#define ASSERT_REALS(got, ...)                               \
    do {                                                     \
        const double want[] = { __VA_ARGS__ };               \
        assert_reals(got, want, sizeof want / sizeof *want); \
    } while (0)

static void ticks_are_round(void **state)
{
    struct wl_arena *a = *state;
    ASSERT_REALS(wl_ticks_round(0, 1, false, a), 0, .2, .4, .6, .8, 1);
    ASSERT_REALS(wl_ticks_round(-3, 42, false, a), -10, 0, 10, 20, 30, 40, 50);
    ASSERT_REALS(wl_ticks_round(2, 30, true, a), 2, 3, 4, 5, 7, 10, 20, 30);
    ASSERT_REALS(wl_ticks_round(1, 900, true, a), 1, 2, 5, 10, 20, 50, 100, 200, 500);
    ASSERT_REALS(wl_ticks_round(.5, 2e5, true, a), 1, 10, 100, 1000, 10000, 100000);
    ASSERT_REALS(wl_ticks_round(370000, 1020000, true, a), 300000, 400000, 500000, 700000, 900000, 1100000);
    ASSERT_REALS(wl_ticks_round(6500, 57000, true, a), 7000, 10000, 20000, 30000, 50000); /* labels leave room */
    ASSERT_REALS(wl_ticks_round(8.1, 11.2, true, a), 8, 8.5, 9, 9.5, 10, 10.5, 11, 11.5);
}

/* Equal ends do not lead to a division by zero. */
static void equal_limits_have_ticks(void **state)
{
    assert_true(wl_ticks_round(5, 5, false, *state).n >= 2);
    assert_true(wl_ticks_round(0, 0, false, *state).n >= 2);
    assert_true(wl_ticks_round(5, 5, true, *state).n >= 2);
}

static void ticks_of_counts_are_thinned(void **state)
{
    struct wl_arena *a = *state;
    const double few[] = { 2, 1, 2, NAN, 4, 0, 1 }, dense[] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16 };
    ASSERT_REALS(wl_ticks_counts(few, 7, true, 12, a), 1, 2, 4);
    ASSERT_REALS(wl_ticks_counts(few, 7, false, 12, a), 0, 1, 2, 4);
    struct wl_reals t = wl_ticks_counts(dense, 16, true, 6, a);
    assert_true(t.n <= 7 && t.v[0] == 1 && t.v[t.n - 1] == 16);
    assert_int_equal(wl_ticks_counts(few, 0, true, 12, a).n, 0);
}

static struct wl_figure *figure_of(struct wl_arena *a, const double *x, const double *y, size_t n, bool log_scale)
{
    struct wl_figure *f = wl_figure_new(a, "f", "t");
    f->x.log = f->y.log = log_scale;
    wl_figure_add(f, &(struct wl_figure_series) { .style = WL_STYLE_LINE, .n = n, .x = x, .y = y });
    return f;
}

static void limits_cover_the_values(void **state)
{
    const double x[] = { 1, 2, 4 }, y[] = { 10, NAN, 40 }, one[] = { 3, 3, 3 };
    struct wl_figure *f = figure_of(*state, x, y, 3, true);
    wl_figure_finish(f);
    assert_true(f->y.min < 10 && f->y.min > 5 && f->y.max > 40 && f->y.max < 60);

    f = figure_of(*state, one, one, 3, false); /* a flat line lies inside its axis */
    wl_figure_finish(f);
    assert_true(f->y.min < 3 && f->y.max > 3 && f->y.ticks.n >= 2);

    f = figure_of(*state, x, y, 3, false);
    f->y.zero = true;
    wl_figure_finish(f);
    assert_true(f->y.min == 0);
}

static void figure_without_points_is_empty(void **state)
{
    const double x[] = { 1, 2 }, missing[] = { NAN, NAN }, negative[] = { -1, 0 };
    struct wl_figure *none = figure_of(*state, x, missing, 2, false), *no_log = figure_of(*state, x, negative, 2, true);
    assert_true(wl_figure_empty(none));
    assert_true(wl_figure_empty(no_log));
    assert_false(wl_figure_empty(figure_of(*state, x, negative, 2, false)));
    wl_figure_finish(none); /* still has an axis to draw */
    wl_figure_finish(no_log);
    assert_true(none->y.max > none->y.min && no_log->y.min > 0);
}

/* Bars of two series are side by side around the tick, and the axis has room for them and for 0. */
static void bars_are_side_by_side(void **state)
{
    const struct wl_figure *f = synthetic_bars(*state);
    const struct wl_figure_series *cpu = &f->series[0], *gpu = &f->series[1];
    assert_true(cpu->x[0] < 0 && gpu->x[0] > 0);
    assert_true(fabs(gpu->x[0] - cpu->x[0]) >= cpu->bar_width);
    assert_true(f->x.min < cpu->x[0] - cpu->bar_width / 2 && f->x.max > gpu->x[2] + gpu->bar_width / 2);
    assert_true(f->y.min == 0);
}

static void json(void **state)
{
    struct wl_json *o = wl_json_root_object(*state);
    wl_figure_json(synthetic_trace(*state), o);
    const struct wl_json *series = wl_json_at(wl_json_get(o, "series"), 0), *y = wl_json_get(series, "y");
    assert_int_equal(wl_json_size(y), 200);
    assert_true(isnan(wl_json_real(wl_json_at(y, 64)))); /* the gap */
    assert_true(isfinite(wl_json_real(wl_json_at(y, 59))));
    const struct wl_json *band = wl_json_at(wl_json_get(o, "series"), 1);
    assert_int_equal(wl_json_int(wl_json_get(band, "group"), -1), 0); /* hidden with the line before it */
    assert_null(wl_json_str(wl_json_get(band, "label")));
    assert_int_equal(wl_json_size(wl_json_get(o, "vlines")), 4);
    double highest = 300 + 40 + 25, top = wl_json_real(wl_json_get(wl_json_get(o, "y"), "max"));
    assert_true(top > highest * 1.1); /* room for the names of the lines */
}

static void csv(void **state)
{
    struct wl_text t = WL_TEXT(*state);
    wl_figure_csv(synthetic_bars(*state), &t);
    assert_golden(*state, "bars.csv", &t);
}

static void workloads_keep_their_colours(void **state)
{
    (void)state;
    const char *const names[] = { "mine", "bert", "resnet50", "yours" };
    int slots[4];
    wl_colour_slots(names, 4, slots);
    assert_int_equal(slots[2], 0); /* resnet50 is blue in every report */
    assert_int_equal(slots[1], 1);
    assert_true(slots[0] >= 2 && slots[3] >= 2 && slots[0] != slots[3]);
    assert_string_equal(wl_colour(WL_PALETTE)->name, wl_colour(0)->name);
    assert_string_equal(wl_colour(WL_COLOUR_NEUTRAL)->name, "grey");
}

/* Numbers that cannot be drawn are omitted; limits and ticks are always numbers. */
static void extreme_values_are_not_drawn(void **state)
{
    static const double values[][3] = { { 1e-300, 1, 2 },
                                        { 1, 2, 1e300 },
                                        { -1e308, 0, 1e308 },
                                        { 5e-324, 1e-323, 2e-323 },
                                        { 0, 1e-320, 0 },
                                        { 1e16, 1e16 + 2, 1e16 + 4 },
                                        { -INFINITY, NAN, INFINITY },
                                        { 1e100, 1e-100, 1 } };
    static double x[] = { 1, 2, 3 };
    for (size_t i = 0; i < 2 * WL_COUNT(values); i++) {
        struct wl_figure *f = wl_figure_new(*state, "extreme", "extreme");
        f->y.log = i % 2 == 1;
        f->y.zero = i % 3 == 1;
        wl_figure_add(f, &(struct wl_figure_series) { .style = WL_STYLE_LINE, .n = 3, .x = x, .y = values[i / 2] });
        wl_figure_finish(f);
        if (!(isfinite(f->y.min) && isfinite(f->y.max) && f->y.min < f->y.max && f->y.ticks.n < 100))
            fail_msg("case %zu: %g to %g, %zu ticks", i, f->y.min, f->y.max, f->y.ticks.n);
        for (size_t k = 0; k < f->y.ticks.n; k++) assert_true(isfinite(f->y.ticks.v[k]));
    }
}

/* Two entries of a legend are never equal, whatever the names of their series. */
static void legend_entries_are_unique(void **state)
{
    static const char *const names[] = { "a", NULL, "a", "a (2)", "b", "a" }, *const want[] = { "a",     NULL,
                                                                                                "a (2)", "a (2) (2)",
                                                                                                "b",     "a (3)" };
    static const double x[] = { 1, 2 };
    struct wl_figure *f = wl_figure_new(*state, "f", "f");
    for (size_t i = 0; i < WL_COUNT(names); i++)
        wl_figure_add(f,
                      &(struct wl_figure_series) { .label = names[i], .style = WL_STYLE_LINE, .n = 2, .x = x, .y = x });
    wl_figure_finish(f);
    for (size_t i = 0; i < WL_COUNT(names); i++) {
        if (!wl_str_eq(f->series[i].label, want[i])) fail_msg("series %zu is called %s", i, f->series[i].label);
    }
}

/* Names that fold to one id: each figure and table of a document still has its own. */
static void ids_are_unique(void **state)
{
    static const char *const names[] = { "val_acc@1", "val_acc_1", "val acc 1!", "@", "#" };
    static const char *const want[] = { "val-acc-1", "val-acc-1-2", "val-acc-1-3", "other", "other-2" };
    static const struct wl_report_column column = { .id = "c", .label = "c" };
    struct wl_document *d = wl_document_new(*state, "d");
    struct wl_section *s = wl_document_section(d, "s", "S");
    for (size_t i = 0; i < WL_COUNT(names); i++) {
        wl_section_figure(d, s, wl_figure_new(*state, wl_slug(names[i], *state), names[i]));
        struct wl_report_table *t = wl_report_table_new(*state, wl_slug(names[i], *state), names[i], &column, 1);
        wl_section_table(d, s, t); /* without rows: left out */
        assert_int_equal(s->n_tables, i);
        wl_report_table_real(t, 1);
        wl_section_table(d, s, t);
        assert_string_equal(s->figures[i]->id, want[i]);
        assert_string_equal(s->tables[i]->id, want[i]);
    }
    assert_string_equal(wl_document_section(d, "s", "another")->id, "s-2");

    char name[1000]; /* a file name has 255 bytes */
    memset(name, 'x', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    assert_true(strlen(wl_slug(name, *state)) < 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_ARENA(ticks_are_round),
        WITH_ARENA(equal_limits_have_ticks),
        WITH_ARENA(ticks_of_counts_are_thinned),
        WITH_ARENA(limits_cover_the_values),
        WITH_ARENA(figure_without_points_is_empty),
        WITH_ARENA(bars_are_side_by_side),
        WITH_ARENA(json),
        WITH_ARENA(csv),
        WITH_ARENA(extreme_values_are_not_drawn),
        WITH_ARENA(legend_entries_are_unique),
        WITH_ARENA(ids_are_unique),
        cmocka_unit_test(workloads_keep_their_colours),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
