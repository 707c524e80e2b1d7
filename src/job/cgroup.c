/* A cgroup per job. Two hierarchies can kill all their processes: version 2 by cgroup.kill or cgroup.freeze, the
 * freezer of version 1 by stopping all of them first. Ours are found by name. wattlaw and the guard of its job share a
 * lock on the folder, which the kernel releases when both are dead: a locked cgroup is in use. */
#include "job/cgroup.h"
#include "job/job.h"
#include "job/kill.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

static const char PREFIX[] = "wattlaw-job-";
enum {
    TRIES = 10,
    DETACH_ROUNDS_MAX = 100,
    FROZEN_TRIES = 200,
    FROZEN_US = 1000,
    MEMBERS_MAX = 16 << 20,
    DEPTH_MAX = 8
};

enum kill_method { KILL_FILE, FREEZE_FILE, FREEZER_V1 };
struct wl_cgroup {
    const char *path;
    enum kill_method method;
    int dir, join; /* locked; cgroup.procs open for writing */
};

/* ---- files ---- */

static bool write_file(const struct wl_cgroup *c, const char *file, const char *text)
{
    int fd = openat(c->dir, file, O_WRONLY | O_CLOEXEC);
    bool ok = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);
    if (fd >= 0) close(fd);
    return ok;
}

