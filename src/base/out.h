/* Everything the programs print: the one place that writes to stdout and stderr (tools/check-output holds the rest of
 * src/ to it).
 *
 * Text for people is filtered on its way (printable.h): what a store, a file or a program said reaches no terminal as a
 * control character, and cannot begin a line of its own. The formats are ours and literal: their line ends and blanks
 * stay. The arguments of %s and %c are not: what is in them is shown in one line. Escape sequences of our own (the
 * progress bar) are written here and by nobody else.
 *
 * Data for programs (JSON, CSV) is not filtered: JSON escapes by its own rules (json.h), CSV keeps every byte.
 * What a measured command prints is not ours and passes through as it is (campaign/pump.c).
 *
 * A call is one write to its stream, so that lines of several processes do not tear, unless it is longer than 4 KiB.
 */
#ifndef WL_BASE_OUT_H
#define WL_BASE_OUT_H

#include "base/err.h"

#include <stdio.h>

enum wl_out { WL_STDOUT, WL_STDERR };

/* printf with all conversions but %n, %m, %lc and %ls. Widths and precisions of %s count as in printf, except that the
 * width counts characters of what is shown. */
void wl_print(const char *fmt, ...) WL_PRINTF(1, 2);  /* to stdout */
void wl_eprint(const char *fmt, ...) WL_PRINTF(1, 2); /* to stderr */
void wl_fprint(enum wl_out to, const char *fmt, ...) WL_PRINTF(2, 3);
void wl_fprintv(enum wl_out to, const char *fmt, va_list ap) WL_PRINTF(2, 0);

/* A text of ours in several lines: line ends and tabs stay, the rest is filtered. What came from outside must have been
 * escaped (wl_printable) before it became a part of it. */
void wl_print_text(enum wl_out to, const char *text);

/* Stdout for data of programs: as it is, byte for byte. */
FILE *wl_out_data(void);

/* The same for a stdout that is a terminal, which obeys what is in the data: what is written is escaped as text of
 * several lines. To be closed, which shows the rest. NULL: no memory. */
FILE *wl_out_escaped(void);

/* From here on our stdout, and that of programs which we start, is stderr; and it is stdout again. For a command that
 * runs others and prints data of its own. WL_EIO: no descriptor is left. */
int wl_out_redirect(int *kept, struct wl_err *e) WL_MUST_CHECK;
void wl_out_restore(int kept);

/* Writes what stdout still holds. 0, or the errno of this or an earlier write; EPIPE where whoever read it has gone;
 * EIO where it is not known. */
int wl_out_flush(void);

/* The columns of the terminal behind the stream; 0: it is not a terminal. */
int wl_out_width(enum wl_out to);
bool wl_out_is_terminal(enum wl_out to);

/* The line of the progress bar, drawn anew on stderr's terminal and cut to its width; and nothing in its place. */
bool wl_out_status_enabled(void);
void wl_out_status_draw(const char *line);
void wl_out_status_erase(void);

#endif
