/* Tables as data, and numbers as people read them. */
#include "report/table/table.h"

#include "report/table/cells.h"

#include <math.h>
#include <stdlib.h>

void wl_report_columns_add(struct wl_report_columns *to, const struct wl_report_column *v, size_t n, struct wl_arena *a)
{
    for (size_t i = 0; i < n; i++) {
        WL_GROW(a, to->v, to->n, to->cap);
        to->v[to->n++] = v[i];
    }
}

struct wl_report_table *wl_report_table_new(struct wl_arena *a, const char *id, const char *title,
                                            const struct wl_report_column *columns, size_t n_columns)
{
    WL_CHECK(n_columns > 0);
    struct wl_report_table *t = wl_new(a, struct wl_report_table);
    *t = (struct wl_report_table) { .id = id, .title = title, .columns = columns, .n_columns = n_columns, .arena = a };
    return t;
}

void wl_report_table_reserve(struct wl_report_table *t, size_t rows)
{
    t->cells = wl_grow(t->arena, t->cells, t->n_cells, &t->cap_cells, rows * t->n_columns, sizeof *t->cells);
}

static void add_cell(struct wl_report_table *t, struct wl_report_cell cell)
{
    WL_GROW(t->arena, t->cells, t->n_cells, t->cap_cells);
    t->cells[t->n_cells++] = cell;
    t->n_rows = t->n_cells / t->n_columns;
}

void wl_report_table_real(struct wl_report_table *t, double value)
{
    add_cell(t, (struct wl_report_cell) { NULL, value });
}

void wl_report_table_text(struct wl_report_table *t, const char *text)
{
    add_cell(t, (struct wl_report_cell) { text ? wl_strdup(t->arena, text) : NULL, NAN });
}

char *wl_significant_digits(struct wl_arena *a, double value, int digits)
{
    if (!isfinite(value)) return wl_strdup(a, isnan(value) ? "" : value > 0 ? "inf" : "-inf");
    if (digits <= 0) return wl_strf(a, "%.0f", value + 0.0);
    if (value == 0) return wl_strdup(a, "0");

    /* The exponent after rounding: 9.996 to three digits is 10.0, not 10.00. */
    char rounded[64];
    snprintf(rounded, sizeof rounded, "%.*e", digits - 1, value);
    double v = strtod(rounded, NULL);
    int exponent = (int)floor(log10(fabs(v)) + 1e-12);
    if (exponent < -4 || exponent >= 7) return wl_strdup(a, rounded);
    int decimals = digits - 1 - exponent;
    return wl_strf(a, "%.*f", decimals > 0 ? decimals : 0, decimals > 0 ? v : value);
}

const char *wl_report_table_cell_text(const struct wl_report_table *t, size_t row, size_t column)
{
    const struct wl_report_cell *c = &t->cells[row * t->n_columns + column];
    if (c->text) return c->text;
    return isnan(c->value) ? "" : wl_significant_digits(t->arena, c->value, t->columns[column].digits);
}

const bool *wl_report_table_used_columns(const struct wl_report_table *t)
{
    bool *used = wl_new_array(t->arena, bool, t->n_columns);
    for (size_t i = 0; i < t->n_rows * t->n_columns; i++) {
        const struct wl_report_cell *c = &t->cells[i];
        used[i % t->n_columns] |= c->text ? *c->text != '\0' : !isnan(c->value);
    }
    for (size_t i = 0; i < t->n_columns; i++) used[i] |= t->n_rows == 0;
    return used;
}

bool wl_report_table_is_notable(const struct wl_report_table *t, size_t row)
{
    for (size_t c = 0; c < t->n_columns; c++)
        if (t->columns[c].notable && t->cells[row * t->n_columns + c].text) return true;
    return false;
}

char *wl_report_table_column_title(const struct wl_report_column *c, struct wl_arena *a)
{
    return c->unit ? wl_strf(a, "%s [%s]", c->label, c->unit) : wl_strdup(a, c->label);
}

void wl_report_table_json(const struct wl_report_table *t, struct wl_json *object)
{
    wl_json_add_str(object, "id", t->id);
    wl_json_add_str(object, "title", t->title);
    wl_json_add_bool(object, "estimated", t->estimated);
    wl_json_add_bool(object, "simulated", t->simulated);
    struct wl_json *rows = wl_json_add_array(object, "rows");
    for (size_t r = 0; r < t->n_rows; r++) {
        struct wl_json *row = wl_json_add_object(rows, NULL);
        for (size_t c = 0; c < t->n_columns; c++) {
            const struct wl_report_cell *cell = &t->cells[r * t->n_columns + c];
            if (cell->text || t->columns[c].text)
                wl_json_add_str(row, t->columns[c].id, cell->text);
            else
                wl_json_add_real(row, t->columns[c].id, cell->value);
        }
    }
}
