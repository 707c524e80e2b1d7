/* Small files of /proc and /sys, read repeatedly without allocation. */
#ifndef WL_POWER_PROCFS_H
#define WL_POWER_PROCFS_H

#include "base/base.h"

#include <sys/types.h>

/* Opens root + path for wl_procfs_read. Never blocks, even on a FIFO. Closed with the arena. Returns the descriptor or
 * a negative code. */
int wl_procfs_open(const char *root, const char *path, struct wl_arena *a, struct wl_err *e) WL_MUST_CHECK;

/* Reads a file from its start into buf, NUL-terminated; returns the length or -errno. */
int wl_procfs_read(int fd, char *buf, size_t size);

/* A text file of one short line, stripped; NULL if it cannot be read. For open() only. */
char *wl_procfs_text(struct wl_arena *a, const char *path);

/* The unsigned number at the start of a /sys file. Only blanks may follow it or, with `unit`, that word (the rest of
 * the line is ignored). Returns NULL, or a static text: why there is no such number. */
const char *wl_procfs_count(int fd, const char *unit, uint64_t *out);

/* /proc/PID/stat, proc_pid_stat(5). */
struct wl_process_stat {
    char name[16]; /* at most 15 bytes, as the kernel keeps it; it may hold any of them */
    char state;
    pid_t parent, group;
    uint64_t started;                  /* clock ticks since boot, which a reused pid does not have */
    int64_t own_ticks, children_ticks; /* CPU time of it; of its children that it waited for */
    int64_t rss_pages;
};

/* False: not such a text. Allocates nothing. */
bool wl_process_stat_parse(const char *text, struct wl_process_stat *out);

/* Of a process below `folder`, an open /proc; false: it has ended, or is not seen there. */
bool wl_process_stat_read(int folder, pid_t pid, struct wl_process_stat *out);

/* Folders of /sys/class/hwmon whose driver has that name, as paths. */
struct wl_strs wl_hwmon_find(const char *root, const char *driver, struct wl_arena *a);

/* The CPUs that a /sys list names ("0-3,8,10-11"), the first `max` of them in cpus; returns the total number. */
size_t wl_cpu_list(const char *text, int *cpus, size_t max);

/* Is there a display controller, 3D controller or processing accelerator of this vendor ("0x10de") on the PCI bus
 * below `root`? Explains a missing library. */
bool wl_pci_has_gpu(const char *root, const char *vendor, struct wl_arena *a);

/* Is the CPU below `root` NVIDIA's Grace? */
bool wl_cpu_is_grace(const char *root, struct wl_arena *a);

#endif
