/* Text tables: alignment by characters, missing cells, cut lines. */
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
    s = printed(&t, 8);
    assert_string_equal(s, "name  t>\nβeta   >\na\\nb   >\n(cut to 8 columns; | cat shows all)\n");
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
        cmocka_unit_test(widths_count_characters),        cmocka_unit_test(an_empty_column_is_left_out),
        cmocka_unit_test(all_columns_may_be_empty),       cmocka_unit_test(numbers_have_the_digits_asked_for),
        cmocka_unit_test(a_column_has_the_same_decimals), cmocka_unit_test(a_constant_column_can_be_hidden),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
