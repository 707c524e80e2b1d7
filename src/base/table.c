#include "base/table.h"

#include "base/printable.h"
#include "base/table_numbers.h"
#include "base/utf8.h"

#include <math.h>
#include <string.h>

static const char missing[] = "-";
enum { GAP = 2 }; /* blanks between columns */

struct wl_table wl_table_new(struct wl_arena *a) { return (struct wl_table) { .arena = a }; }

void wl_table_column(struct wl_table *t, const char *name, bool right)
{
    WL_CHECK(t->cells.n == 0);
    WL_GROW(t->arena, t->head, t->columns, t->head_cap);
    t->head[t->columns++] =
        (struct wl_table_head) { .name = wl_strdup(t->arena, wl_printable(t->arena, name, WL_PRINTABLE_LINE)),
                                 .right = right,
                                 .kept = wl_str_eq(name, "note") };
}

void wl_table_real_column(struct wl_table *t, const char *name, int digits)
{
    wl_table_column(t, name, true);
    t->head[t->columns - 1].digits = digits;
}

void wl_table_unit_column(struct wl_table *t, const char *name, const char *quantity, const char *unit, int digits)
{
    wl_table_real_column(t, name, digits);
    t->head[t->columns - 1].quantity = quantity;
    t->head[t->columns - 1].unit = unit;
}

void wl_table_cell(struct wl_table *t, const char *text)
{
    wl_strs_add(t->arena, &t->cells, text && *text ? wl_printable(t->arena, text, WL_PRINTABLE_LINE) : missing);
}

void wl_table_cellf(struct wl_table *t, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    wl_table_cell(t, wl_strfv(t->arena, fmt, ap));
    va_end(ap);
}

void wl_table_style(struct wl_table *t, enum wl_style style)
{
    WL_CHECK(t->cells.n > 0);
    WL_GROW(t->arena, t->styles, t->n_styles, t->styles_cap);
    t->styles[t->n_styles++] = (struct wl_table_style) { t->cells.n - 1, style };
}

void wl_table_keep(struct wl_table *t, const char *name)
{
    for (size_t c = 0; c < t->columns; c++)
        if (wl_str_eq(t->head[c].name, name)) t->head[c].kept = true;
}

void wl_table_spare(struct wl_table *t, const char *const *names, size_t n)
{
    for (size_t i = 0; i < n; i++)
        for (size_t c = 0; c < t->columns; c++)
            if (wl_str_eq(t->head[c].name, names[i])) t->head[c].spare = (int)i + 1;
}

void wl_table_real(struct wl_table *t, double value, int digits)
{
    if (!isfinite(value)) {
        wl_table_cell(t, NULL);
        return;
    }
    int exponent = wl_table_exponent(value, digits), decimals = digits - 1 - exponent;
    if (exponent >= 6 || exponent < -4)
        wl_table_cellf(t, "%.*g", digits, value);
    else
        wl_table_cellf(t, "%.*f", decimals > 0 ? decimals : 0, value);
}

/* Kept with all digits until the whole column is known. */
void wl_table_aligned(struct wl_table *t, double value)
{
    if (isfinite(value))
        wl_table_cellf(t, "%.17g", value);
    else
        wl_table_cell(t, NULL);
}

void wl_table_provenance_column(struct wl_table *t)
{
    t->provenance_column = t->columns + 1;
    wl_table_column(t, "provenance", false);
}

void wl_table_provenance(struct wl_table *t, enum wl_provenance from)
{
    WL_CHECK(t->cells.n % t->columns == t->provenance_column - 1);
    t->from = from;
    wl_table_cell(t, wl_provenance_word(from));
}

/* An amount that was not measured needs the row's provenance cell; a missing one is our bug. */
static void check_said(const struct wl_table *t, const struct wl_amount *q)
{
    const size_t at = t->cells.n % t->columns;
    const bool said = t->provenance_column && at >= t->provenance_column && (q->from & ~t->from) == 0;
    WL_CHECK(said || q->from == WL_MEASURED || isnan(q->value));
}

void wl_table_amount(struct wl_table *t, const struct wl_amount *q, int digits)
{
    check_said(t, q);
    if (digits)
        wl_table_real(t, q->value, digits);
    else
        wl_table_aligned(t, q->value);
}

