/* Who may ask. */
#include "test.h"

#include "serve/access.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

static const char token[] = "correct-horse-battery";

static struct wl_access access_with(const char *secret, const struct wl_strs *hosts)
{
    struct wl_access g = { .hosts = hosts };
    assert_ok(wl_access_init(&g, secret, "/w", 8087, e));
    return g;
}

static bool accepts(const struct wl_access *g, const char *host, struct wl_arena *a)
{
    struct wl_http_request r = request_of("/", a);
    r.host = host;
    return wl_access_accepts_host(g, &r);
}

static void only_our_names_are_hosts(void **state)
{
    static const char *const good[] = { "localhost",  "LOCALHOST:8087", "127.0.0.1", "127.9.9.9:1",
                                        "[::1]:8087", "[::1]",          "node1",     "Node1:443" };
    static const char *const bad[] = { "",
                                       "evil.example",
                                       "localhost.evil.example",
                                       "127.0.0.1.evil.example",
                                       "[::1",
                                       "::1",
                                       "localhost:80x",
                                       "node12",
                                       "128.0.0.1",
                                       "localhost:80:80",
                                       "[::1]x",
                                       "localhost\t" };
    struct wl_strs hosts = { 0 };
    wl_strs_add(*state, &hosts, "node1");
    const struct wl_access g = access_with(NULL, &hosts);
    for (size_t i = 0; i < WL_COUNT(good); i++)
        if (!accepts(&g, good[i], *state)) fail_msg("%s is refused", good[i]);
    for (size_t i = 0; i < WL_COUNT(bad); i++)
        if (accepts(&g, bad[i], *state)) fail_msg("%s is taken", bad[i]);
    struct wl_http_request r = request_of("/", *state);
    r.n_hosts = 2;
    assert_false(wl_access_accepts_host(&g, &r));
    r.n_hosts = 0;
    r.host = NULL;
    assert_false(wl_access_accepts_host(&g, &r));
}

static void pages_of_other_sites_are_refused(void **state)
{
    const struct wl_access g = access_with(NULL, NULL);
    struct wl_http_request r = request_of("/", *state);
    assert_true(wl_access_accepts_origin(&g, &r));
    r.origin = "http://localhost:8087";
    assert_true(wl_access_accepts_origin(&g, &r));
    r.origin = "https://evil.example";
    assert_false(wl_access_accepts_origin(&g, &r));
    r.origin = "null";
    assert_false(wl_access_accepts_origin(&g, &r));
}

static void the_token_opens_and_nothing_else(void **state)
{
    const struct wl_access open = access_with(NULL, NULL), g = access_with(token, NULL);
    struct wl_http_request r = request_of("/", *state);
    assert_true(wl_access_knows(&open, &r));
    assert_false(wl_access_is_token(&open, ""));
    assert_false(wl_access_knows(&g, &r));
    static const char *const bad[] = { "",
                                       "Bearer",
                                       "Bearer ",
                                       "Bearer correct-horse-batter",
                                       "Bearer correct-horse-batteryx",
                                       "Basic correct-horse-battery",
                                       "correct-horse-battery" };
    for (size_t i = 0; i < WL_COUNT(bad); i++) {
        r.authorization = bad[i];
        if (wl_access_knows(&g, &r)) fail_msg("\"%s\" opens", bad[i]);
    }
    r.authorization = "bearer correct-horse-battery";
    assert_true(wl_access_knows(&g, &r));
}

static void a_cookie_opens_without_the_token(void **state)
{
    const struct wl_access g = access_with(token, NULL), other = access_with(token, NULL);
    struct wl_http_request r = request_of("/", *state);
    const char *set = wl_access_login_cookie(&g, *state);
    assert_holds(set, "HttpOnly; SameSite=Strict");
    assert_holds(set, "Path=/w;");
    assert_null(strstr(set, token));
    r.cookie = wl_strndup(*state, set, strcspn(set, ";"));
    assert_true(wl_access_knows(&g, &r));
    assert_false(wl_access_knows(&other, &r)); /* another process has another secret */
    r.cookie = "wattlaw-8087=";
    assert_false(wl_access_knows(&g, &r));
    r.cookie = wl_strf(*state, "wattlaw-8087=%s", g.token); /* its hash is not the cookie */
    assert_false(wl_access_knows(&g, &r));
    assert_holds(wl_access_logout_cookie(&g, *state), "Max-Age=0");
}

static const char *write_token(const char *text, mode_t mode, struct wl_arena *a)
{
    char *path = wl_strf(a, "%s/token-XXXXXX", getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp");
    const int fd = mkstemp(path);
    assert_true(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text) && fchmod(fd, mode) == 0);
    close(fd);
    return path;
}

static void token_files_are_their_owners(void **state)
{
    struct wl_err e;
    char *read = NULL;
    assert_int_equal(wl_access_read_token(write_token("correct-horse-battery\nmore", 0600, *state), &read, *state, &e),
                     0);
    assert_string_equal(read, token);
    assert_int_equal(wl_access_read_token(write_token(token, 0640, *state), &read, *state, &e), WL_EPERM);
    assert_holds(e.msg, "chmod 600");
    static const char *const bad[] = { "", "\n", "short", "with a blank in it, long", "fifteen-letters" };
    for (size_t i = 0; i < WL_COUNT(bad); i++)
        if (wl_access_read_token(write_token(bad[i], 0600, *state), &read, *state, &e) != WL_EINVAL)
            fail_msg("%s is taken", bad[i]);
    char *longest = wl_alloc(*state, 300);
    memset(longest, 'x', 257);
    assert_int_equal(wl_access_read_token(write_token(longest, 0600, *state), &read, *state, &e), WL_EINVAL);
    assert_int_equal(wl_access_read_token("/proc/nowhere", &read, *state, &e), WL_ENOENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_ARENA(only_our_names_are_hosts),         WITH_ARENA(pages_of_other_sites_are_refused),
        WITH_ARENA(the_token_opens_and_nothing_else), WITH_ARENA(a_cookie_opens_without_the_token),
        WITH_ARENA(token_files_are_their_owners),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
