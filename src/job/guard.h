/* The guard of a job: a process between wattlaw and the command. wattlaw sends requests through one pipe and reads
 * events from another. */
#ifndef WL_JOB_GUARD_H
#define WL_JOB_GUARD_H

#include "job/cgroup.h"
#include "job/job.h"

enum wl_guard_request_kind {
    WL_GUARD_REQUEST_START,
    WL_GUARD_REQUEST_SIGNAL,
    WL_GUARD_REQUEST_STOP,
    WL_GUARD_REQUEST_KILL
};
struct wl_guard_request {
    enum wl_guard_request_kind kind;
    int sig;
};

enum wl_guard_event_kind { WL_GUARD_EVENT_STARTED, WL_GUARD_EVENT_NOT_STARTED, WL_GUARD_EVENT_DONE };
struct wl_guard_event {
    enum wl_guard_event_kind kind;
    int64_t t_ns;
    struct wl_process_result exit;
    int leftovers, stuck;
    union {
        struct wl_err why;
        char survivors[WL_KILL_TEXT_SIZE];
    };
};

/* The guard's whole life, in a forked child that holds its ends of the pipes. cgroup NULL: none. */
_Noreturn void wl_guard_run(const struct wl_job_spec *spec, const struct wl_cgroup *cgroup, int requests, int events);

#endif
