/* Arenas: alignment, zeroed memory, release order, children, errors and their messages. */
#include "base/base.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static char order[16];
static void record_release(void *what) { strcat(order, what); }

static void releases_run_newest_first_with_children(void **state)
{
    (void)state;
    order[0] = '\0';
    struct wl_arena *a = wl_arena_new(NULL);
    wl_defer(a, record_release, "1");
    struct wl_arena *child = wl_arena_new(a);
    wl_defer(child, record_release, "c");
    wl_defer(a, record_release, "2");
    wl_arena_free(a);
    assert_string_equal(order, "2c1");
}

static void a_child_freed_early_is_not_freed_twice(void **state)
{
    (void)state;
    order[0] = '\0';
    struct wl_arena *a = wl_arena_new(NULL);
    struct wl_arena *child = wl_arena_new(a);
    wl_defer(child, record_release, "c");
    wl_arena_free(child);
    wl_arena_free(a);
    assert_string_equal(order, "c");
}

/* A loop that makes a child each time, for days, must not fill its parent. */
static void children_freed_early_leave_nothing_in_the_parent(void **state)
{
    (void)state;
    order[0] = '\0';
    struct wl_arena *a = wl_arena_new(NULL);
    wl_defer(a, record_release, "1");
    struct wl_arena *oldest = wl_arena_new(a);
    char *before = wl_alloc(a, 1);
    for (int i = 0; i < 100; i++) {
        struct wl_arena *x = wl_arena_new(a), *y = wl_arena_new(a);
        wl_arena_free(i % 2 ? x : y);
        wl_arena_free(i % 2 ? y : x);
    }
    char *after = wl_alloc(a, 1);
    assert_true(after - before < 256); /* both lie in the first block */
    wl_defer(oldest, record_release, "o");
    wl_defer(a, record_release, "2");
    wl_arena_free(oldest);
    wl_arena_free(a);
    assert_string_equal(order, "o21");
}

static void memory_is_zeroed_aligned_and_disjoint(void **state)
{
    (void)state;
    struct wl_arena *a = wl_arena_new(NULL);
    unsigned char *last = NULL;
    size_t last_n = 0;
    for (size_t n = 0; n < 40000; n = n * 3 / 2 + 1) {
        unsigned char *p = wl_alloc(a, n);
        assert_int_equal((uintptr_t)p % 16, 0);
        for (size_t i = 0; i < n; i++) assert_int_equal(p[i], 0);
        memset(p, 0xab, n);
        if (last) assert_true(p >= last + last_n || p + n <= last);
        last = p;
        last_n = n;
    }
    struct wl_err e;
    for (size_t align = 16; align <= 4096; align *= 2)
        assert_int_equal((uintptr_t)wl_try_alloc(a, 100, align, "x", &e) % align, 0);
    wl_arena_free(a);
}

static void an_impossible_size_is_an_error(void **state)
{
    (void)state;
    struct wl_arena *a = wl_arena_new(NULL);
    struct wl_err e = { 0 };
    assert_null(wl_try_alloc(a, SIZE_MAX - 100, 64, "the image", &e));
    assert_int_equal(e.code, WL_ENOMEM);
    assert_non_null(strstr(e.msg, "the image"));
    wl_arena_free(a);
}

static void a_list_keeps_its_elements_while_it_grows(void **state)
{
    (void)state;
    struct wl_arena *a = wl_arena_new(NULL);
    int *v = NULL;
    size_t n = 0, cap = 0;
    for (int i = 0; i < 1000; i++) {
        WL_GROW(a, v, n, cap);
        v[n++] = i;
    }
    for (int i = 0; i < 1000; i++) assert_int_equal(v[i], i);
    wl_arena_free(a);
}

static void error_messages_nest_and_are_cut_at_characters(void **state)
{
    (void)state;
    struct wl_err e = { 0 };
    assert_int_equal(wl_fail(&e, WL_EINVAL, "batch is %d", 3), WL_EINVAL);
    assert_int_equal(wl_err_prefix(&e, "exp.ini:%d", 12), WL_EINVAL);
    assert_string_equal(e.msg, "exp.ini:12: batch is 3");
    char text[2000];
    for (size_t i = 0; i + 1 < sizeof text; i += 2) memcpy(text + i, "\xc3\xa9", 2); /* é */
    text[sizeof text - 2] = '\0';
    wl_fail(&e, WL_EIO, "%s", text);
    assert_int_equal(strlen(e.msg) % 2, 0);
    assert_int_equal(wl_fail(NULL, WL_EIO, "no one listens"), WL_EIO);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(releases_run_newest_first_with_children),
        cmocka_unit_test(a_child_freed_early_is_not_freed_twice),
        cmocka_unit_test(children_freed_early_leave_nothing_in_the_parent),
        cmocka_unit_test(memory_is_zeroed_aligned_and_disjoint),
        cmocka_unit_test(an_impossible_size_is_an_error),
        cmocka_unit_test(a_list_keeps_its_elements_while_it_grows),
        cmocka_unit_test(error_messages_nest_and_are_cut_at_characters),
    };
    return cmocka_run_group_tests_name("arena", tests, NULL, NULL);
}
