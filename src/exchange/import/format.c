/* Which format a file has. */
#include "exchange/import/format.h"

#include <string.h>

const char *wl_import_head_line(const struct wl_import_head *h, struct wl_arena *a)
{
    const char *p = h->text, *end = h->text + h->n;
    while (p < end) {
        const char *nl = memchr(p, '\n', (size_t)(end - p)), *stop = nl ? nl : end;
        size_t blanks = strspn(p, " \t\r");
        if (p + blanks < stop && p[blanks] != '#') {
            while (stop > p && (stop[-1] == '\r' || stop[-1] == ' ')) stop--;
            return wl_strndup(a, p, (size_t)(stop - p));
        }
        p = nl ? nl + 1 : end;
    }
    return NULL;
}

char wl_import_separator(const char *line)
{
    static const char separators[] = ",;\t|";
    size_t count[sizeof separators] = { 0 }, best = 0;
    for (bool quoted = false; *line; line++) {
        quoted ^= *line == '"';
        const char *found = quoted ? NULL : strchr(separators, *line);
        if (found) count[found - separators]++;
    }
    for (size_t i = 1; separators[i]; i++)
        if (count[i] > count[best]) best = i;
    return separators[best];
}

bool wl_import_head_has(const struct wl_import_head *h, const char *text)
{
    return memmem(h->text, h->n, text, strlen(text)) != NULL;
}

int wl_import_format_named(const char *name, const struct wl_import_format **out, struct wl_err *e)
{
    struct wl_arena *a = wl_arena_new(NULL);
    struct wl_text all = WL_TEXT(a);
    struct wl_strs names = { 0 };
    for (size_t i = 0; wl_import_formats[i]; i++) {
        if (wl_str_eq(wl_import_formats[i]->name, name)) {
            *out = wl_import_formats[i];
            wl_arena_free(a);
            return 0;
        }
        wl_strs_add(a, &names, wl_import_formats[i]->name);
        wl_text_addf(&all, "%s%s", i ? ", " : "", wl_import_formats[i]->name);
    }
    const char *meant = wl_str_closest(name, (const char *const *)names.v, names.n);
    int rc = meant ? wl_fail(e, WL_EUSAGE, "--as %s: no such format; did you mean %s?", name, meant)
                   : wl_fail(e, WL_EUSAGE, "--as %s: no such format; expected one of %s", name, all.s);
    wl_arena_free(a);
    return rc;
}

int wl_import_recognise(const struct wl_import_head *h, const struct wl_import_format **out, struct wl_arena *a,
                        struct wl_err *e)
{
    struct wl_text names = WL_TEXT(a);
    size_t n = 0;
    if (h->n == 0) return wl_fail(e, WL_EINVAL, "%s: the file is empty", h->path);
    for (size_t i = 0; wl_import_refusals[i].recognise; i++)
        if (wl_import_refusals[i].recognise(h, a))
            return wl_fail(e, WL_EINVAL, "%s: %s", h->path, wl_import_refusals[i].why);
    for (size_t i = 0; wl_import_formats[i]; i++) {
        if ((wl_import_formats[i]->generic && n) || !wl_import_formats[i]->recognise(h, a)) continue;
        *out = wl_import_formats[i];
        wl_text_addf(&names, "%s%s", n++ ? ", " : "", wl_import_formats[i]->name);
    }
    if (n > 1) return wl_fail(e, WL_EINVAL, "%s: may be any of %s: give --as NAME", h->path, names.s);
    return n ? 0 : wl_import_fail_unknown(h, a, e);
}
