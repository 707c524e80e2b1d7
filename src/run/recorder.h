/* Writes what is measured of a run into the store. */
#ifndef WL_RUN_RECORDER_H
#define WL_RUN_RECORDER_H

#include "run/meter.h"
#include "run/run.h"

struct wl_recorder {
    struct wl_store *store;
    int64_t run;
    struct wl_arena *a;
    const struct wl_run_watch *watch; /* gets each mark; NULL: none */
    struct wl_sensors *sensors;       /* from wl_recorder_start_sampler on */
    struct wl_sampler *sampler;
    struct wl_run_meter *meter;        /* with a watch; NULL: nobody asks for the energy so far */
    int64_t *device_ids, *channel_ids; /* in the store, of device and channel i of the sensors */
    int64_t broken_marks;              /* lines that were not marks */
    bool marks_unreadable;             /* and that was said */
    int store_rc; /* the first failure of the store, and its message; nothing is written after it */
    struct wl_err store_err;
    /* private */
    struct wl_sample *drained;
    struct wl_sample_row *samples; /* waiting to be stored; the first n_spooled are in the spool */
    size_t n_samples, n_spooled;
    struct wl_mark_tail *tail;
    struct wl_mark *marks;
    struct wl_mark_row *rows;
    size_t n_marks;
    int64_t spooled_ns, stored_ns, store_interval_ns;
};

/* store, run and arena are set; from here on marks are read. */
void wl_recorder_open(struct wl_recorder *r, const char *marks_path);

/* Opens the sensors and starts the sampler. */
int wl_recorder_start_sampler(struct wl_recorder *r, const struct wl_power_opts *power, pid_t job,
                              struct wl_err *e) WL_MUST_CHECK;

/* Resumes a run that a dead wattlaw had begun: each channel gets a failed reading here, the end of the gap, and no mark
 * is stored twice. */
int wl_recorder_resume(struct wl_recorder *r, struct wl_err *e) WL_MUST_CHECK;

/* The run begins in the store, with its devices and channels. */
int wl_recorder_begin(struct wl_recorder *r, const struct wl_run_begin *begin, struct wl_err *e) WL_MUST_CHECK;

wl_mark_sink wl_recorder_mark; /* ctx is the recorder */
void wl_recorder_broken_mark(void *record, const struct wl_err *why);
void wl_recorder_note(struct wl_recorder *r, const char *level, const char *area, const char *text); /* the run's log */

/* Once a second: makes safe what was measured since the last call. */
void wl_recorder_flush(struct wl_recorder *r);
bool wl_recorder_flush_due(const struct wl_recorder *r);

/* Reads new marks, so that the watch gets them; they are made safe by the next flush. */
void wl_recorder_read_marks(struct wl_recorder *r);

/* Does the meter know the energy at this time? */
bool wl_recorder_has_metered(const struct wl_recorder *r, int64_t t_ns);

/* Everything that was measured so far goes into the store now. */
void wl_recorder_store_all(struct wl_recorder *r);

/* The workload has ended and the sampler has stopped: stores everything, in one transaction. */
void wl_recorder_finish(struct wl_recorder *r);

/* Notes the first failure of the store; rc >= 0: no failure. */
void wl_recorder_store_failed(struct wl_recorder *r, int rc, const struct wl_err *e);

#endif
