#include "exchange/import/hdf5.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static const char magic[] = "\x89HDF\r\n\x1a\n";
enum { MAGIC = sizeof magic - 1, MOST_BYTES = 1 << 29 };

bool wl_import_is_hdf5(const struct wl_import_head *h) { return h->n >= MAGIC && memcmp(h->text, magic, MAGIC) == 0; }

/* ---- the program ---- */

static const char *beside(const char *relative, struct wl_arena *a)
{
    char self[PATH_MAX];
    const ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    return n > 0 ? wl_path_join(a, wl_path_dir(a, wl_strndup(a, self, (size_t)n)), relative) : relative;
}

/* WATTLAW_HDF5, or that of an installed wattlaw or of its build folder. */
static int find_program(const char **out, const char *path, struct wl_arena *a, struct wl_err *e)
{
    const char *const named = getenv("WATTLAW_HDF5");
    const char *const files[] = { named && *named ? named : WL_HDF5_PROGRAM,
                                  beside("../libexec/wattlaw/wattlaw-hdf5", a), beside("wattlaw-hdf5", a) };
    for (size_t i = 0; i < (named && *named ? 1 : WL_COUNT(files)); i++) {
        *out = files[i];
        if (access(*out, X_OK) == 0) return 0;
    }
    return wl_fail(
        e, WL_EUNAVAIL,
        "%s: an HDF5 file: %s, which reads it, is missing: it comes with wattlaw-train (a build without HDF5 "
        "or with -Dtrain=disabled has neither)",
        path, files[0]);
}

/* ---- the process ---- */

struct converter {
    int file;      /* what it reads: the bytes of the file, without a name */
    int csv[2];    /* its stdout */
    int errors[2]; /* its stderr, to which nobody waits for room */
    pid_t pid;
};

static void close_fd(int *fd)
{
    if (*fd >= 0) close(*fd);
    *fd = -1;
}

static void close_all(struct converter *c)
{
    int *const all[] = { &c->file, &c->csv[0], &c->csv[1], &c->errors[0], &c->errors[1] };
    for (size_t i = 0; i < WL_COUNT(all); i++) close_fd(all[i]);
}

static int write_all(int fd, const char *bytes, size_t n, struct wl_err *e)
{
    while (n) {
        const ssize_t written = write(fd, bytes, n);
        if (written < 0 && errno == EINTR) continue;
        if (written < 0) return wl_fail_errno(e, "cannot hold an HDF5 file in memory");
        bytes += written;
        n -= (size_t)written;
    }
    return 0;
}

/* All of im->in, which may be a pipe, so that its checksum is known and no name can lead elsewhere meanwhile. */
static int copy_file(struct wl_lines *in, int fd, struct wl_err *e)
{
    struct wl_slice more;
    int rc = 0;
    do {
        if (in->bytes > MOST_BYTES)
            return wl_fail(e, WL_EINVAL, "%s: an HDF5 file of more than %d MB", in->path, MOST_BYTES >> 20);
        rc = write_all(fd, in->buf + in->from, in->to - in->from, e);
        in->from = in->to;
        if (rc == 0) rc = wl_lines_peek(in, 1, &more, e);
    } while (rc == 0 && more.n);
    return rc;
}

static int start(struct converter *c, const char *program, const char *tool, struct wl_err *e)
{
    char *const argv[] = { (char *)program, (char *)tool, NULL };
    const struct wl_strs env = { 0 };
    if (pipe2(c->csv, O_CLOEXEC) < 0 || pipe2(c->errors, O_CLOEXEC) < 0 || lseek(c->file, 0, SEEK_SET) < 0 ||
        fcntl(c->errors[1], F_SETFL, O_NONBLOCK) < 0)
        return wl_fail_errno(e, "cannot make a pipe");
    const struct wl_process_spawn how = { .argv = argv,
                                          .env = &env,
                                          .stdin_fd = c->file,
                                          .stdout_fd = c->csv[1],
                                          .stderr_fd = c->errors[1],
                                          .die_with_parent = true };
    int rc = wl_process_spawn(&how, &c->pid, e);
    close_fd(&c->csv[1]);
    close_fd(&c->errors[1]);
    return rc;
}

