#include "base/json.h"

#include "base/atomic_file.h"
#include "base/file.h"
#include "base/out.h"
#include "base/printable.h"
#include "base/str.h"
#include "base/utf8.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static json_t *J(const struct wl_json *v) { return (json_t *)v; }
static struct wl_json *W(json_t *v) { return (struct wl_json *)v; }

static void release(void *v) { json_decref(v); }

static struct wl_json *root(struct wl_arena *a, json_t *v)
{
    WL_CHECK(v);
    wl_defer(a, release, v);
    return W(v);
}

struct wl_json *wl_json_root_object(struct wl_arena *a) { return root(a, json_object()); }
struct wl_json *wl_json_root_array(struct wl_arena *a) { return root(a, json_array()); }

static bool is_valid(const char *text)
{
    for (size_t n; (n = wl_utf8_length(text)) > 0; text += n) {
    }
    return *text == '\0';
}

/* A copy with invalid UTF-8 bytes replaced by U+FFFD; the caller frees it. */
static char *valid_copy(const char *text)
{
    static const char replacement[] = "\xef\xbf\xbd";
    char *clean = malloc(strlen(replacement) * strlen(text) + 1), *w = clean;
    WL_CHECK(clean);
    while (*text) {
        size_t n = wl_utf8_length(text);
        w = mempcpy(w, n ? text : replacement, n ? n : strlen(replacement));
        text += n ? n : 1;
    }
    *w = '\0';
    return clean;
}

static int set_member(json_t *object, const char *key, json_t *v)
{
    if (is_valid(key)) return json_object_set_new_nocheck(object, key, v);
    char *clean = valid_copy(key); /* one invalid key would make json_dumps fail for the whole text */
    int rc = json_object_set_new_nocheck(object, clean, v);
    free(clean);
    return rc;
}

static struct wl_json *add(struct wl_json *parent, const char *key, json_t *v)
{
    WL_CHECK(v);
    int rc = json_is_object(J(parent)) ? set_member(J(parent), key, v) : json_array_append_new(J(parent), v);
    WL_CHECK(rc == 0);
    return W(v);
}

struct wl_json *wl_json_add_object(struct wl_json *p, const char *key) { return add(p, key, json_object()); }
struct wl_json *wl_json_add_array(struct wl_json *p, const char *key) { return add(p, key, json_array()); }
void wl_json_add_int(struct wl_json *p, const char *key, int64_t v) { add(p, key, json_integer(v)); }
void wl_json_add_bool(struct wl_json *p, const char *key, bool v) { add(p, key, json_boolean(v)); }
void wl_json_add_null(struct wl_json *p, const char *key) { add(p, key, json_null()); }
void wl_json_add_value(struct wl_json *p, const char *key, const struct wl_json *v) { add(p, key, json_incref(J(v))); }

void wl_json_add_real(struct wl_json *p, const char *key, double v)
{
    add(p, key, isfinite(v) ? json_real(v) : json_null());
}

void wl_json_add_number(struct wl_json *p, const char *key, double v)
{
    if (v == floor(v) && fabs(v) < 0x1p53)
        wl_json_add_int(p, key, (int64_t)v);
    else
        wl_json_add_real(p, key, v);
}

static json_t *string_of_bytes(const char *text)
{
    json_t *v = json_string(text);
    if (v) return v;
    char *clean = valid_copy(text);
    v = json_string(clean);
    free(clean);
    return v;
}

void wl_json_add_str(struct wl_json *p, const char *key, const char *v)
{
    add(p, key, v ? string_of_bytes(v) : json_null());
}

static size_t flags(int indent) { return JSON_ENCODE_ANY | JSON_INDENT((size_t)indent) | JSON_REAL_PRECISION(17); }

static char *text_of(const struct wl_json *v, size_t flags, struct wl_arena *a)
{
    char *s = json_dumps(J(v), flags);
    WL_CHECK(s);
    char *copy = wl_strdup(a, s);
    free(s);
    return copy;
}

