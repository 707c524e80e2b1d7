/* A sample allocates nothing. */
#include "fixture.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

/* ---- Counts every allocation of our own code: the linker redirects malloc, calloc and realloc here ---- */

static _Atomic long allocations;

void *__real_malloc(size_t n);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *p, size_t n);
void *__wrap_malloc(size_t n);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *p, size_t n);

void *__wrap_malloc(size_t n)
{
    atomic_fetch_add(&allocations, 1);
    return __real_malloc(n);
}

void *__wrap_calloc(size_t n, size_t size)
{
    atomic_fetch_add(&allocations, 1);
    return __real_calloc(n, size);
}

void *__wrap_realloc(void *p, size_t n)
{
    atomic_fetch_add(&allocations, 1);
    return __real_realloc(p, n);
}

/* All sensors at once, drained and watched while they run, on this machine's /proc and eight scripted GPUs. */
static void a_sample_allocates_nothing(void **state)
{
    struct fixture *f = *state;
    f->opts.nvml_library = getenv("FAKE_NVML");
    if (!f->opts.nvml_library) fail_msg("FAKE_NVML is not set: run it by `meson test`");
    setenv("WATTLAW_FAKE_NVML", "gpus=8; update_ms=20; fail=3:*:15:0.1", 1);
    f->opts.root = "";
    struct wl_sensors *all = open_sensors(f, "nvml,proc,cpu_model");
    struct wl_sampler *s = start_sampler(f, all, 100);
    wl_sampler_watch(s, getpid());
    static struct wl_sample out[4096];
    sleep_ms(50); /* a thread's start may allocate */
    long before = atomic_load(&allocations);
    size_t n = 0;
    for (int i = 0; i < 8; i++) {
        struct wl_sampler_stats stats;
        sleep_ms(50);
        n += wl_sampler_drain(s, out, WL_COUNT(out));
        wl_sampler_stats(s, &stats);
    }
    long during = atomic_load(&allocations) - before;
    wl_sampler_stop(s);
    n += wl_sampler_drain(s, out, WL_COUNT(out));
    assert_true(n > 500);
    assert_int_equal(during, 0);
    assert_true(atomic_load(&allocations) > 0); /* the count works */
}

#define WITH_FIXTURE(test) cmocka_unit_test_setup_teardown(test, fixture_setup, fixture_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_FIXTURE(a_sample_allocates_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
