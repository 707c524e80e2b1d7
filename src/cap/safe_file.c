#include "cap/safe_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

bool wl_is_printable_ascii(const char *s)
{
    for (; *s; s++)
        if (*s < ' ' || *s > '~') return false;
    return true;
}

char *wl_printable_ascii(const char *s, struct wl_arena *a)
{
    char *plain = wl_strdup(a, s);
    for (char *c = plain; *c; c++)
        if (*c < ' ' || *c > '~') *c = '?';
    return plain;
}

/* Opens the folder of the file without following a link. */
static int open_folder(const char *path, struct wl_err *e)
{
    struct wl_arena *a = wl_arena_new(NULL);
    int fd = open(wl_path_dir(a, path), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0) wl_fail_errno(e, "%s: cannot open its folder", wl_printable_ascii(path, a));
    wl_arena_free(a);
    return fd;
}

static const char *why_not_plain(const struct stat *st)
{
    if (!S_ISREG(st->st_mode)) return "is not a regular file";
    if (st->st_nlink != 1) return "has more than one hard link";
    return st->st_mode & (S_IWGRP | S_IWOTH) ? "is writable by others than its owner" : NULL;
}

static int open_checked(int folder, const char *name, const char *label, int flags, struct stat *st, struct wl_err *e)
{
    /* checked before opening, since opening a device may have effects, and after it, since it may have been replaced */
    if (fstatat(folder, name, st, AT_SYMLINK_NOFOLLOW)) return wl_fail_errno(e, "%s", label);
    const char *why = why_not_plain(st);
    if (why) return wl_fail(e, WL_EINVAL, "%s: %s", label, why);
    int fd = openat(folder, name, flags | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0) return wl_fail_errno(e, "%s: cannot open", label);
    why = fstat(fd, st) ? "cannot be examined" : why_not_plain(st);
    if (!why) return fd;
    close(fd);
    return wl_fail(e, WL_EINVAL, "%s: %s", label, why);
}

int wl_safe_file_open(const char *path, int flags, struct stat *st, struct wl_err *e)
{
    int folder = open_folder(path, e);
    if (folder < 0) return e->code;
    struct wl_arena *a = wl_arena_new(NULL);
    int fd = open_checked(folder, wl_path_base(path), wl_printable_ascii(path, a), flags, st, e);
    wl_arena_free(a);
    close(folder);
    return fd;
}

int wl_safe_file_read(const char *path, size_t max, char **text, uid_t *owner, struct wl_arena *a, struct wl_err *e)
{
    struct stat st;
    struct wl_text t = WL_TEXT(a);
    const char *label = wl_printable_ascii(path, a);
    int fd = wl_safe_file_open(path, O_RDONLY, &st, e);
    if (fd < 0) return fd;
    ssize_t n = 1;
    while (n > 0 && t.n <= max) {
        char buf[4096];
        n = read(fd, buf, sizeof buf);
        if (n > 0) wl_text_addn(&t, buf, (size_t)n);
    }
    int rc = n < 0 ? wl_fail_errno(e, "%s: cannot read", label) : 0;
    close(fd);
    if (rc == 0 && t.n > max) rc = wl_fail(e, WL_EINVAL, "%s: larger than %zu bytes", label, max);
    if (rc == 0 && strlen(t.s) != t.n) rc = wl_fail(e, WL_EINVAL, "%s: contains a NUL byte", label);
    *text = t.s;
    *owner = st.st_uid;
    return rc;
}

/* Written to a temporary file and renamed, so that readers see all or nothing. Readable for all, whatever the umask. */
int wl_safe_file_write(const char *path, const char *text, struct wl_err *e)
{
    struct wl_arena *a = wl_arena_new(NULL);
    const char *part = wl_strf(a, "%s.part", path), *end = text + strlen(text);
    int folder = open_folder(path, e), rc = folder < 0 ? e->code : 0;
    if (rc == 0) unlink(part); /* left by a dead process with our pid and start time */
    int fd = rc < 0 ? -1 : open(part, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    bool bad = fd < 0;
    while (!bad && text < end) {
        ssize_t n = write(fd, text, (size_t)(end - text));
        if (n > 0) text += n;
        bad = n < 0 && errno != EINTR;
    }
    bad = bad || fchmod(fd, 0644) || fsync(fd) || rename(part, path) || fsync(folder);
    if (rc == 0 && bad) rc = wl_fail_errno(e, "%s: cannot write", path);
    if (fd >= 0) close(fd);
    if (fd >= 0 && rc < 0) unlink(part);
    if (folder >= 0) close(folder);
    wl_arena_free(a);
    return rc;
}

int wl_safe_file_remove(const char *path, uid_t owner, struct wl_err *e)
{
    struct stat st;
    struct wl_arena *a = wl_arena_new(NULL);
    const char *label = wl_printable_ascii(path, a), *name = wl_path_base(path);
    int folder = open_folder(path, e), rc = folder < 0 ? e->code : 0;
    int fd = rc < 0 ? -1 : open_checked(folder, name, label, O_WRONLY, &st, e);
    if (rc == 0 && fd < 0) rc = fd;
    if (rc == 0 && st.st_uid != owner) rc = wl_fail(e, WL_EPERM, "%s: belongs to another user now", label);
    if (rc == 0 && (unlinkat(folder, name, 0) || fsync(folder))) rc = wl_fail_errno(e, "%s: cannot remove", label);
    if (rc == 0 && ftruncate(fd, 0))
        rc = wl_fail_errno(e, "%s: cannot truncate", label); /* last: an empty file is not a journal */
    if (fd >= 0) close(fd);
    if (folder >= 0) close(folder);
    wl_arena_free(a);
    return rc;
}
