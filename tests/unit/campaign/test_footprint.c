/* Carbon and cost of a campaign: files of intensities, and options over the campaign's. */
#include "experiment_text.h"

static const char *csv_file(const char *rows)
{
    static char path[] = "intensity.csv";
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fprintf(f, "timestamp,carbon_intensity\n%s", rows);
    fclose(f);
    return path;
}

/* The file may be updated later: that it does not cover the present is a note; a row that cannot be read is an error of
 * the experiment. */
static void carbon_csv_is_checked_when_the_experiment_is_read(void **state)
{
    (void)state;
    const char *text = NAME "[measure]\ncarbon_csv = intensity.csv\n[launch]\ncommand = j\n";
    csv_file("2020-01-01T00:00Z,300\n2020-01-01T01:00Z,310\n");
    assert_int_equal(parse(text), 0);
    assert_int_equal(x.notes.n, 1);
    assert_non_null(strstr(x.notes.v[0], "exp.ini:4: [measure] carbon_csv: /"));
    assert_non_null(strstr(x.notes.v[0], "has no intensity for now, 20"));
    assert_true(x.measure.footprint.carbon_csv[0] == '/');
    const char *expanded = x.expanded;
    assert_int_equal(parse(expanded), 0);
    assert_string_equal(x.expanded, expanded);

    csv_file("2020-01-01T00:00Z,300\n2120-01-01T01:00Z,310\n");
    assert_int_equal(parse(text), 0);
    assert_int_equal(x.notes.n, 0);

    csv_file("2020-01-01T00:00Z,300\n2020-01-01T01:00Z,-5\n");
    assert_int_equal(parse(text), WL_EINVAL);
    assert_non_null(strstr(e.msg, "exp.ini:4: [measure] carbon_csv: /"));
    assert_non_null(strstr(e.msg, "intensity.csv:3: carbon_intensity = -5"));
    remove("intensity.csv");
}

/* Nanoseconds since 1970 fit in 64 bits until 2262. */
static void times_of_intensities_end_before_2262(void **state)
{
    (void)state;
    const char *text = NAME "[measure]\ncarbon_csv = intensity.csv\n[launch]\ncommand = j\n";
    static const char *const valid[] = { "2261-12-31T23:59:59Z", "9200000000", "9200000000000" };
    static const char *const beyond[] = {
        "2262-01-01T00:00Z", "4040-01-01T00:00Z", "1969-12-31T23:59Z", "9300000000", "1e18", "inf", "-1"
    };
    char rows[128];
    for (size_t i = 0; i < WL_COUNT(valid); i++) {
        snprintf(rows, sizeof rows, "2020-01-01T00:00Z,300\n%s,310\n", valid[i]);
        csv_file(rows);
        assert_int_equal(parse(text), 0);
    }
    for (size_t i = 0; i < WL_COUNT(beyond); i++) {
        snprintf(rows, sizeof rows, "2020-01-01T00:00Z,300\n%s,310\n", beyond[i]);
        csv_file(rows);
        assert_int_equal(parse(text), WL_EINVAL);
        assert_non_null(strstr(e.msg, "intensity.csv:3: timestamp = "));
        assert_non_null(strstr(e.msg, "before 2262"));
    }
    remove("intensity.csv");
}

/* What the command line does not give comes from the campaign. */
static void options_override_those_of_the_campaign(void **state)
{
    (void)state;
    struct wl_footprint stored, none, own;
    const char *faulty;
    assert_int_equal(parse(NAME "[measure]\npue = 1.3\ncountry = DE\nprice = 0.25\ncurrency = CHF\n"
                                "[launch]\ncommand = j\n"),
                     0);
    assert_int_equal(wl_footprint_from_experiment(x.expanded, &stored, a, &e), 0);
    assert_true(wl_footprint_same(&stored, &x.measure.footprint));
    assert_int_equal(wl_footprint_from_experiment("", &none, a, &e), 0);
    assert_false(wl_footprint_same(&stored, &none));

    own = none;
    wl_footprint_inherit(&own, &stored);
    assert_true(wl_footprint_same(&own, &stored));

    own = none;
    own.carbon = 30;
    own.source = "own roof";
    own.price = 0.1;
    wl_footprint_inherit(&own, &stored);
    assert_int_equal(wl_footprint_complete(&own, &faulty, a, &e), 0);
    assert_true(own.pue == 1.3 && own.carbon == 30 && own.price == 0.1 && !own.country);
    assert_string_equal(own.currency, "EUR");

    own = none;
    own.pue = 1;
    wl_footprint_inherit(&own, &stored);
    assert_int_equal(wl_footprint_complete(&own, &faulty, a, &e), 0);
    assert_true(own.pue == 1 && own.carbon == 342.06 && own.price == 0.25);
    assert_string_equal(own.currency, "CHF");
    assert_int_equal(wl_footprint_complete(&none, &faulty, a, &e), 0);
    assert_true(none.pue == 1 && isnan(none.carbon) && isnan(none.price));
}

/* Every wrong file gets one message with the location and what was expected. */

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(carbon_csv_is_checked_when_the_experiment_is_read),
        TEST(times_of_intensities_end_before_2262),
        TEST(options_override_those_of_the_campaign),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
