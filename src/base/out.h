/* Output of the programs: the only code that writes to stdout and stderr (tools/check-output).
 *
 * Text is filtered (printable.h): text from a store, a file or a program never reaches a terminal as a control
 * character and cannot start a new line. Formats are literals: their line ends and blanks are printed. Arguments of %s
 * and %c are escaped and stay on one line. Our own escape sequences (the progress bar) are written here only.
 *
 * Data for programs (JSON, CSV) is not filtered: JSON has its own escapes (json.h), CSV keeps every byte. Output of a
 * measured command is passed through unchanged (job/pump.c).
 *
 * A call is one write to its stream, so that lines of several processes do not mix, unless longer than 4 KiB.
 */
#ifndef WL_BASE_OUT_H
#define WL_BASE_OUT_H

#include "base/err.h"

#include <stdio.h>

enum wl_out { WL_STDOUT, WL_STDERR };

/* printf with all conversions but %n, %m, %lc and %ls. As in printf, except that the width of %s counts printed
 * characters. */
void wl_print(const char *fmt, ...) WL_PRINTF(1, 2);  /* to stdout */
void wl_eprint(const char *fmt, ...) WL_PRINTF(1, 2); /* to stderr */
void wl_fprint(enum wl_out to, const char *fmt, ...) WL_PRINTF(2, 3);
void wl_fprintv(enum wl_out to, const char *fmt, va_list ap) WL_PRINTF(2, 0);

/* Prints our own text of several lines: line ends and tabs stay, the rest is filtered. Foreign parts must be escaped
 * before (wl_printable). */
void wl_print_text(enum wl_out to, const char *text);

/* stdout for data, byte for byte. */
FILE *wl_out_data(void);

/* The same for a stdout that is a terminal: data is escaped as text of several lines. Closing it prints the rest. NULL:
 * no memory. */
FILE *wl_out_escaped(void);

/* Redirect our stdout, and that of programs we start, to stderr; and restore it. For a command that runs others and
 * prints its own data. WL_EIO: out of descriptors. */
int wl_out_redirect(int *kept, struct wl_err *e) WL_MUST_CHECK;
void wl_out_restore(int kept);

/* Flushes stdout. 0, or the errno of this or an earlier write; EPIPE: the reader has closed the pipe; EIO: unknown. */
int wl_out_flush(void);

/* The width of the stream's terminal in columns; 0: not a terminal. */
int wl_out_width(enum wl_out to);
bool wl_out_is_terminal(enum wl_out to);

/* Draw the progress line on stderr's terminal, cut to its width; and clear it. */
bool wl_out_status_enabled(void);
void wl_out_status_draw(const char *line);
void wl_out_status_erase(void);

#endif
