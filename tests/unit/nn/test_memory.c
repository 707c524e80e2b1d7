#include "nn/host/host.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static bool live_together(const struct wl_live_range *a, const struct wl_live_range *b)
{
    return a->first <= b->last && b->first <= a->last;
}

static bool overlap(const struct wl_live_range *a, const struct wl_live_range *b)
{
    return a->offset < b->offset + b->bytes && b->offset < a->offset + a->bytes;
}

/* The most bytes live at one step: no arena can be smaller. */
static size_t lower_bound(const struct wl_live_range *v, size_t n)
{
    size_t largest = 0;
    for (size_t i = 0; i < n; i++) {
        size_t live = 0;
        for (size_t j = 0; j < n; j++)
            if (v[j].first <= v[i].first && v[i].first <= v[j].last) live += v[j].bytes;
        if (live > largest) largest = live;
    }
    return largest;
}

static void check(struct wl_live_range *v, size_t n, size_t total)
{
    for (size_t i = 0; i < n; i++) {
        assert_true(v[i].offset % WL_ALIGN == 0);
        assert_true(v[i].offset + v[i].bytes <= total);
        for (size_t j = 0; j < i; j++) assert_false(live_together(&v[i], &v[j]) && overlap(&v[i], &v[j]));
    }
    assert_true(total >= lower_bound(v, n));
}

/* Random pieces: no two that are live at one step overlap, and the arena is not larger than all of them. */
static void test_random_live_ranges_do_not_overlap(void **state)
{
    (void)state;
    struct wl_arena *a = wl_arena_new(NULL);
    for (uint64_t round = 0; round < 200; round++) {
        size_t n = wl_random_below(1, round, 0, 80), all = 0;
        struct wl_live_range *v = wl_new_array(a, struct wl_live_range, n);
        for (size_t i = 0; i < n; i++) {
            v[i].bytes = wl_random_below(2, round, i, 5) ? wl_random_below(3, round, i, 100000) : 0;
            v[i].first = (int)wl_random_below(4, round, i, 100);
            v[i].last = v[i].first + (int)wl_random_below(5, round, i, 40);
            all += (v[i].bytes + WL_ALIGN - 1) / WL_ALIGN * WL_ALIGN;
        }
        size_t total = wl_memory_assign(v, n, WL_ALIGN, a);
        check(v, n, total);
        assert_true(total <= all);
    }
    wl_arena_free(a);
}

/* A chain, each piece alive with its neighbours only: two slots are enough. */
static void test_chain_needs_two_slots(void **state)
{
    (void)state;
    struct wl_arena *a = wl_arena_new(NULL);
    struct wl_live_range v[50];
    for (int i = 0; i < 50; i++) v[i] = (struct wl_live_range) { .bytes = 640, .first = i, .last = i + 1 };
    size_t total = wl_memory_assign(v, 50, WL_ALIGN, a);
    check(v, 50, total);
    assert_true(total == 2 * 640);
    assert_true(wl_memory_assign(v, 0, WL_ALIGN, a) == 0);
    wl_arena_free(a);
}

/* A hole is filled by what fits best, not by what comes first. */
static void test_hole_is_filled_by_best_fit(void **state)
{
    (void)state;
    struct wl_arena *a = wl_arena_new(NULL);
    struct wl_live_range v[] = {
        { .bytes = 4096, .first = 0, .last = 1 }, { .bytes = 3072, .first = 0, .last = 9 },
        { .bytes = 2048, .first = 0, .last = 1 }, { .bytes = 1024, .first = 0, .last = 9 },
        { .bytes = 960, .first = 5, .last = 6 },
    };
    size_t total = wl_memory_assign(v, WL_COUNT(v), WL_ALIGN, a);
    check(v, WL_COUNT(v), total);
    assert_true(v[4].offset == v[2].offset);
    assert_true(total == 10240);
    wl_arena_free(a);
}

static void test_pages_are_zeroed_and_aligned(void **state)
{
    (void)state;
    struct wl_arena *a = wl_arena_new(NULL);
    struct wl_err e = { 0 };
    char *p = wl_host_pages(a, 12345, "test", &e);
    assert_non_null(p);
    assert_true((uintptr_t)p % 4096 == 0);
    for (int i = 0; i < 12345; i++) assert_int_equal(p[i], 0);
    memset(p, 1, 12345);
    assert_null(wl_host_pages(a, (size_t)1 << 60, "activations", &e));
    assert_int_equal(e.code, WL_ENOMEM);
    assert_non_null(strstr(e.msg, "activations: no memory for 1152921504606846976 bytes"));
    wl_arena_free(a);
}

/* Small pages where the system grants no huge ones; never more than was asked about, nothing of what is elsewhere. */
static void test_huge_bytes_stay_within_the_range(void **state)
{
    (void)state;
    enum { N = 8 << 20 };
    struct wl_arena *a = wl_arena_new(NULL);
    struct wl_err e = { 0 };
    char *p = wl_host_pages(a, N, "test", &e);
    assert_non_null(p);
    assert_int_equal(wl_host_huge_bytes(p, N), 0); /* not touched yet */
    memset(p, 1, N);
    size_t huge = wl_host_huge_bytes(p, N);
    assert_true(huge <= N && huge % (2 << 20) == 0);
    assert_true(wl_host_huge_bytes(p, 4096) <= 4096);
    assert_int_equal(wl_host_huge_bytes(&huge, sizeof huge), 0);
    wl_arena_free(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_live_ranges_do_not_overlap), cmocka_unit_test(test_chain_needs_two_slots),
        cmocka_unit_test(test_hole_is_filled_by_best_fit),        cmocka_unit_test(test_pages_are_zeroed_and_aligned),
        cmocka_unit_test(test_huge_bytes_stay_within_the_range),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
