/* A process that runs already, in the place of a job's command: job.c has the rest. */
#ifndef WL_JOB_ATTACHED_H
#define WL_JOB_ATTACHED_H

#include "job/job.h"

struct wl_attached;

/* WL_EINVAL: there is no such process. It is closed with the arena. */
int wl_attached_open(struct wl_attached **out, const struct wl_job_attach *spec, struct wl_arena *a,
                     struct wl_err *e) WL_MUST_CHECK;

/* Says to the program at the other end of `control` that measuring has begun. */
void wl_attached_start(struct wl_attached *t);

int wl_attached_fd(const struct wl_attached *t); /* readable when it may have ended */
void wl_attached_stop(struct wl_attached *t, int sig);
void wl_attached_end(struct wl_attached *t, struct wl_job_exit *out); /* waits for the end */

#endif
