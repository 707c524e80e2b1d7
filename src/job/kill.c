#include "job/kill.h"
#include "job/cgroup.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ENVIRON_MAX = 4 << 20, LOOK_AGAIN_US = 10000, NAMED_MAX = 4 };

static const int64_t CHASE_NS = WL_NS_PER_S / 5, SETTLED_NS = WL_NS_PER_S;

/* ---- /proc ---- */

static const char *proc_of(const struct wl_kill_set *v) { return v->proc ? v->proc : "/proc"; }

struct status {
    char comm[32], state;
    pid_t parent;
    unsigned long long start; /* clock ticks after boot: with the pid, which process it is */
};

/* false: it is gone. The command's name may hold blanks and parentheses: the fields are after the last ')'. */
static bool status_of(const char *proc, pid_t pid, struct status *s)
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

static size_t threads_of(const char *proc, pid_t pid)
{
    char path[256];
    size_t n = 0;
    snprintf(path, sizeof path, "%s/%ld/task", proc, (long)pid);
    DIR *dir = opendir(path);
    for (const struct dirent *d; dir && (d = readdir(dir));) n += *d->d_name != '.';
    if (dir) closedir(dir);
    return n;
}

/* A zombie has ended, except one whose other threads have not. */
static bool has_ended(const char *proc, pid_t pid, const struct status *s)
{
    return (s->state == 'Z' || s->state == 'X') && threads_of(proc, pid) <= 1;
}

struct pids {
    pid_t *v;
    size_t n, cap;
};

static bool holds(const pid_t *v, size_t n, pid_t pid)
{
    for (size_t i = 0; i < n; i++)
        if (v[i] == pid) return true;
    return false;
}

static bool add_pid(struct pids *p, pid_t pid, struct wl_arena *a)
{
    if (pid <= 1 || holds(p->v, p->n, pid)) return false;
    WL_GROW(a, p->v, p->n, p->cap);
    p->v[p->n++] = pid;
    return true;
}

/* ---- whose they are ---- */

struct process {
    pid_t pid, parent;
    bool ours;
};

static size_t all_processes(const char *proc, struct process **list, struct wl_arena *a)
{
    size_t n = 0, cap = 0;
    struct status s;
    *list = NULL;
    DIR *dir = opendir(proc);
    for (const struct dirent *d; dir && (d = readdir(dir));) {
        pid_t pid = (pid_t)atol(d->d_name);
        if (pid < 1 || !status_of(proc, pid, &s)) continue;
        WL_GROW(a, *list, n, cap);
        (*list)[n++] = (struct process) { pid, s.parent, false };
    }
    if (dir) closedir(dir);
    return n;
}

static bool is_below(const struct process *list, size_t n, const struct wl_kill_set *v, const struct process *p)
{
    if (p->parent == v->root) return !holds(v->spared, v->n_spared, p->pid);
    for (size_t k = 0; k < n; k++)
        if (list[k].ours && list[k].pid == p->parent) return true;
    return false;
}

static void add_tree(const struct wl_kill_set *v, struct pids *found, struct wl_arena *a)
{
    struct process *list;
    size_t n = all_processes(proc_of(v), &list, a);
    for (bool more = true; more;) {
        more = false;
        for (size_t i = 0; i < n; i++) {
            if (list[i].ours || !is_below(list, n, v, &list[i])) continue;
            more = list[i].ours = true;
            add_pid(found, list[i].pid, a);
        }
    }
}

/* Does the environment, NUL-separated as in /proc/PID/environ, hold WATTLAW_RUN_DIR with one of these values? */
static bool carries(const char *env, size_t n, const struct wl_strs *run_dirs)
{
    static const char name[] = "WATTLAW_RUN_DIR=";
    for (const char *s = env; s < env + n; s += strlen(s) + 1) {
        if (!wl_str_starts(s, name)) continue;
        for (size_t i = 0; i < run_dirs->n; i++)
            if (wl_str_eq(s + strlen(name), run_dirs->v[i])) return true;
    }
    return false;
}

