/* What the options of a server mean, and what its documents share with it. */
#include "serve/access.h"
#include "serve/serve.h"

#include <arpa/inet.h>
#include <string.h>

int wl_serve_check_address(const char *address, bool *is_loopback, struct wl_err *e)
{
    unsigned char any[sizeof(struct in6_addr)];
    if (inet_pton(AF_INET, address, any) != 1 && inet_pton(AF_INET6, address, any) != 1)
        return wl_fail(e, WL_EUSAGE, "--address %s: expected an IPv4 or IPv6 address, such as 127.0.0.1", address);
    *is_loopback = wl_access_is_loopback(address);
    return 0;
}

int wl_serve_base_path(const char *given, char **base, struct wl_arena *a, struct wl_err *e)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~/";
    enum { LONGEST = 200 };
    if (strspn(given, plain) != strlen(given) || strstr(given, "//") || strstr(given, "..") || strlen(given) > LONGEST)
        return wl_fail(e, WL_EUSAGE, "--base-path %s: expected a path such as /wattlaw, of letters, digits and -._~/",
                       given);
    size_t n = strlen(given);
    while (n > 0 && given[n - 1] == '/') n--;
    const char *path = *given == '/' ? given + 1 : given;
    n -= n > 0 && *given == '/';
    *base = wl_strf(a, "/%.*s", (int)n, path);
    return 0;
}

int wl_serve_read_token(const char *path, char **token, struct wl_arena *a, struct wl_err *e)
{
    return wl_access_read_token(path, token, a, e);
}

const char *wl_serve_series_unit(bool counter, const char *unit, struct wl_arena *a)
{
    if (!counter) return unit;
    return wl_str_eq(unit, "J") ? "W" : wl_strf(a, "%s/s", unit);
}
