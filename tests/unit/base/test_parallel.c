/* Independent items in threads: each once, the same for any number of threads. */
#include "base/base.h"

#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

enum { N = 5000 };

struct slots {
    const char *text[N];
    int calls[N];
};

static void fill(void *ctx, size_t i, struct wl_arena *arena)
{
    struct slots *s = ctx;
    s->calls[i]++;
    s->text[i] = wl_strf(arena, "item %zu", i);
}

static void each_item_is_done_once(void **state)
{
    (void)state;
    struct wl_arena *a = wl_arena_new(NULL);
    struct slots *s = wl_new(a, struct slots);
    wl_parallel(N, fill, s, a);
    for (size_t i = 0; i < N; i++) {
        assert_int_equal(s->calls[i], 1);
        assert_string_equal(s->text[i], wl_strf(a, "item %zu", i));
    }
    wl_parallel(0, fill, s, a);
    assert_int_equal(s->calls[0], 1);
    wl_arena_free(a);
}

static void where(void *ctx, size_t i, struct wl_arena *arena)
{
    (void)arena;
    ((pthread_t *)ctx)[i] = pthread_self();
}

/* On one core there is one thread, the caller's. */
static void threads_are_as_many_as_cores(void **state)
{
    (void)state;
    struct wl_arena *a = wl_arena_new(NULL);
    pthread_t *thread = wl_new_array(a, pthread_t, N);
    cpu_set_t all, one;
    assert_int_equal(sched_getaffinity(0, sizeof all, &all), 0);
    CPU_ZERO(&one);
    for (int c = 0; c < CPU_SETSIZE && !CPU_COUNT(&one); c++)
        if (CPU_ISSET(c, &all)) CPU_SET(c, &one);
    assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
    wl_parallel(N, where, thread, a);
    for (size_t i = 0; i < N; i++) assert_true(pthread_equal(thread[i], pthread_self()));
    assert_int_equal(sched_setaffinity(0, sizeof all, &all), 0);
    wl_arena_free(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_item_is_done_once),
        cmocka_unit_test(threads_are_as_many_as_cores),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
