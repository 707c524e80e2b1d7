#include "test.h"

#include <math.h>
#include <time.h>

#include "synthetic.h"

static void significant_digits_are_kept(void **state)
{
    struct wl_arena *a = *state;
    assert_string_equal(wl_significant_digits(a, NAN, 3), "");
    assert_string_equal(wl_significant_digits(a, 0, 3), "0");
    assert_string_equal(wl_significant_digits(a, 12.3456, 4), "12.35");
    assert_string_equal(wl_significant_digits(a, 9.996, 3), "10.0");
    assert_string_equal(wl_significant_digits(a, 123456, 3), "123456");
    assert_string_equal(wl_significant_digits(a, .00012345, 3), "0.000123");
    assert_string_equal(wl_significant_digits(a, 1.5e-7, 2), "1.5e-07");
    assert_string_equal(wl_significant_digits(a, 1.5e9, 2), "1.5e+09");
    assert_string_equal(wl_significant_digits(a, -0.5, 2), "-0.50");
    assert_string_equal(wl_significant_digits(a, 7, 0), "7");
    assert_string_equal(wl_significant_digits(a, INFINITY, 3), "inf");
}

static void formats_match_golden_files(void **state)
{
    static const char *const formats[] = { "text", "csv", "md", "tex", "html" };
    for (size_t i = 0; i < WL_COUNT(formats); i++) {
        for (int hostile = 0; hostile < 2; hostile++) {
            struct wl_text t = WL_TEXT(*state);
            wl_report_table_format(formats[i])(synthetic_table(*state, hostile), &t);
            assert_golden(*state, wl_strf(*state, "table%s.%s", hostile ? "-hostile" : "", formats[i]), &t);
        }
    }
    assert_null(wl_report_table_format("docx"));
}

/* An empty column is only in the CSV. */
static void empty_column_is_only_in_csv(void **state)
{
    static const struct wl_report_column columns[] = { { .id = "a", .label = "first", .digits = 3 },
                                                       { .id = "b", .label = "second", .digits = 3 } };
    struct wl_report_table *t = wl_report_table_new(*state, "t", "T", columns, 2);
    struct wl_text csv = WL_TEXT(*state), md = WL_TEXT(*state), html = WL_TEXT(*state);
    wl_report_table_real(t, 1);
    wl_report_table_real(t, NAN);
    wl_report_table_format("csv")(t, &csv);
    wl_report_table_format("md")(t, &md);
    wl_report_table_format("html")(t, &html);
    assert_string_equal(csv.s, "a,b,estimated,simulated\n1,,0,0\n");
    assert_holds_not(md.s, "second");
    assert_holds_not(html.s, "second");
}

/* Rows that fill pages are in a longtable, with the head on each page. */
static void long_tables_use_longtable(void **state)
{
    static const struct wl_report_column columns[] = { { .id = "a", .label = "first", .digits = 3 } };
    struct wl_report_table *t = wl_report_table_new(*state, "t", "T", columns, 1);
    struct wl_text tex = WL_TEXT(*state);
    for (int i = 0; i < 41; i++) wl_report_table_real(t, i);
    wl_report_table_format("tex")(t, &tex);
    assert_holds(tex.s, "\\usepackage{longtable}");
    assert_holds(
        tex.s,
        "\\begin{longtable}{r}\n\\caption{T.}\n\\label{tab:t}\\\\\n\\toprule\nfirst \\\\\n\\midrule\n\\endfirsthead\n"
        "\\toprule\nfirst \\\\\n\\midrule\n\\endhead\n");
    assert_holds(tex.s, "40.0 \\\\\n\\bottomrule\n\\end{longtable}\n");
    assert_holds_not(tex.s, "tabular");
}

/* CPU seconds of writing a table of n rows, one column of which is empty; the least of three. */
static double cpu_seconds(size_t n)
{
    static const struct wl_report_column columns[] = { { .id = "a", .label = "a", .digits = 3 },
                                                       { .id = "b", .label = "b", .digits = 3 } };
    double least = INFINITY;
    for (int repeat = 0; repeat < 3; repeat++) {
        struct wl_arena *a = wl_arena_new(NULL);
        struct wl_text out = WL_TEXT(a);
        struct wl_report_table *t = wl_report_table_new(a, "t", "T", columns, WL_COUNT(columns));
        for (size_t i = 0; i < n; i++) {
            wl_report_table_real(t, (double)i);
            wl_report_table_real(t, NAN);
        }
        const clock_t begin = clock();
        wl_report_table_format("md")(t, &out);
        least = fmin(least, (double)(clock() - begin) / CLOCKS_PER_SEC);
        wl_arena_free(a);
    }
    return least;
}

