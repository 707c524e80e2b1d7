/* CPU time and memory of a job's process tree. */
#ifndef WL_POWER_NODE_PROCESS_TREE_H
#define WL_POWER_NODE_PROCESS_TREE_H

#include "base/base.h"

#include <sys/types.h>

/* Maximum number of root processes: the ranks of a node, started one by one. */
enum { WL_PROCESS_TREE_JOBS = 1024 };

struct wl_process_tree;

struct wl_process_tree_sum {
    double cpu_s;     /* user and system time of the tree since its root processes started; never decreases */
    double rss_bytes; /* resident memory; shared pages count for each process */
    size_t processes; /* alive now */
    const char *why;  /* why the sums are not known, or NULL */
};

/* `root` is prefixed to /proc. */
int wl_process_tree_open(struct wl_process_tree **out, const char *root, struct wl_arena *a,
                         struct wl_err *e) WL_MUST_CHECK;

/* Looks for processes of the tree: process `job`, its descendants and its process group, but for this
 * process and its own, unless it is `job`. last_pid is the latest pid of
 * the kernel (from /proc/loadavg, 0: not known): nothing is done until it changes, and only newer pids are looked at. A
 * process that is found late loses nothing: its CPU time counts from its start. A new `job` is added to the earlier
 * ones. No allocation. */
void wl_process_tree_search(struct wl_process_tree *t, pid_t job, pid_t last_pid);

/* Sums over the processes that are alive, plus the CPU time of those that ended. No allocation. */
void wl_process_tree_read(struct wl_process_tree *t, struct wl_process_tree_sum *out);

#endif
