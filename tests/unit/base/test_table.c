/* Text tables: alignment by characters, missing cells, columns that a narrow terminal leaves out. */
#include "base/base.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static char *printed(const struct wl_table *t, int width)
{
    struct wl_text lines = WL_TEXT(t->arena);
    wl_table_text(t, &lines, width);
    return strdup(lines.s);
}

static struct wl_table three_columns(struct wl_arena *a)
{
    struct wl_table t = wl_table_new(a);
    wl_table_column(&t, "name", false);
    wl_table_column(&t, "time s", true);
    wl_table_column(&t, "cap", true);
    return t;
}

static void widths_count_characters(void **state)
{
    (void)state;
    struct wl_arena *a = wl_arena_new(NULL);
    struct wl_table t = three_columns(a);
    wl_table_cell(&t, "βeta");
    wl_table_real(&t, 1.5, 3);
    wl_table_int(&t, 250);
    wl_table_row(&t);
    wl_table_cell(&t, "a\nb");
    wl_table_row(&t);
    char *s = printed(&t, 0);
    assert_string_equal(s, "name  time s  cap\n"
                           "βeta    1.50  250\n"
                           "a\\nb       -    -\n");
    free(s);
    wl_arena_free(a);
}

/* A row of a campaign: notes stay, text wraps, numbers of less importance go first. */
static struct wl_table campaign(struct wl_arena *a)
{
    static const char *const heads[] = { "run", "time s", "95 %", "util %", "power W" }, *const spare[] = { "util %",
                                                                                                            "95 %" };
    struct wl_table t = wl_table_new(a);
    for (size_t i = 0; i < WL_COUNT(heads); i++) wl_table_column(&t, heads[i], true);
    wl_table_column(&t, "note", false);
    wl_table_spare(&t, spare, WL_COUNT(spare));
    static const char *const cells[] = {
        "1", "12.50", "12 to 13", "98.0", "250", "estimated: nothing here measures it"
    };
    for (size_t i = 0; i < WL_COUNT(cells); i++) wl_table_cell(&t, cells[i]);
    wl_table_row(&t);
    return t;
}

static void columns_are_left_out_by_importance(void **state)
{
    (void)state;
    static const struct {
        int width;
        const char *text;
    } cases[] = {
        { 0, "run  time s      95 %  util %  power W  note\n"
             "  1   12.50  12 to 13    98.0      250  estimated: nothing here measures it\n" },
        { 68, "run  time s      95 %  util %  power W  note\n"
              "  1   12.50  12 to 13    98.0      250  estimated: nothing here\n"
              "                                        measures it\n" },
        { 49, "run  time s  power W  note\n"
              "  1   12.50      250  estimated: nothing here\n"
              "                      measures it\n"
              "(left out at 49 columns: 95 % of time s, util %; | cat shows all)\n" },
        { 20, "run  note\n"
              "  1  estimated:\n"
              "     nothing here\n"
              "     measures it\n"
              "(left out at 20 columns: time s, util %, power W; | cat shows all)\n" },
    };
    struct wl_arena *a = wl_arena_new(NULL);
    for (size_t i = 0; i < WL_COUNT(cases); i++) {
        struct wl_table t = campaign(a);
        char *s = printed(&t, cases[i].width);
        assert_string_equal(s, cases[i].text);
        free(s);
    }
    struct wl_table t = campaign(a);
    t.whole = true;
    char *s = printed(&t, 40);
    assert_null(strstr(s, "left out at"));
    static const char *const all[] = { "time s", "95 %", "util %", "power W", "12 to 13", "98.0", "measures" };
    for (size_t i = 0; i < WL_COUNT(all); i++)
        if (!strstr(s, all[i])) fail_msg("%s is missing in\n%s", all[i], s);
    free(s);
    wl_arena_free(a);
}

static struct wl_table energies(const double *j, size_t n, const char *unit, struct wl_arena *a)
{
    struct wl_table t = wl_table_new(a);
    wl_table_column(&t, "run", true);
    wl_table_unit_column(&t, wl_strf(a, "energy %s", unit), "energy", unit, 4);
    for (size_t i = 0; i < n; i++) {
        wl_table_int(&t, (double)i + 1);
        wl_table_aligned(&t, j[i]);
        wl_table_row(&t);
    }
    return t;
}

