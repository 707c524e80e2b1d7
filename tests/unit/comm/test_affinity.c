/* The order in which ranks take CPUs, from folders like those under /sys/devices/system/cpu. */
#include "nn/comm/internal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct wl_arena *a;
static char folder[] = "/tmp/wl-cores-XXXXXX";

static void siblings(int cpu, const char *list)
{
    struct wl_err e = { 0 };
    const char *dir = wl_strf(a, "%s/cpu%d/topology", folder, cpu);
    if (wl_mkdirs(dir, &e)) fail_msg("%s", e.msg);
    if (wl_file_write(wl_path_join(a, dir, "thread_siblings_list"), list, strlen(list), &e)) fail_msg("%s", e.msg);
}

static cpu_set_t set_of(const int *cpus, size_t n)
{
    cpu_set_t s;
    CPU_ZERO(&s);
    for (size_t i = 0; i < n; i++) CPU_SET((size_t)cpus[i], &s);
    return s;
}

static void assert_order(const char *cpus, const int *may, size_t n, const int *want)
{
    int order[CPU_SETSIZE];
    cpu_set_t s = set_of(may, n);
    assert_int_equal(wl_affinity_order(&s, cpus, order), n);
    for (size_t i = 0; i < n; i++) assert_int_equal(order[i], want[i]);
}

/* Neighbours 0 and 1 are one core, and so on: each core once, then the second threads. */
static void test_neighbours(void **state)
{
    (void)state;
    for (int cpu = 0; cpu < 6; cpu++) siblings(cpu, wl_strf(a, "%d-%d\n", cpu / 2 * 2, cpu / 2 * 2 + 1));
    assert_order(folder, (int[]) { 0, 1, 2, 3, 4, 5 }, 6, (int[]) { 0, 2, 4, 1, 3, 5 });
    assert_order(folder, (int[]) { 1, 2, 3 }, 3, (int[]) { 1, 2, 3 }); /* CPU 0 is not ours: 1 has the core alone */
}

/* CPU n is the second thread of core n - 3, as most servers count. */
static void test_halves(void **state)
{
    (void)state;
    for (int cpu = 0; cpu < 6; cpu++) siblings(cpu, wl_strf(a, "%d,%d\n", cpu % 3, cpu % 3 + 3));
    assert_order(folder, (int[]) { 0, 1, 2, 3, 4, 5 }, 6, (int[]) { 0, 1, 2, 3, 4, 5 });
    assert_order(folder, (int[]) { 0, 3, 4 }, 3, (int[]) { 0, 4, 3 });
}

static void test_unknown(void **state)
{
    (void)state;
    siblings(7, "?\n");
    assert_order(folder, (int[]) { 7, 9, 11 }, 3, (int[]) { 7, 9, 11 });
}

static int set_up(void **state)
{
    (void)state;
    a = wl_arena_new(NULL);
    return mkdtemp(folder) ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    int rc = system(wl_strf(a, "rm -r %s", folder));
    wl_arena_free(a);
    return rc;
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_neighbours), cmocka_unit_test(test_halves),
                                        cmocka_unit_test(test_unknown) };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
