/* Strings, numbers and times from text, CSV and JSON with hostile input. */
#include "base/base.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static struct wl_arena *a;
static struct wl_err e;

static int setup(void **state)
{
    (void)state;
    a = wl_arena_new(NULL);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    wl_arena_free(a);
    return 0;
}

static void a_number_is_the_whole_text(void **state)
{
    (void)state;
    int64_t i;
    double x;
    static const char *const no[] = { "", " 1", "1 ", "1x", "99999999999999999999", "nan", "inf", "--1" };
    for (size_t k = 0; k < WL_COUNT(no); k++) assert_int_equal(wl_str_to_int(no[k], &i), -1);
    assert_int_equal(wl_str_to_int("-12", &i), 0);
    assert_int_equal(i, -12);
    assert_int_equal(wl_str_to_real("nan", &x), -1);
    assert_int_equal(wl_str_to_real("1e999", &x), -1);
    assert_int_equal(wl_str_to_real("0x40", &x), -1); /* a misprint rather than a number */
    assert_int_equal(wl_str_to_real("-0X1p3", &x), -1);
    assert_int_equal(wl_str_to_duration("0x10s", &x), -1);
    assert_int_equal(wl_str_to_real("2.5e-3", &x), 0);
    assert_true(x == 2.5e-3);
    assert_int_equal(wl_str_to_duration("3m", &x), 0);
    assert_true(x == 180);
    assert_int_equal(wl_str_to_duration("3 m", &x), -1);
    assert_int_equal(wl_str_to_duration("-1s", &x), -1);
}

/* Whatever way a number is read, it is the nearest double, as strtod gives it. */
static void a_decimal_number_is_rounded_correctly(void **state)
{
    (void)state;
    static const char *const plain[] = { "0",
                                         "-0",
                                         "5.",
                                         ".5",
                                         "-.25",
                                         "0.1",
                                         "123456789012345",
                                         "1234567890.12345",
                                         "007",
                                         "1.000",
                                         "0.3",
                                         "9e15",
                                         "+4",
                                         "1.7976931348623157e308" };
    static const char *const no[] = { "", ".", "-", "-.", "1.2.3", "1,2", "1-", "0.1 ", "--1" };
    double x;
    for (size_t k = 0; k < WL_COUNT(plain); k++) {
        assert_int_equal(wl_str_to_real(plain[k], &x), 0);
        assert_memory_equal(&x, &(double) { strtod(plain[k], NULL) }, sizeof x);
    }
    for (size_t k = 0; k < WL_COUNT(no); k++) assert_int_equal(wl_str_to_real(no[k], &x), -1);
    for (uint64_t i = 0; i < 20000; i++) {
        const double v = (wl_random_uniform(1, 0, i) - 0.5) * pow(10, (double)(i % 12));
        char *text = wl_strf(a, "%.*f", (int)(i % 18), v);
        assert_int_equal(wl_str_to_real(text, &x), 0);
        assert_memory_equal(&x, &(double) { strtod(text, NULL) }, sizeof x);
    }
}

static void numbers_for_people_are_short(void **state)
{
    (void)state;
    const struct {
        double v;
        const char *says;
    } cases[] = { { 0, "0 J" },         { 1.234, "1.23 J" },     { 999.7, "1.00 kJ" },
                  { 12345, "12.3 kJ" }, { -0.0051, "-5.10 mJ" }, { NAN, "-" } };
    for (size_t i = 0; i < WL_COUNT(cases); i++) assert_string_equal(wl_human(a, cases[i].v, "J"), cases[i].says);
    assert_string_equal(wl_human_time(a, 125), "2m05s");
    assert_string_equal(wl_human_time(a, 3725), "1h02m");
    assert_string_equal(wl_human_time(a, 0.25), "250 ms");
    assert_string_equal(wl_human_time(a, 9e15), "2500000000000h00m");
    assert_string_equal(wl_human_time(a, 1e18), "2.78e+14h");
    assert_string_equal(wl_human_time(a, 1e300), "2.78e+296h"); /* beyond any integer */
}

static void only_near_names_are_suggested(void **state)
{
    (void)state;
    static const char *const names[] = { "measure", "sweep", "status", "show" };
    assert_string_equal(wl_str_closest("mesure", names, 4), "measure");
    assert_string_equal(wl_str_closest("sewep", names, 4), "sweep"); /* one transposition */
    assert_null(wl_str_closest("frobnicate", names, 4));
    assert_string_equal(wl_str_closest("meas", names, 4), "measure"); /* the beginning of one name */
    assert_null(wl_str_closest("x", names, 4));
}

