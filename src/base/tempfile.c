#include "base/tempfile.h"

#include "base/crc.h"
#include "base/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static const char mark[] = ".wattlaw-", lock_name[] = "lock";
enum { RANDOM = 16, CHECK = 8, STEM_MAX = 200, NAME_BYTES = STEM_MAX + 64, ATTEMPTS = 32 };

/* ---- names ---- */

static uint32_t check_of(const char *stem, size_t n, const char *random)
{
    char host[256] = "";
    const char *given = getenv("WATTLAW_HOST");
    if ((!given || !*given) && gethostname(host, sizeof host - 1) == 0) given = host;
    if (!given) given = "";
    uint32_t crc = wl_crc32c(0, given, strlen(given) + 1);
    crc = wl_crc32c(crc, stem, n);
    return wl_crc32c(crc, random, RANDOM);
}

static uint64_t random_bits(void)
{
    uint64_t bits;
    struct timespec t;
    if (getrandom(&bits, sizeof bits, 0) == sizeof bits) return bits;
    clock_gettime(CLOCK_MONOTONIC, &t); /* a kernel without getrandom; O_EXCL still protects */
    return (uint64_t)t.tv_nsec << 32 ^ (uint64_t)t.tv_sec << 20 ^ (uint64_t)getpid();
}

static void make_name(char name[NAME_BYTES], const char *base)
{
    size_t n = strlen(base);
    char random[RANDOM + 1];
    if (n > STEM_MAX)
        for (n = STEM_MAX; n > 0 && (base[n] & 0xc0) == 0x80; n--) continue; /* whole characters of UTF-8 */
    snprintf(random, sizeof random, "%016llx", (unsigned long long)random_bits());
    snprintf(name, NAME_BYTES, ".%.*s%s%s%08x", (int)n, base, mark, random, (unsigned)check_of(base, n, random));
}

/* Where the mark is in a temporary name; NULL: it is none. */
static const char *mark_of(const char *name)
{
    const size_t n = strlen(name), tail = strlen(mark) + RANDOM + CHECK;
    if (n <= tail + 1 || name[0] != '.') return NULL;
    const char *at = name + n - tail, *digits = at + strlen(mark);
    if (memcmp(at, mark, strlen(mark)) != 0) return NULL;
    return strspn(digits, "0123456789abcdef") == RANDOM + CHECK ? at : NULL;
}

bool wl_tempfile_is_name_of_any_host(const char *name) { return mark_of(name) != NULL; }

bool wl_tempfile_is_name(const char *name)
{
    const char *at = mark_of(name);
    char check[CHECK + 1];
    if (!at) return false;
    const char *random = at + strlen(mark);
    snprintf(check, sizeof check, "%08x", (unsigned)check_of(name + 1, (size_t)(at - name) - 1, random));
    return memcmp(random + RANDOM, check, CHECK) == 0;
}

/* A new temporary name next to `path` at each call. */
static int make_path(char out[WL_TEMPFILE_PATH], const char *path, struct wl_err *e)
{
    char name[NAME_BYTES];
    const char *base = wl_path_base(path);
    if (!*base) return wl_fail(e, WL_EINVAL, "\"%s\": not the name of a file", path);
    make_name(name, base);
    int n = snprintf(out, WL_TEMPFILE_PATH, "%.*s%s", (int)(base - path), path, name);
    return n < WL_TEMPFILE_PATH ? 0 : wl_fail(e, WL_EINVAL, "%s: the path is too long", path);
}

/* ---- locks ---- */

/* 1: we hold the lock, 0: another process does, -1: this file system has no locks; then nothing is ever cleaned up. */
static int try_lock(int fd)
{
    struct flock l = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
    if (fcntl(fd, F_OFD_SETLK, &l) == 0) return 1;
    return errno == EAGAIN || errno == EACCES ? 0 : -1;
}

/* A cleaning process may have removed it between creation and locking. */
static bool still_named(int fd)
{
    struct stat st;
    return try_lock(fd) != 0 && fstat(fd, &st) == 0 && st.st_nlink > 0;
}

/* ---- making ---- */

int wl_tempfile(char name[WL_TEMPFILE_PATH], const char *path, unsigned mode, struct wl_err *e)
{
    for (int i = 0; i < ATTEMPTS; i++) {
        int rc = make_path(name, path, e);
        if (rc) return rc;
        int fd = open(name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
        if (fd < 0 && errno == EEXIST) continue;
        if (fd < 0) return wl_fail_errno(e, "%s: cannot write", path);
        if (still_named(fd)) return fd;
        close(fd);
    }
    return wl_fail(e, WL_EIO, "%s: cannot write: new files next to it disappear at once", path);
}

/* The lock file contains the folder's name, so that a renamed folder with a lock file in it is not removed. */
static int lock_in(const char *folder)
{
    char path[WL_TEMPFILE_PATH + sizeof lock_name + 1];
    const char *name = wl_path_base(folder);
    snprintf(path, sizeof path, "%s/%s", folder, lock_name);
    int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0) return -1;
    bool named = still_named(fd), written = named && write(fd, name, strlen(name)) == (ssize_t)strlen(name);
    if (written) return fd;
    int en = !named ? ENOENT : errno ? errno : EIO;
    close(fd);
    errno = en;
    return -1;
}

