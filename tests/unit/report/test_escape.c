#include "test.h"

#include "report/report.h"

typedef void put_fn(struct wl_text *to, const char *s);

static char *put(put_fn *fn, const char *s, struct wl_arena *a)
{
    struct wl_text t = WL_TEXT(a);
    fn(&t, s);
    return t.s;
}

static void html_is_escaped(void **state)
{
    assert_string_equal(put(wl_escape_html, "<a href=\"x\">&'</a>", *state),
                        "&lt;a href=&quot;x&quot;&gt;&amp;&#39;&lt;/a&gt;");
    assert_string_equal(put(wl_escape_html, "a\x01\x1f\x7f z", *state), "a    z");
    assert_string_equal(put(wl_escape_html, NULL, *state), "");
}

static void latex_is_escaped(void **state)
{
    assert_string_equal(put(wl_escape_latex, "\\{a_b}$&#%^~", *state),
                        "\\textbackslash{}\\{a\\_b\\}\\$\\&\\#\\%\\textasciicircum{}\\textasciitilde{}");
    assert_string_equal(put(wl_escape_latex, "[1]\n\\end", *state), "{[}1{]} \\textbackslash{}end");
}

static void markdown_is_escaped(void **state)
{
    assert_string_equal(put(wl_escape_markdown, "a|b*c_d`e\n<i>[x](y)", *state),
                        "a\\|b\\*c\\_d\\`e &lt;i&gt;\\[x\\](y)");
}

static void gnuplot_is_escaped(void **state)
{
    assert_string_equal(put(wl_escape_gnuplot, "it's `rm` \"$x\" \\n\n", *state), "'it''s `rm` \"$x\" \\n '");
}

static void script_json_is_escaped(void **state)
{
    assert_string_equal(put(wl_escape_script_json, "[\"</script><!--&\"]", *state),
                        "[\"\\u003c/script\\u003e\\u003c!--\\u0026\"]");
}

/* Overlong forms, surrogates, stray and cut-off bytes, beyond U+10FFFF: one U+FFFD per byte; good characters stay. */
static void bad_utf8(void **state)
{
    const char *bad = "\xef\xbf\xbd";
    assert_string_equal(put(wl_escape_html, "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80", *state),
                        "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80");
    assert_string_equal(put(wl_escape_html, "a\xff", *state), wl_strf(*state, "a%s", bad));
    assert_string_equal(put(wl_escape_html, "\xc0\xaf", *state), wl_strf(*state, "%s%s", bad, bad));
    assert_string_equal(put(wl_escape_html, "\xed\xa0\x80", *state), wl_strf(*state, "%s%s%s", bad, bad, bad));
    assert_string_equal(put(wl_escape_html, "\xe2\x82", *state), wl_strf(*state, "%s%s", bad, bad));
    assert_string_equal(put(wl_escape_html, "\xf4\x90\x80\x80", *state),
                        wl_strf(*state, "%s%s%s%s", bad, bad, bad, bad));
}

/* Characters that turn text around, hide in it or are controls: U+202E, U+2066, U+200B, U+009B. In every writer. */
static void invisible_and_bidirectional_characters_are_replaced(void **state)
{
    static put_fn *const writers[] = { wl_escape_html,     wl_escape_html_prose, wl_escape_latex,
                                       wl_escape_markdown, wl_escape_gnuplot,    wl_escape_script_json };
    static const char *const hidden[] = { "\xe2\x80\xae", "\xe2\x81\xa6", "\xe2\x80\x8b", "\xc2\x9b" };
    for (size_t i = 0; i < WL_COUNT(writers) * WL_COUNT(hidden); i++) {
        const char *what = hidden[i % WL_COUNT(hidden)];
        char *is = put(writers[i / WL_COUNT(hidden)], wl_strf(*state, "ab%scd", what), *state);
        assert_holds_not(is, what);
        assert_holds(is, "ab\xef\xbf\xbd"
                         "cd");
    }
}

/* In sentences no line ends between a number and its unit. */
static void numbers_stay_with_their_units(void **state)
{
    assert_string_equal(put(wl_escape_html_prose, "8.3 % less, cap 200 W, 1380 MHz; 3 sets <W> of 12 s", *state),
                        "8.3\xc2\xa0% less, cap 200\xc2\xa0W, 1380\xc2\xa0MHz; 3 sets &lt;W&gt; of 12\xc2\xa0s");
    assert_string_equal(put(wl_escape_html_prose, "x % 5 workers 2 ", *state), "x % 5 workers 2 ");
}

static void slugs_are_lower_case_letters_and_digits(void **state)
{
    assert_string_equal(wl_slug("ResNet50 (v1.5)", *state), "resnet50-v1-5");
    assert_string_equal(wl_slug("../../etc/passwd", *state), "etc-passwd");
    assert_string_equal(wl_slug("\xff/", *state), "other");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_ARENA(html_is_escaped),
        WITH_ARENA(latex_is_escaped),
        WITH_ARENA(markdown_is_escaped),
        WITH_ARENA(gnuplot_is_escaped),
        WITH_ARENA(script_json_is_escaped),
        WITH_ARENA(bad_utf8),
        WITH_ARENA(numbers_stay_with_their_units),
        WITH_ARENA(slugs_are_lower_case_letters_and_digits),
        WITH_ARENA(invisible_and_bidirectional_characters_are_replaced),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
