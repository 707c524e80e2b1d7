/* The runtime folder: one with a name of ours that nobody else can write to, in a folder that all processes of the node
 * see. docs/adr/018
 *
 * Everybody can write to /dev/shm and /tmp: what has our name there may be somebody else's. The folder is wattlaw-UID;
 * if that is not ours, one with a random suffix, which nobody can take first. If several processes make such folders at
 * once, they have to agree on one: a folder counts when it has its lock file, which is made after a delay in which the
 * others could see the folder, and of those the first by name counts. */
#include "rank/runtime_dir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

static const char lock_name[] = "lock";
static const int64_t SETTLE_NS = WL_NS_PER_S / 4; /* for other processes to make theirs, or to see ours */
enum { ATTEMPTS = 16, PARENTS_MAX = 2 };

static void close_fd(void *what) { close(*(int *)what); }

/* The folder, if it is one, not a link, ours, and only we can write to it; else -1. */
static int open_ours(int parent, const char *name)
{
    struct stat st;
    int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0) return -1;
    if (fstat(fd, &st) == 0 && st.st_uid == geteuid() && !(st.st_mode & 022)) return fd;
    close(fd);
    return -1;
}

static int open_lock(int fd, bool make)
{
    return openat(fd, lock_name, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | (make ? O_CREAT : 0), 0600);
}

static bool is_settled(int fd)
{
    int lock = open_lock(fd, false);
    if (lock >= 0) close(lock);
    return lock >= 0;
}

/* wattlaw-1000, wattlaw-1000-0123456789abcdef */
static bool is_runtime_dir_name(const char *name, const char *plain)
{
    size_t n = strlen(plain);
    return wl_str_starts(name, plain) && (!name[n] || (name[n] == '-' && strlen(name + n) == 17));
}

/* The first by name of our folders that count, else of those that do not count yet. -1: there is none. */
static int find_runtime_dir(const char *parent_path, int parent, const char *plain, bool *settled, const char **name,
                            struct wl_arena *a)
{
    struct wl_strs names;
    int found = -1;
    *settled = false;
    if (wl_dir_list(parent_path, &names, a, NULL) < 0) return -1;
    for (size_t i = 0; i < names.n && !*settled; i++) {
        int fd = is_runtime_dir_name(names.v[i], plain) ? open_ours(parent, names.v[i]) : -1;
        if (fd < 0) continue;
        *settled = is_settled(fd);
        if (found >= 0 && !*settled) {
            close(fd);
            continue;
        }
        if (found >= 0) close(found);
        found = fd;
        *name = names.v[i];
    }
    return found;
}

/* A name that nobody could have guessed. */
static int make_random(int parent, const char *plain, const char **made, struct wl_arena *a)
{
    uint64_t bits;
    for (int i = 0; i < ATTEMPTS; i++) {
        if (getrandom(&bits, sizeof bits, 0) != sizeof bits) return -1;
        *made = wl_strf(a, "%s-%016llx", plain, (unsigned long long)bits);
        if (mkdirat(parent, *made, 0700) == 0) return 0;
        if (errno != EEXIST) return -1;
    }
    return -1;
}

/* Whoever can write in the parent can rename our folder, unless the sticky bit is set. */
static int open_parent(const char *parent_path, struct wl_err *e)
{
    struct stat st;
    int fd = open(parent_path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) return wl_fail_errno(e, "%s", parent_path);
    if (fstat(fd, &st) == 0 && (!(st.st_mode & 022) || (st.st_mode & S_ISVTX))) return fd;
    close(fd);
    return wl_fail(e, WL_EPERM, "%s: others can write in it, and its sticky bit is not set", parent_path);
}

/* wattlaw-UID itself counts as soon as it exists. -1: it is somebody else's, or (errno not EEXIST) cannot be made. */
static int open_plain(int parent, const char *plain)
{
    if (mkdirat(parent, plain, 0700) != 0 && errno != EEXIST) return -1;
    int fd = open_ours(parent, plain);
    errno = EEXIST;
    return fd;
}

