/* What the rows of a table are about, for the page's pickers, and which of many rows a page holds. */
#ifndef WL_REPORT_TABLE_PAGE_ROWS_H
#define WL_REPORT_TABLE_PAGE_ROWS_H

#include "report/table/table.h"

/* Rows about the same: workloads and a factor. */
struct wl_report_row_key {
    size_t *of; /* [n_of] places in the table's workloads; none: about all of them */
    size_t n_of;
    const char *factor; /* NULL: about all */
    size_t rows;        /* so many */
};
struct wl_report_row_keys {
    struct wl_report_row_key *v;
    size_t n, cap;
    size_t *of_row; /* [n_rows] */
};

/* From the columns "workload", or "group" or "groups", whose names begin with that of a workload, and "factor". */
struct wl_report_row_keys wl_report_row_keys(const struct wl_report_table *t);

/* [n_rows] The rows that a page holds, at most `most`: some of each key, then the notable ones, then as many of each
 * key. A key has its notable rows first, then those at the head. */
const bool *wl_report_page_rows(const struct wl_report_table *t, const struct wl_report_row_keys *keys, size_t most);

#endif
