#include "base/out.h"

#include "base/print.h"
#include "base/printable.h"

#include <errno.h>
#include <fcntl.h>
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
    fflush(stdout);
    *saved_fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    if (*saved_fd >= 0 && dup2(STDERR_FILENO, STDOUT_FILENO) >= 0) return 0;
    if (*saved_fd >= 0) close(*saved_fd);
    return wl_fail_errno(e, "cannot redirect stdout to stderr");
}

void wl_out_restore(int saved_fd)
{
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
    errno = 0; /* an earlier write may have failed, with nothing left to write now */
    if (fflush(stdout) == 0 && !ferror(stdout)) return 0;
    const int en = errno;
    return reader_gone() ? EPIPE : en ? en : EIO;
}

bool wl_out_is_terminal(enum wl_out to) { return isatty(descriptor(to)); }

int wl_out_width(enum wl_out to)
{
    struct winsize size;
    if (!wl_out_is_terminal(to) || ioctl(descriptor(to), TIOCGWINSZ, &size) != 0) return 0;
    return size.ws_col;
}

/* ---- the progress bar ---- */

#define ERASE_LINE "\r\033[K"

bool wl_out_status_enabled(void)
{
    const char *term = getenv("TERM");
    return wl_out_is_terminal(WL_STDERR) && !(term && strcmp(term, "dumb") == 0);
}

/* The bytes at the start of the text that take at most `columns` columns. */
static size_t fitting(const char *text, size_t columns)
{
    char escape[WL_ESCAPE_MAX];
    size_t at = 0;
    for (size_t step, width, n = strlen(text); at < n; at += step, columns -= width) {
        step = wl_printable_next(text + at, n - at, WL_PRINTABLE_LINE, escape);
        width = *escape ? strlen(escape) : 1;
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
