/* Text that came from people, files and other programs, made harmless for each place where it is shown. */
#include "report/report.h"

#include <string.h>

/* Length of the UTF-8 character at s, or 0 where the bytes are none (RFC 3629: no overlong forms, no surrogates). */
static size_t utf8_length(const char *text)
{
    const unsigned char *s = (const unsigned char *)text;
    if (s[0] < 0x80) return s[0] != 0;
    size_t n = s[0] >= 0xf0 ? 4 : s[0] >= 0xe0 ? 3 : 2;
    if (s[0] < 0xc2 || s[0] > 0xf4) return 0;
    for (size_t i = 1; i < n; i++) {
        if ((s[i] & 0xc0) != 0x80) return 0;
    }
    if (s[0] == 0xe0 && s[1] < 0xa0) return 0;
    if (s[0] == 0xed && s[1] > 0x9f) return 0;
    if (s[0] == 0xf0 && s[1] < 0x90) return 0;
    if (s[0] == 0xf4 && s[1] > 0x8f) return 0;
    return n;
}

/* What stands for the ASCII character c, or NULL where it stands for itself. */
typedef const char *replace_fn(char c);

static void put(struct wl_text *to, const char *s, replace_fn *replace)
{
    while (s && *s) {
        size_t n = utf8_length(s);
        if (n == 0) {
            wl_text_add(to, "\xef\xbf\xbd");
            s++;
            continue;
        }
        const char *other = n == 1 ? replace(*s) : NULL;
        if (other)
            wl_text_add(to, other);
        else
            wl_text_addn(to, s, n);
        s += n;
    }
}

static bool is_control(char c) { return (unsigned char)c < 0x20 || c == 0x7f; }

static const char *html(char c)
{
    switch (c) {
    case '&': return "&amp;";
    case '<': return "&lt;";
    case '>': return "&gt;";
    case '"': return "&quot;";
    case '\'': return "&#39;";
    case '\n': return NULL;
    default: return is_control(c) ? " " : NULL;
    }
}

static const char *latex(char c)
{
    switch (c) {
    case '\\': return "\\textbackslash{}";
    case '{': return "\\{";
    case '}': return "\\}";
    case '$': return "\\$";
    case '&': return "\\&";
    case '#': return "\\#";
    case '%': return "\\%";
    case '_': return "\\_";
    case '^': return "\\textasciicircum{}";
    case '~': return "\\textasciitilde{}";
    case '<': return "\\textless{}";
    case '>': return "\\textgreater{}";
    case '|': return "\\textbar{}";
    case '"': return "\\textquotedbl{}";
    case '[': return "{[}"; /* behind \\ a bracket would be read as its option */
    case ']': return "{]}";
    default: return is_control(c) ? " " : NULL;
    }
}

static const char *markdown(char c)
{
    switch (c) {
    case '\\': return "\\\\";
    case '|': return "\\|";
    case '*': return "\\*";
    case '_': return "\\_";
    case '`': return "\\`";
    case '[': return "\\[";
    case ']': return "\\]";
    case '~': return "\\~";
    case '#': return "\\#";
    case '$': return "\\$";
    case '&': return "&amp;";
    case '<': return "&lt;";
    case '>': return "&gt;";
    default: return is_control(c) ? " " : NULL;
    }
}

/* Single quotes: gnuplot expands neither backslashes nor `commands` inside them; a quote is written twice. */
static const char *gnuplot(char c)
{
    if (c == '\'') return "''";
    return is_control(c) ? " " : NULL;
}

void wl_put_html(struct wl_text *to, const char *s) { put(to, s, html); }

void wl_put_latex(struct wl_text *to, const char *s) { put(to, s, latex); }

void wl_put_markdown(struct wl_text *to, const char *s) { put(to, s, markdown); }

void wl_put_gnuplot(struct wl_text *to, const char *s)
{
    wl_text_add(to, "'");
    put(to, s, gnuplot);
    wl_text_add(to, "'");
}

/* In JSON the characters <, > and & stand only inside strings, where \u forms mean the same: so no "</script" and no
 * "<!--" can appear. */
static const char *script_json(char c)
{
    switch (c) {
    case '<': return "\\u003c";
    case '>': return "\\u003e";
    case '&': return "\\u0026";
    default: return NULL;
    }
}

void wl_put_script_json(struct wl_text *to, const char *json) { put(to, json, script_json); }
