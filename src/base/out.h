/* The standard streams: data on stdout, redirection, write errors, terminals, the progress line. Text for people is
 * printed by print.h. */
#ifndef WL_BASE_OUT_H
#define WL_BASE_OUT_H

#include "base/err.h"

#include <stdio.h>

enum wl_out { WL_STDOUT, WL_STDERR };

/* stdout for data, byte for byte. */
FILE *wl_out_data(void);

/* The same for a stdout that is a terminal: data is escaped as text of several lines. Closing it prints the rest. NULL:
 * no memory. */
FILE *wl_out_escaped(void);

/* Redirect our stdout, and that of programs we start, to stderr; and restore it. For a command that runs others and
 * prints its own data. WL_EIO: out of descriptors. */
int wl_out_redirect(int *saved_fd, struct wl_err *e) WL_MUST_CHECK;
void wl_out_restore(int saved_fd);

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
