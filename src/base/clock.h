/* Time: int64 nanoseconds of CLOCK_MONOTONIC everywhere; one wall-clock anchor ties a run to the calendar. */
#ifndef WL_BASE_CLOCK_H
#define WL_BASE_CLOCK_H

#include "base/arena.h"

#define WL_NS_PER_S 1000000000LL

int64_t wl_now_ns(void);  /* CLOCK_MONOTONIC */
int64_t wl_wall_ns(void); /* CLOCK_REALTIME, ns since 1970 */
int64_t wl_clock_thread_cpu_ns(void);
int64_t wl_clock_process_cpu_ns(void);

/* Sleeps until the absolute CLOCK_MONOTONIC instant; returns early only on EINTR (WL_EINTR). */
int wl_sleep_until(int64_t t_ns);

/* Both clocks read together: wall = wall_ns + (t - mono_ns). */
struct wl_anchor {
    int64_t mono_ns, wall_ns;
};
struct wl_anchor wl_anchor_now(void);

/* Are the times in the range of this century's clocks: 0 to 2^61 and 2^62 ns? A store may hold others, whose sums would
 * overflow. */
bool wl_anchor_is_plausible(const struct wl_anchor *at);

struct wl_anchor wl_anchor_at(int64_t mono_ns); /* for another instant, by the present offset of the clocks */

/* "2026-01-31T12:00:00Z" */
char *wl_clock_iso(struct wl_arena *a, int64_t wall_ns);

/* Parses a wall-clock time from 1970 on and before WL_CLOCK_END_YEAR to ns since 1970: ISO 8601 with date and time, "T"
 * or a blank between them, UTC without an offset; or seconds since 1970 (ms from 1e11 on). False: not a time, or one
 * that no calendar or clock has (31 February, 24:30). */
enum { WL_CLOCK_END_YEAR = 2262 }; /* 2^63 ns since 1970 end in April of it */
bool wl_clock_parse(const char *text, int64_t *t_ns);

#endif
