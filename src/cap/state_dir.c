#include "cap/state_dir.h"

#include "base/trust.h"
#include "cap/safe_file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

static const char MACHINE[] = "/run/wattlaw";

enum {
    LOCK_WAITS = 3,   /* driver calls that the holder of the lock may be waiting for */
    RETRY_US = 10000, /* for the lock */
    PLAIN_NAMES = 10, /* UID, UID.1 and so on; then random names, which nobody can take first */
    MAX_FOLDERS = 4,  /* of another user that are read */
    ATTEMPTS = 100,
};

/* ---- which folder ---- */

static bool is_named(const struct wl_cap_opts *o)
{
    const char *variable = getenv("WATTLAW_STATE_DIR");
    return o->state_dir || (variable && *variable);
}

char *wl_cap_state_dir(const struct wl_cap_opts *opts, struct wl_arena *a)
{
    if (!is_named(opts) && (geteuid() == 0 || wl_is_dir(MACHINE))) return wl_strdup(a, MACHINE);
    return wl_state_dir(opts->state_dir, a);
}

/* A user who set caps before the machine's folder existed has journals at home. */
void wl_cap_state_dirs(const struct wl_cap_opts *opts, struct wl_strs *out, struct wl_arena *a)
{
    const char *home = wl_state_dir(NULL, a);
    wl_strs_add(a, out, wl_cap_state_dir(opts, a));
    if (!is_named(opts) && geteuid() != 0 && !wl_str_eq(home, out->v[0]) && wl_is_dir(home)) wl_strs_add(a, out, home);
}

/* ---- making it ---- */

int wl_cap_state_make(const char *dir, struct wl_err *e)
{
    static const char other[] = "--cap-state-dir or WATTLAW_STATE_DIR names another folder";
    struct stat st;
    int rc = 0;
    if (wl_str_eq(dir, MACHINE) && mkdir(dir, 0755) == 0) {
        if (chmod(dir, 01777)) return wl_fail_errno(e, "%s: cannot make it writable for all users", dir);
    } else if (!wl_is_dir(dir)) {
        rc = wl_mkdirs(dir, e);
    }
    if (rc < 0) return wl_err_prefix(e, "the state folder for cap journals (%s)", other);
    if (stat(dir, &st)) return wl_fail_errno(e, "%s", dir);
    if (wl_is_open_to_others(&st) && st.st_uid == geteuid()) { /* created with a umask of 002 */
        if (chmod(dir, (st.st_mode & 07777) | S_ISVTX)) return wl_fail_errno(e, "%s: cannot make it sticky", dir);
    } else if (wl_is_open_to_others(&st)) {
        return wl_fail(e, WL_EPERM,
                       "%s: others can write to it and remove files of other users: sudo chmod +t %s, or %s", dir, dir,
                       other);
    }
    if (geteuid() == 0 && !wl_path_is_ours(dir))
        return wl_fail(e, WL_EPERM, "%s: a user other than root can replace a folder of this path; %s", dir, other);
    return 0;
}

/* ---- the lock: on the folder itself, which users can neither remove nor make unreadable ---- */

/* "process 4711 (python3) of user 1001": who holds an flock on this file. */
static char *lock_holder(int fd, struct wl_arena *a)
{
    enum { LOCKS_MAX = 4 << 20 };
    struct stat st, who;
    char *text = (char *)"", *name = (char *)"?";
    if (fstat(fd, &st) || wl_file_read("/proc/locks", LOCKS_MAX, &text, NULL, a, NULL) < 0) text = (char *)"";
    char *rest;
    for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
        long pid;
        unsigned long long inode;
        if (sscanf(line, "%*d: FLOCK %*s %*s %ld %*x:%*x:%llu", &pid, &inode) != 2 || inode != st.st_ino) continue;
        const char *proc = wl_strf(a, "/proc/%ld", pid);
        if (pid <= 0 || stat(proc, &who)) continue;
        if (wl_file_read(wl_path_join(a, proc, "comm"), 64, &name, NULL, a, NULL) < 0) name = (char *)"?";
        return wl_strf(a, "process %ld (%s) of user %u", pid, wl_printable_ascii(wl_str_strip(a, name), a),
                       (unsigned)who.st_uid);
    }
    return wl_strdup(a, "a process that is not visible here");
}