int wl_tempdir(struct wl_tempdir *f, const char *path, struct wl_err *e)
{
    for (int i = 0; i < ATTEMPTS; i++) {
        int rc = make_path(f->path, path, e);
        if (rc) return rc;
        int n = snprintf(f->inner, sizeof f->inner, "%s/%s", f->path, wl_path_base(path));
        if (n >= (int)sizeof f->inner) return wl_fail(e, WL_EINVAL, "%s: the path is too long", path);
        if (mkdir(f->path, 0777) != 0 && errno != EEXIST)
            return wl_fail_errno(e, "%s: cannot create a folder next to it", path);
        f->lock = lock_in(f->path);
        if (f->lock >= 0) return 0;
        if (errno != ENOENT && errno != EEXIST) return wl_fail_errno(e, "%s: cannot write", f->path);
    }
    return wl_fail(e, WL_EIO, "%s: cannot write: new folders next to it disappear at once", path);
}

/* ---- removing ---- */

static bool remove_within(int dir, const char *spared, dev_t device, int depth);

/* By descriptors, so that renaming or linking a part of the tree meanwhile cannot redirect the removal. */
static bool remove_entry(int dir, const char *name, dev_t device, int depth)
{
    struct stat st;
    if (unlinkat(dir, name, 0) == 0) return true;
    int fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0) return false;
    bool empty = fstat(fd, &st) == 0 && st.st_dev == device && remove_within(fd, NULL, device, depth + 1);
    close(fd);
    return empty && unlinkat(dir, name, AT_REMOVEDIR) == 0;
}

/* All that is in an open folder except `spared`; other file systems mounted in it stay. */
static bool remove_within(int dir, const char *spared, dev_t device, int depth)
{
    enum { DEPTH_MAX = 200 }; /* each takes two descriptors */
    int again = depth < DEPTH_MAX ? openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    DIR *d = again < 0 ? NULL : fdopendir(again);
    bool all = d != NULL;
    for (const struct dirent *entry; d && (entry = readdir(d));) {
        const char *name = entry->d_name;
        if (wl_str_eq(name, ".") || wl_str_eq(name, "..") || (spared && wl_str_eq(name, spared))) continue;
        all &= remove_entry(dir, name, device, depth);
    }
    if (d) closedir(d);
    if (!d && again >= 0) close(again);
    return all;
}

/* The lock is removed last, so that the rest of an interrupted removal can be recognised. */
static bool remove_tree(int parent, const char *name, int folder)
{
    struct stat st;
    if (fstat(folder, &st) || !remove_within(folder, lock_name, st.st_dev, 0)) return false;
    return unlinkat(folder, lock_name, 0) == 0 && unlinkat(parent, name, AT_REMOVEDIR) == 0;
}

static bool is_same(int fd, int folder, const char *name)
{
    struct stat a, b;
    return fstat(fd, &a) == 0 && fstatat(folder, name, &b, AT_SYMLINK_NOFOLLOW) == 0 && a.st_dev == b.st_dev &&
           a.st_ino == b.st_ino;
}

void wl_tempdir_remove(struct wl_tempdir *f)
{
    int fd = open(f->path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd >= 0 && is_same(f->lock, fd, lock_name)) remove_tree(AT_FDCWD, f->path, fd);
    if (fd >= 0) close(fd);
    close(f->lock);
}

/* Locks a regular file of this user without other names; -1: something else, or in use. */
static int claim_stale(int dir, const char *name)
{
    struct stat st;
    int fd = openat(dir, name, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0) return -1;
    bool ours = fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_uid == geteuid() && st.st_nlink == 1;
    if (ours && try_lock(fd) == 1) return fd;
    close(fd);
    return -1;
}

static bool clean_file(int dir, const char *name)
{
    int fd = claim_stale(dir, name);
    bool gone = fd >= 0 && unlinkat(dir, name, 0) == 0;
    if (fd >= 0) close(fd);
    return gone;
}

static bool is_lock_of(int lock, const char *name)
{
    char text[NAME_BYTES];
    ssize_t n = pread(lock, text, sizeof text, 0);
    return n == (ssize_t)strlen(name) && memcmp(text, name, (size_t)n) == 0;
}

static bool clean_folder(int dir, const char *name)
{
    struct stat st;
    int fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0) return false;
    int lock = fstat(fd, &st) == 0 && st.st_uid == geteuid() ? claim_stale(fd, lock_name) : -1;
    bool gone = false;
    if (lock < 0)
        gone = unlinkat(dir, name, AT_REMOVEDIR) == 0; /* empty: its creator died before locking it */
    else if (is_lock_of(lock, name))
        gone = remove_tree(dir, name, fd);
    if (lock >= 0) close(lock);
    close(fd);
    return gone;
}

int wl_tempfile_clean(const char *folder)
{
    int removed = 0;
    DIR *d = opendir(folder);
    if (!d) return 0;
    for (const struct dirent *entry; (entry = readdir(d));)
        if (wl_tempfile_is_name(entry->d_name))
            removed += clean_file(dirfd(d), entry->d_name) || clean_folder(dirfd(d), entry->d_name);
    closedir(d);
    return removed;
}
