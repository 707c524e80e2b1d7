/* Shared by the tests of report/: cmocka, one arena per test, golden files. */
#ifndef TESTS_REPORT_TEST_H
#define TESTS_REPORT_TEST_H

#include "../arena_test.h"

#define assert_holds_not(text, part)                                     \
    do {                                                                 \
        if (strstr(text, part)) fail_msg("\"%s\" is in the text", part); \
    } while (0)

/* The tree of the sources, from the environment that meson sets. */
static inline char *source_file(struct wl_arena *a, const char *name)
{
    const char *root = getenv("WATTLAW_SOURCE");
    return wl_path_join(a, root ? root : ".", name);
}

/* Compares with tests/golden/report/NAME; WATTLAW_UPDATE_GOLDEN=1 writes it instead. */
static inline void assert_golden(struct wl_arena *a, const char *name, const struct wl_text *text)
{
    char *path = source_file(a, wl_strf(a, "tests/golden/report/%s", name)), *golden;
    if (getenv("WATTLAW_UPDATE_GOLDEN")) {
        assert_ok(wl_file_write(path, text->s, text->n, e));
        return;
    }
    assert_ok(wl_file_read(path, 1 << 24, &golden, NULL, a, e));
    assert_string_equal(text->s, golden);
}

/* A new folder for the test's files, removed with the arena. */
static inline void remove_folder(void *path)
{
    char *argv[] = { "rm", "-rf", path, NULL };
    struct wl_process_result end;
    struct wl_arena *a = wl_arena_new(NULL);
    (void)!wl_process_run(&(struct wl_process_run) { .argv = argv }, NULL, &end, a, NULL);
    wl_arena_free(a);
}

static inline char *new_folder(struct wl_arena *a)
{
    const char *tmp = getenv("TMPDIR");
    char *path = wl_strf(a, "%s/wattlaw-report-XXXXXX", tmp ? tmp : "/tmp");
    assert_non_null(mkdtemp(path));
    wl_defer(a, remove_folder, path);
    return path;
}

#endif
