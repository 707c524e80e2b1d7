#include "job/kill.h"
#include "job/cgroup.h"
#include "job/job.h"
#include "job/proc_tree.h"

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

enum { POLL_INTERVAL_US = 10000, NAMED_MAX = 4 };

/* A round's time; and how long a process counts as new, hence as the work of a fork chain. */
static const int64_t ROUND_MAX_NS = WL_NS_PER_S / 5, NEW_PROCESS_NS = WL_NS_PER_S;

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
    int64_t seen_ns; /* when a round first saw it */
    bool refused;    /* we may not signal it */
};

static bool is_spared(const struct wl_kill_set *v, pid_t parent, pid_t pid)
{
    return parent == v->root && wl_pids_has(v->spared, v->n_spared, pid);
}

/* Kills the children of one thread. The kernel keeps a list per thread, which is read in microseconds: orphans of a
 * chain of processes that fork and exit go to the sub-reaper, whose list shows them before they fork again. No SIGSTOP
 * first: only SIGKILL aborts a fork that has begun. Returns how many had not been seen before. */
static size_t kill_thread_children(const struct wl_kill_set *v, pid_t parent, const char *thread, struct wl_pids *seen,
                                   struct wl_arena *a)
{
    char path[300], text[4096];
    size_t n_new = 0;
    snprintf(path, sizeof path, "%s/%ld/task/%.20s/children", wl_kill_set_proc(v), (long)parent, thread);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? 0 : read(fd, text, sizeof text - 1);
    if (fd >= 0) close(fd);
    text[n > 0 ? n : 0] = '\0';
    for (char *s = text, *end;; s = end) { /* what does not fit is read in the next pass */
        pid_t pid = (pid_t)strtol(s, &end, 10);
        if (end == s || *end != ' ') break;
        if (is_spared(v, parent, pid) || !wl_pids_add(seen, pid, a)) continue;
        kill(pid, SIGKILL);
        n_new++;
    }
    return n_new;
}

/* The same for a process: the children of all its threads. */
static size_t kill_children(const struct wl_kill_set *v, pid_t parent, struct wl_pids *seen, struct wl_arena *a)
{
    char path[300];
    size_t n_new = 0;
    snprintf(path, sizeof path, "%s/%ld/task", wl_kill_set_proc(v), (long)parent);
    DIR *dir = opendir(path);
    for (const struct dirent *d; dir && (d = readdir(dir));)
        if (*d->d_name != '.') n_new += kill_thread_children(v, parent, d->d_name, seen, a);
    if (dir) closedir(dir);
    return n_new;
}

/* The same for all of /proc: processes that no list of children shows. */
static size_t kill_all_found(const struct wl_kill_set *v, struct wl_pids *seen, struct wl_arena *a)
{
    struct wl_pids all = { 0 };
    size_t n_new = 0;
    wl_kill_set_find(v, &all, a);
    for (size_t i = 0; i < all.n; i++) {
        if (!wl_pids_add(seen, all.v[i], a)) continue;
        kill(all.v[i], SIGKILL);
        n_new++;
    }
    return n_new;
}

static void reap_children(const struct wl_kill_set *v, const struct wl_pids *seen)
{
    if (v->collect) v->collect(v->ctx);
    for (size_t i = 0; v->reap && i < seen->n; i++) waitpid(seen->v[i], NULL, WNOHANG);
}

/* Kills until a scan finds no new process: orphans first, repeatedly, since each scan takes microseconds; then the
 * children of those seen, then the rest. Bounded in time: what remains is left for the next round. */
