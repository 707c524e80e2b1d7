#include "power/node/process_tree.h"

#include "power/procfs.h"

#include <ctype.h>
#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAX_MEMBERS = 8192 }; /* processes of a job on one node */

struct member {
    pid_t pid, parent;
    uint64_t started; /* clock ticks since boot, to detect a reused pid */
    double cpu_s;     /* its own and that of waited-for children, at the latest reading */
};

struct wl_process_tree {
    DIR *dir;
    pid_t self; /* no member, although a process that started us may be: what we use is counted apart */
    pid_t jobs[WL_PROCESS_TREE_JOBS]; /* root processes */
    size_t n_jobs;
    pid_t searched_to; /* the latest pid that was looked at */
    bool look_at_all;  /* at the next search: a new root process may be older than that */
    struct member *members;
    size_t n;
    bool full;
    double gone_s; /* CPU time of ended processes that no member waited for */
    double cpu_s;  /* the latest sum */
    double tick_s, page_bytes;
};

/* From /proc/PID/stat. */
struct facts {
    pid_t parent, group;
    char state;
    uint64_t started;
    double cpu_s, rss_bytes;
};

static void close_dir(void *dir) { closedir(dir); }

int wl_process_tree_open(struct wl_process_tree **out, const char *root, struct wl_arena *a, struct wl_err *e)
{
    struct wl_process_tree *t = wl_new(a, struct wl_process_tree);
    const char *path = wl_strf(a, "%s/proc", root);
    t->dir = opendir(path);
    if (!t->dir) return wl_fail_errno(e, "%s", path);
    wl_defer(a, close_dir, t->dir);
    t->self = getpid();
    t->members = wl_new_array(a, struct member, MAX_MEMBERS);
    t->tick_s = 1.0 / (double)sysconf(_SC_CLK_TCK);
    t->page_bytes = (double)sysconf(_SC_PAGESIZE);
    *out = t;
    return 0;
}

static bool read_facts(const struct wl_process_tree *t, pid_t pid, struct facts *out)
{
    struct wl_process_stat stat;
    if (!wl_process_stat_read(dirfd(t->dir), pid, &stat)) return false;
    *out = (struct facts) { .parent = stat.parent, .group = stat.group, .state = stat.state, .started = stat.started };
    out->cpu_s = (double)(stat.own_ticks + stat.children_ticks) * t->tick_s;
    out->rss_bytes = (double)stat.rss_pages * t->page_bytes;
    return true;
}

static const struct member *find(const struct wl_process_tree *t, pid_t pid)
{
    for (size_t i = 0; i < t->n; i++) {
        if (t->members[i].pid == pid) return &t->members[i];
    }
    return NULL;
}

static bool is_job(const struct wl_process_tree *t, pid_t pid)
{
    for (size_t i = 0; i < t->n_jobs; i++)
        if (t->jobs[i] == pid) return true;
    return false;
}

enum verdict { NOT_OURS, OURS, ADDED };

/* Is the process part of the tree? If so it becomes a member. */
static enum verdict consider(struct wl_process_tree *t, pid_t pid)
{
    struct facts f;
    if (find(t, pid)) return OURS;
    if (!read_facts(t, pid, &f)) return NOT_OURS;
    if (!is_job(t, pid) && (pid == t->self || (!is_job(t, f.group) && !find(t, f.parent)))) return NOT_OURS;
    if (t->n == MAX_MEMBERS) {
        t->full = true;
        return OURS;
    }
    t->members[t->n++] = (struct member) { .pid = pid, .parent = f.parent, .started = f.started };
    return ADDED;
}

/* Was pid assigned after `from`, up to `to`? Pids increase and wrap around at the end of their range. */
static bool assigned_between(pid_t pid, pid_t from, pid_t to)
{
    return from <= to ? pid > from && pid <= to : pid > from || pid <= to;
}

/* Looks at the pids since the latest search. True if a second look may find more: a process was added, and one that was
 * rejected before may be its child (/proc lists pids in order, so that happens only after pids wrap around). */
static bool look(struct wl_process_tree *t, pid_t last_pid)
{
    bool refused = false, again = false;
    rewinddir(t->dir);
    struct dirent *entry;
    while ((entry = readdir(t->dir))) {
        if (!isdigit((unsigned char)entry->d_name[0])) continue;
        pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10);
        if (last_pid > 0 && !t->look_at_all && !assigned_between(pid, t->searched_to, last_pid)) continue;
        enum verdict v = consider(t, pid);
        refused |= v == NOT_OURS;
        again |= v == ADDED && refused;
    }
    return again;
}

static void follow(struct wl_process_tree *t, pid_t job)
{
    if (t->n_jobs == WL_PROCESS_TREE_JOBS) {
        t->full = true;
        return;
    }
    t->look_at_all = t->n_jobs > 0;
    t->jobs[t->n_jobs++] = job;
    t->searched_to = job;
    consider(t, job);
}

/* A descendant is younger than the job's root process, so its pid is later: earlier pids are not looked at. A process
 * whose parent ended unseen is still found by its process group. */
void wl_process_tree_search(struct wl_process_tree *t, pid_t job, pid_t last_pid)
{
    if (!is_job(t, job)) follow(t, job);
    if (last_pid > 0 && last_pid == t->searched_to && !t->look_at_all) return;
    while (look(t, last_pid)) continue;
    t->look_at_all = false;
    if (last_pid > 0) t->searched_to = last_pid;
}

/* The CPU time of an ended process counts for its parent if that waited for it; else it is kept in gone_s. */
static void retire(struct wl_process_tree *t, size_t i)
{
    struct member m = t->members[i];
    t->members[i] = t->members[--t->n];
    if (!find(t, m.parent)) t->gone_s += m.cpu_s;
}

void wl_process_tree_read(struct wl_process_tree *t, struct wl_process_tree_sum *out)
{
    *out =
        (struct wl_process_tree_sum) { .why = t->full ? "the job has more processes than wattlaw can follow" : NULL };
    double alive_s = 0;
    for (size_t i = 0; i < t->n;) {
        struct facts f;
        struct member *m = &t->members[i];
        if (!read_facts(t, m->pid, &f) || f.started != m->started) {
            retire(t, i);
            continue;
        }
        m->parent = f.parent;
        m->cpu_s = f.cpu_s;
        alive_s += f.cpu_s;
        out->rss_bytes += f.rss_bytes;
        out->processes++;
        i++;
    }
    /* A process may end between the reading of its parent and its own: its time is then missing once. */
    double cpu_s = t->gone_s + alive_s;
    if (cpu_s > t->cpu_s) t->cpu_s = cpu_s;
    out->cpu_s = t->cpu_s;
}
