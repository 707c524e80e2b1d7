/* Forwards the output of a job byte by byte as it comes, and passes each line to the regular expressions that make
 * marks. */
#include "job/job.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { LINE_MAX_BYTES = 65536 };

struct wl_pump {
    int from, to;
    int write_fd; /* the write end, until the job has it */
    char chunk[PIPE_BUF];
    size_t n, written;
    char *line; /* [LINE_MAX_BYTES] */
    size_t line_n;
    wl_pump_line *on_line;
    void *ctx;
};

static void close_ends(void *what)
{
    struct wl_pump *p = what;
    if (p->from >= 0) close(p->from);
    if (p->write_fd >= 0) close(p->write_fd);
    p->from = p->write_fd = -1;
}

int wl_pump_open(struct wl_pump **out, int to, wl_pump_line *on_line, void *ctx, struct wl_arena *a, struct wl_err *e)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC)) return wl_fail_errno(e, "cannot read the job's output: pipe");
    fcntl(ends[0], F_SETFL, O_NONBLOCK);
    struct wl_pump *p = wl_new(a, struct wl_pump);
    *p = (struct wl_pump) { .from = ends[0], .write_fd = ends[1], .to = to, .on_line = on_line, .ctx = ctx };
    p->line = wl_alloc(a, LINE_MAX_BYTES);
    wl_defer(a, close_ends, p);
    *out = p;
    return 0;
}

int wl_pump_write_fd(const struct wl_pump *p) { return p->write_fd; }

void wl_pump_close_write_fd(struct wl_pump *p)
{
    close(p->write_fd);
    p->write_fd = -1;
}

struct pollfd wl_pump_pollfd(const struct wl_pump *p)
{
    bool full = p->written < p->n;
    return (struct pollfd) { .fd = full ? p->to : p->from, .events = full ? POLLOUT : POLLIN };
}

static void scan_lines(struct wl_pump *p, const char *s, size_t n)
{
    int64_t now = wl_now_ns();
    for (size_t i = 0; i < n; i++) {
        if (s[i] == '\n' || s[i] == '\r') {
            if (p->line_n) p->on_line(p->ctx, now, p->line, p->line_n);
            p->line_n = 0;
        } else if (p->line_n < LINE_MAX_BYTES) {
            p->line[p->line_n++] = s[i];
        }
    }
}

/* Fills the chunk; false at the end of the output, or if nothing can be read now. */
static bool read_chunk(struct wl_pump *p)
{
    if (p->from < 0) return false;
    ssize_t n = read(p->from, p->chunk, sizeof p->chunk);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) return false;
    if (n <= 0) {
        close_ends(p);
        return false;
    }
    p->n = (size_t)n;
    p->written = 0;
    scan_lines(p, p->chunk, p->n);
    return true;
}

/* At most PIPE_BUF bytes, which do not block once poll(2) has reported the descriptor writable. If the reader is gone,
 * closing our end gives the job the SIGPIPE that it would have got without us. */
static void write_chunk(struct wl_pump *p)
{
    ssize_t n = write(p->to, p->chunk + p->written, p->n - p->written);
    if (n >= 0) {
        p->written += (size_t)n;
    } else if (errno != EINTR && errno != EAGAIN) {
        p->written = p->n;
        close_ends(p);
    }
}

void wl_pump_forward(struct wl_pump *p)
{
    if (p->written < p->n)
        write_chunk(p);
    else
        read_chunk(p);
}

static void write_all(struct wl_pump *p)
{
    while (p->written < p->n) {
        struct pollfd to = { .fd = p->to, .events = POLLOUT };
        poll(&to, 1, -1); /* it may be non-blocking */
        write_chunk(p);
    }
}

/* What the job has written is in the pipe: what a daemon that it left adds meanwhile is not waited for. */
void wl_pump_drain(struct wl_pump *p)
{
    int left = 0;
    if (p->from >= 0 && ioctl(p->from, FIONREAD, &left) < 0) left = 0;
    write_all(p);
    for (; left > 0 && read_chunk(p); left -= (int)p->n) write_all(p);
    if (p->line_n) p->on_line(p->ctx, wl_now_ns(), p->line, p->line_n);
    p->line_n = 0;
    close_ends(p);
}
