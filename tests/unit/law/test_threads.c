/* Groups in threads: the result does not depend on how many there are. */
#include "table.h"

#include <sched.h>

enum { GROUPS = 40, COUNTS = 6, REPEATS = 3, ROWS = GROUPS * COUNTS * REPEATS };

static struct row *campaign(struct wl_arena *a)
{
    struct row *rows = wl_new_array(a, struct row, ROWS);
    for (size_t i = 0; i < ROWS; i++) {
        const double workers = (double)(1 << i / REPEATS % COUNTS);
        rows[i] = (struct row) { .workload = wl_strf(a, "net%zu", i / (COUNTS * REPEATS)), .workers = workers };
        rows[i].run = wl_strf(a, "%zu", i % REPEATS);
        rows[i].time_s = (100 / workers + 2) * exp(0.02 * wl_random_normal(9, 0, i));
        rows[i].energy_j = 300 * workers * rows[i].time_s;
        rows[i].samples = 640;
    }
    return rows;
}

static char *fit_as_text(const struct row *rows, struct wl_arena *a)
{
    const struct wl_law_options options = {
        .drop_epochs = 1, .margin = WL_LAW_MARGIN, .thorough = true, .bootstrap = true
    };
    const struct wl_law_result r = fit_rows(rows, ROWS, options, a);
    struct wl_json *root = wl_json_root_object(a);
    assert_int_equal(r.n, GROUPS);
    wl_law_json(&r, root);
    return wl_json_text(root, 1, a);
}

/* What each group's forecast is, computed in threads. */
struct forecasts {
    const struct wl_law_result *r;
    double hi[GROUPS];
};

static void forecast(void *ctx, size_t i, struct wl_arena *scratch)
{
    struct forecasts *f = ctx;
    struct wl_law_posterior p;
    struct wl_err e;
    if (wl_law_posterior(&f->r->groups[i], WL_LAW_TIME, NULL, false, &p, scratch, &e) || p.refusal) return;
    f->hi[i] = wl_law_forecast_at(&p, 128, scratch).hi;
}

static void bind_to(const cpu_set_t *cores) { assert_int_equal(sched_setaffinity(0, sizeof *cores, cores), 0); }

static void one_core_gives_what_all_do(void **state)
{
    (void)state;
    struct wl_arena *a = wl_arena_new(NULL);
    const struct row *rows = campaign(a);
    cpu_set_t all, one;
    assert_int_equal(sched_getaffinity(0, sizeof all, &all), 0);
    CPU_ZERO(&one);
    for (int c = 0; c < CPU_SETSIZE && !CPU_COUNT(&one); c++)
        if (CPU_ISSET(c, &all)) CPU_SET(c, &one);
    char *text[2];
    struct forecasts f[2];
    for (int k = 0; k < 2; k++) {
        bind_to(k ? &one : &all);
        const struct wl_law_result r =
            fit_rows(rows, ROWS, (struct wl_law_options) { .drop_epochs = 1, .runs_only = true }, a);
        text[k] = fit_as_text(rows, a);
        f[k] = (struct forecasts) { .r = &r };
        wl_parallel(GROUPS, forecast, &f[k], a);
        for (size_t i = 0; i < GROUPS; i++) assert_true(f[k].hi[i] > 0);
    }
    bind_to(&all);
    assert_string_equal(text[0], text[1]);
    assert_memory_equal(f[0].hi, f[1].hi, sizeof f[0].hi);
    wl_arena_free(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(one_core_gives_what_all_do) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
