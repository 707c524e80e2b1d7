/* The CPUs that a thread may run on. */
#ifndef WL_BASE_CPUS_H
#define WL_BASE_CPUS_H

#include "base/arena.h"

#include <sched.h>

/* WL_EINVAL, with the CPUs that this process may use (taskset, the cgroup of a batch job), where `cpu` is none of
 * them. */
int wl_cpu_check(int64_t cpu, struct wl_arena *a, struct wl_err *e) WL_MUST_CHECK;

/* Binds the calling thread to a CPU (below 0: does nothing) until wl_cpu_release. What it starts meanwhile is bound as
 * well. A CPU that has been taken away since it was checked leaves the thread as it is. */
struct wl_cpu_binding {
    bool bound;
    cpu_set_t before;
};
void wl_cpu_bind(struct wl_cpu_binding *b, int64_t cpu);
void wl_cpu_release(struct wl_cpu_binding *b);

#endif
