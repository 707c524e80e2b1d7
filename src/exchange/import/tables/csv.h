/* A table with a header: fields by the name of their column, in whatever order a version of the tool writes them. */
#ifndef WL_EXCHANGE_IMPORT_TABLES_CSV_H
#define WL_EXCHANGE_IMPORT_TABLES_CSV_H

#include "exchange/import/reader.h"

enum { WL_TABLE_COLUMNS = 512 };

struct wl_table_csv {
    struct wl_import *im;
    char separator;
    struct wl_slice v[WL_TABLE_COLUMNS]; /* of the row that was read last */
    const char *column[WL_TABLE_COLUMNS];
    int n;              /* columns */
    int64_t rows;       /* read so far, rejected ones among them */
    struct wl_arena *a; /* of the names */
};

/* Reads the header, the first line that is not a comment. `first`: a column that it must have, or NULL. WL_EINVAL: it
 * is missing, or a column is there twice. */
int wl_table_csv_open(struct wl_table_csv *t, struct wl_import *im, char separator, const char *first,
                      struct wl_arena *a, struct wl_err *e) WL_MUST_CHECK;

/* 1: the next row; 0: the end. A row with another number of fields is rejected; a header among the rows, as of several
 * tables in one file, is the header of what follows. WL_EINVAL: there was no row at all. */
int wl_table_csv_next(struct wl_table_csv *t, struct wl_err *e) WL_MUST_CHECK;

/* Calls `read` for each row, with memory that lasts until the next one; the first error ends it. */
typedef int wl_table_csv_row(const struct wl_table_csv *t, struct wl_arena *scratch, struct wl_err *e);
int wl_table_csv_each(struct wl_table_csv *t, wl_table_csv_row *read, struct wl_err *e) WL_MUST_CHECK;

bool wl_table_csv_has(const struct wl_table_csv *t, const char *column);

/* The field of that column; empty where there is no such column. */
struct wl_slice wl_table_csv_field(const struct wl_table_csv *t, const char *column);
const char *wl_table_csv_text(const struct wl_table_csv *t, const char *column,
                              struct wl_arena *a); /* NULL: no value */

/* The number of that column, NAN where there is none. False, and the row rejected: it is not a decimal number. */
bool wl_table_csv_real(const struct wl_table_csv *t, const char *column, double *out);

/* The same, and the row is rejected where it has none, or one that is not above 0. */
bool wl_table_csv_positive(const struct wl_table_csv *t, const char *column, double *out);

/* Is the first line of the file a header with all of these columns? Ends with NULL. */
bool wl_table_csv_recognise(const struct wl_import_head *h, char separator, const char *const *columns,
                            struct wl_arena *a);

#endif
