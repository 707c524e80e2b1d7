/* Ends every process of a job, and describes those that do not end. docs/adr/064 */
#ifndef WL_JOB_KILL_H
#define WL_JOB_KILL_H

#include "base/base.h"

#include <sys/types.h>

struct wl_cgroup;

/* Time for a process to end after SIGKILL: one that is stuck in the kernel (a dead network file system, a hung driver)
 * may never end, and waiting for it would hold up everything after it. */
#define WL_KILL_TIMEOUT_NS (10 * WL_NS_PER_S)

/* A set of processes: the union of what is given. */
struct wl_kill_set {
    pid_t root;          /* all descendants of this process; 0: none */
    const pid_t *spared; /* [n_spared] children of root that are excluded, with their descendants */
    size_t n_spared;
    const struct wl_cgroup *cgroup; /* its members; NULL: none */
    const struct wl_strs *run_dirs; /* processes whose WATTLAW_RUN_DIR is one of these; NULL: none */
    bool reap;                      /* they may be children of ours that nobody else waits for */
    void (*collect)(void *ctx);     /* waits for the zombies among our children; NULL: `reap` does */
    void *ctx;
    const char *proc; /* NULL: /proc */
};

size_t wl_kill_set_list(const struct wl_kill_set *v, pid_t **pids, struct wl_arena *a); /* without zombies */

/* Children of this process that have this name (PR_SET_NAME). */
size_t wl_kill_list_children(const char *name, pid_t **pids, struct wl_arena *a);

/* Sends a signal to each; returns how many there are, those that may not be signalled included. */
int wl_kill_set_signal(const struct wl_kill_set *v, int sig);

/* What is left after rounds of SIGKILL. Start from zeros; wl_kill_free. */
struct wl_kill {
    struct wl_arena *a;
    struct wl_kill_survivor *v; /* [n] */
    size_t n;
    int64_t began_ns; /* the first round */
};

/* SIGKILL to all of them, repeated until a scan finds no new process, so that a chain of forks is caught. Returns how
 * many are left; 0: all have ended. */
int wl_kill_round(struct wl_kill *k, const struct wl_kill_set *v);

bool wl_kill_timed_out(const struct wl_kill *k); /* WL_KILL_TIMEOUT_NS have passed since the first round */

/* Who is left and why, for people: "4711 (dd) is stuck in the kernel (uninterruptible sleep in
 * nfs_wait_bit_killable)". Distinguishes
 * the kernel, another user's processes, and forks that come faster than they are killed. */
void wl_kill_describe(const struct wl_kill *k, const struct wl_kill_set *v, char *text, size_t n);
void wl_kill_free(struct wl_kill *k);

/* SIGTERM, SIGKILL after the grace time, until all have ended or the timeout: then *left of them are described in
 * text. Returns how many there were. */
int wl_kill_set_terminate(const struct wl_kill_set *v, double grace_s, int *left, char *text, size_t n);

#endif
