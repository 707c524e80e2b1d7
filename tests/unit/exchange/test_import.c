/* The parts of import's readers: numbers against the C library's, fields, lines, times and zones. */
#include "exchange/exchange.h"
#include "exchange/import/times.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* ---- numbers ---- */

static void must_read(const char *text)
{
    double v = 0, want = strtod(text, NULL);
    if (!wl_slice_real(wl_slice_of(text), &v)) fail_msg("\"%s\" was not read", text);
    if (memcmp(&v, &want, sizeof v) != 0) fail_msg("\"%s\" is %.17g, not %.17g", text, v, want);
}

static void numbers_are_those_of_the_c_library(void **state)
{
    (void)state;
    static const char *const given[] = { "0",
                                         "-0",
                                         "251.31",
                                         "1e22",
                                         "1e23",
                                         "9007199254740993",
                                         "123456789012345678",
                                         "1.7e308",
                                         "5e-324",
                                         ".5",
                                         "5.",
                                         "1E+3",
                                         "-1e-3",
                                         "0.000000000000000000001",
                                         "00012.50",
                                         "18446744073709551614",
                                         "0.1234567890123456789",
                                         "179769313486231570000000000" };
    char text[64];
    uint64_t state64 = 88172645463325252u;
    for (size_t i = 0; i < WL_COUNT(given); i++) must_read(given[i]);
    for (int i = 0; i < 200000; i++) {
        state64 ^= state64 << 13, state64 ^= state64 >> 7, state64 ^= state64 << 17;
        const int exponent = (int)(state64 % 61) - 30;
        const unsigned long long digits = state64 >> (state64 % 50);
        switch (i % 3) {
        case 0: snprintf(text, sizeof text, "%llu.%06llu", digits % 100000000, digits % 1000000); break;
        case 1: snprintf(text, sizeof text, "%llue%d", digits, exponent); break;
        default: snprintf(text, sizeof text, "%.17g", (double)digits * pow(10, exponent));
        }
        must_read(text);
    }
}

static void other_texts_are_not_numbers(void **state)
{
    (void)state;
    static const char *const texts[] = { "",     "-",   ".",  "e5", "1e",    "1e+", "nan",  "inf",
                                         "0x10", "1,5", "1 ", " 1", "1.2.3", "--1", "1e999" };
    double v;
    struct wl_slice rest;
    for (size_t i = 0; i < WL_COUNT(texts); i++)
        if (wl_slice_real(wl_slice_of(texts[i]), &v)) fail_msg("\"%s\" was read as %g", texts[i], v);
    assert_true(wl_slice_real_then(wl_slice_of("251.31 W"), &v, &rest) && v == 251.31 && wl_slice_eq(rest, "W"));
    assert_true(wl_slice_real_then(wl_slice_of("1410MHz"), &v, &rest) && v == 1410 && wl_slice_eq(rest, "MHz"));
    uint64_t n;
    assert_true(wl_slice_uint(wl_slice_of("18446744073709551615"), &n) && n == UINT64_MAX);
    assert_false(wl_slice_uint(wl_slice_of("18446744073709551616"), &n));
}

/* ---- fields and lines ---- */

static void fields_are_split(void **state)
{
    (void)state;
    struct wl_slice v[4];
    assert_int_equal(wl_slice_split(wl_slice_of("a, b ,,\"c,\"\"d\""), ',', v, 4), 4);
    assert_true(wl_slice_eq(v[0], "a") && wl_slice_eq(v[1], "b") && v[2].n == 0 && wl_slice_eq(v[3], "c,\"\"d"));
    assert_int_equal(wl_slice_split(wl_slice_of(""), ',', v, 4), 1);
    assert_int_equal(wl_slice_split(wl_slice_of("1,2,3,4,5,"), ',', v, 2), 6);
    assert_int_equal(wl_slice_split(wl_slice_of("a,\"b"), ',', v, 4), -1);
    assert_int_equal(wl_slice_words(wl_slice_of("  a \t bc "), v, 4), 2);
    assert_true(wl_slice_eq(v[1], "bc"));
}