static const char *csv_file(const char *text)
{
    char *path = wl_strdup(a, "/tmp/wl-test-XXXXXX");
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    close(fd);
    assert_int_equal(wl_file_write(path, text, strlen(text), &e), 0);
    return path;
}

static void csv_skips_a_byte_order_mark(void **state)
{
    (void)state;
    struct wl_csv csv;
    const char *path = csv_file("\xef\xbb\xbf"
                                "# c\nname,t\nx,1\n"); /* the mark is in front of a comment */
    assert_int_equal(wl_csv_open(&csv, path, ',', a, &e), 0);
    assert_int_equal(wl_csv_column(&csv, "name"), 0);
    assert_int_equal(wl_csv_next(&csv, &e), 1);
    unlink(path);
    path = csv_file("\xef\xbb\xbf\"na,me\",\"t\"\nx,1\n"); /* as Excel writes it */
    assert_int_equal(wl_csv_open(&csv, path, ',', a, &e), 0);
    assert_int_equal(csv.head.n, 2);
    assert_string_equal(csv.head.v[0], "na,me");
    unlink(path);
}

static void csv_refuses_files_that_are_not_tables(void **state)
{
    (void)state;
    enum { COMMAS = 2 << 20 };
    struct wl_csv csv;
    char *commas = wl_alloc(a, COMMAS + 1), *path = wl_strdup(a, csv_file("h\n\"x"));
    memset(commas, ',', COMMAS);
    assert_int_equal(wl_csv_open(&csv, csv_file(commas), ',', a, &e), WL_EINVAL);
    assert_non_null(strstr(e.msg, "a row is longer than 1 MiB"));
    unlink(csv.path);
    assert_int_equal(wl_file_write(path, "h\n\"a\0b\"\n", 8, &e), 0);
    assert_int_equal(wl_csv_open(&csv, path, ',', a, &e), 0);
    assert_int_equal(wl_csv_next(&csv, &e), WL_EINVAL);
    assert_non_null(strstr(e.msg, ":2: not a text file (NUL byte)"));
    unlink(path);
}

static void csv_reads_quotes_and_names_invalid_lines(void **state)
{
    (void)state;
    struct wl_csv csv;
    double x;
    const char *path = csv_file("# note\nname, t\r\n\"a, \"\"b\"\"\n2\",1.5\r\n\nx,\ny,oops\nz\n");
    assert_int_equal(wl_csv_open(&csv, path, ',', a, &e), 0);
    assert_int_equal(wl_csv_column(&csv, "t"), 1);
    assert_int_equal(wl_csv_next(&csv, &e), 1);
    assert_string_equal(csv.row[0], "a, \"b\"\n2");
    assert_int_equal(wl_csv_real(&csv, 1, &x, &e), 0);
    assert_true(x == 1.5);
    assert_int_equal(wl_csv_next(&csv, &e), 1);
    assert_int_equal(wl_csv_real(&csv, 1, &x, &e), 0);
    assert_true(isnan(x)); /* empty is not measured */
    assert_int_equal(wl_csv_next(&csv, &e), 1);
    assert_int_equal(wl_csv_real(&csv, 1, &x, &e), WL_EINVAL);
    assert_non_null(strstr(e.msg, ":7: column t: \"oops\" is not a number"));
    assert_int_equal(wl_csv_next(&csv, &e), WL_EINVAL);
    assert_non_null(strstr(e.msg, ":8: 1 fields, the header has 2"));
    unlink(path);
    path = csv_file("a,b\n\"x,1\n");
    assert_int_equal(wl_csv_open(&csv, path, ',', a, &e), 0);
    assert_int_equal(wl_csv_next(&csv, &e), WL_EINVAL);
    assert_non_null(strstr(e.msg, ":2: unterminated quote"));
    unlink(path);
    path = csv_file("");
    assert_int_equal(wl_csv_open(&csv, path, ',', a, &e), WL_EINVAL);
    unlink(path);
}

static void csv_round_trips(void **state)
{
    (void)state;
    struct wl_text t = WL_TEXT(a);
    wl_text_add(&t, "h\n");
    wl_csv_put(&t, "a \"q\", b\nc");
    const char *path = csv_file(t.s);
    struct wl_csv csv;
    assert_int_equal(wl_csv_open(&csv, path, ',', a, &e), 0);
    assert_int_equal(wl_csv_next(&csv, &e), 1);
    assert_string_equal(csv.row[0], "a \"q\", b\nc");
    unlink(path);
}