/* The prefix is that of the largest number; pipes, which have no width, keep the unit. */
static void a_column_takes_the_prefix_that_fits(void **state)
{
    (void)state;
    static const struct {
        double j[2];
        const char *narrow, *wide, *unit;
    } cases[] = {
        { { 12e6, 9.5e6 },
          "run  energy MJ\n  1      12.00\n  2       9.50\n",
          "run  energy J\n  1   1.2e+07\n  2   9.5e+06\n",
          "J" },
        { { 350.3, 99999 },
          "run  energy J\n  1       350\n  2     99999\n",
          "run  energy J\n  1       350\n  2     99999\n",
          "J" },
        { { 999960, 500e3 }, "run  energy MJ\n  1      1.000\n  2      0.500\n", NULL, "J" },
        { { .012, NAN }, "run  energy mJ\n  1      12.00\n  2          -\n", NULL, "J" },
        { { 0, NAN }, "run  energy J\n  1         0\n  2         -\n", NULL, "J" },
        { { .005, NAN }, "run  energy Wh\n  1      5.000\n  2          -\n", NULL, "kWh" },
        { { .25e6, NAN }, "run  energy MWh\n  1       250.0\n  2           -\n", NULL, "kWh" },
    };
    struct wl_arena *a = wl_arena_new(NULL);
    for (size_t i = 0; i < WL_COUNT(cases); i++) {
        const struct wl_table t = energies(cases[i].j, 2, cases[i].unit, a);
        char *narrow = printed(&t, 80), *wide = printed(&t, 0), *again = printed(&t, 80);
        assert_string_equal(narrow, cases[i].narrow);
        assert_string_equal(narrow, again);
        if (cases[i].wide) assert_string_equal(wide, cases[i].wide);
        free(narrow);
        free(wide);
        free(again);
    }
    wl_arena_free(a);
}

/* The interval goes with its amount into the prefix. */
static void ranges_take_the_unit_of_their_column(void **state)
{
    (void)state;
    struct wl_arena *a = wl_arena_new(NULL);
    struct wl_table t = wl_table_new(a);
    wl_table_unit_column(&t, "energy J", "energy", "J", 4);
    wl_table_range_column(&t, "95 %");
    const struct wl_amount amounts[] = { wl_amount_between(3.042e6, 2995826, 3089865, "J", WL_MEASURED),
                                         wl_amount_between(512.4e3, 500e3, NAN, "J", WL_MEASURED) };
    for (size_t i = 0; i < WL_COUNT(amounts); i++) {
        wl_table_amount(&t, &amounts[i], 0);
        wl_table_range(&t, &amounts[i]);
        wl_table_row(&t);
    }
    char *narrow = printed(&t, 80), *wide = printed(&t, 0);
    assert_string_equal(narrow, "energy MJ           95 %\n    3.042  2.996 to 3.09\n    0.512              -\n");
    assert_string_equal(wide,
                        " energy J                95 %\n3.042e+06  2995826 to 3089865\n5.124e+05                   -\n");
    free(narrow);
    free(wide);
    wl_arena_free(a);
}

static size_t count_lines(const char *s)
{
    size_t n = 0;
    for (; *s; s++) n += *s == '\n';
    return n;
}

static void rows_are_left_out_to_fit(void **state)
{
    (void)state;
    static const double j[] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 };
    struct wl_arena *a = wl_arena_new(NULL);
    for (size_t lines = 0; lines < 14; lines++) {
        struct wl_table end = energies(j, WL_COUNT(j), "J", a), begin = energies(j, WL_COUNT(j), "J", a);
        const size_t skipped = wl_table_skip_to_fit(&end, 80, lines), cut = wl_table_cut_to_fit(&begin, 80, lines);
        const size_t expected = lines >= 11 ? 0 : lines < 2 ? 9 : 11 - lines;
        assert_int_equal(skipped, expected);
        assert_int_equal(cut, expected);
        char *last = printed(&end, 80), *first = printed(&begin, 80);
        assert_int_equal(count_lines(last), 11 - expected);
        assert_int_equal(count_lines(first), 11 - expected);
        assert_non_null(strstr(last, " 10  "));
        assert_non_null(strstr(first, "  1  "));
        free(last);
        free(first);
    }
    wl_arena_free(a);
}

/* CJK takes two columns, a combining accent none. */
static void wide_characters_are_aligned(void **state)
{
    (void)state;
    struct wl_arena *a = wl_arena_new(NULL);
    struct wl_table t = wl_table_new(a);
    wl_table_column(&t, "name", false);
    wl_table_column(&t, "n", true);
    static const char *const names[] = { "模型一号", "e\u0301te", "plain" };
    for (size_t i = 0; i < WL_COUNT(names); i++) {
        wl_table_cell(&t, names[i]);
        wl_table_int(&t, 1);
        wl_table_row(&t);
    }
    char *s = printed(&t, 0);
    assert_string_equal(s, "name      n\n模型一号  1\ne\u0301te       1\nplain     1\n");
    free(s);
    wl_arena_free(a);
}