/* Those of other users cannot be read. */
static void add_carriers(const struct wl_kill_set *v, struct pids *found, struct wl_arena *a)
{
    DIR *dir = opendir(proc_of(v));
    for (const struct dirent *d; dir && (d = readdir(dir));) {
        pid_t pid = (pid_t)atol(d->d_name);
        char *env;
        size_t n;
        if (pid <= 1 || pid == getpid()) continue;
        if (wl_file_read(wl_strf(a, "%s/%ld/environ", proc_of(v), (long)pid), ENVIRON_MAX, &env, &n, a, NULL) < 0)
            continue;
        if (carries(env, n, v->run_dirs)) add_pid(found, pid, a);
    }
    if (dir) closedir(dir);
}

static void add_members(const struct wl_kill_set *v, struct pids *found, struct wl_arena *a)
{
    pid_t *pids;
    size_t n = wl_cgroup_list(v->cgroup, &pids, a);
    for (size_t i = 0; i < n; i++)
        if (pids[i] != getpid()) add_pid(found, pids[i], a);
}

static void find(const struct wl_kill_set *v, struct pids *found, struct wl_arena *a)
{
    if (v->root) add_tree(v, found, a);
    if (v->cgroup) add_members(v, found, a);
    if (v->run_dirs && v->run_dirs->n) add_carriers(v, found, a);
}

size_t wl_kill_set_list(const struct wl_kill_set *v, pid_t **pids, struct wl_arena *a)
{
    struct pids found = { 0 };
    struct status s;
    size_t n = 0;
    find(v, &found, a);
    for (size_t i = 0; i < found.n; i++) {
        if (v->reap) waitpid(found.v[i], NULL, WNOHANG);
        if (status_of(proc_of(v), found.v[i], &s) && !has_ended(proc_of(v), found.v[i], &s)) found.v[n++] = found.v[i];
    }
    *pids = found.v;
    return n;
}

size_t wl_kill_list_children(const char *name, pid_t **pids, struct wl_arena *a)
{
    struct pids found = { 0 };
    struct process *list;
    struct status s;
    size_t n = all_processes("/proc", &list, a);
    for (size_t i = 0; i < n; i++)
        if (list[i].parent == getpid() && status_of("/proc", list[i].pid, &s) && wl_str_eq(s.comm, name))
            add_pid(&found, list[i].pid, a);
    *pids = found.v;
    return found.n;
}

int wl_kill_set_signal(const struct wl_kill_set *v, int sig)
{
    struct wl_arena *a = wl_arena_new(NULL);
    pid_t *pids;
    int found = 0;
    size_t n = wl_kill_set_list(v, &pids, a);
    for (size_t i = 0; i < n; i++) found += kill(pids[i], sig) == 0 || errno == EPERM;
    wl_arena_free(a);
    return found;
}

/* ---- SIGKILL ---- */

struct wl_kill_survivor {
    pid_t pid;
    unsigned long long start;
    int64_t seen_ns; /* when a round first met it */
    bool refused;    /* SIGKILL is not ours to send */
};

static bool is_spared(const struct wl_kill_set *v, pid_t parent, pid_t pid)
{
    return parent == v->root && holds(v->spared, v->n_spared, pid);
}

/* Of one thread. The kernel keeps a list for each, which is read in microseconds: a chain of processes that fork and
 * exit hands its orphans to the sub-reaper, whose list shows them before they fork again. SIGKILL, and no SIGSTOP
 * before it: a fork that has begun is given up for SIGKILL alone. */
static size_t kill_listed(const struct wl_kill_set *v, pid_t parent, const char *thread, struct pids *met,
                          struct wl_arena *a)
{
    char path[300], text[4096];
    size_t fresh = 0;
    snprintf(path, sizeof path, "%s/%ld/task/%.20s/children", proc_of(v), (long)parent, thread);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? 0 : read(fd, text, sizeof text - 1);
    if (fd >= 0) close(fd);
    text[n > 0 ? n : 0] = '\0';
    for (char *s = text, *end;; s = end) { /* what does not fit comes with the next pass */
        pid_t pid = (pid_t)strtol(s, &end, 10);
        if (end == s || *end != ' ') break;
        if (is_spared(v, parent, pid) || !add_pid(met, pid, a)) continue;
        kill(pid, SIGKILL);
        fresh++;
    }
    return fresh;
}

