/* CSV (RFC 4180), read row by row: quoted fields, CRLF, a UTF-8 byte-order mark, any single-byte separator, and LF,
 * CRLF or CR at the ends of lines. */
#ifndef WL_BASE_CSV_H
#define WL_BASE_CSV_H

#include "base/str.h"

struct wl_csv {
    const char *path;
    struct wl_strs head; /* the header row */
    char **row;          /* the fields of the current row, head.n of them; each NULL before the first row */
    int line;            /* where the current row starts, at first the header; 1-based */
    bool decimal_comma;  /* wl_csv_real takes 12,5 for 12.5; false unless the caller sets it */
    struct wl_csv_reader *reader;
};

/* Opens a file and reads its header. Lines that start with # before the header are skipped. */
int wl_csv_open(struct wl_csv *csv, const char *path, char separator, struct wl_arena *a,
                struct wl_err *e) WL_MUST_CHECK;

/* A spreadsheet treats a cell that begins with = + - @, a tab or a carriage return as a formula, which may read other
 * files and start programs. wl_csv_put writes an apostrophe before such a text, unless it is a number, and reading
 * removes it, so that every text is read back unchanged (docs/formats.md, docs/adr/004). */

/* The next row: 1 with csv->row set, 0 at the end, negative on error (a row with another number of fields than the
 * header, an open quote at the end: file:line in the message). A row's text lives until the next call. */
int wl_csv_next(struct wl_csv *csv, struct wl_err *e) WL_MUST_CHECK;

/* The index of a column or -1. */
int wl_csv_column(const struct wl_csv *csv, const char *name);

/* A field as text, without blanks at its ends (those of a guarded text are its own); NULL where it is empty. */
char *wl_csv_text(const struct wl_csv *csv, int column, struct wl_arena *a);

/* A field as a number: an empty field is NAN ("not measured"); any other text that is not a decimal number (hexadecimal
 * is not) is an error that names file, line, column and value. */
int wl_csv_real(const struct wl_csv *csv, int column, double *out, struct wl_err *e) WL_MUST_CHECK;

/* Is a field a number with a decimal comma: 12,5 or -1,5e-3? */
bool wl_csv_has_decimal_comma(const char *field);

/* Writes a text, quoted and guarded against spreadsheets where needed. */
void wl_csv_put(struct wl_text *to, const char *field);

/* The text that wl_csv_put wrote so, without the quotes around it. */
char *wl_csv_plain(struct wl_arena *a, const char *field, size_t n);

#endif
