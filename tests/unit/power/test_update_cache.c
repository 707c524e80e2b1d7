/* Remembered update periods: how they are found from readings, the file, and which entries are used. */
#include "fixture.h"

#include "power/change_detector.h"
#include "power/nvml/update_cache.h"

#include <math.h>
#include <string.h>

#define MS (WL_NS_PER_S / 1000)

/* A value that changes every period_ms, read every poll_ms, from .. to. */
static void poll(struct wl_change_detector *m, int period_ms, int poll_ms, int from_ms, int to_ms)
{
    for (int t = from_ms; t < to_ms; t += poll_ms) wl_change_detector_add(m, t / period_ms, t * MS);
}

static void changes_give_a_period_and_its_error(void **state)
{
    (void)state;
    struct wl_change_detector m = wl_change_detector_none;
    poll(&m, 100, 2, 50, 150);
    assert_true(m.n == 1 && isnan(wl_change_detector_period_s(&m)) && isnan(wl_change_detector_error_s(&m)));
    poll(&m, 100, 2, 150, 350);
    assert_true(m.n == 3 && fabs(wl_change_detector_period_s(&m) - 0.1) < 1e-9);
    assert_true(fabs(wl_change_detector_error_s(&m) - 0.001) < 1e-9);
    poll(&m, 100, 2, 450, 550); /* not read for 0.1 s */
    assert_true(isinf(wl_change_detector_error_s(&m)));
    wl_change_detector_add(&m, NAN, 600 * MS);
    wl_change_detector_add(&m, 6, 602 * MS);
    assert_int_equal(m.n, 5); /* a failed reading is not a change */
}

static struct wl_update_period update(const char *uuid, double energy_s)
{
    return (struct wl_update_period) { uuid, "A100", "535", "2026-11-22T10:00:00Z", 0.1, energy_s, true };
}

static const char *path_in(struct fixture *f) { return wl_path_join(f->a, f->dir, "state/updates.ini"); }

static void keep(struct fixture *f, struct wl_update_period u)
{
    if (wl_update_cache_merge(path_in(f), &(struct wl_update_cache) { .v = &u, .n = 1 }, f->a, &f->e) < 0)
        fail_msg("%s", f->e.msg);
}

static struct wl_update_cache read_back(struct fixture *f)
{
    struct wl_update_cache all;
    if (wl_update_cache_read(path_in(f), &all, f->a, &f->e) < 0) fail_msg("%s", f->e.msg);
    return all;
}

static void a_device_has_one_entry_per_driver(void **state)
{
    struct fixture *f = *state;
    assert_int_equal(read_back(f).n, 0); /* there is no file yet */
    keep(f, update("GPU-a", 0.1));
    keep(f, update("GPU-b", 0.02));
    keep(f, update("GPU-a", 0.05));
    struct wl_update_cache all = read_back(f);
    struct wl_update_period asked = update("GPU-a", NAN);
    assert_int_equal(all.n, 2);
    assert_true(wl_update_cache_find(&all, &asked)->energy_s == 0.05);
    asked.driver = "550";
    assert_null(wl_update_cache_find(&all, &asked));
    asked = update("GPU-a", NAN);
    asked.simulated = false;
    assert_null(wl_update_cache_find(&all, &asked));
    asked = update("GPU-a", NAN);
    asked.name = "H100";
    assert_null(wl_update_cache_find(&all, &asked));
    keep(f, update("GPU-a", NAN)); /* forgotten */
    all = read_back(f);
    assert_true(all.n == 1 && wl_str_eq(all.v[0].uuid, "GPU-b"));
}

static void a_broken_file_is_reported_and_rewritten(void **state)
{
    struct fixture *f = *state;
    struct wl_update_cache all;
    put_file(f, "state/updates.ini", "[GPU-a]\ndevice = GPU-a\npower_s = soon\n");
    assert_int_equal(wl_update_cache_read(path_in(f), &all, f->a, &f->e), WL_EINVAL);
    assert_non_null(strstr(f->e.msg, "updates.ini:3"));
    assert_non_null(strstr(f->e.msg, "soon"));
    put_file(f, "state/updates.ini", "[GPU-a]\ndevice = GPU-a\nenergy_s = 0.1\n");
    assert_int_equal(wl_update_cache_read(path_in(f), &all, f->a, &f->e), WL_EINVAL);
    if (!strstr(f->e.msg, "updates.ini:2: ")) fail_msg("%s", f->e.msg);
    keep(f, update("GPU-a", 0.1));
    assert_int_equal(read_back(f).n, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(changes_give_a_period_and_its_error),
        cmocka_unit_test_setup_teardown(a_device_has_one_entry_per_driver, fixture_setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(a_broken_file_is_reported_and_rewritten, fixture_setup, fixture_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
