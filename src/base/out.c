#include "base/out.h"

#include "base/print.h"
#include "base/printable.h"
#include "base/utf8.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

static int descriptor(enum wl_out to) { return to == WL_STDERR ? STDERR_FILENO : STDOUT_FILENO; }

FILE *wl_out_data(void) { return stdout; }

/* ---- data on a terminal ---- */

struct escaped_stream {
    size_t n;
    char bytes[4096];
};

/* Prints the first n bytes: to the end of a line or, in a line longer than the buffer, of a character. */
static void print_first(struct escaped_stream *d, size_t n)
{
    wl_print_textn(WL_STDOUT, d->bytes, n);
    d->n -= n;
    memmove(d->bytes, d->bytes + n, d->n);
}

static size_t whole_characters(const struct escaped_stream *d)
{
    size_t n = d->n;
    while (n > d->n - 3 && ((unsigned char)d->bytes[n - 1] & 0xc0) == 0x80) n--;
    return (unsigned char)d->bytes[n - 1] >= 0xc0 ? n - 1 : d->n;
}

static ssize_t escaped_write(void *cookie, const char *s, size_t n)
{
    struct escaped_stream *d = cookie;
    for (size_t i = 0; i < n; i++) {
        d->bytes[d->n++] = s[i];
        if (s[i] == '\n')
            print_first(d, d->n);
        else if (d->n == sizeof d->bytes)
            print_first(d, whole_characters(d));
    }
    return (ssize_t)n;
}

static int escaped_close(void *cookie)
{
    struct escaped_stream *d = cookie;
    print_first(d, d->n);
    free(d);
    return 0;
}

FILE *wl_out_escaped(void)
{
    const cookie_io_functions_t functions = { .write = escaped_write, .close = escaped_close };
    struct escaped_stream *d = calloc(1, sizeof *d);
    FILE *f = d ? fopencookie(d, "w", functions) : NULL;
    if (!f) free(d);
    return f;
}

int wl_out_redirect(int *saved_fd, struct wl_err *e)
{
    wl_print_flush(WL_STDOUT);
    fflush(stdout);
    *saved_fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    if (*saved_fd >= 0 && dup2(STDERR_FILENO, STDOUT_FILENO) >= 0) return 0;
    if (*saved_fd >= 0) close(*saved_fd);
    return wl_fail_errno(e, "cannot redirect stdout to stderr");
}

void wl_out_restore(int saved_fd)
{
    wl_print_flush(WL_STDOUT);
    fflush(stdout);
    dup2(saved_fd, STDOUT_FILENO);
    close(saved_fd);
}

/* Has the reader of our output closed the pipe? The write that failed may have been an earlier one. */
static bool reader_gone(void)
{
    struct pollfd out = { .fd = STDOUT_FILENO, .events = POLLOUT };
    return poll(&out, 1, 0) == 1 && (out.revents & POLLERR);
}

int wl_out_flush(void)
{
    wl_print_flush(WL_STDOUT);
    errno = 0; /* an earlier write may have failed, with nothing left to write now */
    if (fflush(stdout) == 0 && !ferror(stdout)) return 0;
    const int en = errno;
    return reader_gone() ? EPIPE : en ? en : EIO;
}

bool wl_out_is_terminal(enum wl_out to) { return isatty(descriptor(to)); }

enum { USUAL_WIDTH = 80, LEAST_WIDTH = 20, USUAL_HEIGHT = 24, LEAST_HEIGHT = 10 };

/* COLUMNS, which shells keep to themselves and `watch` exports; 0: not set. */
static int columns_variable(void)
{
    const char *text = getenv("COLUMNS");
    const long n = text ? strtol(text, NULL, 10) : 0;
    return n >= LEAST_WIDTH && n <= INT_MAX ? (int)n : 0;
}

int wl_out_width(enum wl_out to)
{
    struct winsize size = { 0 };
    const int fd = descriptor(to), given = columns_variable();
    if (!isatty(fd)) return given;
    if (ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col) return size.ws_col < LEAST_WIDTH ? LEAST_WIDTH : size.ws_col;
    return given ? given : USUAL_WIDTH;
}

int wl_out_height(enum wl_out to)
{
    struct winsize size = { 0 };
    const bool known = isatty(descriptor(to)) && ioctl(descriptor(to), TIOCGWINSZ, &size) == 0;
    return known && size.ws_row >= LEAST_HEIGHT ? size.ws_row : USUAL_HEIGHT;
}

int wl_out_text_width(enum wl_out to)
{
    const int width = wl_out_width(to);
    return width ? width : USUAL_WIDTH;
}

static enum wl_color color = WL_COLOR_AUTO;

void wl_out_color_set(enum wl_color which) { color = which; }

static bool term_is_dumb(void)
{
    const char *term = getenv("TERM");
    return term && strcmp(term, "dumb") == 0;
}

bool wl_out_has_color(enum wl_out to)
{
    const char *no_color = getenv("NO_COLOR");
    if (color != WL_COLOR_AUTO) return color == WL_COLOR_ALWAYS;
    return wl_out_is_terminal(to) && !(no_color && *no_color) && !term_is_dumb();
}

/* ---- the progress bar ---- */

#define ERASE_LINE "\r\033[K"

bool wl_out_status_enabled(void) { return wl_out_is_terminal(WL_STDERR) && !term_is_dumb(); }

/* The bytes at the start of the text that take at most `columns` columns. */
static size_t fitting(const char *text, size_t columns)
{
    char escape[WL_ESCAPE_MAX];
    size_t at = 0;
    for (size_t step, width, n = strlen(text); at < n; at += step, columns -= width) {
        step = wl_printable_next(text + at, n - at, WL_PRINTABLE_LINE, escape);
        width = *escape ? strlen(escape) : wl_utf8_columns(text + at, step);
        if (width > columns) break;
    }
    return at;
}

void wl_out_status_draw(const char *text)
{
    const int width = wl_out_width(WL_STDERR);
    wl_eprint(ERASE_LINE "%.*s", (int)fitting(text, (width > 20 ? (size_t)width : 80) - 1), text);
}

void wl_out_status_erase(void) { wl_eprint(ERASE_LINE); }

/* ---- text that is drawn over itself ---- */

bool wl_out_redraw_enabled(void) { return wl_out_is_terminal(WL_STDOUT) && !term_is_dumb(); }

void wl_out_erase_lines(size_t n)
{
    if (n) wl_print("\r\033[%zuA\033[J", n);
}
