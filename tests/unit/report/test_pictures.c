/* Pictures drawn by gnuplot. */
#include "test.h"

#include <stdio.h>

#include "synthetic.h"

static char *script_of(const struct wl_figure *f, const char *dir, struct wl_arena *a)
{
    struct wl_text script = WL_TEXT(a);
    char *path = wl_path_join(a, dir, wl_strf(a, "%s.gp", f->id));
    wl_figure_gnuplot(f, &script);
    assert_ok(wl_file_write(path, script.s, script.n, e));
    return path;
}

static bool have_gnuplot(struct wl_arena *a)
{
    char *argv[] = { "gnuplot", "--version", NULL }, *said;
    struct wl_process_result end;
    return wl_process_run(&(struct wl_process_run) { .argv = argv, .max = 100, .merge_stderr = true }, &said, &end, a,
                          NULL) == 0 &&
           end.status == 0;
}

static void pictures_are_drawn(void **state)
{
    struct wl_arena *a = *state;
    struct wl_figure *figures[] = { synthetic_scaling(a), synthetic_bars(a), synthetic_trace(a),
                                    synthetic_hostile_figure(a) };
    char *dir = new_folder(a), *svg;
    for (size_t i = 0; i < WL_COUNT(figures); i++) {
        char *script = script_of(figures[i], dir, a),
             *path = wl_path_join(a, dir, wl_strf(a, "%s.svg", figures[i]->id));
        assert_ok(wl_gnuplot_run(script, "svg", path, a, e));
        assert_ok(wl_file_read(path, 1 << 22, &svg, NULL, a, e));
        assert_holds(svg, "</svg>");
        assert_false(wl_is_file(wl_strf(a, "%s.part", path)));
    }
    /* Nothing in a name was run: `touch hacked` would have left a file here or in the working directory. */
    assert_false(wl_is_file("hacked"));
    assert_false(wl_is_file(wl_path_join(a, dir, "hacked")));
    assert_holds(svg, "touch hacked");
}

static void gnuplot_errors_are_reported(void **state)
{
    struct wl_arena *a = *state;
    char *dir = new_folder(a), *script = wl_path_join(a, dir, "bad.gp"), *path = wl_path_join(a, dir, "bad.svg");
    struct wl_err err = { 0 };
    assert_ok(wl_file_write(script, "set output target\nplot nonsense(\n", 33, e));
    assert_int_equal(wl_gnuplot_run(script, "svg", path, a, &err), WL_ELIB);
    assert_holds(err.msg, "nonsense");
    assert_false(wl_is_file(path));
}

int main(void)
{
    const struct CMUnitTest tests[] = { WITH_ARENA(pictures_are_drawn), WITH_ARENA(gnuplot_errors_are_reported) };
    struct wl_arena *a = wl_arena_new(NULL);
    bool found = have_gnuplot(a);
    wl_arena_free(a);
    if (!found) {
        puts("SKIP: gnuplot is not installed");
        return 77;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
