/* Making and removing files below a root. Paths are walked folder by folder without following links: a root may be an
 * image that somebody else has made, whose links would lead out of it. */
#include "cmd/wattlaw/setup/setup.h"

#include "base/trust.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { TEXT_MAX = 1 << 16 };

/* ---- walking ---- */

/* Opens the folder of a path; -1 with errno. *name: its last part. */
static int open_parent(const char *root, const char *path, const char **name)
{
    char part[NAME_MAX + 1];
    int fd = open(*root ? root : "/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    for (path += strspn(path, "/"); fd >= 0; path += strspn(path, "/")) {
        size_t n = strcspn(path, "/");
        *name = path;
        if (!path[n]) return fd;
        if (n > NAME_MAX) n = NAME_MAX; /* does not exist */
        memcpy(part, path, n);
        part[n] = '\0';
        int next = openat(fd, part, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC), en = errno;
        close(fd);
        errno = en;
        fd = next;
        path += n;
    }
    return fd;
}

static int fail_at(struct wl_err *e, const char *root, const char *path, const char *what)
{
    bool is_link = errno == ELOOP || errno == ENOTDIR;
    if (is_link)
        return wl_fail(e, WL_EINVAL, "%s%s: a folder on its path is a link or a file; it is not followed", root, path);
    return wl_fail_errno(e, "%s%s: cannot %s", root, path, what);
}

/* ---- what is there ---- */

/* The content of a regular file of less than TEXT_MAX bytes; -1 with errno: it is something else, or cannot be read. */
static ssize_t read_file(int folder, const char *name, char data[TEXT_MAX], uid_t *owner)
{
    struct stat st;
    int fd = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0) return -1;
    ssize_t n = fstat(fd, &st) ? -1 : S_ISREG(st.st_mode) ? read(fd, data, TEXT_MAX) : (errno = EINVAL, -1);
    int en = n == TEXT_MAX ? EFBIG : errno;
    if (n >= 0) *owner = st.st_uid;
    close(fd);
    errno = en;
    return n == TEXT_MAX ? -1 : n;
}

/* Size and checksum of a regular file; false: it is something else, or cannot be read. */
static bool sum_file(int folder, const char *name, int64_t *size, uint32_t *crc)
{
    char data[TEXT_MAX];
    uid_t owner;
    ssize_t n = read_file(folder, name, data, &owner);
    if (n < 0) return false;
    *size = n;
    *crc = wl_crc32c(0, data, (size_t)n);
    return true;
}

static bool is_same(int folder, const char *name, const struct wl_setup_made *made)
{
    char target[PATH_MAX];
    struct stat st;
    int64_t size;
    uint32_t crc;
    ssize_t n;
    switch (made->type) {
    case WL_SETUP_FOLDER: return fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode);
    case WL_SETUP_LINK:
        n = readlinkat(folder, name, target, sizeof target);
        return n == (ssize_t)strlen(made->target) && memcmp(target, made->target, (size_t)n) == 0;
    case WL_SETUP_FILE: break;
    }
    return sum_file(folder, name, &size, &crc) && size == made->size && crc == made->crc;
}

static const struct wl_setup_made *made_at(const struct wl_setup_record *r, const char *path)
{
    for (size_t i = 0; i < r->n; i++)
        if (wl_str_eq(r->v[i].path, path)) return &r->v[i];
    return NULL;
}

static int inspect(const char *root, struct wl_setup_item *item, const struct wl_setup_record *r, struct wl_arena *a,
                   struct wl_err *e)
{
    const char *name;
    struct stat st;
    struct wl_setup_record wanted = { 0 };
    const struct wl_setup_made *before = made_at(r, item->path);
    wl_setup_record_add(&wanted, item, a);
    item->state = WL_SETUP_MISSING;
    int folder = open_parent(root, item->path, &name);
    if (folder < 0) return errno == ENOENT ? 0 : fail_at(e, root, item->path, "examine");
    if (fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW) == 0) {
        item->open_to_others = item->type == WL_SETUP_FOLDER && S_ISDIR(st.st_mode) &&
                               (wl_is_open_to_others(&st) || (!*root && st.st_uid != 0));
        item->state = is_same(folder, name, &wanted.v[0])       ? WL_SETUP_SAME
                      : before && is_same(folder, name, before) ? WL_SETUP_OLD
                                                                : WL_SETUP_FOREIGN;
    }
    close(folder);
    return 0;
}

int wl_setup_inspect(const char *root, struct wl_setup_items *items, const struct wl_setup_record *r, struct wl_err *e)
{
    struct wl_arena *a = wl_arena_new(NULL);
    int rc = 0;
    for (size_t i = 0; i < items->n && rc == 0; i++) rc = inspect(root, &items->v[i], r, a, e);
    wl_arena_free(a);
    return rc;
}

/* ---- making ---- */

/* Owner and group are those of this process: root, or who builds an image. */
static bool write_file(int folder, const char *name, const char *text, unsigned mode)
{
    size_t n = strlen(text);
    int fd = openat(folder, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0) return false;
    bool ok = write(fd, text, n) == (ssize_t)n && fchmod(fd, mode) == 0 && fsync(fd) == 0;
    int en = errno;
    close(fd);
    if (!ok) unlinkat(folder, name, 0);
    errno = en;
    return ok;
}

