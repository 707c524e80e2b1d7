/* The scripts for gnuplot; test_pictures.c runs it. */
#include "test.h"

#include "synthetic.h"

static void golden_scripts(void **state)
{
    const struct wl_figure *figures[] = { synthetic_bars(*state), synthetic_hostile_figure(*state) };
    for (size_t i = 0; i < WL_COUNT(figures); i++) {
        struct wl_text t = WL_TEXT(*state);
        wl_figure_gnuplot(figures[i], &t);
        assert_golden(*state, wl_strf(*state, "%s.gp", figures[i]->id), &t);
    }
}

/* Missing values part the data by one empty line; two would begin another data set. */
static void gaps(void **state)
{
    struct wl_text t = WL_TEXT(*state);
    wl_figure_gnuplot(synthetic_trace(*state), &t);
    assert_holds(t.s, "\n\n");
    assert_holds_not(t.s, "\n\n\n");
    assert_holds_not(t.s, "nan");
}

static void no_gnuplot(void **state)
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
    const struct CMUnitTest tests[] = { WITH_ARENA(golden_scripts), WITH_ARENA(gaps), WITH_ARENA(no_gnuplot) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
