/* Targets, forms, cookies and parameters of requests. */
#include "test.h"

static int parse(const char *target, const char *base, struct wl_http_request *r, struct wl_arena *a)
{
    struct wl_err e = { 0 };
    bool is_base;
    *r = request_of(target, a);
    const int rc = wl_http_parse_target(r, base, &is_base, &e);
    assert_true(rc == 0 || *e.msg);
    return is_base ? 1 : rc;
}

static void targets_are_decoded(void **state)
{
    struct wl_http_request r;
    assert_int_equal(parse("/api/v1/runs?q=a%20b+c&x=%C3%A4&flag&&y=1=2", "/", &r, *state), 0);
    assert_string_equal(r.path, "api/v1/runs");
    assert_int_equal(r.n_params, 4);
    assert_string_equal(wl_http_param(&r, "q"), "a b c");
    assert_string_equal(wl_http_param(&r, "x"), "\xc3\xa4");
    assert_string_equal(wl_http_param(&r, "flag"), "");
    assert_string_equal(wl_http_param(&r, "y"), "1=2");
    assert_null(wl_http_param(&r, "z"));
    assert_int_equal(parse("/", "/", &r, *state), 0);
    assert_string_equal(r.path, "");
}

static void hostile_targets_are_refused(void **state)
{
    static const char *const bad[] = { "",       "*",          "http://x/", "/%",    "/%1",     "/%zz",
                                       "/a%00b", "/a%0d%0aX:", "/a\001b",   "/?a=%", "/?a=%0a", "/?%00=1" };
    struct wl_http_request r;
    for (size_t i = 0; i < WL_COUNT(bad); i++)
        if (parse(bad[i], "/", &r, *state) != WL_EINVAL) fail_msg("%s is taken", bad[i]);
    char *longest = wl_alloc(*state, 5001), *many = wl_alloc(*state, 200);
    memset(longest, 'a', 5000);
    longest[0] = '/';
    assert_int_equal(parse(longest, "/", &r, *state), WL_EINVAL);
    strcpy(many, "/?");
    for (int i = 0; i < 40; i++) strcat(many, "a=1&");
    assert_int_equal(parse(many, "/", &r, *state), WL_EINVAL);
}

static void a_base_path_is_taken_off(void **state)
{
    struct wl_http_request r;
    assert_int_equal(parse("/wattlaw/api/v1/runs", "/wattlaw", &r, *state), 0);
    assert_string_equal(r.path, "api/v1/runs");
    assert_int_equal(parse("/wattlaw", "/wattlaw", &r, *state), 1);
    assert_int_equal(parse("/wattlaws/api", "/wattlaw", &r, *state), WL_ENOENT);
    assert_int_equal(parse("/api", "/wattlaw", &r, *state), WL_ENOENT);
}

static void forms_and_cookies_have_values(void **state)
{
    struct wl_http_request r = request_of("/", *state);
    assert_string_equal(wl_http_form_value("a=1&token=x%2By+z", "token", *state), "x+y z");
    assert_null(wl_http_form_value("token", "other", *state));
    assert_null(wl_http_form_value("token=%", "token", *state));
    assert_null(wl_http_form_value(NULL, "token", *state));
    r.cookie = "a=1; wattlaw-80870=no; wattlaw-8087=yes; wattlaw-8087=again";
    assert_string_equal(wl_http_cookie(&r, "wattlaw-8087"), "yes");
    assert_null(wl_http_cookie(&r, "wattlaw"));
    r.cookie = NULL;
    assert_null(wl_http_cookie(&r, "a"));
}

static void wrong_parameters_are_named(void **state)
{
    static const char *const names[] = { "limit", "order", NULL }, *const orders[] = { "asc", "desc" };
    struct wl_http_request r;
    struct wl_err e;
    int64_t n;
    size_t k;
    assert_int_equal(parse("/?limt=5", "/", &r, *state), 0);
    assert_int_equal(wl_http_check_params(&r, names, &e), WL_EINVAL);
    assert_string_equal(e.msg, "unknown parameter limt; did you mean limit?");
    assert_int_equal(parse("/?limit=5&limit=6", "/", &r, *state), 0);
    assert_int_equal(wl_http_check_params(&r, names, &e), WL_EINVAL);
    assert_int_equal(parse("/?limit=501&order=up", "/", &r, *state), 0);
    assert_int_equal(wl_http_param_int(&r, "limit", 50, 1, 500, &n, &e), WL_EINVAL);
    assert_string_equal(e.msg, "limit=501: expected a whole number from 1 to 500");
    assert_int_equal(wl_http_param_choice(&r, "order", orders, 2, 0, &k, &e), WL_EINVAL);
    assert_string_equal(e.msg, "order=up: expected one of asc, desc");
    assert_int_equal(wl_http_param_int(&r, "offset", 7, 0, 9, &n, &e), 0);
    assert_int_equal(n, 7);
}

static void an_absolute_target_names_the_host(void **state)
{
    static const struct {
        const char *target, *host, *rest;
    } cases[] = { { "http://a.example:80/x?y=http://z/", "a.example:80", "/x?y=http://z/" },
                  { "HTTPS://[::1]:8087", "[::1]:8087", "/" },
                  { "http://a?b=1", "a", "/?b=1" },
                  { "http:///x", "", "/x" },
                  { "http:/a/x", "localhost:8087", "http:/a/x" },
                  { "/http://a/", "localhost:8087", "/http://a/" },
                  { "*", "localhost:8087", "*" } };
    for (size_t i = 0; i < WL_COUNT(cases); i++) {
        struct wl_http_request r = request_of(cases[i].target, *state);
        wl_http_take_absolute_target(&r);
        assert_string_equal(r.host, cases[i].host);
        assert_string_equal(r.target, cases[i].rest);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_ARENA(targets_are_decoded),        WITH_ARENA(hostile_targets_are_refused),
        WITH_ARENA(a_base_path_is_taken_off),   WITH_ARENA(forms_and_cookies_have_values),
        WITH_ARENA(wrong_parameters_are_named), WITH_ARENA(an_absolute_target_names_the_host),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
