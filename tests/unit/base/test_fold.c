/* Lines folded at words: continuation below the text after a label, wide characters, colours, foreign line ends. */
#include "base/base.h"

#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void put(void *to, const char *s, size_t n) { wl_text_addn(to, s, n); }

/* The text in pieces of `piece` bytes, as calls of wl_print give it. */
static const char *folded(const char *text, size_t width, size_t piece, struct wl_arena *a)
{
    struct wl_fold fold = { 0 };
    struct wl_text t = WL_TEXT(a);
    for (size_t at = 0, n = strlen(text); at < n; at += piece)
        wl_fold_add(&fold, text + at, n - at < piece ? n - at : piece, width, put, &t);
    wl_fold_flush(&fold, width, put, &t);
    return t.s;
}

static void lines_are_folded(void **state)
{
    (void)state;
    static const struct {
        const char *text, *expected;
        size_t width;
    } cases[] = {
        { "short\n", "short\n", 20 },
        { "one two three four\n", "one two three\n  four\n", 16 },
        { "  law        t = 3 s for all workers\n", "  law        t = 3 s for\n             all workers\n", 26 },
        { "  law        t = 3\n  power law? no, it bends here\n",
          "  law        t = 3\n  power law? no, it bends\n             here\n", 28 },
        { "  proc  yes  load of the node\n             of all CPUs here\n",
          "  proc  yes  load of the\n             node\n             of all CPUs\n             here\n", 26 },
        { "  proc  \033[32myes  \033[0m load of the node\n",
          "  proc  \033[32myes\033[0m   load of the\n              node\n", 28 },
        { "exactly twenty chars\n", "exactly twenty chars\n", 20 },
        { "see /a/very/long/path/that/no/line/holds\n", "see\n  /a/very/long/path/that/no/line/holds\n", 20 },
        { "模型 模型 模型 模型\n", "模型 模型 模型\n  模型\n", 14 },
        { "\033[31mred\033[0m one two six\n", "\033[31mred\033[0m one two six\n", 15 },
        { "less by 90.6 % here\n", "less by\n  90.6 % here\n", 13 },
        { "is below the  % of it\n", "is below the\n  % of it\n", 13 },
        { "no line end", "no line end", 20 },
        { "trailing   \n", "trailing\n", 20 },
        { "  a    b c\n\nnext line is here\n", "  a    b c\n\nnext line is\n  here\n", 13 },
    };
    struct wl_arena *a = wl_arena_new(NULL);
    for (size_t i = 0; i < WL_COUNT(cases); i++)
        for (size_t piece = 1; piece < 40; piece += 6)
            assert_string_equal(folded(cases[i].text, cases[i].width, piece, a), cases[i].expected);
    wl_arena_free(a);
}

/* A word of any length keeps its bytes, and no line is wider than the terminal but for such words. */
static void nothing_is_lost(void **state)
{
    (void)state;
    struct wl_arena *a = wl_arena_new(NULL);
    struct wl_text text = WL_TEXT(a), squeezed = WL_TEXT(a);
    for (int i = 0; i < 3000; i++) wl_text_add(&text, i % 97 == 96 ? " " : "x");
    const char *s = folded(text.s, 60, 1000, a);
    for (; *s; s++)
        if (*s == 'x') wl_text_addn(&squeezed, s, 1);
    assert_int_equal(squeezed.n, 3000 - 3000 / 97);
    wl_arena_free(a);
}

static void amounts_scale(void **state)
{
    (void)state;
    static const struct {
        double value;
        const char *unit, *text;
    } cases[] = {
        { 35000, "J", "35.0 kJ" },
        { 0.0123, "J", "12.3 mJ" },
        { 12.5e-6, "J", "12.5 µJ" },
        { 0.41, "kWh", "0.41 kWh" },
        { 0.0032, "kWh", "3.20 Wh" },
        { 0.019, "kWh", "0.019 kWh" },
        { 3.2e-6, "kWh", "3.20 mWh" },
        { 2e-9, "kWh", "2.00 µWh" },
        { 1234, "kWh", "1234 kWh" },
        { 1.2e-5, "EUR", "12.0 µEUR" },
        { 0.0042, "EUR", "4.20 mEUR" },
        { 0.25, "EUR", "0.25 EUR" },
        { 12345, "EUR", "12345 EUR" },
        { 0, "EUR", "0 EUR" },
        { -1e-14, "J", "0 J" },
        { 0.002, "g CO2e", "2.00 mg CO2e" },
        { 2500, "g CO2e", "2.50 kg CO2e" },
    };
    struct wl_arena *a = wl_arena_new(NULL);
    for (size_t i = 0; i < WL_COUNT(cases); i++) {
        const struct wl_amount q = wl_amount_of(cases[i].value, cases[i].unit, WL_ESTIMATED);
        assert_string_equal(wl_amount_text(&q, a), wl_strf(a, "%s (estimated)", cases[i].text));
    }
    const struct wl_amount same = wl_amount_between(710, 700, 730, "J", WL_MEASURED),
                           other = wl_amount_between(1000, 990, 1020, "J", WL_SIMULATED);
    assert_string_equal(wl_amount_text(&same, a), "710 J (700 to 730 J)");
    assert_string_equal(wl_amount_text(&other, a), "1.00 kJ (990 J to 1.02 kJ, simulated)");
    wl_arena_free(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_are_folded),
        cmocka_unit_test(nothing_is_lost),
        cmocka_unit_test(amounts_scale),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
