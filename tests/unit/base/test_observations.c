/* The observation table: columns by name, fields as text, and which rows are one run. */
#include "base/base.h"

#include <math.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void every_value_starts_missing(void **state)
{
    (void)state;
    struct wl_arena *a = wl_arena_new(NULL);
    struct wl_observations obs = { 0 };
    wl_obs_alloc(&obs, 2, a);
    for (size_t i = 0; wl_obs_names[i]; i++) {
        struct wl_obs_column c;
        assert_int_equal(wl_obs_find(&obs, wl_obs_names[i], &c, NULL), 0);
        assert_string_equal(c.name, wl_obs_names[i]);
        bool flag = strcmp(c.name, "estimated") == 0 || strcmp(c.name, "simulated") == 0;
        assert_string_equal(wl_obs_text(&c, 1, a), flag ? "0" : "");
    }
    wl_arena_free(a);
}

static void an_unknown_column_gets_the_nearest_name(void **state)
{
    (void)state;
    struct wl_arena *a = wl_arena_new(NULL);
    struct wl_observations obs = { .source = "x.csv" };
    wl_obs_alloc(&obs, 1, a);
    struct wl_obs_column extra = { .name = "cooling", .real = obs.time_s }, c;
    obs.extra = &extra;
    obs.n_extra = 1;
    struct wl_err e;
    assert_int_equal(wl_obs_find(&obs, "cooling", &c, &e), 0);
    assert_int_equal(wl_obs_find(&obs, "time", &c, &e), WL_ENOENT);
    assert_non_null(strstr(e.msg, "x.csv: no column \"time\""));
    assert_int_equal(wl_obs_find(&obs, "power_cap", &c, &e), WL_ENOENT);
    assert_non_null(strstr(e.msg, "did you mean \"power_cap_w\"?"));
    assert_int_equal(wl_obs_find(&obs, "coolin", &c, &e), WL_ENOENT);
    assert_non_null(strstr(e.msg, "did you mean \"cooling\"?"));
    wl_arena_free(a);
}

static void runs_are_separated_by_settings_labels_and_epochs(void **state)
{
    (void)state;
    static const struct {
        double workers;
        const char *run;
        double epoch;
        size_t index;
    } rows[] = {
        { 1, "1", 1, 0 },    { 1, "1", 2, 0 },    { 2, "1", 1, 1 },
        { 1, "2", 1, 2 },    { 2, "1", 2, 1 },                       /* interleaved */
        { 4, NULL, 1, 3 },   { 4, NULL, 2, 3 },   { 4, NULL, 1, 4 }, /* epochs start again: a new run */
        { 8, NULL, NAN, 5 }, { 8, NULL, NAN, 6 },                    /* one row per run */
        { NAN, "1", 1, 7 },  { NAN, "1", 2, 7 },
    };
    struct wl_arena *a = wl_arena_new(NULL);
    struct wl_observations obs = { 0 };
    wl_obs_alloc(&obs, WL_COUNT(rows), a);
    for (size_t i = 0; i < obs.n; i++) {
        obs.workload[i] = "resnet50";
        obs.workers[i] = rows[i].workers;
        obs.run[i] = rows[i].run;
        obs.epoch[i] = rows[i].epoch;
    }
    wl_obs_index_runs(&obs, a);
    assert_int_equal(obs.runs, 8);
    for (size_t i = 0; i < obs.n; i++) assert_int_equal(obs.run_index[i], rows[i].index);
    wl_arena_free(a);
}

/* Rows 0 and 3 are one part, 1 and 4 another; row 2 is left out. Runs are numbered within each. */
static void parts_are_tables_of_their_own(void **state)
{
    (void)state;
    static const size_t part[] = { 1, 0, 2, 1, 0 }, rows[2][2] = { { 1, 4 }, { 0, 3 } };
    struct wl_arena *a = wl_arena_new(NULL);
    struct wl_observations obs = { .source = "x.csv", .note = "as it is" };
    wl_obs_alloc(&obs, 5, a);
    const char **cooling = wl_new_array(a, const char *, 5), **heat = wl_new_array(a, const char *, 5);
    for (size_t i = 0; i < 5; i++) {
        obs.workload[i] = part[i] ? "one" : "other";
        obs.run[i] = wl_strf(a, "%zu", i);
        obs.time_s[i] = 10 + (double)i;
        cooling[i] = wl_strf(a, "air %zu", i);
        heat[i] = wl_strf(a, "%zu", i);
    }
    wl_obs_add_extra(&obs, "cooling", cooling, a);
    wl_obs_add_extra(&obs, "heat", heat, a);
    obs.extra[0].setting = true;
    wl_obs_index_runs(&obs, a);
    const struct wl_observations *v = wl_obs_split(&obs, part, 2, a);
    for (size_t p = 0; p < 2; p++) {
        assert_string_equal(v[p].source, "x.csv");
        assert_string_equal(v[p].note, "as it is");
        assert_int_equal(v[p].n, 2);
        assert_int_equal(v[p].runs, 2);
        assert_int_equal(v[p].n_extra, 2);
        assert_true(v[p].extra[0].setting && !v[p].extra[1].setting);
        for (size_t i = 0; i < 2; i++) {
            const size_t row = rows[p][i];
            assert_int_equal(v[p].run_index[i], i);
            assert_string_equal(v[p].workload[i], obs.workload[row]);
            assert_true(v[p].time_s[i] == 10 + (double)row && isnan(v[p].energy_j[i]));
            assert_string_equal(v[p].extra[0].text[i], cooling[row]);
            assert_true(v[p].extra[1].real[i] == (double)row);
        }
    }
    wl_arena_free(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_value_starts_missing),
        cmocka_unit_test(an_unknown_column_gets_the_nearest_name),
        cmocka_unit_test(runs_are_separated_by_settings_labels_and_epochs),
        cmocka_unit_test(parts_are_tables_of_their_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
