/* The CPUs that a thread may run on. */
#ifndef WL_BASE_AFFINITY_H
#define WL_BASE_AFFINITY_H

#include "base/arena.h"

#include <sched.h>

/* WL_EINVAL, listing the CPUs that this process may use (taskset, cgroup of a batch job), if `cpu` is not one of them.
 */
int wl_affinity_check(int64_t cpu, struct wl_arena *a, struct wl_err *e) WL_MUST_CHECK;

/* Binds the calling thread, and threads and processes it starts, to a CPU (below 0: does nothing) until
 * wl_affinity_restore. Does nothing if the CPU has become unavailable since it was checked. */
struct wl_affinity {
    bool bound;
    cpu_set_t before;
};
void wl_affinity_bind(struct wl_affinity *b, int64_t cpu);
void wl_affinity_restore(struct wl_affinity *b);

#endif
