/* A screen as rows of text: what is drawn on a terminal, printed, and compared in tests. */
#ifndef WL_CMD_WATTLAW_TOP_SCREEN_H
#define WL_CMD_WATTLAW_TOP_SCREEN_H

#include "base/base.h"

/* A part of a row in one style, from a byte on up to the next part. */
struct wl_top_span {
    size_t at;
    enum wl_style style;
};

struct wl_top_row {
    struct wl_text text;
    struct wl_top_span *spans;
    size_t n, cap;
};

struct wl_top_screen {
    struct wl_arena *a;
    size_t width; /* columns; no row is longer */
    struct wl_top_row *v;
    size_t n, cap;
};

struct wl_top_screen wl_top_screen_new(size_t width, struct wl_arena *a);

/* Begins a row. */
void wl_top_row(struct wl_top_screen *s);

/* Appends to the last row; what does not fit is cut off. Arguments of %s are escaped before (wl_printable). */
void wl_top_put(struct wl_top_screen *s, enum wl_style style, const char *fmt, ...) WL_PRINTF(3, 4);

/* The same, starting in that column at least. */
void wl_top_put_at(struct wl_top_screen *s, size_t column, enum wl_style style, const char *fmt, ...) WL_PRINTF(4, 5);

/* A bar of `length` columns: "[|||||     ]". share 0..1; NAN: empty. */
void wl_top_bar(struct wl_top_screen *s, size_t length, double share, enum wl_style style);

/* ---- tables ---- */

struct wl_top_column {
    const char *head;
    size_t width; /* of its cells, without the gap before them; 0: it takes what is left */
    size_t least; /* of a column without a width */
    bool right;
    int rank; /* columns of the highest rank go first where the screen is narrow; 0: never */
};

/* Which columns fit: fills shown[n], and *rest with the width of the column without one. */
void wl_top_fit(const struct wl_top_column *columns, size_t n, size_t width, bool *shown, size_t *rest);

/* Appends a cell, or the heads, of the columns that are shown. */
struct wl_top_table {
    const struct wl_top_column *columns;
    size_t n;
    bool *shown;
    size_t rest;
};
struct wl_top_table wl_top_table_new(struct wl_top_screen *s, const struct wl_top_column *columns, size_t n);
void wl_top_heads(struct wl_top_screen *s, const struct wl_top_table *t);

/* A row of n cells; NULL: missing, "-"; "": there is nothing to show. styles NULL: plain. */
void wl_top_cells(struct wl_top_screen *s, const struct wl_top_table *t, const char *const *cells,
                  const enum wl_style *styles);

#endif
