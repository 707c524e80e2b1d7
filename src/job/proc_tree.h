/* Processes as /proc shows them, and which of them a kill set has. */
#ifndef WL_JOB_PROC_TREE_H
#define WL_JOB_PROC_TREE_H

#include "job/kill.h"

/* ---- one process ---- */

struct wl_proc_status {
    char comm[32], state;
    pid_t parent;
    unsigned long long start; /* clock ticks after boot: identifies the process together with its pid */
};

/* false: there is no such process. `proc` is the folder /proc or a stand-in. */
bool wl_proc_status(const char *proc, pid_t pid, struct wl_proc_status *s);

/* A zombie has ended, except one whose other threads still run. */
bool wl_proc_has_ended(const char *proc, pid_t pid, const struct wl_proc_status *s);

/* ---- sets of processes ---- */

struct wl_pids {
    pid_t *v;
    size_t n, cap;
};

bool wl_pids_has(const pid_t *v, size_t n, pid_t pid);
bool wl_pids_add(struct wl_pids *p, pid_t pid, struct wl_arena *a); /* false: it is there already, or is init */

const char *wl_kill_set_proc(const struct wl_kill_set *v); /* the folder to read */

/* Adds all processes of the set, zombies included. */
void wl_kill_set_find(const struct wl_kill_set *v, struct wl_pids *found, struct wl_arena *a);

#endif
