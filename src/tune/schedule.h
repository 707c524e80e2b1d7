/* When a window of a running job begins and ends: arithmetic over the instants of its steps, without a clock.
 *
 *     wl_tune_schedule_hold   a value has been set: what follows settles, then a window begins
 *     wl_tune_schedule_step   a step has ended; WL_TUNE_WINDOW: a window has ended with it
 *     wl_tune_schedule_time   time has passed; WL_TUNE_STUCK: the value is too slow to complete a window
 *
 * The first window is of the reference. It lasts for min_steps and window_s, and its number of steps is that of all
 * windows, so that they are of the same work. A window of another value that exceeds the allowed slowdown is cut short:
 * it lasts no longer than a window at the allowed slowdown would. docs/adr/118 */
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
};

struct wl_tune_schedule {
    struct wl_tune_pace pace;
    int64_t steps_seen, last_step; /* of the job; last_step: its number, -1: none */
    int64_t target;                /* steps of a window; 0: the first one decides */
    double reference_s;            /* time of a window of the reference; NAN: not known */
    bool holds, is_reference;
    int64_t settled_ns, unsettled; /* after that instant, and so many steps more, a window may begin */
    struct wl_tune_span span;      /* begin_ns 0: the window has not begun */
    bool interrupted;              /* it was begun anew after an epoch's end */
};

/* Windows of an earlier job of the same command have this many steps and, of the reference, this time (0, NAN: none).
 */
struct wl_tune_schedule wl_tune_schedule_new(const struct wl_tune_pace *pace, int64_t steps, double reference_s);

enum wl_tune_event { WL_TUNE_NOTHING, WL_TUNE_WINDOW, WL_TUNE_STUCK };

void wl_tune_schedule_hold(struct wl_tune_schedule *s, bool is_reference, int64_t now_ns);

/* `number` as the mark has it (negative: unknown); samples NAN: unknown. */
enum wl_tune_event wl_tune_schedule_step(struct wl_tune_schedule *s, int64_t t_ns, int64_t number, double samples,
                                         struct wl_tune_span *out);

/* STUCK: the time of a window at the allowed slowdown has passed without enough steps: the value cannot be measured
 * within it. */
enum wl_tune_event wl_tune_schedule_time(struct wl_tune_schedule *s, int64_t now_ns);

/* An epoch has ended, and what follows is not training: a window that it interrupts begins anew, once. */
void wl_tune_schedule_epoch_end(struct wl_tune_schedule *s);

#endif