void wl_table_range(struct wl_table *t, const struct wl_amount *q)
{
    check_said(t, q);
    if (isnan(q->lo) || isnan(q->hi))
        wl_table_cell(t, NULL);
    else
        wl_table_cellf(t, "%s to %s", wl_number_text(q->lo, t->arena), wl_number_text(q->hi, t->arena));
}

void wl_table_int(struct wl_table *t, double value)
{
    if (isnan(value))
        wl_table_cell(t, NULL);
    else
        wl_table_cellf(t, "%.0f", value);
}

void wl_table_workers(struct wl_table *t, double value) { wl_table_cellf(t, "%.15g", value); }

void wl_table_row(struct wl_table *t)
{
    while (t->cells.n % t->columns) wl_table_cell(t, NULL);
}

size_t wl_table_rows(const struct wl_table *t) { return t->columns ? t->cells.n / t->columns : 0; }

static size_t columns_of(const char *s) { return wl_utf8_columns(s, strlen(s)); }

static size_t end_row(const struct wl_table *t) { return wl_table_rows(t) - t->cut; }

static const char *cell(const struct wl_table *t, size_t row, size_t column)
{
    return t->cells.v[row * t->columns + column];
}

/* The width of the widest cell or the header; 0 for a column that is hidden or has no value. */
static size_t column_width(const struct wl_table *t, size_t column)
{
    if (t->head[column].hidden) return 0;
    size_t width = columns_of(t->head[column].name);
    bool used = wl_table_rows(t) == 0;
    for (size_t r = t->skip; r < end_row(t); r++) {
        const char *text = cell(t, r, column);
        size_t n = columns_of(text);
        if (n > width) width = n;
        if (strcmp(text, missing) != 0) used = true;
    }
    return used ? width : 0;
}

const char *wl_table_take_constant(struct wl_table *t, size_t column)
{
    if (wl_table_rows(t) < 2) return NULL;
    for (size_t r = 1; r < wl_table_rows(t); r++)
        if (strcmp(cell(t, r, column), cell(t, 0, column)) != 0) return NULL;
    t->head[column].hidden = true;
    return cell(t, 0, column);
}

/* ---- layout ---- */

enum {
    TEXT_WIDTH = 18, /* text wraps in a column of at least this width, */
    LEAST_TEXT = 10  /* or of this one, where only columns are left that stay */
};

/* The columns that are shown, at their widths; 0: not shown. */
struct layout {
    size_t *widths;
    bool *left_out;
};

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
static size_t width_needed(const struct wl_table *t, const struct layout *l, const size_t *natural, size_t text_width)
{
    size_t sum = 0;
    for (size_t c = 0; c < t->columns; c++)
        if (natural[c] && !l->left_out[c]) sum += (sum ? GAP : 0) + least_width(t, c, natural[c], text_width);
    return sum;
}

/* The next column to leave out: of those that are named for it the first, else the rightmost; -1: none. */
static ptrdiff_t next_left_out(const struct wl_table *t, const struct layout *l, const size_t *natural)
{
    ptrdiff_t next = -1;
    for (size_t c = 0; c < t->columns; c++) {
        if (!natural[c] || l->left_out[c] || stays(t, natural, c)) continue;
        const int spare = t->head[c].spare, other = next < 0 ? 0 : t->head[next].spare;
        if (next < 0 || (spare ? !other || spare <= other : !other)) next = (ptrdiff_t)c;
    }
    return next;
}

/* Widens text columns from their least width to what the line has left. */
static void share_width(const struct wl_table *t, struct layout *l, const size_t *natural, size_t width,
                        size_t text_width)
{
    const size_t needed = width_needed(t, l, natural, text_width);
    size_t left = width > needed ? width - needed : 0;
    for (size_t c = 0; c < t->columns; c++) {
        if (!natural[c] || l->left_out[c]) continue;
        const size_t least = least_width(t, c, natural[c], text_width);
        const size_t more = natural[c] - least < left ? natural[c] - least : left;
        l->widths[c] = least + more;
        left -= more;
    }
}

/* An interval goes with its value. */
static void leave_out(const struct wl_table *t, struct layout *l, size_t c)
{
    l->left_out[c] = true;
    if (c + 1 < t->columns && wl_str_eq(t->head[c + 1].name, "95 %")) l->left_out[c + 1] = true;
}

