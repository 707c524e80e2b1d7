/* Tables as values, written in several formats; numbers as people read them. */
#ifndef WL_REPORT_TABLE_TABLE_H
#define WL_REPORT_TABLE_TABLE_H

#include "base/base.h"

struct wl_report_column {
    const char *id;     /* name in CSV and JSON: speedup */
    const char *label;  /* heading: speed-up */
    const char *unit;   /* NULL: none */
    const char *metric; /* id of its row in wl_metric_docs, or NULL */
    int digits;         /* significant digits of its numbers; 0: a count */
    bool text;          /* left-aligned words */
    bool notable;       /* rows with a text here come first where a page has no room for all */
};

/* Columns from several lists. */
struct wl_report_columns {
    struct wl_report_column *v;
    size_t n, cap;
};
void wl_report_columns_add(struct wl_report_columns *to, const struct wl_report_column *v, size_t n,
                           struct wl_arena *a);

struct wl_report_cell {
    const char *text; /* NULL: the value is shown */
    double value;     /* NAN with text NULL: an empty cell */
};

struct wl_report_table {
    const char *id, *title, *caption; /* as in a figure */
    const char *workload, *factor;    /* what the whole table is about, for the page's pickers; NULL: rows say so */
    const struct wl_strs *workloads;  /* those of its document, "" for runs that name none; NULL: not known */
    const struct wl_report_column *columns;
    size_t n_columns;
    struct wl_report_cell *cells; /* [n_rows][n_columns] */
    size_t n_rows, n_cells, cap_cells;
    bool estimated, simulated;
    struct wl_arena *arena;
};

struct wl_report_table *wl_report_table_new(struct wl_arena *a, const char *id, const char *title,
                                            const struct wl_report_column *columns, size_t n_columns);

/* Makes room for so many rows at once. */
void wl_report_table_reserve(struct wl_report_table *t, size_t rows);

/* Cells are added from left to right, row by row; a row is complete with its last cell. */
void wl_report_table_real(struct wl_report_table *t, double value);
void wl_report_table_text(struct wl_report_table *t, const char *text); /* copied; NULL: an empty cell */

/* "text", "csv", "md", "tex" or "html"; NULL for another name. CSV has all digits, the others those of the column. */
typedef void wl_report_table_writer(const struct wl_report_table *t, struct wl_text *to);
wl_report_table_writer *wl_report_table_format(const char *name);

void wl_report_table_json(const struct wl_report_table *t, struct wl_json *object);

/* `digits` significant digits without an exponent where a person would write none; "" for NAN. */
char *wl_significant_digits(struct wl_arena *a, double value, int digits);

#endif
