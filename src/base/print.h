/* Text on stdout and stderr for people: print.c and out.c alone write to them (tools/check-output).
 *
 * Text is filtered (printable.h): text from a store, a file or a program never reaches a terminal as a control
 * character and cannot start a new line. Formats are literals and printed unfiltered: their line ends and blanks, and
 * the escape sequences of the progress line (out.c). Arguments of %s and %c are escaped and stay on one line.
 *
 * Data for programs (JSON, CSV) is not filtered: JSON has its own escapes (json.h), CSV keeps every byte. Output of a
 * measured command is passed through unchanged (job/pump.c).
 *
 * On a terminal, lines are folded at words to its width (fold.h); a format that begins with "\r" draws over the line
 * and is not. A line that ends without "\n" keeps its last word until the next call or wl_print_flush.
 *
 * A call is one write to its stream, so that lines of several processes do not mix, unless longer than 4 KiB.
 */
#ifndef WL_BASE_PRINT_H
#define WL_BASE_PRINT_H

#include "base/out.h"

/* printf with all conversions but %n, %m, %lc and %ls. As in printf, except that the width of %s counts printed
 * characters. */
void wl_print(const char *fmt, ...) WL_PRINTF(1, 2);  /* to stdout */
void wl_eprint(const char *fmt, ...) WL_PRINTF(1, 2); /* to stderr */
void wl_fprint(enum wl_out to, const char *fmt, ...) WL_PRINTF(2, 3);
void wl_fprintv(enum wl_out to, const char *fmt, va_list ap) WL_PRINTF(2, 0);

/* The same in a colour that says what is meant, where the stream has colours (wl_out_has_color). Nothing is said by the
 * colour alone. */
enum wl_style {
    WL_PLAIN,
    WL_ANSWER,  /* bold */
    WL_GOOD,    /* green */
    WL_CAUTION, /* yellow */
    WL_BAD,     /* red */
};
void wl_fprint_in(enum wl_out to, enum wl_style style, const char *fmt, ...) WL_PRINTF(3, 4);

/* Prints what a call without "\n" has kept. */
void wl_print_flush(enum wl_out to);

/* Lines that these functions have ended on the stream, as folded. */
size_t wl_print_lines(enum wl_out to);

/* Prints our own text of several lines, unfolded: line ends and tabs stay, the rest is filtered. Foreign parts must be
 * escaped before (wl_printable). The second prints n bytes, NULs among them escaped. */
void wl_print_text(enum wl_out to, const char *text);
void wl_print_textn(enum wl_out to, const char *text, size_t n);

#endif