static void json_keeps_the_order_of_keys_and_whole_numbers(void **state)
{
    (void)state;
    struct wl_json *j = wl_json_root_object(a);
    wl_json_add_number(j, "z", 2);
    wl_json_add_number(j, "a", 2.5);
    wl_json_add_number(j, "m", NAN);
    assert_string_equal(wl_json_text(j, 0, a), "{\"z\": 2, \"a\": 2.5, \"m\": null}");
    const char *key = wl_json_key(j, NULL);
    assert_string_equal(key, "z");
    key = wl_json_key(j, key);
    assert_string_equal(key, "a");
    key = wl_json_key(j, key);
    assert_null(wl_json_key(j, key));
    assert_null(wl_json_key(wl_json_root_object(a), NULL));
}

static void json_writes_nan_as_null_and_valid_utf8(void **state)
{
    (void)state;
    struct wl_json *j = wl_json_root_object(a), *back;
    wl_json_add_real(j, "x", NAN);
    wl_json_add_str(j, "s", "ok \xff\xfe \xe2\x82 \xc3\xa9");
    wl_json_add_real(j, "y", 0.1);
    wl_json_add_int(j, "k\xff", 7); /* a column's name in Latin-1, say */
    const char *text = wl_json_text(j, 0, a);
    assert_non_null(strstr(text, "\"x\": null"));
    assert_int_equal(wl_json_parse(text, "t", &back, a, &e), 0);
    assert_string_equal(wl_json_str(wl_json_get(back, "s")),
                        "ok \xef\xbf\xbd\xef\xbf\xbd \xef\xbf\xbd\xef\xbf\xbd \xc3\xa9");
    assert_true(wl_json_real(wl_json_get(back, "y")) == 0.1);
    assert_int_equal(wl_json_int(wl_json_get(back, "k\xef\xbf\xbd"), 0), 7);
    assert_true(isnan(wl_json_real(wl_json_get(back, "none"))));
    assert_int_equal(wl_json_parse("{\"a\": 1,}", "f.json", &back, a, &e), WL_EINVAL);
    assert_true(wl_str_starts(e.msg, "f.json:1:"));
}

static void bytes_that_are_not_utf8_are_escaped(void **state)
{
    (void)state;
    static const struct {
        const char *bytes, *text;
    } cases[] = {
        { "caf\xe9", "caf\\xe9" },          { "\xff\xfe", "\\xff\\xfe" },
        { "a\xe2\x82 b", "a\\xe2\\x82 b" }, { "\xed\xa0\x80", "\\xed\\xa0\\x80" },
        { "\xc0\xaf", "\\xc0\\xaf" },       { "\xf5", "\\xf5" },
    };
    static const char good[] = "\xe2\x82\xac 5 \\x41 \xf0\x9f\x94\x8b";
    for (size_t i = 0; i < WL_COUNT(cases); i++)
        assert_string_equal(wl_utf8_sanitize(a, cases[i].bytes), cases[i].text);
    assert_ptr_equal(wl_utf8_sanitize(a, good), good);
    assert_string_equal(wl_utf8_sanitize(a, ""), "");
}

static void shell_words_round_trip(void **state)
{
    (void)state;
    char *argv[] = { "prog", "a b", "it's", "", "$x", NULL };
    struct wl_strs words;
    assert_int_equal(wl_shell_split(wl_shell_quote(a, argv), &words, a, &e), 0);
    assert_int_equal(words.n, 5);
    for (size_t i = 0; i < words.n; i++) assert_string_equal(words.v[i], argv[i]);
    assert_int_equal(wl_shell_split("a 'b", &words, a, &e), WL_EINVAL);
    assert_int_equal(wl_shell_split("  ", &words, a, &e), 0);
    assert_int_equal(words.n, 0);
}

static void the_last_line_is_one_with_text(void **state)
{
    (void)state;
    static const char *const cases[][2] = { { "a\nb\n", "b" },
                                            { "a\nlast  \n \t\n\n", "last" },
                                            { "10 %\r50 %\r  100 %\r\n", "100 %" },
                                            { "no end", "no end" } };
    for (size_t i = 0; i < WL_COUNT(cases); i++) assert_string_equal(wl_str_last_line(a, cases[i][0]), cases[i][1]);
    assert_null(wl_str_last_line(a, ""));
    assert_null(wl_str_last_line(a, " \n\r\n\v"));
}

