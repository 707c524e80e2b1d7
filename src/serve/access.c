#include "serve/access.h"

#include "base/sha256.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <strings.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

enum { TOKEN_MIN = 16, TOKEN_MAX = 256 };

/* ---- secrets ---- */

static void hash(const char *text, char out[WL_ACCESS_SECRET])
{
    struct wl_sha256 h;
    wl_sha256_init(&h);
    wl_sha256_add(&h, text, strlen(text));
    wl_sha256_text(&h, out);
}

static int make_secret(char out[WL_ACCESS_SECRET], struct wl_err *e)
{
    unsigned char bytes[(WL_ACCESS_SECRET - 1) / 2];
    if (getrandom(bytes, sizeof bytes, 0) != (ssize_t)sizeof bytes)
        return wl_fail_errno(e, "cannot make the secret of the cookie");
    for (size_t i = 0; i < sizeof bytes; i++) snprintf(out + 2 * i, 3, "%02x", bytes[i]);
    return 0;
}

/* Without a branch that depends on the content. */
static bool is_same(const char a[WL_ACCESS_SECRET], const char b[WL_ACCESS_SECRET])
{
    unsigned char differs = 0;
    for (size_t i = 0; i < WL_ACCESS_SECRET; i++) differs |= (unsigned char)(a[i] ^ b[i]);
    return differs == 0;
}

/* By their hashes: the time says nothing of the length either. */
static bool is_secret(const char *sent, const char secret_hash[WL_ACCESS_SECRET])
{
    char sent_hash[WL_ACCESS_SECRET];
    hash(sent ? sent : "", sent_hash);
    return is_same(sent_hash, secret_hash);
}

int wl_access_init(struct wl_access *g, const char *token, const char *base, int port, struct wl_err *e)
{
    g->needs_token = token != NULL;
    g->cookie_path = base;
    snprintf(g->cookie, sizeof g->cookie, "wattlaw-%d", port);
    if (token) hash(token, g->token);
    int rc = make_secret(g->session, e);
    return rc ? rc : make_secret(g->csrf, e);
}

static bool is_token_text(const char *s)
{
    const size_t n = strlen(s);
    for (; *s; s++)
        if (*s <= ' ' || *s > '~') return false;
    return n >= TOKEN_MIN && n <= TOKEN_MAX;
}

int wl_access_read_token(const char *path, char **token, struct wl_arena *a, struct wl_err *e)
{
    char text[TOKEN_MAX + 2] = "";
    struct stat st;
    const int fd = wl_file_open(path, e);
    if (fd < 0) return fd;
    int rc = fstat(fd, &st) ? wl_fail_errno(e, "%s: cannot be read", path) : 0;
    if (rc == 0 && (st.st_mode & (S_IRWXG | S_IRWXO)))
        rc = wl_fail(e, WL_EPERM, "%s: other users can read this token (chmod 600 %s)", path, path);
    const ssize_t n = rc == 0 ? read(fd, text, sizeof text - 1) : 0;
    if (n < 0) rc = wl_fail_errno(e, "%s: cannot be read", path);
    close(fd);
    if (rc < 0) return rc;
    text[strcspn(text, "\r\n")] = '\0';
    if (!is_token_text(text))
        return wl_fail(e, WL_EINVAL,
                       "%s: expected a token in the first line: %d to %d printable characters without blanks", path,
                       TOKEN_MIN, TOKEN_MAX);
    *token = wl_strdup(a, text);
    return 0;
}

/* ---- hosts ---- */

/* "localhost:8087" -> "localhost", "[::1]:8087" -> "::1"; NULL: not a host with an optional port. */
static const char *name_of(const char *host, struct wl_arena *a)
{
    const bool is_ipv6 = *host == '[';
    const char *begin = host + is_ipv6, *end = begin + strcspn(begin, is_ipv6 ? "]" : ":");
    const char *port = is_ipv6 && *end ? end + 1 : end;
    if (end == begin || (is_ipv6 && *end != ']') || (*port && *port != ':')) return NULL;
    if (*port && strspn(port + 1, "0123456789") != strlen(port + 1)) return NULL;
    return wl_strndup(a, begin, (size_t)(end - begin));
}

