#include "base/atomic_file.h"

#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- writing to the target directly ---- */

/* The descriptor of /dev/stdout, /dev/fd/3 and the like; -1: another name. Reopening these would start at the beginning
 * of a file to which the shell has redirected the descriptor, or truncate it. */
static int descriptor_of(const char *path)
{
    static const char *const folders[] = { "/dev/fd/", "/proc/self/fd/" };
    int64_t n;
    if (wl_str_eq(path, "/dev/stdout")) return STDOUT_FILENO;
    if (wl_str_eq(path, "/dev/stderr")) return STDERR_FILENO;
    for (size_t i = 0; i < WL_COUNT(folders); i++)
        if (wl_str_starts(path, folders[i]) && wl_str_to_int(path + strlen(folders[i]), &n) == 0 && n >= 0 &&
            n <= INT32_MAX)
            return (int)n;
    return -1;
}

static int open_descriptor(struct wl_atomic_file *o, int fd, struct wl_err *e)
{
    fflush(stdout); /* what we have printed comes first */
    o->fd = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    return o->fd < 0 ? wl_fail_errno(e, "%s: cannot write", o->path) : 0;
}

/* Neither created nor truncated; refused if the target has become a regular file. */
static int open_special(struct wl_atomic_file *o, struct wl_err *e)
{
    struct stat st;
    o->fd = open(o->path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
    if (o->fd < 0) return wl_fail_errno(e, "%s: cannot write", o->path);
    if (fstat(o->fd, &st) == 0 && !S_ISREG(st.st_mode)) return 0;
    close(o->fd);
    o->fd = -1;
    return wl_fail(e, WL_EINVAL, "%s: was replaced while being opened", o->path);
}

/* ---- opening ---- */

static int refuse(const char *path, const char *what, struct wl_err *e)
{
    return wl_fail(e, WL_EINVAL, "%s: is %s and cannot be replaced: choose another name, or remove it", path, what);
}

static bool is_special(mode_t mode) { return S_ISCHR(mode) || S_ISBLK(mode) || S_ISFIFO(mode); }

static int open_found(struct wl_atomic_file *o, const struct stat *found, enum wl_atomic_file_kind kind,
                      struct wl_err *e)
{
    struct stat st = *found;
    bool link = S_ISLNK(st.st_mode);
    if (kind == WL_ATOMIC_FILE_USER && (!link || stat(o->path, &st) == 0) && is_special(st.st_mode))
        return open_special(o, e);
    if (link) return refuse(o->path, "a symbolic link", e);
    return refuse(o->path, S_ISDIR(st.st_mode) ? "a folder" : "not a regular file", e);
}

static void clean_beside(const char *path)
{
    char folder[WL_TEMPFILE_PATH];
    size_t n = (size_t)(wl_path_base(path) - path);
    if (n >= sizeof folder) return;
    memcpy(folder, n ? path : ".", n ? n : 1);
    folder[n ? n : 1] = '\0';
    wl_tempfile_clean(folder);
}

int wl_atomic_file_open(struct wl_atomic_file *o, const char *path, enum wl_atomic_file_kind kind, struct wl_err *e)
{
    struct stat st;
    *o = (struct wl_atomic_file) { .fd = -1, .path = path };
    int fd = kind == WL_ATOMIC_FILE_USER ? descriptor_of(path) : -1;
    if (fd >= 0) return open_descriptor(o, fd, e);
    bool there = lstat(path, &st) == 0;
    if (!there && errno != ENOENT) return wl_fail_errno(e, "%s: cannot write", path);
    if (there && !S_ISREG(st.st_mode)) return open_found(o, &st, kind, e);
    if (there) o->mode = st.st_mode & 0777;
    if (kind != WL_ATOMIC_FILE_INTERNAL_MANY) clean_beside(path);
    int made = wl_tempfile(o->temporary, path, there ? 0600 : 0666, e);
    if (made < 0) {
        o->temporary[0] = '\0';
        return made;
    }
    o->fd = made;
    return 0;
}

/* ---- writing ---- */

int wl_atomic_file_write(struct wl_atomic_file *o, const void *data, size_t n, struct wl_err *e)
{
    for (const char *at = data; n;) {
        ssize_t put = write(o->fd, at, n);
        if (put < 0 && errno == EINTR) continue;
        if (put < 0) return wl_fail_errno(e, "%s: cannot write", o->path);
        at += put;
        n -= (size_t)put;
    }
    return 0;
}

FILE *wl_atomic_file_stream(struct wl_atomic_file *o)
{
    if (!o->stream) o->stream = fdopen(o->fd, "w");
    return o->stream;
}

static int close_file(struct wl_atomic_file *o)
{
    int rc = o->stream ? fclose(o->stream) : close(o->fd);
    o->stream = NULL;
    o->fd = -1;
    return rc;
}

void wl_atomic_file_discard(void *atomic_file)
{
    struct wl_atomic_file *o = atomic_file;
    if (o->fd < 0) return;
    if (*o->temporary) unlink(o->temporary);
    close_file(o);
}

/* Called before the close, which gives up the lock. Without the sync, a power loss after the rename could lose both the
 * old and the new file. */
static bool finish(struct wl_atomic_file *o)
{
    if (o->stream && (ferror(o->stream) || fflush(o->stream))) return false;
    if (!*o->temporary) return true;
    if (o->mode && fchmod(o->fd, o->mode)) return false;
    return fsync(o->fd) == 0 && rename(o->temporary, o->path) == 0;
}

int wl_atomic_file_commit(struct wl_atomic_file *o, struct wl_err *e)
{
    errno = 0;
    if (!finish(o)) {
        int en = errno ? errno : EIO;
        wl_atomic_file_discard(o);
        errno = en;
        return wl_fail_errno(e, "%s: cannot write", o->path);
    }
    return close_file(o) ? wl_fail_errno(e, "%s: cannot write", o->path) : 0;
}

static int write_whole(const char *path, enum wl_atomic_file_kind kind, const char *data, size_t n, struct wl_err *e)
{
    struct wl_atomic_file o;
    int rc = wl_atomic_file_open(&o, path, kind, e);
    if (rc == 0) rc = wl_atomic_file_write(&o, data, n, e);
    if (rc == 0) return wl_atomic_file_commit(&o, e);
    wl_atomic_file_discard(&o);
    return rc;
}

int wl_file_write(const char *path, const char *data, size_t n, struct wl_err *e)
{
    return write_whole(path, WL_ATOMIC_FILE_INTERNAL, data, n, e);
}

int wl_file_write_user(const char *path, const char *data, size_t n, struct wl_err *e)
{
    return write_whole(path, WL_ATOMIC_FILE_USER, data, n, e);
}
