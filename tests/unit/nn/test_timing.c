/* Times of kernels in turns, on a machine whose work is counted by hand, and by the processor time of its threads. */
#include "nn/cpu/timing.h"
#include "nn/threads.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

enum { MS = 1000000, KERNELS = 3, MOST = 256 };

/* What has been done, and in which order. Between two instants of its own clock everything takes `slower` times as
 * long. */
struct machine {
    int64_t now_ns, lap_ns, from_ns, to_ns, slower;
    char order[MOST];
    int runs;
};
struct kernel {
    struct machine *machine;
    char name;
    int64_t ns;
};

static int run(void *context, struct wl_err *e)
{
    (void)e;
    const struct kernel *k = context;
    struct machine *m = k->machine;
    assert_true(m->runs < MOST);
    m->order[m->runs++] = k->name;
    m->now_ns += k->ns * (m->now_ns >= m->from_ns && m->now_ns < m->to_ns ? m->slower : 1);
    return 0;
}

static int64_t lap(void *context)
{
    struct machine *m = context;
    const int64_t ns = m->now_ns - m->lap_ns;
    m->lap_ns = m->now_ns;
    return ns;
}

static struct wl_timings measured(struct wl_arena *a, struct machine *m, struct kernel kernels[KERNELS])
{
    struct wl_timings t = { .arena = a };
    struct wl_err e = { 0 };
    for (int i = 0; i < KERNELS; i++) {
        kernels[i].machine = m;
        wl_timings_add(&t, run, &kernels[i], 1);
    }
    assert_int_equal(wl_timings_run(&t, lap, m, &e), 0);
    return t;
}

static void check_ns(const struct wl_timings *t, size_t i, int64_t ns)
{
    const double s = wl_timings_seconds(t, i, i + 1);
    if (!(s > (double)ns * .999e-9 && s < (double)ns * 1.001e-9)) fail_msg("run %zu: %g s", i, s);
}

/* Whatever the machine does in the first turn and more, and in a turn of one kernel alone. */
static void test_a_disturbance_does_not_count(void **state)
{
    (void)state;
    static const struct machine disturbed[] = { { .to_ns = 0 },
                                                { .to_ns = 90 * MS, .slower = 9 },
                                                { .to_ns = 150 * MS, .slower = 2 },
                                                { .from_ns = 60 * MS, .to_ns = 65 * MS, .slower = 30 } };
    for (size_t i = 0; i < WL_COUNT(disturbed); i++) {
        struct wl_arena *a = wl_arena_new(NULL);
        struct machine m = disturbed[i];
        struct kernel kernels[KERNELS] = { { .name = 'a', .ns = 20 * MS },
                                           { .name = 'b', .ns = 19 * MS },
                                           { .name = 'c', .ns = 21 * MS } };
        const struct wl_timings t = measured(a, &m, kernels);
        for (size_t k = 0; k < KERNELS; k++) check_ns(&t, k, kernels[k].ns);
        for (int k = 0; k < m.runs; k++) assert_int_equal(m.order[k], "abc"[k % KERNELS]);
        wl_arena_free(a);
    }
}

/* Short kernels run more often than long ones; what is taken several times counts so. */
static void test_turns_and_sums(void **state)
{
    (void)state;
    static const int64_t ns[] = { MS, 100 * MS };
    int runs[WL_COUNT(ns)];
    for (size_t i = 0; i < WL_COUNT(ns); i++) {
        struct wl_arena *a = wl_arena_new(NULL);
        struct machine m = { 0 };
        struct kernel kernels[KERNELS] = { { .name = 'a', .ns = ns[i] },
                                           { .name = 'b', .ns = ns[i] },
                                           { .name = 'c', .ns = ns[i] } };
        struct wl_timings t = measured(a, &m, kernels);
        runs[i] = m.runs;
        t.v[1].times = 5;
        const double s = wl_timings_seconds(&t, 0, 2);
        assert_true(s > 5.999e-9 * (double)ns[i] && s < 6.001e-9 * (double)ns[i]);
        wl_arena_free(a);
    }
    assert_true(runs[1] >= 3 * KERNELS && runs[0] > runs[1]);
}

static int failing(void *context, struct wl_err *e) { return wl_fail(e, WL_ELIB, "%s", (const char *)context); }

static void test_a_kernel_that_fails(void **state)
{
    (void)state;
    struct wl_timings t = { .arena = wl_arena_new(NULL) };
    struct machine m = { 0 };
    struct wl_err e = { 0 };
    wl_timings_add(&t, failing, "no", 1);
    assert_int_equal(wl_timings_run(&t, lap, &m, &e), WL_ELIB);
    assert_string_equal(e.msg, "no");
    wl_arena_free(t.arena);
}

static void work(int64_t ns)
{
    const int64_t from_ns = wl_clock_thread_cpu_ns();
    while (wl_clock_thread_cpu_ns() - from_ns < ns) {
    }
}

/* Only work counts, not waiting, and of several threads the one that worked longest. */
static void test_laps_are_processor_time(void **state)
{
    (void)state;
    wl_busiest_thread_lap(NULL);
    wl_busiest_thread_lap(NULL);
    wl_sleep_until(wl_now_ns() + 60 * MS);
    const int64_t asleep_ns = wl_busiest_thread_lap(NULL);
    if (asleep_ns >= 20 * MS) fail_msg("%lld ns asleep", (long long)asleep_ns);
    work(5 * MS);
    assert_true(wl_busiest_thread_lap(NULL) >= 5 * MS);
#ifdef _OPENMP
    const int last = omp_get_max_threads() - 1;
#pragma omp parallel
    if (omp_get_thread_num() == last) work(7 * MS);
    assert_true(wl_busiest_thread_lap(NULL) >= 7 * MS);
#endif
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_a_disturbance_does_not_count),
                                        cmocka_unit_test(test_turns_and_sums),
                                        cmocka_unit_test(test_a_kernel_that_fails),
                                        cmocka_unit_test(test_laps_are_processor_time) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