static void lines_are_whole_whatever_the_blocks(void **state)
{
    (void)state;
    struct wl_arena *a = wl_arena_new(NULL);
    struct wl_err e;
    struct wl_lines in;
    struct wl_slice line;
    int ends[2], rc;
    char path[32];
    assert_int_equal(pipe(ends), 0);
    snprintf(path, sizeof path, "/proc/self/fd/%d", ends[0]);
    assert_int_equal(write(ends[1],
                           "\xef\xbb\xbf"
                           "one\r\n\ntwo\nthr",
                           16),
                     16);
    assert_int_equal(wl_lines_open(&in, path, a, &e), 0);
    assert_int_equal(write(ends[1], "ee", 2), 2);
    close(ends[1]);
    static const char *const want[] = { "one", "", "two", "three" };
    for (size_t i = 0; i < WL_COUNT(want); i++) {
        rc = wl_lines_next(&in, &line, &e);
        if (rc != 1 || !wl_slice_eq(line, want[i])) fail_msg("line %zu: %d, \"%.*s\"", i + 1, rc, (int)line.n, line.s);
        assert_int_equal(in.whole, i < 3);
    }
    assert_int_equal(wl_lines_next(&in, &line, &e), 0);
    assert_int_equal(in.bytes, 18);
    assert_int_equal(in.crc, wl_crc32c(0,
                                       "\xef\xbb\xbf"
                                       "one\r\n\ntwo\nthree",
                                       18));
    close(ends[0]);
    wl_arena_free(a);
}

/* ---- times ---- */

static bool parse(const char *text, enum wl_date_order order, int64_t *local_s, int64_t *ns)
{
    struct wl_slice rest;
    return wl_time_parse(wl_slice_of(text), order, local_s, ns, &rest) && rest.n == 0;
}

static void times_are_those_of_the_calendar(void **state)
{
    (void)state;
    int64_t s, ns;
    char text[64];
    for (time_t t = 0; t < 9000000000; t += 86400 * 13 + 3661) {
        struct tm tm;
        gmtime_r(&t, &tm);
        strftime(text, sizeof text, "%Y/%m/%d %H:%M:%S.125", &tm);
        if (!parse(text, WL_DATE_YMD, &s, &ns) || s != t || ns != 125000000) fail_msg("%s is %lld", text, (long long)s);
    }
    assert_true(parse("25-06-2024 10:00:00", WL_DATE_DMY, &s, &ns) && s == 1719309600);
    assert_true(parse("06-25-2024 10:00:00", WL_DATE_MDY, &s, &ns) && s == 1719309600);
    static const char *const wrong[] = { "2026/02/29 10:00:00", "2026/13/01 10:00:00", "2026/01/01 24:00:00",
                                         "2026/01/01",          "26/01/01 10:00:00",   "2026/01/01 10:0:00" };
    for (size_t i = 0; i < WL_COUNT(wrong); i++)
        if (parse(wrong[i], WL_DATE_YMD, &s, &ns)) fail_msg("%s was read", wrong[i]);
}

static void offsets_and_zones_are_known(void **state)
{
    (void)state;
    struct wl_arena *a = wl_arena_new(NULL);
    struct wl_zone z;
    struct wl_err e;
    int64_t utc_s;
    assert_int_equal(wl_zone_open(&z, "-03:30", a, &e), 0);
    assert_true(wl_zone_utc(&z, 0, &utc_s) == 1 && utc_s == 12600);
    assert_int_equal(wl_zone_open(&z, "+25:00", a, &e), WL_EUSAGE);
    assert_int_equal(wl_zone_open(&z, "/etc/passwd", a, &e), WL_EUSAGE);
    if (wl_zone_open(&z, "America/New_York", a, &e) == 0) {
        assert_true(wl_zone_utc(&z, 1782864000, &utc_s) == 1 && utc_s == 1782864000 + 4 * 3600); /* 2026-07-01 */
        assert_int_equal(wl_zone_utc(&z, 1772937000, &utc_s), 0);                                /* 2026-03-08 02:30 */
        assert_int_equal(wl_zone_utc(&z, 1793496600, &utc_s), 2);                                /* 2026-11-01 01:30 */
    }
    wl_arena_free(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(numbers_are_those_of_the_c_library),
                                        cmocka_unit_test(other_texts_are_not_numbers),
                                        cmocka_unit_test(fields_are_split),
                                        cmocka_unit_test(lines_are_whole_whatever_the_blocks),
                                        cmocka_unit_test(times_are_those_of_the_calendar),
                                        cmocka_unit_test(offsets_and_zones_are_known) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
