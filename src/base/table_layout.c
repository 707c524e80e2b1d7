#include "base/table_layout.h"

#include "base/utf8.h"

#include <string.h>

enum {
    TEXT_WIDTH = 18, /* text wraps in a column of at least this width, */
    LEAST_TEXT = 10  /* or of this one, before a column is left out that stays, or is not spare */
};

static size_t columns_of(const char *s) { return wl_utf8_columns(s, strlen(s)); }

/* The width of the widest cell or the header; 0 for a column that is hidden or has no value. */
static size_t natural_width(const struct wl_table *t, size_t column)
{
    if (t->head[column].hidden) return 0;
    size_t width = columns_of(t->head[column].name);
    bool used = wl_table_rows(t) == 0;
    for (size_t r = t->skip; r < wl_table_end_row(t); r++) {
        const char *text = wl_table_cell_at(t, r, column);
        size_t n = columns_of(text);
        if (n > width) width = n;
        if (strcmp(text, WL_TABLE_MISSING) != 0) used = true;
    }
    return used ? width : 0;
}

static bool is_first(const size_t *natural, size_t c)
{
    for (size_t k = 0; k < c; k++)
        if (natural[k]) return false;
    return true;
}

static bool stays(const struct wl_table *t, const size_t *natural, size_t c)
{
    return t->head[c].kept || c + 1 == t->provenance_column || is_first(natural, c);
}

static size_t least_width(const struct wl_table *t, size_t c, size_t natural, size_t text_width)
{
    return t->head[c].right || natural < text_width ? natural : text_width;
}

/* Of the columns that are shown, with text as narrow as it may be. */
static size_t width_needed(const struct wl_table *t, const struct wl_table_layout *l, size_t text_width)
{
    size_t sum = 0;
    for (size_t c = 0; c < t->columns; c++)
        if (l->natural[c] && !l->left_out[c])
            sum += (sum ? WL_TABLE_GAP : 0) + least_width(t, c, l->natural[c], text_width);
    return sum;
}

/* The next column to leave out: of those that are named for it the first, else the rightmost; -1: none. */
static ptrdiff_t next_left_out(const struct wl_table *t, const struct wl_table_layout *l)
{
    ptrdiff_t next = -1;
    for (size_t c = 0; c < t->columns; c++) {
        if (!l->natural[c] || l->left_out[c] || stays(t, l->natural, c)) continue;
        const int spare = t->head[c].spare, other = next < 0 ? 0 : t->head[next].spare;
        if (next < 0 || (spare ? !other || spare <= other : !other)) next = (ptrdiff_t)c;
    }
    return next;
}

/* Where a table names the columns that are spare, the others are worth more than wide text. */
static bool is_worth_more(const struct wl_table *t, ptrdiff_t column)
{
    bool any = false;
    for (size_t c = 0; c < t->columns; c++) any = any || t->head[c].spare;
    return any && column >= 0 && !t->head[column].spare;
}

/* Widens text columns from their least width to what the line has left. */
static void share_width(const struct wl_table *t, struct wl_table_layout *l, size_t text_width)
{
    const size_t needed = width_needed(t, l, text_width);
    size_t left = l->limit > needed ? l->limit - needed : 0;
    for (size_t c = 0; c < t->columns; c++) {
        if (!l->natural[c] || l->left_out[c]) continue;
        const size_t least = least_width(t, c, l->natural[c], text_width);
        const size_t more = l->natural[c] - least < left ? l->natural[c] - least : left;
        l->widths[c] = least + more;
        left -= more;
    }
}

/* An interval goes with its value. */
static void leave_out(const struct wl_table *t, struct wl_table_layout *l, size_t c)
{
    l->left_out[c] = true;
    if (c + 1 < t->columns && wl_str_eq(t->head[c + 1].name, "95 %")) l->left_out[c + 1] = true;
}

static void lay_out(const struct wl_table *t, struct wl_table_layout *l, struct wl_arena *a)
{
    size_t text_width = TEXT_WIDTH;
    l->widths = wl_new_array(a, size_t, t->columns);
    l->left_out = wl_new_array(a, bool, t->columns);
    while (width_needed(t, l, text_width) > l->limit) {
        const ptrdiff_t next = next_left_out(t, l);
        if (text_width > LEAST_TEXT && (next < 0 || is_worth_more(t, next)))
            text_width--;
        else if (next >= 0)
            leave_out(t, l, (size_t)next);
        else
            break;
    }
    share_width(t, l, text_width);
}

struct wl_table_layout wl_table_layout_new(const struct wl_table *t, size_t limit, struct wl_arena *a)
{
    struct wl_table_layout l = { .natural = wl_new_array(a, size_t, t->columns), .limit = limit };
    for (size_t c = 0; c < t->columns; c++) l.natural[c] = natural_width(t, c);
    lay_out(t, &l, a);
    return l;
}

/* "95 %" is of the column before it. */
static const char *full_name(const struct wl_table *t, size_t c, struct wl_arena *a)
{
    const char *name = t->head[c].name;
    return c && wl_str_eq(name, "95 %") ? wl_strf(a, "95 %% of %s", t->head[c - 1].name) : name;
}

static bool goes_with_value(const struct wl_table *t, const struct wl_table_layout *l, size_t c)
{
    return c && wl_str_eq(t->head[c].name, "95 %") && l->left_out[c - 1];
}

const char *wl_table_layout_left_out(const struct wl_table *t, const struct wl_table_layout *l, struct wl_arena *a)
{
    struct wl_text names = WL_TEXT(a);
    for (size_t c = 0; c < t->columns; c++)
        if (l->left_out[c] && !goes_with_value(t, l, c))
            wl_text_addf(&names, "%s%s", names.n ? ", " : "", full_name(t, c, a));
    return names.n ? names.s : NULL;
}

bool wl_table_layout_next(const struct wl_table *t, struct wl_table_layout *l, struct wl_arena *a)
{
    bool any = false, shrinks = false;
    for (size_t c = 0; c < t->columns; c++) {
        any |= l->left_out[c];
        shrinks |= l->widths[c] && !l->left_out[c] && !stays(t, l->natural, c);
    }
    if (!any || !shrinks) return false;
    for (size_t c = t->columns; c-- > 0;)
        if (!l->left_out[c] && !stays(t, l->natural, c)) l->natural[c] = 0;
    lay_out(t, l, a);
    return true;
}
