/* Names and manifests of bundles, and the checksum that they are of. Whole archives: tests/e2e/export/bundle.py. */
#include "base/sha256.h"
#include "exchange/exchange.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void must_hash(const char *text, size_t times, const char *want)
{
    struct wl_sha256 h;
    char got[WL_SHA256_TEXT];
    wl_sha256_init(&h);
    for (size_t i = 0; i < times; i++) wl_sha256_add(&h, text, strlen(text));
    wl_sha256_text(&h, got);
    assert_string_equal(got, want);
}

/* The examples of FIPS 180-4 (csrc.nist.gov/projects/cryptographic-standards-and-guidelines/example-values). */
static void sha256_of_the_standards_examples(void **state)
{
    (void)state;
    must_hash("", 1, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    must_hash("abc", 1, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    must_hash("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", 1,
              "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
    must_hash("a", 1000000, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

/* Each length around the padding's borders, in one piece and in two. */
static void sha256_does_not_depend_on_the_pieces(void **state)
{
    (void)state;
    uint8_t data[200];
    for (size_t i = 0; i < sizeof data; i++) data[i] = (uint8_t)(7 * i);
    for (size_t n = 0; n <= sizeof data; n++) {
        struct wl_sha256 one, two;
        char x[WL_SHA256_TEXT], y[WL_SHA256_TEXT];
        wl_sha256_init(&one);
        wl_sha256_init(&two);
        wl_sha256_add(&one, data, n);
        wl_sha256_add(&two, data, n / 3);
        wl_sha256_add(&two, data + n / 3, n - n / 3);
        wl_sha256_text(&one, x);
        wl_sha256_text(&two, y);
        assert_string_equal(x, y);
    }
}

static void names_that_stay_inside_are_safe(void **state)
{
    (void)state;
    static const char *const safe[] = { "a", "a.b", "a/b-c_d/e.csv", "..a", "a..", "...", ".hidden" };
    static const char *const unsafe[] = { "",         "/",      "/a",    "a/",   "a//b",  ".",      "..",   "./a",
                                          "../a",     "a/../b", "a/..",  "a/.",  "C:a",   "a\\b",   "a\nb", "a\x7f",
                                          "\xc3\xa4", "a\tb",   "a\x1b", "\xff", "a/./b", "../../a" };
    for (size_t i = 0; i < WL_COUNT(safe); i++)
        if (!wl_bundle_name_is_safe(safe[i])) fail_msg("\"%s\" is refused", safe[i]);
    for (size_t i = 0; i < WL_COUNT(unsafe); i++)
        if (wl_bundle_name_is_safe(unsafe[i])) fail_msg("\"%s\" is taken", unsafe[i]);
}

#define SUM "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

static void manifests_are_read(void **state)
{
    (void)state;
    struct wl_arena *a = wl_arena_new(NULL);
    struct wl_bundle_sums sums;
    struct wl_err e = { 0 };
    assert_int_equal(wl_bundle_sums_read(SUM "  a b.csv\n" SUM "  c/d\n", "m", &sums, a, &e), 0);
    assert_int_equal(sums.n, 2);
    assert_string_equal(sums.v[0].name, "a b.csv");
    assert_string_equal(sums.v[1].sha256, SUM);
    assert_int_equal(wl_bundle_sums_read("", "m", &sums, a, &e), 0);
    assert_int_equal(sums.n, 0);

    static const char *const wrong[] = { SUM "  a",
                                         SUM " a\n",
                                         SUM "  ../a\n",
                                         "e3b0  a\n",
                                         "\n",
                                         SUM "  \n",
                                         "E" SUM "\n",
                                         SUM "  b\n" SUM "  a\n",
                                         SUM "  a\n" SUM "  a\n" };
    for (size_t i = 0; i < WL_COUNT(wrong); i++) {
        e = (struct wl_err) { 0 };
        if (wl_bundle_sums_read(wrong[i], "m", &sums, a, &e) != WL_EINVAL) fail_msg("taken: %s", wrong[i]);
        if (!wl_str_starts(e.msg, "m:")) fail_msg("no line in \"%s\"", e.msg);
    }
    wl_arena_free(a);
}

/* Before a byte is written: the sizes are enough. */
static void larger_bundles_are_refused(void **state)
{
    (void)state;
    const struct wl_strs authors = { 0 };
    struct wl_bundle_file files[] = { { .name = "a", .text = "", .n = WL_BUNDLE_BYTES_MAX, .type = "text/plain" },
                                      { .name = "b", .text = "x", .n = 1, .type = "text/plain" } };
    const struct wl_bundle b = { .name = "n",
                                 .description = "d",
                                 .author = &authors,
                                 .published = "2026-01-01",
                                 .version = "0",
                                 .files = files,
                                 .n = 2 };
    struct wl_err e = { 0 };
    FILE *f = tmpfile();
    assert_non_null(f);
    int rc = wl_bundle_write(&b, f, &e);
    if (rc == WL_EUNAVAIL) skip(); /* built without minizip */
    assert_int_equal(rc, WL_EINVAL);
    assert_non_null(strstr(e.msg, "b: the files of a bundle have at most 4 GB together"));
    fseek(f, 0, SEEK_END);
    assert_int_equal(ftell(f), 0);
    files[0].n = 0;
    if (wl_bundle_write(&b, f, &e)) fail_msg("%s", e.msg);
    assert_true(ftell(f) > 0);
    fclose(f);
}

static void fields_are_names_with_values(void **state)
{
    (void)state;
    struct wl_arena *a = wl_arena_new(NULL);
    static const char *const known[] = { "author", "authors.name", NULL };
    struct wl_strs given = { 0 }, wrong = { 0 };
    struct wl_err e = { 0 };
    wl_strs_add(a, &given, "authors.name=x=y");
    wl_strs_add(a, &given, "author=z");
    assert_int_equal(wl_fields_check(&given, known, "the format f", &e), 0);
    assert_string_equal(wl_field(&given, "author"), "z");
    assert_string_equal(wl_field(&given, "authors.name"), "x=y");
    assert_null(wl_field(&given, "auth"));
    static const char *const texts[] = { "author", "author=", "=x", "autor=x" };
    for (size_t i = 0; i < WL_COUNT(texts); i++) {
        wrong.n = 0;
        wl_strs_add(a, &wrong, texts[i]);
        if (wl_fields_check(&wrong, known, "the format f", &e) != WL_EUSAGE) fail_msg("taken: %s", texts[i]);
    }
    assert_non_null(strstr(e.msg, "did you mean author?"));
    wl_arena_free(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sha256_of_the_standards_examples), cmocka_unit_test(sha256_does_not_depend_on_the_pieces),
        cmocka_unit_test(names_that_stay_inside_are_safe),  cmocka_unit_test(manifests_are_read),
        cmocka_unit_test(larger_bundles_are_refused),       cmocka_unit_test(fields_are_names_with_values),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
