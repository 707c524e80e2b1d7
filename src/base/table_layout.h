/* Which columns of a table are shown, and how wide they are, where the line has a limit. For table_print.c alone. */
#ifndef WL_BASE_TABLE_LAYOUT_H
#define WL_BASE_TABLE_LAYOUT_H

#include "base/table.h"

enum { WL_TABLE_GAP = 2 }; /* blanks between columns */

/* [columns] each */
struct wl_table_layout {
    size_t *natural; /* the width of the widest cell; 0: nothing to show, here or any more */
    size_t *widths;  /* 0: not shown */
    bool *left_out;  /* for want of width */
    size_t limit;    /* the line's */
};

/* Text columns become narrower first; then columns are left out, the least important ones first. */
struct wl_table_layout wl_table_layout_new(const struct wl_table *t, size_t limit, struct wl_arena *a);

/* Continues with what was left out, in which the columns that stay are again. False: nothing is left, or nothing more
 * would fit. */
bool wl_table_layout_next(const struct wl_table *t, struct wl_table_layout *l, struct wl_arena *a);

/* The names of the columns that are left out; NULL: none. */
const char *wl_table_layout_left_out(const struct wl_table *t, const struct wl_table_layout *l, struct wl_arena *a);

/* One past the last row that is printed. */
static inline size_t wl_table_end_row(const struct wl_table *t) { return wl_table_rows(t) - t->cut; }

#endif
