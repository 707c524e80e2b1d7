/* Time and power of windows and runs from their derived rows. */
#include "tune/outcome.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#define assert_near(x, y, tolerance) assert_true(fabs((x) - (y)) < (tolerance))

static struct wl_energy_row energy(double epoch, double energy_j, bool chosen)
{
    return (struct wl_energy_row) { .epoch = epoch,
                                    .energy_j = energy_j,
                                    .energy_lo_j = 0.9 * energy_j,
                                    .energy_hi_j = 1.1 * energy_j,
                                    .chosen = chosen,
                                    .simulated = true };
}

struct run {
    struct wl_epoch_row epochs[3];
    struct wl_energy_row energies[4];
};

/* Epochs of 30, 10 and 14 s, in 100 s. */
static struct run run_of_three_epochs(void)
{
    return (struct run) { { { .epoch = 1, .time_s = 30 }, { .epoch = 2, .time_s = 10 }, { .epoch = 3, .time_s = 14 } },
                          { energy(NAN, 9000, true), energy(1, 5000, true), energy(2, 1000, true),
                            energy(3, 1400, true) } };
}

static struct wl_tune_rows rows_of(const struct run *r)
{
    return (struct wl_tune_rows) { r->epochs, WL_COUNT(r->epochs), r->energies, WL_COUNT(r->energies), 100 };
}

static void a_window_is_per_step_and_per_device(void **state)
{
    (void)state;
    struct wl_err e;
    struct wl_tune_window w = { .candidate = 2 };
    struct wl_epoch_row epoch = { .epoch = 1, .time_s = 8, .updates = 40 };
    struct wl_energy_row v[] = { energy(NAN, 9000, true), energy(1, 1600, true), energy(1, 1700, false),
                                 energy(1, 2400, true) };
    struct wl_tune_rows rows = { &epoch, 1, v, WL_COUNT(v), 99 };
    assert_int_equal(wl_tune_outcome_of_window(&rows, 2, &w, &e), 0);
    assert_near(w.t_s, 0.2, 1e-12);
    assert_near(w.p_w, 4000 / 8.0 / 2, 1e-9);
    assert_near(w.sd_p, 0.1 / 1.959964, 1e-9);
    assert_true(w.simulated && !w.estimated && !w.is_whole);

    v[3].energy_j = NAN;
    v[3].why = "the counter was reset";
    assert_int_equal(wl_tune_outcome_of_window(&rows, 2, &w, &e), WL_EINVAL);
    assert_non_null(strstr(e.msg, "the counter was reset"));
    rows.n_energies = 0;
    assert_int_equal(wl_tune_outcome_of_window(&rows, 2, &w, &e), WL_EINVAL);
    assert_non_null(strstr(e.msg, "no sensor measures"));
    rows.n_epochs = 0;
    assert_int_equal(wl_tune_outcome_of_window(&rows, 2, &w, &e), WL_EINVAL);
}

static void a_run_is_per_epoch_without_the_first(void **state)
{
    (void)state;
    struct wl_err e;
    struct wl_tune_window w = { 0 };
    struct run r = run_of_three_epochs();
    struct wl_tune_rows rows = rows_of(&r);
    assert_int_equal(wl_tune_outcome_of_run(&rows, 1, &w, &e), 0);
    assert_true(w.is_whole);
    assert_near(w.t_s, 12, 1e-12);
    assert_string_equal(w.per, "epoch");
    assert_near(w.p_w, 100, 1e-9);
    rows.n_epochs = 1; /* the only one counts */
    assert_int_equal(wl_tune_outcome_of_run(&rows, 1, &w, &e), 0);
    assert_near(w.t_s, 30, 1e-12);
    rows.n_epochs = 0;
    assert_int_equal(wl_tune_outcome_of_run(&rows, 1, &w, &e), 0);
    assert_near(w.t_s, 100, 1e-12);
    assert_near(w.p_w, 90, 1e-9);
    assert_string_equal(w.per, "run");
}

static void a_target_counts_all_epochs_up_to_it(void **state)
{
    (void)state;
    struct wl_err e;
    struct wl_tune_window w = { 0 };
    struct run r = run_of_three_epochs();
    struct wl_tune_rows rows = rows_of(&r);
    assert_int_equal(wl_tune_outcome_until(&rows, 2, &w, &e), 0);
    assert_near(w.t_s, 40, 1e-12);
    assert_near(w.p_w, 150, 1e-9);
    assert_int_equal(wl_tune_outcome_until(&rows, INT64_MAX, &w, &e), 0);
    assert_near(w.t_s, 54, 1e-12);
    assert_int_equal(wl_tune_outcome_until(&rows, 0, &w, &e), 0);
    assert_near(w.t_s, 100, 1e-12);
    assert_near(w.p_w, 90, 1e-9);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_window_is_per_step_and_per_device),
        cmocka_unit_test(a_run_is_per_epoch_without_the_first),
        cmocka_unit_test(a_target_counts_all_epochs_up_to_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
