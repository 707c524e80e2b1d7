/* CPU times from /proc/stat, read once for all sensors that need it at the same tick: on a machine with many CPUs the
 * kernel takes long to write it. From any thread. */
#ifndef WL_POWER_NODE_CPU_STAT_H
#define WL_POWER_NODE_CPU_STAT_H

#include "base/base.h"

/* CPU time of the whole machine since boot. Seconds summed over all CPUs; busy excludes idle, iowait and steal (time
 * that a hypervisor gave to others). */
struct wl_cpu_times {
    double busy_s, total_s;
};

/* From the first line of /proc/stat. Returns 0 or -errno. */
int wl_cpu_times_read(int fd, struct wl_cpu_times *out);

struct wl_cpu_stat;
struct wl_cpu_stat *wl_cpu_stat_new(struct wl_arena *a);

/* Opens root/proc/stat, once for all sensors, and checks its first line. */
int wl_cpu_stat_open(struct wl_cpu_stat *c, const char *root, struct wl_err *e) WL_MUST_CHECK;

/* The CPU times and when they were read: now, or by another sensor at the same tick if that was after `after_ns`.
 * Returns 0 or -errno. */
int wl_cpu_stat_read(struct wl_cpu_stat *c, int64_t after_ns, struct wl_cpu_times *out, int64_t *t_ns);

/* The kernel counts CPU time in ticks of up to 10 ms: a busy share is formed over at least this time. */
#define WL_SHARE_SPAN_NS (WL_NS_PER_S / 20)

#endif
