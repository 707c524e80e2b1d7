/* The table of carbon intensities: its size, values copied from the source, names and messages. */
#include "carbon/carbon.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

/* Ember's figures for 2024, read in average-intensities.json of CO2.js 0.19.0. */
static const struct {
    const char *alpha2, *alpha3, *name;
    double g_per_kwh;
} known[] = {
    { "US", "USA", "United States", 383.55 }, { "GB", "GBR", "United Kingdom", 215.79 },
    { "CN", "CHN", "China", 557.5 },          { "JP", "JPN", "Japan", 483.73 },
    { "IT", "ITA", "Italy", 287.75 },         { "ES", "ESP", "Spain", 146.15 },
    { "PL", "POL", "Poland", 614.98 },        { "NL", "NLD", "Netherlands", 252.7 },
    { "SE", "SWE", "Sweden", 35.89 },         { "CH", "CHE", "Switzerland", 36.72 },
    { "DE", "DEU", "Germany", 342.06 },       { "FR", "FRA", "France", 44.18 },
    { "IN", "IND", "India", 708.96 },         { "NO", "NOR", "Norway", 30.75 },
};

static void every_country_of_the_source_is_in_the_table(void **state)
{
    (void)state;
    size_t n;
    const struct wl_country *all = wl_country_table(&n);
    assert_int_equal(n, 209);
    for (size_t i = 0; i < n; i++) {
        assert_true(strlen(all[i].alpha2) == 2 && strlen(all[i].alpha3) == 3 && all[i].name[0]);
        assert_true(all[i].year >= 2022 && all[i].year <= 2024);
        assert_true(all[i].g_per_kwh > 10 && all[i].g_per_kwh < 1400); /* rivers; coal */
        assert_true(i == 0 || strcmp(all[i - 1].alpha2, all[i].alpha2) < 0);
        assert_ptr_equal(wl_country_find(all[i].alpha3), all + i);
        assert_ptr_equal(wl_country_find(all[i].name), all + i);
    }
}

static void values_are_those_of_the_source(void **state)
{
    (void)state;
    for (size_t i = 0; i < WL_COUNT(known); i++) {
        const struct wl_country *c = wl_country_find(known[i].alpha2);
        assert_non_null(c);
        assert_string_equal(c->alpha3, known[i].alpha3);
        assert_string_equal(c->name, known[i].name);
        assert_int_equal(c->year, 2024);
        assert_true(c->g_per_kwh == known[i].g_per_kwh);
    }
}

static int complete(const char *country, struct wl_footprint *f, struct wl_arena *a, struct wl_err *e)
{
    const char *faulty;
    *f = (struct wl_footprint) { .pue = NAN, .carbon = NAN, .price = NAN, .country = country };
    return wl_footprint_complete(f, &faulty, a, e);
}

static void a_country_gives_intensity_and_source(void **state)
{
    (void)state;
    struct wl_arena *a = wl_arena_new(NULL);
    struct wl_err e = { 0 };
    struct wl_footprint f;
    static const char *const spellings[] = { "PL", "pl", "POL", "Poland", "poland" };
    for (size_t i = 0; i < WL_COUNT(spellings); i++) {
        assert_int_equal(complete(spellings[i], &f, a, &e), 0);
        assert_true(f.carbon == 614.98);
        assert_string_equal(f.source, "Poland 2024, Ember");
    }
    assert_int_equal(complete("uk", &f, a, &e), 0);
    assert_string_equal(f.source, "United Kingdom 2024, Ember");
    wl_arena_free(a);
}

static void an_unknown_country_is_refused_with_a_guess(void **state)
{
    (void)state;
    struct wl_arena *a = wl_arena_new(NULL);
    struct wl_footprint f;
    static const struct {
        const char *word, *says;
    } cases[] = {
        { "Sweeden", "'Sweeden' is not in the table of countries (did you mean SE, Sweden?); expected" },
        { "united kingdon", "(did you mean GB, United Kingdom?)" },
        { "SPA", "(did you mean ES, Spain?)" },
        { "ZZ", "'ZZ' is not in the table of countries; expected an ISO 3166 code or an English name" },
        { "YY", "or give the intensity itself instead (--carbon 380; in an experiment carbon = 380)" },
        { "", "'' is not in the table of countries; expected" },
    };
    for (size_t i = 0; i < WL_COUNT(cases); i++) {
        struct wl_err e = { 0 };
        assert_int_equal(complete(cases[i].word, &f, a, &e), WL_EUSAGE);
        if (!strstr(e.msg, cases[i].says)) fail_msg("expected '%s' in '%s'", cases[i].says, e.msg);
        assert_true(isnan(f.carbon));
    }
    wl_arena_free(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_country_of_the_source_is_in_the_table),
        cmocka_unit_test(values_are_those_of_the_source),
        cmocka_unit_test(a_country_gives_intensity_and_source),
        cmocka_unit_test(an_unknown_country_is_refused_with_a_guess),
    };
    return cmocka_run_group_tests_name("country", tests, NULL, NULL);
}