static int lock_until(int fd, const char *dir, double wait_s, struct wl_err *e)
{
    int64_t until_ns = wl_now_ns() + (int64_t)(wait_s * WL_NS_PER_S);
    while (flock(fd, LOCK_EX | LOCK_NB)) {
        if (errno != EWOULDBLOCK && errno != EINTR) return wl_fail_errno(e, "%s: cannot lock", dir);
        if (wl_now_ns() >= until_ns) {
            struct wl_arena *a = wl_arena_new(NULL);
            wl_fail(e, WL_EHUNG, "%s: has been locked for %g s by %s", dir, wait_s, lock_holder(fd, a));
            wl_arena_free(a);
            return WL_EHUNG;
        }
        usleep(RETRY_US);
    }
    return 0;
}

int wl_cap_state_lock(const char *dir, double call_s, struct wl_err *e)
{
    int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) return wl_fail_errno(e, "%s: cannot lock", dir);
    int rc = lock_until(fd, dir, LOCK_WAITS * call_s, e);
    if (rc == 0) return fd;
    close(fd);
    return rc;
}

/* ---- folders of users ---- */

/* "1001" or "1001.2": later names are used if somebody else has taken the earlier ones. */
static char *folder_name(unsigned user, int i, struct wl_arena *a)
{
    return i ? wl_strf(a, "%u.%d", user, i) : wl_strf(a, "%u", user);
}

static bool is_folder_name(const char *name, unsigned *user, struct wl_arena *a)
{
    int i = 0;
    return sscanf(name, "%u.%d", user, &i) >= 1 && i >= 0 && wl_str_eq(name, folder_name(*user, i, a));
}

static bool is_our_folder(const char *path)
{
    struct stat st;
    return lstat(path, &st) == 0 && S_ISDIR(st.st_mode) && st.st_uid == geteuid() && !(st.st_mode & 022);
}

/* One that we have made before, under whatever name. */
static char *find_our_folder(const char *dir, struct wl_arena *a)
{
    struct wl_strs names;
    unsigned user;
    if (wl_dir_list(dir, &names, a, NULL) < 0) return NULL;
    for (size_t i = 0; i < names.n; i++) {
        char *path = wl_path_join(a, dir, names.v[i]);
        if (is_folder_name(names.v[i], &user, a) && user == geteuid() && is_our_folder(path)) return path;
    }
    return NULL;
}

static int next_name(int i)
{
    uint32_t bits;
    if (i < PLAIN_NAMES || getrandom(&bits, sizeof bits, 0) != sizeof bits) return i;
    return (int)(bits >> 1);
}

int wl_cap_state_user_dir(const char *dir, char **out, struct wl_arena *a, struct wl_err *e)
{
    *out = find_our_folder(dir, a);
    for (int i = 0; i < ATTEMPTS && !*out; i++) {
        char *path = wl_path_join(a, dir, folder_name((unsigned)geteuid(), next_name(i), a));
        if (mkdir(path, 0700) == 0)
            *out = path;
        else if (errno != EEXIST)
            return wl_fail_errno(e, "%s: cannot create the folder (if several users set caps: sudo chmod 1777 %s)",
                                 path, dir);
    }
    if (!*out) return wl_fail(e, WL_EPERM, "%s: no free name for a folder of user %u", dir, (unsigned)geteuid());
    return chmod(*out, 0755) ? wl_fail_errno(e, "%s: cannot make it readable", *out) : 0;
}

/* ---- contents of a state folder ---- */

static int by_name(const void *x, const void *y) { return strcmp(*(char *const *)x, *(char *const *)y); }

