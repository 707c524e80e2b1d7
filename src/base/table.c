/* Tables as values: columns, cells and rows. */
#include "base/table.h"

#include "base/printable.h"
#include "base/table_numbers.h"

#include <math.h>
#include <string.h>

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

void wl_table_range_column(struct wl_table *t, const char *name)
{
    wl_table_column(t, name, true);
    t->head[t->columns - 1].range = true;
}

void wl_table_cell(struct wl_table *t, const char *text)
{
    wl_strs_add(t->arena, &t->cells,
                text && *text ? wl_printable(t->arena, text, WL_PRINTABLE_LINE) : WL_TABLE_MISSING);
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

/* Kept with all digits, as those of ranges are, until the whole column is known. */
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
    WL_CHECK(t->head[t->cells.n % t->columns].range);
    if (isnan(q->lo) || isnan(q->hi))
        wl_table_cell(t, NULL);
    else
        wl_table_cellf(t, "%.17g" WL_TABLE_TO "%.17g", q->lo, q->hi);
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

const char *wl_table_cell_at(const struct wl_table *t, size_t row, size_t column)
{
    return t->cells.v[row * t->columns + column];
}

const char *wl_table_take_constant(struct wl_table *t, size_t column)
{
    if (wl_table_rows(t) < 2) return NULL;
    for (size_t r = 1; r < wl_table_rows(t); r++)
        if (strcmp(wl_table_cell_at(t, r, column), wl_table_cell_at(t, 0, column)) != 0) return NULL;
    t->head[column].hidden = true;
    return wl_table_cell_at(t, 0, column);
}
