/* A cgroup per job: version 2 (cgroup.kill; before Linux 5.14 cgroup.freeze), else the freezer of version 1.
 * docs/adr/064 */
#ifndef WL_JOB_CGROUP_H
#define WL_JOB_CGROUP_H

#include "base/base.h"

#include <sys/types.h>

struct wl_cgroup;

/* A new cgroup below ours in which a job can be found and killed as a whole. $WATTLAW_CGROUP names another parent, or
 * says "no". It is removed with the arena if it is empty by then. First ends what is left in the cgroups of dead jobs
 * (wl_cgroup_kill_stale). NULL: none could be made, and *why says why. */
struct wl_cgroup *wl_cgroup_new(const char **why, struct wl_arena *a);

const char *wl_cgroup_path(const struct wl_cgroup *c);
int wl_cgroup_join_fd(const struct wl_cgroup *c); /* struct wl_process_spawn's cgroup_fd */

/* Descriptors that the guard keeps open; [2] */
void wl_cgroup_fds(const struct wl_cgroup *c, int fds[2]);

/* Its processes, those of cgroups below it included. */
size_t wl_cgroup_list(const struct wl_cgroup *c, pid_t **pids, struct wl_arena *a);

/* SIGKILL to all of them at once: no process can escape by forking. */
void wl_cgroup_kill(const struct wl_cgroup *c);

/* Moves its processes to its parent: they no longer belong to the job. */
void wl_cgroup_detach(const struct wl_cgroup *c);

void wl_cgroup_remove(const struct wl_cgroup *c); /* if it is empty */

#endif
