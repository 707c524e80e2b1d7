/* When a window of a running job begins and ends: arithmetic over the instants of its steps, without a clock.
 *
 *     wl_tune_schedule_hold   a value has been set: what follows settles, then a window begins
 *     wl_tune_schedule_step   a step has ended; WL_TUNE_WINDOW: a window has ended with it
 *     wl_tune_schedule_time   time has passed; WL_TUNE_STUCK, WL_TUNE_PAUSED: no window can be measured now
 *
 * The first window is of the reference. It lasts for min_steps, window_s and five marks, and its number of steps is
 * that of all windows, so that they are of the same work. A window of another value that exceeds the allowed slowdown
 * is cut short: it lasts no longer than a window at the allowed slowdown would. A pause of the job (validation, a
 * checkpoint) is not slowness: a value is held through it for as long as such a window at most. docs/adr/118 */
#ifndef WL_TUNE_SCHEDULE_H
#define WL_TUNE_SCHEDULE_H

#include "base/base.h"

struct wl_tune_pace {
    int64_t warm_up_steps; /* of the job, before the first window */
    int64_t min_steps;     /* of a window */
    double window_s;       /* of the first window, at least */
    double settle_s;       /* after a value has been set */
    double slowdown;       /* allowed, .1: 10 %; NAN: any */
};

struct wl_tune_span {
    int64_t begin_ns, end_ns;
    int64_t steps;
    double samples; /* NAN: steps do not report theirs */
    bool cut;       /* it was beyond the allowed slowdown and has fewer steps than the others */
    bool burst;     /* so short that its steps were not reported when they ended: something buffers the marks */
};

struct wl_tune_schedule {
    struct wl_tune_pace pace;
    int64_t steps_seen, last_step; /* of the job; last_step: its number, -1: none */
    int64_t target;                /* steps of a window; 0: the first one decides */
    double reference_s;            /* time of a window of the reference; NAN: not known */
    bool holds, is_reference;
    int64_t settled_ns, unsettled; /* after that instant, and so many steps more, a window may begin */
    int64_t paused_ns;             /* an epoch ended then, and no step has since; 0: steps follow each other */
    struct wl_tune_span span;      /* begin_ns 0: the window has not begun */
    double longest_s;              /* of the intervals between two marks of the window, and its steps */
    int64_t longest_steps;
    int64_t marks;    /* of the window */
    bool interrupted; /* it was begun anew after an epoch's end */
    bool spans_end;   /* another epoch's end lies within it */
    double spent_s;   /* beyond the allowed slowdown, before it was begun anew */
};

/* Windows of an earlier job of the same command have this many steps and, of the reference, this time (0, NAN: none).
 */
struct wl_tune_schedule wl_tune_schedule_new(const struct wl_tune_pace *pace, int64_t steps, double reference_s);

enum wl_tune_event {
    WL_TUNE_NOTHING,
    WL_TUNE_WINDOW, /* a window has ended: *out */
    WL_TUNE_STUCK,  /* the value is too slow: a few steps take the time of a window at the allowed slowdown */
    WL_TUNE_PAUSED, /* the job pauses, or has paused, for longer than that: the window is void */
};

void wl_tune_schedule_hold(struct wl_tune_schedule *s, bool is_reference, int64_t now_ns);

/* `number` as the mark has it (negative: unknown); samples NAN: unknown. */
enum wl_tune_event wl_tune_schedule_step(struct wl_tune_schedule *s, int64_t t_ns, int64_t number, double samples,
                                         struct wl_tune_span *out);

/* After the time of a window at the allowed slowdown: WINDOW (cut short), STUCK or PAUSED. */
enum wl_tune_event wl_tune_schedule_time(struct wl_tune_schedule *s, int64_t now_ns, struct wl_tune_span *out);

/* An epoch has ended, and what follows is not training: a window that it interrupts begins anew, once. WINDOW: more
 * than half of the time of a window at the allowed slowdown was beyond that slowdown; it is cut short. */
enum wl_tune_event wl_tune_schedule_epoch_end(struct wl_tune_schedule *s, int64_t t_ns, struct wl_tune_span *out);

#endif
