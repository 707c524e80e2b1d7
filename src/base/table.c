#include "base/table.h"

#include "base/printable.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
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
                                 .right = right };
}

void wl_table_real_column(struct wl_table *t, const char *name, int digits)
{
    wl_table_column(t, name, true);
    t->head[t->columns - 1].digits = digits;
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

/* The exponent after rounding: 99.996 with four digits is 100.0. */
static int exponent_of(double value, int digits)
{
    char rounded[64];
    snprintf(rounded, sizeof rounded, "%.*e", digits - 1, value);
    return atoi(strchr(rounded, 'e') + 1);
}

void wl_table_real(struct wl_table *t, double value, int digits)
{
    if (!isfinite(value)) {
        wl_table_cell(t, NULL);
        return;
    }
    int exponent = exponent_of(value, digits), decimals = digits - 1 - exponent;
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

static bool inside_character(char c) { return ((unsigned char)c & 0xc0) == 0x80; }

static size_t characters(const char *s)
{
    size_t n = 0;
    for (; *s; s++) n += !inside_character(*s);
    return n;
}

static const char *cell(const struct wl_table *t, size_t row, size_t column)
{
    return t->cells.v[row * t->columns + column];
}

/* The width of the widest cell or the header; 0 for a column that is hidden or has no value. */
static size_t column_width(const struct wl_table *t, size_t column)
{
    if (t->head[column].hidden) return 0;
    size_t width = characters(t->head[column].name);
    bool used = wl_table_rows(t) == 0;
    for (size_t r = 0; r < wl_table_rows(t); r++) {
        const char *text = cell(t, r, column);
        size_t n = characters(text);
        if (n > width) width = n;
        if (strcmp(text, missing) != 0) used = true;
    }
    return used ? width : 0;
}

/* ---- columns of one unit ---- */

/* The decimals of a column; -1: its numbers are too large or too small to print without an exponent. */
static int decimals_of(const struct wl_table *t, size_t column)
{
    int digits = t->head[column].digits, high = INT_MIN, low = INT_MAX;
    for (size_t r = 0; r < wl_table_rows(t); r++) {
        double value;
        if (wl_str_to_real(cell(t, r, column), &value) || value == 0) continue;
        int exponent = exponent_of(value, digits);
        high = exponent > high ? exponent : high;
        low = exponent < low ? exponent : low;
    }
    if (high == INT_MIN) return 0; /* nothing but zeros */
    if (high >= 6 || low < -4) return -1;
    int decimals = digits - 1 - high, needed = digits - 2 - low; /* one digit less of the smallest */
    if (needed > decimals + 2) needed = decimals + 2;
    if (needed > decimals) decimals = needed;
    return decimals > 0 ? decimals : 0;
}

static void align(const struct wl_table *t, size_t column)
{
    int digits = t->head[column].digits, decimals = decimals_of(t, column);
    for (size_t r = 0; r < wl_table_rows(t); r++) {
        char **text = &t->cells.v[r * t->columns + column];
        double value;
        if (wl_str_to_real(*text, &value)) continue;
        *text = decimals < 0 ? wl_strf(t->arena, "%.*g", digits, value) : wl_strf(t->arena, "%.*f", decimals, value);
    }
}

const char *wl_table_take_constant(struct wl_table *t, size_t column)
{
    if (wl_table_rows(t) < 2) return NULL;
    for (size_t r = 1; r < wl_table_rows(t); r++)
        if (strcmp(cell(t, r, column), cell(t, 0, column)) != 0) return NULL;
    t->head[column].hidden = true;
    return cell(t, 0, column);
}

/* ---- printing ---- */

static void pad(struct wl_text *line, size_t n) { wl_text_addf(line, "%*s", (int)n, ""); }

static void add_cell(struct wl_text *line, const char *text, size_t width, bool right)
{
    size_t blanks = width - characters(text);
    if (line->n) pad(line, GAP);
    if (right) pad(line, blanks);
    wl_text_add(line, text);
    if (!right) pad(line, blanks);
}

/* Strips trailing blanks and cuts the line to `width` characters, marked ">" as by less -S; true: it was cut. */
static bool end_line(struct wl_text *line, struct wl_text *to, int width)
{
    while (line->n && line->s[line->n - 1] == ' ') line->s[--line->n] = '\0';
    const bool cut = width > 0 && characters(line->s) > (size_t)width;
    char *at = line->s;
    for (int n = 0; cut && *at; at++)
        if (!inside_character(*at) && ++n == width) break;
    if (cut) *at = '\0';
    wl_text_addf(to, "%s%s\n", line->s, cut ? ">" : "");
    wl_text_clear(line);
    return cut;
}

void wl_table_text(const struct wl_table *t, struct wl_text *to, int width)
{
    struct wl_arena *a = wl_arena_new(t->arena);
    size_t *widths = wl_new_array(a, size_t, t->columns);
    struct wl_text line = WL_TEXT(a);
    bool cut = false;
    for (size_t c = 0; c < t->columns; c++) {
        if (t->head[c].digits) align(t, c);
        widths[c] = column_width(t, c);
        if (widths[c]) add_cell(&line, t->head[c].name, widths[c], t->head[c].right);
    }
    if (t->columns) cut |= end_line(&line, to, width);
    for (size_t r = 0; r < wl_table_rows(t); r++) {
        for (size_t c = 0; c < t->columns; c++)
            if (widths[c]) add_cell(&line, cell(t, r, c), widths[c], t->head[c].right);
        cut |= end_line(&line, to, width);
    }
    if (cut) wl_text_addf(to, "(cut to %d columns; | cat shows all)\n", width);
    wl_arena_free(a);
}

void wl_table_print(const struct wl_table *t, enum wl_out to, int width)
{
    struct wl_arena *a = wl_arena_new(t->arena);
    struct wl_text lines = WL_TEXT(a);
    wl_table_text(t, &lines, width);
    wl_print_text(to, lines.s);
    wl_arena_free(a);
}
