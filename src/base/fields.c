#include "base/fields.h"

#include <string.h>

const char *wl_field(const struct wl_strs *fields, const char *name)
{
    const size_t n = strlen(name);
    for (size_t i = 0; i < fields->n; i++)
        if (strncmp(fields->v[i], name, n) == 0 && fields->v[i][n] == '=') return fields->v[i] + n + 1;
    return NULL;
}

static int unknown(const char *name, const char *const *known, size_t n, const char *what, struct wl_err *e)
{
    const char *near = wl_str_closest(name, known, n);
    if (n == 0) return wl_fail(e, WL_EUSAGE, "--field %s: %s has no fields to give", name, what);
    return wl_fail(e, WL_EUSAGE, "--field %s: %s has no such field%s%s%s", name, what, near ? "; did you mean " : "",
                   near ? near : "", near ? "?" : "");
}

int wl_fields_check(const struct wl_strs *fields, const char *const *known, const char *what, struct wl_err *e)
{
    struct wl_arena *a = wl_arena_new(NULL);
    size_t n = 0;
    int rc = 0;
    while (known[n]) n++;
    for (size_t i = 0; rc == 0 && i < fields->n; i++) {
        const char *equals = strchr(fields->v[i], '=');
        const char *name = equals ? wl_strndup(a, fields->v[i], (size_t)(equals - fields->v[i])) : NULL;
        bool found = false;
        for (size_t k = 0; name && k < n; k++) found = found || strcmp(known[k], name) == 0;
        if (!equals || equals == fields->v[i] || !equals[1])
            rc = wl_fail(e, WL_EUSAGE, "--field %s: expected NAME=VALUE", fields->v[i]);
        else if (!found)
            rc = unknown(name, known, n, what, e);
    }
    wl_arena_free(a);
    return rc;
}
