/* Follows a trial of an experiment, and ends it early: at the target metric, beyond the cost at which it is given up,
 * and when one of its processes has run out of memory and the others wait for it. */
#ifndef WL_TUNE_TRIAL_WATCH_H
#define WL_TUNE_TRIAL_WATCH_H

#include "run/run.h"
#include "tune/target.h"

struct wl_tune_trial_watch {
    struct wl_run_watch watch; /* for wl_sweep_opts */
    const struct wl_tune_target *target;
    double limit_s; /* of training; INFINITY: none */
    double stall_s; /* without a mark or a line in the log, after a message that memory ran out */
    /* private */
    struct wl_tune_progress progress;
    int64_t begin_ns, looked_ns, alive_ns; /* of training; at the log; last mark or line. 0: not yet */
    bool has_failed;                       /* the log says that memory ran out */
    char last[256];                        /* end of the log */
};

void wl_tune_trial_watch_init(struct wl_tune_trial_watch *w, const struct wl_tune_target *target, double limit_s,
                              double stall_s);

/* Errors of runs that it has stopped begin with these. */
extern const char wl_tune_stopped_at_limit[], wl_tune_stopped_without_memory[];

#endif