static bool file_contains(const struct wl_cgroup *c, const char *file, const char *text)
{
    char buf[64];
    int fd = openat(c->dir, file, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? 0 : read(fd, buf, sizeof buf - 1);
    if (fd >= 0) close(fd);
    buf[n > 0 ? n : 0] = '\0';
    return strstr(buf, text) != NULL;
}

static bool is_writable(const struct wl_cgroup *c, const char *file) { return faccessat(c->dir, file, W_OK, 0) == 0; }

/* The members of a cgroup and of those below it. */
static void list_below(const char *path, int depth, pid_t **v, size_t *n, size_t *cap, struct wl_arena *a)
{
    char *text;
    size_t len;
    struct wl_strs names = { 0 };
    if (depth > DEPTH_MAX || wl_file_read(wl_path_join(a, path, "cgroup.procs"), MEMBERS_MAX, &text, &len, a, NULL) < 0)
        return;
    for (char *s = text; *s;) {
        char *end;
        long pid = strtol(s, &end, 10);
        if (end == s) break;
        if (pid > 0) { /* 0: of a pid namespace that we cannot see */
            WL_GROW(a, *v, *n, *cap);
            (*v)[(*n)++] = (pid_t)pid;
        }
        s = end + strspn(end, "\n");
    }
    struct wl_err e;
    if (wl_dir_list(path, &names, a, &e) < 0) return;
    for (size_t i = 0; i < names.n; i++) {
        const char *sub = wl_path_join(a, path, names.v[i]);
        if (wl_is_dir(sub)) list_below(sub, depth + 1, v, n, cap, a);
    }
}

size_t wl_cgroup_list(const struct wl_cgroup *c, pid_t **pids, struct wl_arena *a)
{
    size_t n = 0, cap = 0;
    *pids = NULL;
    list_below(c->path, 0, pids, &n, &cap, a);
    return n;
}

/* ---- killing ---- */

static void kill_members(const struct wl_cgroup *c)
{
    struct wl_arena *a = wl_arena_new(NULL);
    pid_t *pids;
    size_t n = wl_cgroup_list(c, &pids, a);
    for (size_t i = 0; i < n; i++) kill(pids[i], SIGKILL);
    wl_arena_free(a);
}

static void wait_frozen(const struct wl_cgroup *c)
{
    const char *file = c->method == FREEZER_V1 ? "freezer.state" : "cgroup.events";
    const char *frozen = c->method == FREEZER_V1 ? "FROZEN" : "frozen 1";
    for (int i = 0; i < FROZEN_TRIES && !file_contains(c, file, frozen); i++) usleep(FROZEN_US);
}

void wl_cgroup_kill(const struct wl_cgroup *c)
{
    if (c->method == KILL_FILE && write_file(c, "cgroup.kill", "1")) return;
    const char *file = c->method == FREEZER_V1 ? "freezer.state" : "cgroup.freeze";
    write_file(c, file, c->method == FREEZER_V1 ? "FROZEN" : "1");
    wait_frozen(c);
    kill_members(c);
    write_file(c, file, c->method == FREEZER_V1 ? "THAWED" : "0");
}

/* ---- one cgroup ---- */

const char *wl_cgroup_path(const struct wl_cgroup *c) { return c->path; }

int wl_cgroup_join_fd(const struct wl_cgroup *c) { return c->join; }

void wl_cgroup_fds(const struct wl_cgroup *c, int fds[2])
{
    fds[0] = c->dir;
    fds[1] = c->join;
}

/* First the cgroups of jobs within the job. */
static void remove_below(const char *path, int depth, struct wl_arena *a)
{
    struct wl_strs names = { 0 };
    struct wl_err e;
    if (depth > DEPTH_MAX || wl_dir_list(path, &names, a, &e) < 0) return;
    for (size_t i = 0; i < names.n; i++)
        if (wl_str_starts(names.v[i], PREFIX)) remove_below(wl_path_join(a, path, names.v[i]), depth + 1, a);
    rmdir(path);
}

void wl_cgroup_remove(const struct wl_cgroup *c)
{
    struct wl_arena *a = wl_arena_new(NULL);
    remove_below(c->path, 0, a);
    wl_arena_free(a);
}

void wl_cgroup_detach(const struct wl_cgroup *c)
{
    struct wl_arena *a = wl_arena_new(NULL);
    const char *parent = wl_path_join(a, wl_path_dir(a, c->path), "cgroup.procs");
    int fd = open(parent, O_WRONLY | O_CLOEXEC);
    for (int i = 0; fd >= 0 && i < DETACH_ROUNDS_MAX; i++) { /* the next round moves what forks meanwhile */
        pid_t *pids;
        size_t n = wl_cgroup_list(c, &pids, a);
        if (!n) break;
        for (size_t k = 0; k < n; k++) {
            const char *pid = wl_strf(a, "%ld", (long)pids[k]);
            if (write(fd, pid, strlen(pid)) < 0) continue; /* it has ended */
        }
    }
    if (fd >= 0) close(fd);
    wl_arena_free(a);
}

static void release(void *what)
{
    struct wl_cgroup *c = what;
    wl_cgroup_remove(c);
    if (c->join >= 0) close(c->join);
    if (c->dir >= 0) close(c->dir);
}

static bool is_same_folder(int fd, const char *path)
{
    struct stat a, b;
    return fstat(fd, &a) == 0 && lstat(path, &b) == 0 && a.st_ino == b.st_ino && a.st_dev == b.st_dev;
}

/* Opens and locks it; false: it has been removed, a live process holds it, or it cannot be killed. */
static bool lock_cgroup(struct wl_cgroup *c)
{
    struct stat st;
    c->join = -1;
    c->dir = open(c->path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (c->dir >= 0 && fstat(c->dir, &st) == 0 && st.st_uid == geteuid() && flock(c->dir, LOCK_EX | LOCK_NB) == 0 &&
        is_same_folder(c->dir, c->path)) {
        c->method = is_writable(c, "cgroup.kill")     ? KILL_FILE
                    : is_writable(c, "cgroup.freeze") ? FREEZE_FILE
                                                      : FREEZER_V1;
        if (c->method != FREEZER_V1 || is_writable(c, "freezer.state"))
            c->join = openat(c->dir, "cgroup.procs", O_WRONLY | O_CLOEXEC);
    }
    if (c->join < 0 && c->dir >= 0) close(c->dir);
    return c->join >= 0;
}

/* ---- the parent ---- */

/* A mount of that type: its mount point, and which part of the hierarchy it shows. */
static bool find_mount(const char *type, const char *option, const char **at, const char **root, struct wl_arena *a)
{
    char *text;
    size_t n;
    if (wl_file_read("/proc/self/mountinfo", MEMBERS_MAX, &text, &n, a, NULL) < 0) return false;
    for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
        char from[PATH_MAX], where[PATH_MAX], fs[64], options[1024];
        char *rest = strstr(line, " - ");
        if (!rest || sscanf(line, "%*d %*d %*s %4095s %4095s", from, where) != 2) continue;
        if (sscanf(rest + 3, "%63s %*s %1023s", fs, options) != 2 || !wl_str_eq(fs, type)) continue;
        if (option && !strstr(options, option)) continue;
        *at = wl_strdup(a, where);
        *root = wl_strdup(a, from);
        return true;
    }
    return false;
}

/* Our cgroup in a hierarchy, from /proc/self/cgroup: "0::/user.slice/..." in version 2, "6:freezer:/" in version 1. */
static const char *own_cgroup(const char *controller, struct wl_arena *a)
{
    char *text;
    size_t n;
    if (wl_file_read("/proc/self/cgroup", MEMBERS_MAX, &text, &n, a, NULL) < 0) return NULL;
    const char *found = NULL;
    for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
        char *name = strchr(line, ':'), *path = name ? strchr(name + 1, ':') : NULL;
        if (!path) continue;
        *path++ = '\0';
        if (wl_str_eq(name + 1, controller)) found = path;
    }
    return found;
}

static const char *find_parent(const char *type, const char *controller, struct wl_arena *a)
{
    const char *at, *root, *ours = own_cgroup(controller, a);
    if (!ours || !find_mount(type, *controller ? controller : NULL, &at, &root, a)) return NULL;
    size_t n = wl_str_eq(root, "/") ? 0 : strlen(root);
    if (strncmp(ours, root, n) != 0) return NULL;
    return wl_str_eq(ours + n, "/") || !ours[n] ? at : wl_strf(a, "%s%s", at, ours + n);
}

