#include "cmd/wattlaw/top/screen.h"

#include <math.h>
#include <string.h>

struct wl_top_screen wl_top_screen_new(size_t width, struct wl_arena *a)
{
    return (struct wl_top_screen) { .a = a, .width = width };
}

void wl_top_row(struct wl_top_screen *s)
{
    WL_GROW(s->a, s->v, s->n, s->cap);
    s->v[s->n++] = (struct wl_top_row) { .text = WL_TEXT(s->a) };
}

/* The bytes of the first characters of a text that take at most so many columns. */
static size_t bytes_within(const char *text, size_t columns)
{
    size_t n = 0;
    while (text[n]) {
        size_t length = wl_utf8_length(text + n);
        if (length == 0) length = 1;
        if (wl_utf8_columns(text, n + length) > columns) break;
        n += length;
    }
    return n;
}

static size_t columns_of(const char *text) { return wl_utf8_columns(text, strlen(text)); }

static void append(struct wl_top_screen *s, enum wl_style style, const char *text)
{
    struct wl_top_row *r = &s->v[s->n - 1];
    const size_t used = columns_of(r->text.s), left = used < s->width ? s->width - used : 0;
    if (r->n == 0 || r->spans[r->n - 1].style != style) {
        WL_GROW(s->a, r->spans, r->n, r->cap);
        r->spans[r->n++] = (struct wl_top_span) { r->text.n, style };
    }
    wl_text_addn(&r->text, text, bytes_within(text, left));
}

void wl_top_put(struct wl_top_screen *s, enum wl_style style, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    const char *text = wl_strfv(s->a, fmt, ap);
    va_end(ap);
    append(s, style, text);
}

static void fill_to(struct wl_top_screen *s, size_t column)
{
    const size_t used = columns_of(s->v[s->n - 1].text.s);
    if (used < column) append(s, WL_PLAIN, wl_strf(s->a, "%*s", (int)(column - used), ""));
}

void wl_top_put_at(struct wl_top_screen *s, size_t column, enum wl_style style, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    const char *text = wl_strfv(s->a, fmt, ap);
    va_end(ap);
    fill_to(s, column);
    append(s, style, text);
}

void wl_top_bar(struct wl_top_screen *s, size_t length, double share, enum wl_style style)
{
    const size_t inside = length > 2 ? length - 2 : 1;
    const double bounded = isnan(share) ? 0 : fmin(fmax(share, 0), 1);
    const size_t full = (size_t)lround(bounded * (double)inside);
    struct wl_text bar = WL_TEXT(s->a);
    for (size_t i = 0; i < full; i++) wl_text_add(&bar, "|");
    append(s, WL_PLAIN, "[");
    append(s, style, bar.s);
    append(s, WL_PLAIN, wl_strf(s->a, "%*s]", (int)(inside - full), ""));
}

/* ---- tables ---- */

enum { GAP = 2, MOST = 40 /* of a column without a width: eyes follow a row no further */ };

static size_t width_of(const struct wl_top_column *columns, size_t n, const bool *shown)
{
    size_t sum = 0, cells = 0;
    for (size_t i = 0; i < n; i++) {
        if (!shown[i]) continue;
        sum += columns[i].width ? columns[i].width : columns[i].least;
        cells++;
    }
    return sum + (cells ? cells - 1 : 0) * GAP;
}

void wl_top_fit(const struct wl_top_column *columns, size_t n, size_t width, bool *shown, size_t *rest)
{
    for (size_t i = 0; i < n; i++) shown[i] = true;
    while (width_of(columns, n, shown) > width) {
        size_t worst = n;
        for (size_t i = 0; i < n; i++)
            if (shown[i] && columns[i].rank > 0 && (worst == n || columns[i].rank >= columns[worst].rank)) worst = i;
        if (worst == n) break;
        shown[worst] = false;
    }
    *rest = 0;
    for (size_t i = 0; i < n; i++)
        if (shown[i] && !columns[i].width) *rest = columns[i].least;
    const size_t used = width_of(columns, n, shown);
    if (used < width) *rest += width - used;
    if (*rest > MOST) *rest = MOST;
}

struct wl_top_table wl_top_table_new(struct wl_top_screen *s, const struct wl_top_column *columns, size_t n)
{
    struct wl_top_table t = { columns, n, wl_new_array(s->a, bool, n), 0 };
    wl_top_fit(columns, n, s->width, t.shown, &t.rest);
    return t;
}

void wl_top_cells(struct wl_top_screen *s, const struct wl_top_table *t, const char *const *cells,
                  const enum wl_style *styles)
{
    size_t column = 0, last = t->n;
    wl_top_row(s);
    for (size_t i = 0; i < t->n; i++)
        if (t->shown[i]) last = i;
    for (size_t i = 0; i < t->n; i++) {
        if (!t->shown[i]) continue;
        const char *text = cells[i] ? wl_printable(s->a, cells[i], WL_PRINTABLE_LINE) : "-";
        const size_t width = t->columns[i].width ? t->columns[i].width : t->rest, n = bytes_within(text, width);
        const char *cut = wl_strndup(s->a, text, n);
        const size_t blank = width - columns_of(cut);
        if (*cut) fill_to(s, column + (t->columns[i].right ? blank : 0));
        append(s, styles ? styles[i] : WL_PLAIN, cut);
        if (i != last) fill_to(s, column + width);
        column += width + GAP;
    }
}

void wl_top_heads(struct wl_top_screen *s, const struct wl_top_table *t)
{
    const char **heads = wl_new_array(s->a, const char *, t->n);
    enum wl_style *styles = wl_new_array(s->a, enum wl_style, t->n);
    for (size_t i = 0; i < t->n; i++) {
        heads[i] = t->columns[i].head;
        styles[i] = WL_ANSWER;
    }
    wl_top_cells(s, t, heads, styles);
}