/* wattlaw-UID is somebody else's: a folder with a random suffix, an existing one or a new one. */
static int open_other(const char *parent_path, int parent, const char *plain, const char **name, struct wl_arena *a,
                      struct wl_err *e)
{
    const char *made = NULL;
    bool settled;
    int fd = find_runtime_dir(parent_path, parent, plain, &settled, name, a);
    if (fd >= 0) close(fd);
    if (fd < 0 && make_random(parent, plain, &made, a) < 0)
        return wl_fail(e, WL_EPERM, "%s: %s is not ours, and no other folder can be made", parent_path, plain);
    wl_sleep_until(wl_now_ns() + SETTLE_NS);
    fd = find_runtime_dir(parent_path, parent, plain, &settled, name, a);
    if (made && fd >= 0 && !wl_str_eq(made, *name)) unlinkat(parent, made, AT_REMOVEDIR); /* another one counts */
    return fd < 0 ? wl_fail(e, WL_EPERM, "%s: our folder in it disappeared", parent_path) : fd;
}

static int open_in(const char *parent_path, int parent, const char **name, struct wl_arena *a, struct wl_err *e)
{
    const char *plain = wl_strf(a, "wattlaw-%u", (unsigned)geteuid());
    bool settled;
    int fd = find_runtime_dir(parent_path, parent, plain, &settled, name, a);
    if (settled) return fd;
    if (fd >= 0) close(fd);
    *name = plain;
    fd = open_plain(parent, plain);
    if (fd < 0 && errno != EEXIST) return wl_fail_errno(e, "%s: cannot make a folder in it", parent_path);
    return fd < 0 ? open_other(parent_path, parent, plain, name, a, e) : fd;
}

/* Our folder in one parent, with its lock file. */
static int open_dir_in(const char *parent_path, const char **folder, struct wl_arena *a, struct wl_err *e)
{
    const char *name;
    int parent = open_parent(parent_path, e);
    if (parent < 0) return parent;
    int fd = open_in(parent_path, parent, &name, a, e);
    close(parent);
    if (fd < 0) return fd;
    *folder = wl_path_join(a, parent_path, name);
    int lock = open_lock(fd, true);
    if (lock >= 0) {
        close(lock);
        return fd;
    }
    int rc = wl_fail_errno(e, "%s/%s", *folder, lock_name);
    close(fd);
    return rc;
}

static size_t candidate_parents(const char *out[PARENTS_MAX])
{
    const char *given = getenv("WATTLAW_NODE_DIR");
    out[0] = given;
    if (given && *given) return 1;
    out[0] = "/dev/shm";
    out[1] = "/tmp";
    return 2;
}

int wl_runtime_dir_open(const char **folder, struct wl_arena *a, struct wl_err *e)
{
    const char *parents[PARENTS_MAX];
    size_t n = candidate_parents(parents);
    bool given = n == 1;
    int *fd = wl_new(a, int);
    *fd = -1;
    if (given && mkdir(parents[0], 0700) != 0 && errno != EEXIST)
        return wl_fail_errno(e, "WATTLAW_NODE_DIR: %s: cannot make the folder", parents[0]);
    for (size_t i = 0; i < n && *fd < 0; i++) *fd = open_dir_in(parents[i], folder, a, e);
    if (*fd < 0)
        return wl_err_prefix(e, given ? "WATTLAW_NODE_DIR" : "no folder in which the processes of this node can meet");
    wl_defer(a, close_fd, fd);
    return *fd;
}

void wl_runtime_dir_others(int ours, wl_runtime_dir_visit *visit, void *ctx, struct wl_arena *a)
{
    const char *parents[PARENTS_MAX], *plain = wl_strf(a, "wattlaw-%u", (unsigned)geteuid());
    struct stat here, st;
    size_t n = candidate_parents(parents);
    if (fstat(ours, &here) != 0) return;
    for (size_t p = 0; p < n; p++) {
        struct wl_strs names;
        int parent = open(parents[p], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (parent < 0) continue;
        if (wl_dir_list(parents[p], &names, a, NULL) < 0) names.n = 0;
        for (size_t i = 0; i < names.n; i++) {
            int fd = is_runtime_dir_name(names.v[i], plain) ? open_ours(parent, names.v[i]) : -1;
            if (fd < 0) continue;
            bool same = fstat(fd, &st) == 0 && st.st_dev == here.st_dev && st.st_ino == here.st_ino;
            if (!same) visit(ctx, fd, wl_path_join(a, parents[p], names.v[i]));
            close(fd);
        }
        close(parent);
    }
}