/* Ten times the rows take ten times as long, not a hundred times: whether a column is empty is asked once. */
static void writing_is_linear_in_rows(void **state)
{
    (void)state;
    const double few = cpu_seconds(2000), many = cpu_seconds(20000);
    if (many > 40 * few) fail_msg("20,000 rows take %.3g s, 2,000 take %.3g s", many, few);
}

/* Of a table that is longer than a page holds each workload has rows there, with what is notable; a row's key says what
 * it is about, and how many such rows there are. */
static void every_workload_has_rows_on_the_page(void **state)
{
    struct wl_arena *a = *state;
    struct wl_document *d = wl_document_new(a, "d");
    struct wl_section *s = wl_document_section(d, "s", "S");
    struct wl_report_table *t = synthetic_long_table(a, "runs", 2, 1000, 500);
    struct wl_text html = WL_TEXT(a);
    static const char *const names[] = { "w0", "w1", "resnet50" };
    for (size_t i = 0; i < WL_COUNT(names); i++) wl_document_workload(d, names[i]);
    wl_section_table(d, s, t);
    wl_report_table_format("html")(t, &html);
    assert_holds(html.s, "data-keys=\"[[[2],null,500],[[0],null,1000],[[1],null,1000]]\"");
    for (size_t k = 0; k < WL_COUNT(names); k++) {
        size_t n = 0;
        for (const char *p = html.s; (p = strstr(p, wl_strf(a, "<tr data-k=%zu>", k))); p++) n++;
        assert_int_equal(n, 50);
    }
    assert_holds(html.s, "flagged");
    assert_holds(html.s, "<summary>150 of 2500 rows</summary>");
}

/* A row may be about several workloads, about all, and about a factor. */
static void a_row_is_about_workloads_and_a_factor(void **state)
{
    static const struct wl_report_column columns[] = { { .id = "groups", .label = "group", .text = true },
                                                       { .id = "factor", .label = "factor", .text = true } };
    static const char *const rows[][2] = { { "bert", "workers" },
                                           { "bert, local batch 8; bert large (2)", NULL },
                                           { "all groups", "workers" },
                                           { "berta", "workers" },
                                           { "bert large, cap 250 W", "power cap" } };
    struct wl_arena *a = *state;
    struct wl_report_table *t = wl_report_table_new(a, "notes", "Notes", columns, WL_COUNT(columns));
    struct wl_strs workloads = { 0 };
    wl_strs_add(a, &workloads, "bert");
    wl_strs_add(a, &workloads, "bert large");
    t->workloads = &workloads;
    for (size_t r = 0; r < WL_COUNT(rows); r++)
        for (size_t c = 0; c < 2; c++) wl_report_table_text(t, rows[r][c]);
    struct wl_text html = WL_TEXT(a);
    wl_report_table_format("html")(t, &html);
    assert_holds(html.s, "data-keys=\"[[[],&quot;workers&quot;,2],[[0],&quot;workers&quot;,1],[[1],&quot;power "
                         "cap&quot;,1],[[0,1],null,1]]\"");
}

static void json(void **state)
{
    struct wl_json *o = wl_json_root_object(*state);
    wl_report_table_json(synthetic_table(*state, false), o);
    const struct wl_json *row = wl_json_at(wl_json_get(o, "rows"), 0);
    assert_string_equal(wl_json_str(wl_json_get(row, "workload")), "resnet50");
    assert_true(isnan(wl_json_real(wl_json_get(row, "speedup"))));
    assert_holds(wl_json_text(o, 0, *state), "\"estimated\": true");
}

int main(void)
{
    const struct CMUnitTest tests[] = { WITH_ARENA(significant_digits_are_kept),
                                        WITH_ARENA(formats_match_golden_files),
                                        WITH_ARENA(empty_column_is_only_in_csv),
                                        WITH_ARENA(long_tables_use_longtable),
                                        WITH_ARENA(writing_is_linear_in_rows),
                                        WITH_ARENA(every_workload_has_rows_on_the_page),
                                        WITH_ARENA(a_row_is_about_workloads_and_a_factor),
                                        WITH_ARENA(json) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