bool wl_access_is_loopback(const char *host)
{
    struct in_addr v4;
    struct in6_addr v6;
    if (strcasecmp(host, "localhost") == 0) return true;
    if (inet_pton(AF_INET, host, &v4) == 1) return ntohl(v4.s_addr) >> 24 == 127;
    return inet_pton(AF_INET6, host, &v6) == 1 && IN6_IS_ADDR_LOOPBACK(&v6);
}

static bool is_ours(const struct wl_access *g, const char *name)
{
    if (wl_access_is_loopback(name)) return true;
    for (size_t i = 0; g->hosts && i < g->hosts->n; i++)
        if (strcasecmp(g->hosts->v[i], name) == 0) return true;
    return false;
}

bool wl_access_accepts_host(const struct wl_access *g, const struct wl_http_request *r)
{
    const char *name = r->n_hosts == 1 && r->host ? name_of(r->host, r->a) : NULL;
    return name && is_ours(g, name);
}

bool wl_access_accepts_origin(const struct wl_access *g, const struct wl_http_request *r)
{
    static const char *const schemes[] = { "http://", "https://" };
    if (!r->origin) return true; /* not a page of a browser */
    for (size_t i = 0; i < WL_COUNT(schemes); i++) {
        if (!wl_str_starts(r->origin, schemes[i])) continue;
        const char *name = name_of(r->origin + strlen(schemes[i]), r->a);
        return name && is_ours(g, name);
    }
    return false;
}

/* ---- the token ---- */

bool wl_access_is_token(const struct wl_access *g, const char *token)
{
    return g->needs_token && is_secret(token, g->token);
}

static bool has_token(const struct wl_access *g, const struct wl_http_request *r)
{
    static const char bearer[] = "Bearer ";
    const char *sent = r->authorization;
    const bool has_bearer = sent && strncasecmp(sent, bearer, strlen(bearer)) == 0;
    return wl_access_is_token(g, has_bearer ? sent + strlen(bearer) : NULL);
}

static bool has_cookie(const struct wl_access *g, const struct wl_http_request *r)
{
    char session[WL_ACCESS_SECRET];
    hash(g->session, session);
    return g->needs_token && is_secret(wl_http_cookie(r, g->cookie), session);
}

bool wl_access_knows(const struct wl_access *g, const struct wl_http_request *r)
{
    const bool cookie = has_cookie(g, r), token = has_token(g, r); /* in equal time, whichever is right */
    return !g->needs_token || cookie || token;
}

const char *wl_access_why_no_change(const struct wl_access *g, const struct wl_http_request *r)
{
    char csrf[WL_ACCESS_SECRET];
    hash(g->csrf, csrf);
    if (!wl_access_accepts_origin(g, r) || (r->fetch_site && strcmp(r->fetch_site, "same-origin") != 0))
        return "the request is from a page of another site";
    if (has_token(g, r)) return NULL;
    if (!has_cookie(g, r)) return "a token is required";
    if (!r->origin) return "expected the header Origin with a cookie: send the token in Authorization instead";
    return is_secret(r->csrf, csrf) ? NULL : "expected the CSRF token of api/v1/session in X-Wattlaw-CSRF";
}

const char *wl_access_login_cookie(const struct wl_access *g, struct wl_arena *a)
{
    return wl_strf(a, "%s=%s; Path=%s; HttpOnly; SameSite=Strict", g->cookie, g->session, g->cookie_path);
}

const char *wl_access_logout_cookie(const struct wl_access *g, struct wl_arena *a)
{
    return wl_strf(a, "%s=; Path=%s; HttpOnly; SameSite=Strict; Max-Age=0", g->cookie, g->cookie_path);
}
