/* Aligned text tables: a header, rows of cells, numbers right-aligned.
 *
 *     struct wl_table t = wl_table_new(a);
 *     wl_table_column(&t, "workers", true);
 *     wl_table_cellf(&t, "%d", 4);
 *     wl_table_row(&t);
 *     wl_table_print(&t, WL_STDOUT, 0);
 */
#ifndef WL_BASE_TABLE_H
#define WL_BASE_TABLE_H

#include "base/amount.h"
#include "base/print.h"
#include "base/str.h"

struct wl_table_head {
    const char *name;
    bool right;                  /* numbers */
    int digits;                  /* of wl_table_real_column; 0: none of these */
    bool hidden;                 /* by wl_table_take_constant */
    bool kept;                   /* wl_table_keep */
    int spare;                   /* wl_table_spare: 1 + its place in the order; 0: not named */
    const char *quantity, *unit; /* of wl_table_unit_column; NULL: none */
    bool range;                  /* wl_table_range_column */
};
struct wl_table_style {
    size_t cell;
    enum wl_style style;
};
struct wl_table {
    struct wl_arena *arena;
    struct wl_table_head *head;
    size_t columns, head_cap;
    size_t skip, cut;     /* first and last rows that are not printed */
    struct wl_strs cells; /* row by row */
    struct wl_table_style *styles;
    size_t n_styles, styles_cap;
    bool whole; /* set by the caller: a table that is too wide continues below itself, and nothing is left out */
    size_t provenance_column; /* 1 + its index; 0: none */
    enum wl_provenance from;  /* of this row */
};

struct wl_table wl_table_new(struct wl_arena *a);

/* All columns come before the first cell. */
void wl_table_column(struct wl_table *t, const char *name, bool right);

/* A column of numbers in one unit with the same number of decimals: as many as give the largest number `digits`
 * significant digits, and up to two more if the smallest would show fewer than digits - 1. */
void wl_table_real_column(struct wl_table *t, const char *name, int digits);

/* Such a column of amounts in J, W, s or kWh. Where the table has a width, it takes the prefix that fits its largest
 * number, and its head is "quantity prefix-and-unit" ("energy MJ"); elsewhere the head is `name`, and the unit as it
 * is. */
void wl_table_unit_column(struct wl_table *t, const char *name, const char *quantity, const char *unit, int digits);

/* The intervals of the amounts in the column before it (wl_table_range), in the unit that this one takes. */
void wl_table_range_column(struct wl_table *t, const char *name);

/* The next cell of the current row. NULL and "" print as "-"; unprintable characters are escaped (printable.h). */
void wl_table_cell(struct wl_table *t, const char *text);
void wl_table_cellf(struct wl_table *t, const char *fmt, ...) WL_PRINTF(2, 3);

/* Prints the cell that was added last in a colour. */
void wl_table_style(struct wl_table *t, enum wl_style style);

/* Columns of this name stay on a narrow terminal, as the first one, that of the provenance and "note" do: what a number
 * must not be read without. */
void wl_table_keep(struct wl_table *t, const char *name);

/* Columns to leave out first on a narrow terminal, in this order, by name; then text wraps closer, then others from the
 * right. */
void wl_table_spare(struct wl_table *t, const char *const *names, size_t n);

/* A number with `digits` significant digits, without an exponent below a million; NAN and infinity print as "-". */
void wl_table_real(struct wl_table *t, double value, int digits);
/* A number in a column of wl_table_real_column. */
void wl_table_aligned(struct wl_table *t, double value);
/* The column that prints "estimated" or "simulated" for the amounts in the columns after it; one per table. It stays on
 * a narrow terminal. It is left out if everything was measured. */
void wl_table_provenance_column(struct wl_table *t);
void wl_table_provenance(struct wl_table *t, enum wl_provenance from);

/* An amount in a column of wl_table_real_column (digits 0) or with `digits` significant digits; and its interval, "700
 * to 730". The unit is in the column's name. An amount that was not measured needs a matching provenance cell before it
 * (checked). The interval's column is one of wl_table_range_column (checked). */
void wl_table_amount(struct wl_table *t, const struct wl_amount *q, int digits);
void wl_table_range(struct wl_table *t, const struct wl_amount *q);

/* A whole number that may be missing (NAN). */
void wl_table_int(struct wl_table *t, double value);
void wl_table_workers(struct wl_table *t, double value); /* as given, which may be a fraction */

/* Ends the row: missing cells print as "-". */
void wl_table_row(struct wl_table *t);

size_t wl_table_rows(const struct wl_table *t);

/* The text of a cell: WL_TABLE_MISSING where nothing was given. */
#define WL_TABLE_MISSING "-"
const char *wl_table_cell_at(const struct wl_table *t, size_t row, size_t column);

/* Hides a column of two or more equal cells, so that the value can be printed once: returns the cell, "-" for missing.
 * NULL: the cells differ, and the column stays. */
const char *wl_table_take_constant(struct wl_table *t, size_t column);

/* Leaves out first or last rows so that the table, printed at this width, takes at most `lines` lines; one row stays.
 * Returns how many. After the last row. */
size_t wl_table_skip_to_fit(struct wl_table *t, int width, size_t lines);
size_t wl_table_cut_to_fit(struct wl_table *t, int width, size_t lines);

/* Prints header and rows; widths are columns of a terminal, not bytes. Columns without any value are left out. Where
 * the table is wider than `width`, text wraps inside its column; then columns are left out, the least important first,
 * and a line below the table names them. Width 0: no limit. */
void wl_table_print(const struct wl_table *t, enum wl_out to, int width);

/* The same lines as a text. */
void wl_table_text(const struct wl_table *t, struct wl_text *to, int width);

#endif
