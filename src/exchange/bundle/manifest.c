/* Names and checksums of the files of a bundle. */
#include "exchange/bundle/bundle.h"

#include "base/sha256.h"

#include <string.h>

static bool is_safe_part(const char *part, size_t n)
{
    return n && !(n == 1 && part[0] == '.') && !(n == 2 && part[0] == '.' && part[1] == '.');
}

bool wl_bundle_name_is_safe(const char *name)
{
    for (const char *p = name; *p; p++)
        if (*p < ' ' || *p > '~' || *p == '\\' || *p == ':') return false;
    for (const char *part = name;; part++) {
        const size_t n = strcspn(part, "/");
        if (!is_safe_part(part, n)) return false;
        part += n;
        if (!*part) return true;
    }
}

static bool is_sum(const char *text, size_t n)
{
    return n == WL_SHA256_TEXT - 1 && strspn(text, "0123456789abcdef") >= n;
}

/* "SUM  NAME" */
static int read_line(const char *line, struct wl_bundle_sum *out, struct wl_arena *a)
{
    const char *blank = strchr(line, ' ');
    if (!blank || !is_sum(line, (size_t)(blank - line)) || blank[1] != ' ' || !wl_bundle_name_is_safe(blank + 2))
        return -1;
    out->sha256 = wl_strndup(a, line, (size_t)(blank - line));
    out->name = wl_strdup(a, blank + 2);
    return 0;
}

int wl_bundle_sums_read(const char *text, const char *what, struct wl_bundle_sums *out, struct wl_arena *a,
                        struct wl_err *e)
{
    *out = (struct wl_bundle_sums) { 0 };
    for (int number = 1; *text; number++) {
        const char *end = strchr(text, '\n');
        struct wl_bundle_sum sum;
        if (!end || read_line(wl_strndup(a, text, (size_t)(end - text)), &sum, a))
            return wl_fail(e, WL_EINVAL, "%s:%d: expected a SHA-256, two blanks and the name of a file", what, number);
        if (out->n && strcmp(out->v[out->n - 1].name, sum.name) >= 0)
            return wl_fail(e, WL_EINVAL, "%s:%d: %s is not in the order of names, or is there twice", what, number,
                           sum.name);
        WL_GROW(a, out->v, out->n, out->cap);
        out->v[out->n++] = sum;
        text = end + 1;
    }
    return 0;
}
