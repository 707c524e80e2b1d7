/* The processes of this machine and their share of its CPUs, from /proc. */
#ifndef WL_POWER_NODE_PROCESS_LIST_H
#define WL_POWER_NODE_PROCESS_LIST_H

#include "base/base.h"

struct wl_listed_process {
    int64_t pid, user; /* user id; -1: not known */
    char name[16];
    double cpu_pct; /* of one CPU since the last reading; NAN: it is new */
    double rss_bytes;
    /* private: as of this reading */
    uint64_t started;
    int64_t ticks;
};

struct wl_process_list;

/* root: prefix of /proc. */
int wl_process_list_open(struct wl_process_list **out, const char *root, struct wl_arena *a,
                         struct wl_err *e) WL_MUST_CHECK;

/* Reads all of them, without threads of the kernel, in order of pid; valid until the next call. */
const struct wl_listed_process *wl_process_list_read(struct wl_process_list *l, size_t *n);

#endif
