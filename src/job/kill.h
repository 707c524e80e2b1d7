/* Ends every process of a job, and says of those that do not end why. docs/adr/064 */
#ifndef WL_JOB_KILL_H
#define WL_JOB_KILL_H

#include "base/base.h"

#include <sys/types.h>

/* ---- cgroup.c: a cgroup of the job's own ---------------------------------------------------------------------- */

struct wl_cgroup;

/* A new cgroup below ours in which a job can be found and killed as a whole: version 2 (cgroup.kill, before Linux 5.14
 * cgroup.freeze), else the freezer of version 1. $WATTLAW_CGROUP names another parent, or says "no". It is removed with
 * the arena, when it is empty. What a wattlaw that was killed together with its guard left in cgroups beside it is
 * ended first. NULL: there is none, and *why says so. */
struct wl_cgroup *wl_cgroup_new(const char **why, struct wl_arena *a);

const char *wl_cgroup_path(const struct wl_cgroup *c);
int wl_cgroup_join_fd(const struct wl_cgroup *c); /* struct wl_process_spawn's cgroup_fd */

/* Descriptors that the guard keeps open; [2] */
void wl_cgroup_fds(const struct wl_cgroup *c, int fds[2]);

/* Its processes, those of cgroups below it included. */
size_t wl_cgroup_list(const struct wl_cgroup *c, pid_t **pids, struct wl_arena *a);

/* SIGKILL to all of them at once: none can fork its way out. */
void wl_cgroup_kill(const struct wl_cgroup *c);

/* What is in it moves to its parent and is the job's no more. */
void wl_cgroup_detach(const struct wl_cgroup *c);

void wl_cgroup_remove(const struct wl_cgroup *c); /* where it is empty */

/* Ends what is left in the cgroups of jobs whose wattlaw and guard are both dead, and removes these. Returns how many
 * processes there were. */
int wl_cgroup_kill_stale(double grace_s);

/* ---- kill.c: sets of processes ---------------------------------------------------------------------------------- */

/* Time for a process to go after SIGKILL: one that sits in the kernel (a dead network file system, a hung driver) may
 * never go, and waiting for it would hold up everything after it. */
#define WL_KILL_TIMEOUT_NS (10 * WL_NS_PER_S)

/* Whose processes are meant: the union of what is given. */
struct wl_kill_set {
    pid_t root;          /* all descendants of this process; 0: none */
    const pid_t *spared; /* [n_spared] children of root that are not meant, with their descendants */
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

/* SIGKILL to all of them, again until a look finds nobody new, so that a chain of forks is caught. Returns how many are
 * left: 0, all are gone. */
int wl_kill_round(struct wl_kill *k, const struct wl_kill_set *v);

bool wl_kill_timed_out(const struct wl_kill *k); /* WL_KILL_TIMEOUT_NS have passed since the first round */

/* Who is left and why, for people: "4711 (dd) is stuck in the kernel (state D in nfs_wait_bit_killable)". Distinguishes
 * the kernel, another user's processes, and forks that come faster than they are killed. */
void wl_kill_describe(const struct wl_kill *k, const struct wl_kill_set *v, char *text, size_t n);
void wl_kill_free(struct wl_kill *k);

/* SIGTERM, SIGKILL after the grace time, to the end or until it is hopeless: then *left of them are described in text.
 * Returns how many there were. */
int wl_kill_set_terminate(const struct wl_kill_set *v, double grace_s, int *left, char *text, size_t n);

enum { WL_KILL_TEXT_SIZE = 600 };

#endif
