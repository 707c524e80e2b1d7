/* Streams of JSON: the same text as of a tree, with one element in memory at a time. */
#include "base/base.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static char captured[2][1 << 14];

/* What `print` writes to stdout. */
static void capture(void (*print)(void *ctx), void *ctx, char *out)
{
    fflush(stdout);
    const int saved = dup(STDOUT_FILENO),
              fd = open(getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp", O_TMPFILE | O_RDWR, 0600);
    assert_true(saved >= 0 && fd >= 0);
    dup2(fd, STDOUT_FILENO);
    print(ctx);
    fflush(wl_out_data());
    fflush(stdout);
    const ssize_t n = pread(fd, out, sizeof captured[0] - 1, 0);
    dup2(saved, STDOUT_FILENO);
    close(saved);
    close(fd);
    assert_true(n > 0);
    out[n] = '\0';
}

static void fill(struct wl_json *o, size_t i)
{
    wl_json_add_str(o, "label", i == 2 ? "two\nlines, \"\x7f\" and \xc2\x9b" : "plain");
    wl_json_add_real(o, "value", 0.1 * (double)i);
    wl_json_add_int(wl_json_add_array(o, "list"), NULL, (int64_t)i);
    wl_json_add_array(o, "empty");
}

struct tree {
    struct wl_json *root;
    struct wl_json_streams *streams;
};

static size_t alive, most_alive;

static void element_dies(void *unused)
{
    (void)unused;
    alive--;
}

static struct wl_json *element(const void *ctx, size_t i, struct wl_arena *a)
{
    struct wl_json *o = wl_json_root_object(a);
    assert_string_equal(ctx, "context");
    fill(o, i);
    wl_defer(a, element_dies, o);
    most_alive = ++alive > most_alive ? alive : most_alive;
    return o;
}

/* Two groups with runs, and one without. */
static struct tree make(bool streamed, struct wl_arena *a)
{
    static const size_t runs[] = { 3, 0, 5 };
    struct tree t = { wl_json_root_object(a), wl_json_streams_new(a) };
    struct wl_json *groups = wl_json_add_array(t.root, "groups");
    for (size_t g = 0; g < WL_COUNT(runs); g++) {
        struct wl_json *o = wl_json_add_object(groups, NULL);
        wl_json_add_object(o, "key \x7f");
        if (streamed) {
            wl_json_add_stream(t.streams, o, "runs", runs[g], element, "context");
        } else {
            struct wl_json *list = wl_json_add_array(o, "runs");
            for (size_t i = 0; i < runs[g]; i++) fill(wl_json_add_object(list, NULL), i);
        }
        wl_json_add_null(o, "after");
    }
    wl_json_add_array(t.root, "none");
    return t;
}

static void print_tree(void *ctx) { wl_json_print(((struct tree *)ctx)->root); }
static void print_streams(void *ctx)
{
    wl_json_print_streams(((struct tree *)ctx)->root, ((struct tree *)ctx)->streams);
}

static void streams_print_like_a_tree(void **state)
{
    (void)state;
    struct wl_arena *a = wl_arena_new(NULL);
    struct tree whole = make(false, a), streamed = make(true, a);
    capture(print_tree, &whole, captured[0]);
    capture(print_streams, &streamed, captured[1]);
    assert_string_equal(captured[0], captured[1]);
    assert_non_null(strstr(captured[1], "two\\nlines, \\\"\\u007f\\\" and \\u009b"));
    assert_true(alive == 0 && most_alive == 1);
    wl_arena_free(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(streams_print_like_a_tree) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
