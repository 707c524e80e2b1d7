/* The scripts for gnuplot; test_pictures.c runs it. */
#include "test.h"

#include "synthetic.h"

static void scripts_match_golden_files(void **state)
{
    const struct wl_figure *figures[] = { synthetic_bars(*state), synthetic_hostile_figure(*state) };
    for (size_t i = 0; i < WL_COUNT(figures); i++) {
        struct wl_text t = WL_TEXT(*state);
        wl_figure_gnuplot(figures[i], &t);
        assert_golden(*state, wl_strf(*state, "%s.gp", figures[i]->id), &t);
    }
}

/* A missing value is one empty line in the data; two would begin another data set. */
static void missing_values_are_gaps(void **state)
{
    struct wl_text t = WL_TEXT(*state);
    wl_figure_gnuplot(synthetic_trace(*state), &t);
    assert_holds(t.s, "\n\n");
    assert_holds_not(t.s, "\n\n\n");
    assert_holds_not(t.s, "nan");
}

static void missing_gnuplot_is_reported(void **state)
{
    struct wl_arena *a = *state;
    char *path = wl_strdup(a, getenv("PATH"));
    struct wl_err e = { 0 };
    setenv("PATH", "/nonexistent", 1);
    int rc = wl_gnuplot_run("x.gp", "svg", "x.svg", a, &e);
    setenv("PATH", path, 1);
    assert_int_equal(rc, WL_EUNAVAIL);
    assert_holds(e.msg, "gnuplot is not installed");
}

int main(void)
{
    const struct CMUnitTest tests[] = { WITH_ARENA(scripts_match_golden_files), WITH_ARENA(missing_values_are_gaps),
                                        WITH_ARENA(missing_gnuplot_is_reported) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