static void kill_until_none_new(const struct wl_kill_set *v, struct wl_pids *seen, struct wl_arena *a)
{
    char root[24];
    int64_t until_ns = wl_now_ns() + ROUND_MAX_NS;
    snprintf(root, sizeof root, "%ld", (long)v->root);
    while (wl_now_ns() < until_ns) {
        size_t n_new = 0;
        reap_children(v, seen); /* zombies would make the lists long */
        if (v->root && kill_thread_children(v, v->root, root, seen, a)) continue;
        if (v->root) n_new = kill_children(v, v->root, seen, a); /* its other threads */
        for (size_t i = 0; i < seen->n; i++) n_new += kill_children(v, seen->v[i], seen, a);
        if (!n_new && !kill_all_found(v, seen, a)) return;
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
    struct wl_pids seen = { 0 };
    struct wl_proc_status s;
    if (v->cgroup) wl_cgroup_kill(v->cgroup);
    kill_until_none_new(v, &seen, a); /* those that left the cgroup, or all if there is none */
    wl_kill_set_find(v, &seen, a);
    now.v = wl_new_array(a, struct wl_kill_survivor, seen.n + 1);
    for (size_t i = 0; i < seen.n; i++) {
        pid_t pid = seen.v[i];
        bool refused = kill(pid, SIGKILL) < 0 && errno == EPERM;
        if (v->reap) waitpid(pid, NULL, WNOHANG);
        if (!wl_proc_status(wl_kill_set_proc(v), pid, &s) || wl_proc_has_ended(wl_kill_set_proc(v), pid, &s)) continue;
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

/* Where in the kernel it sleeps; empty if we may not read that. */
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

static void describe_one(struct wl_text *t, const char *proc, const struct wl_kill_survivor *x,
                         const struct wl_proc_status *s)
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
        wl_text_addf(t, "has not ended (state %c%s%s)", s->state, in, where);
}

void wl_kill_describe(const struct wl_kill *k, const struct wl_kill_set *v, char *text, size_t n)
{
    struct wl_arena *a = wl_arena_new(NULL);
    struct wl_text t = WL_TEXT(a);
    const struct wl_kill_survivor *young = NULL;
    struct wl_proc_status s;
    size_t named = 0, more = 0;
    for (size_t i = 0; i < k->n; i++) {
        const struct wl_kill_survivor *x = &k->v[i];
        if (!wl_proc_status(wl_kill_set_proc(v), x->pid, &s))
            s = (struct wl_proc_status) { .comm = "gone", .state = '?' };
        if (!x->refused && wl_now_ns() - x->seen_ns < NEW_PROCESS_NS) {
            young = x;
        } else if (named++ < NAMED_MAX) {
            if (t.n) wl_text_add(&t, "; ");
            describe_one(&t, wl_kill_set_proc(v), x, &s);
        } else {
            more++;
        }
    }
    if (more) wl_text_addf(&t, "; and %zu more", more);
    if (young)
        wl_text_addf(&t, "%sprocesses fork faster than they are killed, the last one seen is %ld%s", t.n ? "; " : "",
                     (long)young->pid, v->cgroup ? "" : " (a cgroup per job would contain them: wattlaw doctor)");
    snprintf(text, n, "%s", t.s);
    wl_arena_free(a);
}

int wl_kill_set_terminate(const struct wl_kill_set *v, double grace_s, int *left, char *text, size_t n)
{
    struct wl_kill k = { 0 };
    int64_t kill_at_ns = wl_now_ns() + (int64_t)(grace_s * WL_NS_PER_S);
    int found = wl_kill_set_signal(v, SIGTERM);
    *left = found;
    if (found) wl_kill_set_signal(v, SIGCONT); /* a stopped process does not handle SIGTERM */
    while (*left > 0 && wl_now_ns() < kill_at_ns) {
        usleep(POLL_INTERVAL_US);
        *left = wl_kill_set_signal(v, 0);
    }
    while (*left > 0 && !wl_kill_timed_out(&k)) {
        *left = wl_kill_round(&k, v);
        if (*left) usleep(POLL_INTERVAL_US);
    }
    if (*left) wl_kill_describe(&k, v, text, n);
    wl_kill_free(&k);
    return found;
}

int wl_kill_leftovers(const struct wl_strs *run_dirs, double grace_s)
{
    struct wl_kill_set v = { .run_dirs = run_dirs };
    char text[WL_KILL_TEXT_SIZE];
    int left = 0, found = run_dirs->n ? wl_kill_set_terminate(&v, grace_s, &left, text, sizeof text) : 0;
    if (left)
        wl_log(WL_WARN, "campaign", "%d process%s of a dead run did not end after SIGKILL: %s", left,
               left > 1 ? "es" : "", text);
    return found;
}