static void an_empty_column_is_left_out(void **state)
{
    (void)state;
    struct wl_arena *a = wl_arena_new(NULL);
    struct wl_table t = three_columns(a);
    wl_table_cell(&t, "x");
    wl_table_real(&t, NAN, 3);
    wl_table_int(&t, 100);
    wl_table_row(&t);
    char *s = printed(&t, 0);
    assert_string_equal(s, "name  cap\nx     100\n");
    free(s);
    wl_arena_free(a);
}

static void all_columns_may_be_empty(void **state)
{
    (void)state;
    struct wl_arena *a = wl_arena_new(NULL);
    struct wl_table t = three_columns(a);
    wl_table_cell(&t, NULL);
    wl_table_row(&t);
    char *s = printed(&t, 0);
    assert_string_equal(s, "\n\n");
    free(s);
    wl_arena_free(a);
}

static void numbers_have_the_digits_asked_for(void **state)
{
    (void)state;
    static const struct {
        double value;
        const char *text;
    } cases[] = {
        { 0, "0.00" },        { 1, "1.00" },       { 9.996, "10.0" }, { 12.345, "12.3" },   { 1234.5, "1234" },
        { 0.0123, "0.0123" }, { -4.567, "-4.57" }, { 1e9, "1e+09" },  { 0.00001, "1e-05" },
    };
    struct wl_arena *a = wl_arena_new(NULL);
    for (size_t i = 0; i < WL_COUNT(cases); i++) {
        struct wl_table t = wl_table_new(a);
        wl_table_column(&t, "v", true);
        wl_table_real(&t, cases[i].value, 3);
        if (i == 4)
            assert_true(strcmp(t.cells.v[0], "1234") == 0 || strcmp(t.cells.v[0], "1235") == 0);
        else
            assert_string_equal(t.cells.v[0], cases[i].text);
    }
    wl_arena_free(a);
}

static void a_column_has_the_same_decimals(void **state)
{
    (void)state;
    static const struct {
        double values[3];
        const char *text;
    } cases[] = {
        { { 7.51234, 12.0, NAN }, "  t s\n 7.51\n12.00\n    -\n" },
        { { 50376.2, 25100, 1.5e5 }, "   t s\n 50376\n 25100\n150000\n" },
        { { 1234, 1.25, 0 }, "    t s\n1234.00\n   1.25\n   0.00\n" },
        { { 0.012345, 0.1, 0.5 }, "   t s\n0.0123\n0.1000\n0.5000\n" },
        { { 3e9, 1, NAN }, "  t s\n3e+09\n    1\n    -\n" },
    };
    struct wl_arena *a = wl_arena_new(NULL);
    for (size_t i = 0; i < WL_COUNT(cases); i++) {
        struct wl_table t = wl_table_new(a);
        wl_table_real_column(&t, "t s", 4);
        for (size_t k = 0; k < 3; k++) wl_table_aligned(&t, cases[i].values[k]);
        char *s = printed(&t, 0), *twice = printed(&t, 0);
        assert_string_equal(s, cases[i].text);
        assert_string_equal(twice, cases[i].text);
        free(s);
        free(twice);
    }
    wl_arena_free(a);
}

static void a_constant_column_can_be_hidden(void **state)
{
    (void)state;
    struct wl_arena *a = wl_arena_new(NULL);
    struct wl_table t = three_columns(a);
    wl_table_cell(&t, "x");
    wl_table_int(&t, 1);
    wl_table_row(&t);
    assert_null(wl_table_take_constant(&t, 0)); /* of one row nothing is said twice */
    wl_table_cell(&t, "x");
    wl_table_int(&t, 2);
    wl_table_row(&t);
    assert_string_equal(wl_table_take_constant(&t, 0), "x");
    assert_null(wl_table_take_constant(&t, 1));
    char *s = printed(&t, 0);
    assert_string_equal(s, "time s\n     1\n     2\n");
    free(s);
    wl_arena_free(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(widths_count_characters),
        cmocka_unit_test(columns_are_left_out_by_importance),
        cmocka_unit_test(a_column_takes_the_prefix_that_fits),
        cmocka_unit_test(ranges_take_the_unit_of_their_column),
        cmocka_unit_test(rows_are_left_out_to_fit),
        cmocka_unit_test(wide_characters_are_aligned),
        cmocka_unit_test(an_empty_column_is_left_out),
        cmocka_unit_test(all_columns_may_be_empty),
        cmocka_unit_test(numbers_have_the_digits_asked_for),
        cmocka_unit_test(a_column_has_the_same_decimals),
        cmocka_unit_test(a_constant_column_can_be_hidden),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