/* The first line of what it said. */
static const char *message_of(const struct converter *c, struct wl_arena *a)
{
    char text[512];
    const ssize_t n = read(c->errors[0], text, sizeof text - 1);
    if (n <= 0) return "";
    text[n] = '\0';
    text[strcspn(text, "\n")] = '\0';
    return wl_utf8_sanitize(a, wl_strdup(a, text));
}

static int check_end(const struct converter *c, const struct wl_process_result *end, const char *path,
                     struct wl_arena *a, struct wl_err *e)
{
    const char *said = message_of(c, a);
    if (end->signal == SIGXCPU)
        return wl_fail(e, WL_EINVAL,
                       "%s: HDF5 does not come to the end of this file in %.0f s of processor time: damaged", path,
                       (double)end->used.ru_utime.tv_sec + (double)end->used.ru_stime.tv_sec);
    if (end->signal)
        return wl_fail(e, WL_EINVAL, "%s: damaged: HDF5's library ended with signal %d on it (in a process of its own)",
                       path, end->signal);
    return end->status ? wl_fail(e, WL_EINVAL, "%s: %s", path, *said ? said : "cannot be read") : 0;
}

/* What the process said of the file is why its text makes no sense; where it was content, the text's error counts. */
static int finish(struct converter *c, int rc, struct wl_import *im, struct wl_arena *a, struct wl_err *e)
{
    struct wl_process_result end = { 0 };
    struct wl_err own = { 0 };
    bool done;
    const bool stopped = rc < 0;
    if (c->pid <= 0) return rc;
    close_fd(&c->csv[0]); /* writing more, it ends */
    if (stopped) kill(c->pid, SIGTERM);
    int ended = wl_process_wait(c->pid, true, &done, &end, &own);
    if (ended == 0 && !(stopped && end.signal == SIGTERM)) ended = check_end(c, &end, im->in->path, a, &own);
    if (ended == 0 || (stopped && end.signal == SIGPIPE)) return rc;
    *e = own;
    return ended;
}

static int read_hdf5(struct wl_import *im, const char *tool, int (*read_csv)(struct wl_import *, struct wl_err *),
                     struct wl_err *e)
{
    struct wl_arena *a = wl_arena_new(im->a);
    struct wl_lines *file = im->in, text;
    struct converter c = { -1, { -1, -1 }, { -1, -1 }, 0 };
    const char *program;
    int rc = find_program(&program, file->path, a, e);
    if (rc == 0 && (c.file = memfd_create("hdf5", MFD_CLOEXEC)) < 0)
        rc = wl_fail_errno(e, "cannot hold an HDF5 file in memory");
    if (rc == 0) rc = copy_file(file, c.file, e);
    if (rc == 0) rc = start(&c, program, tool, e);
    if (rc == 0) {
        wl_lines_of_fd(&text, wl_strf(im->a, "%s (as CSV)", file->path), c.csv[0], a);
        im->in = &text;
        rc = read_csv(im, e);
        im->in = file;
    }
    rc = finish(&c, rc, im, a, e);
    close_all(&c);
    wl_arena_free(a);
    return rc;
}

int wl_import_csv_or_hdf5(struct wl_import *im, const char *tool, int (*read_csv)(struct wl_import *, struct wl_err *),
                          struct wl_err *e)
{
    struct wl_slice head;
    int rc = wl_lines_peek(im->in, MAGIC, &head, e);
    if (rc < 0) return rc;
    const struct wl_import_head h = { .path = im->in->path, .text = head.s, .n = head.n };
    return wl_import_is_hdf5(&h) ? read_hdf5(im, tool, read_csv, e) : read_csv(im, e);
}
