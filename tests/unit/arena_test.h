/* cmocka with one arena per test, for the tests of several folders. */
#ifndef TESTS_ARENA_TEST_H
#define TESTS_ARENA_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/base.h"

static inline int arena_up(void **state)
{
    *state = wl_arena_new(NULL);
    return 0;
}

static inline int arena_down(void **state)
{
    wl_arena_free(*state);
    return 0;
}

#define WITH_ARENA(test) cmocka_unit_test_setup_teardown(test, arena_up, arena_down)

#define assert_ok(call)                          \
    do {                                         \
        struct wl_err e_ = { 0 };                \
        struct wl_err *e = &e_;                  \
        if ((call) != 0) fail_msg("%s", e->msg); \
    } while (0)

#define assert_holds(text, part)                                                \
    do {                                                                        \
        if (!strstr(text, part)) fail_msg("\"%s\" is not in:\n%s", part, text); \
    } while (0)

#endif