static struct layout layout_of(const struct wl_table *t, const size_t *natural, size_t width, struct wl_arena *a)
{
    struct layout l = { wl_new_array(a, size_t, t->columns), wl_new_array(a, bool, t->columns) };
    size_t text_width = TEXT_WIDTH;
    while (width_needed(t, &l, natural, text_width) > width) {
        const ptrdiff_t next = next_left_out(t, &l, natural);
        if (next >= 0)
            leave_out(t, &l, (size_t)next);
        else if (text_width > LEAST_TEXT)
            text_width--;
        else
            break;
    }
    share_width(t, &l, natural, width, text_width);
    return l;
}

/* ---- printing ---- */

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
static void put_row(const struct wl_table *t, const struct layout *l, const char **cells, size_t first_cell,
                    struct sink *to)
{
    for (bool more = true; more;) {
        more = false;
        for (size_t c = 0, shown = 0; c < t->columns; c++) {
            if (!l->widths[c]) continue;
            const char *piece = cells[c];
            const size_t n = take_line(&cells[c], l->widths[c]), columns = wl_utf8_columns(piece, n);
            const size_t blanks = l->widths[c] > columns ? l->widths[c] - columns : 0;
            to->blanks += (shown++ ? GAP : 0) + (t->head[c].right ? blanks : 0);
            put(to, piece, n, first_cell == (size_t)-1 ? WL_PLAIN : style_of(t, first_cell + c));
            if (!t->head[c].right) to->blanks += blanks;
            more |= *cells[c] != '\0';
        }
        end_line(to);
    }
}

static void put_rows(const struct wl_table *t, const struct layout *l, struct sink *to, struct wl_arena *a)
{
    const char **cells = wl_new_array(a, const char *, t->columns);
    for (size_t c = 0; c < t->columns; c++) cells[c] = t->head[c].name;
    put_row(t, l, cells, (size_t)-1, to);
    for (size_t r = t->skip; r < end_row(t); r++) {
        for (size_t c = 0; c < t->columns; c++) cells[c] = cell(t, r, c);
        put_row(t, l, cells, r * t->columns, to);
    }
}

/* "95 %" is of the column before it. */
static const char *full_name(const struct wl_table *t, size_t c, struct wl_arena *a)
{
    const char *name = t->head[c].name;
    return c && wl_str_eq(name, "95 %") ? wl_strf(a, "95 %% of %s", t->head[c - 1].name) : name;
}

static bool goes_with_value(const struct wl_table *t, const struct layout *l, size_t c)
{
    return c && wl_str_eq(t->head[c].name, "95 %") && l->left_out[c - 1];
}

/* The names of the columns that are left out; NULL: none. */
static const char *names_left_out(const struct wl_table *t, const struct layout *l, struct wl_arena *a)
{
    struct wl_text names = WL_TEXT(a);
    for (size_t c = 0; c < t->columns; c++)
        if (l->left_out[c] && !goes_with_value(t, l, c))
            wl_text_addf(&names, "%s%s", names.n ? ", " : "", full_name(t, c, a));
    return names.n ? names.s : NULL;
}

/* What was left out becomes the table below; columns that stay are in each. True: there is something left. */
static bool next_part(const struct wl_table *t, const struct layout *l, size_t *natural)
{
    bool any = false, shrinks = false;
    for (size_t c = 0; c < t->columns; c++) {
        any |= l->left_out[c];
        shrinks |= l->widths[c] && !l->left_out[c] && !stays(t, natural, c);
    }
    for (size_t c = t->columns; any && shrinks && c-- > 0;)
        if (!l->left_out[c] && !stays(t, natural, c)) natural[c] = 0;
    return any && shrinks;
}

static void put_parts(const struct wl_table *t, struct sink *to, int width, struct wl_arena *a)
{
    size_t *natural = wl_new_array(a, size_t, t->columns);
    const size_t limit = width > 0 ? (size_t)width : (size_t)-1;
    for (size_t c = 0; c < t->columns; c++) natural[c] = column_width(t, c);
    struct layout l = layout_of(t, natural, limit, a);
    if (t->columns) put_rows(t, &l, to, a);
    while (t->whole && next_part(t, &l, natural)) {
        end_line(to);
        l = layout_of(t, natural, limit, a);
        put_rows(t, &l, to, a);
    }
    const char *names = names_left_out(t, &l, a);
    if (names) {
        const char *line = wl_strf(a, "(%d columns leave out: %s; | cat shows all)", width, names);
        put(to, line, strlen(line), WL_PLAIN);
        to->lines += columns_of(line) / limit; /* the stream folds it */
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