char *wl_json_text(const struct wl_json *v, int indent, struct wl_arena *a) { return text_of(v, flags(indent), a); }

char *wl_json_text_to_draw(const struct wl_json *v, struct wl_arena *a)
{
    return text_of(v, JSON_ENCODE_ANY | JSON_COMPACT | JSON_REAL_PRECISION(6), a);
}

/* JSON outside of strings is ASCII; inside, control characters are already escaped, except DEL and C1. */
const char *wl_json_printable(const char *text, struct wl_arena *a)
{
    struct wl_text t = WL_TEXT(a);
    for (size_t n; *text; text += n) {
        n = strcspn(text, "\x7f\xc2\xd8\xe1\xe2\xef\xf3"); /* first bytes of the others */
        wl_text_addn(&t, text, n);
        text += n;
        n = wl_utf8_length(text);
        const uint32_t c = n ? wl_utf8_decode(text, n) : 0;
        if (n == 0 || wl_is_printable(c))
            wl_text_addn(&t, text, n);
        else if (c < 0x10000)
            wl_text_addf(&t, "\\u%04x", (unsigned)c);
        else
            wl_text_addf(&t, "\\u%04x\\u%04x", (unsigned)(0xd7c0 + (c >> 10)), (unsigned)(0xdc00 + (c & 0x3ff)));
    }
    return t.s;
}

void wl_json_print(const struct wl_json *v)
{
    struct wl_arena *a = wl_arena_new(NULL);
    fputs(wl_json_printable(wl_json_text(v, 2, a), a), wl_out_data());
    fputc('\n', wl_out_data());
    wl_arena_free(a);
}

void wl_json_print_line(const struct wl_json *v)
{
    struct wl_arena *a = wl_arena_new(NULL);
    fputs(wl_json_printable(wl_json_text(v, 0, a), a), wl_out_data());
    fputc('\n', wl_out_data());
    wl_arena_free(a);
}

/* ---- streams ---- */

struct stream {
    const json_t *at; /* an empty array of the tree */
    size_t n;
    wl_json_element *element;
    const void *ctx;
};
struct wl_json_streams {
    struct stream *v;
    size_t n, cap;
    struct wl_arena *a;
};

struct wl_json_streams *wl_json_streams_new(struct wl_arena *a)
{
    struct wl_json_streams *s = wl_new(a, struct wl_json_streams);
    s->a = a;
    return s;
}

void wl_json_add_stream(struct wl_json_streams *s, struct wl_json *parent, const char *key, size_t n,
                        wl_json_element *element, const void *ctx)
{
    const struct stream added = { J(wl_json_add_array(parent, key)), n, element, ctx };
    if (s->n == s->cap) {
        struct stream *grown = wl_new_array(s->a, struct stream, 2 * s->cap + 1);
        if (s->n) memcpy(grown, s->v, s->n * sizeof *grown);
        s->v = grown;
        s->cap = 2 * s->cap + 1;
    }
    s->v[s->n++] = added;
}

struct printer {
    const struct stream *next, *end;
    FILE *to;
};

enum { INDENT = 2 };

static void start_line(const struct printer *p, int depth) { fprintf(p->to, "\n%*s", INDENT * depth, ""); }

/* A value without streams; what follows a line break is indented. */
static void print_text(const struct printer *p, const json_t *v, int depth)
{
    struct wl_arena *a = wl_arena_new(NULL);
    const char *text = wl_json_printable(wl_json_text(W((json_t *)v), INDENT, a), a);
    for (const char *end; (end = strchr(text, '\n')); text = end + 1) {
        fwrite(text, 1, (size_t)(end - text), p->to);
        start_line(p, depth);
    }
    fputs(text, p->to);
    wl_arena_free(a);
}