/* The children of a process, killed as they are found; returns how many were not met before. */
static size_t kill_children(const struct wl_kill_set *v, pid_t parent, struct pids *met, struct wl_arena *a)
{
    char path[300];
    size_t fresh = 0;
    snprintf(path, sizeof path, "%s/%ld/task", proc_of(v), (long)parent);
    DIR *dir = opendir(path);
    for (const struct dirent *d; dir && (d = readdir(dir));)
        if (*d->d_name != '.') fresh += kill_listed(v, parent, d->d_name, met, a);
    if (dir) closedir(dir);
    return fresh;
}

/* All of /proc, for what a list of children cannot show. */
static size_t kill_found(const struct wl_kill_set *v, struct pids *met, struct wl_arena *a)
{
    struct pids all = { 0 };
    size_t fresh = 0;
    find(v, &all, a);
    for (size_t i = 0; i < all.n; i++) {
        if (!add_pid(met, all.v[i], a)) continue;
        kill(all.v[i], SIGKILL);
        fresh++;
    }
    return fresh;
}

static void collect(const struct wl_kill_set *v, const struct pids *met)
{
    if (v->collect) v->collect(v->ctx);
    for (size_t i = 0; v->reap && i < met->n; i++) waitpid(met->v[i], NULL, WNOHANG);
}

/* Kills until a look finds nothing new: orphans first, again and again, since each look takes microseconds; then the
 * children of what was met, then the rest. Bounded: what goes on is left for the next round. */
static void chase(const struct wl_kill_set *v, struct pids *met, struct wl_arena *a)
{
    char root[24];
    int64_t until_ns = wl_now_ns() + CHASE_NS;
    snprintf(root, sizeof root, "%ld", (long)v->root);
    while (wl_now_ns() < until_ns) {
        size_t fresh = 0;
        collect(v, met); /* else zombies make the lists long */
        if (v->root && kill_listed(v, v->root, root, met, a)) continue;
        if (v->root) fresh = kill_children(v, v->root, met, a); /* its other threads */
        for (size_t i = 0; i < met->n; i++) fresh += kill_children(v, met->v[i], met, a);
        if (!fresh && !kill_found(v, met, a)) return;
    }
}

static int64_t first_seen(const struct wl_kill *k, pid_t pid, unsigned long long start)
{
    for (size_t i = 0; i < k->n; i++)
        if (k->v[i].pid == pid && k->v[i].start == start) return k->v[i].seen_ns;
    return wl_now_ns();
}

int wl_kill_round(struct wl_kill *k, const struct wl_kill_set *v)
{
    struct wl_arena *a = wl_arena_new(NULL);
    struct wl_kill now = { .a = a, .began_ns = k->began_ns ? k->began_ns : wl_now_ns() };
    struct pids met = { 0 };
    struct status s;
    if (v->cgroup) wl_cgroup_kill(v->cgroup);
    chase(v, &met, a); /* the rest: what has left the cgroup, or all where there is none */
    find(v, &met, a);
    now.v = wl_new_array(a, struct wl_kill_survivor, met.n + 1);
    for (size_t i = 0; i < met.n; i++) {
        pid_t pid = met.v[i];
        bool refused = kill(pid, SIGKILL) < 0 && errno == EPERM;
        if (v->reap) waitpid(pid, NULL, WNOHANG);
        if (!status_of(proc_of(v), pid, &s) || has_ended(proc_of(v), pid, &s)) continue;
        now.v[now.n++] = (struct wl_kill_survivor) { pid, s.start, first_seen(k, pid, s.start), refused };
    }
    wl_kill_free(k);
    *k = now;
    return (int)now.n;
}

