#include "base/opt.h"

#include "base/opt_value.h"

#include <stdio.h>
#include <string.h>

/* '_' and '-' are equal in names. */
static bool same_name(const char *a, const char *b)
{
    for (; *a && *b; a++, b++)
        if (*a != *b && !((*a == '-' || *a == '_') && (*b == '-' || *b == '_'))) return false;
    return *a == *b;
}

const struct wl_opt *wl_opts_find(const struct wl_opt *rows, const char *name)
{
    for (; rows->name; rows++)
        if (same_name(rows->name, name)) return rows;
    return NULL;
}

size_t wl_opts_count(const struct wl_opt *rows)
{
    size_t n = 0;
    while (rows[n].name) n++;
    return n;
}

const struct wl_opt *wl_opts_join(const struct wl_opt *first, const struct wl_opt *second, struct wl_arena *a)
{
    const size_t n = wl_opts_count(first), m = wl_opts_count(second);
    struct wl_opt *rows = wl_new_array(a, struct wl_opt, n + m + 1); /* zeroed: the last ends the table */
    memcpy(rows, first, n * sizeof *rows);
    memcpy(rows + n, second, m * sizeof *rows);
    return rows;
}

void wl_opts_default(const struct wl_opt *rows, void *out, struct wl_arena *a)
{
    for (const struct wl_opt *o = rows; o->name; o++) {
        wl_opt_clear(o, out);
        WL_CHECK(!o->def || wl_opt_set(o, out, o->def, false, a));
    }
}

static char *ini_name(struct wl_arena *a, const struct wl_opt *o)
{
    char *s = wl_strdup(a, o->name);
    for (char *p = s; *p; p++)
        if (*p == '-') *p = '_';
    return s;
}

int wl_opt_unknown(const struct wl_opt *rows, const char *name, const char *where, const char *dashes, int code,
                   struct wl_err *e)
{
    enum { MAX = 256 };
    const char *names[MAX];
    size_t n = 0;
    for (const struct wl_opt *o = rows; o->name && n < MAX; o++) names[n++] = o->name;
    char word[64]; /* compared in the spelling of the table */
    size_t i = 0;
    for (; name[i] && i < sizeof word - 1; i++) word[i] = name[i] == '_' ? '-' : name[i];
    word[i] = '\0';
    const char *near = wl_str_closest(word, names, n);
    if (!near) return wl_fail(e, code, "%sunknown %s %s%s", where, *dashes ? "option" : "key", dashes, name);
    char shown[64]; /* and suggested in the spelling of the place */
    snprintf(shown, sizeof shown, "%s", near);
    if (!*dashes)
        for (char *p = shown; *p; p++)
            if (*p == '-') *p = '_';
    return wl_fail(e, code, "%sunknown %s %s%s; did you mean %s%s?", where, *dashes ? "option" : "key", dashes, name,
                   dashes, shown);
}

int wl_opts_set(const struct wl_opt *rows, void *out, const char *name, const char *value, const char *where,
                struct wl_arena *a, struct wl_err *e)
{
    char *at = wl_strf(a, "%s: ", where);
    const struct wl_opt *o = wl_opts_find(rows, name);
    if (!o) return wl_opt_unknown(rows, name, at, "", WL_EINVAL, e);
    if (!wl_opt_set(o, out, value, false, a))
        return wl_fail(e, WL_EINVAL, "%s%s = %s: expected %s", at, ini_name(a, o), *value ? value : "(empty)",
                       wl_opt_expected(o, a));
    return 0;
}

static const void *cfield(const struct wl_opt *o, const void *in) { return (const char *)in + o->offset; }

void wl_opts_json(const struct wl_opt *rows, const void *in, struct wl_json *object)
{
    struct wl_arena *a = wl_arena_new(NULL);
    for (const struct wl_opt *o = rows; o->name; o++) {
        const void *f = cfield(o, in);
        const char *key = ini_name(a, o);
        struct wl_json *list;
        switch (o->type) {
        case WL_FLAG: wl_json_add_bool(object, key, *(const bool *)f); break;
        case WL_INT: wl_json_add_int(object, key, *(const int64_t *)f); break;
        case WL_REAL:
        case WL_DURATION: wl_json_add_real(object, key, *(const double *)f); break;
        case WL_STR:
        case WL_CHOICE: wl_json_add_str(object, key, *(const char *const *)f); break;
        case WL_INTS:
            list = wl_json_add_array(object, key);
            for (size_t i = 0; i < ((const struct wl_ints *)f)->n; i++)
                wl_json_add_int(list, NULL, ((const struct wl_ints *)f)->v[i]);
            break;
        case WL_REALS:
            list = wl_json_add_array(object, key);
            for (size_t i = 0; i < ((const struct wl_reals *)f)->n; i++)
                wl_json_add_real(list, NULL, ((const struct wl_reals *)f)->v[i]);
            break;
        case WL_STRS:
        case WL_LINES:
            list = wl_json_add_array(object, key);
            for (size_t i = 0; i < ((const struct wl_strs *)f)->n; i++)
                wl_json_add_str(list, NULL, ((const struct wl_strs *)f)->v[i]);
            break;
        }
    }
    wl_arena_free(a);
}

/* True if the field has its row's default. A duration has several spellings. */
static bool is_default(const struct wl_opt *o, const void *f, const char *text)
{
    double s;
    if (!o->def) return o->type == WL_FLAG && !*(const bool *)f;
    if (o->type == WL_DURATION) return wl_str_to_duration(o->def, &s) == 0 && s == *(const double *)f;
    return wl_str_eq(text, o->def);
}

void wl_opts_argv(const struct wl_opt *rows, const void *in, struct wl_strs *to, struct wl_arena *a)
{
    for (const struct wl_opt *o = rows; o->name; o++) {
        const void *f = cfield(o, in);
        const char *v = wl_opt_text(o, in, a);
        if (!v || is_default(o, f, v)) continue;
        if (o->type == WL_FLAG) {
            wl_strs_add(a, to, wl_strf(a, "--%s%s", *(const bool *)f ? "" : "no-", o->name));
            continue;
        }
        const struct wl_strs *lines = f, one = { .v = (char *[]) { (char *)v }, .n = 1 };
        const struct wl_strs *values = o->type == WL_LINES ? lines : &one;
        for (size_t i = 0; i < values->n; i++) {
            const bool ends = wl_str_eq(values->v[i], "--"); /* as a separate word it would end the options */
            wl_strs_add(a, to, wl_strf(a, ends ? "--%s=%s" : "--%s", o->name, values->v[i]));
            if (!ends) wl_strs_add(a, to, values->v[i]);
        }
    }
}

void wl_opts_ini(const struct wl_opt *rows, const void *in, struct wl_text *to)
{
    struct wl_arena *a = wl_arena_new(NULL);
    for (const struct wl_opt *o = rows; o->name; o++) {
        const char *v = wl_opt_text(o, in, a);
        if (v) wl_text_addf(to, "%s = %s\n", ini_name(a, o), v);
    }
    wl_arena_free(a);
}