/* We must not add a child to a cgroup that Slurm accounts for, nor to one that gives its children shares of the
 * machine: the job would get another share than it has. */
static const char *why_unusable(const char *parent, struct wl_arena *a)
{
    char *text;
    size_t n;
    if (strstr(parent, "/slurm")) return wl_strf(a, "%s is Slurm's", parent);
    const char *file = wl_path_join(a, parent, "cgroup.subtree_control");
    if (wl_file_read(file, PATH_MAX, &text, &n, a, NULL) == 0 && *wl_str_strip(a, text))
        return wl_strf(a, "%s distributes %s to its children", parent, wl_str_strip(a, text));
    return NULL;
}

static void end_stale_cgroup(const char *path, double grace_s, int *found)
{
    struct wl_cgroup c = { .path = path };
    struct wl_kill_set v = { .cgroup = &c };
    char text[WL_KILL_TEXT_SIZE];
    int left;
    if (!lock_cgroup(&c)) return;
    *found += wl_kill_set_terminate(&v, grace_s, &left, text, sizeof text);
    if (left)
        wl_log(WL_WARN, "campaign", "%d process%s of a dead run did not end after SIGKILL: %s", left,
               left > 1 ? "es" : "", text);
    release(&c);
}

static int end_stale_in(const char *parent, double grace_s, struct wl_arena *a)
{
    struct wl_strs names = { 0 };
    struct wl_err e;
    int found = 0;
    if (wl_dir_list(parent, &names, a, &e) < 0) return 0;
    for (size_t i = 0; i < names.n; i++)
        if (wl_str_starts(names.v[i], PREFIX)) end_stale_cgroup(wl_path_join(a, parent, names.v[i]), grace_s, &found);
    if (found)
        wl_log(WL_WARN, "campaign", "%d process%s of a job whose wattlaw had been killed %s ended", found,
               found > 1 ? "es" : "", found > 1 ? "were" : "was");
    return found;
}

/* The parents to try, best first. */
static size_t list_parents(const char *list[2], const char **why, struct wl_arena *a)
{
    const char *given = getenv("WATTLAW_CGROUP"), *reason;
    size_t n = 0;
    *why = "no cgroup file system is mounted";
    if (given && wl_str_eq(given, "no")) {
        *why = "WATTLAW_CGROUP=no";
        return 0;
    }
    const char *found[2] = { given && *given ? given : find_parent("cgroup2", "", a),
                             given && *given ? NULL : find_parent("cgroup", "freezer", a) };
    for (size_t i = 0; i < 2; i++) {
        if (!found[i]) continue;
        reason = why_unusable(found[i], a);
        if (!reason) list[n++] = found[i];
        if (reason) *why = reason;
    }
    return n;
}

int wl_cgroup_kill_stale(double grace_s)
{
    struct wl_arena *a = wl_arena_new(NULL);
    const char *list[2], *why;
    int found = 0;
    size_t n = list_parents(list, &why, a);
    for (size_t i = 0; i < n; i++) found += end_stale_in(list[i], grace_s, a);
    wl_arena_free(a);
    return found;
}

/* A new cgroup, locked; before it is locked, another wattlaw that clears stale ones may remove it. */
static struct wl_cgroup *make_cgroup(const char *parent, const char **why, struct wl_arena *a)
{
    struct wl_cgroup *c = wl_new(a, struct wl_cgroup);
    for (int i = 0; i < TRIES; i++) {
        char *path = wl_strf(a, "%s/%sXXXXXX", parent, PREFIX);
        if (!mkdtemp(path)) {
            *why = wl_strf(a, "%s: %s", parent, strerror(errno));
            return NULL;
        }
        *c = (struct wl_cgroup) { .path = path };
        if (lock_cgroup(c)) return c;
        rmdir(path);
    }
    *why = wl_strf(a, "%s has neither cgroup.kill nor a freezer", parent);
    return NULL;
}

static struct wl_cgroup *make_in_any_parent(const char **why, struct wl_arena *a)
{
    const char *list[2];
    size_t n = list_parents(list, why, a);
    for (size_t i = 0; i < n; i++) {
        struct wl_cgroup *c = make_cgroup(list[i], why, a);
        if (!c) continue;
        wl_defer(a, release, c);
        *why = NULL;
        return c;
    }
    return NULL;
}

struct wl_cgroup *wl_cgroup_new(const char **why, struct wl_arena *a)
{
    static const double GRACE_S = 1;
    wl_cgroup_kill_stale(GRACE_S);
    return make_in_any_parent(why, a);
}

const char *wl_cgroup_parent(const char **why, struct wl_arena *a)
{
    struct wl_arena *mine = wl_arena_new(NULL);
    const char *reason;
    const struct wl_cgroup *c = make_in_any_parent(&reason, mine);
    const char *parent = c ? wl_path_dir(a, c->path) : NULL;
    *why = c ? NULL : wl_strdup(a, reason);
    wl_arena_free(mine);
    return parent;
}