bool wl_kill_timed_out(const struct wl_kill *k) { return k->n && wl_now_ns() - k->began_ns >= WL_KILL_TIMEOUT_NS; }

void wl_kill_free(struct wl_kill *k)
{
    if (k->a) wl_arena_free(k->a);
    k->a = NULL;
    k->n = 0;
}

/* ---- what is left ---- */

/* Where in the kernel it sleeps; empty where that may not be read. */
static const char *wait_channel(const char *proc, pid_t pid, char *text, size_t n)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%ld/wchan", proc, (long)pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t got = fd < 0 ? 0 : read(fd, text, n - 1);
    if (fd >= 0) close(fd);
    text[got > 0 ? got : 0] = '\0';
    text[strcspn(text, "\n")] = '\0';
    if (wl_str_eq(text, "0")) *text = '\0';
    return text;
}

static long owner_of(const char *proc, pid_t pid)
{
    char path[256];
    struct stat st;
    snprintf(path, sizeof path, "%s/%ld", proc, (long)pid);
    return stat(path, &st) == 0 ? (long)st.st_uid : -1;
}

static void say_one(struct wl_text *t, const char *proc, const struct wl_kill_survivor *x, const struct status *s)
{
    char where[80];
    wait_channel(proc, x->pid, where, sizeof where);
    const char *in = *where ? " in " : "";
    wl_text_addf(t, "%ld (%s) ", (long)x->pid, s->comm);
    if (x->refused)
        wl_text_addf(t, "runs as user %ld, and user %ld may not end it", owner_of(proc, x->pid), (long)geteuid());
    else if (s->state == 'D')
        wl_text_addf(t, "is stuck in the kernel (uninterruptible sleep%s%s)", in, where);
    else
        wl_text_addf(t, "did not take SIGKILL (state %c%s%s)", s->state, in, where);
}

void wl_kill_describe(const struct wl_kill *k, const struct wl_kill_set *v, char *text, size_t n)
{
    struct wl_arena *a = wl_arena_new(NULL);
    struct wl_text t = WL_TEXT(a);
    const struct wl_kill_survivor *young = NULL;
    struct status s;
    size_t named = 0, more = 0;
    for (size_t i = 0; i < k->n; i++) {
        const struct wl_kill_survivor *x = &k->v[i];
        if (!status_of(proc_of(v), x->pid, &s)) s = (struct status) { .comm = "gone", .state = '?' };
        if (!x->refused && wl_now_ns() - x->seen_ns < SETTLED_NS) {
            young = x;
        } else if (named++ < NAMED_MAX) {
            if (t.n) wl_text_add(&t, "; ");
            say_one(&t, proc_of(v), x, &s);
        } else {
            more++;
        }
    }
    if (more) wl_text_addf(&t, "; and %zu more", more);
    if (young)
        wl_text_addf(&t, "%sprocesses fork faster than they are killed, the last one seen is %ld%s", t.n ? "; " : "",
                     (long)young->pid, v->cgroup ? "" : " (a cgroup of its own would hold them: wattlaw doctor)");
    snprintf(text, n, "%s", t.s);
    wl_arena_free(a);
}

int wl_kill_set_terminate(const struct wl_kill_set *v, double grace_s, int *left, char *text, size_t n)
{
    struct wl_kill k = { 0 };
    int64_t kill_at_ns = wl_now_ns() + (int64_t)(grace_s * WL_NS_PER_S);
    int found = wl_kill_set_signal(v, SIGTERM);
    *left = found;
    if (found) wl_kill_set_signal(v, SIGCONT); /* a stopped process would not see the first */
    while (*left > 0 && wl_now_ns() < kill_at_ns) {
        usleep(LOOK_AGAIN_US);
        *left = wl_kill_set_signal(v, 0);
    }
    while (*left > 0 && !wl_kill_timed_out(&k)) {
        *left = wl_kill_round(&k, v);
        if (*left) usleep(LOOK_AGAIN_US);
    }
    if (*left) wl_kill_describe(&k, v, text, n);
    wl_kill_free(&k);
    return found;
}