static void print_elements(const struct printer *p, const struct stream *s, int depth)
{
    fputc('[', p->to);
    for (size_t i = 0; i < s->n; i++) {
        struct wl_arena *a = wl_arena_new(NULL);
        if (i) fputc(',', p->to);
        start_line(p, depth + 1);
        print_text(p, J(s->element(s->ctx, i, a)), depth + 1);
        wl_arena_free(a);
    }
    if (s->n) start_line(p, depth);
    fputc(']', p->to);
}

static void print_value(struct printer *p, json_t *v, int depth);

static void print_members(struct printer *p, json_t *v, int depth)
{
    const char *key, *separator = "";
    json_t *member;
    fputc('{', p->to);
    json_object_foreach(v, key, member)
    {
        json_t *name = json_string_nocheck(key);
        fputs(separator, p->to);
        start_line(p, depth + 1);
        print_text(p, name, depth + 1);
        json_decref(name);
        fputs(": ", p->to);
        print_value(p, member, depth + 1);
        separator = ",";
    }
    start_line(p, depth);
    fputc('}', p->to);
}

static void print_value(struct printer *p, json_t *v, int depth)
{
    if (p->next < p->end && v == p->next->at) {
        print_elements(p, p->next++, depth);
    } else if (json_object_size(v)) {
        print_members(p, v, depth);
    } else if (json_array_size(v)) {
        fputc('[', p->to);
        for (size_t i = 0; i < json_array_size(v); i++) {
            if (i) fputc(',', p->to);
            start_line(p, depth + 1);
            print_value(p, json_array_get(v, i), depth + 1);
        }
        start_line(p, depth);
        fputc(']', p->to);
    } else {
        print_text(p, v, depth);
    }
}

void wl_json_print_streams(const struct wl_json *v, const struct wl_json_streams *s)
{
    struct printer p = { s->v, s->v + s->n, wl_out_data() };
    print_value(&p, J(v), 0);
    fputc('\n', p.to);
    WL_CHECK(p.next == p.end);
}

int wl_json_write(const struct wl_json *v, const char *path, struct wl_arena *a, struct wl_err *e)
{
    const char *text = wl_strf(a, "%s\n", wl_json_printable(wl_json_text(v, 2, a), a));
    return wl_file_write_user(path, text, strlen(text), e);
}

int wl_json_parse(const char *text, const char *what, struct wl_json **out, struct wl_arena *a, struct wl_err *e)
{
    json_error_t je;
    json_t *v = json_loads(text, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &je);
    if (!v) return wl_fail(e, WL_EINVAL, "%s:%d:%d: %s", what, je.line, je.column, je.text);
    *out = root(a, v);
    return 0;
}

const struct wl_json *wl_json_get(const struct wl_json *o, const char *key) { return W(json_object_get(J(o), key)); }

const char *wl_json_key(const struct wl_json *v, const char *after)
{
    void *at = after ? json_object_iter_next(J(v), json_object_key_to_iter(after)) : json_object_iter(J(v));
    return at ? json_object_iter_key(at) : NULL;
}

const struct wl_json *wl_json_at(const struct wl_json *v, size_t i) { return W(json_array_get(J(v), i)); }
bool wl_json_is_object(const struct wl_json *v) { return json_is_object(J(v)); }
const char *wl_json_str(const struct wl_json *v) { return json_string_value(J(v)); }

size_t wl_json_size(const struct wl_json *v)
{
    return json_is_array(J(v)) ? json_array_size(J(v)) : json_object_size(J(v));
}

double wl_json_real(const struct wl_json *v) { return json_is_number(J(v)) ? json_number_value(J(v)) : NAN; }

int64_t wl_json_int(const struct wl_json *v, int64_t fallback)
{
    return json_is_integer(J(v)) ? json_integer_value(J(v)) : fallback;
}

bool wl_json_bool(const struct wl_json *v, bool fallback)
{
    return json_is_boolean(J(v)) ? json_boolean_value(J(v)) : fallback;
}
