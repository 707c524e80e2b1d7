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

/* The width in columns to which lines of the stream are laid out: that of its terminal (80 where the terminal does not
 * know it), else COLUMNS, else 0: no limit. Programs and files get whole lines and all columns of tables. */
int wl_out_width(enum wl_out to);
bool wl_out_is_terminal(enum wl_out to);

/* The lines of its terminal; 24 where there is none, or it does not know. */
int wl_out_height(enum wl_out to);

/* The width of text that is for people alone, such as --help: the same, and 80 instead of no limit. */
int wl_out_text_width(enum wl_out to);

/* Colours of text: on terminals that have them, unless NO_COLOR is set (no-color.org) or TERM is "dumb"; or always, or
 * never. */
enum wl_color { WL_COLOR_AUTO, WL_COLOR_ALWAYS, WL_COLOR_NEVER };
void wl_out_color_set(enum wl_color color);
bool wl_out_has_color(enum wl_out to);

/* Draw the progress line on stderr's terminal, cut to its width; and clear it. */
bool wl_out_status_enabled(void);
void wl_out_status_draw(const char *line);
void wl_out_status_erase(void);

/* Text of several lines that is drawn over itself: erases the last n lines of stdout's terminal. */
bool wl_out_redraw_enabled(void);
void wl_out_erase_lines(size_t n);

#endif
