/* Runs side by side in an allocation, and their effect on each other. */
#include "campaign/neighbours.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static const int64_t S = WL_NS_PER_S;

/* A done run of `job` from s to s + time. */
static struct wl_run_row run(int64_t id, int64_t trial, const char *job, double from_s, double time_s)
{
    struct wl_run_row r;
    memset(&r, 0, sizeof r);
    r.id = id;
    r.trial = trial;
    r.campaign = 1;
    r.status = WL_RUN_DONE;
    r.slurm_job.id = job;
    r.start.wall_ns = (int64_t)(from_s * (double)S) + S;
    r.stop.wall_ns = (int64_t)((from_s + time_s) * (double)S) + S;
    r.time_s = time_s;
    return r;
}

static void the_time_beside_others_is_counted_once(void **state)
{
    struct wl_run_row v[] = { run(1, 1, "7", 0, 100), run(2, 2, "7", 50, 30), run(3, 2, "7", 60, 10),
                              run(4, 2, "7", 90, 50), run(5, 2, "8", 0, 100), run(6, 2, NULL, 0, 100) };
    const struct wl_run_rows all = { v, WL_COUNT(v) };
    const struct wl_neighbours n = wl_neighbours_of(&all, &v[0]);
    (void)state;
    assert_int_equal(n.runs, 3);
    assert_true(fabs(n.share - 0.4) < 1e-9); /* 50 to 80 and 90 to 100 */
    assert_int_equal(wl_neighbours_of(&all, &v[4]).runs, 0);
    assert_int_equal(wl_neighbours_of(&all, &v[5]).runs, 0);
    v[3].status = WL_RUN_PLANNED;
    assert_int_equal(wl_neighbours_of(&all, &v[0]).runs, 2);
}

static size_t add(struct wl_run_row *v, size_t n, int64_t trial, double from_s, double time_s)
{
    v[n] = run((int64_t)n + 1, trial, "7", from_s, time_s);
    return n + 1;
}

/* Two trials of 10 and 20 s, which neighbours make 10 % longer, to about a percent. */
static void an_effect_is_found(void **state)
{
    struct wl_run_row v[40];
    struct wl_arena *a = wl_arena_new(NULL);
    size_t n = 0;
    (void)state;
    for (int k = 0; k < 10; k++) {
        const double at = k * 200, wiggle = k % 2 ? 1.01 : 0.99;
        n = add(v, n, 1, at, 10 * wiggle);
        n = add(v, n, 2, at + 50, 20 * wiggle);
        n = add(v, n, 1, at + 101, 11 * wiggle);
        n = add(v, n, 2, at + 100, 22 * wiggle); /* beside it for half of its time */
    }
    const struct wl_run_rows all = { v, n };
    const struct wl_neighbours_effect e = wl_neighbours_effect_of(&all, 1, a);
    assert_int_equal(e.runs, 40);
    assert_int_equal(e.beside, 20);
    assert_true(e.lo > 5 && e.pct > 8 && e.pct < 16 && e.hi < 20);
    for (size_t i = 0; i < n; i++)
        if (v[i].trial == 1 && v[i].time_s > 10.5) v[i].time_s /= 1.1;
    for (size_t i = 0; i < n; i++)
        if (v[i].trial == 2 && v[i].time_s > 21) v[i].time_s /= 1.1;
    const struct wl_neighbours_effect none = wl_neighbours_effect_of(&all, 1, a);
    assert_true(none.lo < 0 && none.hi > 0);
    wl_arena_free(a);
}

/* All have neighbours nearly all the time. */
static void without_variation_nothing_is_known(void **state)
{
    struct wl_run_row v[] = { run(1, 1, "7", 0, 10),  run(2, 2, "7", 0, 10),  run(3, 1, "7", 20, 10),
                              run(4, 2, "7", 20, 9),  run(5, 1, "7", 40, 10), run(6, 2, "7", 41, 11),
                              run(7, 1, "7", 60, 10), run(8, 2, "7", 60, 10) };
    const struct wl_run_rows all = { v, WL_COUNT(v) };
    struct wl_arena *a = wl_arena_new(NULL);
    const struct wl_neighbours_effect e = wl_neighbours_effect_of(&all, 1, a);
    (void)state;
    assert_int_equal(e.beside, 8);
    assert_true(isnan(e.pct) && isnan(e.lo) && isnan(e.hi));
    wl_arena_free(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_time_beside_others_is_counted_once),
        cmocka_unit_test(an_effect_is_found),
        cmocka_unit_test(without_variation_nothing_is_known),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