/* Despite the umask. */
static bool make_folder(int folder, const char *name, unsigned mode)
{
    if (mkdirat(folder, name, 0700)) return false;
    int fd = openat(folder, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    bool ok = fd >= 0 && fchmod(fd, mode) == 0;
    int en = errno;
    if (fd >= 0) close(fd);
    errno = en;
    return ok;
}

int wl_setup_make(const char *root, const struct wl_setup_item *item, struct wl_err *e)
{
    const char *name;
    bool ok = true;
    if (item->state != WL_SETUP_MISSING && item->state != WL_SETUP_OLD) return 0;
    int folder = open_parent(root, item->path, &name);
    if (folder < 0) return fail_at(e, root, item->path, "make");
    if (item->state == WL_SETUP_OLD) ok = unlinkat(folder, name, 0) == 0;
    switch (item->type) {
    case WL_SETUP_FOLDER: ok = ok && make_folder(folder, name, item->mode); break;
    case WL_SETUP_FILE: ok = ok && write_file(folder, name, item->text, item->mode); break;
    case WL_SETUP_LINK: ok = ok && symlinkat(item->text, folder, name) == 0; break;
    }
    int rc = ok ? 0 : fail_at(e, root, item->path, "make");
    close(folder);
    return rc;
}

/* ---- the record, which is written more than once ---- */

int wl_setup_read_text(const char *root, const char *path, char **text, struct wl_arena *a, struct wl_err *e)
{
    char data[TEXT_MAX];
    const char *name;
    uid_t owner = 0;
    *text = NULL;
    int folder = open_parent(root, path, &name);
    if (folder < 0) return errno == ENOENT ? 0 : fail_at(e, root, path, "read");
    ssize_t n = read_file(folder, name, data, &owner);
    int en = errno;
    close(folder);
    if (n < 0 && en == ENOENT) return 0;
    if (n < 0 && en == ELOOP) return wl_fail(e, WL_EINVAL, "%s%s: a link; it is not followed", root, path);
    errno = en;
    if (n < 0) return wl_fail_errno(e, "%s%s: expected a file of ours", root, path);
    if (owner != 0 && owner != geteuid())
        return wl_fail(e, WL_EPERM, "%s%s: belongs to another user (%u)", root, path, (unsigned)owner);
    *text = wl_strndup(a, data, (size_t)n);
    return 0;
}

int wl_setup_replace_text(const char *root, const char *path, const char *text, struct wl_err *e)
{
    const char *name;
    char temporary[NAME_MAX + 1];
    int folder = open_parent(root, path, &name);
    if (folder < 0) return fail_at(e, root, path, "write");
    snprintf(temporary, sizeof temporary, ".%s.new", name);
    (void)unlinkat(folder, temporary, 0); /* of a setup that was killed; the folder is root's */
    bool ok = write_file(folder, temporary, text, 0644);
    if (ok && renameat(folder, temporary, folder, name)) {
        int en = errno;
        ok = false;
        unlinkat(folder, temporary, 0);
        errno = en;
    }
    int rc = ok ? 0 : fail_at(e, root, path, "write");
    close(folder);
    return rc;
}

int wl_setup_remove_text(const char *root, const char *path, struct wl_err *e)
{
    const char *name;
    int folder = open_parent(root, path, &name);
    if (folder < 0) return errno == ENOENT ? 0 : fail_at(e, root, path, "remove");
    int rc = unlinkat(folder, name, 0) && errno != ENOENT ? fail_at(e, root, path, "remove") : 0;
    close(folder);
    return rc;
}

/* ---- removing ---- */

int wl_setup_remove(const char *root, struct wl_setup_made *made, bool dry_run, struct wl_err *e)
{
    const char *name;
    struct stat st;
    int folder = open_parent(root, made->path, &name);
    made->missing = folder < 0 && errno == ENOENT;
    if (folder < 0) return made->missing ? 0 : fail_at(e, root, made->path, "remove");
    int rc = 0;
    if (fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW)) {
        made->missing = errno == ENOENT;
        if (!made->missing) rc = fail_at(e, root, made->path, "examine");
    } else if (!is_same(folder, name, made)) {
        made->left = "changed since it was made";
    } else if (dry_run || unlinkat(folder, name, made->type == WL_SETUP_FOLDER ? AT_REMOVEDIR : 0) == 0) {
        made->done = !dry_run;
    } else if (errno == ENOTEMPTY || errno == EEXIST) {
        made->left = "not empty";
    } else {
        rc = fail_at(e, root, made->path, "remove");
    }
    close(folder);
    return rc;
}

size_t wl_setup_close_counters(const char *root, gid_t group, struct wl_arena *a)
{
    const char *folder = wl_strf(a, "%s/sys/class/powercap", root);
    struct wl_strs zones = { 0 };
    size_t closed = 0;
    if (wl_dir_list(folder, &zones, a, NULL) < 0) zones.n = 0;
    for (size_t i = 0; i < zones.n; i++) {
        struct stat st;
        int fd =
            open(wl_strf(a, "%s/%s/energy_uj", folder, zones.v[i]), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
        if (fd < 0) continue;
        if (fstat(fd, &st) == 0 && st.st_gid == group && (st.st_mode & 0777) == 0440)
            closed += fchmod(fd, 0400) == 0 && fchown(fd, 0, 0) == 0;
        close(fd);
    }
    return closed;
}
