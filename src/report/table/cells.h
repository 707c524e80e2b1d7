/* What the formats of tables share. */
#ifndef WL_REPORT_TABLE_CELLS_H
#define WL_REPORT_TABLE_CELLS_H

#include "report/table/table.h"

enum { WL_REPORT_LONG_ROWS = 40 }; /* more than fit on a page: such a table is folded, or goes on over pages */

/* A cell as people read it: its text, or its number with the digits of its column. */
const char *wl_report_table_cell_text(const struct wl_report_table *t, size_t row, size_t column);

/* [n_columns] Is any cell of the column filled? True for a table without rows. */
const bool *wl_report_table_used_columns(const struct wl_report_table *t);

/* Has the row a text in a column that makes it notable? */
bool wl_report_table_is_notable(const struct wl_report_table *t, size_t row);

/* The heading of a column with its unit: "mean power [W]". */
char *wl_report_table_column_title(const struct wl_report_column *c, struct wl_arena *a);

/* Writes the table as HTML (page.c). */
void wl_report_table_page(const struct wl_report_table *t, struct wl_text *to);

#endif
