#include "base/ini.h"

#include "base/file.h"

#include <ctype.h>
#include <ini.h>
#include <string.h>

enum { MAX_BYTES = 1 << 20 };

/* Debian's libinih gives no line number to its handler, so lines are counted where libinih reads them: the handler runs
 * right after its line was read. libinih's buffer holds 200 bytes; a longer line is handed over in pieces that look
 * like continuation lines, which the handler joins without a blank. */
struct parse {
    const char *text;
    const char *rest, *rest_end; /* rest of a long line to be handed over; NULL: none */
    bool glued;                  /* the last piece continues the one before */
    int line;
    int *line_of; /* per call of next_line */
    size_t n_calls, cap_calls;
    struct wl_ini *ini;
    struct wl_arena *a;
    struct wl_err *e;
    int rc;
};

static bool blank(char c) { return isspace((unsigned char)c); }

/* The end of a line for libinih: its comment, which is cut off here so that no piece starts with one. */
static const char *without_comment(const char *s, const char *end)
{
    const char *c = s;
    while (c < end && blank(*c)) c++;
    if (c < end && (*c == '#' || *c == ';')) return c;
    for (; c < end; c++)
        if (*c == ';' && c > s && blank(c[-1])) return c;
    return end;
}

/* The length of the longest piece that ends between two characters which libinih does not interpret. */
static size_t piece_length(const char *s, const char *end, size_t max)
{
    if ((size_t)(end - s) <= max) return (size_t)(end - s);
    size_t n = max;
    while (n > 1 && (blank(s[n - 1]) || blank(s[n]) || s[n] == '#' || s[n] == ';')) n--;
    return n;
}

static char *next_line(char *buf, int size, void *user)
{
    struct parse *p = user;
    if (p->rc || (!p->rest && !*p->text)) return NULL;
    p->glued = p->rest != NULL;
    if (!p->rest) {
        size_t n = strcspn(p->text, "\n");
        p->line++;
        p->rest = p->text;
        p->rest_end = p->text + n;
        p->text += n + (p->text[n] == '\n');
        if (n + 3 > (size_t)size) p->rest_end = without_comment(p->rest, p->rest_end);
    }
    WL_GROW(p->a, p->line_of, p->n_calls, p->cap_calls);
    p->line_of[p->n_calls++] = p->line;
    size_t n = piece_length(p->rest, p->rest_end, (size_t)size - 4);
    if (p->glued) *buf = ' ';
    memcpy(buf + p->glued, p->rest, n);
    memcpy(buf + p->glued + n, "\n", 2);
    p->rest += n;
    if (p->rest == p->rest_end) p->rest = NULL;
    return buf;
}

static struct wl_ini_section *section_of(struct parse *p, const char *name)
{
    struct wl_ini *ini = p->ini;
    for (size_t i = 0; i < ini->n; i++)
        if (strcmp(ini->v[i].name, name) == 0) return &ini->v[i];
    WL_GROW(p->a, ini->v, ini->n, ini->cap);
    ini->v[ini->n] = (struct wl_ini_section) { .name = wl_strdup(p->a, name), .line = p->line };
    return &ini->v[ini->n++];
}

static int on_entry(void *user, const char *section, const char *key, const char *value)
{
    struct parse *p = user;
    if (p->rc) return 0;
    struct wl_ini_section *s = section_of(p, section);
    struct wl_ini_entry *last = s->n ? &s->v[s->n - 1] : NULL;
    if (last && p->glued) {
        last->value = wl_strf(p->a, "%s%s", last->value, value);
        return 1;
    }
    if (last && strcmp(last->key, key) == 0 && last->line < p->line) {
        /* libinih repeats the key for an indented continuation line; a real repetition is not indented */
        const char *start = p->text - 1;
        while (start > p->ini->text && start[-1] != '\n') start--;
        if (isspace((unsigned char)*start)) {
            last->value = wl_strf(p->a, "%s %s", last->value, value);
            return 1;
        }
    }
    for (size_t i = 0; i < s->n; i++)
        if (strcmp(s->v[i].key, key) == 0) {
            p->rc = wl_fail(p->e, WL_EINVAL, "%s:%d: duplicate key %s in [%s] (first on line %d)", p->ini->path,
                            p->line, key, section, s->v[i].line);
            return 0;
        }
    WL_GROW(p->a, s->v, s->n, s->cap);
    s->v[s->n++] = (struct wl_ini_entry) { wl_strdup(p->a, key), wl_strdup(p->a, value), p->line };
    return 1;
}

