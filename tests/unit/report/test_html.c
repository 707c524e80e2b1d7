#include "test.h"

#include "synthetic.h"

static struct wl_text page_of(struct wl_arena *a)
{
    struct wl_text t = WL_TEXT(a);
    wl_document_html(synthetic_document(a), &t);
    return t;
}

/* The text between two marks, without them. */
static char *between(struct wl_arena *a, const char *text, const char *from, const char *to)
{
    const char *begin = strstr(text, from);
    assert_non_null(begin);
    begin += strlen(from);
    const char *end = strstr(begin, to);
    assert_non_null(end);
    return wl_strndup(a, begin, (size_t)(end - begin));
}

static size_t count(const char *text, const char *part)
{
    size_t n = 0;
    for (const char *p = text; (p = strstr(p, part)); p += strlen(part)) n++;
    return n;
}

static void body_matches_golden_file(void **state)
{
    struct wl_text page = page_of(*state), body = WL_TEXT(*state);
    wl_text_add(&body, between(*state, page.s, "<body>\n", "<script type=\"application/json\""));
    assert_golden(*state, "body.html", &body);
}

static void hostile_names_are_escaped(void **state)
{
    struct wl_text page = page_of(*state);
    assert_holds_not(page.s, "<script>alert");
    assert_int_equal(count(page.s, "<script"), 3); /* data, Chart.js, ours */
    assert_int_equal(count(page.s, "</script"), 3);

    char *data = between(*state, page.s, "id=\"figures\">", "</script>");
    struct wl_json *figures;
    assert_ok(wl_json_parse(data, "data", &figures, *state, e));
    assert_int_equal(wl_json_size(figures), 4);
    const char *title = wl_json_str(wl_json_get(wl_json_at(figures, 3), "title"));
    assert_holds(title, "</script><script>alert(1)</script> \"q\" 'a' `touch hacked`");
}

/* The page fetches nothing. */
static void page_is_self_contained(void **state)
{
    struct wl_text page = page_of(*state);
    static const char *const forbidden[] = {
        "<link rel=\"stylesheet\"", " src=", "@import", "url(", "fetch(\"", "XMLHttpRequest"
    };
    char *own = between(*state, page.s, "<!DOCTYPE html>", "id=\"figures\">");
    for (size_t i = 0; i < WL_COUNT(forbidden); i++) assert_holds_not(own, forbidden[i]);
    assert_holds_not(page.s, "<script src");
    assert_holds_not(page.s, "sourceMappingURL=http");
}

/* Every link to a formula has its row. */
static void links_to_formulas_resolve(void **state)
{
    struct wl_text page = page_of(*state);
    for (const char *p = page.s; (p = strstr(p, "href=\"#metric-")); p++) {
        char *id = between(*state, p, "href=\"#", "\"");
        assert_holds(page.s, wl_strf(*state, "<div id=\"%s\">", id));
    }
}

/* Of "long" a page holds 75 rows of each of its two workloads, of "crowd" one row of each of the first 150. */
static void long_tables_are_cut_by_workload(void **state)
{
    struct wl_text page = WL_TEXT(*state);
    wl_document_html(synthetic_crowded_document(*state), &page);
    assert_int_equal(count(page.s, "<td class=t>resnet50, cap 200 W<td>"), 75);
    assert_int_equal(count(page.s, "<td class=t>w0<td>"), 75 + 1);
    assert_int_equal(count(page.s, "<td class=t>w149<td>"), 1);
    assert_int_equal(count(page.s, "<td class=t>w150<td>"), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = { WITH_ARENA(body_matches_golden_file), WITH_ARENA(hostile_names_are_escaped),
                                        WITH_ARENA(page_is_self_contained), WITH_ARENA(links_to_formulas_resolve),
                                        WITH_ARENA(long_tables_are_cut_by_workload) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
