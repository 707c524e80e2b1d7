#include "job/proc_tree.h"
#include "job/cgroup.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ENVIRON_MAX = 4 << 20 };

/* ---- /proc ---- */

const char *wl_kill_set_proc(const struct wl_kill_set *v) { return v->proc ? v->proc : "/proc"; }

/* The command's name may contain blanks and parentheses: the fields are after the last ')'. */
bool wl_proc_status(const char *proc, pid_t pid, struct wl_proc_status *s)
{
    char path[256], text[1024];
    snprintf(path, sizeof path, "%s/%ld/stat", proc, (long)pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return false;
    ssize_t n = read(fd, text, sizeof text - 1);
    close(fd);
    if (n <= 0) return false;
    text[n] = '\0';
    const char *from = strchr(text, '('), *to = strrchr(text, ')');
    int parent = 0;
    if (!from || !to || to < from) return false;
    snprintf(s->comm, sizeof s->comm, "%.*s", (int)(to - from - 1), from + 1);
    if (sscanf(to + 1, " %c %d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d %llu", &s->state,
               &parent, &s->start) < 2)
        return false;
    s->parent = (pid_t)parent;
    return true;
}

static size_t count_threads(const char *proc, pid_t pid)
{
    char path[256];
    size_t n = 0;
    snprintf(path, sizeof path, "%s/%ld/task", proc, (long)pid);
    DIR *dir = opendir(path);
    for (const struct dirent *d; dir && (d = readdir(dir));) n += *d->d_name != '.';
    if (dir) closedir(dir);
    return n;
}

bool wl_proc_has_ended(const char *proc, pid_t pid, const struct wl_proc_status *s)
{
    return (s->state == 'Z' || s->state == 'X') && count_threads(proc, pid) <= 1;
}

bool wl_pids_has(const pid_t *v, size_t n, pid_t pid)
{
    for (size_t i = 0; i < n; i++)
        if (v[i] == pid) return true;
    return false;
}

bool wl_pids_add(struct wl_pids *p, pid_t pid, struct wl_arena *a)
{
    if (pid <= 1 || wl_pids_has(p->v, p->n, pid)) return false;
    WL_GROW(a, p->v, p->n, p->cap);
    p->v[p->n++] = pid;
    return true;
}

/* ---- the processes of a set ---- */

struct process {
    pid_t pid, parent;
    bool ours;
};

static size_t all_processes(const char *proc, struct process **list, struct wl_arena *a)
{
    size_t n = 0, cap = 0;
    struct wl_proc_status s;
    *list = NULL;
    DIR *dir = opendir(proc);
    for (const struct dirent *d; dir && (d = readdir(dir));) {
        pid_t pid = (pid_t)atol(d->d_name);
        if (pid < 1 || !wl_proc_status(proc, pid, &s)) continue;
        WL_GROW(a, *list, n, cap);
        (*list)[n++] = (struct process) { pid, s.parent, false };
    }
    if (dir) closedir(dir);
    return n;
}

static bool is_below(const struct process *list, size_t n, const struct wl_kill_set *v, const struct process *p)
{
    if (p->parent == v->root) return !wl_pids_has(v->spared, v->n_spared, p->pid);
    for (size_t k = 0; k < n; k++)
        if (list[k].ours && list[k].pid == p->parent) return true;
    return false;
}

static void add_descendants(const struct wl_kill_set *v, struct wl_pids *found, struct wl_arena *a)
{
    struct process *list;
    size_t n = all_processes(wl_kill_set_proc(v), &list, a);
    for (bool more = true; more;) {
        more = false;
        for (size_t i = 0; i < n; i++) {
            if (list[i].ours || !is_below(list, n, v, &list[i])) continue;
            more = list[i].ours = true;
            wl_pids_add(found, list[i].pid, a);
        }
    }
}

/* Does the environment, NUL-separated as in /proc/PID/environ, have WATTLAW_RUN_DIR with one of these values? */
static bool has_run_dir(const char *env, size_t n, const struct wl_strs *run_dirs)
{
    static const char name[] = "WATTLAW_RUN_DIR=";
    for (const char *s = env; s < env + n; s += strlen(s) + 1) {
        if (!wl_str_starts(s, name)) continue;
        for (size_t i = 0; i < run_dirs->n; i++)
            if (wl_str_eq(s + strlen(name), run_dirs->v[i])) return true;
    }
    return false;
}

/* The environment of other users' processes cannot be read. */
static void add_by_run_dir(const struct wl_kill_set *v, struct wl_pids *found, struct wl_arena *a)
{
    DIR *dir = opendir(wl_kill_set_proc(v));
    for (const struct dirent *d; dir && (d = readdir(dir));) {
        pid_t pid = (pid_t)atol(d->d_name);
        char *env;
        size_t n;
        if (pid <= 1 || pid == getpid()) continue;
        if (wl_file_read(wl_strf(a, "%s/%ld/environ", wl_kill_set_proc(v), (long)pid), ENVIRON_MAX, &env, &n, a, NULL) <
            0)
            continue;
        if (has_run_dir(env, n, v->run_dirs)) wl_pids_add(found, pid, a);
    }
    if (dir) closedir(dir);
}

static void add_members(const struct wl_kill_set *v, struct wl_pids *found, struct wl_arena *a)
{
    pid_t *pids;
    size_t n = wl_cgroup_list(v->cgroup, &pids, a);
    for (size_t i = 0; i < n; i++)
        if (pids[i] != getpid()) wl_pids_add(found, pids[i], a);
}

void wl_kill_set_find(const struct wl_kill_set *v, struct wl_pids *found, struct wl_arena *a)
{
    if (v->root) add_descendants(v, found, a);
    if (v->cgroup) add_members(v, found, a);
    if (v->run_dirs && v->run_dirs->n) add_by_run_dir(v, found, a);
}

size_t wl_kill_set_list(const struct wl_kill_set *v, pid_t **pids, struct wl_arena *a)
{
    struct wl_pids found = { 0 };
    struct wl_proc_status s;
    size_t n = 0;
    wl_kill_set_find(v, &found, a);
    for (size_t i = 0; i < found.n; i++) {
        if (v->reap) waitpid(found.v[i], NULL, WNOHANG);
        if (wl_proc_status(wl_kill_set_proc(v), found.v[i], &s) &&
            !wl_proc_has_ended(wl_kill_set_proc(v), found.v[i], &s))
            found.v[n++] = found.v[i];
    }
    *pids = found.v;
    return n;
}

size_t wl_kill_list_children(const char *name, pid_t **pids, struct wl_arena *a)
{
    struct wl_pids found = { 0 };
    struct process *list;
    struct wl_proc_status s;
    size_t n = all_processes("/proc", &list, a);
    for (size_t i = 0; i < n; i++)
        if (list[i].parent == getpid() && wl_proc_status("/proc", list[i].pid, &s) && wl_str_eq(s.comm, name))
            wl_pids_add(&found, list[i].pid, a);
    *pids = found.v;
    return found.n;
}
