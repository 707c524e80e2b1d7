#include "mark/tail.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { ROOM = 64 * 1024 };

struct wl_tail {
    const char *path;
    int fd;         /* -1: not there yet */
    ino_t inode;    /* of fd */
    int64_t offset; /* in the file, of buf[end] */
    int64_t until;  /* in the file: this round ends there */
    bool in_rounds, may_restart;
    int64_t line;   /* given so far */
    size_t at, end; /* unread bytes of buf */
    bool skipping;  /* the rest of a line that was too long */
    char buf[ROOM];
};

static void tail_close(void *what)
{
    struct wl_tail *t = what;
    if (t->fd >= 0) close(t->fd);
    t->fd = -1;
}

struct wl_tail *wl_tail_new(const char *path, struct wl_arena *a)
{
    struct wl_tail *t = wl_new(a, struct wl_tail);
    t->path = wl_strdup(a, path);
    t->fd = -1;
    t->until = INT64_MAX;
    t->may_restart = true;
    wl_defer(a, tail_close, t);
    return t;
}

static void set_until(struct wl_tail *t, const struct stat *st) { t->until = t->in_rounds ? st->st_size : INT64_MAX; }

void wl_tail_round(struct wl_tail *t)
{
    struct stat st;
    t->in_rounds = t->may_restart = true;
    if (t->fd >= 0 && fstat(t->fd, &st) == 0) set_until(t, &st);
}

static void from_start(struct wl_tail *t)
{
    t->offset = t->line = 0;
    t->at = t->end = 0;
    t->skipping = false;
}

static int not_regular(const struct wl_tail *t, struct wl_err *e)
{
    return wl_fail(e, WL_EIO, "%s: not a regular file", t->path);
}

/* 1: open, 0: not there yet. The writer may have put anything there: a pipe would block, a device never ends, and
 * opening either may have effects. */
static int tail_open(struct wl_tail *t, struct wl_err *e)
{
    struct stat st;
    if (t->fd >= 0) return 1;
    if (stat(t->path, &st) == 0 && !S_ISREG(st.st_mode)) return not_regular(t, e);
    t->fd = open(t->path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (t->fd < 0) return errno == ENOENT ? 0 : wl_fail_errno(e, "%s", t->path);
    const bool regular = fstat(t->fd, &st) == 0 && S_ISREG(st.st_mode); /* replaced meanwhile? */
    if (!regular) {
        tail_close(t);
        return not_regular(t, e);
    }
    t->inode = st.st_ino;
    set_until(t, &st);
    from_start(t);
    return 1;
}

/* At the end of the file: has it been cut or replaced, so that there is something to read from its start? Once in a
 * round, which would not end otherwise. */
static bool restarted(struct wl_tail *t)
{
    struct stat st;
    const bool known = fstat(t->fd, &st) == 0;
    if (!t->may_restart || (known && st.st_size > t->offset)) return false; /* the rest is for the next round */
    if (t->in_rounds) t->may_restart = false;
    if (known && st.st_size < t->offset) {
        lseek(t->fd, 0, SEEK_SET);
        from_start(t);
        set_until(t, &st);
        return true;
    }
    if (stat(t->path, &st) == 0 && st.st_ino != t->inode) {
        tail_close(t);
        return true;
    }
    t->may_restart = true;
    return false;
}

/* Appends more to the buffer at buf[end]: 1: read something, 0: end of the file. */
static int more(struct wl_tail *t, struct wl_err *e)
{
    ssize_t got;
    if (t->at > 0) {
        memmove(t->buf, t->buf + t->at, t->end - t->at);
        t->end -= t->at;
        t->at = 0;
    }
    const int64_t left = t->until - t->offset, room = ROOM - (int64_t)t->end;
    if (left <= 0) return 0;
    do {
        got = read(t->fd, t->buf + t->end, (size_t)(left < room ? left : room));
    } while (got < 0 && errno == EINTR);
    if (got < 0) return wl_fail_errno(e, "%s", t->path);
    t->end += (size_t)got;
    t->offset += got;
    return got > 0;
}

static const char *line_end(const struct wl_tail *t, bool cr_too)
{
    const char *from = t->buf + t->at;
    size_t n = t->end - t->at;
    const char *lf = memchr(from, '\n', n);
    const char *cr = cr_too ? memchr(from, '\r', lf ? (size_t)(lf - from) : n) : NULL;
    return cr ? cr : lf;
}

/* Returns n bytes at `at` and skips them with their line end. */
static int give(struct wl_tail *t, size_t n, size_t used, const char **line, size_t *len)
{
    *line = t->buf + t->at;
    *len = n;
    t->at += used;
    t->line++;
    return 1;
}

int wl_tail_line(struct wl_tail *t, bool cr_too, const char **line, size_t *n, struct wl_err *e)
{
    for (;;) {
        int rc = tail_open(t, e);
        const char *end;
        if (rc <= 0) return rc;
        end = line_end(t, cr_too);
        if (end && t->skipping) {
            t->skipping = false;
            t->at = (size_t)(end - t->buf) + 1;
        } else if (end) {
            size_t len = (size_t)(end - t->buf) - t->at;
            return give(t, len, len + 1, line, n);
        } else if (t->end - t->at == ROOM && !t->skipping) {
            t->skipping = true;
            return give(t, ROOM, ROOM, line, n);
        } else {
            if (t->skipping) t->at = t->end;
            rc = more(t, e);
            if (rc < 0) return rc;
            if (rc == 0 && !restarted(t)) return 0;
        }
    }
}

int wl_tail_rest(struct wl_tail *t, const char **line, size_t *n, struct wl_err *e)
{
    int rc = wl_tail_line(t, false, line, n, e);
    size_t left = t->end - t->at;
    if (rc != 0 || t->fd < 0 || left == 0 || t->skipping) return rc;
    return give(t, left, left, line, n);
}

int64_t wl_tail_line_number(const struct wl_tail *t) { return t->line; }

/* ---- marks ---- */

struct wl_mark_tail {
    struct wl_tail *tail;
    char where[512];
};

struct wl_mark_tail *wl_mark_tail_new(const char *path, struct wl_arena *a)
{
    struct wl_mark_tail *t = wl_new(a, struct wl_mark_tail);
    t->tail = wl_tail_new(path, a);
    return t;
}

void wl_mark_tail_round(struct wl_mark_tail *t) { wl_tail_round(t->tail); }

int wl_mark_tail_next(struct wl_mark_tail *t, struct wl_mark *m, struct wl_err *e)
{
    const char *line;
    size_t n;
    int rc = wl_tail_line(t->tail, false, &line, &n, e);
    if (rc <= 0) return rc;
    snprintf(t->where, sizeof t->where, "%s:%lld", t->tail->path, (long long)t->tail->line);
    rc = wl_mark_parse(m, line, n, t->where, e);
    return rc == 0 ? 1 : rc;
}

const char *wl_mark_tail_where(const struct wl_mark_tail *t) { return t->where; }

int wl_mark_tail_last(struct wl_mark_tail *t, struct wl_mark *m, struct wl_err *e)
{
    const char *line;
    size_t n;
    int rc = wl_mark_tail_next(t, m, e);
    if (rc != 0) return rc;
    rc = wl_tail_rest(t->tail, &line, &n, e);
    if (rc <= 0) return rc;
    return wl_fail(e, WL_EINVAL, "%s:%lld: last line without newline: '%.*s'", t->tail->path, (long long)t->tail->line,
                   (int)(n < 80 ? n : 80), line);
}