static void a_time_is_one_that_a_calendar_and_a_clock_have(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int64_t s, ns;
    } good[] = {
        { "1970-01-01T00:00Z", 0, 0 },
        { "2026-01-31T12:00:00Z", 1769860800, 0 },
        { "2026-1-31 12:00", 1769860800, 0 },
        { " 2026-01-31T12:00 ", 1769860800, 0 },
        { "2024-02-29T00:00:00.1Z", 1709164800, 100000000 },
        { "2024-02-29T00:00:00.123456789123+01", 1709161200, 123456789 },
        { "2024-02-28T24:00", 1709164800, 0 },
        { "2024-02-29T05:45:30 +0545", 1709164830, 0 },
        { "2016-12-31T23:59:60Z", 1483228800, 0 }, /* a leap second */
        { "2017-01-01T00:59:60+01:00", 1483228800, 0 },
        { "1700000000.5", 1700000000, 500000000 },
        { "1700000000000", 1700000000, 0 },
    };
    static const char *const bad[] = {
        "2026-02-31T00:00Z",
        "2026-02-29T00:00Z",
        "2026-04-31 10:00",
        "2026-00-01T00:00Z",
        "2026-13-01T00:00Z",
        "2026-01-00T00:00Z",
        "2026-01-32T00:00Z",
        "2026-01-01T24:01Z",
        "2026-01-01T24:00:01Z",
        "2026-01-01T25:00Z",
        "2026-01-01T-1:00Z",
        "2026-01-01T10:60Z",
        "2026-01-01T10:-5Z",
        "2026-01-01T10:00:61Z",
        "2026-01-01T10:00:60Z",
        "2026-01-01T10:00:nan",
        "2026-01-01T10:00:1e1",
        "2026-01-01T10:00:-1",
        "2026-01-01T10:00:00.Z",
        "2026-01-01T10:00+15:00",
        "2026-01-01T10:00+-1",
        "2026-01-01T10:00+14:30",
        "2026-01-01T10:00+01:60",
        "2026-01-01T10:00Zulu",
        "2026-01-01T10:00+01:",
        "1970-01-01T00:00+01:00",
        "1969-12-31T23:00Z",
        "2262-01-01T00:00Z",
        "2026-01-01",
        "2026-01-01T",
        "26-01-01T00:00Z",
    };
    for (size_t i = 0; i < WL_COUNT(good); i++) {
        int64_t t_ns = -1;
        if (!wl_clock_parse(good[i].text, &t_ns)) fail_msg("%s is refused", good[i].text);
        if (t_ns != good[i].s * WL_NS_PER_S + good[i].ns) fail_msg("%s is %lld", good[i].text, (long long)t_ns);
    }
    for (size_t i = 0; i < WL_COUNT(bad); i++) {
        int64_t t_ns;
        if (wl_clock_parse(bad[i], &t_ns)) fail_msg("%s is %lld", bad[i], (long long)t_ns);
    }
}

static void texts_are_numbered_as_they_appear(void **state)
{
    (void)state;
    enum { TEXTS = 1000 };
    struct wl_numbering x = wl_numbering_new(TEXTS, a);
    for (size_t round = 0; round < 2; round++)
        for (size_t i = 0; i < TEXTS; i++) assert_int_equal(wl_numbering_of(&x, wl_strf(a, "%zu", i * i)), i);
    assert_int_equal(x.n, TEXTS);
    assert_string_equal(x.text[12], "144");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(texts_are_numbered_as_they_appear, setup, teardown),
        cmocka_unit_test_setup_teardown(a_number_is_the_whole_text, setup, teardown),
        cmocka_unit_test_setup_teardown(a_decimal_number_is_rounded_correctly, setup, teardown),
        cmocka_unit_test_setup_teardown(numbers_for_people_are_short, setup, teardown),
        cmocka_unit_test_setup_teardown(the_last_line_is_one_with_text, setup, teardown),
        cmocka_unit_test_setup_teardown(only_near_names_are_suggested, setup, teardown),
        cmocka_unit_test_setup_teardown(csv_skips_a_byte_order_mark, setup, teardown),
        cmocka_unit_test_setup_teardown(csv_refuses_files_that_are_not_tables, setup, teardown),
        cmocka_unit_test_setup_teardown(csv_reads_quotes_and_names_invalid_lines, setup, teardown),
        cmocka_unit_test_setup_teardown(csv_round_trips, setup, teardown),
        cmocka_unit_test_setup_teardown(json_keeps_the_order_of_keys_and_whole_numbers, setup, teardown),
        cmocka_unit_test_setup_teardown(json_writes_nan_as_null_and_valid_utf8, setup, teardown),
        cmocka_unit_test_setup_teardown(bytes_that_are_not_utf8_are_escaped, setup, teardown),
        cmocka_unit_test_setup_teardown(shell_words_round_trip, setup, teardown),
        cmocka_unit_test(a_time_is_one_that_a_calendar_and_a_clock_have),
    };
    return cmocka_run_group_tests_name("text", tests, NULL, NULL);
}