/* The names in a folder, without following a link. */
static int list_folder(const char *path, struct wl_strs *out, struct stat *st, struct wl_arena *a, struct wl_err *e)
{
    const char *label = wl_printable_ascii(path, a);
    *out = (struct wl_strs) { 0 };
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR *d = fd < 0 || fstat(fd, st) ? NULL : fdopendir(fd);
    if (!d) {
        wl_fail_errno(e, "%s: cannot list the folder", label);
        if (fd >= 0) close(fd);
        return e->code;
    }
    const struct dirent *entry;
    while ((entry = readdir(d)))
        if (entry->d_name[0] != '.') wl_strs_add(a, out, entry->d_name);
    closedir(d);
    if (out->n > 0) qsort(out->v, out->n, sizeof *out->v, by_name);
    return 0;
}

static bool ends_with(const char *name, const char *suffix)
{
    size_t n = strlen(name), end = strlen(suffix);
    return n > end && wl_str_eq(name + n - end, suffix);
}

static void add_files(const char *dir, const struct wl_strs *names, const char *suffix, size_t max,
                      struct wl_strs *paths, struct wl_strs *why, struct wl_arena *a)
{
    size_t found = 0;
    for (size_t i = 0; i < names->n; i++)
        if (ends_with(names->v[i], suffix) && found++ < max) wl_strs_add(a, paths, wl_path_join(a, dir, names->v[i]));
    if (found > max)
        wl_strs_add(a, why,
                    wl_strf(a, "%s: has %zu files *%s; all but the first %zu are ignored", dir, found, suffix, max));
}

/* A folder that does not belong to the user in its name is skipped. */
static void add_folder(const char *path, unsigned user, const char *suffix, size_t max, struct wl_strs *paths,
                       struct wl_strs *why, struct wl_arena *a)
{
    struct wl_strs names;
    struct stat st;
    struct wl_err e;
    if (list_folder(path, &names, &st, a, &e) < 0)
        wl_strs_add(a, why, e.msg);
    else if (st.st_uid != user)
        wl_strs_add(a, why,
                    wl_strf(a, "%s: belongs to user %u, not to the user in its name", path, (unsigned)st.st_uid));
    else
        add_files(path, &names, suffix, st.st_uid == geteuid() ? SIZE_MAX : max, paths, why, a);
}

/* The folders of a user are adjacent: names are sorted. */
static void add_folders(const char *dir, const struct wl_strs *all, const char *suffix, size_t max,
                        struct wl_strs *paths, struct wl_strs *why, struct wl_arena *a)
{
    unsigned user, before = 0;
    size_t n = 0;
    for (size_t i = 0; i < all->n; i++) {
        struct stat st;
        if (!is_folder_name(all->v[i], &user, a)) continue;
        const char *path = wl_path_join(a, dir, all->v[i]);
        bool named_right = lstat(path, &st) || st.st_uid == user;
        if (user != before) n = 0;
        before = user;
        if (named_right && user != geteuid() && n++ >= MAX_FOLDERS) {
            if (n == MAX_FOLDERS + 1)
                wl_strs_add(a, why,
                            wl_strf(a, "%s: user %u has more than %d folders; the rest is ignored", dir, user,
                                    MAX_FOLDERS));
            continue;
        }
        add_folder(path, user, suffix, max, paths, why, a);
    }
}

int wl_cap_state_files(const char *dir, const char *suffix, size_t max, struct wl_strs *paths, struct wl_strs *why,
                       struct wl_arena *a, struct wl_err *e)
{
    struct wl_strs all;
    struct stat st;
    *paths = *why = (struct wl_strs) { 0 };
    int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC); /* the state folder itself may be a link */
    if (fd < 0) return wl_fail_errno(e, "%s: cannot tell whether caps are left", dir);
    int rc = list_folder(wl_strf(a, "/proc/self/fd/%d/.", fd), &all, &st, a, e);
    close(fd);
    if (rc < 0) return rc;
    add_files(dir, &all, suffix, max, paths, why, a);
    add_folders(dir, &all, suffix, max, paths, why, a);
    return 0;
}
