#include "report/escape.h"

#include <ctype.h>
#include <string.h>

/* The replacement of the ASCII character c, or NULL where it is kept. */
typedef const char *replace_fn(char c);

/* Beyond ASCII: what a terminal may not be sent (base/printable.h) would reorder or hide the text next to it on a
 * page and in a picture, too. */
static bool is_shown(const char *s, size_t n) { return n == 1 || (n > 1 && wl_is_printable(wl_utf8_decode(s, n))); }

static void put(struct wl_text *to, const char *s, replace_fn *replace)
{
    const char *from = s; /* of what is kept as it is */
    while (s && *s) {
        const size_t n = (unsigned char)*s < 0x80 ? 1 : wl_utf8_length(s);
        const char *other = !is_shown(s, n) ? "\xef\xbf\xbd" : n == 1 ? replace(*s) : NULL;
        if (other) {
            wl_text_addn(to, from, (size_t)(s - from));
            wl_text_add(to, other);
            from = s + (n ? n : 1);
        }
        s += n ? n : 1;
    }
    if (from) wl_text_addn(to, from, (size_t)(s - from));
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
    case '[': return "{[}"; /* after \\ a bracket would be read as its option */
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

void wl_escape_html(struct wl_text *to, const char *s) { put(to, s, html); }

/* Does `s`, a blank after a number, begin with a unit? "8.3 % more", "200 W" */
static bool unit_follows(const char *s)
{
    static const char *const units[] = { "%",  "W",   "kW",  "J",   "kJ", "MJ", "GJ",
                                         "Wh", "kWh", "MWh", "MHz", "s",  "ms", "h" };
    for (size_t i = 0; i < WL_COUNT(units); i++) {
        const size_t n = strlen(units[i]);
        if (strncmp(s + 1, units[i], n) == 0 && !isalnum((unsigned char)s[1 + n])) return true;
    }
    return false;
}

void wl_escape_html_prose(struct wl_text *to, const char *s)
{
    struct wl_text held = WL_TEXT(to->arena);
    for (size_t i = 0; s && s[i]; i++) {
        const bool hold = s[i] == ' ' && i && isdigit((unsigned char)s[i - 1]) && unit_follows(s + i);
        if (hold)
            wl_text_add(&held, "\xc2\xa0");
        else
            wl_text_addn(&held, s + i, 1);
    }
    wl_escape_html(to, held.s);
}

void wl_escape_attribute(struct wl_text *to, const char *name, const char *value)
{
    if (!value) return;
    wl_text_addf(to, " %s=\"", name);
    wl_escape_html(to, value);
    wl_text_add(to, "\"");
}

void wl_escape_latex(struct wl_text *to, const char *s) { put(to, s, latex); }

void wl_escape_markdown(struct wl_text *to, const char *s) { put(to, s, markdown); }

void wl_escape_gnuplot(struct wl_text *to, const char *s)
{
    wl_text_add(to, "'");
    put(to, s, gnuplot);
    wl_text_add(to, "'");
}

/* In JSON <, > and & occur only inside strings, where \u forms mean the same: so neither "</script" nor "<!--" can
 * appear. */
static const char *script_json(char c)
{
    switch (c) {
    case '<': return "\\u003c";
    case '>': return "\\u003e";
    case '&': return "\\u0026";
    default: return NULL;
    }
}

void wl_escape_script_json(struct wl_text *to, const char *json) { put(to, json, script_json); }
