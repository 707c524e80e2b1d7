/* Tables as lines of text. */
#include "base/table_layout.h"
#include "base/table_numbers.h"
#include "base/utf8.h"

#include <string.h>

/* Lines go to a text, or to a stream with colours, or are counted. */
struct sink {
    struct wl_text *text; /* NULL: to the stream */
    enum wl_out to;
    bool counting;
    size_t lines;
    size_t blanks; /* before the next piece, so that lines have none at their end */
};

static void put(struct sink *s, const char *piece, size_t n, enum wl_style style)
{
    if (!n || s->counting) return;
    if (s->text)
        wl_text_addf(s->text, "%*s%.*s", (int)s->blanks, "", (int)n, piece);
    else if (s->blanks)
        wl_fprint(s->to, "%*s", (int)s->blanks, "");
    if (!s->text) wl_fprint_in(s->to, style, "%.*s", (int)n, piece);
    s->blanks = 0;
}

static void end_line(struct sink *s)
{
    s->blanks = 0;
    s->lines++;
    if (s->text)
        wl_text_add(s->text, "\n");
    else if (!s->counting)
        wl_fprint(s->to, "\n");
}

/* The bytes of *text that fit into `width` columns, up to a blank where there is one; moves *text to the rest. */
static size_t take_line(const char **text, size_t width)
{
    size_t n = 0, words = 0, columns = 0;
    const char *s = *text;
    while (s[n]) {
        const size_t length = wl_utf8_length(s + n), step = length ? length : 1;
        columns += wl_utf8_columns(s + n, step);
        if (s[n] == ' ') words = n;
        if (columns > width) break;
        n += step;
    }
    const size_t taken = s[n] && s[n] != ' ' && words ? words : n ? n : strlen(s);
    *text = s + taken;
    while (**text == ' ') (*text)++;
    return taken;
}

static enum wl_style style_of(const struct wl_table *t, size_t cell)
{
    size_t low = 0, high = t->n_styles; /* in the order of cells */
    while (low < high) {
        const size_t mid = low + (high - low) / 2;
        if (t->styles[mid].cell < cell)
            low = mid + 1;
        else
            high = mid;
    }
    return low < t->n_styles && t->styles[low].cell == cell ? t->styles[low].style : WL_PLAIN;
}

/* A row in as many lines as its longest text takes; cells[c] is NULL for columns that are not shown. */
static void put_row(const struct wl_table *t, const struct wl_table_layout *l, const char **cells, size_t first_cell,
                    struct sink *to)
{
    for (bool more = true; more;) {
        more = false;
        for (size_t c = 0, shown = 0; c < t->columns; c++) {
            if (!l->widths[c]) continue;
            const char *piece = cells[c];
            const size_t n = take_line(&cells[c], l->widths[c]), columns = wl_utf8_columns(piece, n);
            const size_t blanks = l->widths[c] > columns ? l->widths[c] - columns : 0;
            to->blanks += (shown++ ? WL_TABLE_GAP : 0) + (t->head[c].right ? blanks : 0);
            put(to, piece, n, first_cell == (size_t)-1 ? WL_PLAIN : style_of(t, first_cell + c));
            if (!t->head[c].right) to->blanks += blanks;
            more |= *cells[c] != '\0';
        }
        end_line(to);
    }
}

static void put_rows(const struct wl_table *t, const struct wl_table_layout *l, struct sink *to, struct wl_arena *a)
{
    const char **cells = wl_new_array(a, const char *, t->columns);
    for (size_t c = 0; c < t->columns; c++) cells[c] = t->head[c].name;
    put_row(t, l, cells, (size_t)-1, to);
    for (size_t r = t->skip; r < wl_table_end_row(t); r++) {
        for (size_t c = 0; c < t->columns; c++) cells[c] = wl_table_cell_at(t, r, c);
        put_row(t, l, cells, r * t->columns, to);
    }
}

static void put_parts(const struct wl_table *t, struct sink *to, int width, struct wl_arena *a)
{
    const size_t limit = width > 0 ? (size_t)width : (size_t)-1;
    struct wl_table_layout l = wl_table_layout_new(t, limit, a);
    if (t->columns) put_rows(t, &l, to, a);
    while (t->whole && wl_table_layout_next(t, &l, a)) {
        end_line(to);
        put_rows(t, &l, to, a);
    }
    const char *names = wl_table_layout_left_out(t, &l, a);
    if (names) {
        const char *line = wl_strf(a, "(left out at %d columns: %s; | cat shows all)", width, names);
        put(to, line, strlen(line), WL_PLAIN);
        to->lines += wl_utf8_columns(line, strlen(line)) / limit; /* the stream folds it */
        end_line(to);
    }
}

static void put_table(const struct wl_table *t, struct sink *to, int width)
{
    struct wl_arena *a = wl_arena_new(t->arena);
    const struct wl_table shown = wl_table_with_numbers(t, width > 0, a);
    put_parts(&shown, to, width, a);
    wl_arena_free(a);
}

static size_t lines_of(const struct wl_table *t, int width)
{
    struct wl_arena *a = wl_arena_new(t->arena);
    struct sink count = { .counting = true };
    put_parts(t, &count, width, a);
    wl_arena_free(a);
    return count.lines;
}

/* Rows to leave out at one end, as few as do. */
static size_t rows_to_leave_out(struct wl_table *t, bool first, int width, size_t lines)
{
    struct wl_arena *a = wl_arena_new(t->arena);
    struct wl_table shown = wl_table_with_numbers(t, width > 0, a);
    size_t *left_out = first ? &shown.skip : &shown.cut;
    const size_t rows = wl_table_rows(&shown), at_most = lines ? lines : 1;
    *left_out = rows > at_most ? rows - at_most : 0;
    while (*left_out + 1 < rows && lines_of(&shown, width) > lines) ++*left_out;
    const size_t n = *left_out;
    wl_arena_free(a);
    return n;
}

size_t wl_table_skip_to_fit(struct wl_table *t, int width, size_t lines)
{
    return t->skip = rows_to_leave_out(t, true, width, lines);
}

size_t wl_table_cut_to_fit(struct wl_table *t, int width, size_t lines)
{
    return t->cut = rows_to_leave_out(t, false, width, lines);
}

void wl_table_text(const struct wl_table *t, struct wl_text *to, int width)
{
    struct sink sink = { .text = to };
    put_table(t, &sink, width);
}

void wl_table_print(const struct wl_table *t, enum wl_out to, int width)
{
    struct sink sink = { .to = to };
    put_table(t, &sink, width);
}