/* The text of one line, for messages. */
static char *line_text(struct wl_arena *a, const char *text, int line)
{
    while (--line > 0 && (text = strchr(text, '\n'))) text++;
    return text ? wl_str_strip(a, wl_strndup(a, text, strcspn(text, "\n") < 80 ? strcspn(text, "\n") : 80))
                : wl_strdup(a, "");
}

int wl_ini_parse(const char *path, const char *text, struct wl_ini *out, struct wl_arena *a, struct wl_err *e)
{
    *out = (struct wl_ini) { .path = wl_strdup(a, path), .text = wl_strdup(a, text) };
    struct parse p = { .text = out->text, .ini = out, .a = a, .e = e };
    int bad = ini_parse_stream(next_line, &p, on_entry, &p);
    if (p.rc) return p.rc;
    if (bad > 0) {
        bad = p.line_of[bad - 1];
        return wl_fail(e, WL_EINVAL, "%s:%d: expected [section] or key = value, found: %s", path, bad,
                       line_text(a, out->text, bad));
    }
    if (bad < 0) return wl_fail(e, WL_ENOMEM, "%s: no memory", path);
    return 0;
}

int wl_ini_read(const char *path, struct wl_ini *out, struct wl_arena *a, struct wl_err *e)
{
    char *text;
    size_t n;
    int rc = wl_file_read(path, MAX_BYTES, &text, &n, a, e);
    if (rc) return rc;
    if (strlen(text) != n) return wl_fail(e, WL_EINVAL, "%s: not a text file (NUL byte at %zu)", path, strlen(text));
    return wl_ini_parse(path, text, out, a, e);
}

const struct wl_ini_section *wl_ini_section(const struct wl_ini *ini, const char *name)
{
    for (size_t i = 0; i < ini->n; i++)
        if (strcmp(ini->v[i].name, name) == 0) return &ini->v[i];
    return NULL;
}

int wl_ini_apply(const struct wl_ini *ini, const char *section, const struct wl_opt *rows, void *out,
                 struct wl_arena *a, struct wl_err *e)
{
    const struct wl_ini_section *s = wl_ini_section(ini, section);
    for (size_t i = 0; s && i < s->n; i++) {
        int rc = wl_opts_set(rows, out, s->v[i].key, s->v[i].value, wl_strf(a, "%s:%d", ini->path, s->v[i].line), a, e);
        if (rc) return rc;
    }
    return 0;
}

int wl_ini_known_sections(const struct wl_ini *ini, const char *const *names, size_t n, struct wl_err *e)
{
    for (size_t i = 0; i < ini->n; i++) {
        const struct wl_ini_section *s = &ini->v[i];
        bool known = false;
        for (size_t k = 0; k < n; k++) known |= strcmp(s->name, names[k]) == 0;
        if (known) continue;
        if (!*s->name) return wl_fail(e, WL_EINVAL, "%s:%d: key before the first [section]", ini->path, s->line);
        const char *near = wl_str_closest(s->name, names, n);
        return near ? wl_fail(e, WL_EINVAL, "%s:%d: unknown section [%s]; did you mean [%s]?", ini->path, s->line,
                              s->name, near)
                    : wl_fail(e, WL_EINVAL, "%s:%d: unknown section [%s]", ini->path, s->line, s->name);
    }
    return 0;
}
